"""Whole turns that ask a data source: a real broker on a SQLite file, a scripted model, a session host in memory."""

from __future__ import annotations

import json
import re
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sources_world
from turn_world import ANA, BEN, CHANNEL, Death, Killed, Meanwhile, NewWorld, World, cell, finish, question

from core.blobs import Blobs
from core.clean_room import CleanRoom
from core.commands.registry import CONTEXT, SPEAK
from core.commands.stepping_in import ContextChange, Speech
from core.slack.reading.reader import SlackReader
from core.store import StoreUnreachable
from core.values import IncomingMessage, ThreadKey
from tryout.commands import replay
from tryout.stack.blocks_text import message_text
from workers.delivery.deliver import Delivery
from workers.delivery.progress import ProgressView
from workers.models.scripted import ScriptedModel
from workers.service.backoff import MOST_CRASHES
from workers.sources import errors
from workers.sources.broker.client import RESTARTED, BrokerClient, BrokerRestarted
from workers.sources.broker.requests import Request
from workers.turn import cells, live
from workers.turn.open_turn import OpenTurn

SECRET = "planted-p4ssw0rd"
SHOP = '[sources.shop]\nurl_env = "SHOP"\ndescription = "Orders"\ntables_denied = ["salaries"]\n'
ENDLESS = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) AS n FROM c"
COUNT = cell("print(query('select count(*) as n from orders', source='shop').n[0])", "Count")

Asked = Callable[..., World]


@pytest.fixture
def asked(new_world: NewWorld, tmp_path: Path) -> Iterator[Asked]:
    """`asked(*replies, more="")`: a world with the source shop, in which a person has asked and the turn has rested."""
    path = tmp_path / f"{SECRET}.db"
    with closing(sqlite3.connect(path)) as file:
        for each in sources_world.statements():
            file.execute(each)
        file.commit()
    servers: list[Any] = []

    def made(
        *replies: Any,
        more: str = "",
        before: Callable[[World], object] = lambda world: None,
        routes: Sequence[Any] = (),
        url: str = f"sqlite:///{path}",
    ) -> World:
        world = new_world(team=f"{SHOP}{more}")
        servers.append(sources_world.served(world.settings, SHOP=url))
        servers[-1].__enter__()
        world.model = Meanwhile(ScriptedModel([*replies, finish("Done.")], routes=routes), {})
        before(world)
        world.key = world.say("How many orders?")  # type: ignore[attr-defined]
        world.settle(world.key)  # type: ignore[attr-defined]
        return world

    yield made
    for server in servers:
        server.__exit__(None, None, None)


def ran(world: World) -> list[dict[str, Any]]:
    return world.steps(world.key, "cell")  # type: ignore[attr-defined]


def error_of(world: World) -> str:
    return str(ran(world)[0]["error"])


def prompt(world: World) -> str:
    return "\n".join(str(told["content"]) for told in world.model.requests[0].messages)  # type: ignore[attr-defined]


def test_a_cell_gets_the_rows_as_a_frame_and_the_step_says_what_was_run(asked: Asked) -> None:
    world = asked(COUNT)
    (step,) = ran(world)
    assert (step["status"], step["stdout"]) == ("ok", "4\n")
    (statement,) = step["statements"]
    assert (statement["source"], statement["rows"], statement["error"]) == ("shop", 1, "")
    assert statement["sql"] == 'SELECT COUNT(*) AS n FROM "main"."orders"'
    assert world.statuses(world.key) == ["done"]  # type: ignore[attr-defined]


def test_tables_columns_samples_and_descriptions_come_the_same_way(asked: Asked) -> None:
    code = (
        "print(tables())\nprint(list(columns('orders').column))\nprint(len(sample('orders', 2)))\n"
        "print(describe('customers').iloc[1].tolist()[:4])\n"
        "print(query('select name from customers where id in (:ids)', params={'ids': [2]}).name[0])"
    )
    world = asked(cell(code))
    assert ran(world)[0]["error"] == ""
    assert ran(world)[0]["stdout"].splitlines() == [
        "['Odd Name', 'customers', 'orders']",
        "['id', 'customer', 'amount', 'placed']",
        "2",
        "['name', 'varchar(50)', 0.0, 2]",
        "Ben",
    ]
    assert [each["rows"] for each in ran(world)[0]["statements"]] == [2, 2, 1]


def test_the_prompt_names_the_sources_that_may_be_asked(asked: Asked) -> None:
    assert "- shop (sqlite): Orders" in prompt(asked(COUNT))


def test_the_prompt_of_who_may_not_ask_says_that_there_is_data_and_not_which(asked: Asked) -> None:
    told = prompt(asked(COUNT, more='people = ["UBEN"]\n'))
    assert "The team has 1 data source that this channel or these people may not ask" in told
    assert "shop" not in told
    assert "may not ask" not in prompt(asked(COUNT))


def test_the_prompt_says_how_many_rows_a_result_may_have_so_that_nobody_allows_more_in_vain(asked: Asked) -> None:
    assert "Orders. A result has at most 1,234 rows." in prompt(asked(COUNT, more="max_rows = 1234\n"))


def test_the_prompt_describes_the_tables_that_may_be_read(asked: Asked) -> None:
    said = prompt(asked(COUNT))
    assert "Tables of shop" in said
    assert "amount decimal(10, 2)" in said
    assert "salaries" not in said


def test_a_cell_searches_the_schema_with_words(asked: Asked) -> None:
    world = asked(cell("print(search_schema('amount of an order'))"))
    assert "orders" in ran(world)[0]["stdout"]
    assert ran(world)[0]["statements"] == [], "no statement of the analyst was sent"


def test_a_source_that_is_away_costs_the_prompt_its_tables_and_nothing_else(asked: Asked) -> None:
    world = asked(cell("print(1)"), before=lambda world: world.settings.broker_socket.unlink())
    assert "Tables of shop" not in prompt(world)
    assert "- shop: Orders" in prompt(world)
    assert ran(world)[0]["stdout"] == "1\n"


def test_a_wrong_column_is_repaired_with_the_name_that_was_meant(asked: Asked) -> None:
    wrong = cell("print(query('select amuont from orders').amuont.sum())", "Sum")
    world = asked(wrong, cell("print(query('select sum(amount) as s from orders').s[0])", "Sum again"))
    first, second = ran(world)
    assert "Did you mean amount?" in first["error"]
    assert [each["error"] != "" for each in first["statements"]] == [True]
    assert second["stdout"] == "122.74\n"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("query('drop table orders')", "one SELECT"),
        ("query('select 1', source='shopp')", "Did you mean shop?"),
        ("query('select * from salaries')", "no table salaries"),
        ("columns('custmers')", "Did you mean customers?"),
        ("query('select :x')", ":x has no value"),
    ],
)
def test_what_is_refused_is_a_sentence_for_the_model(asked: Asked, code: str, said: str) -> None:
    assert said in error_of(asked(cell(code)))


def test_a_turn_has_so_many_statements_and_megabytes(asked: Asked) -> None:
    twice = cell("query('select 1 as n')\nquery('select 2 as n')")
    assert "may send no more" in error_of(asked(twice, more="turn_queries = 1\n"))
    large = cell("query('select * from orders a, orders b')\nquery('select 2 as n')")
    assert "more than the 3 rows" in error_of(asked(large, more="max_rows = 3\n"))


@pytest.mark.parametrize(
    ("more", "before", "said"),
    [
        ('channels = ["C0OTHER001"]\n', lambda world: None, "may not be queried in this channel"),
        ("", lambda world: world.slack.channel_flags.update(is_ext_shared=True), "other workspaces"),
        ("", lambda world: world.slack.flags.update({BEN: {"is_restricted": True}}), "guests"),
        (f'people = ["{BEN}"]\n', lambda world: None, "Not everybody"),
        ('[access]\nquery = ["admins"]\n', lambda world: None, "Not everybody"),
        (f'[channels.{CHANNEL}.access]\nquery = ["{BEN}"]\n', lambda world: None, "Not everybody"),
    ],
    ids=["channel", "connect", "guest", "person", "access", "access of the channel"],
)
def test_a_thread_that_may_not_ask_gets_a_sentence_and_no_rows(
    asked: Asked, more: str, before: Callable[[World], object], said: str
) -> None:
    world = asked(COUNT, more=more, before=before)
    assert said in error_of(world)
    assert ran(world)[0]["statements"] == []
    assert "query(sql" not in prompt(world)
    assert "No code can mend this: an admin has to." in told(world)


def test_a_source_that_allows_outsiders_is_asked_beside_them(asked: Asked) -> None:
    def guest(world: World) -> None:
        world.slack.flags[BEN] = {"is_restricted": True}

    assert ran(asked(COUNT, more="outsiders = true\n", before=guest))[0]["stdout"] == "4\n"


def test_who_joins_a_turn_must_be_allowed_too(asked: Asked) -> None:
    def joins(world: World) -> None:
        world.model = Meanwhile(
            ScriptedModel([COUNT, finish("Done.")]),
            {1: lambda: world.say("and mine?", thread=world.key, user=BEN)},
        )

    world = asked(more=f'people = ["{ANA}"]\n', before=joins)
    assert "Not everybody" in error_of(world)


PEOPLE = f'people = ["{ANA}"]\n'
REFUSED = "this thread holds rows of the data source shop, so I did not use your message"


def goes_on(world: World) -> Meanwhile:
    """A model that has an answer to the next question of the thread."""
    model = Meanwhile(ScriptedModel(turns=[*([] for _ in world.turns(world.key)), [finish("Gone on.")]]), {})  # type: ignore[attr-defined]
    world.model = model
    return model


def follows(world: World, text: str, *, user: str = BEN) -> int:
    """Somebody writes in the thread that has asked. The number of calls of the model until it rests."""
    model = goes_on(world)
    world.say(text, thread=world.key, user=user)  # type: ignore[attr-defined]
    world.settle(world.key)  # type: ignore[attr-defined]
    return len(model.requests)


@pytest.mark.parametrize("text", ["and by region?", "continue"])
def test_who_may_not_ask_a_source_may_not_follow_up_on_its_rows(asked: Asked, text: str) -> None:
    world = asked(COUNT, more=PEOPLE)
    key = world.key  # type: ignore[attr-defined]
    assert follows(world, text) == 0
    assert world.statuses(key) == ["done"]
    assert (REFUSED in world.text(key), "begin a new thread" in world.text(key)) == (True, True)
    assert "You may not query the data source shop." in world.text(key)
    (line,) = world.store.audit_lines(actor=BEN)
    assert (line.action, line.outcome, line.details) == ("ask", "refused", {"source": "shop"})
    assert follows(world, "and by region?", user=ANA) > 0
    assert world.statuses(key) == ["done", "done"]


def test_who_may_not_ask_a_source_does_not_join_a_turn_that_has_its_rows(asked: Asked) -> None:
    def joins(world: World) -> None:
        say = {2: lambda: world.say("show me all", thread=world.key, user=BEN)}  # type: ignore[attr-defined]
        world.model = Meanwhile(ScriptedModel([COUNT, cell("print('on')"), finish("Done.")]), say)

    world = asked(more=PEOPLE, before=joins)
    key = world.key  # type: ignore[attr-defined]
    assert REFUSED in world.text(key)
    assert [step["user"] for step in world.steps(key, "asked")] == [ANA]
    assert (world.statuses(key), ran(world)[1]["stdout"]) == (["done"], "on\n")


def test_who_may_not_ask_a_source_does_not_answer_for_its_rows(asked: Asked) -> None:
    world = asked(COUNT, question("Gross or net?", "gross", "net"), more=PEOPLE)
    key = world.key  # type: ignore[attr-defined]
    world.press(key, "gross", user=BEN)
    world.settle(key)
    assert (world.statuses(key), REFUSED in world.text(key)) == (["waiting"], True)


def speaks(world: World, code: str, user: str) -> None:
    """Somebody writes the analyst's next cell."""
    with world._unwatched():
        text = Speech(what="cell", text=code).encode()
        world._take_in(world.key, world.slack._next_ts(), user, text, SPEAK)  # type: ignore[attr-defined]


SPEAKERS = '\n[access]\nspeak = ["members"]\n'


def test_who_may_not_ask_a_source_does_not_speak_for_the_analyst_to_its_rows(asked: Asked) -> None:
    world = asked(COUNT, question("Gross or net?", "gross", "net"), more=PEOPLE + SPEAKERS)
    key = world.key  # type: ignore[attr-defined]
    speaks(world, "print('all of them')", BEN)
    world.settle(key)
    assert (world.statuses(key), len(ran(world))) == (["waiting"], 1)
    speaks(world, "print('all of them')", ANA)
    world.settle(key)
    assert ran(world)[-1]["stdout"] == "all of them\n"


def test_a_cell_that_somebody_else_writes_for_the_analyst_asks_no_source_in_the_askers_name(asked: Asked) -> None:
    world = asked(question("Gross or net?", "gross", "net"), more=PEOPLE + SPEAKERS)
    key = world.key  # type: ignore[attr-defined]
    speaks(world, "print(len(query('select * from orders', source='shop')))", BEN)
    world.settle(key)
    assert "Not everybody" in ran(world)[-1]["error"]


START = """startup
```
try:
    n = len(query('select id from customers', source='shop'))
except Exception as error:
    n = str(error)
print('customers', n)
```"""


def test_start_up_code_of_somebody_else_asks_no_source_in_the_askers_name(asked: Asked) -> None:
    world = asked(more=PEOPLE)
    key = world.key  # type: ignore[attr-defined]
    for text, user in ((START, BEN), ("reset", ANA), ("yes", ANA), ("How many?", ANA)):
        goes_on(world)
        world.say(text, thread=key, user=user)
        world.settle(key)
    again = ran(world)[-1]
    assert again["title"] == "Start-up code of ben"
    assert ("customers Not everybody" in again["stdout"], again["statements"]) == (True, [])


def test_who_may_not_ask_a_source_does_not_edit_what_is_asked_of_its_rows(asked: Asked) -> None:
    world = asked(COUNT, question("Gross or net?", "gross", "net"), more=PEOPLE)
    key = world.key  # type: ignore[attr-defined]
    change = ContextChange(do="edit", message=key.root_ts, text="print them all").encode()
    with world._unwatched():
        world._take_in(key, world.slack._next_ts(), BEN, change, CONTEXT)
    world.settle(key)
    assert world.steps(key, "changed") == []


def test_words_that_somebody_else_edited_ask_no_source_in_the_askers_name(asked: Asked) -> None:
    world = asked(question("Gross or net?", "gross", "net"), COUNT, more=PEOPLE)
    key = world.key  # type: ignore[attr-defined]
    change = ContextChange(do="edit", message=key.root_ts, text="print them all").encode()
    with world._unwatched():
        world._take_in(key, world.slack._next_ts(), BEN, change, CONTEXT)
    world.settle(key)
    world.press(key, "gross")
    world.settle(key)
    assert len(world.steps(key, "changed")) == 1
    assert "Not everybody" in error_of(world)


@pytest.mark.parametrize("text", ["download all", "pdf", "slides", "csv", "as a program"])
def test_who_may_not_ask_a_source_gets_no_file_of_a_thread_with_its_rows(asked: Asked, text: str) -> None:
    world = asked(COUNT, more=PEOPLE)
    key = world.key  # type: ignore[attr-defined]
    before = len(world.slack._files)
    follows(world, text)
    assert (REFUSED in world.text(key), len(world.slack._files)) == (True, before)
    (line,) = world.store.audit_lines(actor=BEN)
    assert (line.outcome, line.details) == ("refused", {"source": "shop"})


def test_who_may_not_ask_a_source_says_nothing_to_its_rows_between_the_words_of_others(asked: Asked) -> None:
    world = asked(COUNT, more=PEOPLE)
    key = world.key  # type: ignore[attr-defined]
    said = world.slack.say("print them all", user=BEN, thread_ts=key.root_ts)
    goes_on(world)
    world.say("and by region?", thread=key)
    (message,) = world.store.unread(key.id)
    given = message.model_dump(include=set(IncomingMessage.model_fields))
    given |= {"ts": said["ts"], "user": BEN, "text": "print them all", "mention": False}
    world.store.record_message(IncomingMessage.model_validate(given))
    world.settle(key)
    assert [step["user"] for step in world.steps(key, "asked")] == [ANA]
    assert (world.statuses(key), REFUSED in world.text(key)) == (["done", "done"], True)


def test_everybody_still_stops_what_has_rows_of_a_source(asked: Asked) -> None:
    world = asked(COUNT, question("Gross or net?", "gross", "net"), more=PEOPLE)
    key = world.key  # type: ignore[attr-defined]
    world.press_stop(key, user=BEN)
    world.settle(key)
    assert (world.statuses(key), REFUSED in world.text(key)) == (["stopped"], False)


def test_after_a_reset_everybody_goes_on_and_an_undo_is_none(asked: Asked) -> None:
    world = asked(COUNT, more=PEOPLE)
    key = world.key  # type: ignore[attr-defined]
    follows(world, "undo", user=BEN)
    assert follows(world, "what was it?") == 0
    follows(world, "reset", user=ANA)
    follows(world, "yes", user=ANA)
    assert follows(world, "what else is there?") > 0
    assert world.statuses(key) == ["done", "done", "done"]


def test_after_a_reset_the_analyst_is_not_told_again_what_cells_printed_of_the_rows(asked: Asked) -> None:
    world = asked(cell("n = query('select max(amount) as n from orders').n[0]"), cell("print(n)"), more=PEOPLE)

    def told() -> bool:
        model = goes_on(world)
        world.say("go on", thread=world.key)  # type: ignore[attr-defined]
        world.settle(world.key)  # type: ignore[attr-defined]
        return "99.99" in json.dumps([request.messages for request in model.requests])

    assert told()
    follows(world, "reset", user=ANA)
    follows(world, "yes", user=ANA)
    assert not told()


@pytest.mark.parametrize("words", ["download", "as excel"])
def test_a_file_of_a_report_before_a_reset_is_for_who_may_ask_its_sources(asked: Asked, words: str) -> None:
    rows = cell("query('select id, amount from orders', source='shop')", "Rows")
    world = asked(rows, more=PEOPLE)
    key = world.key  # type: ignore[attr-defined]
    follows(world, "reset", user=ANA)
    follows(world, "yes", user=ANA)
    for user, may in ((BEN, False), (ANA, True)):
        follows(world, words, user=user)
        posted = [file for message in world.messages(key) for file in message.get("files") or ()]
        assert any(file["name"].endswith((".zip", ".xlsx")) for file in posted) == may, user
    assert REFUSED in world.text(key)


@pytest.mark.parametrize("words", ["make this a program", "keep as playbook"])
def test_what_is_made_of_a_report_before_a_reset_is_for_who_may_ask_its_sources(asked: Asked, words: str) -> None:
    look = "names = query('select name from customers', source='shop').name\nprint('bought by', names[1], len(names))"
    world = asked(cell(look), finish("There are 2 of them: `len(names)`."), more=PEOPLE)
    key = world.key  # type: ignore[attr-defined]
    follows(world, "reset", user=ANA)
    follows(world, "yes", user=ANA)
    for user, may in ((BEN, False), (ANA, True)):
        before = len(world.messages(key, ours=True))
        follows(world, words, user=user)
        said = "".join(message_text(message) for message in world.messages(key, ours=True)[before:])
        assert (REFUSED in said, "python main.py" in said or "for review" in said) == (not may, may), said
        assert "bought by" not in said, "not everybody may have the rows"


def test_a_guest_who_came_into_the_channel_ends_what_everybody_may_do_with_the_rows(asked: Asked) -> None:
    world = asked(COUNT)
    world.slack.flags[BEN] = {"is_restricted": True}
    assert follows(world, "and by region?", user=ANA) == 0
    assert REFUSED in world.text(world.key)  # type: ignore[attr-defined]
    assert "guests" in world.text(world.key)  # type: ignore[attr-defined]


def test_a_replay_says_in_the_audit_whose_rows_it_shows(asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    world = asked(COUNT)
    replay.run(world.settings, world.key.id)  # type: ignore[attr-defined]
    assert [line.details for line in world.store.audit_lines() if line.action == "replay"] == [{"sources": "shop"}]


def test_nobody_follows_up_on_rows_of_a_source_that_is_named_no_more(asked: Asked) -> None:
    world = asked(COUNT)
    world.settings = world.settings.model_copy(update={"sources": {}})
    assert follows(world, "and by region?", user=ANA) == 0
    assert "not in threadbook.toml any more" in world.text(world.key)  # type: ignore[attr-defined]


def test_a_follow_up_waits_while_slack_does_not_say_who_reads_the_channel(asked: Asked) -> None:
    world = asked(COUNT)
    key = world.key  # type: ignore[attr-defined]
    world.slack.fault("conversations.info", "drop_call", times=9)
    world.say("and by region?", thread=key)
    world.run(key)
    assert (world.put_off(key), world.statuses(key)) == (True, ["done"])
    world.slack.heal()
    goes_on(world)
    world.settle(key)
    assert world.statuses(key) == ["done", "done"]


def test_a_channel_that_slack_says_nothing_of_gets_no_rows(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SlackReader, "outsiders_in", lambda *_: "unknown")
    assert "does not say who can read this channel" in error_of(asked(COUNT))


def test_a_broker_that_died_is_a_clear_error_and_the_turn_goes_on(asked: Asked) -> None:
    def dies(world: World) -> None:
        world.settings.broker_socket.unlink()

    world = asked(COUNT, cell("print('without')"), before=dies)
    assert "broker of the data sources" in error_of(world)
    assert ran(world)[1]["stdout"] == "without\n"


def test_a_stop_ends_the_statement_and_the_turn(asked: Asked) -> None:
    def stops(world: World) -> None:
        timer = threading.Timer(0.5, lambda: world.press_stop(world.key))
        world.sessions.fault("run", None, then=timer.start)

    world = asked(cell(f"query({ENDLESS!r})"), more="timeout_s = 600\n", before=stops)
    assert world.statuses(world.key) == ["stopped"]  # type: ignore[attr-defined]


def test_where_the_data_is_stands_in_no_step_no_prompt_and_no_message(
    asked: Asked, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    world = asked(COUNT, cell("query('select nothing from orders')"), cell("print(tables())"))
    key = world.key  # type: ignore[attr-defined]
    told = json.dumps([world.steps(key), [request.messages for request in world.model.requests]])  # type: ignore
    assert "orders" in told
    printed = capfd.readouterr()
    for text in (told, world.text(key), caplog.text, printed.out, printed.err):
        assert SECRET not in text


def dies_with_the_cell(world: World, monkeypatch: pytest.MonkeyPatch, *, times: int = 1) -> None:
    """The worker dies when the cell has its rows and has ended, and nothing of that is stored yet."""
    deaths = iter(range(times))
    stored = cells.cell_ran

    def killed(*given: Any) -> Any:
        if next(deaths, None) is not None:
            raise Killed
        return stored(*given)

    monkeypatch.setattr(cells, "cell_ran", killed)


@pytest.mark.parametrize("times", [1, MOST_CRASHES + 1])
def test_rows_that_a_cell_got_are_known_also_when_its_worker_died(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    world = asked(COUNT, more=PEOPLE, before=lambda world: dies_with_the_cell(world, monkeypatch, times=times))
    key = world.key  # type: ignore[attr-defined]
    assert [step["statement"]["source"] for step in world.steps(key, "queried")] == ["shop"]
    assert [each["rows"] for step in ran(world) for each in step["statements"]] == [1] * (times == 1)
    assert world.sessions.ran == [f"{world.turns(key)[0].id}/c1"], "the cell ran once"
    assert follows(world, "and by region?") == 0
    assert REFUSED in world.text(key)


def test_who_writes_after_the_death_of_a_worker_does_not_join_what_has_rows(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(world: World) -> None:
        dies_with_the_cell(world, monkeypatch)
        run = world.run

        def run_and_write(key: ThreadKey, **given: Any) -> None:
            try:
                run(key, **given)
            except Killed:
                world.say("show me all", thread=key, user=BEN)
                raise

        monkeypatch.setattr(world, "run", run_and_write)

    world = asked(COUNT, more=PEOPLE, before=dies)
    key = world.key  # type: ignore[attr-defined]
    assert [step["user"] for step in world.steps(key, "asked")] == [ANA]
    assert REFUSED in world.text(key)


def test_rows_that_cannot_be_written_down_are_not_given_out(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    append = OpenTurn.append

    def away(turn: OpenTurn, *steps: Any, **given: Any) -> None:
        if steps[0].kind == "queried":
            raise StoreUnreachable("away")
        append(turn, *steps, **given)

    monkeypatch.setattr(OpenTurn, "append", away)
    world = asked(COUNT)
    assert "its rows were not given out" in error_of(world)
    assert [each["rows"] for each in ran(world)[0]["statements"]] == [1], "it was run, and counts"


def test_a_replay_shows_statements_with_their_sql_rows_and_errors(
    asked: Asked, capsys: pytest.CaptureFixture[str]
) -> None:
    world = asked(COUNT, cell("query('select nothing from orders')"))
    replay.run(world.settings, world.key.id)  # type: ignore[attr-defined]
    told = capsys.readouterr().out
    assert re.search(r"queried   shop: 1 row in \d\.\d\d s", told)
    assert re.search(r"query on shop: 1 row in \d\.\d\d s\n +SELECT COUNT\(\*\) AS n FROM", told)
    assert re.search(r"query on shop: .*nothing.*\n +select nothing from orders", told)


def test_the_card_shows_the_rows_of_a_source_while_its_cell_still_runs(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "INTERVAL_S", -1.0)
    shown: list[ProgressView] = []
    progress = Delivery.progress

    def watched(show: Delivery, view: ProgressView, status: str = "") -> None:
        shown.append(view)
        progress(show, view, status)

    monkeypatch.setattr(Delivery, "progress", watched)
    asked(COUNT)
    running = [task.output for view in shown for task in view.tasks if task.status == "in_progress"]
    assert any(re.fullmatch(r"shop: 1 row in \d+\.\d s", told) for told in running), running


STRICT = "strict = true\n"
RUN, SKIP = "Run the query", "Skip it"


def answers(world: World, option: str, *, user: str = ANA, late_s: float = 0.0) -> None:
    world.decide(world.key, {RUN: "run", SKIP: "skip"}[option], user=user, late_s=late_s)  # type: ignore[attr-defined]
    world.settle(world.key)  # type: ignore[attr-defined]


def told(world: World) -> str:
    """All that the model was told when it was last asked what to do."""
    asked_to_act = [request for request in world.model.requests if request.purpose == "act"]  # type: ignore[attr-defined]
    return json.dumps(asked_to_act[-1].messages)


def test_a_strict_source_runs_a_statement_once_its_asker_has_allowed_it(asked: Asked) -> None:
    world = asked(COUNT, more=STRICT)
    key = world.key  # type: ignore[attr-defined]
    assert world.statuses(key) == ["waiting"]
    assert 'SELECT COUNT(*) AS n FROM "main"."orders"' in world.text(key)
    assert "needs a person's yes" in error_of(world)
    assert world.steps(key, "queried") == []
    answers(world, RUN)
    assert world.statuses(key) == ["done"]
    assert [step["stdout"] for step in ran(world)] == ["", "4\n"]
    assert [step["outcome"] for step in world.steps(key, "decided")] == ["run"]
    assert r"the cell \"Count\" ran once more by itself. What is shown" in told(world).replace(r"\\", "\\")
    assert "needs a person's yes" not in told(world)
    requests = [request.purpose for request in world.model.requests]  # type: ignore[attr-defined]
    assert requests.count("act") == 2, "the model is asked again once the rows are there"


ADDS = cell("total += 5\nprint(total, query('select count(*) as n from orders').n[0])")


def test_what_a_cell_did_before_it_stopped_to_ask_is_not_done_twice(asked: Asked) -> None:
    world = asked(cell("total = 5"), ADDS, more=STRICT)
    answers(world, RUN)
    assert ran(world)[-1]["stdout"] == "10 4\n"


@pytest.mark.parametrize("at", range(1, 12))
def test_it_is_not_done_twice_either_where_a_worker_dies(asked: Asked, at: int) -> None:
    world = asked(cell("total = 5"), ADDS, more=STRICT)
    key = world.key  # type: ignore[attr-defined]
    world.decide(key, "run", user=ANA)
    world.settle(key, death=Death(at))
    last = ran(world)[-1]  # a cell whose worker dies while it runs is ended
    assert (last["status"], last["stdout"]) in (("ok", "10 4\n"), ("killed", ""))
    assert world.statuses(key) == ["done"]


def test_a_cell_that_cannot_be_taken_back_does_not_run_again_by_itself(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = asked(cell("total = 5"), ADDS, more=STRICT)
    monkeypatch.setattr(type(world.sessions_at("here")), "undo", lambda *_: False)
    answers(world, RUN)
    assert ran(world)[-1]["error_name"] == "NotTakenBack"
    assert "send what is left of the cell" in told(world)
    assert world.steps(world.key, "queried") == []  # type: ignore[attr-defined]


def test_own_code_before_the_yes_leaves_the_cell_to_the_model(asked: Asked) -> None:
    world = asked(cell("total = 5"), ADDS, more=STRICT)
    key = world.key  # type: ignore[attr-defined]
    world.say("run ```total = 100```", thread=key, user=ANA)
    world.settle(key)
    answers(world, RUN)
    assert [step["stdout"] for step in ran(world) if "/c" in step["cell_id"]] == ["", ""]
    assert "Run the same cell again, unchanged" in told(world)


def test_the_other_cells_of_a_reply_run_after_the_one_that_waited(asked: Asked) -> None:
    replies = {"calls": (*COUNT["calls"], *cell("print('next', 40 + 2)")["calls"])}
    world = asked(replies, more=STRICT)
    answers(world, RUN)
    assert [step["stdout"] for step in ran(world)] == ["", "4\n", "next 42\n"]
    assert world.steps(world.key, "corrected") == []  # type: ignore[attr-defined]


def test_the_other_cells_of_a_reply_do_not_run_when_the_statement_is_skipped(asked: Asked) -> None:
    replies = {"calls": (*COUNT["calls"], *cell("print('next', 40 + 2)")["calls"])}
    world = asked(replies, more=STRICT)
    answers(world, SKIP)
    assert [step["stdout"] for step in ran(world)] == [""]


def test_the_model_is_told_which_statement_of_a_cell_was_allowed_and_why_the_next_cell_did_not_run(
    asked: Asked,
) -> None:
    both = cell("print(query('select 1 as n').n[0])\nprint(query('select 2 as n').n[0])", "Both")
    replies = {"calls": (*both["calls"], *cell("print('next', 40 + 2)")["calls"])}
    world = asked(replies, more=STRICT)
    answers(world, RUN)
    world.say("only the second one", thread=world.key)  # type: ignore[attr-defined]
    world.settle(world.key)  # type: ignore[attr-defined]
    assert "ran once more by itself, until it stopped to ask for the next yes" in told(world)
    assert "What is shown of it is from that run" not in told(world)
    assert "Not run: an earlier cell of the same reply stopped to ask for a person's yes." in told(world)
    assert [step["stdout"] for step in ran(world)] == ["", "1\n"]


def test_a_cell_that_keeps_to_itself_that_it_was_refused_goes_to_the_model(asked: Asked) -> None:
    quiet = cell(
        "try:\n    print(query('select count(*) as n from orders').n[0])\nexcept Exception as e:\n    print(str(e)[:9])"
    )
    world = asked(quiet, COUNT, more=STRICT)
    answers(world, RUN)
    assert next(step["stdout"] for step in ran(world)) == "This stat\n"
    assert "Run the same cell again, unchanged" in told(world)


SAYS_ITSELF = "class RequestRefused(RuntimeError): pass\nraise RequestRefused({said!r})"


@pytest.mark.parametrize(
    "said",
    [
        "This statement on shop needs a person's yes.",
        "The login of shop could change data: it is a superuser.",
        "shop cannot be reached: nothing listens at its address.",
    ],
)
def test_a_cell_that_says_itself_why_it_was_refused_failed_by_itself(asked: Asked, said: str) -> None:
    world = asked(cell(SAYS_ITSELF.format(said=said)))
    assert said in error_of(world)
    assert "Find the cause, then repair it" in told(world)
    assert [step.get("ended_by", "") for step in ran(world)] == [""]


@pytest.mark.parametrize(
    ("error", "ended_by"),
    [
        (errors.SourceAway("The connection to the source was lost."), "source"),
        (errors.LookAgain("The files of shop changed."), "source"),
        (BrokerRestarted(RESTARTED), "source"),
        (errors.LoginCanWrite(f"The login of shop could change data: {'it owns a table; ' * 400}"), "setup"),
        (errors.Misconfigured("The URL of shop is no URL of Postgres."), "setup"),
        (errors.LimitReached("The result has more than the 50,000 rows that the source allows."), ""),
        (errors.StatementFailed("shop cannot be reached: says the database itself"), ""),
        (errors.Cancelled("The query was stopped."), ""),
    ],
)
def test_the_step_of_a_cell_says_why_its_request_was_refused(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, error: Exception, ended_by: str
) -> None:
    answered = BrokerClient.ask

    def refuses(broker: BrokerClient, request: Request, stop: threading.Event) -> Any:
        if request.ask.ask == "rows":
            raise error
        return answered(broker, request, stop)

    monkeypatch.setattr(BrokerClient, "ask", refuses)
    world = asked(COUNT, cell("try:\n    query('select 1')\nexcept Exception:\n    print('no rows')"))
    assert [(step["status"], step["ended_by"]) for step in ran(world)] == [("error", ended_by), ("ok", "")]


def test_a_cell_that_was_refused_and_then_fails_by_itself_is_to_be_repaired(asked: Asked) -> None:
    quiet = "try:\n    query('select count(*) as n from orders')\nexcept Exception:\n    pass\n"
    itself = SAYS_ITSELF.format(said="This statement on me needs a person's yes.")
    world = asked(cell(f"{quiet}{itself}"), more=STRICT)
    answers(world, RUN)
    assert [step["ended_by"] for step in ran(world)] == [""]
    assert "Find the cause, then repair it" in told(world)


def test_a_cell_that_asks_for_two_statements_at_once_waits_for_people_whichever_refusal_ends_it(asked: Asked) -> None:
    code = (
        "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor() as pool:\n"
        "    both = [pool.submit(query, f'select {what}(amount) from orders') for what in ('min', 'max')]\n"
        "for one in reversed(both):\n    print(one.result().iloc[0, 0])"
    )
    world = asked(cell(code), more=STRICT)
    for _ in "ab":
        assert (ran(world)[-1]["status"], ran(world)[-1]["ended_by"]) == ("error", "question")
        answers(world, RUN)
    assert ran(world)[-1]["status"] == "ok"
    assert [request.purpose for request in world.model.requests].count("act") == 2  # type: ignore[attr-defined]


def test_the_worker_behind_a_dead_one_knows_that_its_cell_waits_for_people(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = asked(COUNT, more=STRICT, before=lambda world: dies_with_the_cell(world, monkeypatch))
    answers(world, RUN)
    assert [(step["ended_by"], step["stdout"]) for step in ran(world)] == [("question", ""), ("", "4\n")]


def test_nobody_but_the_asker_allows_a_statement(asked: Asked) -> None:
    world = asked(COUNT, more=STRICT)
    key = world.key  # type: ignore[attr-defined]
    answers(world, RUN, user=BEN)
    world.say(f" {RUN.upper()} ", thread=key, user=BEN)
    world.settle(key)
    assert (world.statuses(key), world.steps(key, "queried")) == (["waiting"], [])
    assert any("you may not decide this here" in text for user, text in world.slack.whispers if user == BEN)
    answers(world, RUN)
    assert world.statuses(key) == ["done"]
    assert len(world.steps(key, "queried")) == 1


def test_a_statement_that_is_skipped_does_not_run_and_is_not_asked_for_again(asked: Asked) -> None:
    world = asked(COUNT, COUNT, more=STRICT)
    answers(world, SKIP)
    assert world.statuses(world.key) == ["done"]  # type: ignore[attr-defined]
    assert "is not to run" in ran(world)[1]["error"]
    assert "The person does not want this" in told(world)
    assert world.steps(world.key, "queried") == []  # type: ignore[attr-defined]


def test_words_instead_of_an_answer_run_nothing_and_reach_the_model(asked: Asked) -> None:
    world = asked(COUNT, COUNT, more=STRICT)
    key = world.key  # type: ignore[attr-defined]
    world.say("only the north, please", thread=key, user=BEN)
    world.settle(key)
    assert world.statuses(key) == ["waiting"], "the same statement is asked for again"
    assert "only the north" in told(world)
    assert "It was not done" in told(world)
    assert world.steps(key, "queried") == []


def test_a_yes_that_comes_too_late_runs_nothing_and_the_model_is_told_once_the_turn_goes_on(asked: Asked) -> None:
    world = asked(COUNT, more=f"{STRICT}confirm_minutes = 5\n")
    key = world.key  # type: ignore[attr-defined]
    answers(world, RUN, late_s=301)
    assert (world.statuses(key), world.steps(key, "queried")) == (["stopped"], [])
    assert "Nobody decided in time" in world.text(key)
    world.say("continue", thread=key)
    world.settle(key)
    assert world.steps(key, "queried") == []
    assert "came too late" in told(world)


def test_a_yes_counts_for_this_statement_alone(asked: Asked) -> None:
    other = cell("print(query('select max(amount) as n from orders').n[0])")
    world = asked(COUNT, other, more=STRICT)
    key = world.key  # type: ignore[attr-defined]
    answers(world, RUN)
    assert (world.statuses(key), len(world.steps(key, "queried"))) == (["waiting"], 1)
    answers(world, RUN)
    assert [step["stdout"] for step in ran(world)] == ["", "4\n", "", "99.99\n"]


def test_a_cell_with_several_statements_has_each_of_them_asked_for(asked: Asked) -> None:
    both = cell(
        "a = query('select 1 as n').n[0]\nb = query('select 2 as n').n[0]\nprint(a + b, len(sample('orders', 2)))"
    )
    world = asked(both, more=STRICT)
    for _ in range(3):
        assert world.statuses(world.key) == ["waiting"]  # type: ignore[attr-defined]
        answers(world, RUN)
    assert ran(world)[-1]["stdout"] == "3 2\n"
    assert world.steps(world.key, "corrected") == [], "the same code again is no repetition here"  # type: ignore[attr-defined]


def test_a_statement_that_the_guard_refuses_is_no_question_to_people(asked: Asked) -> None:
    world = asked(cell("query('drop table orders')"), more=STRICT)
    assert "one SELECT" in error_of(world)
    assert world.statuses(world.key) == ["done"]  # type: ignore[attr-defined]


def test_a_statement_that_the_database_refuses_is_no_question_to_people(asked: Asked, duckdb_url: str) -> None:
    wrong = cell("print(query('select amuont from orders'))")
    world = asked(wrong, more=STRICT, url=duckdb_url)
    key = world.key  # type: ignore[attr-defined]
    assert "Did you mean amount?" in error_of(world)
    assert (world.statuses(key), world.steps(key, "questioned"), world.steps(key, "queried")) == (["done"], [], [])


def test_a_strict_database_file_still_asks_before_what_it_could_run(asked: Asked, duckdb_url: str) -> None:
    world = asked(COUNT, more=STRICT, url=duckdb_url)
    assert world.statuses(world.key) == ["waiting"]  # type: ignore[attr-defined]
    answers(world, RUN)
    assert [step["stdout"] for step in ran(world)] == ["", "4\n"]


def test_a_statement_too_long_to_be_read_is_not_asked_for(asked: Asked) -> None:
    world = asked(cell("query('select ' + '+'.join(['1'] * 2000) + ' as n')"), more=STRICT)
    assert "a person has to read" in error_of(world).lower()
    assert world.statuses(world.key) == ["done"]  # type: ignore[attr-defined]


def test_a_question_about_a_statement_is_not_lost_with_its_worker(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = asked(COUNT, more=STRICT, before=lambda world: dies_with_the_cell(world, monkeypatch))
    key = world.key  # type: ignore[attr-defined]
    assert world.statuses(key) == ["waiting"]
    assert sum("May this query run" in message_text(m) for m in world.messages(key, ours=True)[1:]) == 1
    answers(world, RUN)
    assert [step["stdout"] for step in ran(world)] == ["", "4\n"]
    assert sum("May this query run" in message_text(m) for m in world.messages(key, ours=True)[1:]) == 1
    assert world.statuses(key) == ["done"]


METRIC = "---\nmetric: revenue\ntable: orders\n---\n\n```sql\nsum(amount) FILTER (WHERE placed IS NOT NULL)\n```\n"


@pytest.mark.parametrize(
    ("sql", "is_pointed_out"),
    [
        ("select sum(amount) as revenue from orders", True),
        ("select amount from orders", True),
        ("select sum(amount) filter (where placed is not null) as revenue from orders", False),
    ],
)
def test_a_metric_that_a_cell_computes_otherwise_is_said_to_people_and_to_the_model(
    asked: Asked, tmp_path: Path, sql: str, is_pointed_out: bool
) -> None:
    def metric(world: World) -> None:
        folder = world.settings.config.parent / "words" / "metrics"
        folder.mkdir(parents=True)
        (folder / "revenue.md").write_text(METRIC)

    code = cell(f"frame = query({sql!r})\nrevenue = float(frame.iloc[:, 0].sum())\nprint(revenue)")
    world = asked(code, more='dictionary = "words"\n', before=metric)
    assert ran(world)[0]["error"] == ""
    assert ("The team defines revenue" in world.text(world.key)) == is_pointed_out  # type: ignore[attr-defined]
    assert ("does not use their SQL: revenue" in told(world)) == is_pointed_out


def test_people_hear_of_a_metric_that_is_computed_otherwise_once_in_a_question(asked: Asked) -> None:
    def metric(world: World) -> None:
        folder = world.settings.config.parent / "words" / "metrics"
        folder.mkdir(parents=True)
        (folder / "revenue.md").write_text(METRIC)

    other = "revenue = float(query('select sum(amount) as revenue from orders').iloc[0, 0]) + {}\nprint(revenue)"
    cells = [cell(other.format(0)), cell(other.format(1), "Once more")]
    world = asked(*cells, more='dictionary = "words"\n', before=metric)
    assert len(ran(world)) == 2
    assert world.text(world.key).count("The team defines revenue") == 1  # type: ignore[attr-defined]
    assert "does not use their SQL: revenue" in told(world)


PRIVATELY = "private_answers = true\n"


def with_a_guest(world: World) -> None:
    world.slack.flags[BEN] = {"is_restricted": True}


def direct_messages(world: World) -> list[ThreadKey]:
    """The threads in direct messages that have something to do or had."""
    channel = f"D{ANA[1:]}"
    tops = [each for place, each in world.slack._messages.items() if place[0] == channel and not each.get("thread_ts")]
    return [ThreadKey(world.slack.team, channel, top["ts"]) for top in tops]


def test_a_question_among_guests_is_answered_in_a_direct_message(asked: Asked) -> None:
    world = asked(COUNT, more=PRIVATELY, before=with_a_guest)
    key = world.key  # type: ignore[attr-defined]
    assert "the person is then answered in a direct message" in prompt(world)
    assert "gets the answer in a direct message" in error_of(world)
    assert (world.statuses(key), ran(world)[0]["statements"]) == (["done"], [])
    assert "amount decimal" not in prompt(world), "nothing of the tables is known there"
    (private,) = direct_messages(world)
    assert world.works(private), "the janitor finds its mail"
    world.model = Meanwhile(ScriptedModel([COUNT, finish("There are **4**.")]), {})
    world.settle(private)
    assert [step["stdout"] for step in world.steps(private, "cell")] == ["4\n"]
    assert [step["text"] for step in world.steps(private, "asked")] == ["How many orders?"]
    told_there = [message_text(message) for message in world.slack.thread(private.root_ts, private.channel)]
    assert any("There are" in each for each in told_there)
    assert "You asked in" in told_there[0]
    assert "There are" not in world.text(key)


def test_what_a_direct_message_took_from_a_thread_goes_with_it(asked: Asked) -> None:
    """The question stands there too: it is deleted there, and a purge of the thread purges both."""
    world = asked(COUNT, more=PRIVATELY, before=with_a_guest)
    key = world.key  # type: ignore[attr-defined]
    (private,) = direct_messages(world)
    world.model = Meanwhile(ScriptedModel([COUNT, finish("There are **4**.")]), {})
    world.settle(private)
    assert world.store.purgeable(thread_id=key.id) == [private.id, key.id]
    world.store.delete_message(key.team, key.channel, key.root_ts)
    left = [step.model_dump_json() for turn in world.turns(private) for step in world.store.steps(turn.id)]
    assert left
    assert not [text for text in left if "How many orders" in text]
    written = world.store.written(private.team, private.channel, private.root_ts)
    assert written is not None
    assert "How many orders" not in written.text


def test_a_question_is_taken_to_a_direct_message_once_however_often_its_cells_ask(asked: Asked) -> None:
    world = asked(COUNT, COUNT, more=PRIVATELY, before=with_a_guest)
    assert len(direct_messages(world)) == 1


def test_who_may_not_ask_gets_no_rows_in_a_direct_message_either(asked: Asked) -> None:
    world = asked(COUNT, more=f'{PRIVATELY}people = ["{BEN}"]\n', before=with_a_guest)
    (private,) = direct_messages(world)
    world.model = Meanwhile(ScriptedModel([COUNT, finish("No.")]), {})
    world.settle(private)
    assert "Not everybody" in world.steps(private, "cell")[0]["error"]


def test_a_direct_message_that_slack_refuses_leaves_the_refusal(asked: Asked) -> None:
    def no_messages(world: World) -> None:
        with_a_guest(world)
        world.slack.fault("conversations.open", "error", error="user_disabled", times=9)

    world = asked(COUNT, more=PRIVATELY, before=no_messages)
    assert "that guests or people of other workspaces can read" in error_of(world)
    assert direct_messages(world) == []


def test_a_guest_who_asks_privately_gets_no_rows(asked: Asked) -> None:
    def is_a_guest(world: World) -> None:
        world.slack.flags[ANA] = {"is_restricted": True}
        world.settings = world.settings.model_copy(
            update={"access": world.settings.access.model_copy(update={"ask": ("members", "guests")})}
        )

    world = asked(COUNT, more=PRIVATELY, before=is_a_guest)
    for private in direct_messages(world):
        world.model = Meanwhile(ScriptedModel([COUNT, finish("No.")]), {})
        world.settle(private)
        assert all(not step["statements"] for step in world.steps(private, "cell"))


def checked(world: World) -> CleanRoom:
    world.check()
    found = world.store.clean_room(world.turns(world.key)[-1].id)  # type: ignore[attr-defined]
    assert found is not None
    return found


SUM = cell("orders = query('select 1234 as n from orders limit 3', 'shop')", "Ask")
SHOWN = cell("print('sum', int(orders.n.sum()))", "Sum up")
SAYS = finish("The sum is **3,702**.")


def test_a_clean_room_gets_the_rows_that_were_kept_and_asks_no_source(asked: Asked) -> None:
    world = asked(SUM, SHOWN, SAYS)
    statement = world.steps(world.key, "cell")[0]["statements"][0]  # type: ignore[attr-defined]
    assert statement["rows_file"]["size"] > 0
    world.settings.broker_socket.unlink()
    found = checked(world)
    assert (found.state, found.cells, found.figures) == ("reproduced", 2, 1)


def test_a_cell_whose_rows_were_not_kept_is_named(asked: Asked) -> None:
    found = checked(asked(SUM, SHOWN, SAYS, more="[report]\nclean_room_rows_mb = 0\n"))
    assert (found.state, found.reason) == ("unchecked", "effects")
    assert [(one.cell, one.title, one.why) for one in found.left_out] == [(1, "Ask", "no_rows")]


def test_without_clean_rooms_no_rows_are_kept(asked: Asked) -> None:
    world = asked(SUM, SHOWN, SAYS, more='[report]\nclean_room = "off"\n')
    assert world.steps(world.key, "cell")[0]["statements"][0]["rows_file"] is None  # type: ignore[attr-defined]


def test_a_query_that_was_refused_is_refused_again(asked: Asked) -> None:
    code = (
        "try:\n    query('select * from salaries', 'shop')\n"
        "except Exception as e:\n    why = len(str(e)) > 5\nprint(why * 4321)"
    )
    found = checked(asked(cell(code), finish("It is **4,321**.")))
    assert (found.state, found.figures) == ("reproduced", 1)


def test_a_purge_deletes_the_rows_that_were_kept(asked: Asked) -> None:
    world = asked(SUM, SHOWN, SAYS)
    kept = world.steps(world.key, "cell")[0]["statements"][0]["rows_file"]["sha256"]  # type: ignore[attr-defined]
    assert Blobs(world.settings.files).has(kept)
    world.store.purge_thread(world.key.id)  # type: ignore[attr-defined]
    assert kept in world.store.unneeded_contents()


def test_a_reset_deletes_the_rows_that_were_kept(asked: Asked) -> None:
    world = asked(SUM, SHOWN, SAYS)
    key = world.key  # type: ignore[attr-defined]
    kept = world.steps(key, "cell")[0]["statements"][0]["rows_file"]["sha256"]
    world.slack.flags[ANA] = {"is_admin": True}
    for words in ("reset", "yes"):
        world.say(words, thread=key)
        world.settle(key)
    assert not Blobs(world.settings.files).has(kept)


BY_SQL = {
    "text": 'All orders.\n```python\nanswers = query(\'select 1234 * count(*) as "sum of n" from '
    "(select 1 from orders limit 3) t', 'shop').iloc[0].to_dict()\n```"
}


def second_way(world: World) -> dict[str, Any]:
    return world.steps(world.key, "finished")[-1]["second"]  # type: ignore[attr-defined, no-any-return]


def test_a_second_way_asks_the_database_itself_and_its_statement_is_counted(asked: Asked) -> None:
    world = asked(SUM, SHOWN, SAYS, more='[check]\nsecond_route = "headline"\n', routes=[BY_SQL])
    assert second_way(world)["state"] == "agrees"
    (queried,) = [step for step in world.steps(world.key, "queried") if "/r" in step["cell_id"]]  # type: ignore[attr-defined]
    assert queried["statement"]["source"] == "shop"
    assert queried["statement"]["rows_file"] is None


def test_a_source_that_wants_a_yes_for_each_statement_gives_a_second_way_no_rows(asked: Asked) -> None:
    more = 'strict = true\n[check]\nsecond_route = "headline"\n'
    world = asked(cell("print('sum', 3702)"), SAYS, more=more, routes=[BY_SQL, BY_SQL])
    assert (second_way(world)["state"], second_way(world)["reason"]) == ("unchecked", "error")
    assert "needs a person's yes" in world.steps(world.key, "route_ran")[0]["error"]  # type: ignore[attr-defined]
    assert world.statuses(world.key) == ["done"]  # type: ignore[attr-defined]
    assert not world.steps(world.key, "questioned")  # type: ignore[attr-defined]


ABOVE_ROWS = "ask_above_rows = 10\n"
CROSSED = cell("print(query('select count(*) as n from orders a, orders b, orders c').n[0])", "Crossed")


@pytest.fixture
def duckdb_url(tmp_path: Path) -> Iterator[str]:
    """The same shop in a database that tells how many rows it expects: each pair of its four orders makes sixteen."""
    folder = tmp_path / "duck"
    folder.mkdir()
    with sources_world.duckdb_file(folder) as world:
        yield world.reader


def test_a_statement_of_many_expected_rows_waits_for_a_yes_and_a_small_one_does_not(
    asked: Asked, duckdb_url: str
) -> None:
    world = asked(COUNT, CROSSED, more=ABOVE_ROWS, url=duckdb_url)
    key = world.key  # type: ignore[attr-defined]
    assert "goes through more than 10 rows waits for a person" in prompt(world)
    assert [len(step["statements"]) for step in ran(world)] == [1, 0]
    assert world.statuses(key) == ["waiting"]
    assert "expects to process about 64 rows for this query. May it run?" in world.text(key)
    answers(world, RUN, user=BEN)
    assert world.statuses(key) == ["waiting"], "Ben may not approve here"
    answers(world, RUN)
    assert [step["stdout"] for step in ran(world)] == ["4\n", "", "64\n"]
    assert world.statuses(key) == ["done"]


@pytest.mark.parametrize("more", ["", ABOVE_ROWS])
def test_an_unknown_column_is_told_with_the_nearest_one_also_where_the_size_is_asked_first(
    asked: Asked, duckdb_url: str, more: str
) -> None:
    wrong = cell("print(query('select amuont from orders'))")
    assert "Did you mean amount?" in error_of(asked(wrong, more=more, url=duckdb_url))


def test_a_statement_of_many_expected_rows_that_is_skipped_does_not_run(asked: Asked, duckdb_url: str) -> None:
    world = asked(CROSSED, CROSSED, more=ABOVE_ROWS, url=duckdb_url)
    answers(world, SKIP)
    assert "is not to run" in ran(world)[1]["error"]
    assert world.steps(world.key, "queried") == []  # type: ignore[attr-defined]


def test_a_database_that_expects_nothing_is_asked_without_a_yes(asked: Asked) -> None:
    world = asked(CROSSED, more=ABOVE_ROWS)
    assert ran(world)[0]["stdout"] == "64\n"


@pytest.mark.parametrize(("user", "runs"), [(ANA, True), (BEN, False)])
def test_own_code_sends_such_a_statement_for_those_who_may_approve_it(
    asked: Asked, duckdb_url: str, user: str, runs: bool
) -> None:
    world = asked(COUNT, more=ABOVE_ROWS, url=duckdb_url)
    key = world.key  # type: ignore[attr-defined]
    code = "print(query('select count(*) as n from orders a, orders b, orders c').n[0])"
    world.say(f"run ```{code}```", thread=key, user=user)
    world.settle(key)
    (own,) = [step for step in ran(world) if "/p" in step["cell_id"]]
    assert (own["stdout"] == "64\n") is runs
    assert ("need the yes of somebody who may approve them" in own["error"]) is not runs


def test_a_second_way_sends_no_statement_that_would_have_to_wait(asked: Asked, duckdb_url: str) -> None:
    more = f'{ABOVE_ROWS}[check]\nsecond_route = "headline"\n'
    way = {"text": BY_SQL["text"].replace("(select 1 from orders limit 3) t", "orders a, orders b, orders c")}
    world = asked(cell("print('sum', 3702)"), SAYS, more=more, routes=[way, way], url=duckdb_url)
    assert "needs a person's yes" in world.steps(world.key, "route_ran")[0]["error"]  # type: ignore[attr-defined]
    assert not world.steps(world.key, "questioned")  # type: ignore[attr-defined]
