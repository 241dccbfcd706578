"""The interface contract: what each component offers to those that depend on it.

A model writes it once, before any code, for programs of several components. It is data: the interface critic compares
code with it. If the contract of a component changes, the components that depend on it are checked again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from core.values import Value
from workers.agent.replies.loose_json import Unreadable, read_json
from workers.builder.requirements.components import Plan, digest

T = TypeVar("T")


class Export(Value):
    """A name that others may use."""

    name: str = Field(pattern=r"^[A-Za-z_$][A-Za-z0-9_$]{0,99}$")
    signature: str = Field(default="", max_length=500)
    """As it is written in the language: `parse(line: str) -> Entry | None`."""
    purpose: str = Field(default="", max_length=500)


class Interface(Value):
    """What one component offers."""

    exports: tuple[Export, ...] = Field(default=(), max_length=60)
    data: str = Field(default="", max_length=4_000)
    """Shapes of the data that pass, in words."""


class Contract(Value):
    """The contract of each component that others depend on."""

    components: dict[str, Interface] = Field(default={})

    def of(self, name: str) -> Interface:
        """What a component offers; nothing when nobody depends on it."""
        return self.components.get(name, Interface())

    def text(self, names: tuple[str, ...]) -> str:
        """The interfaces of these components, for a prompt."""
        lines = []
        for name in names:
            own = self.of(name)
            lines += [f"## {name}", *(f"- `{one.signature or one.name}`: {one.purpose}" for one in own.exports)]
            lines += [f"Data: {own.data}"] if own.data else []
        return "\n".join(lines)


class ReplyUnreadable(Exception):
    """A reply that should have been JSON of a given form is not. The message is for the model."""


def needs_contract(plan: Plan) -> bool:
    """Whether any component uses another."""
    return any(one.depends_on for one in plan.components)


def fingerprint(plan: Plan) -> str:
    """A hash that stays the same as long as the same is asked of all components."""
    return digest([one.fingerprint for one in plan.components])


def read_contract(reply: str, plan: Plan) -> Contract:
    """The contract in a model's reply. Raises ReplyUnreadable."""
    contract = read_as(reply, TypeAdapter(Contract))
    used = {name for one in plan.components for name in one.depends_on}
    unknown = contract.components.keys() - {one.name for one in plan.components}
    if unknown:
        raise ReplyUnreadable(f"there are no components {sorted(unknown)}")
    if missing := [
        name for name in used if not contract.of(name).exports and plan.named(name).language.name == "python"
    ]:
        raise ReplyUnreadable(f"these components are used by others and export nothing: {sorted(missing)}")
    return contract


def read_as(reply: str, adapter: TypeAdapter[T]) -> T:
    """JSON of a form out of a reply. Raises ReplyUnreadable with what is wrong."""
    try:
        value: Any = read_json(reply, in_prose=True)
        if isinstance(value, Mapping):
            value = dict(value)
        return adapter.validate_python(value)
    except Unreadable as error:
        raise ReplyUnreadable(f"no JSON was found in it ({error})") from None
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:5]]
        raise ReplyUnreadable("; ".join(faults)) from None
