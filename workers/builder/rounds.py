"""One component: written by the model, judged, repaired a few times, and the best version kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from workers.builder.build_state import State
from workers.builder.critics.coverage import coverage
from workers.builder.critics.format import reads_as
from workers.builder.critics.judging_versions import Judged
from workers.builder.critics.verdicts import Verdict, failures
from workers.builder.fences import FENCE, files_of, quoted
from workers.builder.history.iterations import BuiltComponent, Version
from workers.builder.progress import Progress
from workers.builder.prompt_parts import numbered_rows, system
from workers.builder.requirements.components import Component, cases_of
from workers.builder.requirements.requirement import Case
from workers.builder.taking_over import asked_of, checked_of


def written(state: State, component: Component) -> BuiltComponent:
    """The best version of a component that the model writes and then repairs, at most so often."""
    rounds = state.order.requirement.build.rounds if state.order.rounds is None else state.order.rounds
    asked = _code_prompt(state, component)
    best = _first(state, component, asked)
    versions = [Version(number=1, score=best.score, kept=True, verdicts=best.verdicts)]
    state.tell(_said(component, versions[0]))
    worse = ""
    for number in range(2, rounds + 2):
        if not best.failed:
            break
        state.go_on()
        target = _blamed(state, component, best)
        tried = _repaired(state, component, target, best, asked=asked, number=number, worse=worse)
        better = not tried.breaks and tried.score > best.score
        worse = "" if better else _why_worse(best, tried)
        versions.append(Version(number=number, score=tried.score, kept=better, why=worse, verdicts=tried.verdicts))
        state.tell(_said(component, versions[-1]))
        best = tried if better else best
    state.files = dict(best.files)
    state.fresh.add(component.name)
    return BuiltComponent(
        name=component.name,
        fingerprint=asked_of(state, component),
        checked=checked_of(state, component),
        files={path: best.files[path] for path in component.files if path in best.files},
        versions=tuple(versions),
        coverage=coverage(component, best.verdicts, cases_of(component, state.plan, state.cases)),
    )


def _first(state: State, component: Component, asked: str) -> Judged:
    messages = [system(state.asker, component), {"role": "user", "content": asked}]
    opening = f"File: {component.main_file}\n{FENCE}{component.language.name}\n"
    prefix = state.order.requirement.build.prefix and len(component.files) == 1
    if prefix:
        messages.append({"role": "assistant", "content": opening, "prefix": True})
    reply = state.asker.write(component.name, messages, stop=(f"\n{FENCE}",) if prefix else ())
    text = f"{opening}{reply.text}\n{FENCE}\n" if prefix and FENCE not in reply.text else reply.text
    return _judged(state, component, component, text, state.files, cut_off=reply.finish == "length")


def _repaired(
    state: State,
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
        f"File: {path}\n{quoted(best.files[path], target.language.name)}" for path in target.files if path in best.files
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
    first = asked if target is component else _code_prompt(state, target)
    messages = [
        system(state.asker, target),
        {"role": "user", "content": first},
        {"role": "assistant", "content": code or "(no code)"},
        {"role": "user", "content": state.asker.render("build_repair", variables)},
    ]
    reply = state.asker.write(target.name, messages)
    return _judged(state, component, target, reply.text, best.files, cut_off=reply.finish == "length")


def _judged(
    state: State,
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
        for one, built in _below(state, component, target):
            below = state.jury.judge(state.subject(one, fresh, cut_off=cut_off), models=False)
            if worse := _worse(built.verdicts, below):
                return Judged(fresh, below, breaks=f"{one.name}: {worse}")
    verdicts = state.jury.judge(state.subject(component, fresh, cut_off=cut_off))
    return Judged(fresh, verdicts)


def _below(state: State, component: Component, target: Component) -> Iterator[tuple[Component, BuiltComponent]]:
    """A component that is repaired and those that use it, as far as they were built before `component`."""
    touched = {target.name, *state.plan.above((target.name,))}
    for one in state.plan.components:
        if one is component:
            return
        built = state.iteration.component(one.name)
        if one.name in touched and built is not None:
            yield one, built


def _code_prompt(state: State, component: Component) -> str:
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
        "requirements": numbered_rows(component),
        "specs": quoted(component.specs) if component.specs.strip() else "",
        "hints": quoted(component.hints) if component.hints.strip() else "",
        "files": component.files,
        "entry": component.entry,
        "offers": contract.text((component.name,)) if own.exports else "",
        "uses": contract.text(tuple(one.name for one in below)) if below else "",
        "uses_files": [path for one in below for path in one.files],
        "cases": [quoted(_case_text(case)) for case in cases],
        "packages": state.order.requirement.run.packages,
        "earlier": [{"path": path, "text": quoted(text)} for path, text in earlier.files.items()] if earlier else [],
        "fence": FENCE,
    }
    return state.asker.render("build_code", variables)


def _case_text(case: Case) -> str:
    return case.model_dump_json(exclude_defaults=True, indent=1)


def _remarks(judged: Judged) -> list[dict[str, str]]:
    """What has to be corrected, the most severe first. Remarks that stop nothing are added if there is room."""
    found = [(verdict.critic, one) for verdict in judged.failed for one in verdict.findings if not one.allowed]
    return [{"critic": critic, "where": one.where, "text": quoted(one.message)} for critic, one in found[:12]]


def _blamed(state: State, component: Component, best: Judged) -> Component:
    """The component that a repair has to begin with: the one in whose file all failing tests break."""
    tests = [verdict for verdict in best.failed if verdict.critic in ("tests", "run")]
    if len(tests) != len(best.failed):
        return component
    owners = {state.plan.of_file(one.file) for verdict in tests for one in verdict.findings}
    owner = owners.pop() if len(owners) == 1 else None
    return owner if owner is not None and owner.name in state.plan.below(component.name) else component


def _why_worse(best: Judged, tried: Judged) -> str:
    return tried.breaks or _worse(best.verdicts, tried.verdicts) or "the same remarks are still there"


def _worse(before: Iterable[Verdict], now: Iterable[Verdict]) -> str:
    """What fails now and did not fail before, or not so much; "" when nothing does."""
    earlier = {verdict.critic: verdict for verdict in before}
    for verdict in failures(now):
        known = earlier.get(verdict.critic)
        if known is None or known.state != "failed" or verdict.good < known.good:
            first = verdict.findings[0] if verdict.findings else None
            return f"{verdict.critic}: {first.message if first else verdict.note}"
    return ""


def _said(component: Component, version: Version) -> Progress:
    bad = [
        f"{verdict.critic}: {verdict.findings[0].message}" for verdict in version.verdicts if verdict.state == "failed"
    ]
    if not version.kept:
        return Progress("rolled back", component.name, f"version {version.number}: {version.why}", good=False)
    return Progress(
        "version", component.name, f"version {version.number}: {'; '.join(bad) or 'no remark'}", good=not bad
    )
