"""The languages that a program may be written in: file ending, how it is read, how it is run.

`run` and `parse` are the words before the file's name. A tool that does not answer inside the walls counts as not
installed (`tools.py`); the critics that need it are then skipped by name.

A compiled program is linked statically, and started from its bytes (`threadbook_tools/native_start.py`): no file of a
workspace may be executed there.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable
from dataclasses import dataclass

_PYTHON_PARSE = "import ast, sys; ast.parse(open(sys.argv[1], encoding='utf-8').read(), sys.argv[1])"
_HTML_PARSE = """
import html.parser, sys
VOID = set("area base br col embed hr img input link meta source track wbr".split())
CLOSED_BY_OTHERS = set("p li dt dd tr td th option thead tbody tfoot".split())
class Balance(html.parser.HTMLParser):
    open = []
    def handle_starttag(self, tag, attrs):
        if tag not in VOID: self.open.append((tag, self.getpos()[0]))
    def handle_endtag(self, tag):
        while self.open and self.open[-1][0] != tag and self.open[-1][0] in CLOSED_BY_OTHERS: self.open.pop()
        if self.open and self.open[-1][0] == tag: self.open.pop()
        elif tag not in VOID | CLOSED_BY_OTHERS:
            sys.exit(f"{sys.argv[1]}:{self.getpos()[0]}: </{tag}> closes nothing that is open")
parser = Balance()
parser.feed(open(sys.argv[1], encoding="utf-8").read())
for tag, line in parser.open:
    if tag not in CLOSED_BY_OTHERS: sys.exit(f"{sys.argv[1]}:{line}: <{tag}> is never closed")
"""
BUILT, START = ".built/program", ".built/start.py"
"""Where a compiled program lies in the folder of its run, and what starts it."""
_MAIN, _SOURCES = "{main}", "{sources}"
_NATIVE = platform.machine() == "x86_64"
_OTHER_MACHINE = "" if _NATIVE else "compiled programs are started on machines of 64-bit x86 alone"
_GO = ("env", "CGO_ENABLED=0", "GOTOOLCHAIN=local", "GOPROXY=off", "GOFLAGS=", "go", "build")
_RUSTC = ("rustc", "--edition", "2021", "--error-format", "short", "-C", "target-feature=+crt-static")


@dataclass(frozen=True, slots=True)
class Language:
    """One row of the table."""

    name: str
    extension: str
    aliases: tuple[str, ...] = ()
    run: tuple[str, ...] = ()
    """Empty: programs of this language are not run; `not_run` says why."""
    parse: tuple[str, ...] = ()
    """A command that only reads the file and fails with a message; empty: none is known."""
    not_run: str = ""
    compiler: str = ""
    """The tool that makes a program of the files, for languages that are compiled."""
    compile: tuple[str, ...] = ()
    """Its command line; empty where compiled programs cannot be started."""

    @property
    def runs(self) -> bool:
        """Whether programs of this language are run here, where their tool is installed."""
        return bool(self.run or self.compile)

    @property
    def tool(self) -> str:
        """What has to be installed for a run."""
        return self.run[0] if self.run else self.compiler

    def compile_words(self, main_file: str, files: Iterable[str]) -> tuple[str, ...]:
        """The command that makes `BUILT` of the program's files; empty for a language that is not compiled."""
        others = [path for path in files if path.endswith(f".{main_file.rpartition('.')[2]}") and path != main_file]
        found: list[str] = []
        for word in self.compile:
            found += [main_file, *others] if word == _SOURCES else [main_file] if word == _MAIN else [word]
        return tuple(found)

    @property
    def fence_words(self) -> tuple[str, ...]:
        """Words behind an opening fence that mean this language."""
        return (self.name, self.extension, *self.aliases)


LANGUAGES = (
    Language("python", "py", ("python3", "py3"), run=("python",), parse=("python", "-I", "-c", _PYTHON_PARSE)),
    Language("bash", "sh", ("shell", "zsh"), run=("bash",), parse=("bash", "-n")),
    Language("javascript", "js", ("node", "mjs", "ecmascript"), run=("node",), parse=("node", "--check")),
    Language("typescript", "ts", ("tsx",), run=("tsx",), parse=("tsc", "--noEmit")),
    Language("sql", "sql", ("sqlite", "sqlite3"), run=("sqlite3",)),
    Language("html", "html", ("htm",), parse=("python", "-I", "-c", _HTML_PARSE), not_run="a page is not a program"),
    Language(
        "go",
        "go",
        ("golang",),
        parse=("gofmt", "-e", "-l"),
        not_run=_OTHER_MACHINE,
        compiler="go",
        compile=(*_GO, "-trimpath", "-o", BUILT, _SOURCES) if _NATIVE else (),
    ),
    Language(
        "rust",
        "rs",
        parse=("rustfmt", "--edition", "2021", "--emit", "stdout"),
        not_run=_OTHER_MACHINE,
        compiler="rustc",
        compile=(*_RUSTC, "--crate-name", "program", "-o", BUILT, _MAIN) if _NATIVE else (),
    ),
    Language(
        "c",
        "c",
        parse=("gcc", "-fsyntax-only"),
        not_run=_OTHER_MACHINE,
        compiler="gcc",
        compile=("gcc", "-std=gnu17", "-O1", "-static-pie", "-o", BUILT, _SOURCES, "-lm") if _NATIVE else (),
    ),
)
_BY_NAME = {word: language for language in LANGUAGES for word in (language.name, *language.aliases)}


def language_of(name: str) -> Language:
    """The language of this name. An unknown language is text: its files are written, but not checked by tools."""
    folded = name.strip().casefold()
    return _BY_NAME.get(folded) or Language(folded or "text", "txt", not_run=f"no tools are known for {folded}")
