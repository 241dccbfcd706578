"""Text, options and the interactive elements."""

from __future__ import annotations

from typing import Any

from playground.blocks.rules import (
    Complaint,
    Complaints,
    Rule,
    all_of,
    anything,
    boolean,
    by_type,
    items,
    number,
    one_of,
    shape,
    string,
)

ACTION: dict[str, Rule] = {"action_id": string(255)}


def plain(longest: int) -> Rule:
    """A plain_text object."""
    return by_type({"plain_text": shape({"text": string(longest)}, {"emoji": boolean})})


def text(longest: int) -> Rule:
    """A plain_text or mrkdwn object."""
    return by_type(
        {
            "plain_text": shape({"text": string(longest)}, {"emoji": boolean}),
            "mrkdwn": shape({"text": string(longest)}, {"verbatim": boolean}),
        }
    )


confirm = shape(
    {"title": plain(100), "text": text(300), "confirm": plain(30), "deny": plain(30)},
    {"style": one_of("primary", "danger")},
)
option = shape({"text": text(75), "value": string(150)}, {"description": text(75), "url": string(3000)})
option_group = shape({"label": plain(75), "options": items(option, 100)})
dispatch = shape({}, {"trigger_actions_on": anything})


def exactly_one(*names: str) -> Rule:
    """An object that has one of these fields and not two."""

    def rule(value: Any, pointer: str) -> Complaints:
        given = [each for each in names if isinstance(value, dict) and value.get(each) is not None]
        if len(given) != 1:
            yield Complaint(f"must provide exactly one of {', '.join(names)}", pointer)

    return rule


def chosen_of_offered(value: Any, pointer: str) -> Complaints:
    """What is chosen at first is one of the options, word for word."""
    if not isinstance(value, dict):
        return
    offered = _options_in(value) + [each for group in _list(value.get("option_groups")) for each in _options_in(group)]
    first = value.get("initial_option")
    for place, each in enumerate([*([first] if first is not None else []), *_list(value.get("initial_options"))]):
        if each not in offered:
            yield Complaint(f"initial option {place} must be one of the options", pointer)


def _options_in(holder: Any) -> list[Any]:
    return _list(holder.get("options")) if isinstance(holder, dict) else []


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


slack_file = all_of(exactly_one("id", "url"), shape({}, {"id": string(255), "url": string(3000)}))
image_source = {"image_url": string(3000), "slack_file": slack_file}
image = all_of(exactly_one("image_url", "slack_file"), shape({"alt_text": string(2000)}, image_source))

_choice = {"placeholder": plain(150), "confirm": confirm, "focus_on_load": boolean}
_options = {"options": items(option, 100), "option_groups": items(option_group, 100)}
_input = {"placeholder": plain(150), "focus_on_load": boolean, "dispatch_action_config": dispatch}
_pick = shape({}, {**ACTION, **_choice, "initial_date": string(10), "initial_time": string(5), "timezone": string(60)})
_feedback = shape({"text": plain(75), "value": string(2000)}, {"accessibility_label": string(75)})
_select = all_of(
    exactly_one("options", "option_groups"),
    chosen_of_offered,
    shape({}, {**ACTION, **_choice, **_options, "initial_option": option}),
)
_multi_select = all_of(
    exactly_one("options", "option_groups"),
    chosen_of_offered,
    shape(
        {},
        {
            **ACTION,
            **_choice,
            **_options,
            "initial_options": items(option, 100),
            "max_selected_items": number(1, 100, whole=True),
        },
    ),
)
_directory = shape(
    {},
    {
        **ACTION,
        **_choice,
        "initial_user": string(255),
        "initial_conversation": string(255),
        "initial_channel": string(255),
        "response_url_enabled": boolean,
        "default_to_current_conversation": boolean,
        "filter": anything,
    },
)

button = shape(
    {"text": plain(75)},
    {
        **ACTION,
        "value": string(2000, 0),
        "url": string(3000),
        "style": one_of("primary", "danger"),
        "confirm": confirm,
        "accessibility_label": string(75),
        "visible_to_user_ids": items(string(255), 1000),
        "agent_prompt": string(4000),
        "agent_prompt_display": anything,
    },
)
overflow = shape({"options": items(option, 5)}, {**ACTION, "confirm": confirm})
checks = all_of(
    chosen_of_offered,
    shape({"options": items(option, 10)}, {**ACTION, "initial_options": items(option, 10), **_choice}),
)
radios = all_of(
    chosen_of_offered, shape({"options": items(option, 10)}, {**ACTION, "initial_option": option, **_choice})
)
plain_text_input = shape(
    {},
    {
        **ACTION,
        **_input,
        "initial_value": string(3000, 0),
        "multiline": boolean,
        "min_length": number(0, 3000, whole=True),
        "max_length": number(1, 3000, whole=True),
    },
)
number_input = shape(
    {"is_decimal_allowed": boolean},
    {**ACTION, **_input, "initial_value": string(100), "min_value": string(100), "max_value": string(100)},
)
file_input = shape({}, {**ACTION, "filetypes": items(string(30), 100), "max_files": number(1, 10, whole=True)})
feedback_buttons = shape({"positive_button": _feedback, "negative_button": _feedback}, ACTION)
icon_button = shape(
    {"icon": string(75), "text": plain(75)},
    {
        **ACTION,
        "value": string(2000),
        "confirm": confirm,
        "accessibility_label": string(75),
        "visible_to_user_ids": items(string(255), 1000),
    },
)

ACTIONS: dict[str, Rule] = {
    "button": button,
    "static_select": _select,
    "users_select": _directory,
    "conversations_select": _directory,
    "channels_select": _directory,
    "overflow": overflow,
    "checkboxes": checks,
    "radio_buttons": radios,
    "datepicker": _pick,
    "timepicker": _pick,
    "multi_static_select": _multi_select,
}
ACCESSORIES: dict[str, Rule] = {**ACTIONS, "image": image}
INPUTS: dict[str, Rule] = {
    **{name: rule for name, rule in ACTIONS.items() if name not in {"button", "overflow"}},
    "plain_text_input": plain_text_input,
    "email_text_input": plain_text_input,
    "url_text_input": plain_text_input,
    "number_input": number_input,
    "file_input": file_input,
}
CONTEXT_ACTIONS: dict[str, Rule] = {"feedback_buttons": feedback_buttons, "icon_button": icon_button}
