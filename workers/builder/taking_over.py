"""Components of earlier builds that are kept: the same is asked of them, and they still pass."""

from __future__ import annotations

from workers.builder.build_state import State
from workers.builder.critics.coverage import coverage
from workers.builder.critics.judging_versions import Judged
from workers.builder.critics.verdicts import Verdict
from workers.builder.history.iterations import BuiltComponent, Version
from workers.builder.progress import Progress
from workers.builder.requirements.components import Component, cases_of, digest


def taken_over(state: State, component: Component) -> BuiltComponent | None:
    """The component of an earlier build, if the same is asked for and it still passes; else None."""
    asked = asked_of(state, component)
    old = next(
        (found for one in state.sources if (found := one.component(component.name)) and found.fingerprint == asked),
        None,
    )
    if old is None or not old.passed or state.order.only == component.name:
        return None
    source = next(one.number for one in state.sources if old in one.components)
    same_below = not state.fresh & set(state.plan.below(component.name))
    if same_below and old.checked == checked_of(state, component):
        state.files |= old.files
        state.tell(Progress("kept", component.name, f"as in iteration {source}"))
        return old.model_copy(update={"kept_from": old.kept_from or source})
    files = {**state.files, **old.files}
    verdicts = state.jury.judge(state.subject(component, files), models=False)
    if any(verdict.state == "failed" for verdict in verdicts):
        return None
    verdicts = _with_earlier(verdicts, old)
    state.files = files
    state.tell(Progress("kept", component.name, f"as in iteration {source}, checked again"))
    version = Version(number=1, score=Judged(files, verdicts).score, kept=True, verdicts=verdicts)
    return BuiltComponent(
        name=component.name,
        fingerprint=asked,
        checked=checked_of(state, component),
        files=old.files,
        versions=(version,),
        coverage=coverage(component, verdicts, cases_of(component, state.plan, state.cases)),
        kept_from=old.kept_from or source,
    )


def asked_of(state: State, component: Component) -> str:
    """A hash. While it stays the same, the same code may be kept."""
    contract = state.iteration.contract
    return digest(
        [component.fingerprint, *(contract.of(name).model_dump() for name in (component.name, *component.depends_on))]
    )


def checked_of(state: State, component: Component) -> str:
    """A hash. While it stays the same, the checks that were passed are the same."""
    requirement = state.order.requirement
    cases = [case.model_dump(mode="json") for case in cases_of(component, state.plan, state.cases)]
    others = [one.model_dump(mode="json") for one in (requirement.run, requirement.security)]
    packages = state.order.packages
    there = [packages.lock.digest if packages.lock else "", *packages.missing]
    return digest([cases, others, sorted(requirement.build.without), *(there if any(there) else ())])


def _with_earlier(verdicts: tuple[Verdict, ...], old: BuiltComponent) -> tuple[Verdict, ...]:
    """The tools' new verdicts, with what a model said earlier of the same code. That still counts."""
    said = [one for one in old.verdicts if one.critic in ("coverage", "review")]
    return (*verdicts, *said)
