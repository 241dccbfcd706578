"""What a subprocess says of itself: codes of a short list, names and numbers, never a sentence.

What it sends is shown to people and to the model in our own words, so it may send no words of its own. A name is an
identifier of bounded length; anything else is shown as "?".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from executor.frames import ProtocolError
from executor.notices import Notices, notice
from executor.values import DataCheck, Notice, Rejected
from executor.wire import integer, one_of, optional_text, sequence, text, texts

UNKNOWN = "?"
_NAME_LENGTH = 60
_MANY_CODES, _MANY_LISTED, _MANY_NAMES, _MANY_PROBLEMS = 4, 12, 2_000, 50
_WITH_NAMES = ("set_before_failure", "as_before_failure")
_ALONE = ("result_too_large", "shell_ended", "shell_ended_too_large")
_WITH_COUNT = "background_output"
_CLAUSES = ("too_large_to_keep", "shell_too_large")
CHECKS = {
    "rows_lost": (2, 2),
    "empty_frame": (2, 1),
    "nan_made": (2, 3),
    "not_numbers": (1, 2),
    "not_dates": (1, 2),
    "join_grew": (1, 5),
    "join_missed": (1, 6),
    "two_orders": (1, 3),
    "mixed_currencies": (2, 1),
    "mixed_units": (2, 1),
    "glyphs": (0, 2),
}
"""What a cell may have done to its tables and charts: code → how many names at most, how many numbers."""
_MANY_CHECKS = 8


def name_from(word: str) -> str:
    """`word` if it can only be a name, else "?"."""
    return word if word.isidentifier() and len(word) <= _NAME_LENGTH else UNKNOWN


def shape_from(word: str) -> str:
    """`word` if it can only be the shape of a variable ("3 x 4"), else ""."""
    return word if set(word) <= set("0123456789 x") else ""


def notices_from(message: Mapping[str, Any]) -> Notices:
    """The codes of a `result`. Raises ProtocolError for another one than a subprocess has."""
    return tuple(_notice(item) for item in sequence(message, "notices", _MANY_CODES)) if "notices" in message else ()


def _notice(item: Mapping[str, Any]) -> Notice:
    code = one_of(item, "code", (*_WITH_NAMES, *_ALONE, _WITH_COUNT))
    if code in _ALONE:
        return notice(code)
    if code == _WITH_COUNT:
        return notice(code, count=integer(item, "count"))
    names = texts(item, "names", _NAME_LENGTH + 1, _MANY_LISTED)
    return notice(code, names=", ".join(f"`{name_from(name)}`" for name in names), more=integer(item, "more"))


def checks_from(message: Mapping[str, Any]) -> tuple[DataCheck, ...]:
    """What a `result` says of tables and charts. Raises ProtocolError for another code than a subprocess has."""
    if "checks" not in message:
        return ()
    found = []
    for item in sequence(message, "checks", _MANY_CHECKS):
        code = one_of(item, "code", tuple(CHECKS))
        names, numbers = (
            texts(item, "names", _NAME_LENGTH + 1, CHECKS[code][0]),
            sequence(item, "numbers", CHECKS[code][1]),
        )
        if len(numbers) != CHECKS[code][1] or not all(type(each) is int and abs(each) < 1 << 53 for each in numbers):
            raise ProtocolError("a check has other numbers than its code")
        found.append(DataCheck(code, tuple(_column_from(name) for name in names), tuple(numbers)))
    return tuple(found)


def _column_from(name: str) -> str:
    return name if name.startswith("#") and name[1:].isdecimal() and name.isascii() else name_from(name)


def why_from(message: Mapping[str, Any]) -> Notice | None:
    """Why variables are not kept or not restored: a code, or the name of an error; None when they are."""
    word = optional_text(message, "why")
    if word is None:
        return None
    return notice(word) if word in _CLAUSES else notice("error_of_kind", kind=name_from(word))


def lost_from(message: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """What a `state` or `restored` message says is lost: names, each with the name of the error."""
    return tuple(lost_pair(text(item, "name"), text(item, "why")) for item in sequence(message, "lost", _MANY_NAMES))


def lost_pair(name: str, why: str) -> tuple[str, str]:
    """A lost name with the name of its error. Of the sentence that an older version kept, the error's name is left."""
    return name_from(name), name_from(why.partition(":")[0])


def problems_from(message: Mapping[str, Any]) -> tuple[Rejected, ...]:
    """The figures that could not be saved."""
    if "problems" not in message:
        return ()
    found = []
    for item in sequence(message, "problems", _MANY_PROBLEMS):
        if not isinstance(item, dict):
            raise ProtocolError("a problem is not an object")
        word = text(item, "why")
        why = notice("too_many_figures") if word == "too_many" else notice("not_drawn", kind=name_from(word))
        found.append(Rejected(f"figure {integer(item, 'figure')}", why))
    return tuple(found)
