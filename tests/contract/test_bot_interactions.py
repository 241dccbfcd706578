"""Ids, payloads and emoji stand once, in core/interactions.py, and every button has its listener."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from own_code import ROOT, files, name_of, tree_of

from bot.buttons import (
    APPROVAL_BUTTONS,
    BUTTONS,
    ENTRY_BUTTONS,
    ENTRY_FORMS,
    FILES_BUTTONS,
    FORMS,
    HOME_BUTTONS,
    HOME_FORMS,
    MEMORY_BUTTONS,
    MEMORY_FORMS,
    MENU_BUTTONS,
    MENU_FORMS,
    MODEL_BUTTONS,
    REPORT_BUTTONS,
    REPORT_FORMS,
    SCHEDULE_BUTTONS,
    SHORTCUTS,
    STEP_BUTTONS,
    THREADS_BUTTONS,
    THREADS_FORMS,
)
from core.interactions import INTERACTIONS, OptionButton, Reaction

HOME = ROOT / "core" / "interactions.py"
ROOMS = ("bot", "core", "workers", "tryout")

EMOJI = {value for name, value in vars(Reaction).items() if name.isupper() and isinstance(value, str)}
TAKES_AN_ID = {"action", "view", "shortcut", "button"}
"""Calls whose arguments name an interaction: Bolt's listeners and our builders."""
TAKES_AN_EMOJI = {"react", "unreact"}


def called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def faults(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if text in EMOJI or text.startswith(f"{OptionButton.ID}:"):
                yield f"line {node.lineno}: {text!r}"
            case ast.Dict(keys=keys) if set(OptionButton.model_fields) <= {getattr(key, "value", None) for key in keys}:
                yield f"line {node.lineno}: a payload by hand"
            case ast.Call() if called(node) in TAKES_AN_ID and any(map(is_text, node.args[called(node) == "button" :])):
                yield f"line {node.lineno}: {called(node)} with an id by hand"
            case ast.Call() if called(node) in TAKES_AN_EMOJI and any(map(is_text, node.args)):
                yield f"line {node.lineno}: {called(node)} with an emoji by hand"


@pytest.mark.parametrize("room", ROOMS)
def test_no_id_payload_or_emoji_stands_twice(room: str) -> None:
    others = [path for path in files(room) if path != HOME]
    assert others
    assert [f"{name_of(path)}, {found}" for path in others for found in faults(tree_of(path))] == []


@pytest.mark.parametrize(
    "code",
    [
        'x = "eyes"',
        'slack.react(thread, ts, "tada")',
        'app.action("approve")(handler)',
        'app.view("form")(handler)',
        'kit.button("Approve", "approve")',
        'kit.button(title, f"answer:{n}")',
        'value = {"turn": turn, "call": call, "n": n}',
    ],
)
def test_the_check_finds_what_it_looks_for(code: str) -> None:
    assert list(faults(ast.parse(code))) != []


def test_a_label_is_no_id() -> None:
    assert list(faults(ast.parse('kit.button("Approve", ApproveButton(turn=turn))'))) == []


def test_every_interaction_has_one_listener() -> None:
    listened = [*(kind for kind, _ in BUTTONS), *APPROVAL_BUTTONS, *FILES_BUTTONS, *FORMS]
    listened += [*SHORTCUTS, *MENU_FORMS, *MENU_BUTTONS]
    listened += [*REPORT_BUTTONS, *STEP_BUTTONS, *REPORT_FORMS, *MODEL_BUTTONS, *MEMORY_BUTTONS, *MEMORY_FORMS]
    listened += [*HOME_BUTTONS, *HOME_FORMS, *ENTRY_BUTTONS, *ENTRY_FORMS]
    listened += [*SCHEDULE_BUTTONS, *THREADS_BUTTONS, *THREADS_FORMS]
    assert listened == list(INTERACTIONS)
