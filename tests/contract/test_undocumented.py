"""What we drive of other libraries without a promise stands in one list, and in the installed versions."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap
from collections import defaultdict
from contextlib import suppress
from functools import cache, lru_cache
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
    "reducer_override", "dump", "cursor", "execute", "fetchmany", "fetchall", "description", "rows", "isolation_level",
    "commit", "rollback", "serve", "InterfaceError", "OperationalError", "pgconn", "adbc_cancel", "adbc_execute_schema",
    "executescript", "add_run", "alignment", "font", "level", "runs", "space_after", "text", "InternalError",
    "DatabaseError", "IdleInTransactionSessionTimeout", "ReadOnlySqlTransaction",
}  # fmt: skip
"""Names that the documents of these libraries show, or that mean something else in our files too."""

DOCUMENTED_PRIVATE = {
    "_asdict",  # of a named tuple
    "_clear_type_cache",  # of `sys`
    "_current_frames",  # of `sys`
    "_exit",  # of `os`
    "_fields",  # of a node of `ast`
    "_mapping",  # of a row of SQLAlchemy
    "_replace",  # of a named tuple
    "_value_",  # of an enum
}
"""Names with a leading underscore that the documents show."""

MAY_BE_FOREIGN = re.compile(
    r"""(?<!\bself)(?<!\bcls)\s*\.\s*_(?!_)\w   # of anything but `self` and `cls`
    |["']_(?!_)\w\w*["']                        # got by name
    |\bimport\b.*\b_(?!_)\w|^\s*from\b.*\b_(?!_)\w|\bimport\s*\([^)]*\b_(?!_)\w""",
    re.VERBOSE | re.MULTILINE,
)
"""Where a private name of something else may stand in a text. A file without such a place is not parsed."""

HAS_HEIR = re.compile(r"^class \w+\(", re.MULTILINE)
"""A class at the top of a file that inherits from another one."""


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
        tree: ast.AST = ast.Module([], [])
        with suppress(OSError, TypeError):  # a class that is not written in Python
            tree = code_of(each)
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_self(node.value):
                found.add(node.attr)
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                found.add(node.target.id)
    return frozenset(found)


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def code_of(cls: type) -> ast.AST:
    """The syntax tree of a class. `inspect` reads a whole file for each of its classes."""
    named = [node for node in classes_of(inspect.getsourcefile(cls) or "") if node.name == cls.__qualname__]
    return named[-1] if named else ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]


@lru_cache(maxsize=8)  # trees of all files together take a gigabyte
def classes_of(path: str) -> list[ast.ClassDef]:
    """The classes that a file defines at its top, each in order."""
    tree = ast.parse(Path(path).read_text(encoding="utf-8")) if path else ast.Module([], [])
    return [node for node in tree.body if isinstance(node, ast.ClassDef)]


def text_of(file: str) -> str:
    return (ROOT / file).read_text(encoding="utf-8")


@cache
def tree_of(file: str) -> ast.Module:
    return ast.parse(text_of(file))


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
    if not MAY_BE_FOREIGN.search(text_of(file)):
        return set()
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
        if HAS_HEIR.search(text_of(file)):
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
    code = code_of(cls)
    used = {node.attr for node in ast.walk(code) if isinstance(node, ast.Attribute) and _is_own(node.value)}
    replaced = {name for name in vars(cls) if is_private(name)}
    made = {node.name for node in code.body if isinstance(node, ast.FunctionDef)}
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


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("import a._module", {"_module"}),
        ("from a._module import b", {"_module"}),
        ("from b import _imported", {"_imported"}),
        ("from b import (\n    c,\n    _imported,\n)", {"_imported"}),
        ("x._read", {"_read"}),
        ("(x\n    ._read)", {"_read"}),
        ("self.x._read", {"_read"}),
        ("myself._read", {"_read"}),
        ("getattr(x, '_got')", {"_got"}),
        ('setattr(x, "_set", 1)', {"_set"}),
        ("vars(x)['_looked_up']", {"_looked_up"}),
        ("x._mapping\nself._ours\nsuper()._ours\ndef _own(): ...\ny._own", set()),
    ],
)
def test_the_scan_finds_each_way_to_a_private_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, names: set[str]
) -> None:
    (tmp_path / "sample.py").write_text(code)
    monkeypatch.setattr("test_undocumented.ROOT", tmp_path)
    tree_of.cache_clear()
    defined.cache_clear()
    assert foreign_private_names("sample.py") == names
    tree_of.cache_clear()
    defined.cache_clear()


class Sample(WebClient):
    """Replaces a private method of the SDK, uses another one, and has one of its own."""

    def _perform_urllib_http_request(self, **given: object) -> None:
        self._build_urllib_request_headers()
        self._ours()

    def _ours(self) -> None: ...


def test_the_scan_finds_what_a_class_takes_from_its_base() -> None:
    names = {"_perform_urllib_http_request", "_build_urllib_request_headers"}
    assert inherited_private_names(Sample) == names
