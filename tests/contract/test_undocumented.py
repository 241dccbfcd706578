"""What we drive of slack_sdk and RQ without a promise stands in one list, and in the installed versions."""

from __future__ import annotations

import ast
import importlib
import inspect
import textwrap
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from core.undocumented import UNDOCUMENTED, Undocumented

ROOT = Path(__file__).parents[2]
OWNERS = sorted({each.owner for each in UNDOCUMENTED})
FILES = sorted({file for each in UNDOCUMENTED for file in each.used_in})

DOCUMENTED = {
    "app_token", "close", "connect", "connect_to_new_endpoint", "is_connected", "logger", "on_message_listeners",
    "proxy", "web_client", "base_url", "chat_update", "retry_handlers", "token", "timeout", "connection", "args", "id",
    "count", "name", "jobs", "job_ids", "all", "create_job", "enqueue_job", "exists", "delete", "work", "log", "info",
    "run", "queues", "enqueue", "headers", "register", "start", "stop", "status", "is_alive",
}  # fmt: skip
"""Names that the documents of slack_sdk and RQ show, or that mean something else in our files too."""


def ids(each: Undocumented) -> str:
    return f"{each.owner.rpartition(':')[2]}.{each.name}"


@cache
def owner(name: str) -> type:
    module, _, class_name = name.partition(":")
    found: type = getattr(importlib.import_module(module), class_name)
    return found


@cache
def fields(name: str) -> frozenset[str]:
    """What instances of a class have: its methods and properties, and what its methods assign to `self`."""
    cls = owner(name)
    found = {each for each in dir(cls) if not each.startswith("__")}
    for each in cls.__mro__[:-1]:
        tree = ast.parse(textwrap.dedent(inspect.getsource(each)))
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.ctx, ast.Store)
                and ast.unparse(node.value) == "self"
            ):
                found.add(node.attr)
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                found.add(node.target.id)
    return frozenset(found)


@cache
def attributes(file: str) -> frozenset[str]:
    """The names that a file uses after a dot, defines as methods, or gets by name."""
    found = set()
    for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "getattr":
            found.add(str(ast.literal_eval(node.args[1])))
    return frozenset(found)


@pytest.mark.parametrize("each", UNDOCUMENTED, ids=ids)
def test_it_stands_in_the_installed_version(each: Undocumented) -> None:
    """Red after an upgrade: the library moved something that we drive. Read what it does now, then mend the files."""
    assert each.name in fields(each.owner), f"{', '.join(each.used_in)}: {each.why}"
    if each.parameters is not None:
        given = list(inspect.signature(getattr(owner(each.owner), each.name)).parameters)
        assert tuple(name for name in given if name not in ("self", "cls")) == each.parameters


@pytest.mark.parametrize("each", UNDOCUMENTED, ids=ids)
def test_it_is_used_where_the_list_says(each: Undocumented) -> None:
    assert [file for file in each.used_in if each.name not in attributes(file)] == []


@pytest.mark.parametrize("file", FILES)
def test_a_file_drives_nothing_else_of_these_classes(file: str) -> None:
    listed = {each.name for each in UNDOCUMENTED if file in each.used_in}
    driven = {each.owner for each in UNDOCUMENTED if file in each.used_in}
    more = defaultdict(set)
    for name in driven:
        for used in attributes(file) & fields(name) - listed - DOCUMENTED:
            more[used].add(name)
    assert dict(more) == {}
