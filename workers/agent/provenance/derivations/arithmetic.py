"""The step that derives a figure, written out: "(120 − 100) / 100 × 100 = 20"."""

from __future__ import annotations

from collections.abc import Sequence

from workers.agent.provenance.derivations.deriving import Derived

_MOST = 6
"""Terms of a sum that are written out."""
_SMALLEST = 1e-3
"""Six decimals of a smaller number, such as a p-value, would lack digits that a report may show."""


def arithmetic(one: Derived) -> str:
    """The step with its numbers; "" when the facts alone do not give its value again."""
    values = [fact.scaled for fact in one.facts]
    for written, value in _forms(one.how, values):
        if abs(value - one.value) <= 1e-6 * max(abs(one.value), 1e-9):
            return f"{written} = {number(one.value)}"
    return ""


def number(value: float) -> str:
    """A number as people read it: thousands apart, no digit that says nothing. A tiny one is not written as zero."""
    if abs(value) >= 1e15 or 0 < abs(value) < _SMALLEST:
        return f"{value:.6g}"
    return f"{value:,.6f}".rstrip("0").rstrip(".")


def _forms(how: str, values: Sequence[float]) -> list[tuple[str, float]]:
    a, b = (*values[:2], 0.0, 0.0)[:2]
    x, y = (_operand(value) for value in (a, b))
    match how, len(values):
        case "difference", 2:
            return [(f"{x} − {y}", a - b), (f"({x} − {y}) × 100", (a - b) * 100)]
        case "change", 2:
            return [(f"({x} − {y}) / {_operand(abs(b))} × 100", (a - b) / abs(b) * 100)] if b else []
        case "change", 1:
            return [(f"({x} − 1) × 100", (a - 1) * 100)]
        case "share", 2:
            return [(f"{x} / {y} × 100", a / b * 100)] if b else []
        case "ratio", 2:
            return [(f"{x} / {y}", a / b)] if b else []
        case "rest", 1:
            return [(f"100 − {x}", 100.0 - a)]
        case "sum", count if count > 1:
            shown = [_operand(value) for value in values]
            terms = shown if count <= _MOST else [*shown[: _MOST - 1], "…", shown[-1]]
            return [(" + ".join(terms), sum(values)), (f"({' + '.join(terms)}) × 100", sum(values) * 100)]
        case _:
            return []


def _operand(value: float) -> str:
    return f"(−{number(-value)})" if value < 0 else number(value)
