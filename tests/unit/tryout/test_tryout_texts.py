"""What the try-out commands print and check."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.slack.charts import chart, pie
from tryout.commands import ask, show
from tryout.commands.show import Transcript
from tryout.demo import reused
from tryout.stack.blocks_text import block_text, message_text


def test_a_message_reads_as_its_blocks_and_falls_back_to_its_text() -> None:
    message = {"text": "short", "blocks": [{"type": "markdown", "text": "**long**"}, {"type": "divider"}]}
    assert message_text(message) == "**long**"
    assert message_text({"text": "short", "blocks": [{"type": "divider"}]}) == "short"


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ({"type": "header", "text": {"type": "plain_text", "text": "Sales"}}, "# Sales"),
        ({"type": "section", "text": {"type": "mrkdwn", "text": "a"}, "fields": [{"text": "b"}]}, "a\nb"),
        (
            {"type": "table", "rows": [[{"type": "raw_text", "text": "x"}, {"type": "raw_number", "value": 2}]]},
            "| x | 2 |\n| --- | --- |",
        ),
        ({"type": "actions", "elements": [{"type": "button", "text": {"text": "By month"}}]}, "[By month]"),
        (
            {"type": "plan", "title": "Working", "tasks": [{"task_id": "1", "title": "Load", "status": "complete"}]},
            "**Working**\n\n- ● Load",
        ),
        (
            chart(
                "bar",
                "Rate",
                ["a", "b", "c", "d"],
                [("%", [33.333333333333336, 1234567.891, 0.00012345678, 5]), ("n", [0.0, 1e6, -2.5, 7])],
            ),
            "**Rate**\n\n|  | % | n |\n| --- | --- | --- |\n"
            "| a | 33.3333 | 0 |\n| b | 1234568 | 1000000 |\n| c | 0.000123457 | -2.5 |\n| d | 5 | 7 |",
        ),
        (
            chart("bar", "Units", ["a", "b"], [("1", [3, 4])], x="region", y="units sold, in thousands"),
            "**Units**\n\n| region | units sold, in thousands |\n| --- | --- |\n| a | 3 |\n| b | 4 |",
        ),
        (
            chart("bar", "Units", ["a", "b"], [("units", [3, 4])], x="region", y="units"),
            "**Units**\n\n| region | units |\n| --- | --- |\n| a | 3 |\n| b | 4 |",
        ),
        (
            chart("line", "Rate", ["a"], [("2025", [3]), ("2026", [4])], x="region", y="%"),
            "**Rate** (%)\n\n| region | 2025 | 2026 |\n| --- | --- | --- |\n| a | 3 | 4 |",
        ),
        (
            chart("bar", "Units by region", ["a", "b"], [("1", [3, 4])]),
            "**Units by region**\n\n|  | Units by region |\n| --- | --- |\n| a | 3 |\n| b | 4 |",
        ),
        (
            pie("Shares", [("a", 0.25), ("b", 0.75)]),
            "**Shares**\n\n|  | Shares |\n| --- | --- |\n| a | 0.25 |\n| b | 0.75 |",
        ),
        ({"type": "unheard_of"}, ""),
    ],
)
def test_a_block_reads_as_what_a_person_would_see(block: dict[str, object], expected: str) -> None:
    assert block_text(block) == expected


def test_rich_text_reads_as_its_words() -> None:
    words = {
        "type": "rich_text_section",
        "elements": [{"type": "text", "text": "hi "}, {"type": "user", "user_id": "U1"}],
    }
    assert block_text({"type": "rich_text", "elements": [words]}) == "hi <@U1>"


def test_a_variable_counts_as_reused_only_when_it_was_read_before_it_was_set_again() -> None:
    assert reused(["df = 1"], ["print(df)"]) == {"df"}
    assert reused(["df = 1"], ["df = 2", "print(df)"]) == set()
    assert reused(["df = 1"], ["df = df + 1"]) == {"df"}


def test_the_last_expression_of_a_cell_is_a_read() -> None:
    assert reused(["df = 1"], ["df"]) == {"df"}


def test_a_progress_card_prints_each_task_once_when_it_ends() -> None:
    def card(status: str) -> dict[str, object]:
        return {
            "ts": "1.0",
            "blocks": [{"type": "plan", "tasks": [{"task_id": "a", "title": "Load", "status": status}]}],
        }

    transcript = Transcript({})
    with show.console.capture() as shown:
        for status in ("in_progress", "complete", "complete"):
            transcript(card(status))
    assert shown.get().count("Load") == 1


def test_an_empty_question_is_refused_before_anything_starts(capsys: pytest.CaptureFixture[str]) -> None:
    assert ask.run("What sold?", [], [" "]) == 2
    assert "a question is empty" in capsys.readouterr().err


def test_a_message_for_a_pipe_is_markdown_with_the_paths_of_its_files_and_nothing_that_steers_a_terminal() -> None:
    posted = {"user": "U1", "text": "see <@U2>\x1b[2J", "files": [{"id": "F1", "name": "a.csv"}, {"id": "F2"}]}
    text = show.plain(posted, {"U1": "ana", "U2": "ben"}, {"F1": Path("/x/a.csv")})
    assert text == "**ana**\n\nsee @ben\ufffd[2J\n[file] /x/a.csv"
