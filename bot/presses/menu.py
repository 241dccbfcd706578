"""The menu “Threadbook…” of a message: analyse it, ask about it, leave it out, edit it, answer for the analyst.

What is asked becomes a question of the person who chose it (`questions.py`). Everything else becomes a command that
only a form gives. The worker decides whether it counts. Nothing is kept in memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bot.acks import Ack, all_wrong, replaced_by, wrong_in
from bot.handling import Handling
from bot.payloads import TS, read_form
from bot.pressed import Used, now, pressed
from bot.presses import reports
from bot.presses.questions import Questions
from bot.presses.version_window import VersionWindow
from bot.presses.versions import answer_of, is_left_out, text_of
from core.commands.forking import ForkPoint
from core.commands.registry import CONTEXT, FORK_HERE, SPEAK, commands
from core.commands.stepping_in import ContextChange, Speech
from core.errors import SlackUnreachable
from core.interactions import (
    AskForm,
    ContextForm,
    Menu,
    MenuForm,
    RateForm,
    SpeakForm,
    VersionButton,
)
from core.phrases import say
from core.slack.text import escape
from core.slack.views import menu as drawn
from core.slack.views.approvals import syntax_error
from core.slack.views.modals import View, field_id
from core.slack.writing.writer import SlackWriter
from core.store import Store
from core.telemetry import get_logger
from core.thread_cells import told_from
from core.values import Language, ThreadKey

log = get_logger(__name__)

_ABOUT_THREAD: Final = ("status", "plan", "cost", "explain", "help")
"""What the menu says of a thread; each is the command of that name."""


class MessageMenu:
    """The listeners of `Menu` and of its forms."""

    def __init__(self, store: Store, slack: SlackWriter, handler: Handling) -> None:
        self._store = store
        self._slack = slack
        self._handler = handler
        self._reports = reports.Reports(store, slack, handler)
        self.questions = Questions(store, slack, handler)
        self.versions = VersionWindow(store, slack, handler)

    def open(self, body: Mapping[str, Any], team: str) -> str:
        """Open the menu for the person who chose the shortcut. Returns the outcome, a word for the log."""
        try:
            message, user = body["message"], str(body["user"]["id"])
            channel, ts = str(body["channel"]["id"]), str(message.get("ts") or body.get("message_ts") or "")
            root, trigger = str(message.get("thread_ts") or ts), str(body.get("trigger_id") or "")
        except (KeyError, TypeError, AttributeError):
            return "malformed"
        if body.get("callback_id") != Menu.ID or not (TS.fullmatch(ts) and TS.fullmatch(root)):
            return "malformed"
        thread = ThreadKey(team, channel, root)
        try:
            form = MenuForm(thread=thread.id, ts=ts, at=now())
        except ValueError:
            return "malformed"
        language = self._slack.user_language(user)
        view = drawn.menu_view(form, self._choices(thread, ts), language)
        if not self._slack.open_form(thread, trigger, view):
            self._slack.whisper(thread, user, escape(say("approval_no_form", language)))
            return "not opened"
        return "opened"

    def submit(self, body: Mapping[str, Any], team: str) -> Ack:
        """Take in a form. Returns what its ack says. Raises StoreUnreachable: then no ack."""
        given = read_form(body)
        if given is None:
            return {}
        kinds = (MenuForm, AskForm, ContextForm, RateForm, SpeakForm)
        form = next((kind.decode(given.metadata) for kind in kinds if given.callback == kind.ID), None)
        if form is None or ThreadKey.parse(form.thread).team != team:
            log.info("form_ignored", form=given.callback[:40])
            return {}
        at = (None if isinstance(form, AskForm) else form.at) or now()
        language, view = self._slack.user_language(given.user), given.view
        used = Used(ThreadKey.parse(form.thread), given.user, given.view_id, language, at)
        match form:
            case MenuForm():
                return self._chosen(drawn.choice_in(view), form, used)
            case AskForm():
                texts = drawn.texts_in(view)
                question = texts[0].strip() if texts else ""
                if not question:
                    return wrong_in(field_id(0), say("menu_empty", used.language))
                return self.questions.about(used, form.ts, question, field_id(0))
            case ContextForm():
                return self._edit(view, form, used)
            case RateForm():
                return self._rate(view, form, used)
            case _:
                return self._speak(view, used)

    def _choices(self, thread: ThreadKey, ts: str) -> list[str]:
        if not self._store.turns(thread.id):
            return ["analyse", "ask", "help"]
        found = [
            "analyse",
            "ask",
            "put_back" if is_left_out(self._store, thread, ts) else "leave_out",
            "edit",
            "speak",
            "fork",
            "thread",
        ]
        found += ["rate"] if answer_of(self._store, thread, ts) else []
        return [*found, *(["versions"] if self.versions.has_several(thread, ts) else [])]

    def _chosen(self, choice: str | None, form: MenuForm, used: Used) -> Ack:
        match choice:
            case "analyse":
                return self.questions.about(used, form.ts, "", drawn.CHOICE)
            case "ask":
                return replaced_by(drawn.ask_view(AskForm(thread=form.thread, ts=form.ts), used.language))
            case "leave_out" | "put_back":
                self._command(used, CONTEXT, ContextChange(do=choice, message=form.ts).encode())
                return {}
            case "fork":
                self._command(used, FORK_HERE, ForkPoint(message=form.ts).encode())
                return {}
            case "edit":
                if not self._may_edit(form, used):
                    return {}
                edit = self._edit_view(form, used.thread, used.language)
                if edit is None:
                    return wrong_in(drawn.CHOICE, say("context_not_there", used.language))
                return replaced_by(edit)
            case "rate":
                turn = answer_of(self._store, used.thread, form.ts)
                is_example = turn is not None and used.user in self._store.examples(turn)
                rating = RateForm(thread=form.thread, ts=form.ts, at=now())
                return replaced_by(drawn.rate_view(rating, used.language, is_example=is_example))
            case "versions":
                shown = self.versions.view(used, VersionButton(thread=form.thread, ts=form.ts, n=0))
                return replaced_by(shown) if shown else {}
            case "speak":
                return replaced_by(drawn.speak_view(SpeakForm(thread=form.thread, at=now()), used.language))
            case _:
                return self._chosen_of_thread(choice, form, used)

    def _chosen_of_thread(self, choice: str | None, form: MenuForm, used: Used) -> Ack:
        if choice == "thread":
            return replaced_by(drawn.menu_view(form, _ABOUT_THREAD, used.language, "menu_thread_label"))
        if choice == "help":
            return self._help(used, form.ts)
        if choice in _ABOUT_THREAD:
            self._command(used, choice, "")
        return {}

    def _rate(self, view: Any, form: RateForm, used: Used) -> Ack:
        rating, texts = drawn.choice_in(view), drawn.texts_in(view) or [""]
        turn = answer_of(self._store, used.thread, form.ts)
        if turn is None or not self._reports.rate(turn, used.thread.team, used.user, rating or "", texts[0]):
            return wrong_in(drawn.CHOICE, say("rate_not_there", used.language))
        return {}

    def _edit(self, view: Any, form: ContextForm, used: Used) -> Ack:
        text = "\n".join(drawn.texts_in(view) or ())
        if not text.strip():
            return wrong_in(field_id(0), say("menu_empty", used.language))
        self._command(used, CONTEXT, ContextChange(do="edit", message=form.ts, text=text).encode())
        return {}

    def _may_edit(self, form: MenuForm, used: Used) -> bool:
        """Whether a person may read what the analyst reads of a message, as in the window of its versions. Others are
        told. What they write in the form is asked about again."""
        held = told_from(list(self._store.thread_steps(used.thread.id).values()))
        return self._handler.gate.may_look(pressed(used.thread, used.user, form.ts), held, by_window=True)

    def _edit_view(self, form: MenuForm, thread: ThreadKey, language: Language) -> View | None:
        text = text_of(self._store, thread, form.ts)
        if text is None:
            return None
        return drawn.edit_view(ContextForm(thread=thread.id, ts=form.ts, at=now()), text, language)

    def _speak(self, view: Any, used: Used) -> Ack:
        texts, what = drawn.texts_in(view), drawn.choice_in(view)
        text = texts[0] if texts else ""
        if not text.strip():
            return wrong_in(field_id(0), say("menu_empty", used.language))
        if what == "cell" and (wrong := syntax_error([text], used.language)):
            return all_wrong(wrong)
        speech = Speech(what="cell" if what == "cell" else "message", text=text)
        self._command(used, SPEAK, speech.encode())
        return {}

    def _command(self, used: Used, kind: str, text: str) -> None:
        self._handler.take_decision(pressed(used.thread, used.user, used.at, text=text, kind=kind))

    def _help(self, used: Used, ts: str) -> Ack:
        """Post the help, as the word for it does in the person's language."""
        if (wrong := self._unseen(used, ts)) is not None:
            return wrong
        self._command(used, "help", min(commands()["help"].words[used.language]))
        return {}

    def _unseen(self, used: Used, ts: str) -> Ack | None:
        """What to say where the bot cannot see the message, and so cannot answer it."""
        try:
            is_seen = self._slack.message(used.thread, ts) is not None
        except SlackUnreachable as error:
            log.info("not_answered", error=error)
            return wrong_in(drawn.CHOICE, say("menu_away", used.language))
        return None if is_seen else wrong_in(drawn.CHOICE, say("menu_not_here", used.language))
