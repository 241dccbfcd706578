"""Markdown is cut where it reads best, and loses no text."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_pieces import split_markdown

from core.slack import markdown
from core.slack.markdown import (
    Table,
    escape_markdown,
    headings,
    plain_text,
    split_tables,
    with_emphasis,
)
from tests.work import growth

words = st.text(alphabet="abcdefg 一二三。,.", min_size=1, max_size=120).filter(str.strip)
lines = st.lists(words.map(str.strip), min_size=1, max_size=12)
paragraphs = lines.map("\n".join)
bullets = lines.map(lambda items: "\n".join(f"- {item}" for item in items))
numbered = lines.map(lambda items: "\n".join(f"{n}. {item}" for n, item in enumerate(items, 1)))
quotes = lines.map(lambda items: "\n".join(f"> {item}" for item in items))
titles = words.map(lambda text: f"## {text.strip()}")
fences = lines.map(lambda items: "```python\n" + "\n".join(f"x = {item!r}" for item in items) + "\n```")
tables = st.lists(words.map(str.strip), min_size=1, max_size=15).map(
    lambda cells: "| name | value |\n|---|--:|\n" + "\n".join(f"| {cell} | {n} |" for n, cell in enumerate(cells))
)
blocks = st.lists(st.one_of(paragraphs, bullets, numbered, quotes, titles, fences, tables), min_size=1, max_size=12)


def is_subsequence(part: str, whole: str) -> bool:
    rest = iter(whole)
    return all(letter in rest for letter in part)


@given(blocks, st.integers(200, 1500))
def test_pieces_fit_and_lose_nothing(parts: list[str], limit: int) -> None:
    text = "\n\n".join(parts) + "\n"
    pieces = split_markdown(text, limit)
    assert all(0 < len(piece) <= limit for piece in pieces)
    joined = "".join(pieces)
    if all(len(part) < limit for part in parts):  # a part and its line end
        assert joined == text
    assert is_subsequence("".join(text.split()), "".join(joined.split()))


@given(blocks, st.integers(200, 1500))
def test_a_fence_that_fits_is_never_cut(parts: list[str], limit: int) -> None:
    pieces = split_markdown("\n\n".join(parts), limit)
    for part in parts:
        if part.startswith("```") and len(part) < limit:
            assert any(part in piece for piece in pieces)


@given(blocks, st.integers(300, 1500))
def test_every_piece_of_a_cut_fence_is_a_fence_again(parts: list[str], limit: int) -> None:
    for piece in split_markdown("\n\n".join(parts), limit):
        marks = [line for line in piece.splitlines() if line.startswith("```")]
        assert len(marks) % 2 == 0


@given(blocks, st.integers(300, 1500))
def test_a_table_row_is_never_cut(parts: list[str], limit: int) -> None:
    pieces = split_markdown("\n\n".join(parts), limit)
    for part in parts:
        if part.startswith("|"):
            for row in part.splitlines():
                assert any(row in piece.splitlines() for piece in pieces)


@given(st.text(alphabet="a b\n`~|-#>*_[](){}<!&;:.\\\t\r1。", max_size=3000), st.integers(200, 600))
@settings(max_examples=150)
def test_any_text_is_cut_without_losing_a_character(text: str, limit: int) -> None:
    pieces = split_markdown(text, limit)
    assert all(0 < len(piece) <= limit for piece in pieces)
    assert is_subsequence("".join(text.split()), "".join("".join(pieces).split()))


def test_a_heading_stays_with_its_text() -> None:
    text = "word " * 50 + "\n\n## Findings\n\n" + "result " * 30
    first, second = split_markdown(text, 290)
    assert "Findings" not in first
    assert second.startswith("## Findings\n\nresult")


def test_a_long_fence_is_closed_and_opened_again_with_its_language() -> None:
    text = "```python\n" + "\n".join(f"line_{n} = {n}" for n in range(100)) + "\n```\n"
    pieces = split_markdown(text, 400)
    assert len(pieces) > 2
    for piece in pieces:
        assert piece.startswith("```python\n")
        assert piece.rstrip("\n").endswith("```")
    assert [line for piece in pieces for line in piece.splitlines() if line.startswith("line_")] == [
        f"line_{n} = {n}" for n in range(100)
    ]


def test_a_long_table_repeats_its_header() -> None:
    text = "| n | name |\n|---|---|\n" + "".join(f"| {n} | row {n} |\n" for n in range(60))
    pieces = split_markdown(text, 300)
    assert all(piece.startswith("| n | name |\n|---|---|\n| ") for piece in pieces)
    assert sum(piece.count("row ") for piece in pieces) == 60


def test_a_very_long_line_is_cut_after_a_word() -> None:
    text = "word " * 500
    pieces = split_markdown(text, 300)
    assert "".join(pieces) == text
    assert all(piece.endswith("word ") for piece in pieces)


def test_a_chinese_line_is_cut_after_a_sentence() -> None:
    text = "销售额上升了百分之十。" * 60
    pieces = split_markdown(text, 250)
    assert "".join(pieces) == text
    assert all(piece.endswith("。") for piece in pieces)


def test_a_limit_too_small_to_cut_well_is_refused() -> None:
    with pytest.raises(ValueError, match="200"):
        split_markdown("x" * 300, 100)


@given(blocks)
def test_text_and_tables_join_to_the_whole(parts: list[str]) -> None:
    text = "\n\n".join(parts) + "\n"
    found = split_tables(text)
    assert "".join(part.source if isinstance(part, Table) else part for part in found) == text
    assert sum(isinstance(part, Table) for part in found) == len(
        [token for token in MarkdownIt("commonmark").enable("table").parse(text) if token.type == "table_open"]
    )


def test_a_table_gives_plain_cells_and_alignments() -> None:
    (table,) = split_tables("| **a** | `b` | c |\n|:--|:-:|--:|\n| [x](http://y)<br/>z | &lt;1&gt; | 1 \\| 2 |\n")
    assert isinstance(table, Table)
    assert table.rows == (("a", "b", "c"), ("x z", "<1>", "1 | 2"))
    assert table.aligns == ("left", "center", "right")


def test_a_table_inside_a_fence_is_code() -> None:
    text = "```\n| a | b |\n|---|---|\n| 1 | 2 |\n```\n"
    assert split_tables(text) == [text]


def test_plain_text_keeps_the_text() -> None:
    text = (
        "# Sales\n\nUp **10 %** in [May](http://x).\n\n- a\n- b\n\n| r | n |\n|---|---|\n| N | 1 |\n\n```\ncode\n```\n"
    )
    assert plain_text(text) == "Sales\nUp 10 % in May.\na\nb\nr | n\nN | 1\ncode"
    assert headings(text) == ["Sales"]


@given(st.text(max_size=60))
def test_escaped_data_shows_exactly_its_characters(data: str) -> None:
    shown = " ".join(data.replace("\0", "\ufffd").split())
    if shown:
        tokens = MarkdownIt("commonmark").enable("table").parse("x " + escape_markdown(data))
        inline = [token for token in tokens if token.type == "inline"]
        assert "".join(child.content for child in inline[0].children or ()) == "x " + shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("**结论：**北方最高。", "**结论：** 北方最高。"),
        ("其中**“北方”**最高，**占比（%）**为50。", "其中 **“北方”** 最高，**占比（%）** 为50。"),
        ("**北方**最高", "**北方**最高"),
        ("- **结论：**北方\n- `**x：**y`\n", "- **结论：** 北方\n- `**x：**y`\n"),
        ("```\n**结论：**北方\n```\n", "```\n**结论：**北方\n```\n"),
        ("2 ** 3 ** 4 and a**b", "2 ** 3 ** 4 and a**b"),
    ],
)
def test_bold_between_punctuation_and_a_letter_is_bold(text: str, shown: str) -> None:
    assert with_emphasis(text) == shown
    html = MarkdownIt("commonmark").render(with_emphasis("**结论：**北方最高。"))
    assert "<strong>结论：</strong>" in html


@given(blocks)
def test_bold_loses_no_character(parts: list[str]) -> None:
    text = "\n\n".join(parts)
    assert "".join(with_emphasis(text).split()) == "".join(text.split())


PARTS = ("- an item\n", "# A heading\n\nwords\n\n", "| a |\n|---|\n\n", "> words\n\n", "words ")


@pytest.mark.parametrize("part", PARTS)
def test_the_work_of_cutting_grows_with_the_length_of_a_text(part: str) -> None:
    assert growth(lambda size: split_markdown(part * size, 600), 400) < 5


def test_a_table_is_found_at_the_same_cost_with_many_others_around_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Counted(list[Token]):
        """Tokens that count how many of them are copied."""

        copied = 0

        def __getitem__(self, key: Any) -> Any:
            found = super().__getitem__(key)
            Counted.copied += len(found) if isinstance(key, slice) else 0
            return found

    tokens = Counted(MarkdownIt("commonmark").enable("table").parse("| a |\n|---|\n\n" * 500))
    monkeypatch.setattr(markdown, "_tokens", lambda _text: tokens)
    assert len(split_tables("| a |\n|---|\n\n" * 500)) == 1_000
    assert Counted.copied <= len(tokens)
