"""A text of requirements becomes numbered ones that can be tested."""

from __future__ import annotations

import pytest

from workers.builder.requirements.numbered import MOST, numbered

SPLITS = {
    "Print hello.": ["Print hello."],
    "Read a file. Print its lines, e.g. sorted. Stop at 3.5 MB.": [
        "Read a file.",
        "Print its lines, e.g. sorted.",
        "Stop at 3.5 MB.",
    ],
    "Do this:\n- read\n- write\n  to disk\n": ["Do this:", "read", "write to disk"],
    "1. read\n   - twice\n2) write": ["read\n- twice", "write"],
    "# Title\nRead it.\n\nWrite\nit.": ["Read it.", "Write it."],
    "Use this format:\n```\na. B\nc. D\n```\nThen stop.": ["Use this format:\n```\na. B\nc. D\n```", "Then stop."],
    "读取文件。输出行数。": ["读取文件。", "输出行数。"],
    "": [],
}


@pytest.mark.parametrize("text", SPLITS)
def test_a_text_is_cut_where_a_reader_would_cut_it(text: str) -> None:
    assert [one.text for one in numbered(text)] == SPLITS[text]


def test_numbers_begin_at_one() -> None:
    assert [one.id for one in numbered("- a\n- b")] == ["R1", "R2"]


def test_what_is_beyond_the_most_stays_in_the_last_one() -> None:
    many = numbered("\n".join(f"- item {at}" for at in range(MOST + 5)))
    assert len(many) == MOST
    assert "item 64" in many[-1].text
