"""A report becomes messages that Slack takes, answer first, no word lost; and report.md holds the whole of it."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_cases import CASES, CHINESE, FAILED, FENCES, LOAD, LONG_TABLE, MANY_TABLES, SHORT, WIDE_TABLE, case, table

from core.rows import Spent
from core.slack.blocks import SlackMessage, as_plain_tables, broken_limits, characters
from core.slack.markdown import closed, headings, plain_text
from core.steps import Asked, Briefed, CellRan, FileAbstract, FileProblem, Finished, Replied, StatementRan, Step, Usage
from core.values import Language
from workers.delivery.reports import Report, ReportInput, render_report, report_input
from workers.delivery.reports.tables import is_number, to_csv

Golden = Callable[[str, object], None]


TABLES = ("table", "data_table")


def texts(messages: Sequence[SlackMessage]) -> str:
    """All words that the thread shows, without blanks."""
    shown = []
    for block in (block for message in messages for block in message.blocks):
        if block["type"] == "markdown":
            shown.append(plain_text(block["text"]))
        elif block["type"] in TABLES:
            shown += [" | ".join(cell["text"] for cell in row) for row in block["rows"]]
    return "".join("".join(shown).split())


def file(report: Report, name: str) -> str:
    (found,) = [file.data for file in report.files if file.name == name]
    return found.decode("utf-8-sig")


@pytest.mark.parametrize("name", CASES)
def test_every_message_is_within_the_limits(name: str) -> None:
    report = render_report(CASES[name])
    for message in report.messages:
        assert broken_limits(message.blocks) == []
        assert characters(message.blocks) <= 11_000
        assert 0 < len(message.text) <= 3_000


@pytest.mark.parametrize("name", CASES)
def test_the_whole_report_is_as_its_golden_file_says(golden: Golden, name: str) -> None:
    report = render_report(CASES[name])
    shown = [{"text": message.text, "blocks": message.blocks} for message in report.messages]
    golden(f"reports/{name}.json", {"messages": shown, "files": [[file.name, file.mimetype] for file in report.files]})
    if name in ("short", "zh"):
        golden(f"reports/{name}.md", report.markdown)


def test_a_report_without_one_good_cell_names_no_other_cells() -> None:
    shown = str(render_report(case("x", cells=(FAILED,))).messages)
    assert "1 of 1 code cells did not finish." in shown
    assert "the others" not in shown


def test_the_answer_stands_first_below_the_question() -> None:
    first = render_report(SHORT).messages[0]
    assert first.blocks[0]["elements"][0]["type"] == "rich_text_quote"
    assert first.blocks[1]["text"].startswith("**North** sold most")
    assert first.text.startswith("North sold most")


def test_what_we_know_stands_in_the_file_in_the_language_of_the_question() -> None:
    english = render_report(SHORT).markdown
    for words in (
        "`revenue_by_region.png` — Sum by region",
        "- Load the ledger",
        "`sales.csv`: 1,234 rows × 1 column, read by the code",
        "`notes.md`: not used by the code",
        "`summary.csv`: made in this turn",
        "1 of 3 code cells did not finish",
    ):
        assert words in english
    chinese = render_report(CHINESE).markdown
    for words in ("本消息列中的图表", "代码已读取", "我无法读取这种文件", "运行时间过长"):
        assert words in chinese
    assert "分析过程" not in chinese, "the model wrote a section on the method itself"


@pytest.mark.parametrize("end", ["```python\nx = 1", "~~~~\nx", "<pre>\nx", "<textarea>\nx", "# below\n\n```\nx"])
def test_code_without_an_end_does_not_swallow_what_stands_below_in_the_file(end: str) -> None:
    whole = render_report(case(f"Done.\n\n{end}")).markdown
    assert "Limits of this run" in headings(whole)
    assert whole.count("Done.") == 1


@pytest.mark.parametrize("end", ["", "```\nx\n```", "- a\n  ```\n  x", "> ```\n> x", "    x", "text"])
def test_code_that_ends_gets_no_other_end(end: str) -> None:
    assert closed(f"Done.\n\n{end}") == f"Done.\n\n{end}"


def test_the_thread_shows_the_answer_its_limits_and_one_line_of_files() -> None:
    shown = str([message.blocks for message in render_report(SHORT).messages])
    assert "Load the ledger" not in shown
    assert "1 of 3 code cells did not finish" in shown
    assert "Files: sales.csv (1,234 rows × 1 column, read by the code) · notes.md (not used by the code)" in shown


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (case("There are 3.", cells=(LOAD,)), set()),
        (SHORT, {"report.html"}),
        (LONG_TABLE, {"report.html", "table-1.csv"}),
        (case("There are 3."), {"report.html"}),
    ],
    ids=["a number", "a table", "a long table", "a chart"],
)
def test_a_short_answer_brings_no_file_and_a_report_brings_its_page(given: ReportInput, shown: set[str]) -> None:
    report = render_report(given)
    assert report.shown == shown
    assert {file.name for file in report.files} >= {"report.html", "report.md", "analysis.ipynb", "analysis.py"}


def test_a_file_that_was_not_taken_is_told_in_the_readers_language() -> None:
    refused = FileProblem(name="link", why="it is a symbolic link", why_text="它是符号链接")
    cell = LOAD.model_copy(update={"rejected": (refused, FileProblem(name="pipe", why="it is a pipe"))})
    told = render_report(case("x", cells=(cell,), language="zh")).markdown
    assert "`link`: 它是符号链接" in told
    assert "`pipe`: it is a pipe" in told, "a step of an earlier version"


def test_an_error_that_was_mended_is_no_limit_of_the_run() -> None:
    mended = FAILED.model_copy(update={"cell_id": "c3", "status": "ok"})
    assert "did not finish" not in str(render_report(case("x", cells=(LOAD, FAILED, mended))).messages)
    assert "2 of 4 code cells" in render_report(case("x", cells=(LOAD, mended, FAILED, FAILED))).markdown


def test_the_footer_is_quiet_above_the_buttons() -> None:
    last = render_report(SHORT).messages[-1].blocks[-2]
    assert last["type"] == "context"
    assert last["elements"][-1]["text"] == "gpt-x · 3 cells (1 failed) · 1 min 15 s · 12,345 tokens"


@pytest.mark.parametrize(
    ("micros", "said"),
    [(0, "0.00"), (7, "0.000007"), (94, "0.000094"), (4_210, "0.0042"), (10_000, "0.01"), (1_234_567, "1.23")],
)
def test_the_footer_tells_the_cost_when_it_is_known(micros: int, said: str) -> None:
    spent = Spent(prompt_tokens=12_000, completion_tokens=345, cost_micros=micros)
    foot = render_report(case("x", spent=spent, currency="EUR")).messages[-1].blocks[-2]["elements"][-1]["text"]
    assert foot.endswith(f"12,345 tokens · about {said} EUR")
    chinese = render_report(case("x", spent=spent, language="zh")).messages[-1].blocks[-2]["elements"][-1]["text"]
    assert chinese.endswith(f"约 {said} USD")


def test_only_links_of_the_asker_lead_anywhere() -> None:
    shown = str([message.blocks for message in render_report(SHORT).messages])
    assert "[the wiki](https://example.com/wiki)" in shown
    assert "](http://evil.example" not in shown
    assert "<!channel>" not in shown


def test_a_table_ends_its_message_and_numbers_can_be_sorted() -> None:
    report = render_report(SHORT)
    block = report.messages[0].blocks[-1]
    assert block["type"] == "data_table"
    assert [cell["type"] for cell in block["rows"][1]] == ["raw_text", "raw_number", "raw_number"]
    (plain,) = as_plain_tables([block])
    assert plain["column_settings"] == [None, {"align": "right"}, {"align": "right"}]
    assert report.messages[1].blocks[0]["type"] == "markdown"


@pytest.mark.parametrize(("given_case", "rows", "columns"), [(WIDE_TABLE, 5, 30), (LONG_TABLE, 250, 4)])
def test_a_table_too_large_for_a_block_shows_its_beginning_and_is_attached_whole(
    given_case: ReportInput, rows: int, columns: int
) -> None:
    report = render_report(given_case)
    cells = list(csv.reader(io.StringIO(file(report, "table-1.csv"))))
    assert len(cells) == rows + 1
    assert {len(row) for row in cells} == {columns}
    (block,) = [block for message in report.messages for block in message.blocks if block["type"] == "data_table"]
    assert len(block["rows"]) == min(rows, 10) + 1
    assert len(block["rows"][0]) == min(columns, 20)
    assert any("table-1.csv" in str(message.blocks) for message in report.messages)


def test_a_number_is_shown_as_it_was_written_and_sorts_by_its_value() -> None:
    rows = ("Region | Umsatz | Anteil | Nr.", "---|---|---|---", "Nord | 1.234,5 € | 62 % | 007", "Süd | 900 € |  | 8")
    written = "\n".join(f"| {row} |" for row in rows)
    report = render_report(replace(case(f"## Umsatz\n\n{written}"), language="de"))
    (block,) = [block for message in report.messages for block in message.blocks if block["type"] == "data_table"]
    assert block["caption"] == "Umsatz"
    first, second = block["rows"][1:]
    assert first[1] == {"type": "raw_number", "value": 1234.5, "text": "1.234,5 €"}
    assert [cell["type"] for cell in first] == ["raw_text", "raw_number", "raw_number", "raw_text"]
    assert second[2] == {"type": "raw_text", "text": " "}


def test_a_table_without_a_row_is_a_plain_one() -> None:
    report = render_report(case("| a | b |\n|---|---|\n"))
    assert [block["type"] for block in report.messages[0].blocks if block["type"] in TABLES] == ["table"]


def test_a_preview_of_long_cells_fits_too() -> None:
    row = "| " + " | ".join("word " * 60 for _ in range(25)) + " |\n"
    report = render_report(case(row + "|" + "---|" * 25 + "\n" + row * 15))
    for message in report.messages:
        assert broken_limits(message.blocks) == []
    assert any(block["type"] == "data_table" for message in report.messages for block in message.blocks)


def test_a_chart_named_like_its_cell_is_named_once() -> None:
    chart = SHORT.cells[2].figures[0].model_copy(update={"name": "sum-by-region.png"})
    cells = (SHORT.cells[2].model_copy(update={"figures": (chart,)}),)
    assert "- `sum-by-region.png`\n" in render_report(case("Up.", cells=cells)).markdown


def test_an_endless_report_does_not_flood_the_thread_and_is_attached_whole() -> None:
    markdown = "\n\n".join(f"Sentence {n} says something. " * 20 for n in range(400))
    report = render_report(case(markdown))
    assert len(report.messages) <= 8
    assert any("report.html" in str(block) for block in report.messages[-1].blocks)
    assert "Sentence 399" in file(report, "report.md")


def test_many_tables_do_not_flood_the_thread() -> None:
    report = render_report(case("\n\n".join(f"Table {n}:\n\n{table(12, 3)}" for n in range(9))))
    assert len(report.messages) == 7
    assert sum(block["type"] == "data_table" for message in report.messages for block in message.blocks) == 6


def test_small_tables_stand_in_the_text_of_one_message_with_their_numbers_to_the_right() -> None:
    [message] = render_report(MANY_TABLES).messages
    drawn = [block["text"] for block in message.blocks if block["type"] == "markdown" and "|---" in block["text"]]
    assert len(drawn) == 9
    assert drawn[0].splitlines()[1] == "|---:|---:|---:|"


def test_a_table_to_sort_or_page_through_keeps_its_block_beside_small_ones_and_so_does_a_single_one() -> None:
    def blocks(text: str) -> list[list[str]]:
        return [[block["type"] for block in message.blocks] for message in render_report(case(text)).messages]

    beside = blocks(f"Few:\n\n{table(3, 3)}\nMany:\n\n{table(11, 3)}\nWide:\n\n{table(3, 7)}\nEnd.")
    assert [kinds.count("data_table") for kinds in beside] == [1, 1, 0]
    assert [kinds.count("data_table") for kinds in blocks(f"One:\n\n{table(3, 3)}\nEnd.")] == [1, 0]


def test_a_report_with_very_many_tables_is_in_messages_that_slack_takes() -> None:
    many = case("\n\n".join(f"Table {n}:\n\n{table(2, 2)}" for n in range(60)))
    report = render_report(many)
    for message in report.messages:
        assert broken_limits(message.blocks) == []
    assert len(report.messages) < 12
    assert "Table59:" in texts(report.messages)


def test_a_report_with_many_wide_tables_does_not_flood_the_thread() -> None:
    many = case("\n\n".join(f"Table {n}:\n\n{table(3, 25)}" for n in range(12)))
    report = render_report(many)
    assert len(report.messages) == 7
    assert sum(file.name.startswith("table-") for file in report.files) == 12
    assert "All rows are in table-12.csv" in str(report.messages[-1].blocks)


def test_no_fence_is_open_at_the_end_of_a_message() -> None:
    for message in render_report(FENCES).messages:
        for block in message.blocks:
            if block["type"] == "markdown":
                assert sum(line.startswith("```") for line in block["text"].splitlines()) % 2 == 0


words = st.text(alphabet="abcdefg 一二三。,.", min_size=1, max_size=200).filter(str.strip).map(str.strip)
lines = st.lists(words, min_size=1, max_size=40)
parts = st.one_of(
    lines.map("\n".join),
    lines.map(lambda items: "\n".join(f"- {item}" for item in items)),
    words.map(lambda text: f"## {text}"),
    lines.map(lambda items: "```\n" + "\n".join(items) + "\n```"),
    st.integers(0, 8).map(lambda rows: table(rows, 3)),
)


@given(st.lists(parts, min_size=1, max_size=25).map("\n\n".join))
@settings(max_examples=60)
def test_no_word_of_a_report_is_lost(markdown: str) -> None:
    report = render_report(case(markdown))
    assert "".join(plain_text(markdown).split()) in texts(report.messages)
    assert _unmarked(markdown.strip()) in _unmarked(report.markdown)  # what looks like an address is shown as code
    for message in report.messages:
        assert broken_limits(message.blocks) == []


def _unmarked(markdown: str) -> str:
    return markdown.replace("`", "")


@given(st.text(max_size=2_000), st.text(max_size=400), st.text(max_size=50))
@settings(max_examples=60)
def test_any_text_makes_a_report(markdown: str, question: str, asker: str) -> None:
    report = render_report(case(markdown, question=question, asker=asker))
    assert report.messages
    for message in report.messages:
        assert broken_limits(message.blocks) == []


def test_a_report_without_cells_has_no_code_files() -> None:
    assert [file.name for file in render_report(case("Hi.", cells=(), files=())).files] == ["report.html", "report.md"]


def test_cells_that_would_run_as_formulas_are_quoted_and_numbers_stay() -> None:
    rows = [["=1+1", "+cmd", "-5", "@x"], ["-1,234.5", "+3 %", "\tx", "-x"]]
    cells = list(csv.reader(io.StringIO(to_csv(rows).decode("utf-8-sig"))))
    assert cells == [["'=1+1", "'+cmd", "-5", "'@x"], ["-1,234.5", "+3 %", "'\tx", "'-x"]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,234", True),
        ("-5.2 %", True),
        ("$1.2M", True),
        ("3 亿", True),
        ("12a", False),
        ("2023-01-01", False),
        ("", False),
    ],
)
def test_numbers_are_told_from_words(text: str, expected: bool) -> None:
    assert is_number(text) is expected


def test_the_input_is_gathered_from_the_steps_of_a_turn() -> None:
    earlier = (Asked(user="U1", author="Ana", text="Load it", ts="1"), Briefed(files=SHORT.files[:1]), SHORT.cells[0])
    steps = (
        Asked(user="U2", author="Bo", text="And by region?", ts="2"),
        Replied(purpose="act", usage=Usage(prompt_tokens=10, completion_tokens=2), cost_micros=40),
        SHORT.cells[2],
        Asked(user="U1", author="Ana", text="only 2023", ts="3"),
        Replied(purpose="check", usage=Usage(prompt_tokens=5, completion_tokens=1)),
        Finished(report="Done."),
    )
    found = report_input(steps, "en", earlier=[earlier], model="m", duration_s=3)
    assert (found.question, found.asker, found.report) == ("And by region?\nonly 2023", "Bo", "Done.")
    assert found.cells == (SHORT.cells[2],)
    assert found.earlier == (SHORT.cells[0],)
    assert found.files == SHORT.files[:1]
    assert found.spent == Spent(prompt_tokens=15, completion_tokens=3, cost_micros=40, calls=2)


def test_the_lines_below_an_answer_name_the_files_and_sources_that_it_rests_on() -> None:
    def asks(text: str, *names: str) -> tuple[Step, ...]:
        files = tuple(FileAbstract(path=name, format="csv", size=1, sha256="a" * 64) for name in names)
        return (Asked(user="U", author="Ana", text=text, ts=text), *([Briefed(files=files)] if files else []))

    def reads(file: str, code: str, *statements: StatementRan) -> CellRan:
        read = (file,) if file else ()
        ran = {"cell_id": code, "call_id": code, "title": code, "status": "ok", "stdout": "7"}
        return CellRan(code=code, files_read=read, statements=statements, **ran)

    done = Finished(report="It is 7.")
    first = (*asks("1", "a.csv", "b.csv"), reads("a.csv", "a = 7", StatementRan(source="clinic", sql="SELECT 1")), done)
    second = (*asks("2"), reads("b.csv", "b = 7"), done)
    third = (*asks("3", "c.csv"), reads("", "print(a)"), done)
    shown = str(render_report(report_input(third, "en", earlier=[first, second])).messages)
    assert "Files: a.csv (read by the code) · c.csv (not used by the code)" in shown
    assert "Data sources: clinic" in shown
    shown = str(render_report(report_input((*asks("4"), done), "en", earlier=[first, second])).messages)
    assert "Files:" not in shown


@pytest.mark.parametrize(
    ("language", "name", "line"),
    [
        ("en", "Sales: Q1.csv", "Sales: Q1.csv (not used by the code)"),
        ("zh", "销售：一月.csv", "销售：一月.csv（代码未使用）"),
        ("fr", "Ventes : T1.csv", "Ventes : T1.csv (non utilisé par le code)"),
    ],
)
def test_a_file_with_a_colon_in_its_name_keeps_its_name(language: Language, name: str, line: str) -> None:
    file = FileAbstract(path=name, format="csv", size=1, sha256="a" * 64)
    ran = CellRan(code="a = 7", cell_id="c", call_id="c", title="t", status="ok", stdout="7", files_read=())
    steps = (Asked(user="U", author="Ana", text="?", ts="1"), Briefed(files=(file,)), ran, Finished(report="It is 7."))
    assert line in str(render_report(report_input(steps, language)).messages)


def test_several_messages_stand_apart_above_their_answer_and_a_changed_one_stands_as_it_reads_now() -> None:
    def asks(user: str, text: str) -> Asked:
        return Asked(user=user, author=user, text=text, ts=text)

    changed = "Ich habe meine Nachricht geändert. Sie lautet jetzt: Umsatz je Region?"
    steps = (asks("U1", "Umsatz je Land?"), asks("U2", "und je Monat\nbitte"), asks("U1", changed))
    given = report_input((*steps, Finished(report="So.")), "de")
    assert given.question == "und je Monat\nbitte\nUmsatz je Region?"
    assert given.asked == "und je Monat · bitte · Umsatz je Region?"
    (first, *_) = render_report(given).messages[0].blocks
    assert "und je Monat · bitte · Umsatz je Region?" in str(first)


def test_a_changed_message_takes_the_place_of_the_one_that_it_was_and_of_no_later_one() -> None:
    words = ("Which region sells most in 2023?", "Without returns, please.")
    changed = "I changed my message. It now reads: Which region sells most in 2024?"
    steps = [Asked(user="U1", author="Ana", text=text, ts=text) for text in (*words, changed)]
    given = report_input((*steps, Finished(report="So.")), "en")
    assert given.question == "Without returns, please.\nWhich region sells most in 2024?"


def test_steps_without_a_report_are_refused() -> None:
    with pytest.raises(ValueError, match="Finished"):
        report_input((Asked(user="U", author="A", text="x", ts="1"),), "en")


def test_a_file_that_an_earlier_turn_read_counts_as_read() -> None:
    given_case = case("Up.", earlier=(SHORT.cells[0],), cells=(SHORT.cells[2],))
    assert "`sales.csv`: 1,234 rows × 1 column, read by the code" in render_report(given_case).markdown


def test_nothing_is_claimed_of_files_when_the_host_cannot_tell() -> None:
    cells = tuple(cell.model_copy(update={"files_read": None}) for cell in SHORT.cells)
    markdown = render_report(case("Up.", cells=cells)).markdown
    assert "`sales.csv`: 1,234 rows × 1 column\n" in markdown
    assert "by the code" not in markdown
