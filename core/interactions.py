"""Every button, select, modal and shortcut of the product: its id, what it carries, and our reactions.

A worker builds an interaction and puts it into a message; the bot decodes the same class when somebody uses it. Slack
carries the two halves in these fields:

    kind            id             payload
    button, select  action_id      value
    modal           callback_id    private_metadata
    shortcut        callback_id    (none)

To add one: write its class here, add it to `INTERACTIONS`, and add its handler to `bot/buttons.py`. Ids and fields stay
as they are once released: messages with them stand in Slack for years.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

TurnId = Annotated[str, Field(pattern=r"^[\x21-\x7e]{1,300}$")]
CallId = Annotated[str, Field(pattern=r"^[\x21-\x7e]{1,100}$")]
Ts = Annotated[str, Field(pattern=r"^[0-9]{1,20}[.][0-9]{1,10}$")]
ThreadId = Annotated[str, Field(pattern=r"^[A-Z0-9]{1,50}:[A-Z0-9]{1,50}:[0-9.]{1,40}$")]


class Interaction(BaseModel):
    """One kind of interaction. Its fields are the payload, as JSON with the names of the fields.

    What comes back from Slack is not trusted: `decode` checks its shape, and the Store says whether it still holds.
    """

    model_config = ConfigDict(frozen=True, strict=True, hide_input_in_errors=True)

    ID: ClassVar[str]

    @property
    def id(self) -> str:
        """The id that Slack gets. Several of one kind in a block need ids of their own: see `OptionButton`."""
        return self.ID

    @classmethod
    def pattern(cls) -> re.Pattern[str]:
        """What the ids of this kind match, for the listener."""
        return re.compile(rf"\A{re.escape(cls.ID)}\Z")

    def encode(self) -> str:
        """The payload that Slack keeps and gives back."""
        return json.dumps(self.model_dump(), separators=(",", ":"))

    @classmethod
    def decode(cls, payload: object) -> Self | None:
        """The interaction of a payload that came from Slack; None when it is not one of this kind. Never raises."""
        if not isinstance(payload, str):
            return None
        try:
            return cls.model_validate_json(payload)
        except ValidationError:
            return None


class StopButton(Interaction):
    """The Stop button on the card of a running turn. Its payload is the turn's id alone."""

    ID = "stop"

    turn: TurnId

    def encode(self) -> str:
        """The turn's id."""
        return self.turn

    @classmethod
    def decode(cls, payload: object) -> Self | None:
        """The button of a turn's id. Never raises."""
        try:
            return cls.model_validate({"turn": payload})
        except ValidationError:
            return None


class OptionButton(Interaction):
    """One option of a question: the turn, the model's call that asked, and the place of the option, from 0."""

    ID = "answer"

    turn: TurnId
    call: str
    n: Annotated[int, Field(ge=0, le=999_999)]

    @property
    def id(self) -> str:
        """One id for each option: Slack wants them distinct within a block."""
        return f"{self.ID}:{self.n}"

    @classmethod
    def pattern(cls) -> re.Pattern[str]:
        """The ids of all options."""
        return re.compile(rf"\A{re.escape(cls.ID)}:[0-9]{{1,6}}\Z")


class LeaveButton(Interaction):
    """The button that makes the bot leave a thread. Its payload is the thread's id."""

    ID = "leave"

    thread: ThreadId


class ApprovalButton(Interaction):
    """A button of a message that asks whether something may run: the turn, the question's id, and what to do.

    `show` opens the whole code, `edit` and `redo` open a form, the others decide.
    """

    ID = "approve"

    turn: TurnId
    call: CallId
    do: Literal["run", "edit", "redo", "skip", "reject", "show"]

    @property
    def id(self) -> str:
        """One id for each thing to do."""
        return f"{self.ID}:{self.do}"

    @classmethod
    def pattern(cls) -> re.Pattern[str]:
        """The ids of all of them."""
        return re.compile(rf"\A{re.escape(cls.ID)}:[a-z]{{1,20}}\Z")


class EditForm(Interaction):
    """The form with the code that waits for a yes, to be changed."""

    ID = "approval_edit"

    turn: TurnId
    call: CallId


class HintForm(Interaction):
    """The form that asks in which other way the code is to be written."""

    ID = "approval_hint"

    turn: TurnId
    call: CallId


class Menu(Interaction):
    """The shortcut “Threadbook…” of every message; `manifest.yaml` names its id too."""

    ID = "threadbook_menu"


class MenuForm(Interaction):
    """The menu of a message: what to do with the message `ts` of this thread."""

    ID = "menu"

    thread: ThreadId
    ts: Ts


class AskForm(Interaction):
    """The form for a question about a message."""

    ID = "menu_ask"

    thread: ThreadId
    ts: Ts


class ContextForm(Interaction):
    """The form with what the analyst reads of a message, to be changed."""

    ID = "menu_edit"

    thread: ThreadId
    ts: Ts


class SpeakForm(Interaction):
    """The form for the analyst's next message or cell, written by a person."""

    ID = "menu_speak"

    thread: ThreadId


class AgainButton(Interaction):
    """The button that asks a changed question again: the thread, and the ts of the question."""

    ID = "again"

    thread: ThreadId
    ts: Ts


class ReportButton(Interaction):
    """A button under a report, of the turn that it ends.

    `sources` and `code` open something to read, `download` asks for all files, `up` and `down` say what somebody thinks
    of the report, `again` asks its question once more.
    """

    ID = "report"

    turn: TurnId
    do: Literal["sources", "code", "download", "up", "down", "again"]

    @property
    def id(self) -> str:
        """One id for each thing to do."""
        return f"{self.ID}:{self.do}"

    @classmethod
    def pattern(cls) -> re.Pattern[str]:
        """The ids of all of them."""
        return re.compile(rf"\A{re.escape(cls.ID)}:[a-z]{{1,20}}\Z")


class PageButton(Interaction):
    """A button inside what a button of a report opened: shows another page of it. Pages count from 0."""

    ID = "page"

    turn: TurnId
    shows: Literal["sources", "code"]
    page: Annotated[int, Field(ge=0, le=999)]

    @property
    def id(self) -> str:
        """One id for each page."""
        return f"{self.ID}:{self.page}"

    @classmethod
    def pattern(cls) -> re.Pattern[str]:
        """The ids of all pages."""
        return re.compile(rf"\A{re.escape(cls.ID)}:[0-9]{{1,3}}\Z")


class ReasonForm(Interaction):
    """The form that asks why somebody thinks well or ill of a report."""

    ID = "vote_reason"

    turn: TurnId


FORM_FIELD: Final = "field"
"""The ids of a form's fields, and of the blocks around them, begin so; then comes the field's place, from 0."""


INTERACTIONS: Final[tuple[type[Interaction], ...]] = (
    StopButton,
    OptionButton,
    LeaveButton,
    ApprovalButton,
    EditForm,
    HintForm,
    Menu,
    MenuForm,
    AskForm,
    ContextForm,
    SpeakForm,
    AgainButton,
    ReportButton,
    PageButton,
    ReasonForm,
)


class Reaction:
    """The emoji that we put on messages, and those of people that mean something to us."""

    RECEIVED: Final = "eyes"
    STOPPED: Final = "octagonal_sign"
    """Also on the message that asked for the stop."""
    DONE: Final = "white_check_mark"
    PARTIAL: Final = "speech_balloon"
    """On a question that got a reply, but no full answer."""
    FAILED: Final = "warning"
    LEFT_OUT: Final = "no_entry_sign"
    """On a message that the analyst does not read."""
    EDITED: Final = "pencil2"
    """On a message that the analyst reads in another form."""
    NOTED: Final = "memo"
    """On a note that is kept for the next question."""
    MEANS_STOP: Final = frozenset({"x", STOPPED, "negative_squared_cross_mark"})
    """A person's reaction with one of these stops the turn."""
