"""What is known of each requirement of a component, by its tests and by what a judge has said."""

from __future__ import annotations

from collections.abc import Iterable

from workers.builder.critics.verdicts import CoverageRow, Verdict
from workers.builder.requirements.components import Component
from workers.builder.requirements.requirement import Case


def coverage(component: Component, verdicts: Iterable[Verdict], cases: Iterable[Case]) -> tuple[CoverageRow, ...]:
    """What is known of each requirement: tests that pass come before what a judge says."""
    by_critic = {verdict.critic: verdict for verdict in verdicts}
    rows = {row.id: row for row in by_critic["coverage"].rows} if "coverage" in by_critic else {}
    tests = by_critic.get("tests")
    broken = {one.about for one in tests.findings} if tests else set()
    shown: dict[str, str] = {}
    if tests and tests.state != "skipped" and len(broken) == tests.total - tests.good:  # else some are not named
        for case in cases:
            for covered in case.covers if case.name not in broken and not case.is_hollow else ():
                shown.setdefault(covered.removeprefix(f"{component.name}."), case.name)
    found = []
    for one in component.numbered:
        if one.id in shown:
            found.append(CoverageRow(id=one.id, text=one.text, state="tested", where=shown[one.id]))
        else:
            unknown = CoverageRow(id=one.id, text=one.text, state="unclear", why="nobody judged it")
            found.append(rows.get(one.id, unknown))
    return tuple(found)
