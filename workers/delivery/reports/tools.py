"""`threadbook_tools` and functions of the team in a notebook and a script: the source of what their cells import."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from core import python_source
from core.steps import FunctionUsed
from workers.agent.code.program import parsed

PACKAGE = "threadbook_tools"
NEEDS = ("numpy", "pandas", "scipy")
"""What its modules import themselves."""
_SETUP = """# {package}: the source of what the cells below import from it.
import sys
import types

_sources = {{
{sources}
}}
{package} = types.ModuleType("{package}")
sys.modules["{package}"] = {package}
for _name, _source in _sources.items():
    _module = types.ModuleType(f"{package}.{{_name}}")
    sys.modules[_module.__name__] = _module
    exec(compile(_source, f"{package}/{{_name}}.py", "exec"), _module.__dict__)
    setattr({package}, _name, _module)
    {package}.__dict__.update({{name: value for name, value in vars(_module).items() if not name.startswith("_")}})
"""

_TEAM = """# team: the functions of the team that the cells below import, as they were then.
import sys
import types

_functions = {{
{sources}
}}
team = types.ModuleType("team")
sys.modules["team"] = team
for _name, _source in _functions.items():
    _own = {{"__name__": f"team.{{_name}}"}}
    exec(compile(_source, f"team/{{_name}}.py", "exec"), _own)
    setattr(team, _name, _own[_name])
"""


def tools_setup(code: str) -> str:
    """What makes `import threadbook_tools` work where it is not installed; "" for code that does not import it."""
    if PACKAGE not in code or (tree := parsed(code)) is None or not _imports(tree):
        return ""
    words = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    words |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    words |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    modules = _modules()
    used = _with_needs(sorted({modules[word] for word in words if word in modules}) or sorted(set(modules.values())))
    sources = "\n".join(f"    \"{name}\": r'''{_source(name)}'''," for name in used)
    return _SETUP.format(package=PACKAGE, sources=sources)


def team_setup(functions: Iterable[FunctionUsed]) -> str:
    """What makes `from team import NAME` work elsewhere, with the versions that the cells used; "" without any."""
    used = {each.name: each for each in functions}
    sources = "\n".join(
        f"    {name!r}: {_quoted(each.code)},  # v{each.version}" for name, each in sorted(used.items())
    )
    return _TEAM.format(sources=sources) if used else ""


def _quoted(source: str) -> str:
    """A literal of this source that people can read, where its text allows that."""
    is_plain = "'''" not in source and not source.endswith(("\\", "'"))
    return f"r'''{source}'''" if is_plain else repr(source)


def _imports(tree: ast.Module) -> bool:
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return any(name.partition(".")[0] == PACKAGE for name in names)


@cache
def _folder() -> Path:
    """Where it lies. It is not imported here: it would bring pandas into every worker."""
    spec = find_spec(PACKAGE)
    assert spec is not None and spec.origin is not None  # noqa: S101, PT018 - it is installed together with us
    return Path(spec.origin).parent


@cache
def _modules() -> dict[str, str]:
    """The module of each function."""
    tree = python_source.parsed((_folder() / "__init__.py").read_text(encoding="utf-8"))
    found = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module]
    return {alias.name: str(node.module).rpartition(".")[2] for node in found for alias in node.names}


def _with_needs(modules: Iterable[str]) -> list[str]:
    """These modules, each behind those of the package that it imports."""
    found: list[str] = []
    for module in modules:
        tree = python_source.parsed(_source(module))
        names = [node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)]
        needed = [name.removeprefix(f"{PACKAGE}.") for name in names if name.startswith(f"{PACKAGE}.")]
        found += [name for name in [*_with_needs(needed), module] if name not in found]
    return found


@cache
def _source(module: str) -> str:
    return (_folder() / f"{module}.py").read_text(encoding="utf-8")
