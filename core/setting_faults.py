"""What is wrong with the value of a setting, in a sentence for the admin who wrote it. It never quotes the value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_UNITS = {
    "_s": " of seconds",
    "seconds": " of seconds",
    "minutes": " of minutes",
    "hours": " of hours",
    "days": " of days",
    "_kb": " of KB",
    "_mb": " of MB",
}
FORMS = {
    r"^[\w.-]{1,60}$": "must have 1 to 60 letters, digits, “.”, “_” or “-”",
    r"^[\w-]{1,60}$": "must have 1 to 60 letters, digits, “_” or “-”",
    r"^(|openai|offline|scripted:.+)$": "must be openai, offline or scripted:FILE.json",
    r"^/[^/].*$": "must be a full path, such as /opt/rust",
    r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$": "must be the name of a module, such as pandas or os.path",
    r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?$": "must be the name of a package, such as scikit-learn",
    r"^(https?://.+)?$": "must be an http(s) address",
    r"^([A-Z]{2}(-[A-Z0-9]{1,3})?)?$": "must be a country such as DE, or a region of it such as DE-BY",
}
"""The patterns of settings, in words."""
_BOUNDS = {
    "greater_than": ("must be more than", "gt"),
    "greater_than_equal": ("must be at least", "ge"),
    "less_than": ("must be less than", "lt"),
    "less_than_equal": ("must be at most", "le"),
}
_PLAIN = {
    "missing": "is missing, and has no default",
    "string_type": 'must be text in quotes, written as "…"',
    "tuple_type": 'must be a list, written as ["…"]',
    "finite_number": "must be a finite number",
}


def in_words(fault: Mapping[str, Any], *, quotable: bool) -> str:
    """What a fault that pydantic found means; no full stop. `quotable`: the value stands in a file that has quotes."""
    kind, about = str(fault["type"]), fault.get("ctx", {})
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kind in _BOUNDS:
        words, bound = _BOUNDS[kind]
        return f"{words} {about[bound]:.10g}"
    quotes = ", without quotes" if quotable else ""
    if kind.startswith(("int_", "float_")):
        whole = "a whole number" if kind.startswith("int_") else "a number"
        return f"must be {whole}{_unit(fault['loc'])}{quotes}{' and ' if quotable else ', '}without a unit"
    if kind.startswith("bool_"):
        return f"must be true or false{quotes}"
    if kind.startswith("date_"):
        return "must be a date, such as 2026-12-24"
    if kind == "literal_error":
        return f"must be {about['expected']}"
    if kind == "string_pattern_mismatch" and about["pattern"] in FORMS:
        return FORMS[about["pattern"]]
    if kind == "string_too_short" and about["min_length"] == 1:
        return "must not be empty"
    if kind in ("string_too_short", "too_short"):
        return f"must have at least {_counted(about['min_length'], fault)}"
    if kind in ("string_too_long", "too_long"):
        return f"must have at most {_counted(about['max_length'], fault)}"
    return str(fault["msg"]).removeprefix("Value error, ").replace("Input should be", "must be")


def _unit(place: tuple[int | str, ...]) -> str:
    names = [each for each in place if isinstance(each, str)]
    name = names[-1] if names else ""
    return next((unit for ending, unit in _UNITS.items() if name.endswith(ending)), "")


def _counted(length: int, fault: Mapping[str, Any]) -> str:
    one, more = ("entry", "entries") if isinstance(fault.get("input"), list | tuple) else ("character", "characters")
    return f"{length} {one if length == 1 else more}"
