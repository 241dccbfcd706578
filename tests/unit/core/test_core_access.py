"""`may`: who may do what to which resource, by the rules of a team."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from core.access import Person, Resource, action_of, may
from core.actions import Action
from core.commands.approvals import DECISION
from core.commands.registry import commands
from core.errors import SettingsError
from core.phrases import phrases, say
from core.settings import Settings, load_settings
from core.steps import RESET_CALL, Approval, Questioned
from core.values import Standing

ANA = "U0ANA00001"
RESET = Questioned(call_id=RESET_CALL, question="Reset?", options=(say("reset_yes", "en"), say("reset_no", "en")))
QUESTION = Questioned(call_id="c1", question="Gross or net?", options=("gross", "net"))


def settings_with(folder: Path, toml: str = "") -> Settings:
    (folder / "threadbook.toml").write_text(toml, encoding="utf-8")
    return load_settings({}, folder)


def thread(settings: Settings, channel: str = "C1", askers: frozenset[str] = frozenset()) -> Resource:
    return Resource("T1:C1:1.0", settings.access_rules(channel), askers, frozenset(settings.access.admins))


@pytest.mark.parametrize("action", Action)
def test_people_of_other_workspaces_and_guests_may_do_nothing_by_default(tmp_path: Path, action: Action) -> None:
    here = thread(settings_with(tmp_path))
    for standing in ("stranger", "guest"):
        refused = may(Person(ANA, standing), action, here)  # type: ignore[arg-type]
        assert not refused
        assert refused.phrase in phrases()


def test_an_unknown_person_may_do_nothing(tmp_path: Path) -> None:
    assert "" in get_args(Standing)
    assert not any(may(Person(ANA, ""), action, thread(settings_with(tmp_path))) for action in Action)


@pytest.mark.parametrize("action", [Action.ASK, Action.STEER, Action.ANSWER, Action.STOP, Action.UNDO])
def test_every_member_may_work_with_a_thread_by_default(tmp_path: Path, action: Action) -> None:
    assert may(Person(ANA, "member"), action, thread(settings_with(tmp_path)))


@pytest.mark.parametrize("action", [Action.RESET, Action.CONFIRM])
def test_a_reset_is_for_the_asker_and_admins(tmp_path: Path, action: Action) -> None:
    settings = settings_with(tmp_path, '[access]\nadmins = ["U0BOSS", "S0BOSSES"]\n')
    here = thread(settings, askers=frozenset({ANA}))
    assert may(Person(ANA, "member"), action, here)
    assert may(Person("U0OTHER", "admin"), action, here)
    assert may(Person("U0BOSS", "member"), action, here)
    assert may(Person("U0OTHER", "member", frozenset({"S0BOSSES"})), action, here)
    assert may(Person("U0OTHER", "member"), action, here).phrase == "access_asker"


def test_the_people_of_a_thread_are_members_who_wrote_in_it(tmp_path: Path) -> None:
    settings = settings_with(tmp_path, '[access]\napprove = ["thread"]\n')
    here = replace(thread(settings), writers=frozenset({ANA}))
    assert may(Person(ANA, "member"), Action.APPROVE, here)
    for other in (Person(ANA, "guest"), Person(ANA, "stranger"), Person(ANA, ""), Person("U0OTHER", "member")):
        assert may(other, Action.APPROVE, here).phrase == "access_approve"


def test_a_decision_and_a_word_that_decides_are_approvals(tmp_path: Path) -> None:
    cell = Approval(what="python", title="", code="a = 1")
    asks = Questioned(call_id="approve:1", question="?", options=("Run", "Skip", "Reject"), approval=cell)
    assert action_of(DECISION, "{}", is_open=True) is Action.APPROVE
    assert action_of("text", " RUN ", is_open=True, question=asks) is Action.APPROVE
    assert action_of("text", "run it by month", is_open=True, question=asks) is Action.ANSWER


def test_persons_groups_and_guests_can_be_named(tmp_path: Path) -> None:
    settings = settings_with(tmp_path, '[access]\nask = ["U0ANA00001", "S0SALES"]\nstop = ["members", "guests"]\n')
    here = thread(settings)
    assert may(Person(ANA, "stranger"), Action.ASK, here)
    assert may(Person("U2", "guest", frozenset({"S0SALES"})), Action.ASK, here)
    assert may(Person("U2", "member"), Action.ASK, here).phrase == "access_refused"
    assert may(Person("U2", "guest"), Action.STOP, here)
    assert may(Person("U2", "stranger"), Action.STOP, here).phrase == "access_stranger"


def test_a_channel_has_rules_of_its_own_and_the_others_where_it_has_none(tmp_path: Path) -> None:
    settings = settings_with(tmp_path, '[access]\nstop = ["admins"]\n[channels.C9.access]\nask = ["S0SALES"]\n')
    assert may(Person(ANA, "member"), Action.ASK, thread(settings, "C1"))
    assert not may(Person(ANA, "member"), Action.ASK, thread(settings, "C9"))
    assert not may(Person(ANA, "member"), Action.STOP, thread(settings, "C9"))


@pytest.mark.parametrize(
    ("toml", "says"),
    [
        ('[access]\nask = ["member"]\n', "'member' is neither"),
        ('[access]\naks = ["members"]\n', "'ask'"),
        ('[channels.C1.access]\nadmins = ["U0ANA00001"]\n', "unknown setting 'admins'"),
    ],
)
def test_a_rule_that_cannot_hold_is_refused(tmp_path: Path, toml: str, says: str) -> None:
    with pytest.raises(SettingsError, match=says):
        settings_with(tmp_path, toml)


FORMAT = Questioned(call_id="1", question="CSV of the cost, or stop?", options=("CSV", "Undo"))


@pytest.mark.parametrize(
    ("kind", "text", "is_open", "question", "action"),
    [
        ("text", "what sold best?", False, None, Action.ASK),
        ("text", "only the north", True, None, Action.STEER),
        ("text", "net", True, QUESTION, Action.ANSWER),
        ("answer", "net", True, QUESTION, Action.ANSWER),
        ("continue", "continue", False, None, Action.ASK),
        ("continue", "continue", True, QUESTION, Action.ANSWER),
        ("stop", "", True, QUESTION, Action.STOP),
        ("stop", "stop", True, FORMAT, Action.STOP),
        ("csv", "CSV!", True, FORMAT, Action.ANSWER),
        ("undo", "undo", True, FORMAT, Action.ANSWER),
        ("cost", "cost", True, FORMAT, Action.ANSWER),
        ("pdf", "as pdf", True, FORMAT, Action.LOOK),
        ("undo", "undo", False, None, Action.UNDO),
        ("reset", "reset", False, None, Action.RESET),
        ("text", "yes please", True, RESET, Action.CONFIRM),
        ("answer", RESET.options[0], True, RESET, Action.CONFIRM),
        ("answer", RESET.options[1], True, RESET, Action.CONFIRM),
        ("text", "how many customers?", True, RESET, Action.ANSWER),
    ],
)
def test_what_a_message_does_follows_from_what_is_open(
    kind: str, text: str, is_open: bool, question: Questioned | None, action: Action
) -> None:
    assert action_of(kind, text, is_open=is_open, question=question) is action


def test_a_command_names_its_action() -> None:
    named = {name: command.action for name, command in commands().items()}
    assert named["confirm"] is named["decline"] is Action.CONFIRM
    assert named["help"] is None
