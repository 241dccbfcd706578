"""Logs never show a secret, nor what people wrote."""

from __future__ import annotations

import json
import logging
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from core.settings import Settings, load_settings
from core.telemetry import HIDDEN, bind_fields, configure_logging, get_logger, log_uncaught, redactor

TOKEN = "xoxb-123456789-abcdefghij"
PLAIN = "a-password-without-a-shape"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings({"SLACK_BOT_TOKEN": TOKEN, "DATABASE_URL": f"postgresql://me:{PLAIN}@db/x"}, tmp_path)


@pytest.fixture(autouse=True)
def restored_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


@pytest.mark.parametrize(
    "secret",
    [
        "xoxb-123456789-abcdefghij",
        "xoxp-1-2-3-4",
        "xoxe.xoxp-1-abcdefgh",
        "xapp-1-A0123-456-abcdef",
        "sk-proj-abc_DEF-123456",
        "redis://:hunter22@host/0",
        "postgresql+psycopg://me:hunter22@host/db",
        "Authorization: Bearer abcdefghijkl",
    ],
)
def test_whatever_looks_like_a_secret_is_redacted(secret: str) -> None:
    shown = redactor()(f"before {secret} after")
    assert HIDDEN in shown
    assert shown.startswith("before ")
    assert shown.endswith(" after")
    assert not any(part in shown for part in ("abcdef", "hunter22", "1-2-3-4", "DEF"))


def test_a_secret_after_a_colour_code_is_redacted() -> None:
    assert redactor()("token=\x1b[35mxoxb-1234567890\x1b[0m") == f"token=\x1b[35m{HIDDEN}\x1b[0m"


def test_ordinary_text_is_left_alone() -> None:
    text = "ask the risk-averse desk at https://example.com:8080/a@b, sk-1, xox"
    assert redactor(["", "ab"])(text) == text


def test_secret_settings_are_redacted_everywhere(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(settings, json=True)
    log = get_logger("test")
    try:
        int(PLAIN)
    except ValueError:
        log.exception("failed", detail={"password": PLAIN}, note=TOKEN)
    logging.getLogger("some.library").error("header %s", TOKEN)
    written = capsys.readouterr().err
    assert PLAIN not in written
    assert TOKEN not in written
    assert written.count(HIDDEN) >= 3


@pytest.mark.parametrize("as_json", [True, False])
def test_both_forms_are_redacted(settings: Settings, capsys: pytest.CaptureFixture[str], as_json: bool) -> None:
    configure_logging(settings, json=as_json)
    get_logger("test").warning("connected", url=f"postgresql://me:{PLAIN}@db/x")
    written = capsys.readouterr().err
    assert "connected" in written
    assert PLAIN not in written


def test_lines_carry_the_bound_fields(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(settings, json=True)
    with bind_fields(thread="T:C:1", turn="t1"):
        get_logger("test").info("inside")
    get_logger("test").info("outside")
    inside, outside = map(json.loads, capsys.readouterr().err.splitlines())
    assert (inside["event"], inside["thread"], inside["turn"], inside["level"]) == ("inside", "T:C:1", "t1", "info")
    assert "thread" not in outside


PLANTED = "the merger is called Nightingale"


@pytest.mark.parametrize("as_json", [True, False])
def test_an_error_is_logged_with_its_place_and_without_what_it_quotes(
    settings: Settings, capsys: pytest.CaptureFixture[str], as_json: bool
) -> None:
    configure_logging(settings, json=as_json)
    log = get_logger("test")
    try:
        try:
            int(PLANTED)
        except ValueError as error:
            raise KeyError(PLANTED) from error
    except KeyError as error:
        log.exception("failed", error=error)
        logging.getLogger("some.library").exception("failed there")
    written = capsys.readouterr().err
    assert PLANTED not in written
    assert written.count("ValueError") == 2
    assert "test_core_telemetry.py" in written
    assert "which led to" in written


@pytest.mark.parametrize(
    ("library", "line"),
    [
        ("slack_bolt.App", "Failed to run listener function (error: {})"),
        ("slack_sdk.socket_mode", "Received an unsupported data frame (session id: 1, payload: {})"),
        ("rq.worker", "[Job 1]: exception raised while executing (advance)\nValueError: {}"),
    ],
)
def test_libraries_log_no_payload(
    settings: Settings, capsys: pytest.CaptureFixture[str], library: str, line: str
) -> None:
    configure_logging(settings, json=True)
    logging.getLogger(library).error(line.format(PLANTED))
    written = json.loads(capsys.readouterr().err)
    assert PLANTED not in json.dumps(written)
    assert line.startswith(written["event"])
    assert written["event"]


def test_what_nobody_catches_is_logged_without_what_it_quotes(
    settings: Settings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    configure_logging(settings, json=True)
    log_uncaught()
    thread = threading.Thread(target=int, args=(PLANTED,))
    thread.start()
    thread.join()
    sys.excepthook(ValueError, ValueError(PLANTED), None)
    of_thread, of_process = map(json.loads, capsys.readouterr().err.splitlines())
    assert (of_thread["event"], of_process["event"]) == ("thread_failed", "process_failed")
    assert PLANTED not in json.dumps([of_thread, of_process])
