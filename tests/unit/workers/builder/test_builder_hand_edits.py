"""Three versions of a file become one: changes of both sides, and conflicts where they touch."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.builder.history.hand_edits import merge, patch

BASE = "a\nb\nc\nd\ne\n"
MERGES = {
    "only by hand": ("a\nB\nc\nd\ne\n", BASE, "a\nB\nc\nd\ne\n", 0),
    "only rebuilt": (BASE, "a\nb\nc\nd\nE\n", "a\nb\nc\nd\nE\n", 0),
    "both, apart": ("A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\n", "A\nb\nc\nd\nE\n", 0),
    "both, the same": ("a\nX\nc\nd\ne\n", "a\nX\nc\nd\ne\n", "a\nX\nc\nd\ne\n", 0),
    "both, the same line": ("a\nX\nc\nd\ne\n", "a\nY\nc\nd\ne\n", "a\nY\nc\nd\ne\n", 1),
    "lines added at both ends": ("0\n" + BASE, BASE + "f\n", "0\n" + BASE + "f\n", 0),
    "removed by hand, changed by the rebuild": ("a\nc\nd\ne\n", "a\nY\nc\nd\ne\n", "a\nY\nc\nd\ne\n", 1),
    "overlapping spans": ("a\nX\nX\nd\ne\n", "a\nb\nY\nY\ne\n", "a\nb\nY\nY\ne\n", 1),
}


@pytest.mark.parametrize("name", MERGES)
def test_changes_are_put_together(name: str) -> None:
    by_hand, rebuilt, merged, conflicts = MERGES[name]
    result = merge(BASE, by_hand, rebuilt)
    assert (result.text, len(result.conflicts)) == (merged, conflicts)


LINES = st.lists(st.sampled_from("abcd"), max_size=8).map(lambda lines: "".join(f"{line}\n" for line in lines))


@given(LINES, LINES)
def test_a_side_that_did_not_change_gives_way(base: str, other: str) -> None:
    assert merge(base, other, base).text == other
    assert merge(base, base, other).text == other
    assert merge(base, other, other).text == other


def test_a_patch_names_files_that_came_and_went() -> None:
    text = patch({"old.py": "x\n"}, {"new.py": "y"})
    assert "--- a/old.py\n+++ /dev/null" in text
    assert "--- /dev/null\n+++ b/new.py" in text
    assert "+y\n\\ No newline at end of file\n" in text


def test_a_form_feed_ends_no_line_of_a_patch() -> None:
    text = patch({"a.py": "x\x0c\ny\x0cz\n"}, {"a.py": "x\x0c\ny\x0cw\n"})
    assert text.splitlines(keepends=False)[:2] == ["--- a/a.py", "+++ b/a.py"]
    assert text.endswith(" x\x0c\n-y\x0cz\n+y\x0cw\n")
