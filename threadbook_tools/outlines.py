"""An outline of a project of source code within a limit of characters: names, signatures, docstrings, sizes.

Python is read by `ast`; nothing is imported or run. For other languages, the lines that begin a definition are shown.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

_MOST_PARSED = 1_000_000
_LINE = 160
_DOC = 80
_SYMBOLS = 200
"""The number of symbols that are shown of one file."""
_C_LIKE = re.compile(
    r"^(?:export\s+|default\s+|public\s+|private\s+|protected\s+|internal\s+|static\s+|abstract\s+|final\s+|async\s+|"
    r"unsafe\s+|sealed\s+|partial\s+|inline\s+|extern\s+|pub(?:\([^)]*\))?\s+|override\s+|open\s+|data\s+|declare\s+)*"
    r"(?:class|interface|trait|struct|enum|record|object|protocol|namespace|module|impl|union|type|func|fun|fn|"
    r"function\*?|def|macro_rules!)\s*[\w$<(]"
)
_FUNCTION_VALUE = re.compile(
    r"^(?:export\s+)?(?:const|let|var)\s+[\w$]+\s*=\s*(?:async\s*)?(?:function\b|\([^)]*\)\s*(?::[^=]+)?=>)"
)
_C_FUNCTION = re.compile(r"^[A-Za-z_][\w\s*&:<>,~]*\b[\w:~]+\s*\([^;]*\)\s*(?:const\s*)?\{?\s*$")
_SHELL = re.compile(r"^(?:function\s+)?[\w.-]+\s*\(\)\s*\{?")
_SQL = re.compile(
    r"^\s*create\s+(?:or\s+replace\s+)?(?:temp\w*\s+)?(?:materialized\s+)?(?:table|view|function|procedure|index|type)\b",
    re.I,
)
_R = re.compile(r"^[\w.]+\s*(?:<-|=)\s*function\s*\(")
_HEADING = re.compile(r"^#{1,3}\s+\S")
_NO_FUNCTION = re.compile(r"^(?:if|for|while|switch|return|else|catch|do)\b")
_PATTERNS: dict[str, tuple[re.Pattern[str], ...]] = {
    **dict.fromkeys(("js", "jsx", "ts", "tsx", "mjs", "cjs", "vue", "svelte"), (_C_LIKE, _FUNCTION_VALUE)),
    **dict.fromkeys(("go", "rs", "java", "kt", "kts", "scala", "cs", "swift"), (_C_LIKE,)),
    **dict.fromkeys(("php", "rb", "dart", "ex", "exs"), (_C_LIKE,)),
    **dict.fromkeys(("c", "h", "cc", "cpp", "cxx", "hpp"), (_C_LIKE, _C_FUNCTION)),
    **dict.fromkeys(("sh", "bash"), (_SHELL,)),
    **dict.fromkeys(("py", "pyi"), (re.compile(r"^\s*(?:async\s+)?(?:def|class)\s+\w"),)),
    "sql": (_SQL,),
    "r": (_R,),
    "md": (_HEADING,),
}  # fmt: skip


@dataclass(frozen=True)
class Symbol:
    """A definition: its line, how deep it stands, its head, and the first line of its docstring."""

    line: int
    depth: int
    head: str
    doc: str = ""


def symbols_in(name: str, content: bytes) -> list[Symbol]:
    """The definitions of one file, in their order; none for a kind of file that has none, or a file that is no text."""
    patterns = _PATTERNS.get(name.rpartition(".")[2].lower(), ())
    if not patterns or len(content) > _MOST_PARSED or b"\0" in content:
        return []
    text = content.decode("utf-8", "replace")
    if name.endswith((".py", ".pyi")):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return list(_of_python(ast.parse(text).body, 0))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass  # of another version, or broken: its lines still say something
    return list(_of_lines(text, patterns))


def _of_python(body: list[ast.stmt], depth: int) -> Iterator[Symbol]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            bases = ", ".join(ast.unparse(base) for base in (*node.bases, *node.keywords))
            yield Symbol(
                node.lineno,
                depth,
                _cut(f"class {node.name}({bases})" if bases else f"class {node.name}", _LINE),
                _doc(node),
            )
            yield from _of_python(node.body, depth + 1)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
            returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
            yield Symbol(
                node.lineno, depth, _cut(f"{word} {node.name}({ast.unparse(node.args)}){returns}", _LINE), _doc(node)
            )
        elif isinstance(node, ast.Assign | ast.AnnAssign) and depth == 0 and (constant := _constant(node)):
            yield Symbol(node.lineno, depth, constant)


def _constant(node: ast.Assign | ast.AnnAssign) -> str:
    target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
    if not isinstance(target, ast.Name) or not target.id.isupper():
        return ""
    return target.id


def _doc(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    return _cut((ast.get_docstring(node) or "").strip().partition("\n")[0], _DOC)


def _of_lines(text: str, patterns: tuple[re.Pattern[str], ...]) -> Iterator[Symbol]:
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            fenced = not fenced
        head = line.strip()
        if fenced or not head or len(line) > 2_000 or _NO_FUNCTION.match(head):
            continue
        indent = len(line) - len(line.lstrip())
        if any(pattern.match(line if pattern is _C_FUNCTION else head) for pattern in patterns):
            yield Symbol(number, min(indent // 2, 3) if indent else 0, _cut(head.rstrip("{ "), _LINE))


def outline(files: Mapping[str, bytes], chars: int) -> str:
    """An outline of these files of at most `chars` characters: as much of each as there is room for in all."""
    found = {name: symbols_in(name, content)[:_SYMBOLS] for name, content in sorted(files.items())}

    def told(name: str, shown: Callable[[Symbol], str]) -> str:
        content = files[name]
        lines = content.count(b"\n") + bool(content and not content.endswith(b"\n"))
        size = f"{len(content):,} bytes" if b"\0" in content[:8_192] else f"{lines:,} line{'' if lines == 1 else 's'}"
        return "\n".join([f"{name} ({size})", *filter(None, map(shown, found[name]))])

    def doc(symbol: Symbol) -> str:
        return bare(symbol) + (f"  # {symbol.doc}" if symbol.doc else "")

    def bare(symbol: Symbol) -> str:
        return f"{'  ' * (symbol.depth + 1)}{symbol.line}: {symbol.head}"

    def top(symbol: Symbol) -> str:
        return bare(symbol) if symbol.depth == 0 else ""

    def nothing(_: Symbol) -> str:
        return ""

    for shown in (doc, bare, top, nothing):
        text = "\n".join(told(name, shown) for name in found)
        if len(text) <= chars:
            return text
    return _folders(files, chars)


def _folders(files: Mapping[str, bytes], chars: int) -> str:
    """Folders with their numbers of files, the deepest level that there is room for."""
    for depth in (4, 3, 2, 1):
        counted = Counter("/".join(name.split("/")[:-1][:depth]) or "." for name in files)
        text = "\n".join(
            f"{folder}/ ({count:,} file{'' if count == 1 else 's'})" for folder, count in sorted(counted.items())
        )
        if len(text) <= chars:
            return text
    return text[: max(chars - 2, 0)] + "\n…"


def _cut(text: str, limit: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
