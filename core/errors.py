"""Errors, sorted by whose move is next.

    ThreadbookError
    ├── UsersMove          a person can put it right: carries a phrase of core/phrases.yaml, said in their language
    ├── LeaseLost          nobody's fault: another worker advances the thread, stop and write nothing
    └── OursToFix          raised, logged, told in general words
        ├── SettingsError  a setting is unknown, missing or out of range; the admin reads the message
        ├── SlackFailed    Slack refused a call that the answer depends on
        ├── SlackUnreachable   no usable reply from Slack after the tries that are safe
        ├── StoreUnreachable   the database is away or full (core/database.py)
        ├── BlobsUnreachable   the file store is away or full
        └── BlobMissing    a file that the Store names is not in the file store

What the model can put right is no exception at all: it becomes a step that the model reads.
"""

from __future__ import annotations


class ThreadbookError(Exception):
    """Root of the errors that we raise on purpose."""


class UsersMove(ThreadbookError):
    """A person can put it right. `say(error.key, language, **error.variables)` is the sentence for them."""

    def __init__(self, key: str, **variables: object) -> None:
        super().__init__(key, variables)
        self.key = key
        self.variables = variables


class LeaseLost(ThreadbookError):
    """The thread's lease went to another worker: nothing was written, stop working on the thread."""


class OursToFix(ThreadbookError):
    """A fault of ours or of the installation. The message is for the log and the admin."""


class SettingsError(OursToFix):
    """A setting cannot be used. The message names the setting, where it stands and what would be right."""


class SlackFailed(OursToFix):
    """Slack answered `ok: false` to a call that cannot be left out. `error` is Slack's own name for it."""

    def __init__(self, method: str, error: str) -> None:
        super().__init__(f"Slack refused {method}: {error}")
        self.method = method
        self.error = error


class SlackUnreachable(OursToFix):
    """Slack could not be reached, or its reply was lost, and looking again did not settle it."""


class SlackBusy(SlackUnreachable):
    """Slack takes no more calls of this kind for the moment, and this one is not worth waiting for."""


class BlobsUnreachable(OursToFix):
    """The file store, or the disk beside it, takes or gives nothing now; it may be tried again later."""


class BlobMissing(OursToFix):
    """The file store does not hold the content with this hash."""
