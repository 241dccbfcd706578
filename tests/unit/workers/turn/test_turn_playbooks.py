"""A report becomes a playbook: drafted, proved, reviewed; another person's question follows it, or does not."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from test_turn_approvals import AtOnce
from test_turn_sources import asked  # noqa: F401 - a fixture
from turn_world import ANA, BEN, CHANNEL, Json, Meanwhile, World, cell, finish

from bot.message_handler import MessageHandler
from bot.presses.memory import Proposals
from core.commands.registry import TEACH, UNFOLLOW
from core.interactions import PlaybookButton
from core.slack.writing.writer import SlackWriter
from core.steps import Proposed
from core.team_memory import MemoryDecision
from core.values import ThreadKey
from workers.agent.playbooks import DRIFT_CALL
from workers.memory.playbooks.page import read_playbook, write_playbook
from workers.models.scripted import ScriptedModel

SALES = b"region,units\nnorth,120\nsouth,100\n"
READ = 'import csv\nwith open("sales.csv") as f:\n    rows = list(csv.DictReader(f))\nprint("rows", len(rows))'
SUM = 'total = sum(int(row["units"]) for row in rows)\nprint("total units", total)'
QUESTION = "How many units did all regions sell together?"
REPORT = "All regions sold 220 units in 2 rows."


def kept(world: World, *, edits: str = "", user: str = ANA, do: Any = "keep") -> ThreadKey:
    """A thread whose report somebody has kept as a playbook."""
    world.model = ScriptedModel([cell(READ, "Read the sales"), cell(SUM, "Add the units"), finish(REPORT)])
    key = world.say(QUESTION, files={"sales.csv": SALES})
    world.settle(key)
    world.say("keep this as a playbook", thread=key)
    world.settle(key)
    decide(world, key, do, user=user, text=edits)
    return key


def proposed(world: World, key: ThreadKey) -> Proposed:
    steps = [step for steps in world.store.thread_steps(key.id).values() for step in steps]
    return [step for step in steps if isinstance(step, Proposed)][-1]


def decide(world: World, key: ThreadKey, do: Any, *, user: str = ANA, text: str = "") -> None:
    decision = MemoryDecision(proposal=proposed(world, key).id, do=do, text=text)
    world._take_in(key, world.slack._next_ts(), user, decision.encode(), TEACH)
    world.settle(key)


def pages(world: World) -> list[str]:
    folder = world.settings.memory_folder / "channels" / CHANNEL / "playbooks"
    return [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.md"))]


def ask(world: World, question: str, content: bytes = SALES, *replies: Json) -> tuple[ThreadKey, Meanwhile]:
    script = replies or (cell(READ, "Read"), cell(SUM, "Add"), finish("By the playbook: 220 units in 2 rows."))
    model = Meanwhile(ScriptedModel(list(script)), {})
    world.model = model
    key = world.say(question, files={"sales.csv": content}, user=BEN)
    world.settle(key)
    return key, model


def prompt(model: Meanwhile, number: int = 0) -> str:
    return "\n".join(str(message.get("content")) for message in model.requests[number].messages)


def test_a_report_becomes_a_playbook_with_functions_that_give_the_same(world: World) -> None:
    key = kept(world)
    (text,) = pages(world)
    book = read_playbook(text)
    assert book.name == "How many units did all regions sell together"
    assert [stage.title for stage in book.stages] == ["Read the sales", "Add the units"]
    assert "def read_the_sales(*, sales_file='sales.csv'):" in book.stages[0].code
    assert "def add_the_units(rows):" in book.stages[1].code
    assert book.inputs[0].columns == ("units",)
    assert "✓ Reproduced" in book.proof, book.proof
    assert book.checks == ("the report gives: total units", "the report gives: rows")
    assert book.approved == ("ana",)
    assert book.thread == key.id
    assert "approved the playbook" in world.text(key)


def test_the_proof_is_said_in_the_language_of_the_thread_and_kept_in_english(world: World) -> None:
    world.model = ScriptedModel([cell(READ, "Daten lesen"), cell(SUM, "Stück zählen"), finish("Es sind 220 Stück.")])
    key = world.say("Wie viele Stück haben alle Regionen zusammen verkauft?", files={"sales.csv": SALES})
    world.settle(key)
    world.say("als Playbook speichern", thread=key)
    world.settle(key)
    draft = proposed(world, key)
    assert "✓ Reproduziert in" in draft.about
    assert "Reproduced in" not in draft.about
    assert "proof: '✓ Reproduced in" in draft.text


def test_words_behind_the_command_name_the_playbook(world: World) -> None:
    world.model = ScriptedModel([cell(READ, "Read the sales"), cell(SUM, "Add the units"), finish(REPORT)])
    key = world.say(QUESTION, files={"sales.csv": SALES})
    world.settle(key)
    world.say("keep this as a playbook: Units of all regions.", thread=key)
    world.settle(key)
    decide(world, key, "keep")
    (text,) = pages(world)
    assert read_playbook(text).name == "Units of all regions"
    assert world.statuses(key) == ["done"]


def opened(world: World, key: ThreadKey, user: str) -> str:
    """A person presses “open” on the line that names the playbook of the thread's last turn; what comes of it."""
    slack = SlackWriter(world.slack.client(), world.store)
    handler = MessageHandler(
        settings=world.settings,
        store=world.store,
        wakes=world.wakes(),
        slack=slack,
        later=AtOnce(),
        lookups=AtOnce(),
    )
    button = PlaybookButton(turn=world.turns(key)[-1].id, do="open")
    body = {
        "actions": [{"value": button.encode(), "action_ts": world.slack._next_ts()}],
        "container": {"channel_id": key.channel},
        "user": {"id": user},
        "trigger_id": "1.2.x",
    }
    with world._unwatched():
        return Proposals(world.store, slack, handler).use(body, key.team)


def test_the_code_of_a_playbook_is_shown_to_who_may_see_the_code_of_a_report(world: World) -> None:
    kept(world)
    key, _ = ask(world, QUESTION)
    world.slack.flags[BEN] = {"is_restricted": True}
    assert opened(world, key, BEN) == "refused"
    assert world.slack.views == []
    assert opened(world, key, ANA) == "shown"


def drafted(world: World, *more: tuple[str, bytes], sum_up: str = SUM) -> Proposed:
    """The draft of a playbook in a thread with these files too."""
    world.model = ScriptedModel([cell(READ, "Read the sales"), cell(sum_up, "Add the units"), finish(REPORT)])
    key = world.say(QUESTION, files={"sales.csv": SALES, **dict(more)})
    world.settle(key)
    world.say("keep this as a playbook", thread=key)
    world.settle(key)
    return proposed(world, key)


def test_a_draft_is_proved_on_another_file_of_the_thread_too_and_shows_both_results(world: World) -> None:
    draft = drafted(world, ("july.csv", b"region,units\nnorth,90\nsouth,40\neast,20\n"))
    proof = "on a second input, july.csv: every stage ran and showed what it has to"
    assert proof in draft.about
    assert "220 → 150" in draft.about
    book = read_playbook(draft.text)
    assert book.proof.endswith(proof)
    assert "✓ Reproduced" in book.proof
    assert not re.search(r"\b150\b", draft.text), "the page holds no value of the data"  # an id may have these digits


def test_a_stage_that_fails_on_the_second_input_is_named(world: World) -> None:
    rows = b"region,units\nnorth,90\nwest,40\nsouth,20\n"
    code = SUM.replace("print", 'assert rows[1]["region"] == "south"\nprint')
    draft = drafted(world, ("july.csv", rows), sum_up=code)
    assert "on a second input, july.csv: stage 2 fails: AssertionError" in draft.about


def test_without_another_file_of_the_same_shape_there_is_one_proof(world: World) -> None:
    draft = drafted(world, ("plan.csv", b"month,goal\nMay,90\nJune,40\n"))
    assert "second input" not in draft.text + draft.about
    assert "✓ Reproduced" in draft.about


def test_the_newest_file_of_the_channel_with_the_same_name_is_the_second_input(world: World) -> None:
    ask(world, "how many?", b"region,units\nnorth,90\nsouth,40\neast,20\n")
    draft = drafted(world)
    assert "on a second input, sales.csv: every stage ran" in draft.about
    assert "220 → 150" in draft.about


def test_a_file_of_the_channel_with_another_shape_or_of_another_channel_is_none(world: World) -> None:
    ask(world, "how many?", b"region,pieces\nnorth,90\nsouth,40\n")
    world.model = ScriptedModel([finish("None.")])
    world.settle(world.say("and?", channel="C0OTHER001", files={"sales.csv": SALES + b"west,1\n"}))
    assert "second input" not in drafted(world).about


def test_nothing_is_kept_before_somebody_approves_and_no_is_no(world: World) -> None:
    key = kept(world, do="drop")
    assert pages(world) == []
    decide(world, key, "keep")
    assert pages(world) == []


def test_two_drafts_with_one_name_are_both_kept(world: World) -> None:
    drafts = [drafted(world), drafted(world)]
    keys = [ThreadKey.parse(read_playbook(draft.text).thread) for draft in drafts]
    assert drafts[0].file == drafts[1].file
    for key in keys:
        decide(world, key, "keep")
    assert [read_playbook(text).thread for text in pages(world)] == [keys[1].id, keys[0].id]
    assert drafts[0].file.replace(".md", "-2.md") in world.text(keys[1])


def test_only_who_asked_or_an_admin_approves(world: World) -> None:
    key = kept(world, user=BEN)
    assert pages(world) == []
    decide(world, key, "keep", user=ANA)
    assert len(pages(world)) == 1


def test_nobody_has_edited_code_run_on_rows_that_they_may_not_query(asked: Any) -> None:  # noqa: F811
    look = "n = query('select 1234 as n from orders', 'shop')\nprint('sum', int(n.n.sum()))"
    world = asked(
        cell(look), finish("The sum is **4,936**."), more=f'people = ["{ANA}"]\n[access]\nteach = ["members"]\n'
    )
    world.say("keep this as a playbook", thread=world.key)
    world.settle(world.key)
    wrong = proposed(world, world.key).text.replace("int(n", "1 + int(n")
    assert wrong != proposed(world, world.key).text
    for user, count in ((BEN, 0), (ANA, 1)):
        decide(world, world.key, "keep", user=user, text=wrong)
        assert len(pages(world)) == count, user
    assert "4937" in read_playbook(pages(world)[0]).proof.replace(",", "")


def test_a_deleted_thread_leaves_the_playbook_and_nothing_else(world: World) -> None:
    key = kept(world)
    world.store.purge_thread(key.id)
    assert world.store.thread_steps(key.id) == {}
    (text,) = pages(world)
    assert key.id in text
    assert "120" not in text.replace(key.id, "")


def test_an_edited_page_is_proved_again_and_one_that_cannot_be_read_waits(world: World) -> None:
    key = kept(world, edits="no playbook at all")
    assert pages(world) == []
    assert any("cannot be read" in str(given) for method, given in world.slack.calls if "Ephemeral" in method)
    wrong = proposed(world, key).text.replace("sum(int", "1 + sum(int")
    decide(world, key, "keep", text=wrong)
    (text,) = pages(world)
    assert "1 + sum(int" in text
    assert "221" in read_playbook(text).proof


def test_an_edited_page_is_proved_on_the_report_that_it_was_drafted_from(world: World) -> None:
    key = kept(world, edits="no playbook at all")
    more = cell('print("mean", total / len(rows))', "Mean")
    world.model = ScriptedModel(turns=[[], [more, finish("110 on average.")]])
    world.say("And on average?", thread=key)
    world.settle(key)
    decide(world, key, "keep", text=proposed(world, key).text.replace("sum(int", "1 + sum(int"))
    (text,) = pages(world)
    assert "221" in read_playbook(text).proof


def test_an_editor_changes_neither_the_proof_nor_who_approved(world: World) -> None:
    key = kept(world, edits="no playbook at all")
    drafted = read_playbook(proposed(world, key).text)
    forged = replace(drafted, proof="reproduced by the board", approved=("Carla",), thread="T1:C1:1", when="How much?")
    decide(world, key, "keep", text=write_playbook(forged))
    (text,) = pages(world)
    book = read_playbook(text)
    assert (book.proof, book.approved, book.thread) == (drafted.proof, ("ana",), key.id)
    assert book.when == "How much?"


def test_another_persons_question_follows_it_and_the_thread_says_so(world: World) -> None:
    kept(world)
    key, model = ask(world, "units that all regions sold together, please", SALES + b"west,30\n")
    assert "I follow ana's playbook “How many units did all regions sell together”" in world.text(key)
    assert "[Open]" in world.text(key)
    told = prompt(model)
    assert "The team's playbook for this question" in told
    assert "def add_the_units(rows):" in told
    assert "results of the data of then" in told


def test_an_unrelated_question_and_another_channel_follow_nothing(world: World) -> None:
    kept(world)
    key, model = ask(world, "Draw a chart of the temperatures in May")
    assert "playbook" not in world.text(key).replace("[Keep as playbook]", "").replace("By the playbook", "")
    assert "The team's playbook" not in prompt(model)
    world.model = Meanwhile(ScriptedModel([finish("None.")]), {})
    other = world.say(QUESTION, channel="C0OTHER001")
    world.settle(other)
    assert "I follow" not in world.text(other)


def test_somebody_who_does_not_want_it_has_the_next_reply_without(world: World) -> None:
    kept(world)
    model = Meanwhile(ScriptedModel([cell(READ, "Read"), cell(SUM, "Add"), finish("220 units in 2 rows.")]), {})
    world.model = model
    key = world.say(QUESTION, files={"sales.csv": SALES}, user=BEN)

    def press() -> None:
        text = MemoryDecision(proposal="playbook", do="drop").encode()
        world._take_in(key, world.slack._next_ts(), BEN, text, UNFOLLOW)

    model._then[1] = press
    world.settle(key)
    assert "The team's playbook" in prompt(model, 0)
    assert "The team's playbook" not in prompt(model, 2)
    assert "does not want the playbook" in world.text(key)


def test_data_that_has_drifted_is_asked_about_first(world: World) -> None:
    kept(world)
    drifted = SALES.replace(b"units", b"pieces")
    key, model = ask(world, QUESTION, drifted)
    assert world.statuses(key) == ["waiting"]
    assert "no column “units”" in world.text(key)
    assert model.requests == []
    world.press(key, "Work without it", user=BEN)
    world.settle(key)
    assert world.steps(key, "questioned")[0]["call_id"] == f"{DRIFT_CALL}1"
    assert "The team's playbook" not in prompt(model)


def test_people_may_follow_a_drifted_playbook_all_the_same(world: World) -> None:
    kept(world)
    key, model = ask(world, QUESTION, SALES.replace(b"units", b"pieces"))
    world.press(key, "Follow it anyway", user=BEN)
    world.settle(key)
    told = prompt(model)
    assert "The team's playbook" in told
    assert "no column “units”" in told


def test_a_thread_without_code_or_report_becomes_no_playbook(world: World) -> None:
    world.model = ScriptedModel([finish("Ask me about data.")])
    key = world.say("hello")
    world.settle(key)
    world.say("keep this as a playbook", thread=key)
    world.settle(key)
    assert "cannot become a playbook" in world.text(key)


def test_the_offline_analyst_follows_none_and_does_not_break(world: World) -> None:
    kept(world)

    class Offline(Meanwhile):
        name = "offline-analyst"  # type: ignore[assignment]

    world.model = Offline(ScriptedModel([finish("Done.")]), {})
    key = world.say(QUESTION, user=BEN)
    world.settle(key)
    assert "I follow" not in world.text(key)
    assert world.statuses(key) == ["done"]
