"""What a person decided about something that waits for a yes, on its way from the bot to the worker.

The bot makes a message of a press or of a submitted form. Its `kind` is DECISION and its text is a `Decision`. The
message claims something; the worker takes it only while the question with this `call` is open.
"""

from __future__ import annotations

from typing import Final, Literal

from pydantic import ValidationError

from core.values import Value

DECISION: Final = "decision"
"""The kind of such a message."""

PRESSES: Final = frozenset({"answer", DECISION})
"""The kinds of messages that only answer a question: without one they mean nothing."""

Do = Literal["run", "edited", "skip", "reject", "redo", "expired"]
"""run: as it is · edited: with `code` in its place · skip: go on without it · reject: end the turn · redo: in another
way, as `hint` says · expired: nobody decided in time, which only the worker service says, without a user."""


class Decision(Value):
    """`call` names the question that is answered (`Questioned.call_id`), `draft` the version of its text that the
    person saw (`Draft.number`)."""

    call: str
    do: Do
    code: str = ""
    hint: str = ""
    draft: int = 0

    def encode(self) -> str:
        """The text of the message that carries it."""
        return self.model_dump_json(exclude_defaults=True)

    @classmethod
    def decode(cls, text: str) -> Decision | None:
        """The decision in a message's text, None when there is none. Never raises."""
        try:
            return cls.model_validate_json(text)
        except ValidationError:
            return None
