"""Which tools work inside the sandbox. Other tools are named, and their critics are skipped with that name."""

from __future__ import annotations

import shutil

from workers.builder.requirements.languages import START, Language
from workers.builder.sandbox.walls import Job, Walls
from workers.builder.testing.mutation import NOTHING

_MODULES = ("ruff", "mypy", "bandit")
"""Tools that are Python packages: they are run by the interpreter of the session."""
_MYPY = (
    "import sys; sys.modules['psutil'] = None; sys.argv[0] = 'mypy'; "
    "from mypy.__main__ import console_entry; console_entry()"
)
"""mypy asks psutil how many processors there are, and psutil reads a file that the walls do not show."""
_TRIAL_S, _SHOWN = 120.0, 200
_ANSWERS = (0, 2)
"""Exit codes of a tool that is there; gofmt ends with 2 after its usage text."""
_ASK = {
    "python": ("python", "-V"),
    "sqlite3": ("sqlite3", "-version"),
    "gofmt": ("gofmt", "-h"),
    "go": ("go", "version"),
}


class Tools:
    """Asked once per tool."""

    def __init__(self, walls: Walls) -> None:
        self._walls = walls
        self._known: dict[str, bool] = {}
        self._trials: dict[str, str] = {}

    def has(self, name: str) -> bool:
        """Whether a tool answers."""
        if name not in self._known:
            words = _ASK.get(name) or (*command(name), "--version")
            ran = self._walls.run(Job(words, timeout_s=30, tool=True))
            self._known[name] = ran.status == "ok" and ran.exit_code in _ANSWERS and not _no_module(ran.stderr)
        return self._known[name]

    def missing(self, language: Language) -> str:
        """Why programs of a language cannot be run here; "" where they can. A compiler is tried on a small program."""
        if not self.has(language.tool):
            return self.why_not(language.tool)
        if language.name not in self._trials:
            self._trials[language.name] = self._tried(language) if language.compile else ""
        return self._trials[language.name]

    def _tried(self, language: Language) -> str:
        main = f"trial.{language.extension}"
        files = {main: NOTHING[language.name], START: ""}
        ran = self._walls.run(Job(language.compile_words(main, files), files=files, timeout_s=_TRIAL_S, tool=True))
        if ran.status == "ok" and ran.exit_code == 0:
            return ""
        said = (ran.stderr or ran.stdout or ran.why).strip().partition("\n")[0][:_SHOWN]
        return f"{language.tool} does not work inside the walls here: {said}"

    def why_not(self, name: str) -> str:
        """Why a tool does not answer: it is not installed, or lies in a folder that the walls do not show."""
        found = shutil.which(name)
        if found is None or self._walls.level == "none":
            return f"{name} is not installed here"
        return (
            f"{name} is installed as {found}, which the walls do not show: install it below /usr, or have "
            "an admin name its folder in [sandbox] toolchains"
        )


def command(name: str) -> tuple[str, ...]:
    """The words that start a tool. `-I`: a file of the program that is called like a tool is not run in its place."""
    if name == "mypy":
        return ("python", "-I", "-c", _MYPY)
    return ("python", "-I", "-m", name) if name in _MODULES else (name,)


def _no_module(stderr: str) -> bool:
    return "No module named" in stderr
