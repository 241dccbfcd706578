"""The state of a build: its order, plan, iteration and files. Every change is written to the history at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from workers.builder.asking import Asker
from workers.builder.critics.judging_versions import Jury
from workers.builder.critics.subject import Subject
from workers.builder.history.iterations import BuiltComponent, History, Iteration
from workers.builder.packages.lock import Packages
from workers.builder.progress import OnProgress
from workers.builder.requirements.components import Component, Plan, cases_of
from workers.builder.requirements.requirement import Case, Requirement
from workers.builder.sandbox.walls import Job, Ran, Walls


@dataclass(frozen=True, slots=True)
class Order:
    """What a build is asked to do."""

    requirement: Requirement
    text: str
    """The requirement file as it is written."""
    only: str = ""
    """Build this component again, also when the same is asked of it as before."""
    rounds: int | None = None
    """Instead of `[build] rounds`."""
    resume: bool = False
    packages: Packages = field(default_factory=Packages)
    """What there is of the packages that the program needs."""
    ordered_by: str = ""
    """What asks for it, as the iteration notes it."""


class NotWanted(Exception):
    """Nobody waits for the build any more."""


class WantedWalls:
    """Walls that run nothing more for a build that nobody wants any more."""

    def __init__(self, walls: Walls, wanted: Callable[[], bool]) -> None:
        self._walls = walls
        self._wanted = wanted

    @property
    def level(self) -> str:
        """What the walls are."""
        return self._walls.level

    def run(self, job: Job) -> Ran:
        """Run a job to its end. Raises NotWanted, WallsGone."""
        if not self._wanted():
            raise NotWanted
        return self._walls.run(job)


@dataclass(slots=True)
class State:
    """What a build has so far, and what it works with."""

    order: Order
    plan: Plan
    iteration: Iteration
    sources: tuple[Iteration, ...]
    """Where components, interfaces and tests may be taken over from, the newest first."""
    asker: Asker
    jury: Jury
    walls: Walls
    history: History
    tell: OnProgress
    wanted: Callable[[], bool]
    """Whether somebody still wants the build; asked between two steps."""
    before: Iteration | None = None
    """The same iteration before it was cut off: what it took counts too."""
    files: dict[str, str] = field(default_factory=dict)
    fresh: set[str] = field(default_factory=set)
    """Components whose code is not that of the last build."""

    @property
    def cases(self) -> tuple[Case, ...]:
        return (*self.order.requirement.tests.case, *self.iteration.cases)

    def subject(self, component: Component, files: Mapping[str, str], *, cut_off: bool = False) -> Subject:
        """A version of a component among these files, as critics look at it."""
        return Subject(
            requirement=self.order.requirement,
            plan=self.plan,
            component=component,
            files=files,
            contract=self.iteration.contract,
            cases=cases_of(component, self.plan, self.cases),
            cut_off=cut_off,
            packages=self.order.packages,
        )

    def go_on(self) -> None:
        """Raises NotWanted when nobody wants the build any more."""
        self.count()
        if not self.wanted():
            raise NotWanted

    def count(self) -> None:
        """Add up what the calls of the model have cost so far, those before a cut among them."""
        asker, before = self.asker, self.before or Iteration(number=0, requirement="", model="")
        costs = [cost for cost in (asker.cost_micros, before.cost_micros) if cost is not None]
        counted = {
            "calls": asker.calls + before.calls,
            "prompt_tokens": asker.usage.prompt_tokens + before.prompt_tokens,
            "completion_tokens": asker.usage.completion_tokens + before.completion_tokens,
            "cost_micros": sum(costs) if costs else None,
        }
        self.iteration = self.iteration.model_copy(update=counted)

    def add(self, built: BuiltComponent) -> None:
        """Add a component, with what its build has corrected in those below it."""
        known = {one.name: one for one in self.iteration.components} | {built.name: built}
        components = [known[one.name] for one in self.plan.components if one.name in known]
        for number, one in enumerate(components):
            files = {path: self.files.get(path, text) for path, text in one.files.items()}
            components[number] = one.model_copy(update={"files": files})
        self.update(components=tuple(components))

    def update(self, **changes: object) -> None:
        """Change the iteration, and keep it."""
        self.count()
        self.iteration = self.iteration.model_copy(update=changes)
        self.history.keep(self.iteration, self.order.text)

    def end(self, outcome: str, why: str) -> None:
        """Keep the iteration with its outcome."""
        self.iteration = self.iteration.model_copy(update={"state": outcome, "why": why})
        self.history.keep(self.iteration, self.order.text)
