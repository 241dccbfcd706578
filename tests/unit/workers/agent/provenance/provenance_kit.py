"""Steps for the tests of provenance."""

from __future__ import annotations

from core.steps import Asked, CellRan, Step
from workers.agent.provenance import Provenance, Traced, facts_of, trace


def shown(stdout: str, title: str = "Step", number: int = 1, **fields: object) -> CellRan:
    """A cell that printed this."""
    known = {"code": "print(x)", "status": "ok", **fields}
    return CellRan(call_id=f"c{number}", cell_id=f"T/c{number}", title=title, stdout=stdout, **known)  # type: ignore[arg-type]


def asked(text: str = "How much?") -> Asked:
    """A question."""
    return Asked(user="U1", author="Ana", text=text, ts="1.0")


def traced(report: str, *steps: Step | str, earlier: tuple[Step, ...] = (), question: str = "How much?") -> Provenance:
    """What becomes of a report over these cells, or texts that cells printed."""
    own = [shown(step, number=n) if isinstance(step, str) else step for n, step in enumerate(steps, 1)]
    return trace(report, facts_of([*([earlier] if earlier else []), [asked(question), *own]]))


def states(report: str, *steps: Step | str, **kwargs: object) -> dict[str, str]:
    """State by figure, in order."""
    return {one.text: one.state for one in traced(report, *steps, **kwargs).figures}  # type: ignore[arg-type]


def first(report: str, *steps: Step | str, **kwargs: object) -> Traced:
    """The first figure."""
    return traced(report, *steps, **kwargs).figures[0]  # type: ignore[arg-type]
