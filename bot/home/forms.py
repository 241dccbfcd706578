"""The forms of the app's home: who may open one, and what a submitted one changes.

What a form changes goes into the Store and holds from the next question on; changes for others than oneself stand in
the audit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, get_args

from bot.acks import Ack, all_wrong, replaced_by, wrong_in
from bot.handling import Handling
from bot.home.page import setting_entry
from bot.home.person import HOME_TS, Person
from bot.payloads import Submitted
from core.actions import Action
from core.adjusting import ADJUSTABLE, NotAllowed, adjusted, is_money, is_of_file, parsed
from core.interactions import ChannelsForm, DefaultsForm, HomeButton, InstructionsForm, SettingsForm
from core.phrases import say
from core.preferences import (
    INSTRUCTION_CHARS,
    PROFILE_CHARS,
    PROFILES,
    WORKSPACE,
    ChannelPreferences,
    Profile,
)
from core.slack.views import home as drawn
from core.slack.views.modals import View
from core.slack.writing.writer import SlackWriter
from core.store import Store
from core.telemetry import get_logger
from core.values import Language, ThreadKey

log = get_logger(__name__)

HomeForm = DefaultsForm | ChannelsForm | InstructionsForm | SettingsForm
_FORMS: Final = (DefaultsForm, ChannelsForm, InstructionsForm, SettingsForm)


class HomeForms:
    """Opens the forms, and takes them in."""

    def __init__(self, store: Store, slack: SlackWriter, handler: Handling) -> None:
        self._store = store
        self._slack = slack
        self._handler = handler

    def behind(self, button: HomeButton, person: Person) -> View | None:
        """The form behind a button; None for those who may not use it, and where there is nothing to choose from."""
        settings = self._handler.settings
        if button.do == "defaults":
            return drawn.defaults_view(person.chosen, list(settings.models), person.language)
        if button.do == "channels":
            together = sorted(self._slack.shared_channels(person.user) or ())[: drawn.MOST_OPTIONS]
            named = sorted((self._slack.channel_name(channel), channel) for channel in together)
            return drawn.channels_view([(channel, name) for name, channel in named], person.language) if named else None
        if not self._handler.gate.verdict_on(person.user, person.place, Action.SETTINGS):
            return None
        chosen = self._store.preferences(person.team, [WORKSPACE]).get(WORKSPACE, {})
        entries = [setting_entry(settings, adjusted(settings, chosen), chosen, name) for name in ADJUSTABLE]
        return drawn.settings_view(entries, person.language)

    def take(self, form: HomeForm, given: Mapping[str, str], person: Person) -> Ack:
        """Take in what was given in a form. Returns what its ack says. Raises StoreUnreachable."""
        match form:
            case DefaultsForm():
                return self._save_defaults(given, person)
            case ChannelsForm():
                return self._then_instructions(given.get("channel", ""), person)
            case InstructionsForm():
                return self._save_instructions(form.channel, given.get("instructions", ""), person)
            case SettingsForm():
                return self._save_settings(given, person)

    def _save_defaults(self, given: Mapping[str, str], person: Person) -> Ack:
        chosen: dict[str, Any] = {
            "language": _or_none(given.get("language", "")),
            "staged": True if given.get("staged") == "on" else None,
            "instructions": given.get("instructions", "").strip()[:INSTRUCTION_CHARS] or None,
        }
        if "model" in given:
            chosen["model"] = _or_none(given["model"])
        if chosen["language"] not in (None, *get_args(Language)):
            return {}
        if chosen.get("model") is not None and chosen["model"] not in self._handler.settings.models:
            return _wrong("model", say("home_model_gone", person.language))
        if used := _or_none(given.get(drawn.USE_PROFILE, "")):
            if used not in person.chosen.profiles:
                return _wrong(drawn.USE_PROFILE, say("home_profile_gone", person.language))
            kept = person.chosen.profiles[used]
            chosen = {name: value or None for name, value in kept.model_dump(mode="json").items()}
        profiles = {name: kept.model_dump(mode="json") for name, kept in person.chosen.profiles.items()}
        profiles.pop(given.get(drawn.FORGET_PROFILE, ""), None)
        if name := " ".join(given.get(drawn.KEEP_PROFILE, "").split())[:PROFILE_CHARS]:
            before = person.chosen.model_dump(mode="json", include=set(Profile.model_fields))
            now = {key: value for key, value in {**before, **chosen}.items() if value is not None}
            profiles[name] = Profile.read(now).model_dump(mode="json")
        if len(profiles) > PROFILES or drawn.DEFAULT in profiles:
            return _wrong(drawn.KEEP_PROFILE, say("home_profile_most", person.language, count=PROFILES))
        chosen["profiles"] = profiles or None
        self._store.save_preferences(person.team, person.user, chosen, person.user)
        return {}

    def _then_instructions(self, channel: str, person: Person) -> Ack:
        if refused := self._refused_in(channel, person):
            return _wrong("channel", refused)
        chosen = ChannelPreferences.read(self._store.preferences(person.team, [channel]).get(channel))
        name = self._slack.channel_name(channel)
        return replaced_by(drawn.instructions_view(channel, name, chosen, person.language))

    def _save_instructions(self, channel: str, text: str, person: Person) -> Ack:
        if refused := self._refused_in(channel, person):
            return _wrong("instructions", refused)
        said = text.strip()[:INSTRUCTION_CHARS] or None
        changes = self._store.save_preferences(person.team, channel, {"instructions": said}, person.user)
        for before, now in changes.values():
            details = {"characters_before": len(before or ""), "characters": len(now or "")}
            self._audit(person, Action.INSTRUCT, channel, "done", details)
        return {}

    def _refused_in(self, channel: str, person: Person) -> str:
        """Why a person may not write the instructions of a channel; "" when they may."""
        together = self._slack.shared_channels(person.user) or frozenset()
        allowed = self._handler.gate.verdict_on(person.user, ThreadKey(person.team, channel, HOME_TS), Action.INSTRUCT)
        if channel in together and allowed:
            return ""
        self._audit(person, Action.INSTRUCT, channel, "refused", {})
        return say("home_not_yours", person.language)

    def _save_settings(self, given: Mapping[str, str], person: Person) -> Ack:
        settings, wrong, changes = self._handler.settings, {}, {}
        if not self._handler.gate.verdict_on(person.user, person.place, Action.SETTINGS):
            self._audit(person, Action.SETTINGS, "", "refused", {})
            return {}
        for name, text in given.items():
            if name not in ADJUSTABLE or is_of_file(settings, name):
                continue
            value = _or_none(text.strip())
            try:
                changes[name] = None if value is None else str(parsed(settings, name, value))
            except NotAllowed:
                phrase = "home_needs_price" if is_money(name) else "home_not_allowed"
                wrong[drawn.field_of(name)] = say(phrase, person.language)
        if wrong:
            return all_wrong(wrong)
        done = self._store.save_preferences(person.team, WORKSPACE, changes, person.user)
        for name, (before, now) in done.items():
            self._audit(person, Action.SETTINGS, name, "done", {"before": str(before or ""), "now": str(now or "")})
        return {}

    def _audit(self, person: Person, action: Action, what: str, outcome: str, details: Mapping[str, int | str]) -> None:
        self._store.audit(person.user, action.value, f"{person.team}/{what}", outcome, details=details)


def form_of(submitted: Submitted) -> HomeForm | None:
    """Which form of the home was submitted; None for another one, and for one that was made up."""
    return next((kind.decode(submitted.metadata) for kind in _FORMS if submitted.callback == kind.ID), None)


def _or_none(value: str) -> str | None:
    return None if value in ("", drawn.DEFAULT) else value


def _wrong(name: str, text: str) -> Ack:
    return wrong_in(drawn.field_of(name), text)
