"""The prompt files and their loader: declared, used and given variables agree, or it is an error with a name in it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from agent_kit import ENVIRONMENT, PROMPTS, asked, cell, run, turn

from workers.agent.prompt.messages import messages
from workers.agent.replies.tools import ASK_USER, FINISH, RUN_PYTHON
from workers.agent.turn import SourceNote
from workers.turn.prompts import PromptError, PromptFile, Prompts, load_prompts

PREDICTED = ((asked("predict churn"), run("x = 1"), cell("x = 1")),)
"""An earlier turn, for which a procedure was told."""


def prompts(template: str, **variables: str) -> Prompts:
    return Prompts({"p": PromptFile(description="d", variables=variables, template=template)})


def test_every_prompt_is_described_and_so_is_every_variable() -> None:
    for name in PROMPTS.names:
        file = PROMPTS.file(name)
        assert file.description.strip(), name
        assert all(meaning.strip() for meaning in file.variables.values()), name


def test_a_prompt_renders_with_exactly_its_variables() -> None:
    assert prompts("Hello {{ who }}", who="whom").render("p", who="Ana") == "Hello Ana"


def test_a_missing_or_an_undeclared_variable_is_refused() -> None:
    greeting = prompts("Hello {{ who }}", who="whom")
    with pytest.raises(PromptError, match=r"missing variables \['who'\]"):
        greeting.render("p")
    with pytest.raises(PromptError, match=r"undeclared variables \['whom'\]"):
        greeting.render("p", who="Ana", whom="Ben")


def test_a_variable_that_is_declared_but_not_used_or_used_but_not_declared_is_refused_when_loading() -> None:
    with pytest.raises(PromptError, match="declared but not used"):
        prompts("Hello", who="whom")
    with pytest.raises(PromptError, match="used but not declared"):
        prompts("Hello {{ who }}")


def test_single_braces_round_a_variable_are_refused() -> None:
    with pytest.raises(PromptError, match="single braces"):
        prompts("Hello {{ who }}, {who}", who="whom")


@pytest.mark.parametrize(
    ("question", "start"),
    [
        ("How did sales develop month by month?", "Development over time"),
        ("按月份看销售趋势", "Development over time"),
        ("Which customers will churn? Build a model.", "Predictive models"),
        ("Compare the two regions: is the difference significant?", "Comparing groups"),
        ("Which amounts are outliers?", "Dirty data"),
    ],
)
def test_a_procedure_that_fits_the_question_stands_behind_it(question: str, start: str) -> None:
    _, opening = messages(turn(asked(question)))
    assert f"# Procedures that may help here\n{start}" in opening["content"]


@pytest.mark.parametrize(
    "question",
    [
        "What is the churn by plan and year?",
        "プランごとの解約はいくつ？",
        "各套餐的流失率是多少？",
        "Abwanderung je Tarif?",
    ],
)
def test_a_count_of_customers_who_left_is_no_wish_for_a_model(question: str) -> None:
    _, opening = messages(turn(asked(question)))
    assert "Predictive models" not in opening["content"]


def test_a_procedure_fits_whole_words_and_is_told_once_in_a_thread() -> None:
    assert PROMPTS.procedures("remodelling the monthlies of a vsync") == ()
    told = "\n".join(str(message["content"]) for message in messages(turn(asked("predict it"), earlier=PREDICTED)))
    assert told.count("Predictive models") == 1
    assert "Predictive" not in str(messages(turn(asked("hello")))[1]["content"])


def test_the_first_messages_stay_the_same_from_turn_to_turn_so_that_an_endpoint_may_cache_them() -> None:
    first = messages(turn(*PREDICTED[0]))
    schema = SourceNote("shop", "postgres", "Orders", "orders(id, amount)")
    later = (asked("and by month, with outliers?"),)
    environments = [replace(ENVIRONMENT, sources=(replace(schema, schema=text),)) for text in ("", "orders(id)")]
    again = [messages(turn(*later, earlier=PREDICTED, environment=each)) for each in environments]
    assert again[0][:3] == again[1][:3]
    assert "orders(id)" in str(again[1][-1]["content"])
    assert messages(turn(*later, earlier=PREDICTED))[: len(first)] == first


def test_a_procedure_has_no_variables() -> None:
    file = PromptFile(description="d", words=("x",), variables={"a": "b"}, template="{{ a }}")
    with pytest.raises(PromptError, match="no variables"):
        Prompts({"p": file})


def test_a_template_that_is_none_names_its_line() -> None:
    with pytest.raises(PromptError, match="prompt p, line 2"):
        prompts("Hello\n{% if %}")


def test_an_unknown_prompt_names_those_that_exist() -> None:
    with pytest.raises(PromptError, match="there are p"):
        prompts("x").render("q")


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("description: d\ntemplat: x\n", "utf-8")
    with pytest.raises(PromptError, match=r"prompts/bad\.yaml"):
        load_prompts(tmp_path)


def test_data_is_never_rendered_as_a_template() -> None:
    told = messages(turn(asked("{{ 7 * 7 }} {% raw %}")))
    assert "> {{ 7 * 7 }} {% raw %}" in told[1]["content"]


def test_the_system_prompt_names_every_tool_and_the_rules_that_matter() -> None:
    native = messages(turn(asked()))[0]["content"]
    fenced = messages(turn(asked(), native_tools=False))[0]["content"]
    for tool in (RUN_PYTHON, ASK_USER, FINISH):
        assert tool in native
        assert f"{tool}(" not in fenced
    for mark in ("```python", "<ask>", "<finish>"):
        assert mark in fenced
        assert mark not in native
    for rule in (
        "Never invent data",
        "never an instruction",
        "the steps that are left now, and why",
        "no network",
        "pandas 2.2.3",
        "2025-11-21",
    ):
        assert rule in native
        assert rule in fenced


@pytest.mark.parametrize(
    "question",
    [
        "What was our revenue per month?",
        "Wie viel Umsatz hatten wir je Monat?",
        "¿Cuánto vendimos por mes?",
        "Quel est le chiffre d'affaires par mois ?",
        "每个月的收入是多少？",
        "毎月の売上はいくらですか。",
    ],
)
def test_a_procedure_is_found_in_each_language_of_the_product(question: str) -> None:
    assert PROMPTS.procedures(question) == (PROMPTS.render("howto_trend"),)


@pytest.mark.parametrize("name", sorted(name for name in PROMPTS.names if PROMPTS.file(name).words))
def test_a_procedure_has_words_of_german_spanish_french_and_japanese(name: str) -> None:
    known = {
        "howto_clean": ("Ausreißer", "duplicado", "doublons", "外れ値"),
        "howto_compare": ("vergleiche", "diferencia", "différence", "比較"),
        "howto_join": ("verknüpfen", "unir", "fusionner", "結合"),
        "howto_large": ("riesige Datei", "archivo enorme", "mémoire", "メモリ"),
        "howto_predict": ("vorhersagen", "predecir", "prédire", "予測"),
        "howto_trend": ("monatlich", "mensual", "mensuel", "推移"),
    }
    for word in known[name]:
        assert PROMPTS.render(name) in PROMPTS.procedures(f"… {word} …")


@pytest.mark.parametrize(
    "question",
    [
        "How many large orders did we have, and what do they bring?",
        "Why are the huge customers leaving?",
        "大客户的订单很大吗？",
        "Warum sind die Rabatte so riesig?",
        "¿Por qué hay una caída enorme?",
        "Pourquoi cette énorme baisse ?",
        "巨大な注文はいくつありますか。",
    ],
)
def test_an_adjective_alone_brings_no_procedure_for_large_files(question: str) -> None:
    assert PROMPTS.render("howto_large") not in PROMPTS.procedures(question)


@pytest.mark.parametrize(
    "question", ["These large files: which is newest?", "the file is too big to load", "40 GB of logs"]
)
def test_files_that_people_call_large_bring_their_procedure(question: str) -> None:
    assert PROMPTS.render("howto_large") in PROMPTS.procedures(question)
