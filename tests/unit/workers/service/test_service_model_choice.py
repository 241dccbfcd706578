"""Which model the settings choose."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import SettingsError
from core.settings import Settings, load_settings
from workers.models.openai_model import OpenAIModel
from workers.models.scripted import ScriptedModel
from workers.offline import OfflineAnalyst
from workers.service.model_choice import choose_model, offered_models, opened_model, opened_second


@pytest.fixture
def settings(tmp_path: Path):
    def make(toml: str = "", **env: str) -> Settings:
        (tmp_path / "threadbook.toml").write_text(toml, "utf-8")
        return load_settings(env, tmp_path)

    return make


def test_without_a_key_the_offline_analyst_answers(settings) -> None:
    assert isinstance(choose_model(settings()), OfflineAnalyst)


@pytest.mark.parametrize("env", [{"OPENAI_API_KEY": "sk-x"}, {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}])
def test_a_key_or_an_address_means_that_endpoint(settings, env: dict[str, str]) -> None:
    model = choose_model(settings(OPENAI_MODEL="gpt-x", **env))
    assert isinstance(model, OpenAIModel)
    model.close()
    assert (model.name, model.native_tools) == ("gpt-x", True)


def test_the_mode_is_a_decision_of_the_team(settings) -> None:
    model = choose_model(settings('[model]\nmode = "fenced"\n', OPENAI_API_KEY="sk-x"))
    assert isinstance(model, OpenAIModel)
    model.close()
    assert model.native_tools is False


def test_offline_can_be_asked_for_in_spite_of_a_key(settings) -> None:
    assert isinstance(choose_model(settings(OPENAI_API_KEY="sk-x", THREADBOOK_MODEL="offline")), OfflineAnalyst)


def test_openai_without_anything_to_reach_it_is_an_error_with_both_names(settings) -> None:
    with pytest.raises(SettingsError, match="OPENAI_API_KEY nor OPENAI_BASE_URL"):
        choose_model(settings(THREADBOOK_MODEL="openai"))


def test_a_script_is_read_from_its_file(settings, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('[{"text": "hello"}]', "utf-8")
    assert isinstance(choose_model(settings(THREADBOOK_MODEL=f"scripted:{script}")), ScriptedModel)


def test_the_connections_of_an_endpoint_are_closed_with_the_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[OpenAIModel] = []

    def note(model: OpenAIModel) -> None:
        closed.append(model)

    monkeypatch.setattr(OpenAIModel, "close", note)
    with opened_model(load_settings({"OPENAI_API_KEY": "k"}, tmp_path)) as model:
        assert closed == []
    assert closed == [model]
    with opened_model(load_settings({}, tmp_path)) as model:
        assert isinstance(model, OfflineAnalyst)
    assert len(closed) == 1


def second_of(settings: Settings) -> str | None:
    with offered_models(settings) as models, opened_second(settings, models) as second:
        return None if second is None else second.name


def test_a_second_way_is_written_by_the_model_of_the_turn_unless_another_one_is_named(settings) -> None:
    wanted = '[check]\nsecond_route = "headline"\n'
    env = {"OPENAI_API_KEY": "sk-x", "OPENAI_MODEL": "gpt-x"}
    assert second_of(settings('[check]\nsecond_model = "gpt-y"\n', **env)) is None
    assert second_of(settings(wanted, **env)) is None
    assert second_of(settings(wanted + 'second_model = "gpt-x"\n', **env)) is None
    assert second_of(settings(wanted + 'second_model = "gpt-y"\n', **env)) == "gpt-y"
    offered = wanted + 'second_model = "small"\n[models.small]\nmodel = "gpt-z"\n'
    assert second_of(settings(offered, **env)) == "gpt-z"
    assert second_of(settings(wanted + 'second_model = "gpt-y"\n')) is None


def test_a_budget_in_money_needs_the_price_of_the_second_model_too(settings) -> None:
    toml = '[check]\nsecond_route = "headline"\nsecond_model = "gpt-y"\n[budget]\nday_cost = 5\n'
    toml += '[prices."gpt-x"]\ninput = 1\noutput = 2\n'
    with pytest.raises(SettingsError, match="the cost of gpt-y is not known"):
        settings(toml, OPENAI_API_KEY="sk-x", OPENAI_MODEL="gpt-x")
