"""The team's memory in the app's home: who reads which entries, and what editing, renaming and forgetting does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from test_turn_home import Lobby, admin
from turn_world import ANA, BEN, CHANNEL, Json, NewWorld, World

from core.interactions import EntriesButton, EntryButton, EntryForm
from core.phrases import say
from core.slack.blocks import Limit
from core.slack.views.entries import PER_PAGE
from core.slack.views.modals import field_id
from core.team_folder.entries import Entries, Note
from core.team_folder.folder import TeamFolder
from core.values import Language

OWN, PRIVATE = f"channels/{CHANNEL}", "channels/C0PRIVATE1"
PAGE = (
    "# Definitions\n\nAsk Carla first.\n\n## active customer\nAn order in the last 90 days.\n\n"
    "_Kept by Ana on 2026-11-22; said by Ben in C1, message 100.1_\n\n## GMV\nGross merchandise value\n"
)


class Window(Lobby):
    """The home's window with the team's memory."""

    def write(self, file: str, page: str = PAGE) -> Path:
        path = self.path(file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8")
        return path

    def path(self, file: str = f"{OWN}/definitions.md") -> Path:
        return self.world.settings.memory_folder / file

    def note(self, title: str, space: str = OWN) -> Note:
        notes = Entries(TeamFolder(self.world.settings.memory_folder)).notes([space])
        return next(each for each in notes if each.entry.title == title)

    @property
    def shown(self) -> str:
        """The text of the window as it is now."""
        return json.dumps(self.world.slack.views[-1], ensure_ascii=False)

    def turn(self, space: str, page: int = 0, user: str = ANA) -> str:
        value = EntriesButton(space=space, page=page).encode()
        return self.bot.entries.turn_page(self.body(value, user), self.world.slack.team)

    def use(self, do: Any, note: Note, user: str = ANA) -> str:
        value = EntryButton(do=do, file=note.file, key=note.key).encode()
        return self.bot.entries.press(self.body(value, user), self.world.slack.team)

    def fill(self, note: Note, title: str, text: str, user: str = ANA) -> Json:
        form = EntryForm(file=note.file, key=note.key)
        values = {field_id(n): {field_id(n): {"value": value}} for n, value in enumerate((title, text))}
        view = {"callback_id": form.id, "private_metadata": form.encode(), "state": {"values": values}}
        return self.bot.entries.submit({"view": view, "user": {"id": user}}, self.world.slack.team)

    def body(self, value: str, user: str = ANA) -> Json:
        action = {"value": value, "action_ts": self.world.slack._next_ts()}
        return {"actions": [action], "user": {"id": user}, "trigger_id": "1.2.x", "view": {"id": "V1", "hash": "1.a"}}


@pytest.fixture
def window(world: World) -> Window:
    made = Window(world)
    made.write(f"{OWN}/definitions.md")
    return made


def test_the_home_lists_what_the_person_may_read_place_by_place(window: Window) -> None:
    window.write("everyone/conventions.md", "## amounts\nnet of VAT\n")
    text = window.open()
    assert say("home_memory", "en") in text
    assert "active customer; GMV" in text
    assert "all channels" in text
    assert window.press("memory") == "form"
    assert window.turn("everyone") == "turned"
    assert "net of VAT" in window.shown
    window.turn(OWN)
    assert "An order in the last 90 days." in window.shown
    assert "Kept by Ana on 2026-11-22" in window.shown


def test_entries_of_a_channel_are_shown_to_nobody_who_is_not_in_it(window: Window) -> None:
    window.write(f"{PRIVATE}/decisions.md", "## the merger\nWe sell in May.\n")
    secret = window.note("the merger", PRIVATE)
    assert "merger" not in window.open()
    window.press("memory")
    window.turn(PRIVATE)
    assert window.use("forget", secret) == "gone"
    assert window.use("edit", secret) == "gone"
    assert "merger" not in json.dumps(window.fill(secret, "the merger", "We do not."), ensure_ascii=False)
    assert "merger" not in json.dumps(window.world.slack.views, ensure_ascii=False)
    assert window.note("the merger", PRIVATE).entry.text == "We sell in May."


def test_a_guest_reads_nothing_of_what_everyone_reads(new_world: NewWorld) -> None:
    window = Window(new_world(team='[access]\nask = ["members", "guests"]\n'))
    window.write("everyone/conventions.md", "## amounts\nnet of VAT\n")
    window.world.slack.flags[BEN] = {"is_restricted": True}
    assert "amounts" not in window.open(BEN)
    assert "amounts" in window.open(ANA)


def test_a_project_is_read_in_its_channels(new_world: NewWorld) -> None:
    projects = f'[projects.churn]\nchannels = ["{CHANNEL}"]\n[projects.other]\nchannels = ["C0OTHER001"]\n'
    window = Window(new_world(team=projects))
    for name in ("churn", "other"):
        window.write(f"projects/{name}/glossary.md", f"## {name} rate\nleft / before\n")
    text = window.open()
    assert "project churn" in text
    assert "other rate" not in text


def test_a_new_text_is_signed_and_stands_in_the_audit(window: Window) -> None:
    note = window.note("active customer")
    assert window.use("edit", note) == "form"
    assert "An order in the last 90 days." in window.shown
    ack = window.fill(note, "active customer", "An order in the last 60 days.")
    assert ack["response_action"] == "update"
    assert "60 days" in json.dumps(ack)
    changed = window.note("active customer").entry
    assert changed.text == "An order in the last 60 days."
    assert changed.kept.startswith("Kept by Ana on 2026-11-22; said by Ben in C1, message 100.1; changed by ana on ")
    window.fill(window.note("active customer"), "active customer", "An order in the last 30 days.")
    assert window.note("active customer").entry.kept.count("changed by") == 1
    assert "Ask Carla first." in window.path().read_text("utf-8")
    resource = f"{window.world.slack.team}/{OWN}/definitions.md"
    assert (ANA, "remember", resource, "done") in window.audit()


def test_a_new_title_changes_the_heading_and_nothing_below_it(window: Window) -> None:
    before = window.path().read_text("utf-8")
    window.fill(window.note("active customer"), "  active   client ", "An order in the last 90 days.")
    assert window.path().read_text("utf-8") == before.replace("## active customer", "## active client")
    assert "active client; GMV" in window.text()


def test_a_title_that_another_entry_has_and_an_empty_one_are_said_at_the_field(window: Window) -> None:
    note = window.note("active customer")
    assert window.fill(note, "gmv", note.entry.text)["errors"] == {field_id(0): say("entry_taken", "en")}
    assert list(window.fill(note, " ", "x")["errors"]) == [field_id(0)]
    assert list(window.fill(note, "x", " ")["errors"]) == [field_id(1)]
    assert window.note("active customer") == note


def test_forgetting_asks_first_and_removes_the_entry_alone(window: Window) -> None:
    window.press("memory")
    assert "is removed from" in window.shown
    assert window.use("forget", window.note("GMV")) == "forgotten"
    assert "Gross merchandise" not in window.shown
    page = window.path().read_text("utf-8")
    assert "GMV" not in page
    assert "active customer" in page


def test_what_was_changed_meanwhile_is_not_changed_again_and_the_window_says_so(window: Window) -> None:
    note = window.note("active customer")
    window.write(f"{OWN}/definitions.md", PAGE.replace("90 days", "45 days"))
    assert window.use("forget", note) == "gone"
    assert say("entry_gone", "en") in window.shown
    assert say("entry_gone", "en") in json.dumps(window.fill(note, "x", "y"), ensure_ascii=False)
    assert window.note("active customer").entry.text == "An order in the last 45 days."


def test_whoever_may_not_remember_reads_and_changes_nothing(new_world: NewWorld) -> None:
    window = Window(new_world(team=f'[access]\nremember = ["{ANA}"]\n'))
    window.write(f"{OWN}/definitions.md")
    note = window.note("GMV")
    window.press("memory", user=BEN)
    assert "Gross merchandise value" in window.shown
    assert f"{EntryButton.ID}:forget" not in window.shown
    assert window.use("forget", note, BEN) == "refused"
    assert window.use("edit", note, BEN) == "refused"
    assert say("entries_refused", "en") in json.dumps(window.fill(note, "x", "y", BEN), ensure_ascii=False)
    assert window.note("GMV") == note
    assert {line[3] for line in window.audit() if line[:2] == (BEN, "remember")} == {"refused"}


def test_what_holds_beyond_a_channel_is_changed_by_admins(window: Window) -> None:
    window.write("everyone/conventions.md", "## amounts\nnet of VAT\n")
    note = window.note("amounts", "everyone")
    assert window.use("forget", note) == "refused"
    admin(window.world)
    assert window.use("forget", note) == "forgotten"
    assert not window.path("everyone/conventions.md").exists()


def test_the_text_above_the_first_heading_has_no_form_and_a_long_one_only_a_title(window: Window) -> None:
    assert window.fill(window.note("Definitions"), "x", "y")["response_action"] == "update"
    assert window.path().read_text("utf-8") == PAGE
    window.write(f"{OWN}/definitions.md", "## long\n" + "word " * 1_000)
    long = window.note("long")
    window.use("edit", long)
    assert say("entry_long", "en", file=long.file) in window.shown
    window.fill(long, "longer", "this is not taken")
    page = window.path().read_text("utf-8")
    assert page.startswith("## longer\nword word")
    assert page.count("word") == 1_000


def test_a_folder_that_cannot_be_written_is_told_and_nothing_is_lost(
    window: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = window.note("GMV")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("core.team_folder.folder.os.replace", full)
    assert "No space left on device" in window.fill(note, "GMV", "another text")["errors"][field_id(0)]
    window.use("forget", note)
    assert "No space left on device" in window.shown
    assert window.note("GMV") == note


@pytest.mark.parametrize("language", ["en", "zh", "de", "es", "fr", "ja"])
def test_a_page_of_the_window_fits_slack_in_each_language(window: Window, language: Language) -> None:
    window.world.store.save_preferences(window.world.slack.team, ANA, {"language": language}, ANA)
    terms = [f"term {n} of the list" for n in range(PER_PAGE * 2)]
    window.write(f"{OWN}/glossary.md", "".join(f"## {term}\n{'meaning ' * 400}\n" for term in terms))
    window.press("memory")
    seen: list[str] = []
    for page in range(3):
        window.turn(OWN, page)
        assert len(window.world.slack.views[-1]["blocks"]) <= Limit.VIEW_BLOCKS
        seen += [term for term in terms if f'"{term}"' in window.shown]
    assert sorted(seen) == sorted(terms)


def test_a_press_that_is_none_of_ours_does_nothing(window: Window) -> None:
    entries, team = window.bot.entries, window.world.slack.team
    assert entries.press(window.body("{}"), team) == "malformed"
    assert entries.turn_page(window.body("{}"), team) == "malformed"
    value = EntryButton(do="forget", file="../../etc/passwd.md", key=window.note("GMV").key).encode()
    assert entries.press(window.body(value), team) == "gone"
    assert entries.submit({"view": {"private_metadata": "{}"}, "user": {"id": ANA}}, team) == {}
