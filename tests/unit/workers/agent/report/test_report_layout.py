"""The fixed layout of a report: its headings in the team's order, every word kept, what is missing said."""

from __future__ import annotations

import pytest
from agent_kit import asked, cell, turn
from hypothesis import given
from hypothesis import strategies as st

from workers.agent.report.layout import Faults, applies, faults, laid_out

SECTIONS = ("Summary", "Findings", "Limits")
FULL = "## Summary\n\nNorth wins.\n\n## Findings\n\n- 120 units\n\n## Limits\n\nOne year only."
ABSENT = "Not answered."


def test_a_report_in_the_layout_stays_as_it_is() -> None:
    assert not faults(FULL, SECTIONS)
    assert laid_out(FULL, SECTIONS, ABSENT) == FULL


@pytest.mark.parametrize(
    "written",
    [
        "# 1. SUMMARY\nNorth wins.\n# 2. Findings:\n- 120 units\n# 3. *Limits*\nOne year only.",
        "Summary\n===\nNorth wins.\n\nFindings\n---\n- 120 units\n\nLimits\n---\nOne year only.",
        "**Summary**\nNorth wins.\n\n**Findings:**\n- 120 units\n\n**Limits**: One year only.",
        "### Limits\r\nOne year only.\r\n### Summary\r\nNorth wins.\r\n### Findings\r\n- 120 units",
        "North wins.\n\n## Findings\n- 120 units\n\n## Limits\nOne year only.",
    ],
)
def test_every_way_to_write_a_heading_comes_out_as_ours_in_our_order(written: str) -> None:
    assert not faults(written, SECTIONS)
    assert [line for line in laid_out(written, SECTIONS, ABSENT).splitlines() if line] == [
        line for line in FULL.splitlines() if line
    ]


def test_a_section_without_a_word_is_missing_and_shown_as_such() -> None:
    report = "## Summary\n\nNorth wins.\n\n## Limits\n\n"
    assert faults(report, SECTIONS) == Faults(missing=("Findings", "Limits"))
    assert laid_out(report, SECTIONS, ABSENT) == (
        "## Summary\n\nNorth wins.\n\n## Findings\n\n*Not answered.*\n\n## Limits\n\n*Not answered.*"
    )


def test_prose_alone_is_the_first_section() -> None:
    assert faults("North wins.", SECTIONS) == Faults(missing=("Findings", "Limits"))
    assert laid_out("North wins.", SECTIONS, ABSENT).startswith("## Summary\n\nNorth wins.\n\n## Findings\n\n*Not")


def test_an_invented_heading_keeps_its_words_inside_the_section_above() -> None:
    report = FULL.replace("## Limits", "## Outlook\n\nMore of it.\n\n### Soon\n\nYes.\n\n## Limits")
    assert faults(report, SECTIONS) == Faults(invented=("Outlook",))
    shown = laid_out(report, SECTIONS, ABSENT)
    assert "- 120 units\n\n### Outlook\n\nMore of it.\n\n### Soon\n\nYes.\n\n## Limits" in shown
    assert [line for line in shown.splitlines() if line.startswith("## ")] == [f"## {name}" for name in SECTIONS]


def test_a_smaller_heading_inside_a_section_is_no_fault() -> None:
    assert not faults(FULL.replace("- 120 units", "### By month\n\n- 120 units"), SECTIONS)


@pytest.mark.parametrize(
    "inside", ["```\n## Limits\n**Limits**\n```", "> ## Limits", "- ## Limits", "**Limits** are few."]
)
def test_what_only_looks_like_a_heading_is_none(inside: str) -> None:
    report = f"## Summary\n\nNorth wins.\n\n## Findings\n\n{inside}"
    assert faults(report, SECTIONS) == Faults(missing=("Limits",))
    assert inside in laid_out(report, SECTIONS, ABSENT)


def test_a_fence_that_is_not_closed_swallows_no_heading() -> None:
    shown = laid_out("North wins.\n\n```python\nprint(1)", SECTIONS, ABSENT)
    assert "print(1)\n```\n\n## Findings\n\n*Not answered.*" in shown


def test_a_section_that_comes_twice_is_one() -> None:
    assert laid_out(f"{FULL}\n\n## Findings\n\n- 4 shops", SECTIONS, ABSENT).count("## Findings") == 1
    assert "- 120 units\n\n- 4 shops" in laid_out(f"{FULL}\n\n## Findings\n\n- 4 shops", SECTIONS, ABSENT)


@given(st.lists(st.sampled_from(
    ["## Summary", "# Limits", "Findings\n---", "## Other", "#### Small", "**Findings:** w8", "w1", "- w2", "> w3",
     "```\n## w4\n```", "~~~\nw4", "| a |\n| - |\n| w5 |", "w6\nw7", ""]
), max_size=12))  # fmt: skip
def test_no_word_is_lost_and_the_headings_are_the_teams(pieces: list[str]) -> None:
    report = "\n\n".join(pieces)
    shown = laid_out(report, SECTIONS, ABSENT)
    for word in ("w1", "w2", "w3", "w4", "w5", "w6", "w7", "w8", "Other", "Small"):
        assert shown.count(word) == report.count(word)
    missing = faults(report, SECTIONS).missing
    assert shown.count(ABSENT) == len(missing)
    assert not faults(shown, SECTIONS)
    assert laid_out(shown, SECTIONS, ABSENT) == shown


def test_talk_and_an_answer_that_says_it_is_none_keep_their_form() -> None:
    assert not applies(turn(asked(), sections=SECTIONS), "You are welcome.", partial=False)
    assert applies(turn(asked(), sections=SECTIONS), "## Findings\n\n120 units, as said.", partial=False)
    assert applies(turn(asked(), cell(), sections=SECTIONS), "120 units.", partial=False)
    assert not applies(turn(asked(), cell(), sections=SECTIONS), "I have no data.", partial=True)
    assert not applies(turn(asked(), cell()), "120 units.", partial=False)


@pytest.mark.parametrize("filler", [" ", ": ", "\u00a0"])
def test_a_line_in_bold_of_blanks_is_read_in_one_go(filler: str) -> None:
    """A pattern that begins anew at each character would go on past the suite's limit for a test."""
    assert not faults(f"**{SECTIONS[0]}{filler * 20_000}x", SECTIONS).invented
