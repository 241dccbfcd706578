"""A call as a method receives it, and the arguments it may have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from playground.errors import SlackError, invalid_arguments
from playground.hub import Playground
from playground.parsing import parsed_json
from playground.workspace import Channel, Json, Message

ArgKind = Literal["str", "int", "bool", "json"]


@dataclass(frozen=True)
class Arg:
    """One argument: how its text becomes a value. `json` takes an object or a list, or the JSON text of one."""

    name: str
    kind: ArgKind = "str"
    required: bool = False


@dataclass(frozen=True)
class Call:
    """A checked call: the playground that answers it, and the arguments by name. Missing arguments are absent."""

    hub: Playground
    args: Mapping[str, Any]

    def text(self, name: str) -> str:
        """A string argument, empty when not given."""
        return str(self.args.get(name, ""))

    def number(self, name: str, default: int) -> int:
        """A number, or the default."""
        value = self.args.get(name, default)
        return value if isinstance(value, int) else default

    def flag(self, name: str) -> bool:
        """A flag, False when not given."""
        return bool(self.args.get(name, False))

    def channel(self, name: str = "channel") -> Channel:
        """The conversation that an argument names, when the bot may see it."""
        channel = self.hub.space.channel(self.text(name))
        if channel.kind != "channel" and self.hub.space.bot.id not in channel.members:
            raise SlackError("channel_not_found")
        return channel

    def room(self, name: str = "channel") -> Channel:
        """The conversation that an argument names, when the bot may write there."""
        channel = self.channel(name)
        if channel.archived:
            raise SlackError("is_archived")
        if self.hub.space.bot.id not in channel.members:
            raise SlackError("not_in_channel")
        return channel

    def thread_root(self, channel: Channel, name: str = "thread_ts", missing: str = "thread_not_found") -> str:
        """The head of the thread that an argument names, empty when it was not given."""
        ts = self.text(name)
        if not ts:
            return ""
        head = channel.messages.get(ts)
        if head is None or head.only_for:
            raise SlackError(missing)
        return head.root_ts

    def message(self, channel: Channel, name: str = "ts") -> Message:
        """The message that an argument names; ephemeral ones do not count."""
        message = self.hub.space.message(channel, self.text(name))
        if message.only_for:
            raise SlackError("message_not_found")
        return message


@dataclass(frozen=True)
class Method:
    """A Web API method. `scope` is what the token needs; `caller` is the kind of token it accepts."""

    handler: Callable[[Call], Json]
    args: tuple[Arg, ...] = ()
    scope: str = ""
    caller: Literal["bot", "app"] = "bot"
    known: Mapping[str, Arg] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "known", {each.name: each for each in self.args})

    def read(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments this method knows, as values; others are ignored, as Slack does.

        Raises SlackError invalid_arguments that names every argument that is missing or cannot be read.
        """
        values: dict[str, Any] = {}
        wrong = [
            f"missing required field: {each.name}"
            for each in self.args
            if each.required and given.get(each.name) in (None, "")
        ]
        for name, arg in self.known.items():
            raw = given.get(name)
            if raw is None or raw == "":
                continue
            try:
                values[name] = _READERS[arg.kind](raw)
            except ValueError as error:
                wrong.append(f"{error} [json-pointer:/{name}]")
        if wrong:
            raise invalid_arguments(*wrong)
        return values


def _read_str(raw: Any) -> str:
    if isinstance(raw, bool | dict | list):
        raise ValueError("must be a string")  # noqa: TRY004  a ValueError is what read() turns into Slack's complaint
    return str(raw)


def _read_int(raw: Any) -> int:
    try:
        return int(str(raw))
    except ValueError:
        raise ValueError("must be an integer") from None


def _read_bool(raw: Any) -> bool:
    match raw:
        case bool():
            return raw
        case 1 | "1" | "true" | "True":
            return True
        case 0 | "0" | "false" | "False":
            return False
    raise ValueError("must be a boolean")


def _read_json(raw: Any) -> Any:
    if not isinstance(raw, str):
        return raw
    try:
        return parsed_json(raw)
    except ValueError:
        raise ValueError("must be valid JSON") from None


_READERS: dict[ArgKind, Callable[[Any], Any]] = {
    "str": _read_str,
    "int": _read_int,
    "bool": _read_bool,
    "json": _read_json,
}
