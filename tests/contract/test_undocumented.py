"""What we drive of other libraries without a promise stands in one list, and in the installed versions."""

from __future__ import annotations

import ast
import importlib
import inspect
import textwrap
from collections import defaultdict
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType

import pytest
from slack_sdk import WebClient

from core.undocumented import UNDOCUMENTED, Undocumented

ROOT = Path(__file__).parents[2]
PACKAGES = ("bench", "bot", "core", "executor", "playground", "prompts", "scripts", "tryout", "workers")
PRODUCT = sorted(
    str(path.relative_to(ROOT))
    for path in (ROOT / "threadbook.py", *(p for n in PACKAGES for p in (ROOT / n).rglob("*.py")))
)
FILES = sorted({file for each in UNDOCUMENTED for file in each.used_in})

DOCUMENTED = {
    "app_token", "close", "connect", "connect_to_new_endpoint", "is_connected", "logger", "on_message_listeners",
    "proxy", "web_client", "base_url", "chat_update", "retry_handlers", "token", "timeout", "connection", "args", "id",
    "count", "name", "jobs", "job_ids", "all", "create_job", "enqueue_job", "exists", "delete", "work", "log", "info",
    "run", "queues", "enqueue", "headers", "register", "start", "stop", "status", "is_alive", "append",
    "max_retry_count", "interval_calculator", "addfont", "find_class", "persistent_load", "persistent_id",
    "dump", "cursor", "execute", "fetchmany", "fetchall", "description", "rows", "isolation_level", "commit",
    "rollback", "serve", "InterfaceError", "OperationalError", "pgconn", "adbc_cancel", "adbc_execute_schema",
    "executescript", "add_run", "alignment", "font", "level", "runs", "space_after", "text",
}  # fmt: skip
"""Names that the documents of these libraries show, or that mean something else in our files too."""

DOCUMENTED_PRIVATE = {
    "_asdict",  # of a named tuple
    "_exit",  # of `os`
    "_mapping",  # of a row of SQLAlchemy
    "_replace",  # of a named tuple
    "_value_",  # of an enum
}
"""Names with a leading underscore that the documents show."""


def ids(each: Undocumented) -> str:
    return f"{each.owner.rpartition(':')[2]}.{each.name}"


@cache
def owner(name: str) -> type | ModuleType:
    module, _, class_name = name.partition(":")
    found = importlib.import_module(module)
    return getattr(found, class_name) if class_name else found


@cache
def fields(name: str) -> frozenset[str]:
    """What a module defines, or what instances of a class have."""
    found = owner(name)
    if isinstance(found, ModuleType):
        return frozenset(each for each, value in vars(found).items() if getattr(value, "__module__", None) == name)
    return fields_of(found)


@cache
def fields_of(cls: type) -> frozenset[str]:
    """What instances of a class have: its methods and properties, and what its methods assign to `self`."""
    found = {each for each in dir(cls) if not each.startswith("__")}
    for each in cls.__mro__[:-1]:
        tree = ast.Module([], [])
        with suppress(OSError, TypeError):  # a class that is not written in Python
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
def tree_of(file: str) -> ast.Module:
    return ast.parse((ROOT / file).read_text(encoding="utf-8"))


@cache
def attributes(file: str) -> frozenset[str]:
    """The names that a file uses after a dot, defines as methods, imports, or gets by name."""
    found = set()
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr":
            found |= strings(node.args[1])
        elif isinstance(node, ast.Subscript):
            found |= strings(node.slice)
    return frozenset(found)


def strings(node: ast.AST) -> set[str]:
    return {node.value} if isinstance(node, ast.Constant) and isinstance(node.value, str) else set()


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


@cache
def defined(file: str) -> frozenset[str]:
    """The private names that a file itself gives to anything."""
    found = set()
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_own(node.value):
            found.add(node.attr)
    return frozenset(found)


def _calls(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _is_own(node: ast.expr) -> bool:
    """Whether this is `self`, `cls` or `super()`."""
    return (isinstance(node, ast.Name) and node.id in ("self", "cls")) or _calls(node, "super")


def foreign_private_names(file: str) -> set[str]:
    """The private names of something else that a file reads, imports or gets by name."""
    found = set()
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.Attribute):
            if is_private(node.attr) and not _is_own(node.value):
                found.add(node.attr)
        elif isinstance(node, ast.Import):
            found |= {part for each in node.names for part in each.name.split(".")}
        elif isinstance(node, ast.ImportFrom):
            found |= {*(node.module or "").split("."), *(each.name for each in node.names)}
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id in ("getattr", "setattr", "hasattr"):
                found |= strings(node.args[1])
        elif isinstance(node, ast.Subscript) and _calls(node.value, "vars"):
            found |= strings(node.slice)
    return {name for name in found if is_private(name)} - defined(file) - DOCUMENTED_PRIVATE


def own_classes() -> list[tuple[str, type]]:
    """Our classes with the files that define them. What runs in a sandbox is not imported here."""
    found = []
    for file in PRODUCT:
        if "/inside/" in file or file.startswith(("bench/", "scripts/")) or file.endswith("__main__.py"):
            continue
        if any(isinstance(node, ast.ClassDef) and node.bases for node in tree_of(file).body):
            module = importlib.import_module(file.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
            found += [
                (file, each)
                for each in vars(module).values()
                if inspect.isclass(each) and each.__module__ == module.__name__
            ]
    return found


def inherited_private_names(cls: type) -> set[str]:
    """The private names of another library's class that ours, which inherits from it, replaces or uses."""
    foreign = [each for each in cls.__mro__[1:-1] if each.__module__.partition(".")[0] not in PACKAGES]
    theirs = {name for each in foreign for name in fields_of(each) if is_private(name)}
    if not theirs:
        return set()
    tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and _is_own(node.value)}
    replaced = {name for name in vars(cls) if is_private(name)}
    made = {node.name for node in tree.body[0].body if isinstance(node, ast.FunctionDef)}
    return (used | replaced & made) & theirs


@pytest.mark.parametrize("each", UNDOCUMENTED, ids=ids)
def test_it_stands_in_the_installed_version(each: Undocumented) -> None:
    """Red after an upgrade: the library moved something that we drive. Read what it does now, then mend the files."""
    assert each.name in fields(each.owner), f"{', '.join(each.used_in)}: {each.why}"
    value = inspect.getattr_static(owner(each.owner), each.name, None)
    if isinstance(value, FunctionType | classmethod | staticmethod):
        given = list(inspect.signature(getattr(owner(each.owner), each.name)).parameters)
        assert tuple(name for name in given if name not in ("self", "cls", "kwargs")) == each.parameters
    else:
        assert each.parameters is None


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


def test_no_file_reads_a_private_name_that_is_not_listed() -> None:
    listed = {file: {each.name for each in UNDOCUMENTED if file in each.used_in} for file in PRODUCT}
    found = {file: more for file in PRODUCT if (more := foreign_private_names(file) - listed[file])}
    assert found == {}


def test_no_class_replaces_a_private_name_that_is_not_listed() -> None:
    listed = {(file, each.name) for each in UNDOCUMENTED for file in each.used_in}
    found = {(file, name) for file, cls in own_classes() for name in inherited_private_names(cls)}
    assert found - listed == set()


def test_the_scan_finds_each_way_to_a_private_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sample.py").write_text(
        "import a._module\nfrom b import _imported\nx._read\ngetattr(x, '_got')\nvars(x)['_looked_up']\n"
        "x._mapping\nself._ours\ndef _own(): ...\ny._own\n"
    )
    monkeypatch.setattr("test_undocumented.ROOT", tmp_path)
    assert foreign_private_names("sample.py") == {"_module", "_imported", "_read", "_got", "_looked_up"}


class Sample(WebClient):
    """Replaces a private method of the SDK, uses another one, and has one of its own."""

    def _perform_urllib_http_request(self, **given: object) -> None:
        self._build_urllib_request_headers()
        self._ours()

    def _ours(self) -> None: ...


def test_the_scan_finds_what_a_class_takes_from_its_base() -> None:
    names = {"_perform_urllib_http_request", "_build_urllib_request_headers"}
    assert inherited_private_names(Sample) == names
