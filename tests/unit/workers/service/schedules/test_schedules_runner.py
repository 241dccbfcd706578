"""A report is made again on new data: exactly once for each time, telling only what changed, stopping where it must."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from turn_world import ANA, BEN, CHANNEL, Death, Killed, Meanwhile, NewWorld, World, cell, finish

import core.store.schedules
import workers.service.schedules.runner
from core.schedules.values import RunOutcome
from core.store import Store
from core.store.schedules import ScheduleRow
from core.values import ThreadKey
from tryout.stack.blocks_text import message_text
from workers.models.scripted import ScriptedModel
from workers.service.schedules.posts import SchedulePosts
from workers.service.schedules.runner import Runner, begin_due
from workers.sources.errors import SourceAway
from workers.turn.clean_rooms.room import Room

JAN = b"region,amount\nNorth,1200\nSouth,800\nEast,900\nWest,1000\n"
FEB = b"region,amount\nNorth,1500\nSouth,800\nEast,900\nWest,1000\n"
READ = "import csv\nrows = list(csv.DictReader(open('sales_2026-01.csv')))"
TOTAL = "total = sum(int(row['amount']) for row in rows)\nprint('total', total)\nprint('regions', len(rows))"
REPORT = finish("The total is **3,900** over **4** regions.")
EVERY = "every Monday 9:00 run this again"


class Model(Meanwhile):
    """A script that knows how often it was asked."""


def asked(world: World) -> ThreadKey:
    """A thread with an answered question about a file."""
    world.model = Model(ScriptedModel([cell(READ, "Read"), cell(TOTAL, "Sum up"), REPORT]), {})
    key = world.say("how much was sold?", files={"sales_2026-01.csv": JAN})
    world.settle(key)
    return key


def scheduled(world: World, words: str = EVERY) -> ThreadKey:
    key = asked(world)
    world.say(words, thread=key)
    world.settle(key)
    return key


def schedule(world: World, key: ThreadKey) -> ScheduleRow:
    (found,) = world.store.schedules(key.id)
    return found


def give(world: World, name: str, content: bytes) -> None:
    """Somebody gives a newer file in another thread of the channel."""
    world.model = ScriptedModel([finish("Thanks.")])
    key = world.say("here is the new file", files={name: content}, user=BEN)
    world.settle(key)


def when_due(world: World, key: ThreadKey) -> datetime:
    """The moment at which the schedule is due; the janitor has seen it."""
    at = schedule(world, key).next_at
    assert begin_due(world.store, at, world.settings) == 1
    return at


def work(world: World, at: datetime, death: Death | None = None, times: int = 1, *, away_s: float = 0.0) -> None:
    """What the process of scheduled runs does on this node; it may die."""
    context = world.worker().context
    room = Room(context.settings, context.blobs, context.sessions, context.files)
    runner = Runner(
        context.settings, context.store, context.slack, room, away_s=away_s, clock=lambda: at + timedelta(seconds=5)
    )
    with world.watched(death or Death()):
        runner.begin()
        for _ in range(times):
            runner.next()


def said(world: World, key: ThreadKey) -> str:
    return str(world.messages(key, ours=True)[-1]["text"])


def test_a_schedule_says_when_it_runs_on_what_and_what_it_tells(world: World) -> None:
    key = scheduled(world, "every Monday at 9:00 Europe/Berlin run this again")
    text = said(world, key)
    assert "again: every Monday at 09:00 (Europe/Berlin)" in text
    assert "`sales_*-*.csv`" in text, "as code: the stars would make it bold"
    found = schedule(world, key)
    assert (found.state, found.owner, found.order.cron) == ("active", "U0ANA00001", "0 9 * * 1")
    assert [(figure.name, figure.value) for figure in found.shown] == [("total", 3900.0), ("regions", 4.0)]
    assert found.next_at > datetime.now(UTC)


def test_the_first_runs_are_told_and_the_schedules_that_the_thread_has_already(world: World) -> None:
    key = scheduled(world, "every Monday at 9:00 Europe/Berlin run this again")
    days = re.findall(r"\d{4}-\d\d-\d\d 09:00", said(world, key))
    first = datetime.fromisoformat(days[0])
    assert [datetime.fromisoformat(day) - first for day in days] == [timedelta(0), timedelta(7), timedelta(14)]
    assert "Already scheduled" not in said(world, key)
    world.say("every weekday at 8:00 run this again", thread=key, user=BEN)
    world.settle(key)
    assert "Already scheduled in this thread: every Monday at 9:00 Europe/Berlin run this again (" in said(world, key)
    assert said(world, key).count("run this again") == 1


@pytest.mark.parametrize(("day", "is_told"), [("28th", False), ("29th", True), ("30th", True), ("31st", False)])
def test_a_day_that_february_lacks_is_told(world: World, day: str, is_told: bool) -> None:
    key = scheduled(world, f"every month on the {day} at 9:00 run this again")
    assert ("A February without a day" in said(world, key)) == is_told


def test_only_the_figures_that_changed_are_posted_and_no_model_is_asked(world: World) -> None:
    key = scheduled(world)
    give(world, "sales_2026-02.csv", FEB)
    model = world.model = Model(ScriptedModel([]), {})
    posts = len(world.messages(key))
    work(world, when_due(world, key))
    assert len(world.messages(key)) == posts + 1
    text = said(world, key)
    assert "total: 3,900 → 4,200 (+7.7%)" in text
    assert "regions" not in text
    assert "sales_2026-02.csv" in text
    assert model.requests == []
    assert world.statuses(key) == ["done"]
    # the same data again: nothing changed, so nothing is said
    work(world, when_due(world, key))
    assert len(world.messages(key)) == posts + 1
    assert [figure.value for figure in schedule(world, key).shown] == [4200.0, 4.0]


EACH = (
    "print('region amount')\nfor row in sorted(rows, key=lambda row: -int(row['amount'])):\n"
    "    print(row['region'], row['amount'])"
)
TABLE = "By region:\n\n| Region | Sold (EUR) |\n|---|---|\n| **North** | 1,200 |\n| West | 1,000 |\n| East | 900 |"


def test_figures_are_told_by_the_reports_own_rows_and_no_row_stands_for_another(world: World) -> None:
    world.model = Model(ScriptedModel([cell(READ, "Read"), cell(EACH, "List"), finish(TABLE)]), {})
    key = world.say("how much per region?", files={"sales_2026-01.csv": JAN})
    world.settle(key)
    world.say(EVERY, thread=key)
    world.settle(key)
    give(world, "sales_2026-02.csv", b"region,amount\nNorth,1250\nSouth,800\nEast,1300\nCentre,1000\n")
    work(world, when_due(world, key))
    assert said(world, key).splitlines()[1:] == [
        "North · Sold (EUR): 1,200 → 1,250 (+4.2%)",
        "West · Sold (EUR) (1,000) is not shown any more",
        "East · Sold (EUR): 900 → 1,300 (+44.4%)",
    ]
    assert schedule(world, key).state == "active"
    give(world, "sales_2026-03.csv", JAN)
    work(world, when_due(world, key))
    assert "West · Sold (EUR): 1,000\n" in said(world, key), "it is there again"
    give(world, "sales_2026-04.csv", b"region,amount\nMars,1250\nVenus,800\nEarth,1300\nPluto,1000\n")
    work(world, when_due(world, key))
    assert schedule(world, key).state == "stopped"


def test_two_files_that_differ_in_their_numbers_never_stand_for_each_other(world: World) -> None:
    read = "import csv\ndef total(name):\n    return sum(int(row['amount']) for row in csv.DictReader(open(name)))"
    sums = "print('january', total('sales_2026-01.csv'))\nprint('february', total('sales_2026-02.csv'))"
    report = finish("It was **3,900** in January and **4,200** in February.")
    world.model = Model(ScriptedModel([cell(read, "Read"), cell(sums, "Sum up"), report]), {})
    key = world.say("compare the months", files={"sales_2026-01.csv": JAN, "sales_2026-02.csv": FEB})
    world.settle(key)
    world.say(EVERY, thread=key)
    world.settle(key)
    assert "`sales_2026-01.csv`, `sales_*-*.csv`" in said(world, key)
    posts = len(world.messages(key))
    work(world, when_due(world, key))
    assert len(world.messages(key)) == posts, said(world, key)
    give(world, "sales_2026-03.csv", FEB.replace(b"800", b"900"))
    work(world, when_due(world, key))
    assert "with sales_2026-03.csv.\nfebruary: 4,200 → 4,300" in said(world, key)
    assert "january" not in said(world, key)


def test_the_files_of_a_fork_are_as_old_as_those_that_it_has_them_from(world: World) -> None:
    key = scheduled(world)
    give(world, "sales_2026-02.csv", FEB)
    world.say("fork", thread=key)
    world.settle(key)
    assert len(list(world.store.channel_files(key.team, key.channel))) == 3
    work(world, when_due(world, key))
    assert "total: 3,900 → 4,200" in said(world, key)


def test_the_newest_file_is_found_behind_many_others(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core.store.schedules, "_FILES_AT_ONCE", 2)
    key = scheduled(world)
    give(world, "sales_2026-02.csv", FEB)
    for number in range(3):
        give(world, f"notes_{number}.txt", b"nothing")
    work(world, when_due(world, key))
    assert "total: 3,900 → 4,200" in said(world, key)


def test_two_janitors_make_one_run_and_missed_times_are_one(world: World) -> None:
    key = scheduled(world)
    found = schedule(world, key)
    late = found.next_at + timedelta(days=15)
    other = Store(world.settings.database_url)
    assert begin_due(world.store, late, world.settings) + begin_due(other, late, world.settings) == 1
    assert other.begin_run(found.id, found.next_at, late, late) is False, "this one read before the first one wrote"
    other.close()
    following = schedule(world, key).next_at
    assert timedelta(0) < following - late <= timedelta(days=7)


def test_two_nodes_take_a_run_up_once_and_an_older_try_writes_nothing(world: World) -> None:
    key = scheduled(world)
    when_due(world, key)
    stale = datetime.now(UTC) - timedelta(minutes=10)
    first = world.store.claim_run("here", stale)
    assert first is not None
    assert world.store.claim_run("there", stale) is None
    second = world.store.claim_run("there", datetime.now(UTC) + timedelta(minutes=1))
    assert second is not None
    assert second.id == first.id
    assert world.store.end_run(first.id, first.tries, RunOutcome(), told=True) is False
    assert world.store.end_run(second.id, second.tries, RunOutcome(), told=True) is True


def test_a_claim_from_before_the_clock_was_set_back_counts_no_more(world: World) -> None:
    key = scheduled(world)
    when_due(world, key)
    with time_machine.travel(datetime.now(UTC) + timedelta(days=1)):
        first = world.store.claim_run("here", datetime.now(UTC) - timedelta(minutes=10))
    assert first is not None
    second = world.store.claim_run("there", datetime.now(UTC) - timedelta(minutes=10))
    assert second is not None
    assert world.store.end_run(first.id, first.tries, RunOutcome(), told=True) is False


def test_a_run_waits_for_the_earlier_one_of_its_schedule_so_older_figures_never_come_last(world: World) -> None:
    key = scheduled(world)
    give(world, "sales_2026-02.csv", FEB)
    at = when_due(world, key)
    world.slack.fault("chat.postMessage", "error", error="internal_error", times=99)
    work(world, at)
    world.slack.heal()
    give(world, "sales_2026-03.csv", FEB.replace(b"800", b"900"))
    later = when_due(world, key)
    stale = datetime.now(UTC) - timedelta(minutes=10)
    assert world.store.claim_run("there", stale) is None, "the first run is told by another process, or soon will be"
    work(world, later, times=2)
    posts = [message["text"].rpartition("\n")[2] for message in world.messages(key, ours=True)[-2:]]
    assert posts == ["total: 3,900 → 4,200 (+7.7%)", "total: 4,200 → 4,300 (+2.4%)"]


@pytest.mark.parametrize("at_effect", range(1, 15))
def test_a_process_that_dies_anywhere_is_followed_by_one_that_tells_it_once(world: World, at_effect: int) -> None:
    key = scheduled(world)
    give(world, "sales_2026-02.csv", FEB)
    at = when_due(world, key)
    death = Death(at=at_effect)
    try:
        work(world, at, death)
    except Killed:
        world.sessions.halted = False
    work(world, at, times=2)
    told = [message["text"] for message in world.messages(key, ours=True) if "3,900 → 4,200" in message["text"]]
    assert len(told) == 1
    assert [figure.value for figure in schedule(world, key).shown] == [4200.0, 4.0]
    work(world, at)
    assert len([each for each in world.messages(key, ours=True) if "3,900 → 4,200" in each["text"]]) == 1


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"region,sum\nNorth,1500\nSouth,800\n", "no column 'amount' (new: 'sum')"),
        (b"region,amount\n", "no rows"),
        (b"region,amount\nNorth,1500000\nSouth,800000\nEast,900000\nWest,990000\n", "the middle value was"),
        (b"region,amount\nNorth,many\nSouth,few\nEast,x\nWest,y\n", "column 'amount' was"),
    ],
    ids=["column gone", "no rows", "another unit", "another type"],
)
def test_data_that_look_otherwise_stop_the_schedule_with_the_reason_and_no_number(
    world: World, content: bytes, says: str
) -> None:
    key = scheduled(world)
    give(world, "sales_2026-02.csv", content)
    at = when_due(world, key)
    work(world, at)
    text = said(world, key)
    assert says in text
    assert "sales_2026-02.csv: " in text, "the new file is named, not the one that the code knows"
    assert "sales_2026-01.csv" not in text
    assert "repair" in text
    assert "→" not in text
    assert schedule(world, key).state == "stopped"
    assert begin_due(world.store, at + timedelta(days=30), world.settings) == 0


def test_a_limit_is_told_of_only_when_the_figure_crosses_it(world: World) -> None:
    key = scheduled(world, f"{EVERY} only when the total goes above 4,000")
    assert "crosses 4,000" in said(world, key)
    posts = len(world.messages(key))
    give(world, "sales_2026-02.csv", JAN.replace(b"1200", b"1250"))
    work(world, when_due(world, key))
    assert len(world.messages(key)) == posts
    give(world, "sales_2026-03.csv", FEB)
    work(world, when_due(world, key))
    assert "total: 3,950 → 4,200" in said(world, key)
    give(world, "sales_2026-04.csv", FEB.replace(b"1500", b"1501"))
    work(world, when_due(world, key))
    assert len(world.messages(key)) == posts + 1, "it was above before"


CHURN = "print('churn', sum(int(row['amount']) for row in rows) / 31451.6)"


def reported_churn(world: World, order: str, report: str = "The churn is **12.4 %**.") -> ThreadKey:
    """A thread with a report that gives a share in percent, and an order to run it again."""
    world.model = Model(ScriptedModel([cell(READ, "Read"), cell(CHURN, "Divide"), finish(report)]), {})
    key = world.say("what is the churn?", files={"sales_2026-01.csv": JAN})
    world.settle(key)
    world.say(order, thread=key)
    world.settle(key)
    return key


def test_a_limit_in_percent_is_compared_with_the_share_that_a_cell_shows(world: World) -> None:
    key = reported_churn(world, f"{EVERY} only when the churn goes above 13 %")
    assert "crosses 13 %. Of this report that is “churn”, 12.4 % now" in said(world, key)
    posts = len(world.messages(key))
    give(world, "sales_2026-02.csv", JAN.replace(b"1200", b"1210"))
    work(world, when_due(world, key))
    assert len(world.messages(key)) == posts, "it is 12.4 % still"
    give(world, "sales_2026-03.csv", FEB)
    work(world, when_due(world, key))
    assert len(world.messages(key)) == posts + 1, "it is 13.4 % now"


@pytest.mark.parametrize(
    ("order", "report"),
    [
        (f"{EVERY} only when the churn goes above 0.13", "The churn is **12.4 %**."),
        (f"{EVERY} only when the churn goes above 13 %", "The churn is **0.124**."),
    ],
)
def test_a_limit_in_another_unit_than_the_report_is_refused(world: World, order: str, report: str) -> None:
    key = reported_churn(world, order, report)
    assert "limit in the same unit" in said(world, key)
    assert world.store.schedules(key.id) == []


def test_of_two_figures_in_a_sentence_the_limit_is_about_the_one_with_its_name(world: World) -> None:
    key = scheduled(world, f"{EVERY} only when regions go above 4")
    assert "that is “regions”, 4 now" in said(world, key)
    posts = len(world.messages(key))
    give(world, "sales_2026-02.csv", FEB)
    work(world, when_due(world, key))
    assert len(world.messages(key)) == posts
    give(world, "sales_2026-03.csv", FEB + b"Centre,10\n")
    work(world, when_due(world, key))
    assert "regions: 4 → 5" in said(world, key)


@pytest.mark.parametrize(
    ("order", "answer"),
    [
        (f"{EVERY} only when the total is at least 4,000", "cannot read this limit"),
        ("every other Monday 9:00 run this again", "cannot read these times"),
    ],
)
def test_an_order_that_cannot_be_read_whole_schedules_nothing(world: World, order: str, answer: str) -> None:
    key = scheduled(world, order)
    assert answer in said(world, key)
    assert world.store.schedules(key.id) == []


def test_a_limit_on_a_figure_that_the_report_lacks_is_refused(world: World) -> None:
    key = scheduled(world, f"{EVERY} only when the churn rate goes above 12 %")
    assert "no figure" in said(world, key)
    assert "total" in said(world, key)
    assert world.store.schedules(key.id) == []


def test_words_list_pause_resume_and_stop_the_schedules(world: World) -> None:
    key = scheduled(world)
    for who, words, says, state in (
        (BEN, "schedules", "next on", "active"),
        (BEN, "pause schedules", "paused 1 schedule", "paused"),
        (ANA, "暂停定时", "没有变化", "paused"),
        (BEN, "resume schedules", "resumed 1 schedule", "active"),
        (BEN, "stop schedules", "for good", "stopped"),
        (BEN, "resume schedules", "No schedule", "stopped"),
        (ANA, "定时任务", "已停止", "stopped"),
    ):
        world.say(words, thread=key, user=who)
        world.settle(key)
        assert says in said(world, key)
        assert schedule(world, key).state == state
    assert begin_due(world.store, datetime.now(UTC) + timedelta(days=30), world.settings) == 0


def test_what_was_stopped_before_its_run_could_be_told_is_not_told(world: World) -> None:
    key = scheduled(world)
    give(world, "sales_2026-02.csv", FEB)
    at = when_due(world, key)
    world.slack.fault("chat.postMessage", "error", error="internal_error", times=99)
    work(world, at)
    world.slack.heal()
    world.say("stop schedules", thread=key)
    world.settle(key)
    work(world, at)
    assert "for good" in said(world, key)
    assert "→" not in world.text(key)


def test_what_was_paused_after_it_became_due_does_not_run(world: World) -> None:
    key = scheduled(world)
    give(world, "sales_2026-02.csv", FEB)
    at = when_due(world, key)
    world.say("pause schedules", thread=key)
    world.settle(key)
    posts = len(world.messages(key))
    work(world, at, times=2)
    assert len(world.messages(key)) == posts


def test_the_schedule_of_somebody_who_left_stops_and_says_so(world: World) -> None:
    key = scheduled(world)
    world.slack.flags["U0ANA00001"] = {"deleted": True}
    work(world, when_due(world, key))
    assert "ana" in said(world, key)
    assert "no longer in this workspace" in said(world, key)
    assert schedule(world, key).state == "stopped"


def test_a_run_that_is_too_late_is_left_out_and_the_next_one_is_named(world: World) -> None:
    key = scheduled(world)
    at = when_due(world, key)
    work(world, at + timedelta(hours=13))
    assert "did not run" in said(world, key)
    assert schedule(world, key).state == "active"


def test_after_missed_times_the_last_one_counts_and_its_run_is_made(world: World) -> None:
    key = scheduled(world)
    give(world, "sales_2026-02.csv", FEB)
    at = schedule(world, key).next_at + timedelta(days=14, hours=1)
    assert begin_due(world.store, at, world.settings) == 1
    work(world, at)
    assert "total: 3,900 → 4,200 (+7.7%)" in said(world, key)
    assert schedule(world, key).next_at == at + timedelta(days=7, hours=-1)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("cron */5 * * * * run this again", "60 minutes"),
        ("cron 0 0 30 2 * run this again", "cannot read"),
        ("every Monday 9:00 Mars/Olympus run this again", "do not know this time zone"),
    ],
)
def test_times_that_cannot_be_kept_are_refused_with_a_way_out(world: World, words: str, says: str) -> None:
    key = scheduled(world, words)
    assert says in said(world, key)
    assert world.store.schedules(key.id) == []


def test_a_report_without_code_or_with_a_step_of_a_persons_yes_is_not_scheduled(world: World) -> None:
    world.model = ScriptedModel([finish("Good morning.")])
    key = world.say("hello?")
    world.settle(key)
    world.say(EVERY, thread=key)
    world.settle(key)
    assert "The last report here has no code" in said(world, key)


def test_a_purge_takes_the_schedules_with_it(world: World) -> None:
    key = scheduled(world)
    at = when_due(world, key)
    world.store.purge_thread(key.id)
    assert world.store.schedules(key.id) == []
    work(world, at)
    assert begin_due(world.store, at + timedelta(days=30), world.settings) == 0


def test_nothing_is_due_without_a_schedule(world: World) -> None:
    assert begin_due(world.store, datetime.now(UTC), world.settings) == 0
    given: Any = world.store.claim_run("here", datetime.now(UTC))
    assert given is None


OFF = "run this again every day at 9:00 UTC, not on holidays"


def test_a_schedule_says_what_happens_on_a_day_off(new_world: NewWorld) -> None:
    world = new_world(team='[schedules]\nholidays = "DE-BY"\ndays_off = [2026-12-24]\n')
    key = scheduled(world, OFF)
    assert "On days off (DE-BY, days_off) it does not run." in said(world, key)
    world.say("every Monday 9:00 run this again, on holidays the next working day", thread=key)
    world.settle(key)
    assert "the same time on the next working day" in said(world, key)
    assert [each.order.on_days_off for each in world.store.schedules(key.id)] == ["skip", "next"]


@pytest.mark.parametrize(("team", "says"), [("", "days_off"), ('[schedules]\nholidays = "XX"\n', "holidays of XX")])
def test_a_schedule_by_holidays_that_nobody_named_is_refused_with_a_way_out(
    new_world: NewWorld, team: str, says: str
) -> None:
    world = new_world(team=team)
    key = scheduled(world, OFF)
    assert says in said(world, key)
    assert world.store.schedules(key.id) == []


def test_the_next_time_is_on_no_day_off(new_world: NewWorld) -> None:
    world = new_world(team='[schedules]\nholidays = "DE"\n')
    key = scheduled(world, OFF)
    at = datetime(2027, 12, 24, 12, tzinfo=UTC)
    assert begin_due(world.store, at, world.settings) == 1
    assert schedule(world, key).next_at == datetime(2027, 12, 27, 9, tzinfo=UTC)


def test_a_day_that_became_a_day_off_is_left_out_and_said(new_world: NewWorld) -> None:
    world = new_world(team='[schedules]\nholidays = "DE"\n')
    key = scheduled(world, OFF)
    give(world, "sales_2026-02.csv", FEB)
    at = when_due(world, key)
    own = world.settings.schedules.model_copy(update={"days_off": (at.date(),)})
    world.settings = world.settings.model_copy(update={"schedules": own})
    work(world, at)
    assert "became a day off" in said(world, key)
    assert schedule(world, key).state == "active"


@pytest.mark.parametrize("on_a_day_off", ["the next working day", "not on holidays"])
def test_a_time_whose_day_becomes_a_day_off_before_it_comes_is_moved(new_world: NewWorld, on_a_day_off: str) -> None:
    world = new_world(team="[schedules]\ndays_off = [2026-12-24]\n")
    key = scheduled(world, f"every month on the 3rd at 9:00 UTC run this again, on holidays {on_a_day_off}")
    first = schedule(world, key).next_at
    own = world.settings.schedules.model_copy(update={"days_off": (first.date(),)})
    world.settings = world.settings.model_copy(update={"schedules": own})
    posts = len(world.messages(key))
    assert begin_due(world.store, first, world.settings) == 0
    moved = schedule(world, key).next_at - first
    few, many = timedelta(days=1), timedelta(days=27)
    assert few <= moved <= few * 4 if on_a_day_off.startswith("the next") else moved > many
    give(world, "sales_2026-02.csv", FEB)
    work(world, when_due(world, key))
    assert len(world.messages(key)) == posts + 1
    assert "total: 3,900 → 4,200" in said(world, key)


def test_a_time_that_was_moved_stays_when_its_own_day_is_a_working_day_again(new_world: NewWorld) -> None:
    world = new_world(team="[schedules]\ndays_off = [2026-12-24]\n")
    key = scheduled(world, "every month on the 3rd at 9:00 UTC run this again, on holidays the next working day")
    found = schedule(world, key)
    moved = found.next_at + timedelta(days=1)
    world.store.move_schedule(found.id, found.next_at, moved)
    assert begin_due(world.store, moved, world.settings) == 1


def test_figures_that_nobody_could_see_are_told_by_the_next_run(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers.service.schedules.runner, "MOST_CLAIMS", 2)
    key = scheduled(world)
    give(world, "sales_2026-02.csv", FEB)
    at = when_due(world, key)
    world.slack.fault("chat.postMessage", "error", error="internal_error", times=99)
    for _ in range(2):
        work(world, at)
    world.slack.heal()
    work(world, at)
    assert "→" not in world.text(key)
    assert [figure.value for figure in schedule(world, key).shown] == [3900.0, 4.0]
    work(world, when_due(world, key))
    assert "total: 3,900 → 4,200 (+7.7%)" in said(world, key)


def test_a_run_that_cannot_be_told_by_our_own_fault_ends_too(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers.service.schedules.runner, "MOST_CLAIMS", 2)
    key = scheduled(world)
    give(world, "sales_2026-02.csv", FEB)
    at = when_due(world, key)
    with monkeypatch.context() as broken:
        broken.setattr(SchedulePosts, "_message", lambda *_: 1 / 0)
        for _ in range(3):
            work(world, at)
    assert world.store.claim_run("here", datetime.now(UTC) + timedelta(minutes=1)) is None
    work(world, when_due(world, key))
    assert "total: 3,900 → 4,200 (+7.7%)" in said(world, key)


def test_figures_that_slack_refused_are_told_by_the_next_run(world: World) -> None:
    key = scheduled(world)
    give(world, "sales_2026-02.csv", FEB)
    at = when_due(world, key)
    world.slack.fault("chat.postMessage", "error", error="restricted_action")
    work(world, at)
    assert [figure.value for figure in schedule(world, key).shown] == [3900.0, 4.0]
    assert world.store.set_schedule_state(schedule(world, key).id, "active", next_at=at + timedelta(days=7))
    work(world, when_due(world, key))
    assert "total: 3,900 → 4,200 (+7.7%)" in said(world, key)


def privately(world: World) -> list[str]:
    """What the owner got in a direct message."""
    return [message_text(each) for (place, _), each in world.slack._messages.items() if place == f"D{ANA[1:]}"]


def refused(world: World, error: str, words: str = EVERY, content: bytes = FEB, times: int = 99) -> ThreadKey:
    """A schedule whose due run Slack does not let into the channel."""
    key = scheduled(world, words)
    give(world, "sales_2026-02.csv", content)
    at = when_due(world, key)
    world.slack.fault("chat.postMessage", "error", error=error, channel=CHANNEL, times=times)
    work(world, at, times=3)
    return key


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("is_archived", "The channel is archived"),
        ("not_in_channel", "invite me there again"),
        ("channel_not_found", "invite me there again"),
        ("restricted_action", "lets only some people post there"),
        ("missing_scope", "(`missing_scope`)"),
    ],
)
def test_a_schedule_whose_post_slack_refuses_pauses_and_its_owner_hears_it_once(
    world: World, error: str, words: str
) -> None:
    key = refused(world, error)
    (told,) = privately(world)
    assert f"<#{CHANNEL}>" in told
    assert words in told
    assert "are kept" in told
    assert "“resume schedules”" in told
    assert "4,200" not in told, "who owns it may not be in the channel any more"
    assert schedule(world, key).state == "paused"
    assert error in schedule(world, key).reason
    world.slack.heal()
    world.say("schedules", thread=key)
    world.settle(key)
    assert f"paused: Slack refuses posts in this thread ({error})" in said(world, key)


def test_a_schedule_whose_thread_is_gone_stops_for_good_and_its_owner_hears_it(world: World) -> None:
    key = refused(world, "thread_not_found")
    (told,) = privately(world)
    assert "stopped for good" in told
    assert schedule(world, key).state == "stopped"


def test_who_owns_a_schedule_hears_it_in_their_language(world: World) -> None:
    refused(world, "is_archived", "jeden Montag 9:00 noch einmal ausführen")
    (told,) = privately(world)
    assert "Der Zeitplan ist pausiert." in told


def test_a_run_that_stopped_its_schedule_unseen_is_told_privately(world: World) -> None:
    key = refused(world, "is_archived", content=b"region,sum\nNorth,1500\n")
    (told,) = privately(world)
    assert "has stopped, because this run did not succeed" in told
    assert schedule(world, key).state == "stopped"
    assert "no column 'amount'" in schedule(world, key).reason


@pytest.mark.parametrize("error", ["ratelimited", "internal_error", "service_unavailable"])
def test_a_refusal_that_passes_by_itself_pauses_no_schedule(world: World, error: str) -> None:
    key = refused(world, error, times=3)
    world.slack.heal()
    work(world, schedule(world, key).next_at)
    assert schedule(world, key).state == "active"
    assert privately(world) == []
    assert "total: 3,900 → 4,200" in said(world, key)


def test_an_owner_whom_slack_does_not_reach_for_now_is_told_later(world: World) -> None:
    key = scheduled(world)
    give(world, "sales_2026-02.csv", FEB)
    at = when_due(world, key)
    world.slack.fault("chat.postMessage", "error", error="is_archived", channel=CHANNEL, times=99)
    world.slack.fault("conversations.open", "error", error="internal_error", times=9)
    work(world, at)
    assert schedule(world, key).state == "active"
    world.slack.heal()
    world.slack.fault("chat.postMessage", "error", error="is_archived", channel=CHANNEL, times=99)
    work(world, at)
    assert len(privately(world)) == 1
    assert schedule(world, key).state == "paused"


def test_an_owner_whom_slack_refuses_too_keeps_no_schedule_running(world: World) -> None:
    key = scheduled(world)
    give(world, "sales_2026-02.csv", FEB)
    at = when_due(world, key)
    world.slack.fault("chat.postMessage", "error", error="restricted_action", times=99)
    work(world, at)
    assert schedule(world, key).state == "paused"


def test_a_run_that_has_to_wait_holds_no_other_one_back(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = scheduled(world), scheduled(world)
    give(world, "sales_2026-02.csv", FEB)
    at = schedule(world, second).next_at
    assert begin_due(world.store, at, world.settings) == 2
    rerun = Room.rerun

    def first_is_away(room: Room, thread_id: str, *given: Any, **named: Any) -> Any:
        if thread_id == first.id:
            raise SourceAway("The shop is away.")
        return rerun(room, thread_id, *given, **named)

    monkeypatch.setattr(Room, "rerun", first_is_away)
    work(world, at, times=2, away_s=15.0)
    assert "3,900 → 4,200" in said(world, second)
    assert "3,900 → 4,200" not in world.text(first)
