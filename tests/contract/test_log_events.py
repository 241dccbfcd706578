"""A log event is a name: snake_case, written where it is logged, with what varies in its fields."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest
from own_code import files, name_of, nodes_of

ROOMS = ("bot", "core", "workers", "tryout")
LEVELS = {"debug", "info", "warning", "error", "exception", "critical"}
NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


def log_call(node: ast.AST) -> ast.Call | None:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="log" | "logger"), attr=level)) if level in LEVELS:
            return node
    return None


@cache
def log_calls() -> list[tuple[str, ast.Call]]:
    """Every call that writes a log line, with its file."""
    found = nodes_of(files(*ROOMS), {"log", "logger"})
    return [(name_of(path), call) for path, node in found if (call := log_call(node))]


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


def test_a_log_event_is_a_snake_case_name() -> None:
    assert {"bot", "core", "workers"} <= {name.partition("/")[0] for name, _ in log_calls()}
    assert [f"{name}, {found}" for name, call in log_calls() if (found := fault(call))] == []


def test_a_log_line_never_gets_the_text_of_an_error() -> None:
    assert [f"{name}, line {call.lineno}" for name, call in log_calls() if quotes_an_error(call)] == []


def parsed(code: str) -> ast.Call:
    (call,) = filter(None, map(log_call, ast.walk(ast.parse(code))))
    return call


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
    assert fault(parsed(code)) is not None


def test_a_name_with_fields_passes() -> None:
    assert fault(parsed('log.info("cell_ended", status=status)')) is None
