"""The contract of every button, form and shortcut: pressed by the right person, by the wrong one, twice, too late,
after a restart, and by two bots at once, it ends in one state and one message.

Presses go through the bot's own Bolt app, on the Slack of whole turns. The rows are compared with the registry: a new
interaction fails here until it has one.
"""

from __future__ import annotations

import json
import re
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

import fakeredis
import pytest
from slack_bolt import BoltRequest
from test_turn_playbooks import QUESTION, READ, SALES, SUM, kept
from test_turn_report_buttons import AtOnce
from turn_world import ANA, BEN, CHANNEL, Json, NewWorld, World, cell, failure, finish, question

from bot.app import build_app
from bot.connection.retry_buffer import RetryBuffer
from bot.desks import Desks
from bot.message_handler import MessageHandler
from core.actions import Action
from core.interactions import (
    INTERACTIONS,
    AgainButton,
    ApprovalButton,
    AskForm,
    ChannelsForm,
    ContextForm,
    DefaultsForm,
    EditForm,
    EntriesButton,
    EntryButton,
    EntryForm,
    FilesButton,
    HintForm,
    HomeButton,
    InstructionsForm,
    Interaction,
    LeaveButton,
    MemoryButton,
    MemoryForm,
    Menu,
    MenuForm,
    ModelButton,
    OptionButton,
    PageButton,
    PinButton,
    PlaybookButton,
    RateForm,
    ReasonForm,
    ReportButton,
    ScheduleButton,
    SettingsForm,
    SpeakForm,
    StepButton,
    StopButton,
    SuggestionButton,
    ThreadsButton,
    ThreadsForm,
    TourButton,
    VersionButton,
)
from core.queue import Wakes
from core.schedules.values import ScheduleOrder
from core.slack.views.home import field_of
from core.slack.views.menu import CHOICE
from core.slack.views.modals import field_id
from core.slack.views.reports import reason_field
from core.slack.views.threads import WORDS
from core.slack.writing.writer import SlackWriter
from core.spool import Spool
from core.steps import Proposed, dump_step
from core.team_folder.entries import Entries, Note
from core.team_folder.folder import TeamFolder
from core.team_folder.pages import entries_of
from core.values import Lease, ThreadKey
from tryout.stack.blocks_text import message_text
from workers.models.scripted import ScriptedModel

Values = Mapping[str, Any]
ONLY_ANA = "[access]\n" + "".join(f'{action.value} = ["{ANA}"]\n' for action in Action)
EVERY = '[approvals]\nask = "every cell"\n'
PLAN = '[approvals]\nask = "plan"\n'
FILES = '[approvals]\nfiles = "always"\n'
LOOK = cell('print("North 120")', "Totals")
REPORT = "North sold 120 units."
CSV = {"sales.csv": b"region,revenue\nNorth,120\nSouth,100\nNorth,7\n"}
AT = "1700000000.000100"
"""The moment of a press, as Slack tells it."""


class Bot:
    """A bot that has just started: nothing is remembered."""

    def __init__(self, world: World) -> None:
        slack = SlackWriter(world.slack.client(), world.store)
        self.world = world
        handler = MessageHandler(
            settings=world.settings,
            store=world.store,
            wakes=Wakes(fakeredis.FakeRedis(server=fakeredis.FakeServer()), world.store),
            slack=slack,
            later=AtOnce(),
            lookups=AtOnce(),
        )
        buffer = RetryBuffer(lambda _: None, Spool(world.settings.spool))
        desks = Desks(world.store, lambda _: handler, many=False)
        self._app = build_app(world.slack.client(), world.store, desks, buffer)

    def take(self, body: Json) -> str:
        """The ack of a payload; what Slack would show of it."""
        reply = self._app.dispatch(BoltRequest(mode="socket_mode", body=body))
        assert reply.status == 200
        return str(reply.body or "")


_IN_A_VIEW = (
    *(PageButton, HomeButton, EntriesButton, EntryButton, TourButton, VersionButton),
    *(ScheduleButton, ThreadsButton, PinButton),
)
"""Buttons of windows and of the app's home."""
_ANSWERS_THERE = (HomeButton, EntriesButton, EntryButton, ScheduleButton, PinButton)
"""Those that tell whoever may not in a window."""


@dataclass
class Scene:
    """A world in which the interaction is offered, and how it is used."""

    world: World
    key: ThreadKey
    use: Interaction
    values: Values = field(default_factory=dict)
    shown: str = ""
    action: str = ""
    """The action id, where it is not the interaction's own."""

    def body(self, user: str) -> Json:
        team = self.key.team
        body: Json = {"team": {"id": team}, "user": {"id": user, "team_id": team}, "trigger_id": f"1.2.{user}"}
        if isinstance(self.use, Menu):
            message = {"ts": self.shown, "thread_ts": self.key.root_ts, "text": "x"}
            more: Json = {"channel": {"id": self.key.channel}, "message": message, "message_ts": self.shown}
            return {**body, **more, "type": "message_action", "callback_id": Menu.ID}
        view = {"id": "V1", "hash": "1.a", "type": "modal", "callback_id": self.use.id}
        if type(self.use).__name__.endswith("Form"):
            state = {"state": {"values": dict(self.values)}, "private_metadata": self.use.encode()}
            return {**body, "type": "view_submission", "view": {**view, **state}}
        action: Json = {"action_id": self.action or self.use.id, "block_id": "b", "type": "button", "action_ts": AT}
        value: Json = {"value": self.use.encode()}
        action |= {"selected_option": value} if self.action == ReportButton.MENU else value
        pressed = {**body, "type": "block_actions", "actions": [action]}
        if isinstance(self.use, _IN_A_VIEW):
            return {**pressed, "view": view, "container": {"type": "view", "view_id": "V1"}}
        container = {"type": "message", "channel_id": self.key.channel, "message_ts": self.shown}
        return {**pressed, "channel": {"id": self.key.channel}, "container": container}

    def settle(self) -> None:
        """Every thread comes to rest."""
        for key in threads(self.world):
            self.world.settle(key)


def threads(world: World) -> list[ThreadKey]:
    rows = rows_of(world, "SELECT id FROM threads ORDER BY created_at, id")
    return [ThreadKey.parse(row[0]) for row in rows]


def rows_of(world: World, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(world.settings.database_url.removeprefix("sqlite:///"))) as database:
        return database.execute(query).fetchall()


_HEARD = ("commanded", "acknowledged")
"""Steps that say that a command was heard; what it did is a step of its own."""


_OF_THIS_RUN = re.compile(r"\b\d{10}[.]?\d{6}\b|(?<=/p)\d{16}\b|\b\d+\.\d+ s\b")
"""The time of a message, alone or in a link, and how long something took."""


def state(world: World) -> Json:
    """What the product knows: turns and steps, votes, what was chosen, what is remembered, which threads were left."""
    found = []
    for key in threads(world):
        steps = [
            [one["kind"] + str(one.get("outcome") or "") for one in map(dump_step, own) if one["kind"] not in _HEARD]
            for own in world.store.thread_steps(key.id).values()
        ]
        found.append((world.statuses(key), steps, world.store.has_left(key)))
    folder = world.settings.memory_folder
    return {
        "threads": found,
        "votes": sorted(rows_of(world, "SELECT user, vote, reason FROM votes")),
        "examples": sorted(rows_of(world, "SELECT turn_id, user FROM examples")),
        "pins": sorted(rows_of(world, "SELECT user FROM own_pins")),
        "schedules": sorted(rows_of(world, "SELECT state, reason FROM schedules")),
        "chosen": sorted(rows_of(world, "SELECT subject, body FROM preferences WHERE team <> ''"), key=repr),
        "memory": sorted(
            (
                str(path.relative_to(folder)),
                [(each.title, _OF_THIS_RUN.sub("some", each.text)) for each in entries_of(path.read_text("utf-8"), "")],
            )
            for path in folder.rglob("*.md")
        ),
    }


def told(world: World) -> Counter[str]:
    """Every sentence that somebody can read: in threads with the names of files, in whispers, in windows."""
    found: Counter[str] = Counter()
    for key in threads(world):
        for message in world.messages(key, ours=True):
            files = [file["name"] for file in message.get("files") or ()]
            found["\n".join([message_text(message), *files])] += 1
    found.update(text for _, text in world.slack.whispers)
    found.update(message_text({"blocks": view["blocks"]}) for view in world.slack.views)
    return found


def times(world: World, words: str) -> int:
    return sum(text.count(words) * count for text, count in told(world).items())


# --- the scenes


def asked(world: World, *script: Json, text: str = "how much?", **more: Any) -> ThreadKey:
    world.model = ScriptedModel([*script, *[finish(REPORT)] * 6])
    key = world.say(text, **more)
    world.settle(key)
    return key


def turn_of(world: World, key: ThreadKey) -> str:
    return world.turns(key)[-1].id


def showing(world: World, key: ThreadKey, words: str) -> str:
    """The ts of our last message that has these words."""
    return str([m["ts"] for m in world.messages(key, ours=True) if words in json.dumps(m, ensure_ascii=False)][-1])


def reported(world: World) -> ThreadKey:
    return asked(world, LOOK, finish(REPORT))


def waiting(world: World) -> Scene:
    key = asked(world, question("Which year?", "2022", "2023"), finish(REPORT))
    return Scene(world, key, StopButton(turn=turn_of(world, key)), shown=showing(world, key, "Which year?"))


def option(world: World) -> Scene:
    scene = waiting(world)
    call = scene.world.steps(scene.key, "questioned")[-1]["call_id"]
    scene.use = OptionButton(turn=turn_of(world, scene.key), call=call, n=0)
    return scene


def leave(world: World) -> Scene:
    key = reported(world)
    return Scene(world, key, LeaveButton(thread=key.id), shown=showing(world, key, "North"))


def approval(world: World, do: Any = "run") -> Scene:
    key = asked(world, LOOK, finish(REPORT))
    use = ApprovalButton(turn=turn_of(world, key), call="approve:1", do=do)
    return Scene(world, key, use, shown=showing(world, key, "May this code run?"))


def plan(world: World) -> Scene:
    listed = finish("1. Load — a clean table\n2. Compare — the winner")
    key = asked(world, listed, cell("rows = [1, 2]", "Load"), finish("The table is clean."))
    use = ApprovalButton(turn=turn_of(world, key), call="approve:1", do="run")
    return Scene(world, key, use, shown=showing(world, key, "My plan"))


def stage(world: World) -> Scene:
    scene = plan(world)
    world.decide(scene.key, "run")
    scene.settle()
    scene.use = ApprovalButton(turn=turn_of(world, scene.key), call="approve:2", do="run")
    scene.shown = showing(world, scene.key, "Result of stage")
    return scene


def held_files(world: World) -> Scene:
    key = asked(world, cell('open("a.csv", "w").write("n\\n7\\n")\nprint("North 120")'), finish(REPORT))
    return Scene(
        world, key, FilesButton(thread=key.id, held="files:1", do="send"), shown=showing(world, key, "a.csv · ")
    )


def edit(world: World) -> Scene:
    scene = approval(world)
    scene.use = EditForm(turn=turn_of(world, scene.key), call="approve:1")
    scene.values = one_field('print("North 121")')
    return scene


def hint(world: World) -> Scene:
    scene = approval(world)
    scene.use = HintForm(turn=turn_of(world, scene.key), call="approve:1")
    scene.values = one_field("by month, please")
    return scene


def one_field(text: str) -> Values:
    return {field_id(0): {field_id(0): {"value": text}}}


def choice(value: str) -> Values:
    return {CHOICE: {CHOICE: {"selected_option": {"value": value}}}}


def menu(world: World) -> Scene:
    key = reported(world)
    return Scene(world, key, Menu(), shown=key.root_ts)


def menu_form(world: World) -> Scene:
    key = reported(world)
    return Scene(world, key, MenuForm(thread=key.id, ts=key.root_ts, at=AT), choice("leave_out"))


def ask_form(world: World) -> Scene:
    key = reported(world)
    return Scene(world, key, AskForm(thread=key.id, ts=key.root_ts), one_field("and by month?"))


def context_form(world: World) -> Scene:
    key = reported(world)
    return Scene(world, key, ContextForm(thread=key.id, ts=key.root_ts, at=AT), one_field("how many units?"))


def rate_form(world: World) -> Scene:
    key = reported(world)
    values = {**choice("up"), **one_field("well explained")}
    return Scene(world, key, RateForm(thread=key.id, ts=showing(world, key, "👍"), at=AT), values)


def version(world: World) -> Scene:
    key = reported(world)
    return Scene(world, key, VersionButton(thread=key.id, ts=key.root_ts, n=0))


def speak_form(world: World) -> Scene:
    key = asked(world, question("Which year?"), finish(REPORT))
    values = {**choice("message"), **one_field("It is 42, I counted.")}
    return Scene(world, key, SpeakForm(thread=key.id, at=AT), values)


def again(world: World) -> Scene:
    key = reported(world)
    return Scene(world, key, AgainButton(thread=key.id, ts=key.root_ts), shown=key.root_ts)


def suggestion(world: World) -> Scene:
    key = asked(world, cell("print(len(open('sales.csv').read()))"), finish("There are 3 rows."), files=CSV)
    use = SuggestionButton(thread=key.id, n=0, question="Which region has the most revenue?")
    return Scene(world, key, use, shown=showing(world, key, "3 rows"))


def report_button(world: World, do: Any = "up") -> Scene:
    key = reported(world)
    action = ReportButton.MENU if do == "download" else ""
    use = ReportButton(turn=turn_of(world, key), do=do)
    return Scene(world, key, use, shown=showing(world, key, "👍"), action=action)


def page(world: World) -> Scene:
    key = reported(world)
    return Scene(world, key, PageButton(turn=turn_of(world, key), shows="code", page=0))


def step(world: World) -> Scene:
    key = reported(world)
    return Scene(world, key, StepButton(turn=turn_of(world, key)), shown=showing(world, key, "Show steps"))


def reason(world: World) -> Scene:
    key = reported(world)
    turn = turn_of(world, key)
    for user in (ANA, BEN):
        world.store.save_vote(turn, user, "down")
    values = {reason_field(): {reason_field(): {"value": "the year is missing"}}}
    return Scene(world, key, ReasonForm(turn=turn), values)


def model(world: World) -> Scene:
    world.models = {"small": ScriptedModel([LOOK, finish(REPORT), finish(REPORT)])}
    world.model = ScriptedModel([LOOK, failure("unavailable"), finish(REPORT)])
    key = world.say("how much?")
    world.settle(key)
    shown = showing(world, key, "language model")
    return Scene(world, key, ModelButton(turn=turn_of(world, key), do="use", n=1, model="small"), shown=shown)


def proposal(world: World) -> tuple[ThreadKey, str]:
    key = world.say("remember: active customer = a customer with an order in the last 90 days")
    world.settle(key)
    steps = [each for own in world.store.thread_steps(key.id).values() for each in own]
    return key, next(each.id for each in steps if isinstance(each, Proposed))


def memory(world: World) -> Scene:
    key, proposed = proposal(world)
    use = MemoryButton(thread=key.id, proposal=proposed, do="keep")
    return Scene(world, key, use, shown=showing(world, key, "Shall I remember"))


def memory_form(world: World) -> Scene:
    key, proposed = proposal(world)
    values = {field_id(n): {field_id(n): {"value": text}} for n, text in enumerate(("active", "in the last 60 days"))}
    return Scene(world, key, MemoryForm(thread=key.id, proposal=proposed, at=AT), values)


def playbook(world: World) -> Scene:
    kept(world)
    key = asked(world, cell(READ, "Read"), cell(SUM, "Add"), text=QUESTION, files={"sales.csv": SALES})
    use = PlaybookButton(turn=turn_of(world, key), do="open")
    return Scene(world, key, use, shown=showing(world, key, "playbook"))


def home(world: World) -> Scene:
    return Scene(world, at_home(world, ANA), HomeButton(do="settings"), action="home:settings")


def at_home(world: World, *admins: str) -> ThreadKey:
    for user in admins:
        world.slack.flags[user] = {"is_admin": True}
    return ThreadKey(world.slack.team, ANA, "0.0")


def remembered(world: World) -> Note:
    """An entry of the channel, and one that stays."""
    folder = world.settings.memory_folder
    (folder / "channels" / CHANNEL).mkdir(parents=True, exist_ok=True)
    page = "# Definitions\n\n## active\nin the last 90 days\n\n## GMV\nGross merchandise value\n"
    (folder / "channels" / CHANNEL / "definitions.md").write_text(page, encoding="utf-8")
    return Entries(TeamFolder(folder)).notes([f"channels/{CHANNEL}"])[0]


def entries(world: World) -> Scene:
    remembered(world)
    return Scene(world, at_home(world), EntriesButton(space=f"channels/{CHANNEL}"))


def entry(world: World) -> Scene:
    note = remembered(world)
    return Scene(world, at_home(world), EntryButton(do="forget", file=note.file, key=note.key))


def entry_form(world: World) -> Scene:
    note = remembered(world)
    values = {field_id(n): {field_id(n): {"value": text}} for n, text in enumerate(("active", "in the last 60 days"))}
    return Scene(world, at_home(world), EntryForm(file=note.file, key=note.key), values)


def tour(world: World) -> Scene:
    world.model = ScriptedModel([LOOK, finish(REPORT)])
    return Scene(world, at_home(world), TourButton(n=0))


def schedule(world: World) -> Scene:
    key = reported(world)
    lease = Lease(thread_id=key.id, token=world.store.raise_fence(key.id), owner="w")
    order = ScheduleOrder(cron="0 9 * * 1", zone="UTC", language="en")
    more: Json = {"owner": ANA, "order": order, "next_at": datetime(2030, 1, 7, 8, tzinfo=UTC), "shown": []}
    said = "every Monday 9:00 run this again"
    world.store.add_schedule(lease, turn_of(world, key), said=said, schedule_id=f"{key.id}/s1", **more)
    at_home(world)
    return Scene(world, key, ScheduleButton(do="pause", thread=key.id, schedule=f"{key.id}/s1"))


def found_threads(world: World) -> Scene:
    reported(world)
    return Scene(world, at_home(world), ThreadsButton(mine=True))


def pin(world: World) -> Scene:
    key = reported(world)
    return Scene(world, at_home(world), PinButton(do="pin", thread=key.id))


def threads_form(world: World) -> Scene:
    reported(world)
    return Scene(world, at_home(world), ThreadsForm(), {WORDS: {WORDS: {"value": "much"}}})


def defaults(world: World) -> Scene:
    values = {field_of("instructions"): {field_of("instructions"): {"value": "always say how many rows"}}}
    return Scene(world, at_home(world), DefaultsForm(), values)


def channels(world: World) -> Scene:
    name = field_of("channel")
    return Scene(world, at_home(world), ChannelsForm(), {name: {name: {"selected_option": {"value": CHANNEL}}}})


def instructions(world: World) -> Scene:
    values = {field_of("instructions"): {field_of("instructions"): {"value": "amounts in thousands"}}}
    return Scene(world, at_home(world), InstructionsForm(channel=CHANNEL), values)


def settings(world: World) -> Scene:
    values = {field_of("approvals.ask"): {field_of("approvals.ask"): {"selected_option": {"value": "risky"}}}}
    return Scene(world, at_home(world, ANA), SettingsForm(), values)


# --- the table


def press(scene: Scene, user: str = ANA, bot: Bot | None = None) -> str:
    return (bot or Bot(scene.world)).take(scene.body(user))


def pressed_before(scene: Scene) -> None:
    """Too late: somebody did the same, and it came to rest."""
    press(scene)
    scene.settle()


def turn_stopped(scene: Scene) -> None:
    """Too late: the turn was stopped."""
    scene.world.say("stop", thread=scene.key)
    scene.settle()


@dataclass(frozen=True)
class Row:
    """How an interaction is offered, and the words of its one message ("" where the state alone tells).

    `opens`: each press opens or turns a window for whoever pressed, and changes nothing. `posts`: a message is all that
    comes of it. `own`: it is about whoever
    presses, so nobody is the wrong person; their press changes nothing of another's.
    """

    scene: Callable[[World], Scene]
    said: str = ""
    team: str = ""
    opens: bool = False
    posts: bool = False
    own: bool = False
    late: Callable[[Scene], None] = pressed_before


TABLE: dict[type[Interaction], Row] = {
    StopButton: Row(waiting),
    OptionButton: Row(option, late=turn_stopped),
    LeaveButton: Row(leave, "I have left this thread"),
    ApprovalButton: Row(approval, "ana let it run", team=EVERY, late=turn_stopped),
    FilesButton: Row(held_files, "ana sent them", team=FILES),
    EditForm: Row(edit, team=EVERY, late=turn_stopped),
    HintForm: Row(hint, "by month, please", team=EVERY, late=turn_stopped),
    Menu: Row(menu, opens=True, own=True),
    MenuForm: Row(menu_form),
    AskForm: Row(ask_form),
    ContextForm: Row(context_form),
    RateForm: Row(rate_form, "👍 1"),
    VersionButton: Row(version, opens=True),
    SpeakForm: Row(speak_form, "It is 42, I counted."),
    AgainButton: Row(again),
    SuggestionButton: Row(suggestion),
    ReportButton: Row(report_button, "👍 1"),
    PageButton: Row(page, opens=True),
    StepButton: Row(step, opens=True),
    ReasonForm: Row(reason, "the year is missing"),
    ModelButton: Row(model, "ana lets me go on with small."),
    MemoryButton: Row(memory, "kept this: “"),
    MemoryForm: Row(memory_form, "kept this: “"),
    PlaybookButton: Row(playbook, opens=True, own=True),
    HomeButton: Row(home, opens=True),
    EntriesButton: Row(entries, opens=True),
    EntryButton: Row(entry),
    EntryForm: Row(entry_form),
    TourButton: Row(tour, own=True),
    DefaultsForm: Row(defaults, own=True),
    ChannelsForm: Row(channels, opens=True),
    InstructionsForm: Row(instructions),
    SettingsForm: Row(settings),
    ScheduleButton: Row(schedule, "ana paused “every Monday 9:00 run this again” in the app's home"),
    ThreadsButton: Row(found_threads, opens=True, own=True),
    PinButton: Row(pin),
    ThreadsForm: Row(threads_form, opens=True, own=True),
}
VARIANTS: dict[str, Row] = {
    "ReportButton share": Row(partial(report_button, do="share"), "ana shares a report from this thread", posts=True),
    "ReportButton again": Row(partial(report_button, do="again"), "asked again: how much?"),
    "ReportButton download": Row(partial(report_button, do="download"), "analysis.zip", posts=True),
    "ApprovalButton skip": Row(partial(approval, do="skip"), "ana skipped it", team=EVERY, late=turn_stopped),
    "ApprovalButton reject": Row(partial(approval, do="reject"), "ana rejected it", team=EVERY, late=turn_stopped),
    "ApprovalButton show": Row(partial(approval, do="show"), team=EVERY, opens=True),
    "ApprovalButton redo": Row(partial(approval, do="redo"), team=EVERY, opens=True, late=turn_stopped),
    "ApprovalButton go": Row(plan, "ana said go", team=PLAN, late=turn_stopped),
    "ApprovalButton approve": Row(stage, "ana approved it", team=PLAN, late=turn_stopped),
}
"""What else a class of the table does, where it goes another way."""
CASES: dict[str, Row] = {kind.__name__: row for kind, row in TABLE.items()} | VARIANTS
ROWS = pytest.mark.parametrize("case", CASES)

_ONCE: dict[str, tuple[Json, Json, int]] = {}


def once(new_world: NewWorld, case: str) -> tuple[Json, Json, int]:
    """The state before and after one press by the right person, and how often its words are read then.

    It is the same each time, so it is found out once.
    """
    if case not in _ONCE:
        row = CASES[case]
        world = new_world(team=row.team)
        scene = row.scene(world)
        before = state(world)
        press(scene)
        scene.settle()
        _ONCE[case] = before, state(world), times(world, row.said) if row.said else 0
    return _ONCE[case]


def test_every_interaction_of_the_registry_has_its_row() -> None:
    assert set(TABLE) == set(INTERACTIONS)


def test_a_form_that_becomes_a_message_carries_the_moment_it_was_opened(new_world: NewWorld) -> None:
    """So one that Slack sends twice has one ts, and is one message."""
    world = new_world()
    press(menu(world))
    assert MenuForm.decode(world.slack.views[-1]["private_metadata"]).at  # type: ignore[union-attr]
    scene = menu_form(world)
    for option, kind in (("edit", ContextForm), ("speak", SpeakForm)):
        scene.values = choice(option)
        assert '\\"at\\":\\"' in press(scene), kind.__name__
    scene = memory(world)
    assert isinstance(scene.use, MemoryButton)
    scene.use = scene.use.model_copy(update={"do": "edit"})
    press(scene)
    assert MemoryForm.decode(world.slack.views[-1]["private_metadata"]).at  # type: ignore[union-attr]


@ROWS
def test_the_right_person_gets_one_state_and_one_message(case: str, new_world: NewWorld) -> None:
    row = CASES[case]
    before, after, read = once(new_world, case)
    assert (after == before) is (row.opens or row.posts)
    assert read == (1 if row.said else 0)


@ROWS
def test_the_wrong_person_changes_nothing_and_is_told_once(case: str, new_world: NewWorld) -> None:
    row = CASES[case]
    world = new_world(team=f"{row.team}{ONLY_ANA}")
    scene = row.scene(world)
    before, read = state(world), told(world)
    ack = press(scene, BEN)
    scene.settle()
    if row.own:
        mine = [each for each in state(world)["chosen"] if ANA in str(each)]
        assert mine == []
        return
    assert state(world) == before
    new = told(world) - read
    assert new.total() + ("errors" in ack) <= 1
    assert not scene.world.slack.views or isinstance(scene.use, _ANSWERS_THERE)


@ROWS
def test_a_second_press_changes_nothing_more(case: str, new_world: NewWorld) -> None:
    row = CASES[case]
    _, after, read = once(new_world, case)
    world = new_world(team=row.team)
    scene = row.scene(world)
    bot = Bot(world)
    for _ in range(2):
        press(scene, bot=bot)
    scene.settle()
    assert state(world) == after
    assert not row.said or times(world, row.said) == read


@ROWS
def test_a_late_press_changes_nothing_and_is_told_at_most_once(case: str, new_world: NewWorld) -> None:
    row = CASES[case]
    world = new_world(team=row.team)
    scene = row.scene(world)
    row.late(scene)
    before, read = state(world), told(world)
    press(scene)
    scene.settle()
    assert state(world) == before
    assert (told(world) - read).total() <= 1


@ROWS
def test_a_restart_in_between_loses_nothing(case: str, new_world: NewWorld) -> None:
    """The press meets a bot that just started, Slack sends it once more to the next one, and workers are new too."""
    row = CASES[case]
    _, after, read = once(new_world, case)
    world = new_world(team=row.team)
    scene = row.scene(world)
    press(scene, bot=Bot(world))
    press(scene, bot=Bot(world))
    scene.settle()
    assert state(world) == after
    assert not row.said or times(world, row.said) == read


@ROWS
def test_two_at_once_are_one(case: str, new_world: NewWorld) -> None:
    row = CASES[case]
    _, after, read = once(new_world, case)
    world = new_world(team=row.team)
    scene = row.scene(world)
    both, faults = threading.Barrier(2), list[BaseException]()

    def run(bot: Bot) -> None:
        try:
            both.wait()
            press(scene, bot=bot)
        except BaseException as error:
            faults.append(error)

    pair = [threading.Thread(target=run, args=(Bot(world),)) for _ in range(2)]
    for each in pair:
        each.start()
    for each in pair:
        each.join()
    assert faults == []
    scene.settle()
    assert state(world) == after
    assert not row.said or times(world, row.said) == read
