"""The tests of a program: tried on broken programs, and run once more after changes by hand."""

from __future__ import annotations

from collections.abc import Mapping

from workers.builder.asking import BudgetSpent
from workers.builder.build_state import State
from workers.builder.critics.tools import Tools
from workers.builder.history.iterations import Iteration, Mutation
from workers.builder.planning import made_cases
from workers.builder.progress import Progress
from workers.builder.requirements.components import cases_of, plan
from workers.builder.requirements.requirement import Case, Requirement
from workers.builder.sandbox.walls import Walls
from workers.builder.testing.cases import faults, job_of
from workers.builder.testing.mutation import mutants
from workers.models.base import ModelError


def try_tests(state: State) -> None:
    """Try the tests on broken programs. If some programs pass all tests, the model adds tests to those that it made."""
    most = state.order.requirement.tests.mutants
    if not most or "tests" in state.order.requirement.build.without:
        return
    mutation = _mutation(state, most)
    left_out: tuple[str, ...] = ()
    if mutation.survivors and state.iteration.cases:
        more, left_out = _further(state, mutation.survivors)
        state.update(cases=(*state.iteration.cases, *more))
        mutation = _mutation(state, most) if more else mutation
    if mutation.tried:
        text = f"The tests find {mutation.found} of {mutation.tried} broken programs."
        state.tell(Progress("tests", text=text, good=mutation.found == mutation.tried))
    state.update(mutation=mutation.model_copy(update={"left_out": left_out}))


def _further(state: State, survivors: tuple[str, ...]) -> tuple[tuple[Case, ...], tuple[str, ...]]:
    """Tests that the model adds, and the names of those that the program fails: nobody knows which of them is wrong.

    The program is whole without them: what is in their way does not stop the build.
    """
    state.go_on()
    try:
        made = made_cases(state, survivors)
    except (BudgetSpent, ModelError) as error:
        state.go_on()
        state.tell(Progress("note", text=f"No further tests were made: {error}"))
        return (), ()
    more = tuple(case for case in made if _passes(state, case))
    return more, tuple(case.name for case in made if case not in more)


def _mutation(state: State, most: int) -> Mutation:
    tried, survivors = 0, []
    for component in state.plan.components:
        cases = cases_of(component, state.plan, state.cases)
        built = state.iteration.component(component.name)
        tests = next((one for one in (built.verdicts if built else ()) if one.critic == "tests"), None)
        if not cases or tests is None or tests.state != "passed":
            continue
        for mutant in mutants(component, state.files, most):
            tried += 1
            files = {**state.files, mutant.path: mutant.text}
            if all(_passes(state, case, files) for case in cases):
                survivors.append(f"{mutant.path}:{mutant.line}: {mutant.what}")
    return Mutation(tried=tried, found=tried - len(survivors), survivors=tuple(survivors))


def _passes(state: State, case: Case, files: Mapping[str, str] | None = None) -> bool:
    component = state.plan.named(case.component or state.plan.entry.name)
    files = state.files if files is None else files
    job = job_of(case, component, files, state.order.requirement.run, observed=False)
    return not faults(case, state.walls.run(job), state.walls)


def failing_tests(walls: Walls, requirement: Requirement, iteration: Iteration, files: Mapping[str, str]) -> list[str]:
    """The names of the tests that a program fails with these files, as after changes by hand. Raises WallsGone.

    Languages that are not run here have no failing tests.
    """
    made, tools = plan(requirement), Tools(walls)
    found = []
    for component in made.components:
        if not component.language.runs or tools.missing(component.language):
            continue
        for case in cases_of(component, made, (*requirement.tests.case, *iteration.cases)):
            if iteration.missing and component.language.name == "python" and not case.fakes:
                continue
            job = job_of(case, component, files, requirement.run, observed=False)
            found += [case.name] if faults(case, walls.run(job), walls) else []
    return found
