"""Errors in the text of a function or its tests. Pure; nothing runs before this list is empty.

A module holds one public function, private ones that it uses, imports from a list, and constants. It takes its data as
arguments: it opens no file, starts no program, calls no network, and has no effect when it is imported. This gives no
protection: code that passes this check still runs only in the sandbox.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from workers.agent.code.risks import touched
from workers.agent.code.source import tree

LONGEST_CODE: Final = 16_000
LONGEST_TESTS: Final = 16_000
MOST_LINES: Final = 300
MOST_TESTS: Final = 20
LEAST_TESTS: Final = 2
NAME: Final = re.compile(r"[a-z][a-z0-9_]{2,59}")
TEAM: Final = "team"

MODULES: Final = frozenset(
    {
        *("__future__", "bisect", "calendar", "collections", "dataclasses", "datetime", "decimal", "enum", "fractions"),
        *("functools", "hashlib", "heapq", "itertools", "json", "math", "numbers", "operator", "re", "statistics"),
        *("string", "textwrap", "typing", "unicodedata", "zoneinfo"),
        *("numpy", "pandas", "scipy", "sklearn", "statsmodels", "threadbook_tools"),
    }
)
"""What a function may import: nothing of it opens files or sockets on its own."""
_TOP_LEVEL: Final = "only imports, constants without a call and functions may stand at the top level."
TEST_MODULES: Final = MODULES | {TEAM, "pytest", "hypothesis"}
PYTEST: Final = frozenset({"raises", "approx"})
"""What tests may use of pytest. The proof brings these two along, so pytest need not be installed."""
_FORBIDDEN_NAMES: Final = frozenset(
    {
        *("eval", "exec", "compile", "open", "input", "__import__", "globals", "locals", "vars", "breakpoint", "exit"),
        *("quit", "getattr", "setattr", "delattr", "memoryview", "help"),
    }
)
_FILES: Final = re.compile(r"(read|scan|write)_\w+|to_(csv|excel|parquet|json|pickle|html|feather|sql|orc|hdf|stata)")
_FORBIDDEN_ATTRIBUTES: Final = re.compile(
    r"__\w+__|f_(globals|locals|back|builtins)|gi_frame|cr_frame|tb_frame|ctypes\w*|DataSource|load|loadtxt|"
    r"genfromtxt|fromfile|memmap|save|savez\w*|savetxt|tofile|fetch_\w+|eval|query|pipe_file|testing|f2py|distutils|"
    r"attrgetter|methodcaller|get_type_hints|os|sys|io|subprocess|builtins|importlib|inspect|pickle|socket|shutil|pathlib"
)
_FINE_ATTRIBUTES: Final = frozenset({"__name__", "__doc__"})
_DECORATORS: Final = frozenset({"given", "settings", "example"})


def faults(name: str, schema: Mapping[str, Any], code: str, tests: str) -> list[str]:
    """What is wrong with a function: its schema, its module, its tests. Empty when it may be tried. Never raises."""
    if not NAME.fullmatch(name):
        return [f"{name[:60]!r} is no name for a function: small letters, digits and _, 3 to 60 of them."]
    try:
        found = [*_of_module(name, code), *_of_schema(name, schema, code), *_of_tests(name, tests)]
    except RecursionError:
        return ["The code is nested too deeply to be read."]
    return list(dict.fromkeys(found))


def signature_of(name: str, code: str) -> str:
    """The signature of the public function as people read it, "" when the code has none."""
    function = _public(name, code)
    if function is None:
        return ""
    returns = f" -> {ast.unparse(function.returns)}" if function.returns is not None else ""
    return f"{name}({ast.unparse(function.args)}){returns}"


def has_property(tests: str) -> bool:
    """Whether one of the tests tries many inputs that hypothesis makes up."""
    module = tree(tests)
    return module is not None and any(_is_property(each) for each in module.body if isinstance(each, ast.FunctionDef))


def _of_module(name: str, code: str) -> Iterator[str]:
    yield from _too_long("module.py", code, LONGEST_CODE)
    module = tree(code)
    if module is None:
        yield "module.py is no Python."
        return
    for place, node in enumerate(module.body):
        if not _may_stand(node, place):
            yield f"module.py, line {node.lineno}: {_TOP_LEVEL}"
    functions = [each.name for each in module.body if isinstance(each, ast.FunctionDef)]
    public = [each for each in functions if not each.startswith("_")]
    if public != [name]:
        yield f"module.py has to have one public function, {name}; it has {', '.join(public) or 'none'}."
    function = _public(name, code)
    if function is not None:
        yield from _of_function(function)
    yield from _imports(module, MODULES, "module.py")
    yield from _forbidden(module, "module.py")
    yield from _touches(code, "module.py")


def _of_function(function: ast.FunctionDef) -> Iterator[str]:
    given = function.args
    if given.vararg is not None or given.kwarg is not None:
        yield f"module.py, line {function.lineno}: name each argument, without *args and **kwargs."
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    if any(each.annotation is None for each in named) or function.returns is None:
        yield f"module.py, line {function.lineno}: each argument and the result need a type."
    if not ast.get_docstring(function):
        yield f"module.py, line {function.lineno}: the function needs a docstring."
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(function)):
        yield f"module.py, line {function.lineno}: the function has to return its result, not to yield it."


def _of_schema(name: str, schema: Mapping[str, Any], code: str) -> Iterator[str]:
    """The schema has to say of the arguments what the signature says."""
    for word in ("description", "when"):
        if not isinstance(schema.get(word), str) or not str(schema[word]).strip():
            yield f"schema.json needs {word!r}, a sentence."
    parameters = schema.get("parameters")
    if not isinstance(parameters, Mapping) or parameters.get("type") != "object":
        yield "schema.json needs 'parameters', a JSON schema of type object."
        return
    properties, required = parameters.get("properties", {}), parameters.get("required", [])
    if not isinstance(properties, Mapping) or not isinstance(required, list):
        yield "schema.json: 'properties' is an object, 'required' a list of names."
        return
    for argument, about in properties.items():
        if not isinstance(about, Mapping) or not str(about.get("description") or "").strip():
            yield f"schema.json: {argument!r} needs a description."
    function = _public(name, code)
    if function is None:
        return
    named = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    names = [each.arg for each in named]
    if sorted(properties) != sorted(names):
        yield f"schema.json describes {', '.join(properties) or 'nothing'}; the function takes {', '.join(names)}."
        return
    plain = [*function.args.posonlyargs, *function.args.args]
    optional = (
        {each.arg for each in plain[len(plain) - len(function.args.defaults) :]} if function.args.defaults else set()
    )
    pairs = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    optional |= {each.arg for each, default in pairs if default is not None}
    if sorted(map(str, required)) != sorted(set(names) - optional):
        yield "schema.json: 'required' has to name the arguments without a default, and only those."


def _of_tests(name: str, tests: str) -> Iterator[str]:
    yield from _too_long("tests.py", tests, LONGEST_TESTS)
    module = tree(tests)
    if module is None:
        yield "tests.py is no Python."
        return
    for place, node in enumerate(module.body):
        if not _may_stand(node, place, decorated=True):
            yield f"tests.py, line {node.lineno}: {_TOP_LEVEL}"
    found = [each for each in module.body if isinstance(each, ast.FunctionDef) and each.name.startswith("test_")]
    if not LEAST_TESTS <= len(found) <= MOST_TESTS:
        yield f"tests.py needs {LEAST_TESTS} to {MOST_TESTS} functions test_…; it has {len(found)}."
    if len({each.name for each in found}) != len(found):
        yield "tests.py has two tests of one name."
    for each in found:
        if not set(map(_decorator, each.decorator_list)) <= _DECORATORS:
            yield f"tests.py, line {each.lineno}: a test takes no decorators but {', '.join(sorted(_DECORATORS))}."
        if not any(isinstance(node, ast.Assert) or _is_raises(node) for node in ast.walk(each)):
            yield f"tests.py, line {each.lineno}: {each.name} asserts nothing."
        if (each.args.args or each.args.kwonlyargs) and not _is_property(each):
            yield f"tests.py, line {each.lineno}: {each.name} takes arguments, but nothing gives them."
    if not any(_is_raises(node) for each in found for node in ast.walk(each)):
        yield "tests.py needs a test of bad input: `with pytest.raises(ValueError): …`."
    if not any(isinstance(node, ast.ImportFrom) and node.module == TEAM for node in module.body):
        yield f"tests.py has to begin with `from {TEAM} import {name}`."
    yield from _borrowed(name, module)
    yield from _imports(module, TEST_MODULES, "tests.py")
    yield from _forbidden(module, "tests.py")
    yield from _touches(tests, "tests.py")


def _borrowed(name: str, module: ast.Module) -> Iterator[str]:
    """What tests may take from the team's functions and from pytest."""
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom) and node.module == TEAM and [each.name for each in node.names] != [name]:
            yield f"tests.py, line {node.lineno}: import {name} from {TEAM}, and nothing else."
        used: set[str] = set()
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "pytest":
            used = {node.attr}
        elif isinstance(node, ast.ImportFrom) and node.module == "pytest":
            used = {each.name for each in node.names}
        if not used <= PYTEST:
            line = getattr(node, "lineno", 0)
            yield f"tests.py, line {line}: of pytest only {' and '.join(sorted(PYTEST))} can be used."


def _too_long(file: str, text: str, limit: int) -> Iterator[str]:
    if len(text) > limit or text.count("\n") > MOST_LINES:
        yield f"{file} is too long: at most {limit:,} characters and {MOST_LINES} lines."


def _may_stand(node: ast.stmt, place: int, *, decorated: bool = False) -> bool:
    """Whether a statement at the top level has no effect but to name something."""
    match node:
        case ast.Expr(value=ast.Constant(value=str())):
            return place == 0
        case ast.Import() | ast.ImportFrom():
            return True
        case (
            ast.Assign(targets=[ast.Name()], value=value) | ast.AnnAssign(target=ast.Name(), value=ast.expr() as value)
        ):
            return _is_literal(value)
        case ast.FunctionDef():
            defaults = [*node.args.defaults, *(each for each in node.args.kw_defaults if each is not None)]
            types = [each.annotation for each in ast.walk(node.args) if isinstance(each, ast.arg) and each.annotation]
            types += [node.returns] if node.returns is not None else []
            plain = all(not isinstance(part, ast.Call | ast.Lambda) for each in types for part in ast.walk(each))
            return plain and all(map(_is_literal, defaults)) and (decorated or not node.decorator_list)
    return False


def _is_literal(node: ast.expr) -> bool:
    """Whether it is a value that is written down: no call, no name but another constant's, no huge power."""
    fine = (ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.Set, ast.UnaryOp, ast.unaryop, ast.expr_context)
    return all(isinstance(part, fine) for part in ast.walk(node))


def _imports(module: ast.Module, allowed: frozenset[str], file: str) -> Iterator[str]:
    for node in (each for each in ast.walk(module) if isinstance(each, ast.Import | ast.ImportFrom)):
        if isinstance(node, ast.ImportFrom) and (node.level or any(each.name == "*" for each in node.names)):
            yield f"{file}, line {node.lineno}: import by full name, without * and dots."
            continue
        names = [each.name for each in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        for name in names:
            if name.partition(".")[0] not in allowed or any(_is_forbidden(part) for part in name.split(".")[1:]):
                yield f"{file}, line {node.lineno}: {name} may not be imported."


def _forbidden(module: ast.Module, file: str) -> Iterator[str]:
    for node in ast.walk(module):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Name) and node.id in _FORBIDDEN_NAMES:
            yield f"{file}, line {line}: {node.id} may not be used."
        elif isinstance(node, ast.Attribute) and _is_forbidden(node.attr):
            yield f"{file}, line {line}: .{node.attr} may not be used."
        elif isinstance(node, ast.alias) and _is_forbidden(node.name):
            yield f"{file}, line {line}: {node.name} may not be imported."
        elif isinstance(node, ast.Global | ast.AsyncFunctionDef | ast.ClassDef | ast.Await):
            yield f"{file}, line {line}: no classes, no async, no global."
        elif isinstance(node, ast.Name) and node.id.startswith("__") and node.id not in ("__name__", "__doc__"):
            yield f"{file}, line {line}: {node.id} may not be used."


def _is_forbidden(attribute: str) -> bool:
    if attribute in _FINE_ATTRIBUTES:
        return False
    return bool(_FORBIDDEN_ATTRIBUTES.fullmatch(attribute) or _FILES.fullmatch(attribute))


def _touches(code: str, file: str) -> Iterator[str]:
    found = touched(code)
    for risk in found.risks:
        yield f"{file}, line {risk.line}: not allowed ({risk.rule}): {risk.text}"
    for path in (*found.reads, *found.writes):
        yield f"{file}: it opens {path}. Data comes as arguments."


def _public(name: str, code: str) -> ast.FunctionDef | None:
    module = tree(code)
    body = module.body if module is not None else []
    return next((each for each in body if isinstance(each, ast.FunctionDef) and each.name == name), None)


def _is_property(node: ast.FunctionDef) -> bool:
    return "given" in map(_decorator, node.decorator_list)


def _decorator(node: ast.expr) -> str:
    return _last(node.func if isinstance(node, ast.Call) else node)


def _is_raises(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _last(node.func) == "raises"


def _last(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
