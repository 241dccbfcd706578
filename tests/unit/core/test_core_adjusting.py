"""What an admin chose in Slack holds where threadbook.toml says nothing, and only there."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.adjusting import ADJUSTABLE, NotAllowed, adjusted, choices_of, is_of_file, parsed, value_of
from core.settings import Settings, load_settings


def settings(folder: Path, team: str = "", **env: str) -> Settings:
    (folder / "threadbook.toml").write_text(team, encoding="utf-8")
    return load_settings(env, folder)


def test_what_the_file_leaves_open_can_be_chosen(tmp_path: Path) -> None:
    before = settings(tmp_path)
    after = adjusted(before, {"approvals.ask": "risky", "approvals.people": "2", "budget.day_tokens": "50,000"})
    assert (after.approvals.ask, after.approvals.people, after.budget.day_tokens) == ("risky", 2, 50_000)
    assert after.approvals_in("C0SALES001").ask == "risky"
    assert before.approvals.ask == "never"
    assert not any(is_of_file(after, name) for name in ADJUSTABLE)


def test_the_file_wins(tmp_path: Path) -> None:
    given = settings(tmp_path, '[approvals]\nask = "plan"\n\n[channels.C0SALES001.approvals]\npeople = 2\n')
    after = adjusted(given, {"approvals.ask": "never", "approvals.people": "1", "report.unsourced": "hold"})
    assert (after.approvals.ask, after.report.unsourced) == ("plan", "hold")
    assert after.approvals_in("C0SALES001").people == 2
    assert is_of_file(given, "approvals.ask")
    assert not is_of_file(given, "approvals.people")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("approvals.ask", "sometimes"),
        ("approvals.people", "3"),
        ("budget.day_tokens", "-1"),
        ("budget.day_tokens", "many"),
        ("budget.day_cost", "nan and more"),
        ("access.admins", "U0EVE00001"),
        ("slack_bot_token", "xoxb-1"),
    ],
)
def test_other_values_and_other_names_are_refused_and_change_nothing(tmp_path: Path, name: str, text: str) -> None:
    given = settings(tmp_path)
    with pytest.raises(NotAllowed):
        parsed(given, name, text)
    assert adjusted(given, {name: text, "report.unsourced": "hold"}).report.unsourced == "hold"
    assert adjusted(given, {name: text}) == given


@pytest.mark.parametrize("name", ["budget.day_cost", "approvals.above"])
def test_a_limit_in_money_needs_the_price_of_each_model(tmp_path: Path, name: str) -> None:
    offered = '[models.small]\nmodel = "s-1"\n\n[prices."big-1"]\ninput = 1.0\noutput = 2.0\n'
    env = {"OPENAI_API_KEY": "sk-1", "OPENAI_MODEL": "big-1"}
    with pytest.raises(NotAllowed):
        parsed(settings(tmp_path, offered, **env), name, "5")
    priced = settings(tmp_path, f'{offered}\n[prices."s-1"]\ninput = 0.1\noutput = 0.2\n', **env)
    assert value_of(adjusted(priced, {name: "5"}), name) == 5.0


def test_what_a_newer_version_stored_is_left_alone(tmp_path: Path) -> None:
    given = settings(tmp_path)
    assert adjusted(given, {"approvals.colour": "blue", "approvals.people": 2, "budget.day_tokens": None}) == given


@pytest.mark.parametrize("name", ADJUSTABLE)
def test_each_name_is_a_setting_whose_value_can_be_chosen_again(tmp_path: Path, name: str) -> None:
    given = settings(tmp_path)
    value = value_of(given, name)
    assert parsed(given, name, str(value)) == value
    assert not choices_of(name) or str(value) in choices_of(name)
