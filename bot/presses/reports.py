"""Presses on the buttons under a report.

Method, sources and code open a modal for the person who pressed. A vote goes into the Store and is shown under the
report. "Download all", a format, "Keep as playbook", "Make this a program" and "Run again" become messages: commands,
and the question once more. Everything is read from the Store at each press, so a button works for as long as its turn
is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from bot.handling import Handling
from bot.payloads import Press, read_form, read_press
from bot.pressed import NO_TS, pressed
from core.actions import Action
from core.clean_room import CleanRoom
from core.commands.registry import PLAYBOOK, PROGRAM
from core.errors import SlackFailed, SlackUnreachable
from core.formats import is_format
from core.interactions import PageButton, ReasonForm, ReportButton
from core.phrases import say
from core.rows import OutboxRow, TurnRow, VoteRow
from core.slack.blocks import fallback
from core.slack.folding import folded
from core.slack.markdown import plain_text
from core.slack.sanitize import addresses
from core.slack.text import escape
from core.slack.views.modals import View
from core.slack.views.report_badge import with_badge
from core.slack.views.report_votes import with_votes
from core.slack.views.reports import (
    REASON_CHARS,
    Shows,
    code_view,
    method_view,
    reason_field,
    reason_view,
    shared_message,
    sources_view,
)
from core.slack.writing.writer import SlackWriter
from core.steps import Asked, CellRan, Finished, Forgot, Step
from core.store import Store
from core.telemetry import get_logger
from core.thread_cells import numbered_cells, told_from
from core.values import ThreadKey

log = get_logger(__name__)

DOWNLOAD: Final = "download"
KEEP: Final = "keep"
"""The command of `core/commands/commands.yaml` that the button for all files gives."""
_REDRAWS: Final = 3
_QUESTION: Final = 300


class Told(NamedTuple):
    """A report as it is in the Store, with the steps of its thread up to it. `later` are those that came after."""

    turn: TurnRow
    finished: Finished
    turns: tuple[Sequence[Step], ...]
    later: tuple[Sequence[Step], ...]

    @property
    def key(self) -> ThreadKey:
        """The thread that it was told in."""
        return ThreadKey.parse(self.turn.thread_id)

    @property
    def is_reset(self) -> bool:
        """Whether the thread was reset since: what its cells printed is not told any more."""
        return any(isinstance(step, Forgot) and step.done for steps in self.later for step in steps)

    @property
    def question(self) -> str:
        """What was asked, in people's own words."""
        return "\n".join(step.text for step in self.turns[-1] if isinstance(step, Asked) and step.text.strip())


class Reports:
    """The listeners of `ReportButton`, `PageButton` and `ReasonForm`. Nothing is kept in memory."""

    def __init__(self, store: Store, slack: SlackWriter, handler: Handling) -> None:
        self._store = store
        self._slack = slack
        self._handler = handler

    def press(self, body: Mapping[str, Any], team: str) -> str:
        """Do what a button says. Returns the outcome, a word for the log. Raises StoreUnreachable: then no ack."""
        press = read_press(body)
        button = ReportButton.decode(press.value) if press else None
        if press is None or button is None or not press.ts or not press.shown:
            return "malformed"
        told, user, ts = self._told(button.turn, team), press.user, press.ts
        if told is None:
            return tell_not_kept(self._slack, button.turn, team, press)
        if told.key.channel != press.channel:
            return "unknown"
        if button.do == "again":
            return self._again(told, user, press.shown)
        if button.do == DOWNLOAD or is_format(button.do):
            text = told.turn.id if is_format(button.do) else ""
            self._handler.take_decision(pressed(told.key, user, ts, kind=button.do, text=text))
            return "taken"
        if button.do in (KEEP, PROGRAM):
            kind = PLAYBOOK if button.do == KEEP else PROGRAM
            self._handler.take_decision(pressed(told.key, user, ts, kind=kind, text=told.turn.id))
            return "taken"
        if not self._handler.gate.may_look(pressed(told.key, user, ts), told_from(told.turns)):
            return "refused"
        if button.do == "share":
            return self._share(told, user)
        match button.do:
            case "method" | "sources" | "code" as shows:
                self._open(told, user, press.trigger, _view(told, shows, 0))
                return "shown"
            case "up" | "down" as vote:
                self._store.save_vote(told.turn.id, user, vote)
                self._handler.background.after_ack(self._redraw, told)
        if button.do == "down":
            mine = next((vote.reason for vote in self._store.votes(told.turn.id) if vote.user == user), "")
            self._open(told, user, press.trigger, reason_view(told.turn.id, told.turn.language, mine))
        return "voted"

    def turn_page(self, body: Mapping[str, Any], team: str) -> str:
        """Show another page of an open modal. Returns the outcome, a word for the log."""
        press = read_press(body)
        button = PageButton.decode(press.value) if press else None
        if press is None or button is None or not press.view:
            return "malformed"
        told = self._told(button.turn, team)
        if told is None:
            return "unknown"
        look, held = pressed(told.key, press.user, press.ts or NO_TS), told_from(told.turns)
        if not self._handler.gate.may_look(look, held, by_window=True):
            return "refused"
        self._slack.update_form(told.key, press.view, press.view_hash, _view(told, button.shows, button.page))
        return "turned"

    def submit(self, body: Mapping[str, Any], team: str) -> str:
        """Take in the form with a reason. Returns its outcome. Raises StoreUnreachable: then no ack."""
        submitted = read_form(body)
        form = ReasonForm.decode(submitted.metadata) if submitted else None
        reason = _reason_in(submitted.view) if submitted else None
        told = self._told(form.turn, team) if form is not None else None
        if submitted is None or told is None or reason is None or len(reason) > REASON_CHARS:
            return "malformed"
        if not self._handler.gate.may_look(pressed(told.key, submitted.user, NO_TS), told_from(told.turns)):
            return "refused"
        if not self._store.save_reason(told.turn.id, submitted.user, " ".join(reason.split())):
            return "no vote"
        self._handler.background.after_ack(self._redraw, told)
        return "taken"

    def rate(self, turn_id: str, team: str, user: str, rating: str, reason: str = "") -> bool:
        """Keep what a person thinks of a turn, chosen in a message's menu; False when nothing was kept.

        "up" and "down" are votes, "example" marks the turn as one to learn from, "no_example" takes that back. The
        person is told.
        """
        told = self._told(turn_id, team)
        if told is None or rating not in ("up", "down", "example", "no_example") or len(reason) > REASON_CHARS:
            return False
        if not self._handler.gate.may_look(pressed(told.key, user, NO_TS), told_from(told.turns)):
            return True  # they were told so
        match rating:
            case "example":
                self._store.mark_example(turn_id, user)
            case "no_example":
                self._store.unmark_example(turn_id, user)
            case "up" | "down" as vote:
                self._store.save_vote(turn_id, user, vote)
                if reason.strip():
                    self._store.save_reason(turn_id, user, " ".join(reason.split()))
                self._handler.background.after_ack(self._redraw, told)
        said = say(f"rate_{rating}", self._slack.user_language(user))
        self._handler.background.after_ack(self._slack.whisper, told.key, user, escape(said))
        return True

    def _share(self, told: Told, user: str) -> str:
        """Show the beginning of a report in the channel, once the person who presses."""
        key, language = told.key, told.turn.language
        if key.channel.startswith("D"):
            return "no channel"
        slot = f"{told.turn.id}:shared"
        if (row := self._store.outbox_get(slot)) is not None and row.status == "sent":
            self._slack.whisper(key, user, escape(say("report_shared_before", language)))
            return "known"
        self._handler.background.after_ack(self._show_in_channel, told, user, slot)
        return "taken"

    def _show_in_channel(self, told: Told, user: str, slot: str) -> None:
        message = shared_message(told.finished.report, self._slack.user_name(user), told.turn.language)
        try:
            posted = self._slack.post_once(
                None, told.key, slot, message.text, message.blocks, to_channel=True, pressed=True
            )
        except (SlackFailed, SlackUnreachable) as error:
            log.warning("report_not_shared", error=error)
            self._slack.whisper(told.key, user, escape(say("report_not_shared", told.turn.language)))
            return
        if posted.new:
            self._store.audit(user, Action.LOOK.value, told.turn.id, "done", key=slot, details={"shared": 1})

    def _told(self, turn_id: str, team: str) -> Told | None:
        turn = self._store.turn(turn_id)
        if turn is None or ThreadKey.parse(turn.thread_id).team != team:
            return None
        steps = self._store.thread_steps(turn.thread_id)
        place = list(steps).index(turn_id)
        turns = tuple(steps.values())
        finished = next((step for step in reversed(turns[place]) if isinstance(step, Finished)), None)
        return Told(turn, finished, turns[: place + 1], turns[place + 1 :]) if finished else None

    def _again(self, told: Told, user: str, shown: str) -> str:
        """Ask the question once more. Its message has the ts of the report's, so two presses are one question."""
        key, language = told.key, told.turn.language
        if self._store.known_messages(key.team, key.channel, [shown]):
            self._slack.whisper(key, user, escape(say("again_known", language)))
            return "known"
        if self._store.current_turn(key.id) is not None or self._store.unread(key.id):
            self._slack.whisper(key, user, escape(say("again_busy", language)))
            return "busy"
        asked = told.question or say("about_prompt", language)  # a message of files alone has no words to repeat
        self._handler.take_decision(pressed(key, user, shown, text=asked))
        if self._store.known_messages(key.team, key.channel, [shown]):
            self._handler.background.after_ack(self._tell_again, told, user, asked)
        return "taken"

    def _tell_again(self, told: Told, user: str, asked: str) -> None:
        author, question = self._slack.user_name(user), " ".join(asked.split())
        shown = question if len(question) <= _QUESTION else f"{question[:_QUESTION]}…"
        text = escape(say("again_asked", told.turn.language, author=author, question=shown))
        try:
            self._slack.post(None, told.key, f"{told.turn.id}:again", text)
        except (SlackFailed, SlackUnreachable) as error:
            log.warning("again_not_told", error=error)

    def _open(self, told: Told, user: str, trigger: str, view: View) -> None:
        if not self._slack.open_form(told.key, trigger, view):
            self._slack.whisper(told.key, user, escape(say("view_not_opened", told.turn.language)))

    def _redraw(self, told: Told) -> None:
        """Show the votes under the report. Drawn once more when somebody voted, or the badge was drawn, meanwhile."""
        key, language = told.key, told.turn.language
        row = self._report_message(told.turn.id)
        if row is None or not row.ts:
            return
        try:
            blocks = self._slack.message_blocks(key, row.ts)
            known = self._below(told)
            for _ in range(_REDRAWS if blocks else 0):
                votes, outcome = known
                named = [(self._slack.user_name(vote.user), vote) for vote in votes]
                drawn = with_votes(with_badge(blocks, outcome, language) if outcome else blocks, named, language)
                text, links = fallback(plain_text(told.finished.report)), addresses(told.question)
                self._slack.update(None, key, row.ts, text, drawn, known=links)
                if (now := self._below(told)) == known:
                    return
                known = now
        except (SlackFailed, SlackUnreachable) as error:
            log.warning("votes_not_drawn", error=error)

    def _below(self, told: Told) -> tuple[list[VoteRow], CleanRoom | None]:
        """What stands below a report: the votes, and the outcome of running its code again."""
        return self._store.votes(told.turn.id), self._store.clean_room(told.turn.id)

    def _report_message(self, turn_id: str) -> OutboxRow | None:
        """The last message of the report: the one with the buttons."""
        last, number = None, 0
        while (row := self._store.outbox_get(f"{turn_id}:report:{number}")) is not None:
            last, number = row, number + 1
        return last


def tell_not_kept(slack: SlackWriter, turn_id: str, team: str, press: Press) -> str:
    """Tell who pressed a button of a thread that was purged that nothing of it is kept. Returns the outcome.

    Only the place of the press is believed, not the one that its button names.
    """
    thread_id, _, _ = turn_id.rpartition("/t")
    key = ThreadKey.parse(thread_id) if thread_id.count(":") == 2 else None
    if key is None or (key.team, key.channel) != (team, press.channel):
        return "unknown"
    slack.whisper(key, press.user, escape(say("view_not_kept", slack.user_language(press.user))))
    return "not kept"


def _reason_in(view: Mapping[str, Any]) -> str | None:
    """What people wrote into the form; None when it is no form of ours."""
    try:
        reason = view["state"]["values"][reason_field()][reason_field()]["value"] or ""
    except (KeyError, TypeError):
        return None
    return reason if isinstance(reason, str) else None


def _view(told: Told, shows: Shows, page: int) -> View:
    turn_id, language, cells = told.turn.id, told.turn.language, numbered_cells(told.turns)
    if shows == "sources":
        return sources_view(turn_id, told.finished.sources, cells, language, page, lines=not told.is_reset)
    if shows == "method":
        return method_view(turn_id, folded(told.finished.report, told.finished.sections)[1], language, page)
    own = {step.cell_id for step in told.turns[-1] if isinstance(step, CellRan)}
    return code_view(turn_id, [one for cell_id, one in cells.items() if cell_id in own], language, page)
