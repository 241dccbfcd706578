"""Which modules a cell imports that the team has not listed (`[sandbox] imports`). A pure function of the text.

The list is a policy, and a cell that follows it is easier to review. It gives no protection: a listed module may import
any other module, and only the sandbox limits what code can reach.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from core import python_source

BASE: Final = (
    "collections",
    "datetime",
    "itertools",
    "math",
    "queue",
    "random",
    "re",
    "stat",
    "statistics",
    "time",
    "unicodedata",
)
"""What `base` stands for: the modules that smolagents' Python executor allows by itself (BASE_BUILTIN_MODULES)."""

ALWAYS: Final = ("__future__", "team", "threadbook_tools")
"""Our own library, and the functions that the team has accepted."""

_BY_NAME: Final = frozenset({"__import__", "import_module"})


def listed(imports: Iterable[str]) -> tuple[str, ...]:
    """The modules of a setting, `base` written out, each once."""
    found = (name for each in imports for name in (BASE if each == "base" else (each,)))
    return tuple(dict.fromkeys(found))


def unlisted(code: str, allowed: Sequence[str]) -> tuple[str, ...]:
    """The modules that the code imports and `allowed` (from `listed`) does not name, in the order of the text.

    A listed module brings what is in it: `matplotlib` allows `matplotlib.pyplot`. Code that names a module in a string
    that cannot be read here counts as `__import__`. Code that is no Python imports nothing: it fails by itself.
    """
    try:
        parsed = python_source.parsed(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    permitted = (*allowed, *ALWAYS)
    return tuple(dict.fromkeys(name for name in _imported(parsed, permitted) if not _is_permitted(name, permitted)))


def _imported(parsed: ast.Module, permitted: Sequence[str]) -> Iterator[str]:
    for node in sorted(ast.walk(parsed), key=lambda each: getattr(each, "lineno", 0)):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                name = "." * level + (module or "")
                parts = [f"{name}.{alias.name}" for alias in names]
                yield from () if all(_is_permitted(part, permitted) for part in parts) else (name,)
            case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called), args=args) if called in _BY_NAME:
                constant = args[0].value if args and isinstance(args[0], ast.Constant) else None
                yield constant if isinstance(constant, str) else "__import__"


def _is_permitted(name: str, permitted: Sequence[str]) -> bool:
    return any(name == each or name.startswith(f"{each}.") for each in permitted)
