"""Placeholders in place of personal values: `<email_1>` stands for the same value in the whole thread.

What the model was shown is kept with its reply (`Replied.masked`), so every worker gives the same placeholders, and the
code of a cell can have the values back when it goes into the sandbox.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from core.steps import Masked, Replied, Step
from core.team_settings import PersonalKind
from core.thread_cells import since_reset
from workers.agent.about_steps import data_held
from workers.privacy.detecting import find

PLACEHOLDER = re.compile(r"<(?:email|phone|iban|card|id)_[1-9]\d{0,6}>")
_CUT = re.compile(r"\u2026|\.\.\.|\n\[… ")
_AFTER_CUT = re.compile(r"(?P<cut>(?:\u2026|\.\.\.) ?\]?\n?)(?P<tail>[^\s,;|\"'<>]{4,64})")
_OF_THE_PROTOCOL = ("role", "tool_calls", "tool_call_id")
"""Parts of a message that an endpoint compares: the id of a result is that of its call."""
_CUT_CHARS = 64
_MIN_CUT = 4
"""A beginning of a known value in front of a cut is masked from this many characters on."""


def masked_in(turns: Iterable[Sequence[Step]]) -> dict[str, str]:
    """The values behind the placeholders that the model was shown in these turns. If a value has several placeholders,
    the first counts."""
    return {
        masked.placeholder: masked.value
        for steps in turns
        for step in steps
        if isinstance(step, Replied)
        for masked in step.masked
    }


def values_of(turns: Sequence[Sequence[Step]]) -> dict[str, str]:
    """The values behind the placeholders of the last of these turns. If the thread was reset with data of sources or
    tools, those from before are not among them: after a reset everybody may go on."""
    now = since_reset(turns)
    held = data_held(turns[: len(turns) - len(now)], with_reports=True)
    return masked_in(now if any(held) else turns)


def restored(text: str, values: Mapping[str, str]) -> str:
    """The text with the values in place of their placeholders; one that was never shown stays as it is."""
    return PLACEHOLDER.sub(lambda match: values.get(match.group(), match.group()), text)


def hidden(text: str, kinds: Collection[PersonalKind], given: Mapping[str, str]) -> str:
    """The text for people who are to read placeholders. `given` are those that the model was shown; another value has
    no number yet and stands as <email>."""
    by_value = {value: placeholder for placeholder, value in reversed(tuple(given.items()))}
    parts, end = [], 0
    for found in find(text, kinds):
        parts += [text[end : found.start], by_value.get(text[found.start : found.end], f"<{found.kind}>")]
        end = found.end
    return "".join([*parts, text[end:]])


class Masker:
    """Masks the texts of one request. `given` are the placeholders so far; `new` collects those that it adds."""

    def __init__(
        self,
        kinds: Collection[PersonalKind],
        given: Mapping[str, str],
        known: Iterable[str] = (),
        taken: Iterable[str] = (),
    ) -> None:
        """`known` are texts of the thread that may stand in a request cut off: values in them are known whole. `taken`
        are placeholders that a new value may not get."""
        self._kinds = kinds
        self._by_value = {value: placeholder for placeholder, value in reversed(tuple(given.items()))}
        self._last: dict[str, int] = {}
        for placeholder in (*given, *taken):
            kind, _, number = placeholder.strip("<>").rpartition("_")
            self._last[kind] = max(self._last.get(kind, 0), int(number))
        self.new: list[Masked] = []
        self._whole: dict[str, PersonalKind] = {
            text[found.start : found.end]: found.kind for text in known for found in find(text, kinds)
        }
        self._starts, self._ends = sorted(self._whole), sorted(value[::-1] for value in self._whole)

    def messages(self, messages: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
        """The messages of a request, masked. Arguments of calls stay JSON."""
        return tuple(self._message(message) for message in messages)

    def _message(self, message: dict[str, Any]) -> dict[str, Any]:
        made = {key: self._value(value) if key not in _OF_THE_PROTOCOL else value for key, value in message.items()}
        if isinstance(message.get("tool_calls"), list | tuple):
            made["tool_calls"] = [self._call(call) for call in message["tool_calls"]]
        return made

    def _call(self, call: dict[str, Any]) -> dict[str, Any]:
        function = dict(call["function"])
        function["arguments"] = self._json(str(function.get("arguments", "")))
        return {**call, "function": function}

    def _json(self, text: str) -> str:
        """Arguments as JSON: a value in them may have been written with escapes."""
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return self.text(text)
        masked = self._value(value)
        return text if masked == value else json.dumps(masked, ensure_ascii=False)

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list | tuple):
            return [self._value(item) for item in value]
        if isinstance(value, dict):
            return {key: self._value(item) for key, item in value.items()}
        return value

    def text(self, text: str) -> str:
        """The text with placeholders in place of personal values."""
        parts, end = [], 0
        for found in find(text, self._kinds):
            parts += [text[end : found.start], self._placeholder(text[found.start : found.end], found.kind)]
            end = found.end
        return self._cut("".join([*parts, text[end:]]))

    def _cut(self, text: str) -> str:
        """Masks what is left of known values at the places where text was cut: their beginnings and their ends."""
        if not self._whole:
            return text
        parts, end = [], 0
        for match in _CUT.finditer(text):
            before = text[max(end, match.start() - _CUT_CHARS) : match.start()]
            start, value = self._beginning(before)
            if value:
                parts += [
                    text[end : match.start() - (len(before) - start)],
                    self._placeholder(value, self._whole[value]),
                ]
                end = match.start()
        masked = "".join([*parts, text[end:]])
        return _AFTER_CUT.sub(self._ending, masked)

    def _beginning(self, before: str) -> tuple[int, str]:
        """Where in the text before a cut a beginning of a known value starts, and the value."""
        for start in range(max(len(before) - _MIN_CUT + 1, 0)):
            if start and before[start - 1].isalnum() and before[start].isalnum():
                continue
            rest = before[start:]
            if value := _with_start(self._starts, rest):
                return start, value
        return 0, ""

    def _ending(self, match: re.Match[str]) -> str:
        tail = match["tail"]
        value = _with_start(self._ends, tail[::-1])[::-1]
        return str(match["cut"]) + (self._placeholder(value, self._whole[value]) if value else tail)

    def _placeholder(self, value: str, kind: PersonalKind) -> str:
        if value not in self._by_value:
            self._last[kind] = self._last.get(kind, 0) + 1
            self._by_value[value] = f"<{kind}_{self._last[kind]}>"
            self.new.append(Masked(placeholder=self._by_value[value], value=value))
        return self._by_value[value]


def _with_start(ordered: Sequence[str], start: str) -> str:
    """The first of these ordered texts that begins so and goes on; "" when none does."""
    place = bisect_right(ordered, start)
    return ordered[place] if place < len(ordered) and ordered[place].startswith(start) else ""
