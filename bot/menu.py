"""The menu “Threadbook…” of a message: analyse it, ask about it, leave it out, edit it, answer for the analyst.

The bot posts a question as its own message that says who asks, and stores it with the ts of that message. So the
question has its signs, and asking twice is asking once. Everything else becomes a command that only a form gives. The
worker decides whether it counts. Nothing is kept in memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from bot import reports
from bot.handling import Handling
from bot.payloads import TS, read_form, read_press
from bot.pressed import NO_TS, now, pressed
from bot.versions import answer_of, versions_of
from core.commands import CONTEXT, FORK_HERE, NOTE, SPEAK, argument_of, commands
from core.errors import SlackFailed, SlackUnreachable
from core.forking import ForkPoint
from core.interactions import (
    AgainButton,
    AskForm,
    ContextForm,
    Menu,
    MenuForm,
    RateForm,
    SpeakForm,
    SuggestionButton,
    VersionButton,
)
from core.message_versions import MessageVersion
from core.phrases import say
from core.slack import menu as drawn
from core.slack.approvals import View, field_id, syntax_error
from core.slack.files import file_refs
from core.slack.incoming import MAX_TEXT
from core.slack.text import escape, plain
from core.slack.version_views import version_view
from core.slack.writer import SlackWriter
from core.stepping_in import ContextChange, Speech
from core.steps import Step
from core.store import Store
from core.telemetry import get_logger
from core.thread_cells import sources_asked
from core.values import FileRef, Language, ThreadKey

log = get_logger(__name__)

_ERRORS: Final = "errors"
_ABOUT_THREAD: Final = ("status", "plan", "cost", "explain", "help")
"""What the menu says of a thread; each is the command of that name."""


Ack = dict[str, Any]
"""What the ack of a submitted form says: {} closes it."""


class _Used(NamedTuple):
    """The person who used a form, the place, and their language. `at`: when the form was opened."""

    thread: ThreadKey
    user: str
    view_id: str
    language: Language
    at: str = ""


class _Asking(NamedTuple):
    """A question about a message: our sentence, the message as it is shown, what the analyst reads, its files."""

    line: str
    shown: str
    text: str
    files: tuple[FileRef, ...] = ()


class MessageMenu:
    """The listeners of `Menu`, its forms, `AgainButton` and `SuggestionButton`."""

    def __init__(self, store: Store, slack: SlackWriter, handler: Handling) -> None:
        self._store = store
        self._slack = slack
        self._handler = handler
        self._reports = reports.Reports(store, slack, handler)

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
        used = _Used(ThreadKey.parse(form.thread), given.user, given.view_id, language, at)
        match form:
            case MenuForm():
                return self._chosen(drawn.choice_in(view), form, used)
            case AskForm():
                texts = drawn.texts_in(view)
                question = texts[0].strip() if texts else ""
                if not question:
                    return _wrong(field_id(0), say("menu_empty", used.language))
                return self._ask(used, form.ts, question, field_id(0))
            case ContextForm():
                return self._edit(view, form, used)
            case RateForm():
                return self._rate(view, form, used)
            case _:
                return self._speak(view, used)

    def again(self, body: Mapping[str, Any], team: str) -> str:
        """Ask a changed question again. Returns the outcome, a word for the log."""
        press = read_press(body)
        button = AgainButton.decode(press.value) if press else None
        thread = ThreadKey.parse(button.thread) if button else None
        if press is None or button is None or thread is None or (thread.team, thread.channel) != (team, press.channel):
            return "malformed"
        user, written = press.user, self._store.written(team, press.channel, button.ts)
        if written is None or written.user != user or written.kind != "text":
            return "not theirs"
        text, language = written.text, self._slack.user_language(user)
        if not text.strip():  # its words were edited away since
            self._slack.whisper(thread, user, escape(say("menu_no_text", language)))
            return "empty"
        key = f"again:{button.ts}:{hashlib.sha256(text.encode()).hexdigest()[:16]}"
        line = say("about_again", language, author=self._slack.user_name(user))
        try:
            return self._asked(_Used(thread, user, "", language), key, _Asking(line, text, text))
        except (SlackFailed, SlackUnreachable) as error:
            log.warning("not_asked_again", error=error)
            return "not posted"

    def suggested(self, body: Mapping[str, Any], team: str) -> str:
        """Ask a suggested question in the name of the person who pressed it, once per button. Returns the outcome of
        it."""
        press = read_press(body)
        button = SuggestionButton.decode(press.value) if press else None
        thread = ThreadKey.parse(button.thread) if button else None
        if press is None or button is None or thread is None or not press.shown:
            return "malformed"
        if (thread.team, thread.channel) != (team, press.channel):
            return "malformed"
        user, language = press.user, self._slack.user_language(press.user)
        line = say("about_ask", language, author=self._slack.user_name(user), question=button.question)
        try:
            key = f"suggest:{press.shown}:{button.n}"
            return self._asked(_Used(thread, user, "", language), key, _Asking(line, "", button.question))
        except (SlackFailed, SlackUnreachable) as error:
            log.warning("suggestion_not_asked", error=error)
            return "not posted"

    def _choices(self, thread: ThreadKey, ts: str) -> list[str]:
        if not self._store.turns(thread.id):
            return ["analyse", "ask", "help"]
        found = [
            "analyse",
            "ask",
            "put_back" if self._is_left_out(thread, ts) else "leave_out",
            "edit",
            "speak",
            "fork",
            "thread",
        ]
        found += ["rate"] if answer_of(self._store, thread, ts) else []
        return [*found, *(["versions"] if len(self._versions(thread, ts)[0]) > 1 else [])]

    def _versions(self, thread: ThreadKey, ts: str) -> tuple[list[MessageVersion], str]:
        return versions_of(self._store, thread, ts, self._slack.user_name)

    def _is_left_out(self, thread: ThreadKey, ts: str) -> bool:
        """Whether the last change of this message left it out. A press may be on its way: the worker decides."""
        changes = [
            change for step in self._steps(thread) if (change := _change_in(step, ts)) in ("leave_out", "put_back")
        ]
        return bool(changes) and changes[-1] == "leave_out"

    def _steps(self, thread: ThreadKey) -> list[Step]:
        return [step for steps in self._store.thread_steps(thread.id).values() for step in steps]

    def _chosen(self, choice: str | None, form: MenuForm, used: _Used) -> Ack:
        match choice:
            case "analyse":
                return self._ask(used, form.ts, "", drawn.CHOICE)
            case "ask":
                return _then(drawn.ask_view(AskForm(thread=form.thread, ts=form.ts), used.language))
            case "leave_out" | "put_back":
                self._command(used, CONTEXT, ContextChange(do=choice, message=form.ts).encode())
                return {}
            case "fork":
                self._command(used, FORK_HERE, ForkPoint(message=form.ts).encode())
                return {}
            case "edit":
                edit = self._edit_view(form, used.thread, used.language)
                if edit is None:
                    return _wrong(drawn.CHOICE, say("context_not_there", used.language))
                return _then(edit)
            case "rate":
                turn = answer_of(self._store, used.thread, form.ts)
                is_example = turn is not None and used.user in self._store.examples(turn)
                rating = RateForm(thread=form.thread, ts=form.ts, at=now())
                return _then(drawn.rate_view(rating, used.language, is_example=is_example))
            case "versions":
                shown = self._version(used, VersionButton(thread=form.thread, ts=form.ts, n=0))
                return _then(shown) if shown else {}
            case "speak":
                return _then(drawn.speak_view(SpeakForm(thread=form.thread, at=now()), used.language))
            case _:
                return self._chosen_of_thread(choice, form, used)

    def _chosen_of_thread(self, choice: str | None, form: MenuForm, used: _Used) -> Ack:
        if choice == "thread":
            return _then(drawn.menu_view(form, _ABOUT_THREAD, used.language, "menu_thread_label"))
        if choice == "help":
            return self._help(used, form.ts)
        if choice in _ABOUT_THREAD:
            self._command(used, choice, "")
        return {}

    def _rate(self, view: Any, form: RateForm, used: _Used) -> Ack:
        rating, texts = drawn.choice_in(view), drawn.texts_in(view) or [""]
        turn = answer_of(self._store, used.thread, form.ts)
        if turn is None or not self._reports.rate(turn, used.thread.team, used.user, rating or "", texts[0]):
            return _wrong(drawn.CHOICE, say("rate_not_there", used.language))
        return {}

    def turn_version(self, body: Mapping[str, Any], team: str) -> str:
        """Show another version in an open modal. Returns the outcome, a word for the log."""
        press = read_press(body)
        button = VersionButton.decode(press.value) if press else None
        thread = ThreadKey.parse(button.thread) if button else None
        if press is None or button is None or thread is None or thread.team != team or not press.view:
            return "malformed"
        used = _Used(thread, press.user, press.view, self._slack.user_language(press.user))
        drawn_view = self._version(used, button)
        if drawn_view is None:
            return "refused"
        self._slack.update_form(thread, press.view, press.view_hash, drawn_view)
        return "turned"

    def _version(self, used: _Used, button: VersionButton) -> View | None:
        """A version of a message; None if there is none, or if the person may not see it. The person is told."""
        versions, author = self._versions(used.thread, button.ts)
        sources = sources_asked(list(self._store.thread_steps(used.thread.id).values()))
        look = pressed(used.thread, used.user, button.ts)
        if not versions or not self._handler.gate.may_look(look, sources, by_window=True):
            return None
        return version_view(button, versions, used.language, is_author=bool(author) and author == used.user)

    def _edit(self, view: Any, form: ContextForm, used: _Used) -> Ack:
        text = "\n".join(drawn.texts_in(view) or ())
        if not text.strip():
            return _wrong(field_id(0), say("menu_empty", used.language))
        self._command(used, CONTEXT, ContextChange(do="edit", message=form.ts, text=text).encode())
        return {}

    def _edit_view(self, form: MenuForm, thread: ThreadKey, language: Language) -> View | None:
        text = self._text_of(thread, form.ts)
        if text is None:
            return None
        return drawn.edit_view(ContextForm(thread=thread.id, ts=form.ts, at=now()), text, language)

    def _text_of(self, thread: ThreadKey, ts: str) -> str | None:
        """What the analyst reads of a message now: a person's words, or the report of a turn."""
        steps = self._steps(thread)
        if (written := self._store.written(thread.team, thread.channel, ts)) is not None:
            if written.kind not in ("text", NOTE):
                return None
            target, text = f"message:{ts}", argument_of(written.kind, written.text) or written.text
        else:
            slot = self._store.outbox_slot(thread.id, ts) or ""
            number, _, name = slot.removeprefix(f"{thread.id}/t").partition(":report:")
            if not name or not number.isdigit():
                return None
            report = self._store.report(f"{thread.id}/t{number}")
            if report is None:
                return None
            ended = [step.report for step in self._store.steps(f"{thread.id}/t{number}") if step.kind == "finished"]
            target, text = f"report:{number}", ended[-1] if ended else ""
        edits = [step.text for step in steps if step.kind == "changed" and (step.do, step.target) == ("edit", target)]
        return edits[-1] if edits else text

    def _speak(self, view: Any, used: _Used) -> Ack:
        texts, what = drawn.texts_in(view), drawn.choice_in(view)
        text = texts[0] if texts else ""
        if not text.strip():
            return _wrong(field_id(0), say("menu_empty", used.language))
        if what == "cell" and (wrong := syntax_error([text], used.language)):
            return {"response_action": _ERRORS, _ERRORS: wrong}
        speech = Speech(what="cell" if what == "cell" else "message", text=text)
        self._command(used, SPEAK, speech.encode())
        return {}

    def _command(self, used: _Used, kind: str, text: str) -> None:
        self._handler.take_decision(pressed(used.thread, used.user, used.at, text=text, kind=kind))

    def _help(self, used: _Used, ts: str) -> Ack:
        """Post the help, as the word for it does in the person's language."""
        if (wrong := self._unseen(used, ts)) is not None:
            return wrong
        self._command(used, "help", min(commands()["help"].words[used.language]))
        return {}

    def _unseen(self, used: _Used, ts: str) -> Ack | None:
        """What to say where the bot cannot see the message, and so cannot answer it."""
        try:
            is_seen = self._slack.message(used.thread, ts) is not None
        except SlackUnreachable as error:
            log.info("not_answered", error=error)
            return _wrong(drawn.CHOICE, say("menu_away", used.language))
        return None if is_seen else _wrong(drawn.CHOICE, say("menu_not_here", used.language))

    def _ask(self, used: _Used, ts: str, question: str, field: str) -> Ack:
        """Ask about a message, in the name of the person who chose that. `field` shows what goes wrong."""
        thread, language = used.thread, used.language
        try:
            found = self._slack.message(thread, ts)
            if found is None:
                return _wrong(field, say("menu_not_here", language))
            asking = self._asking(found, used, question, comes_along=self._comes_along(thread, ts))
            if asking is None:
                return _wrong(field, say("menu_no_text", language))
            self._asked(used, f"about:{used.view_id or ts}", asking)
        except SlackFailed as error:
            log.info("not_asked", error=error)
            return _wrong(field, say("menu_not_here", language))
        except SlackUnreachable as error:
            log.info("not_asked", error=error)
            return _wrong(field, say("menu_away", language))
        return {}

    def _comes_along(self, thread: ThreadKey, ts: str) -> bool:
        """Whether the message is read anyhow: a talk that the bot is called into brings its first message."""
        return ts == thread.root_ts and not self._store.knows_thread(thread)

    def _asking(self, found: Mapping[str, Any], used: _Used, question: str, *, comes_along: bool) -> _Asking | None:
        """What is asked about a message of Slack; None when there is nothing in it."""
        files = file_refs(found.get("files"))
        text = plain(str(found.get("text") or "")[:MAX_TEXT], "", self._slack.user_name)
        if not text and not files:
            return None
        writer, language = str(found.get("user") or ""), used.language
        name, author = self._slack.user_name(writer) if writer else "…", self._slack.user_name(used.user)
        quoted = "\n".join(f"> {line}" for line in text.splitlines())
        if comes_along:
            quoted, files = "", ()
        if question:
            line = say("about_ask", language, author=author, question=question)
            asks = "\n".join([question, "", say("about_prompt_ask", language), quoted]) if quoted else question
        else:
            phrase = "about_analyse_own" if writer in ("", used.user) else "about_analyse"
            line = say(phrase, language, author=author, writer=name)
            asks = "\n".join([say("about_prompt", language), quoted]).rstrip()
        return _Asking(line, text, asks[:MAX_TEXT], files)

    def _asked(self, used: _Used, key: str, asking: _Asking) -> str:
        """Post who asks what, once per key, and take it in. Raises SlackFailed, SlackUnreachable."""
        thread = used.thread
        if not self._handler.gate.may(pressed(thread, used.user, NO_TS, text=asking.text)):
            return "refused"
        self._store.note_thread(thread)
        blocks = drawn.quoted_blocks(asking.line, asking.shown)
        key = f"{thread.id}/{key}"
        ts = self._slack.post_once(None, thread, key, escape(asking.line), blocks, pressed=True).ts
        if not ts:
            return "being asked"
        message = pressed(thread, used.user, ts, text=asking.text)
        self._handler.take_decision(message.model_copy(update={"files": asking.files}))
        return "asked"


def _change_in(step: Step, ts: str) -> str:
    """What a step changed about the message with this ts; "" for every other step.

    A step names a cell or a report where the message is ours, so what was asked for is looked at, not what it meant.
    """
    if step.kind != "commanded" or step.command != CONTEXT:
        return ""
    change = ContextChange.decode(step.text)
    return change.do if change is not None and change.message == ts else ""


def _wrong(field: str, text: str) -> Ack:
    return {"response_action": _ERRORS, _ERRORS: {field: text}}


def _then(view: View) -> Ack:
    return {"response_action": "update", "view": view}
