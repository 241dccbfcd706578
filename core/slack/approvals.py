"""The message that asks whether something may run, in each of its states, and the forms behind its buttons.

Bot and workers draw it from the same steps, so a press that comes late finds the message redrawn.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Sequence
from typing import Any

from core.interactions import FORM_FIELD, ApprovalButton, EditForm, HintForm, Interaction
from core.phrases import say
from core.slack import blocks as kit
from core.slack.blocks import Block, Limit, SlackMessage
from core.slack.text import clip, escape
from core.steps import Approval, Commanded, Decided, Questioned
from core.values import Language

View = dict[str, Any]
"""A modal, as Slack's JSON has it."""

SHOWN_LINES, SHOWN_CHARS = 12, 1_500
"""The first lines of code that stand in the message; a statement is shown whole."""
PART_CHARS, FIELD_CHARS = 2_000, 3_000
"""A field of a form takes `FIELD_CHARS`; each begins with fewer, so that there is room to write."""
MOST_PARTS = 40
_TITLE = 24
"""Characters of a modal's title and buttons."""
_MOST_RISKS = 6


def approval_message(question: Questioned, turn_id: str, language: Language) -> SlackMessage:
    """The open question: title, first lines of the code, what it reads and writes, the buttons."""
    approval = _of(question)
    shown, more = _shown(approval.code, whole=approval.what == "statement")
    blocks: list[Block] = [kit.paragraph(clip(question.question, Limit.SECTION)), kit.code(shown)]
    if more:
        blocks.append(kit.context(escape(say("approval_more", language, lines=more))))
    if about := about_lines(approval, language):
        blocks.append(kit.paragraph("\n".join(about)))
    blocks.append(kit.actions(*_buttons(question, approval, turn_id, language, is_cut=bool(more))))
    hint = "approval_hint" if approval.what != "statement" else "approval_hint_statement"
    blocks.append(kit.context(escape(say(hint, language))))
    options = "\n".join(f"{n}. {option}" for n, option in enumerate(question.options, start=1))
    return SlackMessage(kit.fallback(f"{question.question}\n{shown}\n{options}"), blocks)


def decided_message(question: Questioned, end: Decided | Commanded | None, language: Language) -> SlackMessage:
    """The question once it is decided, or once the turn was stopped there: no buttons, who decided what."""
    approval = _of(question)
    is_edited = isinstance(end, Decided) and end.outcome == "edited"
    shown, more = _shown(end.code if is_edited and isinstance(end, Decided) else approval.code, whole=False)
    line = decided_line(end, language)
    blocks: list[Block] = [kit.paragraph(clip(question.question, Limit.SECTION)), kit.code(shown)]
    if more:
        blocks.append(kit.context(escape(say("approval_more_ran", language, lines=more))))
    blocks.append(kit.context(escape(line)))
    return SlackMessage(kit.fallback(f"{question.question}\n{line}"), blocks)


def decided_line(end: Decided | Commanded | None, language: Language) -> str:
    """Who decided what, in a sentence; not escaped."""
    if isinstance(end, Decided):
        author = clip(end.author or end.user, 80)
        return say(f"approval_was_{end.outcome}", language, author=author, hint=clip(end.hint, 300))
    author = "" if end is None else clip(end.author or end.user, 80)
    return say("approval_was_stopped", language, author=author) if author else say("approval_is_over", language)


def about_lines(approval: Approval, language: Language) -> list[str]:
    """What can be told of the code without running it, a line each; not escaped."""
    lines = []
    if approval.reads:
        lines.append(say("approval_reads", language, names=", ".join(approval.reads)))
    if approval.writes:
        lines.append(say("approval_writes", language, names=", ".join(approval.writes)))
    for risk in approval.risks[:_MOST_RISKS]:
        about = say(f"risk_{risk.rule}", language)
        lines.append(say("approval_risk", language, line=risk.line, about=about, text=risk.text))
    if (more := len(approval.risks) - _MOST_RISKS) > 0:
        lines.append(say("approval_more_risks", language, count=more))
    return lines


def edit_view(question: Questioned, turn_id: str, language: Language) -> View:
    """The form with the code in parts."""
    parts = code_parts(_of(question).code)
    labels = [
        say("approval_code", language) if len(parts) == 1 else say("approval_part", language, n=n, of=len(parts))
        for n in range(1, len(parts) + 1)
    ]
    fields = [_field(n, label, part) for n, (label, part) in enumerate(zip(labels, parts, strict=True))]
    form = EditForm(turn=turn_id, call=question.call_id)
    return _form(form, say("approval_edit", language), say("approval_edit_run", language), fields, language)


def hint_view(question: Questioned, turn_id: str, language: Language) -> View:
    """The form that asks in which other way the code is to be written."""
    form = HintForm(turn=turn_id, call=question.call_id)
    field = _field(0, say("approval_hint_label", language), "")
    return _form(form, say("approval_redo", language), say("approval_send", language), [field], language)


def code_view(question: Questioned, language: Language) -> View:
    """The whole code, to be read. What is longer than a modal is cut with a line that says so."""
    lines = _chunks(_of(question).code)
    blocks = [kit.code(part) for part in lines[:MOST_PARTS]]
    if len(lines) > MOST_PARTS:
        blocks.append(kit.context(escape(say("approval_cut", language))))
    return {
        "type": "modal",
        "title": _plain(say("approval_code", language)),
        "close": _plain(say("approval_close", language)),
        "blocks": blocks,
    }


def code_parts(code: str) -> list[str]:
    """The code in parts that fit a form's fields; joined with line ends they are the code again.

    Empty when a line is longer than a field takes, or when there are more parts than `MOST_PARTS`.
    """
    parts: list[str] = []
    for number, line in enumerate(code.split("\n")):
        if len(line) > FIELD_CHARS - 100:
            return []
        if number and len(parts[-1]) + 1 + len(line) <= PART_CHARS:
            parts[-1] += f"\n{line}"
        else:
            parts.append(line)
    return parts if len(parts) <= MOST_PARTS else []


def submitted(view: Any) -> list[str] | None:
    """What stands in the fields of a submitted form, in their order; None when it is not one of ours.

    Nothing is cut: a part of a program could mean something else.
    """
    try:
        values = view["state"]["values"]
        texts = [values[field_id(n)][field_id(n)]["value"] or "" for n in range(len(values))]
    except (KeyError, TypeError):
        return None
    fits = len(texts) <= MOST_PARTS and all(isinstance(text, str) and len(text) <= FIELD_CHARS for text in texts)
    return texts if fits else None


def syntax_error(parts: Sequence[str], language: Language) -> dict[str, str]:
    """Why these parts are no Python, as Slack wants it: a sentence under the field with the line. {} when they are."""
    code = "\n".join(parts)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(code)
    except SyntaxError as error:
        line, why = error.lineno or 1, error.msg
    except (ValueError, RecursionError, MemoryError):
        line, why = 1, say("approval_unreadable", language)
    else:
        return {} if code.strip() else {field_id(0): say("approval_empty", language)}
    last = 0
    for place, part in enumerate(parts):
        last += part.count("\n") + 1
        if line <= last or place == len(parts) - 1:
            return {field_id(place): say("approval_syntax", language, line=line, why=why)}
    return {}


def field_id(n: int) -> str:
    """The id of a form's field, and of the block around it."""
    return f"{FORM_FIELD}:{n}"


def _of(question: Questioned) -> Approval:
    if question.approval is not None:
        return question.approval
    return Approval(what="statement", title="", code=question.question)


def _shown(code: str, *, whole: bool) -> tuple[str, int]:
    """The first lines of the code, and how many are missing."""
    lines = code.split("\n")
    shown = lines if whole else lines[:SHOWN_LINES]
    text = "\n".join(shown)
    if whole and len(text) <= Limit.SECTION:
        return text, 0
    cut = clip(text, SHOWN_CHARS)
    return cut, max(len(lines) - len(shown), int(cut != text))


def _buttons(
    question: Questioned, approval: Approval, turn_id: str, language: Language, *, is_cut: bool
) -> list[dict[str, Any]]:
    def press(do: Any) -> ApprovalButton:
        return ApprovalButton(turn=turn_id, call=question.call_id, do=do)

    run, skip, *reject = question.options
    buttons = [kit.button(run, press("run"), style="primary")]
    if approval.what != "statement":
        if code_parts(approval.code):
            buttons.append(kit.button(say("approval_edit", language), press("edit")))
        buttons.append(kit.button(say("approval_redo", language), press("redo")))
    buttons.append(kit.button(skip, press("skip")))
    buttons += [kit.button(text, press("reject"), style="danger") for text in reject[:1]]
    if is_cut:
        buttons.append(kit.button(say("approval_show", language), press("show")))
    return buttons


def _form(form: Interaction, title: str, submit: str, fields: list[Block], language: Language) -> View:
    return {
        "type": "modal",
        "callback_id": form.id,
        "private_metadata": form.encode(),
        "title": _plain(title),
        "submit": _plain(submit),
        "close": _plain(say("approval_close", language)),
        "blocks": fields,
    }


def _field(n: int, label: str, value: str) -> Block:
    element: dict[str, Any] = {"type": "plain_text_input", "action_id": field_id(n), "multiline": True}
    element["max_length"] = FIELD_CHARS
    if value:
        element["initial_value"] = value
    text = {"type": "plain_text", "text": clip(label, 2_000), "emoji": False}
    return {"type": "input", "block_id": field_id(n), "label": text, "element": element, "optional": True}


def _chunks(code: str) -> list[str]:
    return [code[start : start + 2_900] for start in range(0, len(code), 2_900)] or [" "]


def _plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": clip(text, _TITLE), "emoji": False}
