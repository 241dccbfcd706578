"""Presses on a proposal of the team's memory become commands; late, foreign and malformed ones do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from test_bot_access import BEN, CHANNEL, Bot, new_bot, threadbook  # noqa: F401 - fixtures

from bot.presses.memory import Proposals
from core.interactions import MemoryButton, MemoryForm
from core.steps import CellRan, Commanded, FunctionDraft, Proposed, Settled, StatementRan, TeamNote
from core.team_memory import MemoryDecision
from core.thread_cells import Held
from core.values import IncomingMessage, Lease, ThreadKey

PROPOSED = Proposed(
    what="entry", id="entry:100.1", file="channels/C/definitions.md", title="churn", text="No order.",
    user=BEN, author="ben", ts="100.1",
)  # fmt: skip


class Taking:
    """In place of the handler: keeps what it is given."""

    def __init__(self, *, may: bool = True, may_have: frozenset[str] = frozenset()) -> None:
        self.taken: list[IncomingMessage] = []
        self.gate = self.background = self
        self._may = may
        self._may_have = may_have

    def take_decision(self, message: IncomingMessage) -> None:
        self.taken.append(message)

    def may(self, message: IncomingMessage) -> bool:
        return self._may

    def may_look(self, message: IncomingMessage, held: Held, *, by_window: bool = False) -> bool:
        return self._may and self._may_have.issuperset(held.sources)

    def after_ack(self, work: Callable[..., None], *arguments: Any) -> None:
        work(*arguments)


def proposed(bot: Bot, *steps: Any) -> ThreadKey:
    thread = ThreadKey(bot.slack.team, CHANNEL, "100.000001")
    message = IncomingMessage(
        team=thread.team, channel=CHANNEL, channel_type="channel", ts="100.000001", root_ts=thread.root_ts, user=BEN,
        text="remember: churn = No order.", kind="remember", mention=True,
    )  # fmt: skip
    bot.store.record_message(message, "ben")
    lease = Lease(thread_id=thread.id, token=bot.store.raise_fence(thread.id), owner="test")
    turn = bot.store.open_turn(lease, "en", "m")
    said = Commanded(command="remember", user=BEN, author="ben", text=message.text, ts=message.ts)
    bot.store.take_mail(lease, turn.id, [mail.id for mail in bot.store.unread(thread.id)], [said, *steps])
    return thread


def press(bot: Bot, taking: Taking, thread: ThreadKey, do: Any = "keep", **other: Any) -> str:
    button = MemoryButton(thread=thread.id, proposal=other.get("proposal", PROPOSED.id), do=do)
    body = {
        "actions": [{"value": other.get("value", button.encode()), "action_ts": "101.000001"}],
        "container": {"channel_id": other.get("channel", CHANNEL), "message_ts": "100.000002"},
        "user": {"id": BEN},
        "trigger_id": "1.2.x",
    }
    return Proposals(bot.store, bot.handler.slack, taking).press(body, other.get("team", thread.team))


def submit(bot: Bot, taking: Taking, thread: ThreadKey, title: str, text: str) -> dict[str, str]:
    fields = {f"field:{n}": {f"field:{n}": {"value": value}} for n, value in enumerate((title, text))}
    form = MemoryForm(thread=thread.id, proposal=PROPOSED.id)
    view = {"callback_id": form.id, "private_metadata": form.encode(), "state": {"values": fields}}
    body = {"view": view, "user": {"id": BEN}}
    return Proposals(bot.store, bot.handler.slack, taking).submit(body, thread.team)


@pytest.mark.parametrize("do", ["keep", "replace", "drop", "forget"])
def test_a_press_becomes_a_command_with_what_was_decided(threadbook: Bot, do: Any) -> None:  # noqa: F811
    taking = Taking()
    thread = proposed(threadbook, PROPOSED)
    assert press(threadbook, taking, thread, do) == "taken"
    (message,) = taking.taken
    assert (message.kind, message.thread, message.user) == ("memory", thread, BEN)
    assert MemoryDecision.decode(message.text) == MemoryDecision(proposal=PROPOSED.id, do=do)


def test_a_press_on_what_is_decided_only_tells_so(threadbook: Bot) -> None:  # noqa: F811
    taking = Taking()
    settled = Settled(proposal=PROPOSED.id, outcome="kept", user=BEN, author="ben", ts="100.2")
    thread = proposed(threadbook, PROPOSED, settled)
    assert press(threadbook, taking, thread) == "late"
    assert taking.taken == []


@pytest.mark.parametrize(
    ("other", "word"),
    [
        ({"channel": "C0OTHER001"}, "unknown"),
        ({"team": "T0OTHER001"}, "unknown"),
        ({"proposal": "entry:9.9"}, "unknown"),
        ({"value": "{}"}, "malformed"),
        ({"value": None}, "malformed"),
    ],
)
def test_what_a_press_claims_is_looked_up(threadbook: Bot, other: dict[str, Any], word: str) -> None:  # noqa: F811
    taking = Taking()
    assert press(threadbook, taking, proposed(threadbook, PROPOSED), **other) == word
    assert taking.taken == []


def test_what_the_model_was_told_is_shown_to_those_who_may_ask_the_sources_of_the_thread(threadbook: Bot) -> None:  # noqa: F811
    ran = StatementRan(source="shop", sql="select 1", rows=1)
    cell = CellRan(call_id="c", cell_id="x", title="Look", code="1", status="ok", statements=(ran,))
    thread = proposed(threadbook, cell, PROPOSED)
    assert press(threadbook, Taking(), thread, "prompts") == "refused"
    assert press(threadbook, Taking(may_have=frozenset({"shop"})), thread, "prompts") == "shown"


@pytest.mark.parametrize("what", ["playbook", "function"])
def test_change_opens_a_page_of_cells_for_those_who_may_ask_their_sources(threadbook: Bot, what: str) -> None:  # noqa: F811
    ran = StatementRan(source="shop", sql="select 1", rows=1)
    cell = CellRan(call_id="c", cell_id="x", title="Look", code="1", status="ok", statements=(ran,))
    thread = proposed(threadbook, cell, PROPOSED.model_copy(update={"what": what}))
    assert press(threadbook, Taking(), thread, "edit") == "refused"
    assert press(threadbook, Taking(may_have=frozenset({"shop"})), thread, "edit") == "form"


def test_change_opens_a_form_for_those_who_may(threadbook: Bot) -> None:  # noqa: F811
    thread = proposed(threadbook, PROPOSED)
    assert press(threadbook, Taking(may=False), thread, "edit") == "refused"
    assert press(threadbook, Taking(), thread, "edit") == "form"
    (call,) = [given for method, given in threadbook.slack.calls if method == "views.open"]
    assert "No order." in str(call)


def test_a_form_becomes_a_command_and_an_empty_one_is_told(threadbook: Bot) -> None:  # noqa: F811
    taking = Taking()
    clash = TeamNote(place=PROPOSED.file, title="churn", text="Other.")
    thread = proposed(threadbook, PROPOSED.model_copy(update={"clashes": (clash,)}))
    assert list(submit(threadbook, taking, thread, "churn", " ")) == ["field:1"]
    assert taking.taken == []
    assert submit(threadbook, taking, thread, "churn", "No order in a year.") == {}
    decision = MemoryDecision.decode(taking.taken[0].text)
    assert decision is not None
    assert (decision.do, decision.text) == ("replace", "No order in a year.")


PROGRAM = Proposed(
    what="program", id="program:100.1", file="greet.toml", title="greet", text="[file]\nname = 'greet'\n", version=2,
    user=BEN, author="ben", ts="100.1",
)  # fmt: skip


def submit_file(bot: Bot, taking: Taking, thread: ThreadKey, version: int) -> dict[str, str]:
    form = MemoryForm(thread=thread.id, proposal=PROGRAM.id, version=version)
    state = {"values": {"field:0": {"field:0": {"value": "[file]\nname = 'hi'"}}}}
    body = {"view": {"private_metadata": form.encode(), "state": state}, "user": {"id": BEN}}
    return Proposals(bot.store, bot.handler.slack, taking).submit(body, thread.team)


def test_a_press_on_a_requirement_file_carries_its_version(threadbook: Bot) -> None:  # noqa: F811
    taking = Taking()
    thread = proposed(threadbook, PROGRAM)
    value = MemoryButton(thread=thread.id, proposal=PROGRAM.id, do="keep", version=1).encode()
    assert press(threadbook, taking, thread, value=value) == "taken"
    assert taking.taken[0].kind == "building"
    assert MemoryDecision.decode(taking.taken[0].text) == MemoryDecision(proposal=PROGRAM.id, do="keep", version=1)


def test_the_form_of_an_older_version_stays_open_with_who_was_first(threadbook: Bot) -> None:  # noqa: F811
    taking = Taking()
    thread = proposed(threadbook, PROGRAM)
    told = submit_file(threadbook, taking, thread, 1)
    assert "ben saved version 2 meanwhile" in told["field:0"]
    assert taking.taken == []
    assert submit_file(threadbook, taking, thread, 2) == {}
    decision = MemoryDecision.decode(taking.taken[0].text)
    assert decision == MemoryDecision(proposal=PROGRAM.id, do="edit", text="[file]\nname = 'hi'", version=2)


def test_a_file_that_fits_no_form_is_told(threadbook: Bot) -> None:  # noqa: F811
    thread = proposed(threadbook, PROGRAM.model_copy(update={"text": "x" * 10_000}))
    value = MemoryButton(thread=thread.id, proposal=PROGRAM.id, do="edit", version=2).encode()
    assert press(threadbook, Taking(), thread, value=value) == "form"
    assert not [method for method, _ in threadbook.slack.calls if method == "views.open"]
    assert "too long for a form" in str(threadbook.slack.calls)


def test_a_playbook_that_fits_no_form_opens_no_empty_one(threadbook: Bot) -> None:  # noqa: F811
    playbook = PROGRAM.model_copy(update={"what": "playbook", "text": "x" * 10_000})
    thread = proposed(threadbook, playbook)
    value = MemoryButton(thread=thread.id, proposal=PROGRAM.id, do="edit").encode()
    assert press(threadbook, Taking(), thread, value=value) == "form"
    assert not [method for method, _ in threadbook.slack.calls if method == "views.open"]
    assert "write in the thread what you want" in str(threadbook.slack.whispers)


FUNCTION = Proposed(
    what="function", id="function:100.1", file="channels/C/functions/tested/rate", title="rate", text="the rate",
    draft=FunctionDraft(name="rate", schema_text="{}", code="", tests=""), user=BEN, author="ben", ts="100.1",
)  # fmt: skip


@pytest.mark.parametrize("do", ["keep", "retest", "again", "drop"])
def test_a_press_on_a_function_is_a_command_of_its_own(threadbook: Bot, do: Any) -> None:  # noqa: F811
    taking = Taking()
    thread = proposed(threadbook, FUNCTION)
    assert press(threadbook, taking, thread, do, proposal=FUNCTION.id) == "taken"
    (message,) = taking.taken
    assert message.kind == "function"
    assert MemoryDecision.decode(message.text) == MemoryDecision(proposal=FUNCTION.id, do=do)


def test_restating_a_function_opens_a_form_whose_words_are_the_new_need(threadbook: Bot) -> None:  # noqa: F811
    taking = Taking()
    thread = proposed(threadbook, FUNCTION)
    assert press(threadbook, taking, thread, "edit", proposal=FUNCTION.id) == "form"
    form = MemoryForm(thread=thread.id, proposal=FUNCTION.id)
    for text, faults in (("  ", ["field:0"]), ("x" * 2_001, ["field:0"]), ("the rate in percent", [])):
        fields = {"field:0": {"field:0": {"value": text}}}
        view = {"callback_id": form.id, "private_metadata": form.encode(), "state": {"values": fields}}
        body = {"view": view, "user": {"id": BEN}}
        assert list(Proposals(threadbook.store, threadbook.handler.slack, taking).submit(body, thread.team)) == faults
    (message,) = taking.taken
    decision = MemoryDecision.decode(message.text)
    assert decision is not None
    assert (message.kind, decision.do, decision.text) == ("function", "restate", "the rate in percent")
