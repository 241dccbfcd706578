"""Logs: structlog for ours and the libraries', a line per event, with every secret taken out at the last moment."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable, Iterable

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from core.settings import Settings

HIDDEN = "[redacted]"

_SHAPES = re.compile(
    r"""
      (?:\b|(?<=\x1b\[\dm)|(?<=\x1b\[\d\dm))                              # at the beginning, or behind a colour
      (?: xox[a-z]-[\w-]{6,} | xoxe(?:\.xox[a-z])?-[\w-]{6,} | xapp-[\w-]{6,}  # Slack
        | sk-[\w-]{8,} )                                                       # model endpoints
    | (?<=Bearer\ )[\w.~+/=-]{8,}
    """,
    re.VERBOSE,
)
_URL_PASSWORD = re.compile(r"(?<=://)([^\s:/@]*):([^\s@/]+)@")


def redactor(secrets: Iterable[str] = ()) -> Callable[[str], str]:
    """A function that takes these values out of a text, and what has the shape of a token or of a password in a URL."""
    # Very short values would blank out ordinary words; a real secret is never that short.
    values = sorted({value for value in secrets if len(value) >= 6}, key=len, reverse=True)
    exact = re.compile("|".join(map(re.escape, values))) if values else None

    def redact(text: str) -> str:
        if exact is not None:
            text = exact.sub(HIDDEN, text)
        return _URL_PASSWORD.sub(rf"\1:{HIDDEN}@", _SHAPES.sub(HIDDEN, text))

    return redact


def configure_logging(settings: Settings, *, json: bool | None = None, level: int = logging.INFO) -> None:
    """Send all logs of this process to stderr: as JSON lines, or for eyes (default: for eyes on a terminal)."""
    as_json = not sys.stderr.isatty() if json is None else json
    render: Processor = (
        structlog.processors.JSONRenderer()
        if as_json
        else structlog.dev.ConsoleRenderer(colors=not as_json, exception_formatter=structlog.dev.plain_traceback)
    )
    redact = redactor(settings.secrets())

    def rendered(logger: WrappedLogger, name: str, event: EventDict) -> str:
        return redact(str(render(logger, name, event)))

    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if as_json:
        shared.append(structlog.processors.format_exc_info)
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
    # These say something at INFO for every request or job.
    for noisy in ("httpx", "slack_sdk", "rq.worker", "alembic", "fsspec"):
        logging.getLogger(noisy).setLevel(max(level, logging.WARNING))


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """A logger of this module's name. Fields are bound with `bind_fields` or passed by keyword."""
    logger: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(name)
    return logger


bind_fields = structlog.contextvars.bound_contextvars
"""`with bind_fields(thread=..., turn=..., cell=...):` puts the fields on every line that is logged inside."""
