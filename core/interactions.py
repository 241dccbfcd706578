"""Every button, select, modal and shortcut of the product: its id, what it carries, and our reactions.

A worker builds an interaction and puts it into a message; the bot decodes the same class when somebody uses it. Slack
carries the two halves in these fields:

    kind            id             payload
    button, select  action_id      value
    modal           callback_id    private_metadata
    shortcut        callback_id    (none)

To add one: write its class here, add it to `INTERACTIONS`, and add its handler to `bot/buttons.py`. Ids and fields stay
as they are once released: messages with them are in Slack for years.

A form whose submission becomes a message carries the moment at which it was opened (`at`): that is the message's ts, so
a form that Slack sends twice is one message.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.formats import Format

TurnId = Annotated[str, Field(pattern=r"^[\x21-\x7e]{1,300}$")]
CallId = Annotated[str, Field(pattern=r"^[\x21-\x7e]{1,100}$")]
DraftNumber = Annotated[int, Field(ge=0, le=999_999)]
Ts = Annotated[str, Field(pattern=r"^[0-9]{1,20}[.][0-9]{1,10}$")]
Space = Annotated[str, Field(pattern=r"^(everyone|(projects|channels)/[A-Za-z0-9_-]{1,80})$")]
MemoryFile = Annotated[str, Field(min_length=1, max_length=300)]
EntryKey = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
ThreadId = Annotated[str, Field(pattern=r"^[A-Z0-9]{1,50}:[A-Z0-9]{1,50}:[0-9.]{1,40}$")]


class Interaction(BaseModel):
    """One kind of interaction. Its fields are the payload, as JSON with the names of the fields.

    What comes back from Slack is not trusted: `decode` checks its shape, and the Store says whether it still holds.
    """

    model_config = ConfigDict(frozen=True, strict=True, hide_input_in_errors=True)

    ID: ClassVar[str]
    PART: ClassVar[str] = ""
    """The field that follows the ID where several of one kind stand in a block: Slack wants their ids distinct."""
    PARTS: ClassVar[str] = "[a-z]{1,20}"
    """What this field may read as there, a regular expression."""

    @property
    def id(self) -> str:
        """The id that Slack gets."""
        return f"{self.ID}:{getattr(self, self.PART)}" if self.PART else self.ID

    @classmethod
    def pattern(cls) -> re.Pattern[str]:
        """What the ids of this kind match, for the listener."""
        part = f":(?:{cls.PARTS})" if cls.PART else ""
        return re.compile(rf"\A{re.escape(cls.ID)}{part}\Z")

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
    PART = "n"
    PARTS = r"[0-9]{1,6}"

    turn: TurnId
    call: str
    n: Annotated[int, Field(ge=0, le=999_999)]


class LeaveButton(Interaction):
    """The button that makes the bot leave a thread. Its payload is the thread's id."""

    ID = "leave"

    thread: ThreadId


class ApprovalButton(Interaction):
    """A button of a message that asks whether something may run: the turn, the question's id, and what to do.

    `show` opens the whole code, `edit` and `redo` open a form, the others decide. `draft` is the version of the text
    that stands above the button: a yes counts for that text alone.
    """

    ID = "approve"
    PART = "do"

    turn: TurnId
    call: CallId
    do: Literal["run", "edit", "redo", "skip", "reject", "show"]
    draft: DraftNumber = 0


class FilesButton(Interaction):
    """A button of the message that lists files which wait for a yes: the thread, the question's id, and what to do."""

    ID = "files"
    PART = "do"

    thread: ThreadId
    held: CallId
    do: Literal["send", "keep"]


class EditForm(Interaction):
    """The form with the code that waits for a yes, to be changed. `draft` is the version of the text in it."""

    ID = "approval_edit"

    turn: TurnId
    call: CallId
    draft: DraftNumber = 0


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
    at: Ts | None = None


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
    at: Ts | None = None


class RateForm(Interaction):
    """The form that asks what somebody thinks of the answer that the message `ts` belongs to."""

    ID = "menu_rate"

    thread: ThreadId
    ts: Ts
    at: Ts | None = None


class VersionButton(Interaction):
    """An arrow: shows another version of the message `ts`. Versions count from 0, the oldest first."""

    ID = "version"
    PART = "n"
    PARTS = r"[0-9]{1,4}"

    thread: ThreadId
    ts: Ts
    n: Annotated[int, Field(ge=0, le=9_999)]


class SpeakForm(Interaction):
    """The form for the analyst's next message or cell, written by a person."""

    ID = "menu_speak"

    thread: ThreadId
    at: Ts | None = None


class AgainButton(Interaction):
    """The button that asks a changed question again: the thread, and the ts of the question."""

    ID = "again"

    thread: ThreadId
    ts: Ts


class SuggestionButton(Interaction):
    """A button with a question that fits the data of a thread; `n` counts those of one message from 0."""

    ID = "suggest"
    PART = "n"
    PARTS = r"[0-9]"

    thread: ThreadId
    n: Annotated[int, Field(ge=0, le=9)]
    question: Annotated[str, Field(min_length=1, max_length=500)]


class ReportButton(Interaction):
    """A button under a report, of the turn that it ends.

    `method`, `sources` and `code` open something to read, `download` asks for all files, `up` and `down` say what
    somebody thinks of the report, `again` asks its question once more, `keep` makes a playbook of it, `program` a
    program of its code, `share` shows its beginning in the channel. The others ask for it in a format
    (`core/formats.py`); they and `download` are the options of one menu.
    """

    ID = "report"
    PART = "do"
    MENU: ClassVar[str] = "report:menu"

    turn: TurnId
    do: Literal["method", "sources", "code", "download", "up", "down", "again", "keep", "program", "share"] | Format


class PageButton(Interaction):
    """A button inside what a button of a report opened: shows another page of it. Pages count from 0."""

    ID = "page"
    PART = "page"
    PARTS = r"[0-9]{1,3}"

    turn: TurnId
    shows: Literal["method", "sources", "code"]
    page: Annotated[int, Field(ge=0, le=999)]


class StepButton(Interaction):
    """Opens one step of a turn, with its code and its output, or shows another page of it.

    The card has such a button. In what it opens, the options of a select name the steps, and buttons turn the pages.
    `cell` is the number of the step's cell in the thread's notebook; 0: the newest of the turn. Pages count from 0.
    """

    ID = "step"
    PART = "page"
    PARTS = r"select|[0-9]{1,3}"
    SELECT: ClassVar[str] = "step:select"

    turn: TurnId
    cell: Annotated[int, Field(ge=0, le=99_999)] = 0
    page: Annotated[int, Field(ge=0, le=999)] = 0


class ReasonForm(Interaction):
    """The form that asks why somebody thinks well or ill of a report."""

    ID = "vote_reason"

    turn: TurnId


class ModelButton(Interaction):
    """A button of the message that says that the model was unavailable: wait for it, go on with another one, leave it
    so.

    `n` counts the buttons of the message from 0; `model` is a name under `[models]`.
    """

    ID = "model"
    PART = "n"
    PARTS = r"[0-9]{1,2}"

    turn: TurnId
    do: Literal["wait", "use", "stop"]
    n: Annotated[int, Field(ge=0, le=99)]
    model: Annotated[str, Field(max_length=60)] = ""


class HomeButton(Interaction):
    """A button in the app's home: draws it again, or opens a form."""

    ID = "home"
    PART = "do"

    do: Literal["refresh", "defaults", "channels", "settings", "memory", "threads"]


class MemoryButton(Interaction):
    """A button of a proposal to keep or forget something: the thread, the proposal's id, and what to do.

    `edit` opens a form, `prompts` shows what the model was told, the others decide.
    """

    ID = "memory"
    PART = "do"

    thread: ThreadId
    proposal: CallId
    do: Literal["keep", "replace", "edit", "forget", "drop", "retest", "again", "prompts"]
    version: Annotated[int, Field(ge=0, le=9_999)] = 0


class PlaybookButton(Interaction):
    """A button of the line that says which playbook a turn follows: read it, or have the turn not follow it."""

    ID = "playbook"
    PART = "do"

    turn: TurnId
    do: Literal["open", "leave"]


class MemoryForm(Interaction):
    """The form with what is to be kept, to be changed. `version` is the one that it was opened on."""

    ID = "memory_edit"

    thread: ThreadId
    proposal: CallId
    version: Annotated[int, Field(ge=0, le=9_999)] = 0
    at: Ts | None = None


class EntriesButton(Interaction):
    """Shows entries of a place of the team's memory, in the window that the app's home opens.

    The options of a select name the places, buttons turn the pages. `space` is a folder of the memory (`everyone`,
    `projects/NAME`, `channels/ID`); pages count from 0.
    """

    ID = "entries"
    PART = "page"
    PARTS = r"select|[0-9]{1,3}"
    SELECT: ClassVar[str] = "entries:select"

    space: Space
    page: Annotated[int, Field(ge=0, le=999)] = 0


class EntryButton(Interaction):
    """A button of an entry of the team's memory: opens its form, or forgets it.

    `key` names the entry with the text that was shown, so that another one is not taken for it.
    """

    ID = "entry"
    PART = "do"

    do: Literal["edit", "forget"]
    file: MemoryFile
    key: EntryKey
    page: Annotated[int, Field(ge=0, le=999)] = 0


class EntryForm(Interaction):
    """The form with title and text of an entry of the team's memory."""

    ID = "entry_edit"

    file: MemoryFile
    key: EntryKey
    page: Annotated[int, Field(ge=0, le=999)] = 0


class TourButton(Interaction):
    """A button that asks a question about the sample data; questions count from 0."""

    ID = "tour"
    PART = "n"
    PARTS = r"[0-9]"

    n: Annotated[int, Field(ge=0, le=9)]


class ScheduleButton(Interaction):
    """A button in the app's home: pauses, resumes or stops a schedule of a thread."""

    ID = "schedule"
    PART = "do"

    do: Literal["pause", "resume", "stop"]
    thread: ThreadId
    schedule: Annotated[str, Field(min_length=1, max_length=300)]


class ThreadFilter(BaseModel):
    """The filter of the window “Threads”. Default values are left out of the payload, because options must be short."""

    model_config = ConfigDict(frozen=True, strict=True, hide_input_in_errors=True)

    mine: bool = False
    channel: Annotated[str, Field(pattern=r"^[A-Z0-9]{0,50}$")] = ""
    since: Literal["", "day", "week", "month", "quarter", "year"] = ""
    state: Literal["", "waiting", "running", "done"] = ""
    pinned: bool = False

    def encode(self) -> str:
        """The payload, without what is as it always is."""
        return json.dumps(self.model_dump(exclude_defaults=True), separators=(",", ":"))


class ThreadsButton(ThreadFilter, Interaction):
    """Lists threads by another filter, or another page of them, in the window “Threads”. Pages count from 0.

    The options of selects change one field of the filter, buttons turn the pages. The words that are looked for stand
    in the window's field.
    """

    ID = "threads"

    page: Annotated[int, Field(ge=0, le=99)] = 0

    @property
    def id(self) -> str:
        """One id for each page."""
        return f"{self.ID}:{self.page}"

    @classmethod
    def select_id(cls, name: str) -> str:
        """The id of the select that changes this field."""
        return f"{cls.ID}:{name}"

    @classmethod
    def pattern(cls) -> re.Pattern[str]:
        """The ids of all pages, and of the selects."""
        return re.compile(rf"\A{re.escape(cls.ID)}:[a-z0-9]{{1,20}}\Z")


class PinButton(ThreadFilter, Interaction):
    """Pins a thread for the person who presses, or takes that pin away. The filter and the page are those of the
    window."""

    ID = "pin"
    PART = "row"
    PARTS = r"[0-9]{1,2}"

    do: Literal["pin", "unpin"]
    thread: Annotated[str, Field(pattern=r"^[A-Z0-9-]{1,50}:[A-Z0-9-]{1,50}:[a-z0-9.-]{1,80}$")]
    page: Annotated[int, Field(ge=0, le=99)] = 0
    row: Annotated[int, Field(ge=0, le=99)] = 0


class ThreadsForm(ThreadFilter, Interaction):
    """The window “Threads”: its button looks for the words in its field, by the filter that it shows."""

    ID = "threads_find"


class DefaultsForm(Interaction):
    """The form with what a person wants of every answer."""

    ID = "home_defaults"


class ChannelsForm(Interaction):
    """The form that asks for which channel instructions are to be written."""

    ID = "home_channels"


class InstructionsForm(Interaction):
    """The form with the instructions of a channel."""

    ID = "home_instructions"

    channel: Annotated[str, Field(pattern=r"^[A-Z0-9]{1,50}$")]


class SettingsForm(Interaction):
    """The form with the policies and budgets of the workspace."""

    ID = "home_settings"


FORM_FIELD: Final = "field"
"""The ids of a form's fields, and of the blocks around them, begin so; then comes the field's place, from 0."""


INTERACTIONS: Final[tuple[type[Interaction], ...]] = (
    StopButton,
    OptionButton,
    LeaveButton,
    ApprovalButton,
    FilesButton,
    EditForm,
    HintForm,
    Menu,
    MenuForm,
    AskForm,
    ContextForm,
    RateForm,
    SpeakForm,
    AgainButton,
    SuggestionButton,
    VersionButton,
    ReportButton,
    PageButton,
    StepButton,
    ReasonForm,
    ModelButton,
    MemoryButton,
    PlaybookButton,
    MemoryForm,
    HomeButton,
    TourButton,
    DefaultsForm,
    ChannelsForm,
    InstructionsForm,
    SettingsForm,
    EntriesButton,
    EntryButton,
    EntryForm,
    ScheduleButton,
    ThreadsButton,
    PinButton,
    ThreadsForm,
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
