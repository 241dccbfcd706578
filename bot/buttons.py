"""What each button does: the list of listeners for `block_actions`.

A new button needs its class in `core/interactions.py` and its line here; a test compares the lists. A reader turns
the payload of a press into a message for the thread, or says why it means nothing. It may read the Store and writes
nothing. A press only claims something: the Store says whether it is still open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from bot.answers import to_answer
from bot.commands import leave_from_press, stop_from_press
from bot.intake import Ignored
from core.interactions import (
    AgainButton,
    ApprovalButton,
    AskForm,
    ChannelsForm,
    ContextForm,
    DefaultsForm,
    EditForm,
    EntriesButton,
    EntryButton,
    EntryForm,
    FilesButton,
    HintForm,
    HomeButton,
    InstructionsForm,
    Interaction,
    LeaveButton,
    MemoryButton,
    MemoryForm,
    Menu,
    MenuForm,
    ModelButton,
    OptionButton,
    PageButton,
    PinButton,
    PlaybookButton,
    RateForm,
    ReasonForm,
    ReportButton,
    ScheduleButton,
    SettingsForm,
    SpeakForm,
    StepButton,
    StopButton,
    SuggestionButton,
    ThreadsButton,
    ThreadsForm,
    TourButton,
    VersionButton,
)
from core.store import Store
from core.values import IncomingMessage

Reader = Callable[[Mapping[str, Any], str, Store], IncomingMessage | Ignored]
"""From a payload, the team's id and the Store to a message."""

BUTTONS: Final[tuple[tuple[type[Interaction], Reader], ...]] = (
    (StopButton, stop_from_press),
    (OptionButton, to_answer),
    (LeaveButton, leave_from_press),
)

APPROVAL_BUTTONS: Final[tuple[type[Interaction], ...]] = (ApprovalButton,)
"""Buttons that `bot/approvals.py` listens to: a press may open a form, or draw its message again."""

FILES_BUTTONS: Final[tuple[type[Interaction], ...]] = (FilesButton,)
"""Buttons that `bot/held_files.py` listens to."""

SHORTCUTS: Final[tuple[type[Interaction], ...]] = (Menu,)
"""Shortcuts of messages; `bot/menu.py` listens to them, to the forms behind them, and to its button."""

MENU_FORMS: Final[tuple[type[Interaction], ...]] = (MenuForm, AskForm, ContextForm, RateForm, SpeakForm)

MENU_BUTTONS: Final[tuple[type[Interaction], ...]] = (AgainButton, SuggestionButton, VersionButton)

FORMS: Final[tuple[type[Interaction], ...]] = (EditForm, HintForm)
"""Forms that people submit; `bot/approvals.py` listens to them too."""

REPORT_BUTTONS: Final[tuple[type[Interaction], ...]] = (ReportButton, PageButton)
"""Buttons that `bot/reports.py` listens to: most presses show something to one person and are no message."""

STEP_BUTTONS: Final[tuple[type[Interaction], ...]] = (StepButton,)
"""Buttons that `bot/steps.py` listens to: a press shows one step of a turn to one person."""

REPORT_FORMS: Final[tuple[type[Interaction], ...]] = (ReasonForm,)
"""Forms that people submit; `bot/reports.py` listens to them too."""

MEMORY_BUTTONS: Final[tuple[type[Interaction], ...]] = (MemoryButton, PlaybookButton)
"""Buttons that `bot/memory.py` listens to: a press decides, or opens a form."""

MEMORY_FORMS: Final[tuple[type[Interaction], ...]] = (MemoryForm,)
"""Forms that people submit; `bot/memory.py` listens to them too."""

MODEL_BUTTONS: Final[tuple[type[Interaction], ...]] = (ModelButton,)
"""Buttons that `bot/models.py` listens to."""

HOME_BUTTONS: Final[tuple[type[Interaction], ...]] = (HomeButton, TourButton)
"""Buttons of the app's home; `bot/home.py` listens to them, and to its forms (`bot/home_forms.py`)."""

ENTRY_BUTTONS: Final[tuple[type[Interaction], ...]] = (EntriesButton, EntryButton)
"""Buttons of the window with the team's memory; `bot/entries.py` listens to them, and to its form."""

ENTRY_FORMS: Final[tuple[type[Interaction], ...]] = (EntryForm,)

SCHEDULE_BUTTONS: Final[tuple[type[Interaction], ...]] = (ScheduleButton,)
"""Buttons of the schedules in the app's home; `bot/schedules.py` listens to them."""

THREADS_BUTTONS: Final[tuple[type[Interaction], ...]] = (ThreadsButton, PinButton)
"""Buttons of the window “Threads”; `bot/threads.py` listens to them, and to its form."""

THREADS_FORMS: Final[tuple[type[Interaction], ...]] = (ThreadsForm,)

HOME_FORMS: Final[tuple[type[Interaction], ...]] = (DefaultsForm, ChannelsForm, InstructionsForm, SettingsForm)
