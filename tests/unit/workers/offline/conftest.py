"""A whole thread in one process: the real loop and prompts, cells run in a plain namespace in a folder of their own."""

from __future__ import annotations

import contextlib
import io
import shutil
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from matplotlib import font_manager

from core.commands.registry import language_of
from core.steps import (
    Asked,
    Briefed,
    CellRan,
    Checked,
    Corrected,
    FileAbstract,
    Finished,
    GaveUp,
    Questioned,
    Replied,
    Step,
    dump_step,
    load_step,
)
from core.values import Language, StoredFile
from executor.inside.figures import STYLE
from executor.inside.warm import _fonts
from executor.values import CellResult
from workers.agent.actions import AskHuman, AskModel, CorrectModel, Finish, GiveUp, RecordVerdict, RunCell, Wait
from workers.agent.decide import decide
from workers.agent.turn import AgentLimits, Environment, SourceNote, Turn
from workers.models.base import ModelRequest
from workers.offline import OfflineAnalyst
from workers.profiling.file_profiles import describe_code, read_abstracts
from workers.turn.prompts import load_prompts

EXAMPLES = Path(__file__).parents[4] / "examples"
PROMPTS = load_prompts()


@dataclass
class Answer:
    """How a turn ended: its steps, the report (or the question, or the stop), its cells."""

    steps: list[Step]

    @property
    def cells(self) -> list[CellRan]:
        return [step for step in self.steps if isinstance(step, CellRan)]

    @property
    def report(self) -> str:
        return next((step.report for step in self.steps if isinstance(step, Finished)), "")

    @property
    def has_tick(self) -> bool:
        """Whether people see a sign of success."""
        return any(isinstance(step, Finished) and not step.partial for step in self.steps)

    @property
    def question(self) -> Questioned | None:
        return next((step for step in reversed(self.steps) if isinstance(step, Questioned)), None)

    @property
    def gave_up(self) -> str:
        return next((step.text for step in self.steps if isinstance(step, GaveUp)), "")

    @property
    def failures(self) -> list[str]:
        return [cell.error_name for cell in self.cells if cell.status != "ok"]

    @property
    def texts(self) -> list[str]:
        return [step.text for step in self.steps if isinstance(step, Replied) and step.purpose == "act"]


@dataclass
class Notebook:
    """Cells run one after another in one namespace, as a session would. Their figures are files.

    Only one that `draws` makes PNGs of them: drawing takes as long as everything else, and few tests look.
    """

    folder: Path
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    figures: list[Path] = field(default_factory=list)
    draws: bool = False

    def run(self, code: str) -> CellResult:
        import matplotlib.pyplot as plt

        out = io.StringIO()
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(out), warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", message="The default engine for reading 'xlsx'")  # sessions set it
            warnings.filterwarnings("ignore", message="Could not infer format")  # a session only warns, too
            try:
                exec(compile(code, "<cell>", "exec"), self.names)
            except BaseException as error:
                plt.close("all")
                lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == "<cell>"]
                text = "".join(traceback.format_exception(error))
                return CellResult(
                    "c",
                    "error",
                    out.getvalue(),
                    error=_error(type(error).__name__, str(error), text, lines[0] if lines else None),
                )
            for number in plt.get_fignums():
                path = self.folder.parent / f"figure-{len(self.figures) + 1}.png"
                if self.draws:
                    plt.figure(number).savefig(path, dpi=50)
                else:
                    path.touch()
                self.figures.append(path)
            plt.close("all")
        return CellResult("c", "ok", out.getvalue())


def _error(name: str, message: str, text: str, line: int | None) -> Any:
    from executor.values import CellError

    return CellError(name, message, text, line)


@dataclass
class Thread:
    """A thread with the offline analyst: `ask` plays one turn to its end. Steps go through JSON, as in the Store.

    `joins` are messages (author, text) of which one arrives after each cell; `tamper` changes a file's description.
    `language` is the thread's, unless its owner `prefers` one.
    """

    folder: Path
    notebook: Notebook = field(init=False)
    turns: list[list[Step]] = field(default_factory=list)
    limits: AgentLimits = field(default_factory=AgentLimits)
    joins: list[tuple[str, str]] = field(default_factory=list)
    tamper: Callable[[FileAbstract], FileAbstract] = lambda file: file
    sources: tuple[SourceNote, ...] = ()
    language: Language = "en"
    prefers: Language | None = None

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        work = self.folder / "work"
        work.mkdir(exist_ok=True)
        self.notebook = Notebook(work)

    def ask(self, text: str, *files: Path, user: str = "U1", author: str = "Ana") -> Answer:
        self.language = language = self.prefers or language_of(text, self.language)
        asked = Asked(user=user, author=author, text=text, ts=f"{len(self.turns)}.0")
        if self.turns and isinstance(self.turns[-1][-1], Questioned):
            steps = self.turns[-1]
            steps.append(asked)
        else:
            steps = [asked]
            self.turns.append(steps)
        if files:
            for file in files:
                shutil.copy(file, self.notebook.folder / file.name)
            paths = [file.name for file in files]
            session = Notebook(self.notebook.folder)
            abstracts, problems = read_abstracts(session.run(describe_code(paths)), language, paths)
            steps.append(Briefed(files=tuple(map(self.tamper, abstracts)), problems=tuple(problems)))
        for _ in range(60):
            turn = Turn(
                id=f"t{len(self.turns)}",
                language=language,
                steps=tuple(load_step(dump_step(step)) for step in steps),
                limits=self.limits,
                environment=Environment("3.11", ("pandas",), "2026-01-01", sources=self.sources),
                prompts=PROMPTS,
                earlier=tuple(tuple(earlier) for earlier in self.turns[:-1]),
            )
            step = self._perform(turn, decide(turn))
            if step is None:
                return Answer(steps)
            steps.append(step)
            if isinstance(step, CellRan) and self.joins:
                name, said = self.joins.pop(0)
                steps.append(Asked(user=name, author=name, text=said, ts=f"{len(self.turns)}.{len(steps)}"))
        raise AssertionError("the turn does not end")

    def _perform(self, turn: Turn, action: object) -> Step | None:
        match action:
            case AskModel():
                deltas: list[str] = []
                request = ModelRequest(action.messages, action.tools, action.purpose, turn)
                reply = OfflineAnalyst().complete(request, deltas.append)
                assert "".join(deltas) == reply.text
                return Replied(purpose=action.purpose, text=reply.text, calls=reply.calls)
            case RunCell():
                before = len(self.notebook.figures)
                result = self.notebook.run(action.code)
                error = result.error
                figures = [
                    StoredFile(name=p.name, mimetype="image/png", size=p.stat().st_size, sha256="0" * 64)
                    for p in self.notebook.figures[before:]
                ]
                return CellRan(
                    call_id=action.call_id,
                    cell_id=action.cell_id,
                    title=action.title,
                    code=action.code,
                    status=result.status,
                    stdout=result.stdout,
                    error_name=error.name if error else "",
                    error=error.traceback if error else "",
                    error_line=error.line if error else None,
                    figures=tuple(figures),
                )
            case CorrectModel():
                return Corrected(reason=action.reason, text=action.text, call_id=action.call_id)
            case RecordVerdict():
                return Checked(is_final=action.is_final, reason=action.reason)
            case AskHuman():
                return Questioned(call_id=action.call_id, question=action.question, options=action.options)
            case Finish():
                return Finished(report=action.report, partial=action.partial)
            case GiveUp():
                return GaveUp(reason=action.reason, text=action.text, fault=action.fault)
            case Wait():
                return None
            case _:
                raise AssertionError(action)


@pytest.fixture(autouse=True, scope="session")
def _drawing_without_a_screen() -> Iterator[None]:
    """Charts are drawn off screen, with the fonts that a session has."""
    with mpl.rc_context():
        mpl.use("Agg")
        for path in _fonts():
            font_manager.fontManager.addfont(path)
        mpl.rcParams.update(STYLE)
        mpl.rcParams["savefig.bbox"] = None  # tight, each chart would be drawn twice
        yield


@pytest.fixture
def thread(tmp_path: Path) -> Thread:
    """A new thread."""
    return Thread(tmp_path / "thread")


@pytest.fixture
def examples() -> Path:
    """The folder of sample data."""
    return EXAMPLES


@pytest.fixture
def new_thread(tmp_path: Path) -> Callable[[], Thread]:
    """Makes as many threads as a test wants."""
    count = iter(range(1000))
    return lambda: Thread(tmp_path / f"thread-{next(count)}")
