"""Logging: structlog for our events and the libraries', one line per event.

Secrets are removed from the final line. What people wrote stands in no line: errors are shown by their outline.
"""

from __future__ import annotations

import logging
import re
import sys
import threading
import traceback
from collections.abc import Callable, Iterable
from types import TracebackType

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from core.errors import outline
from core.settings import Settings

HIDDEN = "[redacted]"

_SHAPES = re.compile(
    r"""
      (?:\b|(?<=\x1b\[\dm)|(?<=\x1b\[\d\dm))                              # at the beginning, or after a colour code
      (?: xox[a-z]-[\w-]{6,} | xoxe(?:\.xox[a-z])?-[\w-]{6,} | xapp-[\w-]{6,}  # Slack
        | sk-[\w-]{8,} )                                                       # model endpoints
    | (?<=Bearer\ )[\w.~+/=-]{8,}
    """,
    re.VERBOSE,
)
_URL_PASSWORD = re.compile(r"(?<=://)([^\s:/@]*):([^\s@/]+)@")


def redactor(secrets: Iterable[str] = ()) -> Callable[[str], str]:
    """A function that replaces these values in a text, and whatever looks like a token or like a password in a URL."""
    # Very short values would also replace ordinary words; a real secret is never that short.
    values = sorted({value for value in secrets if len(value) >= 6}, key=len, reverse=True)
    exact = re.compile("|".join(map(re.escape, values))) if values else None

    def redact(text: str) -> str:
        if exact is not None:
            text = exact.sub(HIDDEN, text)
        return _URL_PASSWORD.sub(rf"\1:{HIDDEN}@", _SHAPES.sub(HIDDEN, text))

    return redact


def configure_logging(settings: Settings, *, json: bool | None = None, level: int = logging.INFO) -> None:
    """Send all logs of this process to stderr: as JSON lines, or as readable text (the default on a terminal)."""
    as_json = not sys.stderr.isatty() if json is None else json
    render: Processor = (
        structlog.processors.JSONRenderer() if as_json else structlog.dev.ConsoleRenderer(colors=not as_json)
    )
    redact = redactor(settings.secrets())

    def rendered(logger: WrappedLogger, name: str, event: EventDict) -> str:
        return redact(str(render(logger, name, event)))

    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _without_data,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, rendered],
        )
    )
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level)
    # These log at INFO for every request or job.
    for noisy in ("httpx", "slack_sdk", "rq.worker", "alembic", "fsspec"):
        logging.getLogger(noisy).setLevel(max(level, logging.WARNING))


def log_uncaught() -> None:
    """Let errors that end this process or a thread of it go to the log, and not to stderr with all that they quote."""
    log = get_logger(__name__)

    def uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            return
        log.critical("process_failed", exc_info=(kind, error, trace))

    sys.excepthook = uncaught
    threading.excepthook = lambda given: log.error(
        "thread_failed", exc_info=(given.exc_type, given.exc_value, given.exc_traceback)
    )


def _without_data(logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
    """Show errors by their outline: their messages may quote what people wrote. The traceback shows code only."""
    if given := event.pop("exc_info", None):
        error = (
            given[1] if isinstance(given, tuple) else given if isinstance(given, BaseException) else sys.exc_info()[1]
        )
        if error is not None:
            event["exception"] = _traceback(error)
    record = event.get("_record")
    if record is not None and event.get("_from_structlog") is False and record.name.startswith(_QUOTING_LIBRARIES):
        event["event"] = _DETAILS.split(str(event["event"]), maxsplit=1)[0]
    for key, value in event.items():
        if isinstance(value, BaseException):
            event[key] = outline(value)
    return event


_QUOTING_LIBRARIES = ("rq", "slack_bolt", "slack_sdk")
"""Libraries whose log lines hold payloads behind a bracket or a colon. The words before it are kept."""
_DETAILS = re.compile(r" \(|: |\n")


def _traceback(error: BaseException) -> str:
    """The error and what led to it, oldest first, as Python shows it; errors are shown by their outline."""
    chain, link, seen = [], "", set[int]()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        frames = "".join(traceback.format_tb(current.__traceback__))
        chain.append(f"Traceback (most recent call last):\n{frames}{outline(current)}{link}")
        if current.__cause__ is not None:
            current, link = current.__cause__, "\n\nwhich led to:\n"
        else:
            current, link = None if current.__suppress_context__ else current.__context__, "\n\nand meanwhile:\n"
    return "\n".join(reversed(chain))


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """A logger of this module's name. Fields are bound with `bind_fields` or passed by keyword."""
    logger: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(name)
    return logger


bind_fields = structlog.contextvars.bound_contextvars
"""`with bind_fields(thread=..., turn=..., cell=...):` puts the fields on every line that is logged inside."""
