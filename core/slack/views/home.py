"""The app's home: what a person sees of their threads, of themselves and of the bot, and the forms behind its buttons.

All text of people is in rich text, where Slack parses nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from core.interactions import (
    FORM_FIELD,
    ChannelsForm,
    DefaultsForm,
    HomeButton,
    InstructionsForm,
    Interaction,
    SettingsForm,
    TourButton,
)
from core.phrases import number, say, written
from core.preferences import INSTRUCTION_CHARS, PROFILE_CHARS, ChannelPreferences, PersonPreferences
from core.rows import Spent, money
from core.slack import blocks as kit
from core.slack.blocks import Block
from core.slack.text import clip, escape
from core.slack.views.entries import Place, memory_blocks
from core.slack.views.modals import OPTION_CHARS, View, form, input_field, plain, text_field
from core.slack.views.schedules import ScheduleEntry, schedule_blocks
from core.values import Language, ThreadKey

NAME: Final = "Threadbook"
LANGUAGES: Final[Mapping[str, str]] = {
    "en": "English", "zh": "中文", "de": "Deutsch", "es": "Español", "fr": "Français", "ja": "日本語"
}  # fmt: skip
"""The languages of answers, each in itself."""
ORIGINS: Final[Mapping[str, str]] = {"file": "threadbook.toml", "slack": "Slack"}
LISTED: Final = 5
"""Threads of one state, and approvals, that are shown."""
SHOWN_CHANNELS, SHOWN_SOURCES = 20, 15
TOUR: Final = 3
"""Questions of the tour."""
DEFAULT: Final = "default"
"""The value of an option that takes a choice back: Slack wants one that is not empty."""
USE_PROFILE, KEEP_PROFILE, FORGET_PROFILE = "use_profile", "keep_profile", "forget_profile"
"""The names of the fields for profiles."""
_LINE = 120
MOST_OPTIONS = 100
"""Options of one select."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A thread in a list: a link to it, its first words, and a line about it."""

    url: str
    title: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """A data source that the person may ask, in a direct message or only in these channels."""

    name: str
    description: str
    channels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """What somebody's questions took today and in 30 days, and how much a day may take: "" for no limit."""

    today: Spent
    month: Spent
    limit: str = ""


@dataclass(frozen=True, slots=True)
class SettingEntry:
    """A setting as it holds. `origin` is "file", "slack" or "default"; `choices` is () for a number."""

    name: str
    value: str
    origin: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AdminPage:
    """What only admins see."""

    settings: tuple[SettingEntry, ...]
    channels: tuple[tuple[str, Spent], ...]
    health: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HomePage:
    """Everything that the home of one person shows. `channels` is None when Slack does not say where the bot is."""

    language: Language
    currency: str
    waiting: tuple[Entry, ...] = ()
    running: tuple[Entry, ...] = ()
    done: tuple[Entry, ...] = ()
    pinned: tuple[Entry, ...] = ()
    approvals: tuple[Entry, ...] = ()
    more: Mapping[str, int] = field(default_factory=dict)
    usage: Usage | None = None
    preferences: PersonPreferences = field(default_factory=PersonPreferences)
    models: tuple[str, ...] = ()
    channels: tuple[str, ...] | None = None
    instructed: Mapping[str, str] = field(default_factory=dict)
    sources: tuple[SourceEntry, ...] = ()
    hidden_sources: int = 0
    memory: tuple[Place, ...] = ()
    schedules: tuple[ScheduleEntry, ...] = ()
    admin: AdminPage | None = None
    refusal: str = ""


def thread_url(workspace: str, thread: ThreadKey) -> str:
    """The address of a thread's first message; "" where that of the workspace is not known."""
    return f"{workspace}archives/{thread.channel}/p{thread.root_ts.replace('.', '')}" if workspace else ""


def home_view(page: HomePage) -> View:
    """The home. It has at most some 50 blocks; Slack takes 100."""
    language = page.language
    if page.refusal:
        return {"type": "home", "blocks": [kit.header(NAME), kit.paragraph(page.refusal)]}
    blocks = [
        kit.header(NAME),
        kit.paragraph(say("home_intro", language)),
        kit.actions(*_buttons(page)),
        *_threads(page),
        *schedule_blocks(page.schedules, page.more.get("schedules", 0), page.language),
        *_usage(page),
        *_defaults(page),
        *_sight(page),
        *memory_blocks(page.memory, page.language),
        *_tour(page),
        *(_admin(page, page.admin) if page.admin is not None else ()),
    ]
    return {"type": "home", "blocks": blocks}


def _buttons(page: HomePage) -> list[dict[str, Any]]:
    language = page.language
    return [
        kit.button(say("home_defaults_button", language), HomeButton(do="defaults"), style="primary"),
        *([kit.button(say("home_channels_button", language), HomeButton(do="channels"))] if page.channels else []),
        *([kit.button(say("home_settings_button", language), HomeButton(do="settings"))] if page.admin else []),
        *([kit.button(say("home_memory_button", language), HomeButton(do="memory"))] if page.memory else []),
        kit.button(say("home_threads_button", language), HomeButton(do="threads")),
        kit.button(say("home_refresh_button", language), HomeButton(do="refresh")),
    ]


def _threads(page: HomePage) -> list[Block]:
    language = page.language
    blocks = [kit.divider(), kit.header(say("home_threads", language))]
    for state in ("pinned", "waiting", "running", "done"):
        entries: tuple[Entry, ...] = getattr(page, state)
        if entries:
            blocks.append(kit.section(f"*{escape(say(f'home_{state}', language))}*"))
            blocks += _list(entries, page.more.get(state, 0), language)
    if not (page.pinned or page.waiting or page.running or page.done):
        blocks.append(kit.paragraph(say("home_no_threads", language)))
    blocks.append(kit.header(say("home_approvals", language)))
    if page.approvals:
        blocks += _list(page.approvals, page.more.get("approvals", 0), language)
    else:
        blocks.append(kit.paragraph(say("home_no_approvals", language)))
    return blocks


def _list(entries: Sequence[Entry], more: int, language: Language) -> list[Block]:
    items = [_item(entry) for entry in entries]
    rest = [kit.context(escape(say("report_more", language, count=more)))] if more else []
    return [kit.rich_text({"type": "rich_text_list", "style": "bullet", "elements": items}), *rest]


def _item(entry: Entry) -> dict[str, Any]:
    title = clip(" ".join(entry.title.split()), _LINE) or "…"
    link = {"type": "link", "url": entry.url, "text": title} if entry.url else _text(title)
    about = [_text(f" · {clip(' '.join(entry.about.split()), 2 * _LINE)}")] if entry.about else []
    return {"type": "rich_text_section", "elements": [link, *about]}


def _usage(page: HomePage) -> list[Block]:
    if page.usage is None:
        return []
    language, usage = page.language, page.usage
    lines = [
        f"{say('home_today', language)}: {spent_line(usage.today, page.currency, language)}",
        f"{say('home_month', language)}: {spent_line(usage.month, page.currency, language)}",
        *([say("home_limit", language, limit=usage.limit)] if usage.limit else []),
    ]
    return [kit.divider(), kit.header(say("home_usage", language)), kit.paragraph("\n".join(lines))]


def spent_line(spent: Spent, currency: str, language: Language) -> str:
    """Model calls, tokens and cost in a line; not escaped."""
    cost = "" if spent.cost_micros is None else f"{written(money(spent.cost_micros), language)} {currency}"
    return say(
        "home_spent", language, calls=number(spent.calls, language), tokens=number(spent.tokens, language), cost=cost
    )


def _defaults(page: HomePage) -> list[Block]:
    language, chosen = page.language, page.preferences
    lines = [
        *([say("home_profile_is", language, name=chosen.profile)] if chosen.profile else []),
        say("home_language_is", language, value=_language_name(chosen, language)),
        say("home_staged_is", language, value=say(f"home_staged_{'on' if chosen.staged else 'off'}", language)),
    ]
    if page.models:
        named = chosen.model if chosen.model in page.models else say("home_model_default", language)
        lines.append(say("home_model_is", language, value=named))
    blocks = [kit.divider(), kit.header(say("home_defaults", language)), kit.paragraph("\n".join(lines))]
    if chosen.instructions:
        blocks.append(kit.paragraph(say("home_instructions_yours", language)))
        blocks.append(kit.quote(clip(chosen.instructions, 600)))
    return blocks


def _language_name(chosen: PersonPreferences, language: Language) -> str:
    return LANGUAGES[chosen.language] if chosen.language else say("home_own_language", language)


def _sight(page: HomePage) -> list[Block]:
    """What the bot can see here, and which data sources the person may ask."""
    language = page.language
    blocks = [kit.divider(), kit.header(say("home_sight", language))]
    if page.channels is None:
        blocks.append(kit.paragraph(say("home_channels_unknown", language)))
    elif page.channels:
        shown = page.channels[:SHOWN_CHANNELS]
        elements: list[dict[str, Any]] = [_text(say("home_channels", language))]
        for channel in shown:
            wishes = [_text(" ✏️")] if page.instructed.get(channel) else []
            elements += [_text(" "), {"type": "channel", "channel_id": channel}, *wishes]
        if more := len(page.channels) - len(shown):
            elements.append(_text(f" {say('report_more', language, count=more)}"))
        blocks.append(kit.rich_text({"type": "rich_text_section", "elements": elements}))
    else:
        blocks.append(kit.paragraph(say("home_no_channels", language)))
    blocks.append(kit.context(escape(say("home_reads", language))))
    blocks.append(kit.header(say("home_sources", language)))
    if page.sources:
        items = [_source(each, language) for each in page.sources[:SHOWN_SOURCES]]
        blocks.append(kit.rich_text({"type": "rich_text_list", "style": "bullet", "elements": items}))
        if more := len(page.sources) - SHOWN_SOURCES:
            blocks += [kit.context(escape(say("report_more", language, count=more)))] if more > 0 else []
    else:
        blocks.append(kit.paragraph(say("home_no_sources", language)))
    if page.hidden_sources:
        blocks.append(kit.context(escape(say("home_hidden_sources", language, count=page.hidden_sources))))
    return blocks


def _source(source: SourceEntry, language: Language) -> dict[str, Any]:
    elements = [{"type": "text", "text": source.name, "style": {"bold": True}}]
    if source.description:
        elements.append(_text(f" · {clip(' '.join(source.description.split()), _LINE)}"))
    if source.channels:
        elements.append(_text(f" · {say('home_source_only', language)}"))
        for channel in source.channels[:SHOWN_CHANNELS]:
            elements += [_text(" "), {"type": "channel", "channel_id": channel}]
    return {"type": "rich_text_section", "elements": elements}


def _tour(page: HomePage) -> list[Block]:
    language = page.language
    buttons = [kit.button(say(f"tour_title_{n}", language), TourButton(n=n)) for n in range(TOUR)]
    about = say("home_tour_about", language)
    return [kit.divider(), kit.header(say("home_tour", language)), kit.paragraph(about), kit.actions(*buttons)]


def _admin(page: HomePage, admin: AdminPage) -> list[Block]:
    language = page.language
    rows = [(say("home_setting", language), say("home_value", language), say("home_origin", language))]
    by_default = say("home_by_default", language)
    unlimited = say("home_no_limit", language)
    rows += [
        (each.name, each.value if each.value != "0" else unlimited, ORIGINS.get(each.origin, by_default))
        for each in admin.settings
    ]
    blocks = [
        kit.divider(),
        kit.header(say("home_admin", language)),
        kit.section(escape(say("home_admin_about", language))),
        *(_setting_rows(rows)),
        kit.section(f"*{escape(say('home_by_channel', language))}*"),
    ]
    if admin.channels:
        items = [
            {
                "type": "rich_text_section",
                "elements": [
                    {"type": "channel", "channel_id": channel}
                    if channel[:1] in "CG"
                    else _text(say("home_direct", language)),
                    _text(f": {spent_line(spent, page.currency, language)}"),
                ],
            }
            for channel, spent in admin.channels
        ]
        blocks.append(kit.rich_text({"type": "rich_text_list", "style": "bullet", "elements": items}))
    else:
        blocks.append(kit.paragraph(say("home_no_usage", language)))
    blocks.append(kit.section(f"*{escape(say('home_health', language))}*"))
    blocks.append(kit.paragraph("\n".join(admin.health)))
    return blocks


def _setting_rows(rows: Sequence[tuple[str, str, str]]) -> list[Block]:
    """Names, values and where they come from, in fixed width: a home takes no table."""
    widths = [max(len(row[place]) for row in rows) for place in (0, 1)]
    lines = [f"{name:{widths[0]}}  {value:{widths[1]}}  {origin}" for name, value, origin in rows]
    return [kit.code("\n".join(lines))]


# --- forms


def defaults_view(chosen: PersonPreferences, models: Sequence[str], language: Language) -> View:
    """The form with what a person wants of every answer."""
    languages = [(DEFAULT, say("home_own_language", language)), *LANGUAGES.items()]
    staged = [(name, say(f"home_staged_{name}", language)) for name in ("off", "on")]
    fields = [
        _select("language", say("home_language", language), languages, chosen.language or DEFAULT),
        _select("staged", say("home_staged", language), staged, "on" if chosen.staged else "off"),
    ]
    if models:
        options = [(DEFAULT, say("home_model_default", language)), *((name, name) for name in models)]
        current = chosen.model if chosen.model in models else DEFAULT
        fields.append(_select("model", say("home_model", language), options, current))
    fields.append(_text_field("instructions", say("home_instructions", language), chosen.instructions))
    if chosen.profiles:
        none = (DEFAULT, say("home_profile_none", language))
        kept = [none, *((name, name) for name in chosen.profiles)]
        fields.insert(0, _select(USE_PROFILE, say("home_profile_use", language), kept, DEFAULT))
        fields.append(_select(FORGET_PROFILE, say("home_profile_forget", language), kept, DEFAULT))
    keep = say("home_profile_keep", language)
    fields.append(_text_field(KEEP_PROFILE, keep, "", multiline=False, longest=PROFILE_CHARS))
    return _form(DefaultsForm(), say("home_defaults", language), language, fields)


def channels_view(channels: Sequence[tuple[str, str]], language: Language) -> View:
    """The form that asks for a channel: ids and names."""
    options = list(channels[:MOST_OPTIONS])
    fields = [_select("channel", say("home_channel", language), options, options[0][0])]
    return _form(ChannelsForm(), say("home_channels_title", language), language, fields, "menu_next")


def instructions_view(channel: str, name: str, chosen: ChannelPreferences, language: Language) -> View:
    """The form with the instructions of a channel."""
    label = say("home_channel_instructions", language, channel=name)
    fields = [_text_field("instructions", label, chosen.instructions)]
    return _form(InstructionsForm(channel=channel), say("home_channels_title", language), language, fields)


def settings_view(settings: Sequence[SettingEntry], language: Language) -> View:
    """The form with the policies and budgets that threadbook.toml leaves open; those that it sets are named."""
    fields: list[Block] = []
    fixed = [each.name for each in settings if each.origin == "file"]
    if fixed:
        fields.append(kit.context(escape(say("home_fixed", language, names=", ".join(fixed)))))
    for each in settings:
        if each.origin == "file":
            continue
        about = say(f"setting_{each.name.replace('.', '_')}", language)
        label = f"{each.name} · {about}"
        current = each.value if each.origin == "slack" else ""
        if each.choices:
            options = [(DEFAULT, say("home_setting_default", language))]
            options += [(value, value) for value in each.choices]
            fields.append(_select(each.name, label, options, current or DEFAULT))
        else:
            fields.append(_text_field(each.name, label, current, multiline=False, longest=20))
    return _form(SettingsForm(), say("home_settings_title", language), language, fields)


def given_in(view: Any) -> dict[str, str]:
    """What stands in the fields of a submitted form, by their names; what is not ours is left out."""
    try:
        values = view["state"]["values"].items()
    except (AttributeError, KeyError, TypeError):
        return {}
    found: dict[str, str] = {}
    for block, elements in values:
        kind, _, name = str(block).partition(":")
        element = elements.get(block) if isinstance(elements, Mapping) else None
        if kind != FORM_FIELD or not isinstance(element, Mapping):
            continue
        option = element.get("selected_option")
        value = option.get("value") if isinstance(option, Mapping) else element.get("value")
        if value is None or isinstance(value, str):
            found[name] = value or ""
    return found


def field_of(name: str) -> str:
    """The id of the field with this name, and of the block around it."""
    return f"{FORM_FIELD}:{name}"


def _form(kind: Interaction, title: str, language: Language, fields: list[Block], submit: str = "menu_save") -> View:
    fields = fields or [kit.paragraph(say("home_nothing_open", language))]
    return form(kind, title, say(submit, language), fields, language)


def _select(name: str, label: str, options: Sequence[tuple[str, str]], current: str) -> Block:
    shown = [{"text": plain(text, OPTION_CHARS), "value": value} for value, text in options]
    chosen = next((each for each in shown if each["value"] == current), shown[0])
    element = {"type": "static_select", "action_id": field_of(name), "options": shown, "initial_option": chosen}
    return input_field(field_of(name), label, element)


def _text_field(
    name: str, label: str, value: str, *, multiline: bool = True, longest: int = INSTRUCTION_CHARS
) -> Block:
    return text_field(field_of(name), label, clip(value, longest), longest=longest, multiline=multiline)


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
