"""Formulas with which a model shows how a figure follows from what cells showed.

`20 % [=(2:120-2:100)/2:100*100]`: cell 2 shows 120 and 100, and the report gives the change between them. `q:130` is a
number that a person or a file gave. The formula is computed here, never by `eval`.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from core import python_source

MOST_OPERANDS = 40
_OPERAND = re.compile(
    r"(?<![\w.])(?:(?P<cell>(?:c|cell ?)?\d{1,4})|(?P<given>q)) ?[:|] ?(?P<sign>[-−+]?)"
    r"(?P<digits>(?:0|\d{1,3}(?:\.\d{3})*|\d+),(?:(?<=\b0,)\d+|\d{1,2})(?![\d.])(?! ?[:|])|"
    r"\d+(?:,\d{3})*(?:\.\d+)?(?:[eE][+-]?\d+)?)"
)
"""A number with its cell. As in a German report, a comma may stand before one or two decimals, or behind a 0."""
_DECIMAL_COMMA = re.compile(r"(?:0,\d+|.*,\d{1,2})")
_SIGNS = str.maketrans({"−": "-", "–": "-", "×": "*", "·": "*", "÷": "/"})
_CALLS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "sum": math.fsum,
    "mean": lambda values: math.fsum(values) / len(values),
    "min": min,
    "max": max,
}
_TIMES = frozenset((24, 52, 60, 365, 3_600))
_UNITS = _TIMES | {1, 100, 1_000, 10_000, 1_000_000, 1_000_000_000}
"""Numbers of percent, scale and time. They may stand in a formula without a cell. Divided by a number of a cell, a unit
of time gives a length of time and no percentage."""
_COUNTS = frozenset((*range(2, 13), 15, 30))
"""Numbers that may stand there only as a factor or a divisor of numbers with cells: how many values a mean has, how
many months a rate is for. Any other number has to come from a cell or a person. With free numbers, a formula could give
any value: 15 of 21 needs the cells of both."""
_MOST_COUNTS = 2
"""Counts that may multiply or divide one number: "a third, for four". With more of them, one number gives any other."""
_MOST_CHARS = 1_200
_MOST_PARTS = 400


class Operand(NamedTuple):
    """A number of a formula: its cell, its value, half a unit of its last place.

    The cell is 0 for a number that a person or a file gave. `signed`: it is written with its sign; without one it may
    stand for a negative number, too.
    """

    cell: int
    value: float
    slack: float
    signed: bool = False


class Formula(NamedTuple):
    """A formula that could be read. `source` is Python with the names `v0`, `v1` … for its operands. `is_period`: a
    unit of time is divided by a number of a cell. That is a length of time, and never a share."""

    source: str
    operands: tuple[Operand, ...]
    is_period: bool = False


class Amount(NamedTuple):
    """A computed value, and its power of money: 1 for an amount, 0 for a share of two amounts."""

    value: float
    money: int


def read_operand(text: str) -> Operand | None:
    """One number with its cell, `2:482310.40`; None for any other text."""
    match = _OPERAND.fullmatch(text.strip().removesuffix("%").strip())
    return None if match is None else _operand(match)


def _operand(match: re.Match[str]) -> Operand:
    digits = match["digits"]
    if _DECIMAL_COMMA.fullmatch(digits):
        digits = digits.replace(".", "").replace(",", ".")
    digits = digits.replace(",", "")
    decimals = len(digits.partition(".")[2]) if "e" not in digits.lower() else 12
    value = float(digits) * (-1 if match["sign"] in ("-", "−") else 1)
    cell = 0 if match["given"] else int(re.sub(r"\D", "", match["cell"]))
    return Operand(cell, value, 0.5 * 10.0**-decimals, bool(match["sign"]))


def read_formula(text: str) -> Formula | None:
    """A formula over numbers with their cells. None if the text is no formula or uses what is not allowed."""
    operands: list[Operand] = []

    def name(match: re.Match[str]) -> str:
        operands.append(_operand(match))
        return f" v{len(operands) - 1} "

    if len(text) > _MOST_CHARS or "v" in text:
        return None
    source = _OPERAND.sub(name, text).replace("%", "").translate(_SIGNS).strip()
    if not 0 < len(operands) <= MOST_OPERANDS:
        return None
    try:
        body = python_source.expression(source)
        if sum(1 for _ in ast.walk(body)) > _MOST_PARTS:
            return None
        _walk(body, [Amount(1.0, 0)] * len(operands))
        is_inverse = any(map(_is_inverse, ast.walk(body)))
        if any(map(_takes_a_free_number, ast.walk(body))) or (is_inverse and _has(body, _COUNTS)):
            return None
        if _counts(body) > _MOST_COUNTS:
            return None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return Formula(source, tuple(operands), is_inverse and _has(body, _TIMES))


def compute(formula: Formula, amounts: Sequence[Amount]) -> Amount | None:
    """What a formula gives with these amounts for its operands; None where it divides by zero or grows too large."""
    try:
        result = _walk(python_source.expression(formula.source), amounts)
    except OverflowError:
        return None
    return result if result is not None and math.isfinite(result.value) else None


def written(formula: Formula, shown: Sequence[str]) -> str:
    """The formula as people read it, with these texts for its operands."""
    text = re.sub(r"\bv(\d+)\b", lambda match: shown[int(match[1])], formula.source)
    text = re.sub(r"\s*([-+*/])\s*", r" \1 ", text).replace("*", "×").replace(" - ", " − ")
    return re.sub(r"\(\s+|\s+\)", lambda match: match[0].strip(), " ".join(text.split())).replace(" ,", ",")


def _walk(node: ast.expr, amounts: Sequence[Amount]) -> Amount | None:
    """The amount of a part of a formula. Raises ValueError for a part that is not allowed."""
    match node:
        case ast.Name(id=one) if one[1:].isdigit():
            return amounts[int(one[1:])]
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool) and value in _UNITS | _COUNTS:
            return Amount(float(value), 0)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            turned = _walk(inner, amounts)
            return None if turned is None else Amount(-turned.value, turned.money)
        case ast.BinOp(left=left, op=op, right=right):
            return _binary(op, _walk(left, amounts), _walk(right, amounts))
        case ast.Call(func=ast.Name(id="abs"), args=[inner], keywords=[]):
            size = _walk(inner, amounts)
            return None if size is None else Amount(abs(size.value), size.money)
        case ast.Call(func=ast.Name(id=call), args=args, keywords=[]) if call in _CALLS and args:
            parts = [_walk(each, amounts) for each in args]
            known = [each for each in parts if each is not None]
            if len(known) < len(parts):
                return None
            return Amount(_CALLS[call]([each.value for each in known]), max(each.money for each in known))
        case _:
            raise ValueError("not a part of a formula")


def _takes_a_free_number(node: ast.AST) -> bool:
    """Whether a part of a formula adds a count without a cell, gives it to a function, or divides it."""
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            return _is_free(left) or _is_free(right)
        case ast.BinOp(left=left, op=ast.Div()):
            return _is_free(left)
        case ast.Call(args=args):
            return any(map(_is_free, args))
        case _:
            return False


def _counts(part: ast.expr) -> int:
    """How many counts without a cell multiply or divide one number of a formula, at most."""
    match part:
        case ast.Constant(value=value):
            return value in _COUNTS
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div(), right=right):
            return _counts(left) + _counts(right)
        case ast.BinOp(left=left, right=right):
            return max(_counts(left), _counts(right))
        case ast.UnaryOp(operand=inner):
            return _counts(inner)
        case ast.Call(args=args):
            return max(map(_counts, args), default=0)
        case _:
            return 0


def _is_free(part: ast.expr) -> bool:
    """Whether a part of a formula is a count without any number of a cell."""
    return not _has_operand(part) and _has(part, _COUNTS)


def _is_inverse(node: ast.AST) -> bool:
    """Whether a part of a formula divides what has no cell by a number of a cell: 365 days by the turns of a stock."""
    match node:
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return not _has_operand(left) and _has_operand(right)
        case _:
            return False


def _has(part: ast.expr, numbers: frozenset[int]) -> bool:
    return any(isinstance(one, ast.Constant) and one.value in numbers for one in ast.walk(part))


def _has_operand(part: ast.expr) -> bool:
    return any(isinstance(one, ast.Name) and one.id[1:].isdigit() for one in ast.walk(part))


def _binary(op: ast.operator, left: Amount | None, right: Amount | None) -> Amount | None:
    if left is None or right is None:
        return None
    match op:
        case ast.Add():
            return Amount(left.value + right.value, max(left.money, right.money))
        case ast.Sub():
            return Amount(left.value - right.value, max(left.money, right.money))
        case ast.Mult():
            return Amount(left.value * right.value, left.money + right.money)
        case ast.Div():
            return Amount(left.value / right.value, left.money - right.money) if right.value else None
        case _:
            raise ValueError("not a part of a formula")
