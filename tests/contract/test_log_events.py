"""A log event is a name: snake_case, written where it is logged, with what varies in its fields."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("bot", "core", "workers", "tryout")
LEVELS = {"debug", "info", "warning", "error", "exception", "critical"}
NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


def log_calls(tree: ast.Module) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="log" | "logger"), attr=level)) if level in LEVELS:
                yield node


def quotes_an_error(call: ast.Call) -> bool:
    """Whether a field is the text of an error, which may quote what people wrote; the error itself is shown safely."""
    fields = (keyword.value for keyword in call.keywords)
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("repr", "str")
        for value in fields
        for node in ast.walk(value)
    )


def fault(call: ast.Call) -> str | None:
    match call.args:
        case [ast.Constant(value=str(event))] if NAME.fullmatch(event):
            return None
        case [event, *_]:
            return f"line {call.lineno}: {ast.unparse(event)}"
        case _:
            return f"line {call.lineno}: no event"


def files() -> list[Path]:
    return [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_log_event_is_a_snake_case_name(path: Path) -> None:
    assert [found for call in log_calls(ast.parse(path.read_text("utf-8"))) if (found := fault(call))] == []


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_log_line_never_gets_the_text_of_an_error(path: Path) -> None:
    calls = log_calls(ast.parse(path.read_text("utf-8")))
    assert [call.lineno for call in calls if quotes_an_error(call)] == []


@pytest.mark.parametrize(
    "code",
    [
        'log.info("turn rests", status=status)',
        'log.warning(f"lost_{name}")',
        'log.error("Failed")',
        "log.exception(str(error))",
        'log.info("read_%s", name)',
        "log.debug()",
    ],
)
def test_the_check_finds_sentences_and_built_names(code: str) -> None:
    (call,) = log_calls(ast.parse(code))
    assert fault(call) is not None


def test_a_name_with_fields_passes() -> None:
    (call,) = log_calls(ast.parse('log.info("cell_ended", status=status)'))
    assert fault(call) is None
