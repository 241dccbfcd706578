"""Logs never show a secret, whatever way it came in."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from core.settings import Settings, load_settings
from core.telemetry import HIDDEN, bind_fields, configure_logging, get_logger, redactor

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
def test_whatever_looks_like_a_secret_is_taken_out(secret: str) -> None:
    shown = redactor()(f"before {secret} after")
    assert HIDDEN in shown
    assert shown.startswith("before ")
    assert shown.endswith(" after")
    assert not any(part in shown for part in ("abcdef", "hunter22", "1-2-3-4", "DEF"))


def test_a_secret_behind_a_colour_is_redacted() -> None:
    assert redactor()("token=\x1b[35mxoxb-1234567890\x1b[0m") == f"token=\x1b[35m{HIDDEN}\x1b[0m"


def test_ordinary_text_is_left_alone() -> None:
    text = "ask the risk-averse desk at https://example.com:8080/a@b, sk-1, xox"
    assert redactor(["", "ab"])(text) == text


def test_the_values_of_the_settings_are_taken_out_wherever_they_stand(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
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
    assert written.count(HIDDEN) >= 4


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
