"""`from team import NAME` in a cell: which functions its code names, and what is run in its session before it. Pure."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Mapping, Sequence

from core.steps import FunctionUsed
from workers.agent.code.source import tree
from workers.memory.functions.page import TeamFunction
from workers.memory.functions.static import TEAM

_SETUP = """
import json, sys, types
def put(given):
    team = types.ModuleType({team!r}, "The functions of this team, as people accepted them.")
    for name, source in given.items():
        # A function that says to be of the notebook is kept with the notebook's variables, whole.
        own = {{"__name__": "__main__"}}
        try:
            exec(compile(source, f"<team/{{name}}.py>", "exec"), own)
            setattr(team, name, own[name])
        except Exception as error:  # a library that it needs is gone: the others still work
            print(f"{{name}} of the team cannot be used: {{error!r}}", file=sys.stderr)
    team.__all__ = sorted(given)
    sys.modules[{team!r}] = team
put(json.loads({given!r}))
"""


def imports_team(code: str) -> bool:
    """Whether code imports the team's functions."""
    if TEAM not in code or (module := tree(code)) is None:
        return False
    names = [alias.name for node in ast.walk(module) if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in ast.walk(module) if isinstance(node, ast.ImportFrom) and not node.level]
    return any(name.partition(".")[0] == TEAM for name in names)


def named_in(code: str, usable: Mapping[str, TeamFunction]) -> tuple[FunctionUsed, ...]:
    """The functions that code names, in the order of their names; empty for code that imports none."""
    if not imports_team(code) or (module := tree(code)) is None:
        return ()
    said: set[str] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.alias):
            said |= {node.name, node.name.rpartition(".")[2]}
        elif isinstance(node, ast.Attribute):
            said.add(node.attr)
    return tuple(
        FunctionUsed(file=each.file, name=name, version=each.version, code=each.draft.code)
        for name, each in sorted(usable.items())
        if name in said
    )


def setup_code(functions: Sequence[FunctionUsed]) -> str:
    """A cell that puts these functions in place. It leaves no variables, and an import that names others fails."""
    given = json.dumps({each.name: each.code for each in functions})
    return f"exec({_SETUP.format(team=TEAM, given=given)!r}, {{}})\n"


def labels(functions: Iterable[FunctionUsed]) -> list[str]:
    """The functions with their versions, as people read them."""
    return [f"{each.name} v{each.version}" for each in functions]
