"""A turn as `decide` sees it: the steps that count, the thread's earlier turns, the limits, and the prompts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from core.second_route import Mode
from core.steps import (
    CellRan,
    Closed,
    Commanded,
    Compacted,
    FileAbstract,
    Finished,
    Forgot,
    GaveUp,
    Preferred,
    Replied,
    Step,
    open_question,
)
from core.values import Language
from workers.agent.stages import asks_for_stages


class Prompts(Protocol):
    """The prompt texts, already loaded (`workers/turn/prompts.py`). Rendering refuses a missing or an undeclared
    variable."""

    def render(self, name: str, /, **variables: object) -> str:
        """The prompt `name` as text."""
        ...

    def procedures(self, text: str) -> tuple[str, ...]:
        """Short how-tos that fit what people wrote, at most a few."""
        ...


@dataclass(frozen=True, slots=True)
class AgentLimits:
    """How far one turn may go. All counts are per turn, all sizes in characters.

    `hold_unsourced`: a report with figures that nothing backs waits for a person, instead of being posted with marks ·
    `second_route`: which figures of a report are computed a second way before it is posted ·
    `max_futile`: replies in a row that led to nothing · `same_failure`: how often the same code or the same error is
    seen before the analyst is told to change its approach · `max_refusals`: how often a report may be sent back,
    by the judge or for its figures · `output_chars`: one cell's output in the prompt · `files_chars`: all file
    descriptions of one turn · `context_chars`: the whole prompt.
    """

    max_cells: int = 20
    max_model_calls: int = 40
    max_futile: int = 3
    same_failure: int = 3
    max_refusals: int = 2
    output_chars: int = 8_000
    files_chars: int = 16_000
    context_chars: int = 160_000
    hold_unsourced: bool = False
    second_route: Mode = "off"


@dataclass(frozen=True, slots=True)
class Allowance:
    """How many more model calls the budgets allow, as far as can be estimated. `scope` names the tightest budget."""

    calls: int
    scope: Literal["turn", "thread", "person", "day"]


Told = Callable[[str], str]
"""Gives what everybody in a thread may read of a text that a cell showed, or of its code; "" for nothing."""

ApprovalPolicy = Literal["never", "plan", "first cell", "risky", "every cell"]
"""What waits for a person's yes: nothing, the plan and each stage's result, the first cell of the turn, cells with a
finding of `code/risks.py`, all cells."""


@dataclass(frozen=True, slots=True)
class Price:
    """What a million tokens of a model cost."""

    model: str
    input: float
    output: float

    def micros(self, prompt_tokens: int, reply_tokens: int) -> int:
        """The cost of a call in millionths of the currency, as if the endpoint had nothing of it cached."""
        return round(prompt_tokens * self.input + reply_tokens * self.output)


@dataclass(frozen=True, slots=True)
class CostBound:
    """A call that is estimated above this waits for a yes. Models without a price are None: nothing is estimated."""

    above_micros: int
    currency: str
    price: Price | None
    second_price: Price | None


@dataclass(frozen=True, slots=True)
class SourceNote:
    """A data source that the thread may ask. `kind` is that of its database, "" when it is not known.

    `schema` describes the tables and metrics that the question needs, "" when they are not known now.
    """

    name: str
    kind: str = ""
    description: str = ""
    schema: str = ""


@dataclass(frozen=True, slots=True)
class ToolNote:
    """A tool that the thread may call. `about` and `arguments` are its server's own words: data, no instruction."""

    name: str
    about: str = ""
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolServerNote:
    """A server of tools, as the team describes it. `asks`: a person has to allow each call."""

    name: str
    description: str
    tools: tuple[ToolNote, ...]
    asks: bool = True


@dataclass(frozen=True, slots=True)
class Environment:
    """What the analyst is told about the place where its code runs.

    `packages` are lines such as "pandas 2.2.3". `bash`: the thread has a shell beside Python. An analyst without a
    shell is not told about shells. `imports` are the modules that cells may import, () for all. `sources` are those
    that cells of this thread may ask, `withheld` is how many more the team has; `tools` those they may call.
    `files_wait`: files are posted only after a person's yes.
    """

    python_version: str
    packages: tuple[str, ...]
    today: str
    cell_timeout_s: float = 120
    memory_mb: int = 2048
    file_max_mb: int = 100
    bash: bool = False
    imports: tuple[str, ...] = ()
    sources: tuple[SourceNote, ...] = ()
    withheld: int = 0
    tools: tuple[ToolServerNote, ...] = ()
    files_wait: bool = False


@dataclass(frozen=True, slots=True)
class Episode:
    """One reply of the model (asked to act) and every step that followed, up to the next such reply.

    `number` counts from 1 within the turn. Reading the same steps again gives the same numbers.
    """

    number: int
    reply: Replied
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """Everything that `decide` looks at. `earlier` holds the thread's closed turns, oldest first.

    `sees`: the model is shown pictures.
    `second_calls` are the calls that the budgets allow the model of a second way, None where it is the usual one.
    `sections` are the headings that a report has to have, in order; () where the analyst chooses.
    `told` is for the sentences of a turn without an answer, which quote outputs.
    """

    id: str
    language: Language
    steps: tuple[Step, ...]
    limits: AgentLimits
    environment: Environment
    prompts: Prompts
    native_tools: bool = True
    sees: bool = False
    earlier: tuple[tuple[Step, ...], ...] = ()
    allowance: Allowance | None = None
    approvals: ApprovalPolicy = "never"
    second_calls: int | None = None
    sections: tuple[str, ...] = ()
    costs: CostBound | None = None
    told: Told = str
    _numbers: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def thread_steps(self) -> Iterator[Step]:
        """Every step of the thread, oldest first."""
        for turn in self.earlier:
            yield from turn
        yield from self.steps

    def number_of(self, cell: CellRan) -> int:
        """The place of a cell among the thread's cells, from 1: by it the model and its tokens name the cell."""
        if not self._numbers:  # a prompt names hundreds of cells: each look through a long thread would take its time
            cells = (step.cell_id for step in self.thread_steps if isinstance(step, CellRan))
            for number, cell_id in enumerate(cells, 1):
                self._numbers.setdefault(cell_id, number)
        return self._numbers.get(cell.cell_id, 0)

    @property
    def context_chars(self) -> int:
        """The characters that the prompt may have: the limit, or less when the endpoint refused that much."""
        compacted = [step.context_chars for step in self.steps if isinstance(step, Compacted)]
        return min([self.limits.context_chars, *compacted])

    @property
    def staged(self) -> bool:
        """Whether people approve the plan, and then each stage of it."""
        return self.approvals == "plan" or asks_for_stages(self.steps) or any(each.staged for each in self.preferred)

    @property
    def preferred(self) -> tuple[Preferred, ...]:
        """What people's choices were for the turn: at its beginning and since."""
        return tuple(step for step in self.steps if isinstance(step, Preferred))

    @property
    def has_bash(self) -> bool:
        """Whether the analyst may ask for shell commands: the thread has a shell, and the model has native tools."""
        return self.environment.bash and self.native_tools

    @property
    def resting(self) -> bool:
        """True when the turn waits for a person: it is closed, nobody asked yet, or a question of ours is open."""
        if not self.steps or any(isinstance(step, Finished | GaveUp | Forgot | Closed) for step in self.steps):
            return True
        return open_question(self.steps) is not None

    def steps_after_command(self, command: Commanded) -> tuple[Step, ...]:
        """The steps that came behind a command."""
        place = next(n for n, step in enumerate(self.steps) if step == command)
        return self.steps[place + 1 :]

    @property
    def episode(self) -> Episode | None:
        """The model's last reply and its results so far. None before the first reply."""
        _, found = episodes(self.steps)
        return found[-1] if found else None


def steps_after(steps: Sequence[Step], kind: type[Step]) -> tuple[Step, ...] | None:
    """The steps behind the last one of this kind; None when there is none."""
    for index in range(len(steps) - 1, -1, -1):
        if isinstance(steps[index], kind):
            return tuple(steps[index + 1 :])
    return None


def episodes(steps: Sequence[Step]) -> tuple[tuple[Step, ...], list[Episode]]:
    """A turn's steps as its opening (everything before the first reply) and its episodes."""
    starts = [i for i, step in enumerate(steps) if isinstance(step, Replied) and step.purpose == "act"]
    ends = [*starts[1:], len(steps)]
    opening = tuple(steps[: starts[0]] if starts else steps)
    found = []
    for number, (start, end) in enumerate(zip(starts, ends, strict=False), start=1):
        reply = steps[start]
        assert isinstance(reply, Replied)  # noqa: S101 - `starts` holds nothing else; mypy cannot see it
        found.append(Episode(number + reply.gone, reply, tuple(steps[start + 1 : end])))
    return opening, found


def files_of(steps: Iterator[Step] | Sequence[Step]) -> tuple[FileAbstract, ...]:
    """The files described in these steps, in the order in which they came."""
    return tuple(file for step in steps if step.kind == "briefed" for file in step.files)
