"""A build: every component in the order of its needs, written, judged, repaired, and the best version kept.

    plan → contract → tests from words → for each component: code → critics → repair*  → tests tried on broken programs

What was built before and is asked for unchanged is taken over: as it is when nothing below it changed, after its checks
when something did. A build that was cut off goes on with `resume`. Only `history/` is written here; the folder of the
program is the business of `handover.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter

from core.values import Value
from workers.builder.asking import Asker, BudgetSpent, CostOf, Prompts
from workers.builder.cases import faults, job_of
from workers.builder.components import Component, Plan, cases_of, digest, plan
from workers.builder.contract import Contract, ReplyUnreadable, fingerprint, needs_contract, read_as, read_contract
from workers.builder.critics.format import reads_as
from workers.builder.critics.subject import Subject
from workers.builder.fences import FENCE, files_of, quoted
from workers.builder.iterations import BuiltComponent, Call, History, Iteration, Mutation, Version
from workers.builder.judging_versions import Judged, Jury
from workers.builder.mutation import mutants
from workers.builder.packages import Packages
from workers.builder.progress import OnProgress, Progress
from workers.builder.requirement import Case, Requirement
from workers.builder.tools import Tools
from workers.builder.verdicts import CoverageRow, Verdict
from workers.builder.walls import Walls, WallsGone
from workers.models.base import Model, ModelError

REPLIES = 2
"""How often a contract or tests are asked for when the reply cannot be read."""
MOST_CASES = 40


@dataclass(frozen=True, slots=True)
class Order:
    """What a build is asked to do."""

    requirement: Requirement
    text: str
    """The requirement file as it is written."""
    only: str = ""
    """Build this component anew, also when the same is asked of it as before."""
    rounds: int | None = None
    """Instead of `[build] rounds`."""
    resume: bool = False
    packages: Packages = field(default_factory=Packages)
    """What there is of the packages that the program needs."""


class CannotBuild(Exception):
    """The order cannot be carried out; nothing was begun. The message is for a person."""


class _Cases(Value):
    cases: tuple[Case, ...]


@dataclass(slots=True)
class _State:
    """What a build has so far."""

    order: Order
    plan: Plan
    iteration: Iteration
    sources: tuple[Iteration, ...]
    """Where components may be taken over from, the newest first."""
    asker: Asker
    jury: Jury
    before: Iteration | None = None
    """The same iteration before it was cut off: what it took counts too."""
    files: dict[str, str] = field(default_factory=dict)
    fresh: set[str] = field(default_factory=set)
    """Components whose code is not that of the last build."""

    @property
    def cases(self) -> tuple[Case, ...]:
        return (*self.order.requirement.tests.case, *self.iteration.cases)


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
        """`wanted` is asked between two steps; a build that nobody wants any more stops and keeps what it has."""
        self._model = model
        self._prompts = prompts
        self._walls = walls
        self._history = history
        self._tell = tell
        self._cost_of = cost_of
        self._wanted = wanted

    def build(self, order: Order) -> Iteration:
        """Carry out an order; the iteration that it became. Raises CannotBuild, OSError."""
        state = self._begin(order)
        why, ended = "", ""
        try:
            self._update(state, sandbox=self._walls.level)
            self._build(state)
        except _NotWanted:
            ended, why = "stopped", "nobody wanted it any more"
        except (BudgetSpent, ModelError, WallsGone) as error:
            ended, why = "stopped", str(error)
        self._count(state)
        self._end(state, ended or _outcome(state), why)
        before = next((one.files for one in state.sources if one.number != state.iteration.number), {})
        self._history.note_diff(state.iteration, before)
        return state.iteration

    # --- the steps

    def _begin(self, order: Order) -> _State:
        made = plan(order.requirement)
        if order.only and order.only not in {one.name for one in made.components}:
            names = ", ".join(one.name for one in made.components)
            raise CannotBuild(f"there is no component {order.only!r}; there are {names}")
        every = list(reversed(self._history.all()))
        opened = every[0] if order.resume and every and every[0].state in ("open", "stopped") else None
        if order.resume and opened is None:
            self._tell(Progress("note", text="No build was cut off here: this is a new one."))
        number = opened.number if opened else self._history.next_number()
        iteration = Iteration(
            number=number,
            requirement=digest(order.text),
            model=self._model.name,
            packages=order.packages.lock,
            missing=order.packages.missing,
            missing_why=order.packages.why,
            components=opened.components if opened else (),
        )
        sources = tuple(one for one in every if one.components)
        settings = order.requirement.build
        asker = Asker(
            self._model,
            self._prompts,
            lambda call: self._note(number, call),
            cost_of=self._cost_of,
            max_calls=settings.max_calls,
            budget=settings.budget,
        )
        jury = Jury(
            self._walls,
            lambda name, variables: asker.judge(str(variables["component"]), name, variables),
            settings.without,
        )
        self._history.keep(iteration, order.text)
        self._tell(Progress("plan", text=f"Iteration {number}: " + " → ".join(one.name for one in made.components)))
        return _State(order, made, iteration, sources, asker, jury, opened)

    def _build(self, state: _State) -> None:
        self._update(state, **self._contract(state))
        self._update(state, **self._cases(state))
        for component in state.plan.components:
            self._go_on(state)
            built = self._taken_over(state, component) or self._written(state, component)
            self._add(state, built)
            good = "passed" if built.passed else "with open remarks"
            self._tell(Progress("component", component.name, good, good=built.passed))
        self._try_tests(state)
        self._update(state, touched=_touched(state.plan, state.jury))

    def _contract(self, state: _State) -> dict[str, object]:
        """The interfaces, kept from the last build while all components are asked for the same."""
        if not needs_contract(state.plan):
            return {}
        own = fingerprint(state.plan)
        for source in state.sources:
            if source.contract_of == own:
                return {"contract": source.contract, "contract_of": own}
        earlier = state.sources[0].contract if state.sources else Contract()
        components = [
            {
                "name": one.name,
                "language": one.language.name,
                "description": one.description,
                "requirements": quoted(one.requirements),
                "depends_on": one.depends_on,
                "files": one.files,
            }
            for one in state.plan.components
        ]
        variables = {
            "program": state.order.requirement.file.name,
            "components": components,
            "earlier": earlier.text(tuple(earlier.components)),
        }
        contract = self._readable(
            state, state.plan.entry, "build_contract", variables, lambda reply: read_contract(reply, state.plan)
        )
        self._tell(
            Progress("note", text=f"Interfaces of {', '.join(contract.components) or 'no component'} are fixed.")
        )
        return {"contract": contract, "contract_of": own}

    def _cases(self, state: _State) -> dict[str, object]:
        """Tests that a model makes of `[tests] prose`, kept while the words stay the same."""
        tests, entry = state.order.requirement.tests, state.plan.entry
        if not tests.prose.strip():
            return {}
        own = digest([tests.prose, entry.requirements])
        for source in state.sources:
            if source.cases_of == own:
                return {"cases": source.cases, "cases_of": own}
        return {"cases": self._made_cases(state), "cases_of": own}

    def _made_cases(self, state: _State, survivors: tuple[str, ...] = ()) -> tuple[Case, ...]:
        """Tests by the model, of the words or, later, against broken programs that all tests let pass."""
        entry = state.plan.entry
        variables = {
            "program": state.order.requirement.file.name,
            "language": entry.language.name,
            "main_file": entry.main_file,
            "requirements": _numbered(entry),
            "prose": quoted(state.order.requirement.tests.prose),
            "survivors": survivors,
        }
        made: tuple[Case, ...] = self._readable(
            state, entry, "build_cases", variables, lambda reply: _cases_in(reply, state)
        )
        self._tell(Progress("note", text=f"{len(made)} tests were made of the words."))
        return made

    def _taken_over(self, state: _State, component: Component) -> BuiltComponent | None:
        """The component of an earlier build, if the same is asked for and it still passes; else None."""
        asked = _asked(state, component)
        old = next(
            (found for one in state.sources if (found := one.component(component.name)) and found.fingerprint == asked),
            None,
        )
        if old is None or not old.passed or state.order.only == component.name:
            return None
        source = next(one.number for one in state.sources if old in one.components)
        same_below = not state.fresh & set(state.plan.below(component.name))
        if same_below and old.checked == _checked(state, component):
            state.files |= old.files
            self._tell(Progress("kept", component.name, f"as in iteration {source}"))
            return old.model_copy(update={"kept_from": old.kept_from or source})
        files = {**state.files, **old.files}
        verdicts = state.jury.judge(self._subject(state, component, files), models=False)
        if any(verdict.state == "failed" for verdict in verdicts):
            return None
        rows = old.coverage
        state.files = files
        self._tell(Progress("kept", component.name, f"as in iteration {source}, checked again"))
        version = Version(
            number=1, score=Judged(files, verdicts).score, kept=True, verdicts=_with_earlier(verdicts, old)
        )
        return BuiltComponent(
            name=component.name,
            fingerprint=asked,
            checked=_checked(state, component),
            files=old.files,
            versions=(version,),
            coverage=rows,
            kept_from=old.kept_from or source,
        )

    def _written(self, state: _State, component: Component) -> BuiltComponent:
        """The component written by the model and repaired, at most so often; the best version."""
        rounds = state.order.requirement.build.rounds if state.order.rounds is None else state.order.rounds
        asked = self._code_prompt(state, component)
        best = self._first(state, component, asked)
        versions = [Version(number=1, score=best.score, kept=True, verdicts=best.verdicts)]
        self._tell(_said(component, versions[0]))
        worse = ""
        for number in range(2, rounds + 2):
            if not best.failed:
                break
            self._go_on(state)
            target = _blamed(state, component, best)
            tried = self._repaired(state, component, target, best, asked=asked, number=number, worse=worse)
            better = tried.score > best.score
            worse = "" if better else _why_worse(best, tried)
            versions.append(Version(number=number, score=tried.score, kept=better, why=worse, verdicts=tried.verdicts))
            self._tell(_said(component, versions[-1]))
            best = tried if better else best
        state.files = dict(best.files)
        state.fresh.add(component.name)
        return BuiltComponent(
            name=component.name,
            fingerprint=_asked(state, component),
            checked=_checked(state, component),
            files={path: best.files[path] for path in component.files if path in best.files},
            versions=tuple(versions),
            coverage=_coverage(component, best.verdicts, cases_of(component, state.plan, state.cases)),
        )

    def _first(self, state: _State, component: Component, asked: str) -> Judged:
        messages = [_system(state.asker, component), {"role": "user", "content": asked}]
        opening = f"File: {component.main_file}\n{FENCE}{component.language.name}\n"
        prefix = state.order.requirement.build.prefix and len(component.files) == 1
        if prefix:
            messages.append({"role": "assistant", "content": opening, "prefix": True})
        reply = state.asker.write(component.name, messages, stop=(f"\n{FENCE}",) if prefix else ())
        text = f"{opening}{reply.text}\n{FENCE}\n" if prefix and FENCE not in reply.text else reply.text
        return self._judged(state, component, component, text, state.files, cut_off=reply.finish == "length")

    def _repaired(
        self,
        state: _State,
        component: Component,
        target: Component,
        best: Judged,
        *,
        asked: str,
        number: int,
        worse: str,
    ) -> Judged:
        """One repair of `target`, which is the component itself or one below it that its tests blame."""
        code = "\n".join(
            f"File: {path}\n{quoted(best.files[path], target.language.name)}"
            for path in target.files
            if path in best.files
        )
        variables = {
            "component": target.name,
            "language": target.language.name,
            "version": number,
            "remarks": _remarks(best),
            "worse": worse,
            "files": target.files,
            "others": [path for path in state.plan.files if path not in target.files],
            "fence": FENCE,
        }
        first = asked if target is component else self._code_prompt(state, target)
        messages = [
            _system(state.asker, target),
            {"role": "user", "content": first},
            {"role": "assistant", "content": code or "(no code)"},
            {"role": "user", "content": state.asker.render("build_repair", variables)},
        ]
        reply = state.asker.write(target.name, messages)
        return self._judged(state, component, target, reply.text, best.files, cut_off=reply.finish == "length")

    def _judged(
        self,
        state: _State,
        component: Component,
        target: Component,
        reply: str,
        files: Mapping[str, str],
        *,
        cut_off: bool,
    ) -> Judged:
        """The files of a reply among the others, and what the critics say."""
        language = target.language
        found = files_of(reply, target.files, language, lambda text: reads_as(language, text))
        fresh = {**files, **found}
        if not found:  # prose, or nothing: what is there already must not count as this version's
            fresh = {path: text for path, text in files.items() if path not in target.files}
        if target is not component:
            below = state.jury.judge(self._subject(state, target, fresh, cut_off=cut_off), models=False)
            if any(verdict.state == "failed" for verdict in below):
                return Judged(fresh, below)
        verdicts = state.jury.judge(self._subject(state, component, fresh, cut_off=cut_off))
        return Judged(fresh, verdicts)

    def _try_tests(self, state: _State) -> None:
        """Try the tests on broken programs. Tests that a model made are added to while broken programs pass."""
        most = state.order.requirement.tests.mutants
        if not most or "tests" in state.order.requirement.build.without:
            return
        mutation = self._mutation(state, most)
        if mutation.survivors and state.iteration.cases:
            self._go_on(state)
            known = state.iteration.cases
            made = self._made_cases(state, mutation.survivors)
            more = tuple(case for case in made if self._passes(state, case))
            self._update(state, cases=(*known, *more))
            mutation = self._mutation(state, most)
        if mutation.tried:
            text = f"The tests find {mutation.found} of {mutation.tried} broken programs."
            self._tell(Progress("tests", text=text, good=mutation.found == mutation.tried))
        self._update(state, mutation=mutation)

    def _mutation(self, state: _State, most: int) -> Mutation:
        tried, survivors = 0, []
        for component in state.plan.components:
            cases = cases_of(component, state.plan, state.cases)
            built = state.iteration.component(component.name)
            tests = (
                next((one for one in built.best.verdicts if one.critic == "tests"), None)
                if built and built.best
                else None
            )
            if not cases or tests is None or tests.state != "passed":
                continue
            for mutant in mutants(component, state.files, most):
                tried += 1
                files = {**state.files, mutant.path: mutant.text}
                if all(self._passes(state, case, files) for case in cases):
                    survivors.append(f"{mutant.path}:{mutant.line}: {mutant.what}")
        return Mutation(tried=tried, found=tried - len(survivors), survivors=tuple(survivors))

    def _passes(self, state: _State, case: Case, files: Mapping[str, str] | None = None) -> bool:
        component = state.plan.named(case.component or state.plan.entry.name)
        files = state.files if files is None else files
        job = job_of(case, component, files, state.order.requirement.run, observed=False)
        return not faults(case, self._walls.run(job), self._walls)

    # --- prompts

    def _code_prompt(self, state: _State, component: Component) -> str:
        contract = state.iteration.contract
        own = contract.of(component.name)
        below = [state.plan.named(name) for name in component.depends_on]
        earlier = next((found for one in state.sources if (found := one.component(component.name))), None)
        cases = cases_of(component, state.plan, state.cases)
        variables: dict[str, Any] = {
            "program": state.order.requirement.file.name,
            "component": component.name,
            "language": component.language.name,
            "description": component.description,
            "requirements": _numbered(component),
            "specs": quoted(component.specs) if component.specs.strip() else "",
            "hints": quoted(component.hints) if component.hints.strip() else "",
            "files": component.files,
            "entry": component.entry,
            "offers": contract.text((component.name,)) if own.exports else "",
            "uses": contract.text(tuple(one.name for one in below)) if below else "",
            "uses_files": [path for one in below for path in one.files],
            "cases": [quoted(_case_text(case)) for case in cases],
            "packages": state.order.requirement.run.packages,
            "earlier": [{"path": path, "text": quoted(text)} for path, text in earlier.files.items()]
            if earlier
            else [],
            "fence": FENCE,
        }
        return state.asker.render("build_code", variables)

    def _readable(
        self, state: _State, entry: Component, name: str, variables: Mapping[str, object], read: Callable[[str], Any]
    ) -> Any:
        """What a reply says, asked for again when it cannot be read. Raises ModelError's kin as BudgetSpent."""
        problem = ""
        for _ in range(REPLIES):
            text = state.asker.render(name, {**variables, "problem": problem})
            reply = state.asker.write("", [_system(state.asker, entry), {"role": "user", "content": text}])
            try:
                return read(reply.text)
            except ReplyUnreadable as error:
                problem = str(error)
        raise BudgetSpent(f"the model gave no usable answer to {name} in {REPLIES} tries: {problem}")

    def _subject(
        self, state: _State, component: Component, files: Mapping[str, str], *, cut_off: bool = False
    ) -> Subject:
        return Subject(
            requirement=state.order.requirement,
            plan=state.plan,
            component=component,
            files=files,
            contract=state.iteration.contract,
            cases=cases_of(component, state.plan, state.cases),
            cut_off=cut_off,
            packages=state.order.packages,
        )

    # --- keeping

    def _go_on(self, state: _State) -> None:
        self._count(state)
        if not self._wanted():
            raise _NotWanted

    def _count(self, state: _State) -> None:
        asker, before = state.asker, state.before or Iteration(number=0, requirement="", model="")
        costs = [cost for cost in (asker.cost_micros, before.cost_micros) if cost is not None]
        counted = {
            "calls": asker.calls + before.calls,
            "prompt_tokens": asker.usage.prompt_tokens + before.prompt_tokens,
            "completion_tokens": asker.usage.completion_tokens + before.completion_tokens,
            "cost_micros": sum(costs) if costs else None,
        }
        state.iteration = state.iteration.model_copy(update=counted)

    def _add(self, state: _State, built: BuiltComponent) -> None:
        """Add a component, with what its build has mended in those below it."""
        known = {one.name: one for one in state.iteration.components} | {built.name: built}
        components = [known[one.name] for one in state.plan.components if one.name in known]
        for number, one in enumerate(components):
            files = {path: state.files.get(path, text) for path, text in one.files.items()}
            components[number] = one.model_copy(update={"files": files})
        self._update(state, components=tuple(components))

    def _end(self, state: _State, outcome: str, why: str) -> None:
        state.iteration = state.iteration.model_copy(update={"state": outcome, "why": why})
        self._history.keep(state.iteration, state.order.text)

    def _update(self, state: _State, **changes: object) -> None:
        self._count(state)
        state.iteration = state.iteration.model_copy(update=changes)
        self._history.keep(state.iteration, state.order.text)

    def _note(self, number: int, call: Call) -> None:
        self._history.note_call(number, call)
        if call.purpose == "act":
            self._tell(Progress("asked", call.component, f"{call.completion_tokens or len(call.reply) // 4} tokens"))


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


class _NotWanted(Exception):
    """Nobody waits for the build any more."""


def _outcome(state: _State) -> str:
    built = state.iteration.components
    verdicts = [verdict for one in built if one.best for verdict in one.best.verdicts if verdict.state == "failed"]
    if any(verdict.critic in ("security", "review") for verdict in verdicts):
        return "held back"
    return "failed" if verdicts else "passed"


def _asked(state: _State, component: Component) -> str:
    """The same while the same code may be kept."""
    contract = state.iteration.contract
    return digest(
        [component.fingerprint, *(contract.of(name).model_dump() for name in (component.name, *component.depends_on))]
    )


def _checked(state: _State, component: Component) -> str:
    """The same while the same checks were passed."""
    requirement = state.order.requirement
    cases = [case.model_dump(mode="json") for case in cases_of(component, state.plan, state.cases)]
    others = [one.model_dump(mode="json") for one in (requirement.run, requirement.security)]
    packages = state.order.packages
    there = [packages.lock.digest if packages.lock else "", *packages.missing]
    return digest([cases, others, sorted(requirement.build.without), *(there if any(there) else ())])


def _system(asker: Asker, component: Component) -> dict[str, Any]:
    return {"role": "system", "content": asker.render("build_persona", {"language": component.language.name})}


def _numbered(component: Component) -> list[dict[str, str]]:
    return [{"id": one.id, "text": quoted(one.text)} for one in component.numbered]


def _cases_in(reply: str, state: _State) -> tuple[Case, ...]:
    """The tests in a reply, under names that are not taken. Raises ReplyUnreadable."""
    names = {case.name for case in state.cases}
    found = []
    for case in read_as(reply, TypeAdapter(_Cases)).cases[:MOST_CASES]:
        if case.component or case.call:
            raise ReplyUnreadable(f"the test {case.name!r} does not start the program")
        if case.expect.stdout_matches:  # nobody has looked at it, and it would be matched with hostile output
            raise ReplyUnreadable(f"the test {case.name!r} has a regular expression; give exact texts")
        if case.name not in names:
            names.add(case.name)
            found.append(case)
    return tuple(found)


def _case_text(case: Case) -> str:
    return case.model_dump_json(exclude_defaults=True, indent=1)


def _remarks(judged: Judged) -> list[dict[str, str]]:
    """What has to be mended, the gravest first; remarks that hold nothing up come along when there is room."""
    found = [(verdict.critic, one) for verdict in judged.failed for one in verdict.findings if not one.allowed]
    return [{"critic": critic, "where": one.where, "text": quoted(one.message)} for critic, one in found[:12]]


def _blamed(state: _State, component: Component, best: Judged) -> Component:
    """The component that a repair has to begin with: the one in whose file all failing tests break."""
    tests = [verdict for verdict in best.failed if verdict.critic in ("tests", "run")]
    if len(tests) != len(best.failed):
        return component
    owners = {state.plan.of_file(one.file) for verdict in tests for one in verdict.findings}
    owner = owners.pop() if len(owners) == 1 else None
    return owner if owner is not None and owner.name in state.plan.below(component.name) else component


def _why_worse(best: Judged, tried: Judged) -> str:
    before = {verdict.critic: verdict for verdict in best.verdicts}
    for verdict in tried.failed:
        known = before.get(verdict.critic)
        if known is None or known.state != "failed" or verdict.good < known.good:
            first = verdict.findings[0] if verdict.findings else None
            return f"{verdict.critic}: {first.message if first else verdict.note}"
    return "the same remarks are still there"


def _said(component: Component, version: Version) -> Progress:
    bad = [
        f"{verdict.critic}: {verdict.findings[0].message}" for verdict in version.verdicts if verdict.state == "failed"
    ]
    if not version.kept:
        return Progress("rolled back", component.name, f"version {version.number}: {version.why}", good=False)
    return Progress(
        "version", component.name, f"version {version.number}: {'; '.join(bad) or 'no remark'}", good=not bad
    )


def _coverage(component: Component, verdicts: Iterable[Verdict], cases: Iterable[Case]) -> tuple[CoverageRow, ...]:
    """What is known of each requirement: tests that pass come before what a judge says."""
    by_critic = {verdict.critic: verdict for verdict in verdicts}
    rows = {row.id: row for row in by_critic["coverage"].rows} if "coverage" in by_critic else {}
    tests = by_critic.get("tests")
    broken = {one.about for one in tests.findings} if tests else set()
    shown: dict[str, str] = {}
    if tests and tests.state != "skipped":
        for case in cases:
            for covered in case.covers if case.name not in broken else ():
                shown.setdefault(covered.removeprefix(f"{component.name}."), case.name)
    found = []
    for one in component.numbered:
        if one.id in shown:
            found.append(CoverageRow(id=one.id, text=one.text, state="tested", where=shown[one.id]))
        else:
            unknown = CoverageRow(id=one.id, text=one.text, state="unclear", why="nobody judged it")
            found.append(rows.get(one.id, unknown))
    return tuple(found)


def _with_earlier(verdicts: tuple[Verdict, ...], old: BuiltComponent) -> tuple[Verdict, ...]:
    """Tools looked again; what a model said of the same code still stands."""
    said = [one for one in (old.best.verdicts if old.best else ()) if one.critic in ("coverage", "review")]
    return (*verdicts, *said)


def _touched(made: Plan, jury: Jury) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(f"{one.kind}: {one.what}" for each in made.components for one in jury.seen.of(each.name))
    )[:40]
