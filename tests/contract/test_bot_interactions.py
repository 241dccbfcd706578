"""Ids, payloads and emoji stand once, in core/interactions.py, and every button has its listener."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from own_code import ROOT, files, name_of, tree_of

from bot.buttons import BUTTONS, FORMS, OTHER_BUTTONS, SHORTCUTS
from core.interactions import INTERACTIONS, Interaction, OptionButton, Reaction

HOME = ROOT / "core" / "interactions.py"
ROOMS = ("bot", "core", "workers", "tryout")

EMOJI = {value for name, value in vars(Reaction).items() if name.isupper() and isinstance(value, str)}
TAKES_AN_ID = {"action", "view", "shortcut", "button"}
"""Calls whose arguments name an interaction: Bolt's listeners and our builders."""
TAKES_AN_EMOJI = {"react", "unreact"}
HOLDS_AN_ID = {"action_id", "callback_id", "private_metadata"}
"""The fields of Slack that hold an interaction's id or payload."""


def called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def parts(node: ast.Dict) -> list[tuple[object, ast.expr]]:
    return [(getattr(key, "value", None), value) for key, value in zip(node.keys, node.values, strict=True)]


def is_payload(node: ast.Dict, least: int = 2) -> bool:
    """Whether this has the keys of what some interaction carries: all that it must have, and no other ones.

    A single key may be anything. Lists stand in no payload.
    """
    keys = {key for key, _ in parts(node)}
    if len(keys) < least or all(isinstance(value, ast.List | ast.ListComp | ast.Subscript) for _, value in parts(node)):
        return False
    return any(needed(kind) <= keys <= set(kind.model_fields) for kind in INTERACTIONS)


def needed(kind: type[Interaction]) -> set[str]:
    return {name for name, field in kind.model_fields.items() if field.is_required()}


def names_an_id(node: ast.expr) -> bool:
    """Whether this is the id of what somebody used, as `bot/payloads.py` read it or as Slack sent it."""
    match node:
        case ast.Attribute(attr=name):
            return name in {"callback", "action"}
        case ast.Call(args=[ast.Constant(value=name), *_]) | ast.Subscript(slice=ast.Constant(value=name)):
            return name in HOLDS_AN_ID
    return False


def faults(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if text in EMOJI or text.startswith(f"{OptionButton.ID}:"):
                yield f"line {node.lineno}: {text!r}"
            case ast.Dict() if is_payload(node):
                yield f"line {node.lineno}: a payload by hand"
            case ast.Dict() if any(is_text(value) for key, value in parts(node) if key in HOLDS_AN_ID):
                yield f"line {node.lineno}: an id by hand"
            case ast.Call(args=[ast.Dict() as given, *_]) if called(node) == "dumps" and is_payload(given, least=1):
                yield f"line {node.lineno}: a payload by hand"
            case ast.Compare(left=left, comparators=others) if names_an_id(left) and any(map(is_text, others)):
                yield f"line {node.lineno}: compared with an id by hand"
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
        'view = {"type": "modal", "callback_id": "menu_ask"}',
        'view = {"private_metadata": f"{thread}"}',
        'element = {"type": "button", "action_id": "home:refresh"}',
        'value = json.dumps({"turn": turn})',
        'if given.callback == "menu_edit": pass',
        'if body["callback_id"] == "threadbook_menu": pass',
        'if body.get("action_id") == f"report:{do}": pass',
    ],
)
def test_the_check_finds_what_it_looks_for(code: str) -> None:
    assert list(faults(ast.parse(code))) != []


@pytest.mark.parametrize("kind", [kind for kind in INTERACTIONS if kind.model_fields], ids=lambda kind: kind.__name__)
def test_the_payload_of_every_interaction_is_found(kind: type[Interaction]) -> None:
    for names in (set(kind.model_fields), needed(kind) or set(kind.model_fields)):
        payload = "{" + ", ".join(f'"{name}": {name}' for name in sorted(names)) + "}"
        assert list(faults(ast.parse(f"value = json.dumps({payload})"))) != []
        assert len(names) == 1 or list(faults(ast.parse(f"value = {payload}"))) != []


def test_a_label_is_no_id() -> None:
    assert list(faults(ast.parse('kit.button("Approve", ApproveButton(turn=turn))'))) == []


def test_every_interaction_has_one_listener() -> None:
    listened = [kind.__name__ for table in (BUTTONS, OTHER_BUTTONS, SHORTCUTS, FORMS) for kind, _ in table]
    assert sorted(listened) == sorted(kind.__name__ for kind in INTERACTIONS)
