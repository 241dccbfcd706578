"""The message that asks whether something may run, in each of its states, and the forms behind its buttons.

Bot and workers draw it from the same steps, so after a late press the message is drawn again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from core import python_source
from core.commands.registry import SPEAK
from core.hidden_characters import count_hidden, with_hidden_shown
from core.interactions import ApprovalButton, EditForm, HintForm
from core.phrases import say
from core.slack import blocks as kit
from core.slack.blocks import Block, Limit, SlackMessage
from core.slack.sanitize import sanitize
from core.slack.text import clip, escape
from core.slack.views.modals import View, field_id, form, text_field, window
from core.steps import Approval, Commanded, Decided, Draft, Questioned, words_of
from core.values import Language

REVIEW_CHARS = 6_000
"""Characters of a plan or of a stage's result that stand in the message."""
SHOWN_LINES, SHOWN_CHARS = 12, 1_500
"""The first lines of code that stand in the message; a statement is shown whole."""
PART_CHARS, FIELD_CHARS = 2_000, 3_000
"""A field of a form takes `FIELD_CHARS`; each begins with fewer, so that there is room to write."""
MOST_PARTS = 40
_FORM_BYTES = Limit.VIEW_BYTES - 1_000 * MOST_PARTS
"""For the texts of a form: each field takes some more for its label and its ids."""
_MOST_RISKS = 6


def approval_message(draft: Draft, turn_id: str, language: Language) -> SlackMessage:
    """The open question: title, first lines of the code, what it reads and writes, the buttons. If several people have
    to say yes, also who did so far. Characters that nobody sees stand there as their numbers, and a line says so."""
    question, approval = draft.question, _of(draft.question)
    if approval.what in ("plan", "stage"):
        return _review_message(draft, approval, turn_id, language)
    asked = with_hidden_shown(question.question)
    shown, more = _shown(with_hidden_shown(approval.code), whole=approval.what not in ("python", "bash"))
    blocks: list[Block] = [kit.paragraph(clip(asked, Limit.SECTION)), _body(approval, shown)]
    if more:
        blocks.append(kit.context(escape(say("approval_more", language, lines=more))))
    hidden = hidden_line(language, question.question, approval.code, approval.folded)
    masked = say("approval_masked", language) if approval.folded else ""
    if about := [*filter(None, [hidden, masked]), *map(with_hidden_shown, about_lines(approval, language))]:
        blocks.append(kit.paragraph("\n".join(about)))
    blocks.append(kit.actions(*_buttons(draft, approval, turn_id, language, is_cut=bool(more or approval.folded))))
    hint = "approval_hint" if approval.what in ("python", "bash") else "approval_hint_statement"
    blocks.append(kit.context(escape(say(hint, language))))
    blocks += _people(draft, language)
    options = "\n".join(f"{n}. {option}" for n, option in enumerate(question.options, start=1))
    told = f"{asked}\n{hidden}" if hidden else asked
    return SlackMessage(kit.fallback(f"{told}\n{shown}\n{options}"), blocks)


def hidden_line(language: Language, *texts: str) -> str:
    """That these texts have characters that nobody sees; "" when they have none. Not escaped."""
    count = sum(map(count_hidden, texts))
    return say("approval_hidden", language, count=count) if count else ""


def _body(approval: Approval, shown: str) -> Block:
    return kit.paragraph(shown) if approval.what in ("cost", "extra") else kit.code(shown)


def _review_message(draft: Draft, approval: Approval, turn_id: str, language: Language) -> SlackMessage:
    """A plan, or the result of a stage with its code folded."""
    question, asked = draft.question, with_hidden_shown(draft.question.question)
    whole = with_hidden_shown(approval.code)
    shown = clip(whole, REVIEW_CHARS)
    blocks: list[Block] = [kit.paragraph(clip(asked, Limit.SECTION)), *_result(approval, shown)]
    if hidden := hidden_line(language, question.question, approval.code, approval.folded):
        blocks.append(kit.paragraph(hidden))
    blocks.append(kit.actions(*_review_buttons(draft, approval, turn_id, language, is_cut=shown != whole)))
    blocks.append(kit.context(escape(say(f"approval_{approval.what}_hint", language))))
    blocks += _people(draft, language)
    options = "\n".join(f"{n}. {option}" for n, option in enumerate(question.options, start=1))
    return SlackMessage(kit.fallback(f"{asked}\n{shown}\n{options}"), blocks)


def _result(approval: Approval, shown: str) -> list[Block]:
    if not shown.strip():
        return []
    return [kit.markdown(sanitize(shown))]


def _people(draft: Draft, language: Language) -> list[Block]:
    if draft.question.people < 2:
        return []
    names = ", ".join(clip(step.author or step.user, 80) for step in draft.agreed)
    key = "approval_agreed" if names else "approval_people"
    lines = [say("approval_changed", language, editor=clip(draft.editor, 80))] if draft.number else []
    lines.append(say(key, language, names=names, count=draft.question.people - len(draft.agreed)))
    return [kit.context(escape(line)) for line in lines]


def _press(draft: Draft, turn_id: str, do: Any) -> ApprovalButton:
    return ApprovalButton(turn=turn_id, call=draft.question.call_id, do=do, draft=draft.number)


def _review_buttons(
    draft: Draft, approval: Approval, turn_id: str, language: Language, *, is_cut: bool
) -> list[dict[str, Any]]:
    press = partial(_press, draft, turn_id)
    yes, other = draft.question.options
    edit = [kit.button(say("review_change", language), press("edit"))] if code_parts(approval.code) else []
    buttons = [kit.button(yes, press("run"), style="primary")]
    if approval.what == "plan":
        buttons += [*edit, kit.button(say("review_ask_else", language), press("redo"))]
        buttons.append(kit.button(other, press("reject"), style="danger"))
    else:
        buttons += [kit.button(say("review_redo", language), press("redo")), *edit, kit.button(other, press("skip"))]
    if approval.folded or is_cut:
        key = "review_show_code" if approval.folded else "approval_show"
        buttons.append(kit.button(say(key, language), press("show")))
    return buttons


def outdated_message(draft: Draft, language: Language) -> SlackMessage:
    """A question whose text a person changed: no buttons any more, and where to look."""
    asked = with_hidden_shown(draft.question.question)
    line = say("approval_outdated", language, editor=clip(draft.editor, 80))
    blocks: list[Block] = [kit.paragraph(clip(asked, Limit.SECTION)), kit.context(escape(line))]
    return SlackMessage(kit.fallback(f"{asked}\n{line}"), blocks)


def decided_message(question: Questioned, end: Decided | Commanded | None, language: Language) -> SlackMessage:
    """The question once it is decided, or once the turn was stopped there: no buttons, who decided what."""
    approval = _of(question)
    if approval.what in ("plan", "stage"):
        return _reviewed_message(question, approval, end, language)
    is_edited = isinstance(end, Decided) and end.outcome == "edited"
    ran = end.code if is_edited and isinstance(end, Decided) else approval.code
    shown, more = _shown(with_hidden_shown(ran), whole=False)
    line, asked = decided_line(end, language), with_hidden_shown(question.question)
    blocks: list[Block] = [kit.paragraph(clip(asked, Limit.SECTION)), _body(approval, shown)]
    if more:
        blocks.append(kit.context(escape(say("approval_more_ran", language, lines=more))))
    blocks.append(kit.context(escape(line)))
    return SlackMessage(kit.fallback(f"{asked}\n{line}"), blocks)


def _reviewed_message(
    question: Questioned, approval: Approval, end: Decided | Commanded | None, language: Language
) -> SlackMessage:
    """A plan or a result once it is decided; what was sent back is folded away."""
    line, asked = reviewed_line(approval, end, language), with_hidden_shown(question.question)
    outcome = end.outcome if isinstance(end, Decided) else ""
    blocks: list[Block] = [kit.paragraph(clip(asked, Limit.SECTION))]
    if outcome in ("run", "edited"):
        text = end.code if isinstance(end, Decided) and outcome == "edited" else approval.code
        blocks += _result(approval, clip(with_hidden_shown(text), REVIEW_CHARS))
    blocks.append(kit.context(escape(line)))
    return SlackMessage(kit.fallback(f"{asked}\n{line}"), blocks)


def reviewed_line(approval: Approval, end: Decided | Commanded | None, language: Language) -> str:
    """Who decided what on a plan or a stage, in a sentence; not escaped."""
    if isinstance(end, Decided):
        author, hint = clip(end.author or end.user, 80), clip(end.hint, 300)
        if end.editor:
            return say("approval_was_changed", language, author=author, editor=clip(end.editor, 80))
        if approval.what == "plan":
            return say(f"plan_was_{end.outcome}", language, author=author, hint=hint)
        return say(f"stage_was_{end.outcome}", language, author=author, hint=hint)
    author = "" if end is None else clip(end.author or end.user, 80)
    return say("review_was_stopped", language, author=author) if author else say("review_is_over", language)


def decided_line(end: Decided | Commanded | None, language: Language) -> str:
    """Who decided what, in a sentence; not escaped."""
    if isinstance(end, Decided):
        author = clip(end.author or end.user, 80)
        if end.editor:
            return say("approval_was_changed", language, author=author, editor=clip(end.editor, 80))
        return say(f"approval_was_{end.outcome}", language, author=author, hint=clip(end.hint, 300))
    if end is not None and end.command == SPEAK:
        return say("approval_was_other", language, author=clip(end.author or end.user, 80))
    author = "" if end is None else clip(end.author or end.user, 80)
    return say("approval_was_stopped", language, author=author) if author else say("approval_is_over", language)


def about_lines(approval: Approval, language: Language) -> list[str]:
    """What can be told of the code without running it, a line each; not escaped."""
    lines = [say("approval_bash", language)] if approval.what == "bash" else []
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


def edit_view(draft: Draft, turn_id: str, language: Language) -> View:
    """The form with the code, the plan or the result in parts."""
    approval = _of(draft.question)
    kind = EditForm(turn=turn_id, call=draft.question.call_id, draft=draft.number)
    several = draft.question.people > 1
    parts = code_parts(approval.code)
    if approval.what in ("plan", "stage"):
        label = say("plan_label" if approval.what == "plan" else "stage_label", language)
        field = _field(0, label, parts[0])
        more = [_field(n, say("menu_part", language, n=n + 1, of=len(parts)), p) for n, p in enumerate(parts[1:], 1)]
        yes = say("approval_change_ask" if several else f"approval_{approval.what}_run", language)
        title, submit = say("review_change", language), yes
        return form(kind, title, submit, [field, *more], language)
    labels = [
        say("approval_code", language) if len(parts) == 1 else say("approval_part", language, n=n, of=len(parts))
        for n in range(1, len(parts) + 1)
    ]
    fields = [_field(n, label, part) for n, (label, part) in enumerate(zip(labels, parts, strict=True))]
    submit = say("approval_change_ask" if several else "approval_edit_run", language)
    return form(kind, say("approval_edit", language), submit, fields, language)


def hint_view(question: Questioned, turn_id: str, language: Language) -> View:
    """The form that asks in which other way the code is to be written."""
    kind = HintForm(turn=turn_id, call=question.call_id)
    field = _field(0, say("approval_hint_label", language), "")
    return form(kind, say("approval_redo", language), say("approval_send", language), [field], language)


def code_view(question: Questioned, language: Language) -> View:
    """The whole code, to be read. What is longer than a modal is cut with a line that says so."""
    approval = _of(question)
    whole = [kit.code(part) for part in _chunks(with_hidden_shown(approval.folded or approval.code))]
    blocks = kit.in_a_window(whole, MOST_PARTS)
    if len(blocks) < len(whole):
        blocks.append(kit.context(escape(say("approval_cut", language))))
    return window(say("approval_code", language), blocks, language)


def code_parts(code: str) -> list[str]:
    """The code in parts that fit a form's fields; joined with line ends they are the code again.

    Empty when a line is longer than a field takes, when there are more parts than `MOST_PARTS`, or when they take more
    bytes than a form.
    """
    parts: list[str] = []
    for number, line in enumerate(code.split("\n")):
        if len(line) > FIELD_CHARS - 100:
            return []
        if number and len(parts[-1]) + 1 + len(line) <= PART_CHARS:
            parts[-1] += f"\n{line}"
        else:
            parts.append(line)
    fits = len(parts) <= MOST_PARTS and kit.json_bytes(parts) <= _FORM_BYTES
    return parts if fits else []


def submitted(view: Any) -> list[str] | None:
    """The texts of a submitted form's fields, in their order; None if the form is not ours. Nothing is cut: a part of a
    program could mean something else.
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
        python_source.parsed(code)
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
    draft: Draft, approval: Approval, turn_id: str, language: Language, *, is_cut: bool
) -> list[dict[str, Any]]:
    press = partial(_press, draft, turn_id)
    run, *others = draft.question.options
    buttons = [kit.button(run, press("run"), style="primary")]
    if approval.what in ("python", "bash"):
        if code_parts(approval.code):
            buttons.append(kit.button(say("approval_edit", language), press("edit")))
        buttons.append(kit.button(say("approval_redo", language), press("redo")))
    for word, text in zip(words_of(approval)[1:], others, strict=False):
        buttons.append(kit.button(text, press(word), style="danger" if word == "reject" else None))
    if is_cut:
        buttons.append(kit.button(say("approval_show", language), press("show")))
    return buttons


def _field(n: int, label: str, value: str) -> Block:
    return text_field(field_id(n), label, value, longest=FIELD_CHARS)


def _chunks(code: str) -> list[str]:
    return [code[start : start + 2_900] for start in range(0, len(code), 2_900)] or [" "]
