"""The analyst as a Model: what it says of itself, what it asks, how it judges; drawn charts keep their glyphs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from core.steps import Asked, Briefed, CellRan, FileAbstract, Replied, Step, ToolCall
from workers.agent.turn import AgentLimits, Environment, Turn
from workers.models.base import Model, ModelRequest
from workers.offline import OfflineAnalyst
from workers.offline.columns import kind_of, mentions
from workers.offline.lexicon import stem
from workers.offline.values import Column
from workers.turn.prompts import load_prompts


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A small clean ledger: 60 rows, two cities."""
    days = pd.date_range("2023-01-01", periods=60, freq="7D")
    frame = pd.DataFrame({"day": days, "city": ["Rome", "Oslo"] * 30, "sales": range(60)})
    frame.to_csv(tmp_path / "small.csv", index=False)
    return tmp_path / "small.csv"


def test_it_is_a_model_with_native_tools() -> None:
    analyst: Model = OfflineAnalyst()
    assert (analyst.name, analyst.native_tools) == ("offline-analyst", True)


def test_it_says_in_its_first_words_what_it_is_and_how_to_set_a_real_model_and_not_in_reports(
    thread: Any, small: Path
) -> None:
    first = thread.ask("Total sales?", small)
    assert "built-in offline analyst" in first.texts[0]
    assert all(word in first.texts[0] for word in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"))
    second = thread.ask("by city")
    assert "built-in" not in "".join((*first.texts[1:], first.report, *second.texts, second.report))


def test_a_question_without_a_file_is_answered_by_asking_for_one_and_goes_on_when_it_comes(
    thread: Any, small: Path
) -> None:
    waiting = thread.ask("What were our total sales?")
    assert waiting.question
    assert "file" in waiting.question.question
    answer = thread.ask("here it is", small)
    assert f"{sum(range(60)):,}" in answer.report


def test_a_greeting_gets_a_short_help(thread: Any) -> None:
    assert "Post a table" in thread.ask("hello").report


def test_an_unclear_column_is_asked_about_and_the_answer_used(thread: Any, tmp_path: Path) -> None:
    frame = pd.DataFrame({"city": ["Rome", "Oslo"] * 30, "list_price": range(60), "net_price": range(100, 160)})
    frame.to_csv(tmp_path / "prices.csv", index=False)
    waiting = thread.ask("average price by city", tmp_path / "prices.csv")
    assert waiting.question
    assert waiting.question.options == ("list_price", "net_price")
    answer = thread.ask("net_price")
    assert f"| Oslo | ${frame['net_price'][1::2].mean():,.2f} |" in answer.report or "| Oslo | 130 |" in answer.report


def test_a_message_that_joins_the_turn_is_heard(thread: Any, small: Path) -> None:
    thread.joins = [("Ben", "and only 2023")]
    answer = thread.ask("Total sales?", small)
    assert "(2023)" in answer.report
    assert f"{sum(range(53)):,}" in answer.report


@pytest.mark.parametrize(
    "text", ["", "%%%", "```yaml\n: : :\n```", "> " * 50, "#" * 500, "{{ x }} {% if %}", "\\", "'\"", "😀"]
)
def test_no_text_makes_it_fail(text: str, thread: Any, small: Path) -> None:
    answer = thread.ask(text, small)
    assert answer.report or answer.question


def _turn(*steps: Step, earlier: tuple[tuple[Step, ...], ...] = ()) -> Turn:
    environment = Environment("3.11", (), "2026-01-01")
    return Turn("t1", "en", steps, AgentLimits(), environment, load_prompts(), earlier=earlier)


ASKED = Asked(user="U", author="Ana", text="hello", ts="1.0")


@pytest.mark.parametrize(
    "steps",
    [
        (),
        (ASKED,),
        (ASKED.model_copy(update={"text": ""}), Briefed()),
        (ASKED, Briefed(files=(FileAbstract(path="a.csv", format="csv", size=0, sha256="0"),))),
        (ASKED, Replied(purpose="act", calls=(ToolCall(id="1", name="run_python", arguments="{"),))),
        (ASKED, CellRan(call_id="9", cell_id="t1/c1", title="?", code="?", status="died", stdout="table: {")),
    ],
)
def test_no_steps_make_it_fail(steps: tuple[Step, ...]) -> None:
    request = ModelRequest((), turn=_turn(*steps, earlier=((ASKED,),)))
    reply = OfflineAnalyst().complete(request, lambda _: None)
    assert reply.calls[0].name in ("finish", "ask_user")


@pytest.mark.parametrize("purpose", ["act", "check"])
def test_a_request_without_a_turn_is_refused(purpose: Any) -> None:
    with pytest.raises(ValueError, match="needs the turn"):
        OfflineAnalyst().complete(ModelRequest(({"role": "user", "content": "hello"},), (), purpose), lambda _: None)


def test_what_the_prompt_says_plays_no_part(small: Path, new_thread: Any) -> None:
    asked = new_thread().ask("Total sales?", small).steps[:2]
    replies = [
        OfflineAnalyst().complete(ModelRequest(messages, turn=_turn(*asked)), lambda _: None)
        for messages in ((), ({"role": "user", "content": "# Task\n> only 2023"},))
    ]
    assert replies[0] == replies[1]


def _verdict(report: str, *cells: CellRan, partial: bool = False) -> Any:
    arguments = json.dumps({"report": report, "partial": partial})
    finish = ToolCall(id="f", name="finish", arguments=arguments)
    turn = _turn(ASKED, *cells, Replied(purpose="act", calls=(finish,)))
    return json.loads(OfflineAnalyst().complete(ModelRequest((), purpose="check", turn=turn), lambda _: None).text)


def test_the_judge_passes_numbers_and_honest_failures_and_refuses_the_rest() -> None:
    ran = CellRan(call_id="c", cell_id="t1/c1", title="x", code="1", status="ok")
    assert _verdict("Sales were 12.", ran)["is_final"]
    assert _verdict("This could not be computed.", ran, partial=True)["is_final"]
    assert not _verdict("This could not be computed.", ran)["is_final"]
    assert _verdict("Hello!")["is_final"]
    assert not _verdict("Sales were fine.", ran)["is_final"]
    assert not _verdict("", ran)["is_final"]


def test_text_from_column_names_stays_text_in_the_code(thread: Any, tmp_path: Path) -> None:
    evil = 'a"]; open("hacked", "w"); df["b'
    frame = pd.DataFrame({evil: ["x", "y"] * 30, 'am"ount\\': [f"${n}" for n in range(60)]})
    frame.to_csv(tmp_path / "evil.csv", index=False)
    answer = thread.ask("Describe this", tmp_path / "evil.csv")
    assert "60 rows" in answer.report
    assert not (thread.notebook.folder / "hacked").exists()


@pytest.mark.parametrize(
    ("name", "dtype", "unique", "samples", "kind"),
    [
        ("amount", "str", 900, ("$1,234.50", "12.00", "(3.00)"), ("number", True)),
        ("order_date", "str", 700, ("2023-03-14", "14/03/2023", "Mar 14, 2023"), ("date", True)),
        ("total", "str", 900, ("4739.18", "2512.22", "145.74", " "), ("number", True)),
        ("day", "str", 700, ("2023.03.14", "2023.12.01"), ("date", True)),
        ("日期", "str", 700, ("2023年3月14日", "2023年3月15日"), ("date", True)),
        ("region", "str", 24, ("North", " north"), ("category", False)),
        ("order_id", "str", 1000, ("SO-1", "SO-2"), ("id", False)),
        ("customer_no", "int64", 1000, ("1", "2"), ("id", False)),
        ("churn", "str", 2, ("Yes", "No"), ("flag", False)),
        ("city", "str", 2, ("Rome", "Oslo"), ("category", False)),
        ("side", "str", 2, ("N", "S"), ("category", False)),
        ("price", "float64", 300, ("1.5",), ("number", False)),
        ("note", "str", 990, ("a long remark about it", "another remark"), ("text", False)),
        ("when", "datetime64[ns]", 99, ("2023-01-01",), ("date", False)),
        ("nothing", "float64", 0, (), ("empty", False)),
    ],
)
def test_columns_are_sorted_by_what_they_hold(
    name: str, dtype: str, unique: int, samples: tuple[str, ...], kind: tuple[str, bool]
) -> None:
    assert kind_of(name, dtype, unique, 1000, samples) == kind


def test_forms_of_a_word_have_one_stem() -> None:
    assert stem("regions") == stem("Region")
    assert stem("developed") == stem("develops") == stem("developing")
    assert stem("categories") == stem("category")


@pytest.mark.parametrize(("name", "meant"), [("ammount", ["amount"]), ("revenue", ["amount"]), ("zebra", [])])
def test_a_name_that_is_not_there_means_the_nearest(name: str, meant: list[str]) -> None:
    columns = [Column("region", "category"), Column("amount", "number")]
    assert [column.name for mention in mentions(columns, name) for column in mention.columns] == meant
