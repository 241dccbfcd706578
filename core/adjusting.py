"""Settings that an admin can change in Slack, where threadbook.toml says nothing about them.

What was chosen is text by name, such as "approvals.ask": "risky". A name that the file sets is the file's: what was
chosen for it waits until the line is gone from the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from core.settings import Settings, tables

POLICIES: Final = ("approvals.ask", "approvals.people", "approvals.files", "approvals.above", "report.unsourced")
LIMITS: Final = (
    *("budget.turn_tokens", "budget.thread_tokens", "budget.person_day_tokens", "budget.day_tokens"),
    *("budget.turn_cost", "budget.thread_cost", "budget.person_day_cost", "budget.day_cost"),
)
ADJUSTABLE: Final = (*POLICIES, *LIMITS)
"""The names, in the order in which they are shown."""


class NotAllowed(ValueError):
    """A value that a setting cannot have. The message names no value."""


def is_of_file(settings: Settings, name: str) -> bool:
    """Whether threadbook.toml sets this: then nobody changes it in Slack."""
    table, _, key = name.partition(".")
    return key in getattr(settings, table).model_fields_set


def value_of(settings: Settings, name: str) -> Any:
    """What holds under this name."""
    table, _, key = name.partition(".")
    return getattr(getattr(settings, table), key)


def is_money(name: str) -> bool:
    """Whether a setting is a limit in money, which means nothing for a model without a price."""
    return name == "approvals.above" or name.endswith("_cost")


def choices_of(name: str) -> tuple[str, ...]:
    """The values of a setting that has few, as text; () for a number."""
    annotation = _field(name).annotation
    return tuple(str(value) for value in getattr(annotation, "__args__", ()))


def parsed(settings: Settings, name: str, text: str) -> Any:
    """The value that a text means for a setting. Raises NotAllowed."""
    if name not in ADJUSTABLE:
        raise NotAllowed(name)
    field = _field(name)
    number = text.strip().replace(",", "") if not choices_of(name) else text
    given: Any = int(number) if name == "approvals.people" and number.isdigit() else number
    try:
        value = TypeAdapter(_annotated(field)).validate_python(given)
    except ValidationError as error:
        raise NotAllowed(name) from error
    if is_money(name) and value and settings.model_choice == "openai" and not _are_priced(settings):
        raise NotAllowed(name)
    return value


def adjusted(settings: Settings, chosen: Mapping[str, Any]) -> Settings:
    """The settings with what an admin chose. What the file sets, and what cannot be read, changes nothing."""
    changes: dict[str, dict[str, Any]] = {}
    for name, text in chosen.items():
        if name not in ADJUSTABLE or not isinstance(text, str) or is_of_file(settings, name):
            continue
        try:
            value = parsed(settings, name, text)
        except NotAllowed:
            continue
        table, _, key = name.partition(".")
        changes.setdefault(table, {})[key] = value
    if not changes:
        return settings
    return settings.model_copy(
        update={table: _changed(getattr(settings, table), values) for table, values in changes.items()}
    )


def _changed(table: BaseModel, values: Mapping[str, Any]) -> BaseModel:
    """The table with other values. They count as not set by the file."""
    copy = table.model_copy(update=dict(values))
    copy.__pydantic_fields_set__.difference_update(values)
    return copy


def _are_priced(settings: Settings) -> bool:
    names = [settings.openai_model, *(offered.model for offered in settings.models.values())]
    return all(name in settings.prices for name in names)


def _field(name: str) -> FieldInfo:
    table, _, key = name.partition(".")
    return tables()[table].model_fields[key]


def _annotated(field: FieldInfo) -> Any:
    """The field's type with its bounds."""
    annotation: Any = field.annotation
    for bound in field.metadata:
        annotation = Annotated[annotation, bound]
    return annotation
