"""Errors, sorted by who has to act.

    ThreadbookError
    ├── UsersMove          a person can put it right: carries a phrase of core/phrases.yaml, said in their language
    ├── LeaseLost          nobody's fault: another worker advances the thread, stop and write nothing
    └── OursToFix          raised, logged, told in general words
        ├── SettingsError  a setting is unknown, missing or out of range; the admin reads the message
        ├── SlackFailed    Slack refused a call that the answer depends on
        ├── SlackUnreachable   no usable reply from Slack after the tries that are safe
        │   └── FileUnreachable    Slack's file servers give nothing of a file now; a retry may work
        ├── StoreUnreachable   the database is unavailable or full (core/store/database.py)
        ├── StoreDamaged   the database file is damaged; a backup is needed (core/store/database.py)
        ├── StoreTooNew    the schema is of a newer version that this one cannot work with (core/store/schema.py)
        ├── BlobsUnreachable   the file store is unavailable or full
        └── BlobMissing    a file that the Store names is not in the file store

An error that the model can correct is not an exception: it becomes a step that the model reads.
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
    """Slack accepts no more calls of this kind at the moment, and this call is not worth waiting for."""


class FileUnreachable(SlackUnreachable):
    """A file that a person sent cannot be fetched for now: no connection, a busy or failing server. `name` is its
    name in Slack. The message is for logs, so it does not quote the name."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"a file in Slack cannot be fetched now: {why}")
        self.name = name


class BlobsUnreachable(OursToFix):
    """The file store, or the disk beside it, takes or gives nothing now; it may be tried again later."""


class BlobMissing(OursToFix):
    """The file store does not hold the content with this hash."""


# --- what of an error may stand in a log

_SAYS_NO_DATA = (TypeError, AttributeError, NameError, ImportError, RecursionError, MemoryError, NotImplementedError)
"""Python's own errors about code: their messages name types and attributes, never what people wrote."""
_FIRST_LINE_OF = frozenset(
    {
        ("sqlalchemy.exc", "OperationalError"),
        ("sqlalchemy.exc", "InterfaceError"),
        ("sqlalchemy.exc", "IntegrityError"),
        ("redis.exceptions", "ConnectionError"),
        ("redis.exceptions", "TimeoutError"),
        ("redis.exceptions", "AuthenticationError"),
    }
)
"""Errors of libraries whose first line names a constraint or an address. Their further lines may quote a row."""


def outline(error: BaseException) -> str:
    """An error for a log: its class, and its message where that cannot quote what people wrote.

    Many messages quote their input ("could not convert string to float: …"). So they are left out unless they are
    known not to do that.
    """
    message = _message_without_data(error)
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def _message_without_data(error: BaseException) -> str:
    kind = type(error)
    if isinstance(error, UsersMove):
        return error.key
    if isinstance(error, (ThreadbookError, *_SAYS_NO_DATA)):
        return str(error)
    if isinstance(error, OSError) and error.errno is not None:
        return f"[Errno {error.errno}] {error.strerror}"  # str() adds the name of the file
    if isinstance(error, OSError) and kind.__module__ in ("builtins", "ssl", "http.client", "urllib.error"):
        return outline(reason) if isinstance(reason := getattr(error, "reason", None), Exception) else str(error)
    if (kind.__module__, kind.__name__) in _FIRST_LINE_OF:
        return (str(error).splitlines() or [""])[0]
    return ""
