"""Many workspaces: whole turns in two of them, and nothing of one within reach of the other."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import test_turn_playbooks
from slack_sdk.oauth.installation_store import Installation
from sqlalchemy import text as sql
from test_turn_fork import LOAD, SALES, link, script, told
from tools_world import served, table
from turn_world import ANA, BEN, Death, Killed, NewWorld, World, cell, finish, question
from workspaces_world import A, B, TwoWorkspaces

from core.authorization import Authorizer
from core.commands.registry import MEMORY
from core.phrases import say
from core.steps import Proposed
from core.team_memory import MemoryDecision
from core.values import ThreadKey
from workers.repositories.cloning import Cloner

TEAM = f"""
[sources.orders]
url_env = "ORDERS_URL"
description = "all orders of heron"
[workspaces.{A}]
sources = ["orders"]
"""


@pytest.fixture
def two(new_world: NewWorld) -> TwoWorkspaces:
    found = TwoWorkspaces(new_world(), TEAM)
    found.install(A)
    found.install(B)
    return found


def ask(two: TwoWorkspaces, team: str, said: str, *replies: Any, **more: Any) -> ThreadKey:
    world = two.at(team)
    script(world, *(replies or (cell("print(12)"), finish("There are 12."))))
    key = world.say(said, **more)
    world.settle(key)
    return key


def gave_up(world: World, key: ThreadKey) -> list[str]:
    return [step["text"] for step in world.steps(key, "gave_up")]


def everything_stored(world: World) -> str:
    """All rows of all tables but the one with the encrypted tokens."""
    with world.store._reading() as db:
        names = [row[0] for row in db.execute(sql("SELECT name FROM sqlite_master WHERE type = 'table'"))]
        return "\n".join(
            str(tuple(row))
            for name in names
            if name != "installations"
            for row in db.execute(sql(f'SELECT * FROM "{name}"'))
        )


def test_each_workspace_is_answered_in_its_own_slack_with_its_own_token(two: TwoWorkspaces) -> None:
    first = ask(two, A, "how many herons?", LOAD, finish("The total is 42."), files=SALES)
    storks = {"sales.csv": b"region,amount\nnorth,7\n"}
    second = ask(two, B, "how many storks?", LOAD, finish("The total is 7."), files=storks)
    assert "The total is 42." in two.at(A).text(first)
    assert "The total is 7." in two.at(B).text(second)
    assert set(two.seen_tokens) == {(A, f"xoxb-of-{A}"), (B, f"xoxb-of-{B}")}
    assert two.nobody.calls == []
    assert "xoxb-" not in everything_stored(two.world)


def test_a_token_that_is_exchanged_between_two_turns_is_used_by_the_second(two: TwoWorkspaces) -> None:
    key = ask(two, B, "how many?")
    two.install(B, "xoxb-exchanged")
    two.seen_tokens.clear()
    world = two.at(B)
    script(world, cell("print(12)"), finish("There are 12."), cell("print(13)"), finish("There are 13."))
    world.say("and now?", thread=key)
    world.settle(key)
    assert "There are 13." in world.text(key)
    assert set(two.seen_tokens) == {(B, "xoxb-exchanged")}


# --- leaving


def test_a_question_in_a_workspace_that_left_ends_with_a_sentence_and_no_call(two: TwoWorkspaces) -> None:
    world = two.at(B)
    key = world.say("how many?")
    two.uninstall(B)
    two.seen_tokens.clear()
    world.settle(key)
    assert world.statuses(key) == ["stopped"]
    assert gave_up(world, key) == [
        "Threadbook was uninstalled from this workspace, so I stopped. The thread’s files and variables are kept. "
        "Install it again and write “continue” to go on."
    ]
    assert not two.seen_tokens
    assert two.nobody.calls == []


def test_a_turn_whose_workspace_leaves_meanwhile_ends_and_the_other_workspace_goes_on(two: TwoWorkspaces) -> None:
    world = two.at(B)
    script(world, cell("print(1)"), cell("print(2)"), finish("It is 2."))
    key = world.say("how many?")
    with pytest.raises(Killed):
        world.run(key, death=Death(8))
    world.sessions.halted = False
    assert world.statuses(key) == ["running"]
    two.uninstall(B)
    world.settle(key)
    assert world.statuses(key) == ["stopped"]
    assert "uninstalled" in gave_up(world, key)[0]
    other = ask(two, A, "and here?")
    assert "There are 12." in two.at(A).text(other)


def test_an_answer_that_was_ready_is_posted_after_the_app_is_installed_again(two: TwoWorkspaces) -> None:
    world = two.at(B)
    script(world, cell("print(1)"), finish("It is 1."), cell("print(1)"), finish("It is 1 still."))
    world.model._then["check"] = lambda: two.uninstall(B)  # type: ignore[attr-defined]
    key = world.say("how many?")
    world.settle(key)
    assert "It is 1." not in world.text(key)
    two.install(B)
    world.say("and now?", thread=key)
    world.settle(key)
    shown = world.text(key)
    assert shown.index("It is 1.") < shown.index("It is 1 still.")
    assert world.statuses(key) == ["done", "done"]


def test_a_turn_that_waits_for_a_person_ends_when_its_workspace_leaves(two: TwoWorkspaces) -> None:
    key = ask(two, B, "how many?", question("Net or gross?", "net", "gross"))
    world = two.at(B)
    assert world.statuses(key) == ["waiting"]
    two.uninstall(B)
    world._take_in(key, world.slack._next_ts(), "", "", "stop")  # what the bot does when it hears of it
    world.settle(key)
    assert world.statuses(key) == ["stopped"]
    assert "uninstalled" in gave_up(world, key)[0]


def test_after_the_app_is_installed_again_continue_goes_on(two: TwoWorkspaces) -> None:
    world = two.at(B)
    key = world.say("how many?")
    two.uninstall(B)
    world.settle(key)
    two.install(B, "xoxb-again")
    script(world, cell("print(12)"), finish("There are 12."))
    world.say("continue", thread=key)
    world.settle(key)
    assert world.statuses(key) == ["done"]
    assert "There are 12." in world.text(key)
    assert two.seen_tokens[-1] == (B, "xoxb-again")


def test_a_worker_that_dies_while_it_ends_such_a_turn_ends_it_once(two: TwoWorkspaces) -> None:
    for at in range(1, 6):
        two.install(B)
        world = two.at(B)
        key = world.say(f"how many? {at}")
        two.uninstall(B)
        world.settle(key, Death(at))
        assert world.statuses(key) == ["stopped"], at
        assert len(gave_up(world, key)) == 1, at


def test_a_token_that_cannot_be_decrypted_keeps_the_question_for_later(two: TwoWorkspaces) -> None:
    world = two.at(B)
    key = world.say("how many?")
    kept = world.store.installation_for(B)
    assert kept is not None
    other = world.store.installation_for(A)
    assert other is not None
    world.store.replace_secret(kept, other.secret, None)
    world.run(key)
    assert world.put_off(key)
    assert len(world.store.unread(key.id)) == 1
    now_stored = world.store.installation_for(B)
    assert now_stored is not None
    world.store.replace_secret(now_stored, kept.secret, None)
    script(world, cell("print(12)"), finish("There are 12."))
    world.settle(key)
    assert "There are 12." in world.text(key)


def test_a_workspace_of_an_organisation_is_answered_with_its_token(two: TwoWorkspaces) -> None:
    two.uninstall(B)
    two.installations.save(_org("E1", "xoxb-of-E1"))
    assert two.installations.serving("E1", B) is not None
    two.valid[B] = "xoxb-of-E1"
    key = ask(two, B, "how many?")
    assert "There are 12." in two.at(B).text(key)
    assert two.world.store.forget_installation("E1", "", datetime.now(UTC) + timedelta(seconds=5)) == [B]
    world = two.at(B)
    world.say("and now?", thread=key)
    world.settle(key)
    assert world.statuses(key) == ["done", "stopped"]


def _org(enterprise: str, token: str) -> Any:

    return Installation(enterprise_id=enterprise, bot_token=token, user_id="U1", is_enterprise_install=True)


# --- attacks from workspace B on what workspace A has


def test_a_link_to_a_thread_of_another_workspace_leads_nowhere(two: TwoWorkspaces) -> None:
    secret = ask(two, A, "what is the heron total?", LOAD, finish("The total is 42."), files=SALES)
    address = link(two.at(A), secret)
    mine = ask(two, B, "what do I have?")
    world = two.at(B)
    calls = len(two.slacks[A].calls)
    for said in (f"load {address}", f"compare {address}"):
        world.say(said, thread=mine)
        world.settle(mine)
    shown = world.text(mine)
    assert shown.count(say("link_unknown", "en")) == 2
    assert "total is" not in shown
    assert "heron" not in shown
    assert world.store.thread_files(mine.id) == []
    assert len(two.slacks[A].calls) == calls


def test_a_source_of_another_workspace_does_not_exist(two: TwoWorkspaces) -> None:
    worker = two.world.worker()
    here, there = worker.context_of(A), worker.context_of(B)
    assert set(here.settings.sources) == {"orders"}
    assert set(there.settings.sources) == set()
    assert there.broker is None
    mine = ask(two, B, "how many orders?")
    assert "orders of heron" not in told(two.world)
    verdict = Authorizer(there.settings, there.store, there.slack).may_ask("orders", mine, {BEN})
    assert verdict.phrase == "source_gone"
    theirs = ask(two, A, "how many orders?")
    assert "orders" in told(two.world)
    assert Authorizer(here.settings, here.store, here.slack).may_ask("orders", theirs, {ANA})


def remember(two: TwoWorkspaces, team: str, said: str) -> ThreadKey:
    world = two.at(team)
    key = world.say(said)
    world.settle(key)
    steps = [step for steps in world.store.thread_steps(key.id).values() for step in steps]
    proposal = [step for step in steps if isinstance(step, Proposed)][-1]
    decision = MemoryDecision(proposal=proposal.id, do="keep")
    world._take_in(key, world.slack._next_ts(), BEN, decision.encode(), MEMORY)
    world.settle(key)
    return key


def test_what_a_workspace_remembers_is_in_a_folder_of_its_own(two: TwoWorkspaces) -> None:
    remember(two, A, "remember: active heron = a heron with an order in the last 90 days")
    ask(two, A, "how many active herons?")
    assert "last 90 days" in told(two.world)
    mine = ask(two, B, "how many active herons?")
    assert "last 90 days" not in told(two.world), "the channel has the same id"
    world = two.at(B)
    world.say("memory", thread=mine)
    world.settle(mine)
    assert "90 days" not in world.text(mine)
    folders = sorted(path.name for path in (two.world.settings.memory_folder / "workspaces").iterdir())
    assert A in folders
    assert not list((two.world.settings.memory_folder / "workspaces").glob(f"{B}/**/*.md"))


def test_a_playbook_of_another_workspace_is_not_followed(two: TwoWorkspaces) -> None:
    test_turn_playbooks.kept(two.at(A))
    theirs, model = test_turn_playbooks.ask(two.at(A), test_turn_playbooks.QUESTION)
    assert followed(two.world, theirs) == [test_turn_playbooks.QUESTION.removesuffix("?")]
    assert "The team's playbook" in test_turn_playbooks.prompt(model)

    world = two.at(B)
    mine, model = test_turn_playbooks.ask(world, test_turn_playbooks.QUESTION)
    assert world.statuses(mine) == ["done"]
    assert followed(world, mine) == []
    prompts = [test_turn_playbooks.prompt(model, number) for number in range(len(model.requests))]
    assert not any("The team's playbook" in prompt or "add_the_units" in prompt for prompt in prompts), (
        "the same channel's id"
    )
    for said in ("playbooks", "memory"):
        world.say(said, thread=mine)
        world.settle(mine)
    shown = world.text(mine)
    assert "I follow" not in shown
    assert "All regions sold 220" not in shown
    assert "did all regions sell" not in shown.replace(test_turn_playbooks.QUESTION, "")


def followed(world: World, key: ThreadKey) -> list[str]:
    """The playbooks that a thread follows."""
    recalled = [step["playbook"] for step in world.steps(key, "recalled")]
    return [playbook["name"] for playbook in recalled if playbook]


@pytest.mark.process
def test_a_tool_of_another_workspace_does_not_exist(new_world: NewWorld, tmp_path: Path) -> None:
    team = table("tickets", tmp_path, "search", more='ask = "never"\ndescription = "The desk of heron"\n')
    two = TwoWorkspaces(new_world(), f'{team}[workspaces.{A}]\nmcp = ["tickets"]\n')
    two.install(A)
    two.install(B)
    search = cell("print(tool('tickets.search', customer='Ana')['tickets'][0]['hours'])")
    with served(two.world.settings):
        theirs = ask(two, A, "How many hours?", search, finish("Done."))
        assert "The desk of heron" in told(two.world)
        assert two.at(A).steps(theirs, "cell")[0]["stdout"] == "3.5\n"
        mine = ask(two, B, "How many hours?", search, finish("Done."))
    world = two.at(B)
    (ran,) = world.steps(mine, "cell")
    assert (ran["status"], ran["stdout"], ran["tool_calls"]) == ("error", "", [])
    assert "heron" not in told(world)
    assert "tickets: " not in told(world)
    assert [line.resource for line in world.store.audit_lines() if line.action == "call"] == ["tickets.search"]


def test_the_words_of_one_workspace_reach_no_prompt_of_the_other(two: TwoWorkspaces) -> None:
    ask(two, A, "what is the heron total?", LOAD, finish("The total is 42."), files=SALES)
    ask(two, B, "what did the others ask?")
    assert "heron" not in told(two.world)
    assert "sales.csv" not in told(two.world)


def test_spending_of_one_workspace_leaves_the_budget_of_the_other(new_world: NewWorld) -> None:
    budget = f"[budget]\nday_tokens = 30000\n[workspaces.{A}]\nday_tokens = 1\n"
    two = TwoWorkspaces(new_world(), budget)
    two.install(A)
    two.install(B)
    spent = ask(two, A, "how many?")
    assert two.at(A).statuses(spent) == ["stopped"]
    assert gave_up(two.at(A), spent)
    fine = ask(two, B, "how many?")
    assert two.at(B).statuses(fine) == ["done"]


def test_people_with_the_same_id_are_looked_up_in_their_own_workspace(new_world: NewWorld) -> None:
    two = TwoWorkspaces(new_world(), f'[access]\nadmins = ["{BEN}"]\n[workspaces.{A}]\nadmins = ["{ANA}"]\n')
    two.install(A)
    two.install(B)
    two.slacks[B].flags[ANA] = {"is_restricted": True}
    worker = two.world.worker()
    here, there = worker.context_of(A), worker.context_of(B)
    assert here.slack.standing(ANA, {A}) == "member"
    assert there.slack.standing(ANA, {B}) == "guest"
    assert (here.settings.access.admins, there.settings.access.admins) == ((ANA,), ())


def test_no_slack_but_the_own_one_hears_of_a_turn(two: TwoWorkspaces) -> None:
    calls = len(two.slacks[A].calls)
    ask(two, B, "how many?", files=SALES)
    assert len(two.slacks[A].calls) == calls


def test_no_workspace_clones_from_the_operators_own_network(new_world: NewWorld) -> None:
    two = TwoWorkspaces(new_world(), '[repositories]\nhosts = ["git.example"]\nprivate_hosts = ["git.internal"]\n')
    two.install(B)
    cloner = Cloner(two.world.settings.repositories)
    assert cloner.named_in("see https://git.internal/a/b and https://git.example/a/b")
    shared = cloner.without_private_hosts()
    assert len(shared.named_in("see https://git.internal/a/b and https://git.example/a/b")) == 1
    files = two.world.worker().context_of(B).files
    assert files._cloner._settings.private_hosts == ()
