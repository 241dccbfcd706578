"""The menu “Threadbook…” of a message, and the forms behind its choices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.commands.stepping_in import SPEECH_CHARS
from core.interactions import FORM_FIELD, AgainButton, AskForm, ContextForm, Interaction, MenuForm, RateForm, SpeakForm
from core.phrases import say
from core.slack import blocks as kit
from core.slack.blocks import Block
from core.slack.text import clip
from core.slack.views.approvals import FIELD_CHARS, code_parts
from core.slack.views.modals import OPTION_CHARS, View, field_id, form, input_field, plain, text_field
from core.slack.views.reports import REASON_CHARS
from core.values import Language

CHOICE = f"{FORM_FIELD}:choice"
"""The id of a form's choice, and of the block around it."""


def menu_view(kind: MenuForm, choices: Sequence[str], language: Language, label: str = "menu_label") -> View:
    """The menu with these choices, keys of phrases behind "menu_"; at most ten. `label` is the phrase above them."""
    options = [
        {**_option(each, language), "description": plain(say(f"menu_{each}_about", language), OPTION_CHARS)}
        for each in choices
    ]
    choice = _choice(say(label, language), options)
    return _form(kind, "menu_title", "menu_next", [choice], language)


def ask_view(kind: AskForm, language: Language) -> View:
    """The form for a question about a message."""
    return _form(kind, "menu_ask", "approval_send", [_field(0, say("menu_question", language), "")], language)


def edit_view(kind: ContextForm, text: str, language: Language) -> View | None:
    """The form with what the analyst reads, in parts; None when it is too long for one."""
    parts = code_parts(text)
    if not parts:
        return None
    labels = [
        say("menu_text", language) if len(parts) == 1 else say("menu_part", language, n=n, of=len(parts))
        for n in range(1, len(parts) + 1)
    ]
    fields = [_field(n, label, part) for n, (label, part) in enumerate(zip(labels, parts, strict=True))]
    return _form(kind, "menu_edit", "menu_save", fields, language)


def rate_view(kind: RateForm, language: Language, *, is_example: bool) -> View:
    """The form that asks for a person's judgement of an answer. `is_example`: they marked it as one before."""
    names = ("up", "down", "no_example" if is_example else "example")
    options = [_option(each, language) for each in names]
    why = _field(0, say("menu_why", language), "", REASON_CHARS)
    return _form(kind, "menu_rate_title", "menu_save", [_choice(say("menu_rating", language), options), why], language)


def speak_view(kind: SpeakForm, language: Language) -> View:
    """The form for the analyst's next message or cell."""
    options = [_option(each, language) for each in ("message", "cell")]
    what = _choice(say("menu_what", language), options)
    speech = _field(0, say("menu_speech", language), "", SPEECH_CHARS)
    return _form(kind, "menu_speak", "approval_send", [what, speech], language)


def again_blocks(button: AgainButton, language: Language) -> list[Block]:
    """What the author of a changed question is offered."""
    return [
        kit.paragraph(say("again_offer", language)),
        kit.actions(kit.button(say("again_button", language), button, style="primary")),
    ]


def quoted_blocks(line: str, text: str) -> list[Block]:
    """A sentence of ours above a message of a person, quoted. Nothing in either is parsed."""
    shown = clip(" ".join(text.split()), 300)
    return [kit.paragraph(line), *([kit.quote(shown)] if shown else [])]


def choice_in(view: Any) -> str | None:
    """What was chosen in a submitted form; None when nothing was."""
    try:
        value = view["state"]["values"][CHOICE][CHOICE]["selected_option"]["value"]
    except (KeyError, TypeError):
        return None
    return value if isinstance(value, str) else None


def texts_in(view: Any) -> list[str] | None:
    """What stands in the fields of a submitted form beside its choice, in their order; None when it is not ours."""
    try:
        values = {key: value for key, value in view["state"]["values"].items() if key != CHOICE}
        texts = [values[field_id(n)][field_id(n)]["value"] or "" for n in range(len(values))]
    except (AttributeError, KeyError, TypeError):
        return None
    return texts if texts and all(isinstance(text, str) and len(text) <= FIELD_CHARS for text in texts) else None


def _form(kind: Interaction, title: str, submit: str, fields: list[Block], language: Language) -> View:
    return form(kind, say(title, language), say(submit, language), fields, language)


def _choice(label: str, options: list[dict[str, Any]]) -> Block:
    element = {"type": "radio_buttons", "action_id": CHOICE, "options": options, "initial_option": options[0]}
    return input_field(CHOICE, label, element)


def _option(name: str, language: Language) -> dict[str, Any]:
    return {"text": plain(say(f"menu_{name}", language), OPTION_CHARS), "value": name}


def _field(n: int, label: str, value: str, longest: int = FIELD_CHARS) -> Block:
    return text_field(field_id(n), label, value, longest=longest)
