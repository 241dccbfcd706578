"""Small rules that combine: each looks at a value and yields what is wrong with it, with a JSON pointer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple


class Complaint(NamedTuple):
    """What is wrong and where, in Slack's words."""

    what: str
    pointer: str

    def __str__(self) -> str:
        return f"{self.what} [json-pointer:{self.pointer}]"


Complaints = Iterator[Complaint]
Rule = Callable[[Any, str], Complaints]


def anything(_value: Any, _pointer: str) -> Complaints:
    """Accepts any value."""
    yield from ()


def string(longest: int, shortest: int = 1) -> Rule:
    """A string of `shortest` to `longest` characters."""

    def rule(value: Any, pointer: str) -> Complaints:
        if not isinstance(value, str):
            yield Complaint("must be a string", pointer)
        elif len(value) < shortest:
            yield Complaint(f"must be more than {shortest - 1} characters", pointer)
        elif len(value) > longest:
            yield Complaint(f"must be less than {longest + 1} characters", pointer)

    return rule


def boolean(value: Any, pointer: str) -> Complaints:
    """True or false."""
    if not isinstance(value, bool):
        yield Complaint("must be a boolean", pointer)


def number(lowest: float, highest: float, *, whole: bool = False) -> Rule:
    """A number in a range."""

    def rule(value: Any, pointer: str) -> Complaints:
        if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
            yield Complaint("must be an integer" if whole else "must be a number", pointer)
        elif not lowest <= value <= highest:
            yield Complaint(f"must be between {lowest:g} and {highest:g}", pointer)

    return rule


def one_of(*allowed: str) -> Rule:
    """One of a few words."""

    def rule(value: Any, pointer: str) -> Complaints:
        if value not in allowed:
            yield Complaint(f"value must be one of {', '.join(allowed)}", pointer)

    return rule


def items(each: Rule, most: int, least: int = 1) -> Rule:
    """A list of `least` to `most` items that all keep a rule."""

    def rule(value: Any, pointer: str) -> Complaints:
        if not isinstance(value, list):
            yield Complaint("must be an array", pointer)
            return
        if len(value) > most:
            yield Complaint(f"no more than {most} items allowed", pointer)
        elif len(value) < least:
            yield Complaint(f"no less than {least} items allowed", pointer)
        for place, item in enumerate(value):
            yield from each(item, f"{pointer}/{place}")

    return rule


def shape(required: Mapping[str, Rule], optional: Mapping[str, Rule] | None = None) -> Rule:
    """An object with these fields and no others; `type` is always welcome."""
    known = {"type": anything, **required, **(optional or {})}

    def rule(value: Any, pointer: str) -> Complaints:
        if not isinstance(value, dict):
            yield Complaint("must be an object", pointer)
            return
        for name in required:
            if value.get(name) is None:
                yield Complaint(f"missing required field: {name}", pointer)
        for name, field in value.items():
            if name not in known:
                yield Complaint(f"invalid additional property: {name}", pointer)
            elif field is not None:
                yield from known[name](field, f"{pointer}/{name}")

    return rule


def by_type(table: Mapping[str, Rule]) -> Rule:
    """An object whose `type` says which rule it keeps."""

    def rule(value: Any, pointer: str) -> Complaints:
        if not isinstance(value, dict):
            yield Complaint("must be an object", pointer)
        elif "type" not in value:
            yield Complaint("missing required field: type", pointer)
        elif not isinstance(value["type"], str) or value["type"] not in table:
            yield Complaint(f"unsupported type: {value['type']}", f"{pointer}/type")
        else:
            yield from table[value["type"]](value, pointer)

    return rule


def all_of(*rules: Rule) -> Rule:
    """Every rule at once."""

    def rule(value: Any, pointer: str) -> Complaints:
        for each in rules:
            yield from each(value, pointer)

    return rule
