"""Prints the largest classes and functions of the product, for docs/structure.md.

    python scripts/largest.py [COUNT]

Lines are counted from the `class` or `def` to the end of its body. Migrations and the templates of cells are left out:
they are long lists. Standard library only.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("bot", "core", "executor", "tryout", "workers")
LEFT_OUT = ("migrations/versions", "templates", "cell_functions.py")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def definitions() -> Iterator[tuple[str, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]]:
    """(file, definition) of every class and function."""
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if not any(part in name for part in LEFT_OUT):
                tree = ast.parse(path.read_text(encoding="utf-8"))
                yield from ((name, node) for node in ast.walk(tree) if isinstance(node, (ast.ClassDef, *FUNCTIONS)))


def size(node: ast.stmt) -> int:
    """Its lines."""
    return (node.end_lineno or node.lineno) - node.lineno + 1


def main(count: int) -> None:
    """Print both lists."""
    found = sorted(definitions(), key=lambda each: -size(each[1]))
    print("classes")
    for name, node in [each for each in found if isinstance(each[1], ast.ClassDef)][:count]:
        methods = sum(isinstance(each, FUNCTIONS) for each in node.body)
        print(f"  {size(node):>4} lines, {methods:>2} methods  {node.name}  {name}")
    print("functions")
    for name, node in [each for each in found if isinstance(each[1], FUNCTIONS)][:count]:
        print(f"  {size(node):>4} lines  {node.name}  {name}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 8)
