"""What code would touch, as far as its text shows: the rules that it falls under, and what it reads and writes. Pure.

The rules serve a policy (`[approvals] ask = "risky"`): they choose what a person looks at first. They give no
protection, because code can hide from them what it does. The sandbox protects in any case. `docs/working-together.md`
lists `RULES`; a test compares the two.
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from core.steps import Finding
from workers.agent.code.source import tree
from workers.agent.text import one_line

LONG_LOOP: Final = 10_000_000
"""From this many rounds on, a loop counts as very long. The plainest loop of Python does some ten million rounds in a
second, a loop that computes something a tenth of that."""
_MOST_FINDINGS = 20
_MOST_NAMES = 12
_LINE_CHARS = 160


@dataclass(frozen=True, slots=True)
class Touched:
    """What is known of a piece of code. `reads` and `writes` name files, folders and data sources."""

    risks: tuple[Finding, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: its name, what it finds in a sentence, and a program that falls under it."""

    name: str
    about: str
    example: str
    found_in: Callable[[ast.AST, _Names], bool]


class _Names:
    """The full names behind the names of a program, as its imports give them."""

    def __init__(self, program: ast.AST) -> None:
        self._known: dict[str, str] = {}
        for node in ast.walk(program):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    self._known[alias.asname or alias.name.split(".")[0]] = (
                        alias.name if alias.asname else alias.name.split(".")[0]
                    )
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    self._known[alias.asname or alias.name] = f"{node.module or ''}.{alias.name}"

    def of(self, node: ast.AST) -> str:
        """The dotted name of an expression ("os.path.join"), "" when it has none."""
        if isinstance(node, ast.Name):
            return self._known.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            inner = self.of(node.value)
            return f"{inner}.{node.attr}" if inner else ""
        return ""


_PROCESSES = re.compile(
    r"(subprocess|pty|multiprocessing|pexpect)(\..*)?|os\.(system|popen|exec\w*|spawn\w*|posix_spawn\w*|fork|forkpty|kill)"
    r"|asyncio\.create_subprocess_\w+|concurrent\.futures\.ProcessPoolExecutor|IPython\.get_ipython|get_ipython"
)
_NETWORK = re.compile(
    r"(socket|urllib|urllib2|urllib3|requests|httpx|aiohttp|http\.client|ftplib|smtplib|poplib|imaplib|telnetlib|paramiko|"
    r"websocket|websockets|boto3|botocore)(\..*)?"
)
_DELETES = re.compile(
    r"os\.(remove|unlink|rmdir|removedirs|truncate)|shutil\.(rmtree|move)|os\.(rename|replace|renames)"
)
_HIDES = re.compile(r"eval|exec|compile|__import__|importlib\.import_module|ctypes(\..*)?|builtins\.(eval|exec)")
_URL = re.compile(r"(https?|ftp|s3|gs|abfs|hdfs|ssh|sftp)://", re.IGNORECASE)
_READERS = re.compile(
    r"(pandas|pd|polars|pl|duckdb)\.(read|scan)_\w+|numpy\.(load|loadtxt|genfromtxt)|openpyxl\.load_workbook"
)
_SAVERS = re.compile(
    r"(savefig|save|savez|savetxt|dump|write_\w+|to_(csv|excel|parquet|json|pickle|html|feather|sql|latex|markdown|xml|orc|hdf|stata))"
)
_ASKS = frozenset({"query", "tables", "columns", "sample", "describe"})
_PATH_DELETES = frozenset({"unlink", "rmdir", "rename", "replace"})
_PATH_WRITES = frozenset({"write_text", "write_bytes", "touch", "mkdir", "symlink_to", "hardlink_to"})
_WRITES = re.compile(
    r"os\.(mkdir|makedirs|symlink|link|chmod|chown|mkfifo)|shutil\.(copy\w*|make_archive|unpack_archive)"
)


def _is_call(node: ast.AST, names: _Names, pattern: re.Pattern[str]) -> bool:
    return isinstance(node, ast.Call) and bool(pattern.fullmatch(names.of(node.func)))


def _starts_process(node: ast.AST, names: _Names) -> bool:
    return _is_call(node, names, _PROCESSES)


def _uses_network(node: ast.AST, names: _Names) -> bool:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return bool(_URL.match(node.value))
    return _is_call(node, names, _NETWORK)


def _deletes(node: ast.AST, names: _Names) -> bool:
    if not isinstance(node, ast.Call):
        return False
    return bool(_DELETES.fullmatch(names.of(node.func))) or _path_method(node, names) in _PATH_DELETES


def _writes_outside(node: ast.AST, names: _Names) -> bool:
    return isinstance(node, ast.Call) and any(_is_outside(path) for path in _written(node, names))


def _loops_long(node: ast.AST, _names: _Names) -> bool:
    if isinstance(node, ast.While):
        ends = (ast.Break, ast.Return, ast.Raise)
        return isinstance(node.test, ast.Constant) and bool(node.test.value) and not _has(node, ends)
    loops = (ast.For, ast.AsyncFor, ast.comprehension)
    return isinstance(node, loops) and (_rounds(node.iter) or 0) >= LONG_LOOP


def _hides(node: ast.AST, names: _Names) -> bool:
    return _is_call(node, names, _HIDES)


RULES: Final[tuple[Rule, ...]] = (
    Rule("outside", "It writes outside the working folder.", "open('/etc/x', 'w')", _writes_outside),
    Rule("delete", "It deletes, moves or renames files.", "import os\nos.remove('a.csv')", _deletes),
    Rule("loop", "It has a loop without an end, or one of ten million rounds.", "while True:\n    pass", _loops_long),
    Rule("process", "It starts another program.", "import os\nos.system('ls')", _starts_process),
    Rule("network", "It calls the network.", "import requests\nrequests.get(url)", _uses_network),
    Rule("hidden", "It runs code that is made while it runs, so nothing can be told of that.", "eval(text)", _hides),
)
"""Every rule, in the order in which findings are shown. Code that is not Python falls under "unreadable"."""

UNREADABLE: Final = "unreadable"
"""The finding on code that cannot be read, and on every command of a shell."""


@lru_cache(maxsize=256)  # each decision of a turn asks again
def touched(code: str, language: str = "python") -> Touched:
    """What the code would touch. Never raises; code that cannot be read has the finding `UNREADABLE`."""
    program = tree(code) if language == "python" else None
    try:
        return _touched(code, program) if program is not None else _unreadable(code)
    except RecursionError:  # an expression of thousands of parts
        return _unreadable(code)


def _unreadable(code: str) -> Touched:
    return Touched((Finding(rule=UNREADABLE, line=1, text=_line(code, 1)),))


def _touched(code: str, program: ast.Module) -> Touched:
    names = _Names(program)
    nodes = list(ast.walk(program))
    found = {
        (place, _line_of(node)): rule.name
        for node in nodes
        for place, rule in enumerate(RULES)
        if rule.found_in(node, names)
    }
    risks = [Finding(rule=name, line=line, text=_line(code, line)) for (_, line), name in sorted(found.items())]
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    return Touched(
        tuple(risks[:_MOST_FINDINGS]),
        _some(name for call in calls for name in _read(call, names)),
        _some(name for call in calls for name in _written(call, names)),
    )


def _read(call: ast.Call, names: _Names) -> Iterator[str]:
    name = names.of(call.func)
    if name in _ASKS:
        yield from (text for text in [_keyword(call, "source")] if text)
    elif _READERS.fullmatch(name) or (name == "open" and not _opens_to_write(call)):
        yield from _first(call, names)
    elif _path_method(call, names) in ("read_text", "read_bytes"):
        yield from _path_of(call, names)


def _written(call: ast.Call, names: _Names) -> Iterator[str]:
    name = names.of(call.func)
    if name in ("open", "io.open"):
        if _opens_to_write(call):
            yield from _first(call, names)
    elif _WRITES.fullmatch(name):
        # The last argument is the target: shutil.copy(source, target).
        yield from (_text(call.args[-1], names) or "" for _ in call.args[-1:])
    elif (method := _path_method(call, names)) in _PATH_WRITES or (method == "open" and _opens_to_write(call, 0)):
        yield from _path_of(call, names)
    elif isinstance(call.func, ast.Attribute) and _SAVERS.fullmatch(call.func.attr):
        yield from (text for text in _first(call, names) if text)


def _first(call: ast.Call, names: _Names) -> Iterator[str]:
    given = [*call.args[:1], *(word.value for word in call.keywords if word.arg in _PATH_WORDS)]
    yield from (text for node in given[:1] if (text := _text(node, names)))


_PATH_WORDS = frozenset({"path", "file", "fname", "path_or_buf", "excel_writer", "filepath_or_buffer", "io"})


def _text(node: ast.AST, names: _Names) -> str:
    """A path as far as its text shows it. Unknown parts are "…"; "" when nothing is known."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part, names) or "…" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Div):
        left, right = _text(node.left, names), _text(node.right, names)
        glue = "/" if isinstance(node.op, ast.Div) else ""
        return f"{left or '…'}{glue}{right or '…'}" if left or right else ""
    if isinstance(node, ast.Call) and names.of(node.func) in _JOINS:
        parts = [_text(part, names) or "…" for part in node.args]
        return posixpath.join(*parts) if parts else ""
    return ""


_JOINS = frozenset({"pathlib.Path", "Path", "pathlib.PurePosixPath", "os.path.join", "os.path.expanduser"})


def _path_method(call: ast.Call, names: _Names) -> str:
    """The method that is called on a path ("unlink" of `Path(x).unlink()`), "" when it is none."""
    func = call.func
    if not isinstance(func, ast.Attribute):
        return ""
    if isinstance(func.value, ast.Call) and names.of(func.value.func) in _JOINS:
        return func.attr
    # A variable may hold a path; these two methods belong to nothing else that analysts use.
    return func.attr if func.attr in ("unlink", "rmdir", "write_text", "write_bytes") else ""


def _path_of(call: ast.Call, names: _Names) -> Iterator[str]:
    if isinstance(call.func, ast.Attribute) and (text := _text(call.func.value, names)):
        yield text


def _opens_to_write(call: ast.Call, place: int = 1) -> bool:
    mode = (
        call.args[place] if len(call.args) > place else next((w.value for w in call.keywords if w.arg == "mode"), None)
    )
    if mode is None:
        return False
    return not isinstance(mode, ast.Constant) or bool(set(str(mode.value)) & set("wax+"))


def _is_outside(path: str) -> bool:
    """Whether a path leads out of the working folder. A path of which nothing is known does not count."""
    if path.startswith(("/", "~")):
        return True
    return posixpath.normpath(path).split("/")[0] == ".."


def _rounds(node: ast.AST) -> int | None:
    """How often a loop over this runs, if its text shows it."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"):
        return None
    numbers = [_number(each) for each in node.args]
    if not numbers or any(number is None for number in numbers):
        return None
    try:
        whole = range(*(number for number in numbers if number is not None))
    except (ValueError, TypeError):
        return None
    return abs(whole.stop - whole.start) // max(1, abs(whole.step))  # len() refuses what is longer than a machine word


def _number(node: ast.AST) -> int | None:
    """A whole number, or one as `10 ** 9`, `5 * 10 ** 8`, `int(1e9)`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "int" and len(node.args) == 1:
        value = node.args[0]
        if isinstance(value, ast.Constant) and isinstance(value.value, float) and abs(value.value) < 1e300:
            return int(value.value)
        return _number(value)
    if isinstance(node, ast.BinOp):
        left, right = _number(node.left), _number(node.right)
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Mult):
            return left * right
        if isinstance(node.op, ast.Pow) and 0 <= right <= 64 and abs(left) <= 1_000:
            return int(left**right)
    return None


def _has(node: ast.AST, kinds: tuple[type[ast.AST], ...]) -> bool:
    return any(isinstance(inner, kinds) for inner in ast.walk(node))


def _keyword(call: ast.Call, name: str) -> str:
    value = next((word.value for word in call.keywords if word.arg == name), None)
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""


def _line_of(node: ast.AST) -> int:
    if isinstance(node, ast.comprehension):
        return node.iter.lineno
    return int(getattr(node, "lineno", 1))


def _line(code: str, number: int) -> str:
    lines = code.splitlines()
    return one_line(lines[number - 1], _LINE_CHARS) if 0 < number <= len(lines) else ""


def _some(names: Iterator[str]) -> tuple[str, ...]:
    unique: Mapping[str, None] = dict.fromkeys(one_line(name, 100) for name in names if name.strip())
    return tuple(unique)[:_MOST_NAMES]
