"""Presses on a proposal of the team's memory, and its form. What is decided becomes a command for the worker.

A press only claims something: the Store says whether the proposal is open. Nothing is kept in memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.handling import Handling
from bot.payloads import Press, read_form, read_press
from bot.pressed import now, pressed
from core.commands.registry import BUILDING, FUNCTION, INSTALLING, MEMORY, TEACH, UNFOLLOW
from core.interactions import MemoryButton, MemoryForm, PlaybookButton
from core.phrases import say
from core.slack.text import escape
from core.slack.views import memory as drawn
from core.slack.views.approvals import code_parts
from core.slack.views.menu import texts_in
from core.slack.views.modals import field_id
from core.slack.writing.writer import SlackWriter
from core.steps import Proposed, Settled
from core.store import Store
from core.team_memory import PAGE_CHARS, MemoryDecision, proposal_of
from core.thread_cells import Held, told_from
from core.values import IncomingMessage, Language, ThreadKey


class Proposals:
    """The listeners of `MemoryButton`, `MemoryForm` and `PlaybookButton`."""

    def __init__(self, store: Store, slack: SlackWriter, handler: Handling) -> None:
        self._store = store
        self._slack = slack
        self._handler = handler

    def press(self, body: Mapping[str, Any], team: str) -> str:
        """Do what a button says. Returns the outcome, a word for the log. Raises StoreUnreachable: then no ack."""
        press = read_press(body)
        button = MemoryButton.decode(press.value) if press else None
        if press is None or button is None or not press.ts:
            return "malformed"
        thread, user, ts = ThreadKey.parse(button.thread), press.user, press.ts
        is_there = (thread.team, thread.channel) == (team, press.channel)
        found = self._found(thread, button.proposal) if is_there else None
        if found is None:
            return "unknown"
        proposed, settled = found
        if settled is not None:
            self._tell_late(thread, user, proposed, settled)
            return "late"
        if button.do == "prompts":
            return self._show_prompts(thread, press, proposed)
        if button.do == "edit":
            claim = _message(thread, user, ts, MemoryDecision(proposal=proposed.id, do="keep"), _kind(proposed))
            if not self._handler.gate.may(claim):
                return "refused"
            if proposed.what in ("playbook", "function") and not self._may_look(thread, press):
                return "refused"
            language = self._language(user)
            if proposed.what == "program" and not code_parts(proposed.text):
                self._slack.whisper(thread, user, escape(say("build_no_form", language)))
                return "form"
            takes_form = proposed.what != "playbook" or bool(code_parts(proposed.text))
            view = drawn.edit_view(proposed, thread.id, language, now()) if takes_form else None
            if view is None or not self._slack.open_form(thread, press.trigger, view):
                self._slack.whisper(thread, user, escape(say("approval_no_form", language)))
            return "form"
        decision = MemoryDecision(proposal=proposed.id, do=button.do, version=button.version)
        self._handler.take_decision(_message(thread, user, ts, decision, _kind(proposed)))
        return "taken"

    def _show_prompts(self, thread: ThreadKey, press: Press, proposed: Proposed) -> str:
        """Show what the model was told to whoever may decide and look. Returns a word for the log."""
        claim = _message(thread, press.user, press.ts, MemoryDecision(proposal=proposed.id, do="keep"), _kind(proposed))
        if not self._handler.gate.may(claim):
            return "refused"
        if not self._may_look(thread, press):
            return "refused"
        language = self._language(press.user)
        if not self._slack.open_form(thread, press.trigger, drawn.prompts_view(proposed, language)):
            self._slack.whisper(thread, press.user, escape(say("approval_no_form", language)))
        return "shown"

    def _may_look(self, thread: ThreadKey, press: Press) -> bool:
        """Whether a person may see what cells of the thread printed: the model was shown it, and pages say it."""
        held = told_from(list(self._store.thread_steps(thread.id).values()))
        return self._handler.gate.may_look(pressed(thread, press.user, press.ts), held)

    def submit(self, body: Mapping[str, Any], team: str) -> dict[str, str]:
        """Take in a form. Returns what is wrong with it, a sentence under each field; {} when the form may close.

        Raises StoreUnreachable: then no ack.
        """
        submitted = read_form(body)
        form = MemoryForm.decode(submitted.metadata) if submitted else None
        thread = ThreadKey.parse(form.thread) if form else None
        if submitted is None or form is None or thread is None or thread.team != team:
            return {}
        view, user = submitted.view, submitted.user
        found = self._found(thread, form.proposal)
        if found is None:
            return {}
        proposed, settled = found
        if settled is not None:
            self._tell_late(thread, user, proposed, settled)
            return {}
        if proposed.what in ("playbook", "program"):
            return self._submit_page(view, user, proposed, form)
        if proposed.what == "function":
            return self._submit_need(view, user, proposed, form)
        given = drawn.submitted(view)
        if given is None:
            return {}
        title, text = given
        for place, value in enumerate(given):
            if not value:
                return {field_id(place): say("menu_empty", self._language(user))}
        do = "replace" if any(note.place == proposed.file for note in proposed.clashes) else "keep"
        decision = MemoryDecision.model_validate({"proposal": proposed.id, "do": do, "title": title, "text": text})
        self._handler.take_decision(_message(thread, user, form.at or now(), decision, MEMORY))
        return {}

    def use(self, body: Mapping[str, Any], team: str) -> str:
        """Show the playbook that a turn follows, or have the turn not follow it. Returns a word for the log."""
        press = read_press(body)
        button = PlaybookButton.decode(press.value) if press else None
        if press is None or button is None or not press.ts:
            return "malformed"
        turn, user = self._store.turn(button.turn), press.user
        thread = ThreadKey.parse(turn.thread_id) if turn is not None else None
        if turn is None or thread is None or (thread.team, thread.channel) != (team, press.channel):
            return "unknown"
        notes = [step.playbook for step in self._store.steps(turn.id) if step.kind == "recalled" and step.playbook]
        if not notes:
            return "unknown"
        language = self._language(user)
        if button.do == "open":
            if not self._handler.gate.may_look(pressed(thread, user, press.ts), Held()):
                return "refused"
            if not self._slack.open_form(thread, press.trigger, drawn.playbook_view(notes[-1], language)):
                self._slack.whisper(thread, user, escape(say("approval_no_form", language)))
            return "shown"
        if turn.status not in ("running", "waiting"):
            self._slack.whisper(thread, user, escape(say("playbook_too_late", language)))
            return "late"
        message = _message(thread, user, press.ts, MemoryDecision(proposal="playbook", do="drop"), UNFOLLOW)
        self._handler.take_decision(message)
        return "taken"

    def _submit_page(self, view: Any, user: str, proposed: Proposed, form: MemoryForm) -> dict[str, str]:
        thread, version = ThreadKey.parse(form.thread), form.version
        texts = texts_in(view)
        text = "\n".join(texts or ())
        if not text.strip() or len(text) > PAGE_CHARS:
            return {field_id(0): say("menu_empty", self._language(user))}
        if proposed.version != version:  # the form stays open, with what was written in it
            author = proposed.author or proposed.user
            said = say("build_saved_meanwhile", self._language(user), author=author, version=proposed.version)
            return {field_id(0): said}
        do = "edit" if proposed.what == "program" else "keep"
        decision = MemoryDecision.model_validate({"proposal": proposed.id, "do": do, "text": text, "version": version})
        self._handler.take_decision(_message(thread, user, form.at or now(), decision, _kind(proposed)))
        return {}

    def _submit_need(self, view: Any, user: str, proposed: Proposed, form: MemoryForm) -> dict[str, str]:
        need = "\n".join(texts_in(view) or ()).strip()
        if not need or len(need) > drawn.NEED_CHARS:
            return {field_id(0): say("menu_empty", self._language(user))}
        decision = MemoryDecision(proposal=proposed.id, do="restate", text=need)
        message = _message(ThreadKey.parse(form.thread), user, form.at or now(), decision, FUNCTION)
        self._handler.take_decision(message)
        return {}

    def _found(self, thread: ThreadKey, proposal: str) -> tuple[Proposed, Settled | None] | None:
        return proposal_of(self._store.thread_steps(thread.id).values(), proposal)

    def _tell_late(self, thread: ThreadKey, user: str, proposed: Proposed, settled: Settled) -> None:
        language = self._language(user)
        text = say("memory_late", language, line=drawn.settled_line(proposed, settled, language))
        self._slack.whisper(thread, user, escape(text))

    def _language(self, user: str) -> Language:
        return self._slack.user_language(user)


def _kind(proposed: Proposed) -> str:
    """The command that a decision about this proposal is."""
    return {"playbook": TEACH, "program": BUILDING, "function": FUNCTION, "packages": INSTALLING}.get(
        proposed.what, MEMORY
    )


def _message(thread: ThreadKey, user: str, ts: str, decision: MemoryDecision, kind: str) -> IncomingMessage:
    return pressed(thread, user, ts, text=decision.encode(), kind=kind)
