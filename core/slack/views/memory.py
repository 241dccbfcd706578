"""The message that asks whether something is to be kept for the team, or forgotten; its form; and its outcome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.hidden_characters import with_hidden_shown
from core.interactions import MemoryButton, MemoryForm, PlaybookButton
from core.phrases import say
from core.slack import blocks as kit
from core.slack.blocks import Block, Limit, SlackMessage
from core.slack.text import clip, escape
from core.slack.views.approvals import FIELD_CHARS, code_parts, hidden_line
from core.slack.views.modals import View, field_id, form, text_field, window
from core.steps import PlaybookNote, Proposed, Settled
from core.team_memory import ENTRY_CHARS
from core.values import Language

SHOWN_CHARS = 2_000
SHOWN_PLAYBOOK = 5_000
SHOWN_FUNCTION, SHOWN_CODE, SHOWN_TESTS = 2_900, 2_900, 2_900
_MOST_LISTS = 3
"""Lists of packages in one message; three are as much as it holds."""
_PAGE_SHOWN, _MOST_PARTS = 2_900, 20
_MOST_CLASHES = 3
_MOST_BLOCKS = 60
NEED_CHARS = 2_000


def proposal_message(proposed: Proposed, thread_id: str, language: Language) -> SlackMessage:
    """What is proposed, what is written about it already, and the buttons that decide.

    Characters that nobody sees stand there as their numbers, and a line says so.
    """
    message = _proposal(_visible(proposed), thread_id, language)
    draft = proposed.draft
    code = (draft.code, draft.tests) if draft is not None else ()
    if not (hidden := hidden_line(language, proposed.title, proposed.about or proposed.text, *code)):
        return message
    return SlackMessage(kit.fallback(f"{hidden}\n{message.text}"), [kit.paragraph(hidden), *message.blocks])


def _visible(proposed: Proposed) -> Proposed:
    """The same with each character that nobody sees as its number."""
    fields = ("title", "file", "text", "about")
    changed: dict[str, Any] = {name: with_hidden_shown(getattr(proposed, name)) for name in fields}
    if proposed.draft is not None:
        shown = {name: with_hidden_shown(getattr(proposed.draft, name)) for name in ("code", "tests")}
        changed["draft"] = proposed.draft.model_copy(update=shown)
    return proposed.model_copy(update=changed)


def _proposal(proposed: Proposed, thread_id: str, language: Language) -> SlackMessage:
    if proposed.what == "playbook":
        return _playbook_message(proposed, thread_id, language)
    if proposed.what == "program":
        return _program_message(proposed, thread_id, language)
    if proposed.what == "packages":
        return _packages_message(proposed, thread_id, language)
    if proposed.what == "function":
        return _function_message(proposed, thread_id, language)
    question = say(f"memory_{proposed.what}_question", language, title=proposed.title, file=proposed.file)
    blocks: list[Block] = [kit.paragraph(clip(question, Limit.SECTION)), kit.quote(clip(proposed.text, SHOWN_CHARS))]
    for note in proposed.clashes[:_MOST_CLASHES]:
        head = say("memory_clash", language, title=note.title, place=note.place, kept=note.kept)
        blocks += [kit.paragraph(clip(head, Limit.SECTION)), kit.quote(clip(note.text, SHOWN_CHARS // 2))]
    blocks.append(kit.actions(*_buttons(proposed, thread_id, language)))
    if proposed.what == "entry":
        blocks.append(kit.context(escape(say("memory_entry_hint", language))))
    return SlackMessage(kit.fallback(f"{question}\n{proposed.text}"), blocks)


def settled_message(proposed: Proposed, settled: Settled, language: Language) -> SlackMessage:
    """The same once somebody has decided: no buttons."""
    line = settled_line(proposed, settled, language)
    text = with_hidden_shown(proposed.about or proposed.text)
    blocks: list[Block] = [kit.quote(clip(text, SHOWN_CHARS)), kit.context(escape(line))]
    return SlackMessage(kit.fallback(f"{line}\n{text}"), blocks)


def _playbook_message(proposed: Proposed, thread_id: str, language: Language) -> SlackMessage:
    """A playbook for review: what it is for, its stages, and the outcome of running them again."""

    def press(do: Any) -> MemoryButton:
        return MemoryButton(thread=thread_id, proposal=proposed.id, do=do)

    question = say("memory_playbook_question", language, title=proposed.title, file=proposed.file)
    edit = [kit.button(say("playbook_button_edit", language), press("edit"))] if code_parts(proposed.text) else []
    buttons = kit.actions(
        kit.button(say("playbook_button_approve", language), press("keep"), style="primary"),
        *edit,
        kit.button(say("memory_button_drop", language), press("drop")),
    )
    blocks = [kit.paragraph(clip(question, Limit.SECTION)), kit.quote(clip(proposed.about, SHOWN_PLAYBOOK)), buttons]
    blocks.append(kit.context(escape(say("playbook_hint", language))))
    return SlackMessage(kit.fallback(f"{question}\n{proposed.about}"), blocks)


def _program_message(proposed: Proposed, thread_id: str, language: Language) -> SlackMessage:
    """A requirement file: what it asks for, what is open, and the buttons."""

    def press(do: Any) -> MemoryButton:
        return MemoryButton(thread=thread_id, proposal=proposed.id, do=do, version=proposed.version)

    author = clip(proposed.author or proposed.user, 80)
    head = say("build_proposed", language, file=proposed.file, version=proposed.version, author=author)
    buttons = kit.actions(
        kit.button(say("build_button", language), press("keep"), style="primary"),
        kit.button(say("playbook_button_edit", language), press("edit")),
        kit.button(say("memory_button_drop", language), press("drop")),
    )
    blocks = [kit.paragraph(clip(head, Limit.SECTION)), kit.quote(clip(proposed.about, SHOWN_PLAYBOOK)), buttons]
    blocks.append(kit.context(escape(say("build_hint", language))))
    return SlackMessage(kit.fallback(f"{head}\n{proposed.about}"), blocks)


def _packages_message(proposed: Proposed, thread_id: str, language: Language) -> SlackMessage:
    """The packages that a program needs, each with version, size, licence and hash, and the buttons."""

    def press(do: Any) -> MemoryButton:
        return MemoryButton(thread=thread_id, proposal=proposed.id, do=do, version=proposed.version)

    question = say("packages_question", language, title=proposed.title)
    lists, is_whole = _listed(proposed.about.splitlines())
    install = kit.button(say("packages_button_install", language), press("keep"), style="primary")
    buttons = kit.actions(
        *([install] if is_whole else []),  # what is not shown cannot be approved
        kit.button(say("packages_button_without", language), press("drop")),
    )
    blocks = [kit.paragraph(clip(question, Limit.SECTION)), *map(kit.code, lists), buttons]
    blocks.append(kit.context(escape(say("packages_hint", language))))
    return SlackMessage(kit.fallback(f"{question}\n{proposed.about}"), blocks)


def _listed(rows: Sequence[str]) -> tuple[list[str], bool]:
    """Rows in as many texts as a message has room for, and whether that is all of them."""
    texts = [""]
    for row in rows:
        if len(texts[-1]) + len(row) >= SHOWN_CODE:
            texts.append("")
        texts[-1] += clip(row, SHOWN_CODE - 1) + "\n"
    is_whole = len(texts) <= _MOST_LISTS and all(len(row) < SHOWN_CODE for row in rows)
    return [text.rstrip("\n") for text in texts[:_MOST_LISTS]], is_whole


def _function_message(proposed: Proposed, thread_id: str, language: Language) -> SlackMessage:
    """A function for review: what it is for, its code, its tests and their outcome. Only one that passed can be
    accepted."""

    def press(do: Any) -> MemoryButton:
        return MemoryButton(thread=thread_id, proposal=proposed.id, do=do)

    key = "memory_function_question" if proposed.passed else "memory_function_failed"
    question = say(key, language, title=proposed.title, file=proposed.file)
    accept = [kit.button(say("function_button_accept", language), press("keep"), style="primary")]
    buttons = kit.actions(
        *(accept if proposed.passed else []),
        kit.button(say("function_button_retest", language), press("retest")),
        kit.button(say("function_button_again", language), press("again")),
        *([kit.button(say("function_button_prompts", language), press("prompts"))] if proposed.prompts else []),
        kit.button(say("function_button_restate", language), press("edit")),
        kit.button(say("function_button_quit", language), press("drop")),
    )
    blocks = [kit.paragraph(clip(question, Limit.SECTION)), kit.quote(clip(proposed.about, SHOWN_FUNCTION))]
    if proposed.draft is not None:
        blocks += [kit.code(clip(proposed.draft.code, SHOWN_CODE)), kit.code(clip(proposed.draft.tests, SHOWN_TESTS))]
    blocks += [buttons, kit.context(escape(say("function_hint", language, title=proposed.title)))]
    return SlackMessage(kit.fallback(f"{question}\n{proposed.about}"), blocks)


def followed_message(note: PlaybookNote, turn_id: str, language: Language) -> SlackMessage:
    """The line that says which playbook a turn follows, with its buttons."""
    line = say("playbook_followed", language, name=note.name, owner=note.owner, kept=note.kept)
    buttons = kit.actions(
        kit.button(say("playbook_button_open", language), PlaybookButton(turn=turn_id, do="open")),
        kit.button(say("playbook_button_leave", language), PlaybookButton(turn=turn_id, do="leave")),
    )
    return SlackMessage(kit.fallback(line), [kit.paragraph(line), buttons])


def playbook_view(note: PlaybookNote, language: Language) -> View:
    """The page of a playbook, to be read."""
    text = note.text
    parts = [kit.code(text[start : start + _PAGE_SHOWN]) for start in range(0, len(text), _PAGE_SHOWN)]
    shown = kit.in_a_window(parts, _MOST_PARTS)
    if len(shown) < len(parts):
        shown.append(kit.context(escape(say("approval_cut", language))))
    return window(note.name, shown, language)


def prompts_view(proposed: Proposed, language: Language) -> View:
    """What the model was told before it wrote a function, message by message."""
    blocks: list[Block] = []
    for part in proposed.prompts:
        text = part.text or " "
        blocks.append(kit.context(escape(f"{part.role} · {len(part.text)}")))
        blocks += [kit.code(text[start : start + _PAGE_SHOWN]) for start in range(0, len(text), _PAGE_SHOWN)]
    shown = kit.in_a_window(blocks, _MOST_BLOCKS - 1)
    if len(shown) < len(blocks):
        shown.append(kit.context("…"))
    return window(say("function_prompts_title", language), shown, language)


def settled_line(proposed: Proposed, settled: Settled, language: Language) -> str:
    """Who decided what about a proposal, as one sentence."""
    author = clip(settled.author or settled.user, 80)
    own = {"playbook": "playbook_kept", "function": "function_kept", "packages": "packages_kept"}.get(proposed.what, "")
    key = own if own and settled.outcome == "kept" else f"memory_{settled.outcome}"
    return say(
        "packages_dropped" if (proposed.what, settled.outcome) == ("packages", "dropped") else key,
        language,
        author=author,
        title=proposed.title,
        file=proposed.file,
        why=settled.why,
    )


def edit_view(proposed: Proposed, thread_id: str, language: Language, at: str | None = None) -> View:
    """The form with the title and the text that are to be kept, opened at this moment (a ts)."""
    kind = MemoryForm(thread=thread_id, proposal=proposed.id, version=proposed.version, at=at)
    fields = [
        _field(0, say("memory_field_title", language), proposed.title, 120, multiline=False),
        _field(1, say("memory_field_text", language), proposed.text, ENTRY_CHARS),
    ]
    title, save = "memory_edit_title", "memory_edit_save"
    if proposed.what in ("playbook", "program"):
        title, save = "playbook_edit_title", "playbook_edit_save"
        save = "build_edit_save" if proposed.what == "program" else save
        parts = code_parts(proposed.text) or []
        fields = [
            _field(n, say("playbook_part", language, n=n + 1, of=len(parts)), part, FIELD_CHARS)
            for n, part in enumerate(parts)
        ]
    if proposed.what == "function":
        title, save = "function_edit_title", "function_edit_save"
        fields = [_field(0, say("function_field_need", language), proposed.text, NEED_CHARS)]
    return form(kind, say(title, language), say(save, language), fields, language)


def submitted(view: Any) -> tuple[str, str] | None:
    """Title and text of a submitted form; None when it is not ours."""
    try:
        values = [view["state"]["values"][field_id(n)][field_id(n)]["value"] or "" for n in (0, 1)]
    except (KeyError, TypeError):
        return None
    if not all(isinstance(value, str) for value in values):
        return None
    title, text = (value.strip() for value in values)
    return (title, text) if len(title) <= 120 and len(text) <= ENTRY_CHARS else None


def _buttons(proposed: Proposed, thread_id: str, language: Language) -> list[dict[str, Any]]:
    def press(do: Any) -> MemoryButton:
        return MemoryButton(thread=thread_id, proposal=proposed.id, do=do)

    if proposed.what == "forget":
        return [
            kit.button(say("memory_button_forget", language), press("forget"), style="danger"),
            kit.button(say("memory_button_leave", language), press("drop")),
        ]
    if proposed.clashes:
        own = any(note.place == proposed.file for note in proposed.clashes)
        replace = "memory_button_replace" if own else "memory_button_instead"
        yes = [
            kit.button(say(replace, language), press("replace"), style="primary"),
            kit.button(say("memory_button_both", language), press("keep")),
        ]
    else:
        yes = [kit.button(say("memory_button_keep", language), press("keep"), style="primary")]
    return [
        *yes,
        kit.button(say("memory_button_edit", language), press("edit")),
        kit.button(say("memory_button_drop", language), press("drop")),
    ]


def _field(n: int, label: str, value: str, longest: int, *, multiline: bool = True) -> Block:
    return text_field(field_id(n), label, value, longest=longest, multiline=multiline, optional=False)
