"""The app's home: what it shows to whom, what its forms change, who may, and the tour with sample data.

The presses go through the bot's own listeners, on the Slack of whole turns.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import fakeredis
import pytest
from patience import eventually
from test_turn_held_files import press, steps
from test_turn_report_buttons import AtOnce
from turn_world import ANA, BEN, CHANNEL, Json, NewWorld, World, cell, finish, question

from bot.home.home import Home
from bot.message_handler import MessageHandler
from core.interactions import ChannelsForm, DefaultsForm, HomeButton, InstructionsForm, SettingsForm, TourButton
from core.preferences import INSTRUCTION_CHARS, PROFILES
from core.queue import Wakes
from core.slack.blocks import Limit
from core.slack.views.home import DEFAULT, LANGUAGES, field_of
from core.slack.writing.writer import SlackWriter
from core.values import Language, ThreadKey
from tryout.stack.blocks_text import message_text
from workers.models.scripted import ScriptedModel

LONG_AGO = datetime.now(UTC) - timedelta(days=9)
SCRIPT = (cell("print(1)"), finish("It is 1."))


class Lobby:
    """A world and the bot of its home. Each use meets a bot that just started."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.redis = fakeredis.FakeRedis(server=fakeredis.FakeServer())

    @property
    def bot(self) -> Home:
        world = self.world
        slack = SlackWriter(world.slack.client(), world.store)
        handler = MessageHandler(
            settings=world.settings,
            store=world.store,
            wakes=Wakes(self.redis, world.store),
            slack=slack,
            later=AtOnce(),
            lookups=AtOnce(),
        )
        return Home(world.store, slack, handler)

    def open(self, user: str = ANA, **event: Any) -> str:
        """What the home of this person shows after they opened it."""
        shown = self.world.slack.homes.get(user)
        view = {"view": {"hash": shown["hash"]}} if shown else {}
        self.bot.opened(
            {"user": user, "tab": "home", "channel": f"D{user[1:]}", **view, **event}, self.world.slack.team
        )
        return self.text(user)

    def text(self, user: str = ANA) -> str:
        return message_text({"blocks": self.world.slack.homes[user]["blocks"]})

    def press(self, do: Any, *, user: str = ANA, trigger: str = "1.2.x") -> str:
        action = {"value": HomeButton(do=do).encode(), "action_ts": self.world.slack._next_ts()}
        body = {"actions": [action], "user": {"id": user}, "trigger_id": trigger, "view": {"id": "V1", "hash": "1.a"}}
        return self.bot.press(body, self.world.slack.team)

    def submit(self, form: Any, *, user: str = ANA, team: str = "", **given: str) -> Json:
        values = {}
        for name, value in given.items():
            key = field_of(name.replace("__", "."))
            values[key] = {key: {"selected_option": {"value": value}} if name == "language" else {"value": value}}
        view = {"callback_id": form.id, "private_metadata": form.encode(), "state": {"values": values}}
        return self.bot.submit({"view": view, "user": {"id": user}}, team or self.world.slack.team)

    def tour(self, n: int = 0, *, user: str = ANA, ts: str = "1.000001") -> str:
        body = {"actions": [{"value": TourButton(n=n).encode(), "action_ts": ts}], "user": {"id": user}}
        return self.bot.tour(body, self.world.slack.team)

    def chosen(self, subject: str = ANA) -> dict[str, Any]:
        return self.world.store.preferences(self.world.slack.team, [subject]).get(subject, {})

    def audit(self) -> list[tuple[str, str, str, str]]:
        return [(line.actor, line.action, line.resource, line.outcome) for line in self.world.store.audit_lines()]


def admin(world: World, user: str = ANA) -> None:
    world.slack.flags[user] = {"is_admin": True}


@pytest.fixture
def lobby(world: World) -> Lobby:
    return Lobby(world)


# --- what is shown


def test_an_empty_home_says_what_to_do_next(lobby: Lobby) -> None:
    text = lobby.open()
    assert "You have not asked anything yet." in text
    assert "[Which region sells most?]" in text
    assert "[Policies and budgets]" not in text, "Ana is no admin"


def test_threads_are_listed_by_what_they_wait_for_with_links(lobby: Lobby) -> None:
    world = lobby.world
    world.model = ScriptedModel([*SCRIPT])
    done = world.say("how much <b> & *more*?")
    world.settle(done)
    world.model = ScriptedModel([question("Net or gross?", "net", "gross")])
    waiting = world.say("revenue by region")
    world.settle(waiting)
    running = world.say("and by month?")
    lobby.open()
    lists = [block for block in world.slack.homes[ANA]["blocks"] if "rich_text_list" in str(block)]
    items = [item["elements"] for block in lists for item in block["elements"][0]["elements"]]
    urls = [item[0]["url"] for item in items]
    assert urls == [
        f"https://fake.slack.com/archives/{CHANNEL}/p{key.root_ts.replace('.', '')}" for key in (waiting, running, done)
    ]
    assert items[0][1]["text"] == " · Net or gross?"
    assert items[2][0]["text"] == "how much <b> & *more*?", "as text, where nothing is parsed"


def test_threads_of_a_channel_that_somebody_has_left_are_not_shown_to_them(lobby: Lobby) -> None:
    world = lobby.world
    world.model = ScriptedModel([*SCRIPT])
    world.settle(world.say("how much is the secret?"))
    assert "secret" in lobby.open()
    world.slack.channels[CHANNEL]["members"] = [BEN]
    assert "secret" not in lobby.open()


def test_open_approvals_are_shown_to_those_who_may_decide_and_are_in_the_channel(new_world: NewWorld) -> None:
    team = '[approvals]\nask = "every cell"\n\n[access]\napprove = ["members"]\n'
    lobby = Lobby(new_world(team=team))
    world = lobby.world
    world.model = ScriptedModel([cell("print(1)", "Add up")])
    world.settle(world.say("how much?"))
    assert "May this code run? Add up" in lobby.open(BEN)
    world.slack.channels[CHANNEL]["members"] = [ANA]
    assert "May this code run?" not in lobby.open(BEN)
    mine_alone = Lobby(new_world(team='[approvals]\nask = "every cell"\n\n[access]\napprove = ["asker"]\n'))
    mine_alone.world.model = ScriptedModel([cell("print(1)", "Add up")])
    mine_alone.world.settle(mine_alone.world.say("how much?"))
    assert "May this code run?" not in mine_alone.open(BEN)
    assert "May this code run?" in mine_alone.open(ANA)


FILES_WAIT = '[approvals]\nfiles = "always"\n\n[access]\napprove = ["members"]\n'
WRITES = cell('open("rest.csv", "w").write("region,units")\nprint(1)', "Write")


def test_files_that_wait_are_shown_to_those_who_may_let_them_go_until_somebody_decides(new_world: NewWorld) -> None:
    lobby = Lobby(new_world(team=FILES_WAIT))
    world = lobby.world
    world.model = ScriptedModel([WRITES, *[finish("It is 1.")] * 3])
    key = world.say("how much?")
    world.settle(key)
    line = "This file waits for a yes before it goes to Slack: rest.csv"
    assert line in lobby.open(BEN)
    lists = [block for block in world.slack.homes[BEN]["blocks"] if "rest.csv" in str(block)]
    assert lists[0]["elements"][0]["elements"][0]["elements"][0]["url"].endswith(key.root_ts.replace(".", ""))
    world.slack.channels[CHANNEL]["members"] = [ANA]
    assert line not in lobby.open(BEN), "not in the channel"
    press(world, key, "keep")
    world.settle(key)
    assert line not in lobby.open()


def test_files_that_may_not_be_let_go_any_more_are_not_listed(new_world: NewWorld) -> None:
    lobby = Lobby(new_world(team=FILES_WAIT.replace("[access]", "hours = 0.0001\n\n[access]")))
    lobby.world.model = ScriptedModel([WRITES, *[finish("It is 1.")] * 3])
    key = lobby.world.say("how much?")
    lobby.world.settle(key)
    eventually(lambda: "rest.csv" not in lobby.open(), "the end of the wait")
    assert steps(lobby.world, key, "files_held"), "they were asked about"


def test_files_of_another_workspace_are_not_listed(new_world: NewWorld) -> None:
    world = new_world(team=FILES_WAIT)
    world.model = ScriptedModel([WRITES, *[finish("It is 1.")] * 3])
    world.settle(world.say("how much?"))
    long_ago = datetime.now(UTC) - timedelta(days=1)
    assert world.store.threads_with_held_files("T0OTHER001", long_ago, 9) == []
    assert len(world.store.threads_with_held_files(world.slack.team, long_ago, 9)) == 1
    assert world.store.threads_with_held_files(world.slack.team, datetime.now(UTC), 9) == []


def test_usage_counts_the_questions_of_the_person(lobby: Lobby) -> None:
    world = lobby.world
    world.model = ScriptedModel([*SCRIPT])
    world.settle(world.say("how much?"))
    assert "Today (UTC): 3 model calls" in lobby.open()
    assert "Today (UTC): 0 model calls" in lobby.open(BEN)


def test_sources_are_those_that_the_person_may_ask(new_world: NewWorld) -> None:
    team = (
        '[sources.sales]\nurl_env = "A"\ndescription = "Orders"\n\n'
        f'[sources.payroll]\nurl_env = "B"\npeople = ["{BEN}"]\n\n'
        f'[sources.adverts]\nurl_env = "C"\nchannels = ["{CHANNEL}"]\n'
    )
    lobby = Lobby(new_world(team=team))
    text = lobby.open()
    assert "sales · Orders" in text
    assert "payroll" not in text
    assert "1 more that you may not query." in text
    assert "adverts" in text
    assert "payroll" in lobby.open(BEN)
    lobby.world.slack.channels[CHANNEL]["members"] = [BEN]
    assert "adverts" not in lobby.open()


def test_who_may_not_ask_is_told_and_sees_nothing_else(lobby: Lobby) -> None:
    lobby.world.slack.flags[ANA] = {"is_restricted": True}
    text = lobby.open()
    assert "guests of this workspace may not do this" in text
    assert "sample data" not in text


def test_the_page_speaks_the_language_that_was_chosen(lobby: Lobby) -> None:
    assert "你还没有提过问题" in lobby.open("U0CHEN0001")
    lobby.submit(DefaultsForm(), user="U0CHEN0001", language="en")
    assert "You have not asked anything yet" in lobby.text("U0CHEN0001")


def test_a_page_that_was_drawn_meanwhile_is_left_alone(lobby: Lobby) -> None:
    lobby.open()
    newest = lobby.world.slack.homes[ANA]
    lobby.open(view={"hash": "0.older"})
    assert lobby.world.slack.homes[ANA] is newest


def test_a_home_is_far_from_the_limits_of_a_view(new_world: NewWorld) -> None:
    sources = "".join(f'[sources.s{n}]\nurl_env = "A{n}"\ndescription = "{"d" * 400}"\n' for n in range(60))
    lobby = Lobby(new_world(team=sources))
    world = lobby.world
    admin(world)
    world.slack.channels = {f"C0MANY{n:04}": {"name": f"c{n}", "members": [ANA]} for n in range(300)}
    world.slack.channels[CHANNEL] = {"name": "sales", "members": [ANA]}
    lobby.submit(DefaultsForm(), instructions="x" * INSTRUCTION_CHARS)
    for n in range(30):
        world.say(f"question {n} " + "word " * 500)
    lobby.open()
    view = world.slack.homes[ANA]
    assert len(view["blocks"]) < Limit.VIEW_BLOCKS // 2
    assert len(str(view)) < 100_000


@pytest.mark.parametrize("event", [{"tab": "about"}, {"user": None}, {"tab": None}])
def test_other_tabs_and_nonsense_draw_nothing(lobby: Lobby, event: Json) -> None:
    lobby.bot.opened({"user": ANA, "tab": "home", **event}, lobby.world.slack.team)
    assert lobby.world.slack.homes == {}


def test_a_slack_that_refuses_costs_only_what_it_refuses(lobby: Lobby) -> None:
    lobby.world.slack.fault("users.conversations", "error", error="missing_scope", times=9)
    assert "Slack does not say in which channels I am." in lobby.open()
    lobby.world.slack.fault("views.publish", "error", error="not_enabled", times=9)
    assert lobby.bot.opened({"user": BEN, "tab": "home"}, lobby.world.slack.team) == "drawn"


# --- what a person chooses


def test_defaults_are_changed_by_a_form_that_shows_them(lobby: Lobby) -> None:
    assert lobby.press("defaults") == "form"
    assert lobby.submit(DefaultsForm(), language="zh", staged="on", instructions=" Be brief. ") == {}
    assert lobby.chosen() == {"language": "zh", "staged": True, "instructions": "Be brief."}
    assert "Be brief." in lobby.text()
    lobby.press("defaults")
    shown = str(lobby.world.slack.views[-1])
    assert "Be brief." in shown
    assert lobby.submit(DefaultsForm(), language=DEFAULT, staged="off", instructions="") == {}
    assert lobby.chosen() == {}


def form(lobby: Lobby) -> dict[str, Json]:
    """The fields of the form with the defaults, by name."""
    lobby.press("defaults")
    return {block["block_id"].partition(":")[2]: block["element"] for block in lobby.world.slack.views[-1]["blocks"]}


def test_choices_are_kept_under_a_name_and_picked_again(lobby: Lobby) -> None:
    assert list(form(lobby)) == ["language", "staged", "instructions", "keep_profile"]
    month = {"language": "zh", "staged": "on", "instructions": "Amounts in thousands."}
    assert lobby.submit(DefaultsForm(), **month, keep_profile=" month  end ") == {}
    assert lobby.submit(DefaultsForm(), language="en", staged="off", keep_profile="quick") == {}
    assert "Profile: quick" in lobby.text()
    assert [option["value"] for option in form(lobby)["use_profile"]["options"]] == [DEFAULT, "month end", "quick"]
    assert lobby.submit(DefaultsForm(), use_profile="month end", language="en", instructions="not this") == {}
    kept = {name: value for name, value in lobby.chosen().items() if name != "profiles"}
    assert kept == {"language": "zh", "staged": True, "instructions": "Amounts in thousands."}
    assert list(lobby.chosen()["profiles"]) == ["month end", "quick"]
    assert "方案：month end" in lobby.text(), "the page speaks the profile's language"

    world = lobby.world
    world.model = ScriptedModel([*SCRIPT])
    key = world.say("how much?")
    world.settle(key)
    (preferred,) = world.steps(key, "preferred")
    assert preferred["staged"] is True
    assert [each["text"] for each in preferred["instructions"]] == ["Amounts in thousands."]


def test_a_profile_is_forgotten_and_what_holds_stays(lobby: Lobby) -> None:
    lobby.submit(DefaultsForm(), language="en", instructions="Be brief.", keep_profile="brief")
    assert lobby.submit(DefaultsForm(), language="en", instructions="Be brief.", forget_profile="brief") == {}
    assert lobby.chosen() == {"language": "en", "instructions": "Be brief."}
    assert "Profile:" not in lobby.text()


def test_a_profile_that_is_gone_and_one_too_many_change_nothing(lobby: Lobby) -> None:
    for n in range(PROFILES):
        assert lobby.submit(DefaultsForm(), language="en", keep_profile=f"p{n}") == {}
    before = lobby.chosen()
    assert list(lobby.submit(DefaultsForm(), keep_profile="more")["errors"]) == [field_of("keep_profile")]
    assert list(lobby.submit(DefaultsForm(), use_profile="more")["errors"]) == [field_of("use_profile")]
    assert lobby.chosen() == before
    assert lobby.submit(DefaultsForm(), language="en", forget_profile="p0", keep_profile="more") == {}
    assert lobby.submit(DefaultsForm(), user=BEN, use_profile="more")["errors"], "another person's profile"


@pytest.mark.parametrize("language", get_args(Language))
def test_every_language_of_answers_can_be_chosen(lobby: Lobby, language: Language) -> None:
    lobby.press("defaults")
    assert LANGUAGES[language] in str(lobby.world.slack.views[-1])
    assert lobby.submit(DefaultsForm(), language=language) == {}
    assert lobby.chosen() == {"language": language}


def test_a_model_is_chosen_among_those_that_are_offered(new_world: NewWorld) -> None:
    lobby = Lobby(new_world(team='[models.small]\nmodel = "s-1"\n'))
    lobby.press("defaults")
    assert "small" in str(lobby.world.slack.views[-1])
    assert lobby.submit(DefaultsForm(), model="small") == {}
    assert lobby.chosen() == {"model": "small"}
    refused = lobby.submit(DefaultsForm(), model="huge")
    assert refused["errors"] == {field_of("model"): "This model is not offered any more. Choose another one."}
    assert lobby.chosen() == {"model": "small"}


def test_nobody_changes_the_defaults_of_another_person(lobby: Lobby) -> None:
    lobby.submit(DefaultsForm(), user=BEN, language="zh")
    assert lobby.chosen(ANA) == {}
    assert lobby.chosen(BEN) == {"language": "zh"}


def test_the_instructions_of_a_channel_are_written_by_those_in_it_and_audited(lobby: Lobby) -> None:
    assert lobby.press("channels") == "form"
    then = lobby.submit(ChannelsForm(), channel=CHANNEL)
    assert then["view"]["callback_id"] == InstructionsForm.ID
    assert "#sales" in str(then["view"])
    assert lobby.submit(InstructionsForm(channel=CHANNEL), instructions="Amounts in k EUR.") == {}
    assert lobby.chosen(CHANNEL) == {"instructions": "Amounts in k EUR."}
    assert lobby.audit() == [(ANA, "instruct", f"{lobby.world.slack.team}/{CHANNEL}", "done")]
    (line,) = lobby.world.store.audit_lines()
    assert dict(line.details) == {"characters_before": 0, "characters": 17}, "never what people wrote"


def test_nobody_instructs_a_channel_that_they_are_not_in(lobby: Lobby) -> None:
    lobby.world.slack.channels["C0LEADERS1"] = {"name": "leadership", "members": [BEN]}
    for form, name in ((ChannelsForm(), "channel"), (InstructionsForm(channel="C0LEADERS1"), "instructions")):
        refused = lobby.submit(form, **{name: "C0LEADERS1"})
        assert refused["errors"][field_of(name)].startswith("You may not write the instructions")
    assert lobby.chosen("C0LEADERS1") == {}
    assert {outcome for *_, outcome in lobby.audit()} == {"refused"}


def test_instructions_may_be_reserved_for_admins(new_world: NewWorld) -> None:
    lobby = Lobby(new_world(team='[access]\ninstruct = ["admins"]\n'))
    assert "errors" in lobby.submit(InstructionsForm(channel=CHANNEL), instructions="x")
    admin(lobby.world)
    assert lobby.submit(InstructionsForm(channel=CHANNEL), instructions="x") == {}


# --- what an admin chooses


def test_only_admins_see_and_change_policies_and_budgets(lobby: Lobby) -> None:
    assert lobby.press("settings") == "refused"
    assert lobby.submit(SettingsForm(), approvals__ask="never") == {}
    assert lobby.chosen("") == {}
    assert lobby.audit() == [(ANA, "settings", f"{lobby.world.slack.team}/", "refused")]
    admin(lobby.world)
    assert "For admins" in lobby.open()
    assert lobby.press("settings") == "form"


def test_a_change_of_an_admin_holds_is_shown_and_audited_with_its_values(lobby: Lobby) -> None:
    admin(lobby.world)
    assert lobby.submit(SettingsForm(), approvals__ask="risky", budget__day_tokens="50,000") == {}
    assert lobby.submit(SettingsForm(), approvals__ask=DEFAULT, budget__day_tokens="50000") == {}
    assert lobby.chosen("") == {"budget.day_tokens": "50000"}
    lines = [(line.resource.partition("/")[2], dict(line.details)) for line in lobby.world.store.audit_lines()]
    assert lines == [
        ("approvals.ask", {"before": "", "now": "risky"}),
        ("budget.day_tokens", {"before": "", "now": "50000"}),
        ("approvals.ask", {"before": "risky", "now": ""}),
    ]
    assert "budget.day_tokens" in lobby.text()


def test_the_file_wins_and_the_page_says_so(new_world: NewWorld) -> None:
    lobby = Lobby(new_world(team='[approvals]\nask = "plan"\n'))
    admin(lobby.world)
    assert lobby.submit(SettingsForm(), approvals__ask="never") == {}
    assert lobby.chosen("") == {}
    line = next(line for line in lobby.open().splitlines() if line.startswith("approvals.ask"))
    assert line.split() == ["approvals.ask", "plan", "threadbook.toml"]
    lobby.press("settings")
    form = lobby.world.slack.views[-1]
    assert "threadbook.toml sets approvals.ask" in str(form["blocks"][0])
    assert field_of("approvals.ask") not in [block.get("block_id") for block in form["blocks"]]


def test_an_admin_has_files_wait_and_dear_calls_too_unless_the_file_says_otherwise(new_world: NewWorld) -> None:
    price = "[prices.scripted]\ninput = 10\noutput = 100\n"
    lobby = Lobby(new_world(team=price))
    admin(lobby.world)
    assert lobby.submit(SettingsForm(), approvals__files="always", approvals__above="0.5") == {}
    lines = [(line.resource.partition("/")[2], dict(line.details)) for line in lobby.world.store.audit_lines()]
    assert lines == [
        ("approvals.files", {"before": "", "now": "always"}),
        ("approvals.above", {"before": "", "now": "0.5"}),
    ]
    shown = [line.split()[1:] for line in lobby.open().splitlines() if line.startswith("approvals.")]
    assert shown[2:4] == [["always", "Slack"], ["0.5", "Slack"]]
    lobby.world.model = ScriptedModel([WRITES, *[finish("It is 1.")] * 3])
    key = lobby.world.say("how much?")
    lobby.world.settle(key)
    assert lobby.world.files(key) == []
    assert steps(lobby.world, key, "files_held")

    fixed = Lobby(new_world(team=f'[approvals]\nfiles = "never"\nabove = 2\n{price}'))
    admin(fixed.world)
    assert fixed.submit(SettingsForm(), approvals__files="always", approvals__above="0.5") == {}
    assert (fixed.chosen(""), fixed.audit()) == ({}, [])
    shown = [line.split()[1:] for line in fixed.open().splitlines() if line.startswith("approvals.")]
    assert shown[2:4] == [["never", "threadbook.toml"], ["2", "threadbook.toml"]]


def test_a_wrong_value_is_said_under_its_field_and_nothing_is_changed(lobby: Lobby) -> None:
    admin(lobby.world)
    refused = lobby.submit(SettingsForm(), budget__day_tokens="many", budget__turn_tokens="7")
    assert list(refused["errors"]) == [field_of("budget.day_tokens")]
    assert lobby.chosen("") == {}


def test_admins_see_usage_by_channel_and_health(lobby: Lobby) -> None:
    world = lobby.world
    admin(world)
    world.model = ScriptedModel([*SCRIPT])
    world.settle(world.say("how much?"))
    text = lobby.open()
    assert "3 model calls" in text.partition("Usage by channel")[2]
    assert "No worker service is alive" in text
    Wakes(lobby.redis, world.store).announce_node("alpha", about={"workers": 4, "sandbox": "strong"})
    assert "alpha: seen 0 s ago, 4 workers, sandbox strong" in lobby.open()


def test_where_many_workspaces_share_it_an_admin_of_one_sees_only_whether_it_runs(lobby: Lobby) -> None:
    world = lobby.world
    world.settings = world.settings.model_copy(update={"slack_client_id": "1.2"})
    admin(world)
    health = [lobby.open().partition("Health")[2]]
    Wakes(lobby.redis, world.store).announce_node("alpha", about={"workers": 4, "sandbox": "strong"})
    health.append(lobby.open().partition("Health")[2])
    lobby.redis.connection_pool.connection_kwargs["server"].connected = False
    health.append(lobby.open().partition("Health")[2])
    assert ["Threadbook is running." in text for text in health] == [False, True, False]
    assert ["Threadbook is not running now" in text for text in health] == [True, False, True]
    assert not [word for word in ("alpha", "workers", "queued", "threads have work", "worker") if word in str(health)]


def test_another_workspaces_choices_are_its_own(lobby: Lobby) -> None:
    admin(lobby.world)
    lobby.submit(SettingsForm(), team="T0OTHER", approvals__ask="never")
    assert lobby.chosen("") == {}


# --- the tour


def test_the_tour_asks_a_question_about_the_sample_data_in_a_direct_message(lobby: Lobby) -> None:
    world = lobby.world
    world.model = ScriptedModel([*SCRIPT])
    assert lobby.tour(0) == "begun"
    assert lobby.tour(0) == "begun", "the same press, delivered twice"
    (glance,) = world.store.threads_of(world.slack.team, ANA, LONG_AGO, 9)
    key = ThreadKey.parse(glance.thread_id)
    assert key.channel == "D0ANA00001"
    world.settle(key)
    (briefed,) = world.steps(key, "briefed")
    assert [file["path"] for file in briefed["files"]] == ["sample_orders.csv"]
    assert briefed["files"][0]["tables"][0]["rows"] == 208
    first = world.slack.thread(key.root_ts, key.channel)[0]
    assert "Which region has the most revenue" in first["text"]


def test_a_press_that_two_bots_get_at_once_begins_one_tour(lobby: Lobby) -> None:
    world = lobby.world
    world.slack.fault("chat.postMessage", then=lambda: lobby.tour(0))
    lobby.tour(0)
    assert len(world.store.threads_of(world.slack.team, ANA, LONG_AGO, 9)) == 1
    assert len([1 for method, _ in world.slack.calls if method == "chat.postMessage"]) == 1


def test_who_may_not_ask_gets_no_tour(lobby: Lobby) -> None:
    lobby.world.slack.flags[ANA] = {"is_restricted": True}
    lobby.tour()
    assert lobby.world.store.threads_of(lobby.world.slack.team, ANA, LONG_AGO, 9) == []


@pytest.mark.parametrize("body", [{}, {"actions": []}, {"actions": [{"value": "x"}], "user": {"id": ANA}}, {"view": 1}])
def test_nonsense_means_nothing(lobby: Lobby, body: Json) -> None:
    team = lobby.world.slack.team
    assert lobby.bot.press(body, team) == "malformed"
    assert lobby.bot.tour(body, team) == "malformed"
    assert lobby.bot.submit(body, team) == {}
