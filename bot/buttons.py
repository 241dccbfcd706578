"""What each button, form and shortcut does: four tables, with one line for each.

A new one needs its class in `core/interactions.py` and its line here; a test compares the lists. A press only claims
something: the Store says whether it is still open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from bot.acks import Ack, all_wrong
from bot.commands import leave_from_press, stop_from_press
from bot.desks import Desk
from bot.intake import Ignored
from bot.presses.answers import to_answer
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
from core.telemetry import get_logger
from core.values import IncomingMessage

log = get_logger(__name__)

Reader = Callable[[Mapping[str, Any], str, Store], IncomingMessage | Ignored]
"""From a payload, the team's id and the Store to a message, or why it means nothing. It writes nothing."""
Use = Callable[[Mapping[str, Any], str], str]
"""Does what a payload says, given the team's id. Returns the outcome, a word for the log."""
Submit = Callable[[Mapping[str, Any], str], Ack]
"""Takes in a form, given the team's id. Returns what its ack says."""


def _closes(take: Use) -> Submit:
    """The form closes, whatever came of it."""

    def submit(body: Mapping[str, Any], team: str) -> Ack:
        log.info("form_taken", outcome=take(body, team))
        return {}

    return submit


def _shows_faults(take: Callable[[Mapping[str, Any], str], Mapping[str, str]]) -> Submit:
    """The form stays open while `take` finds something wrong: a sentence by field."""

    def submit(body: Mapping[str, Any], team: str) -> Ack:
        wrong = take(body, team)
        return all_wrong(wrong) if wrong else {}

    return submit


BUTTONS: Final[tuple[tuple[type[Interaction], Reader], ...]] = (
    (StopButton, stop_from_press),
    (OptionButton, to_answer),
    (LeaveButton, leave_from_press),
)
"""Buttons whose press is a message for the thread."""

OTHER_BUTTONS: Final[tuple[tuple[type[Interaction], Callable[[Desk], Use]], ...]] = (
    (ApprovalButton, lambda desk: desk.approvals.press),
    (FilesButton, lambda desk: desk.held_files.press),
    (AgainButton, lambda desk: desk.menu.questions.again),
    (SuggestionButton, lambda desk: desk.menu.questions.suggested),
    (VersionButton, lambda desk: desk.menu.versions.turn),
    (ReportButton, lambda desk: desk.reports.press),
    (PageButton, lambda desk: desk.reports.turn_page),
    (StepButton, lambda desk: desk.steps.press),
    (ModelButton, lambda desk: desk.models.press),
    (MemoryButton, lambda desk: desk.proposals.press),
    (PlaybookButton, lambda desk: desk.proposals.use),
    (HomeButton, lambda desk: desk.home.press),
    (TourButton, lambda desk: desk.home.tour),
    (EntriesButton, lambda desk: desk.entries.turn_page),
    (EntryButton, lambda desk: desk.entries.press),
    (ScheduleButton, lambda desk: desk.home.schedules.press),
    (ThreadsButton, lambda desk: desk.home.threads.turn),
    (PinButton, lambda desk: desk.home.threads.pin),
)
"""Buttons whose press may open a form, show something to one person, or draw its message again."""

SHORTCUTS: Final[tuple[tuple[type[Interaction], Callable[[Desk], Use]], ...]] = ((Menu, lambda desk: desk.menu.open),)
"""Shortcuts of messages."""

FORMS: Final[tuple[tuple[type[Interaction], Callable[[Desk], Submit]], ...]] = (
    (EditForm, lambda desk: _shows_faults(desk.approvals.submit)),
    (HintForm, lambda desk: _shows_faults(desk.approvals.submit)),
    (MenuForm, lambda desk: desk.menu.submit),
    (AskForm, lambda desk: desk.menu.submit),
    (ContextForm, lambda desk: desk.menu.submit),
    (RateForm, lambda desk: desk.menu.submit),
    (SpeakForm, lambda desk: desk.menu.submit),
    (ReasonForm, lambda desk: _closes(desk.reports.submit)),
    (MemoryForm, lambda desk: _shows_faults(desk.proposals.submit)),
    (DefaultsForm, lambda desk: desk.home.submit),
    (ChannelsForm, lambda desk: desk.home.submit),
    (InstructionsForm, lambda desk: desk.home.submit),
    (SettingsForm, lambda desk: desk.home.submit),
    (EntryForm, lambda desk: desk.entries.submit),
    (ThreadsForm, lambda desk: desk.home.threads.submit),
)
"""Forms that people submit."""
