"""What can go wrong with a source. Each message may be shown to a person and to a model: it names no host or password.

SourceError
├── Refused            the guard does not let the statement through; the message says how to write it instead
│   ├── NeedsYes       a person is asked about the statement; the cell does not wait for that
│   └── NotAllowed     this channel or these people may not ask the source; an admin can allow it
├── StatementFailed    the database refused or failed the statement, in its own words, without its address
├── LimitReached       more rows, bytes or time than the source allows; nothing of the result is kept
├── LoginCanWrite      the login has rights that it does not need; the message holds the SQL that takes them away
├── Misconfigured      the URL or the settings of the source cannot be used
├── SourceAway         the source does not answer now; it may be tried again
│   └── LookAgain      what was known of its files does not fit them; a new connection looks at them again
└── Cancelled          somebody stopped the statement
"""

from __future__ import annotations

from core.errors import ThreadbookError


class SourceError(ThreadbookError):
    """Root of what goes wrong with a source."""


class Refused(SourceError):
    """The guard does not let the statement through."""


class NeedsYes(Refused):
    """A person is asked about the statement."""


class NotAllowed(Refused):
    """This channel or these people may not ask the source."""


class StatementFailed(SourceError):
    """The database refused or failed the statement.

    `unknown` is the name that it did not know, if that was why. `is_denied` says that the login lacks a right.
    """

    def __init__(self, message: str, unknown: str = "", *, is_denied: bool = False) -> None:
        super().__init__(message)
        self.unknown = unknown
        self.is_denied = is_denied


class LimitReached(SourceError):
    """A result is larger, or takes longer, than the source allows."""


class LoginCanWrite(SourceError):
    """The login of the source could change data, and the team has not accepted that."""


class Misconfigured(SourceError):
    """The URL or the settings of a source cannot be used."""


class SourceAway(SourceError):
    """The source does not answer now."""


class LookAgain(SourceAway):
    """What was known of a source's files does not fit them: a new connection looks at them again."""


class Cancelled(SourceError):
    """Somebody stopped the statement."""
