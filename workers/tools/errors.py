"""What can go wrong with a tool. Each message may be shown to a person and to a model: it names no secret.

ToolError
├── Refused        the call may not be made: the tool, the channel, the people, or nobody said yes
│   ├── NeedsYes   a person is asked about the call; the cell does not wait for that
│   └── NotAllowed this channel or these people may not call the tools; an admin can allow it
├── ToolFailed     the server took the call and says that it failed, in its own words
├── LimitReached   the answer is larger, or takes longer, than the server is allowed
├── ToolAway       the server does not answer now, or does not speak the protocol
└── Cancelled      somebody stopped the call
"""

from __future__ import annotations

from core.errors import ThreadbookError


class ToolError(ThreadbookError):
    """Root of what goes wrong with a tool."""


class Refused(ToolError):
    """The call may not be made."""


class NeedsYes(Refused):
    """A person is asked about the call."""


class NotAllowed(Refused):
    """This channel or these people may not call the tools."""


class ToolFailed(ToolError):
    """The server says that the call failed."""


class LimitReached(ToolError):
    """The answer is larger, or takes longer, than the server is allowed."""


class ToolAway(ToolError):
    """The server does not answer now."""


class Cancelled(ToolError):
    """Somebody stopped the call."""
