"""A build: components in the order of their dependencies. Each is written, judged and repaired; the best version stays.

    plan → contract → tests from words → for each component: code → critics → repair*  → tests tried on broken programs
           `planning.py`                                     `rounds.py`                  `trying_tests.py`

A component whose requirements did not change is reused (`taking_over.py`): without checks if its dependencies did not
change either, otherwise after its checks. `resume` continues an interrupted build. Only `history/` is written here;
`handover.py` writes the folder of the program.
"""

from __future__ import annotations

from collections.abc import Callable

from workers.builder.asking import Asker, BudgetSpent, CostOf, Prompts
from workers.builder.build_state import NotWanted, Order, State, WantedWalls
from workers.builder.critics.judging_versions import Jury
from workers.builder.history.iterations import Call, History, Iteration
from workers.builder.planning import cases_for, contract_of
from workers.builder.progress import OnProgress, Progress
from workers.builder.requirements.components import Plan, digest, plan
from workers.builder.rounds import written
from workers.builder.sandbox.walls import Walls, WallsGone
from workers.builder.taking_over import taken_over
from workers.builder.trying_tests import try_tests
from workers.models.base import Model, ModelError


class CannotBuild(Exception):
    """The order cannot be carried out; nothing was begun. The message is for a person."""


_GOES_ON = ("components", "calls", "prompt_tokens", "completion_tokens", "cost_micros")
"""What a build that was cut off has of its own, and goes on from."""


class Builder:
    """Builds programs with one model inside one set of walls."""

    def __init__(
        self,
        *,
        model: Model,
        prompts: Prompts,
        walls: Walls,
        history: History,
        tell: OnProgress = lambda _: None,
        cost_of: CostOf = lambda _: None,
        wanted: Callable[[], bool] = lambda: True,
    ) -> None:
        """`wanted` is asked before each call and each run; a build that nobody wants any more stops and keeps what it
        has."""
        self._model = model
        self._prompts = prompts
        self._walls = WantedWalls(walls, wanted)
        self._history = history
        self._tell = tell
        self._cost_of = cost_of
        self._wanted = wanted

    def build(self, order: Order) -> Iteration:
        """Carry out an order. Returns the iteration that it became. Raises CannotBuild, OSError."""
        state = self._begin(order)
        why, ended = "", ""
        try:
            state.update(sandbox=self._walls.level)
            _build(state)
        except NotWanted:
            ended, why = "stopped", "nobody wanted it any more"
        except (BudgetSpent, ModelError, WallsGone) as error:
            ended, why = "stopped", str(error)
        state.count()
        state.end(ended or _outcome(state), why)
        earlier = (one for one in state.sources if one.components and one.number != state.iteration.number)
        before = next((one.files for one in earlier), {})
        self._history.note_diff(state.iteration, before)
        return state.iteration

    def _begin(self, order: Order) -> State:
        made = plan(order.requirement)
        if order.only and order.only not in {one.name for one in made.components}:
            names = ", ".join(one.name for one in made.components)
            raise CannotBuild(f"there is no component {order.only!r}; there are {names}")
        every = list(reversed(self._history.all()))
        opened = every[0] if order.resume and every and every[0].state in ("open", "stopped") else None
        opened = self._history.counted(opened) if opened else None
        if order.resume and opened is None:
            self._tell(Progress("note", text="No build was cut off here: this is a new one."))
        number = opened.number if opened else self._history.next_number()
        kept = {name: getattr(opened, name) for name in _GOES_ON} if opened else {}
        iteration = Iteration(
            **kept,
            number=number,
            ordered_by=order.ordered_by,
            requirement=digest(order.text),
            model=self._model.name,
            packages=order.packages.lock,
            missing=order.packages.missing,
            missing_why=order.packages.why,
        )
        crashed = opened if opened and opened.state == "open" else None  # nobody has said that it may take more
        sources = tuple(one for one in every if one.components or one.contract_of or one.cases_of)
        settings = order.requirement.build
        asker = Asker(
            self._model,
            self._prompts,
            lambda call: self._note(number, call),
            cost_of=self._cost_of,
            max_calls=settings.max_calls,
            budget=settings.budget,
            calls_before=crashed.calls if crashed else 0,
            cost_before=(crashed.cost_micros or 0) if crashed else 0,
        )
        jury = Jury(
            self._walls,
            lambda name, variables: asker.judge(str(variables["component"]), name, variables),
            settings.without,
        )
        self._history.keep(iteration, order.text)
        self._tell(Progress("plan", text=f"Iteration {number}: " + " → ".join(one.name for one in made.components)))
        return State(
            order,
            made,
            iteration,
            sources,
            asker,
            jury,
            walls=self._walls,
            history=self._history,
            tell=self._tell,
            wanted=self._wanted,
            before=opened,
        )

    def _note(self, number: int, call: Call) -> None:
        self._history.note_call(number, call)
        if call.purpose == "act":
            self._tell(Progress("asked", call.component, f"{call.completion_tokens or len(call.reply) // 4} tokens"))


def _build(state: State) -> None:
    state.update(**contract_of(state))
    state.update(**cases_for(state))
    for component in state.plan.components:
        state.go_on()
        built = taken_over(state, component) or written(state, component)
        state.add(built)
        good = "passed" if built.passed else "with open remarks"
        state.tell(Progress("component", component.name, good, good=built.passed))
    try_tests(state)
    state.update(touched=_touched(state.plan, state.jury))


def _outcome(state: State) -> str:
    built = state.iteration.components
    verdicts = [verdict for one in built for verdict in one.verdicts if verdict.state == "failed"]
    if any(verdict.critic in ("security", "review") for verdict in verdicts):
        return "held back"
    return "failed" if verdicts else "passed"


def _touched(made: Plan, jury: Jury) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(f"{one.kind}: {one.what}" for each in made.components for one in jury.seen.of(each.name))
    )[:40]
