"""The thread shows what answers; method, cleaning and limits stand behind a button, and nothing is lost."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.phrases import say
from core.slack.folding import folded
from core.values import Language

ANSWER = "**42 units.**\n\n## Findings\n\n- North: 42\n"


@pytest.mark.parametrize(
    "heading",
    [
        "Method",
        "How I computed it",
        "Limits and caveats",
        "Data cleaning",
        "Vorgehen",
        "Limitaciones",
        "分析方法",
        "制約と注意点",
        "限界",
        "データの限界",
        "3. Method: weighted means",
        "Methodology & assumptions",
        "Known limitations of the data",
        "Grenzen der Analyse",
        "Limites de l'analyse",
    ],
)
def test_how_it_was_done_is_folded(heading: str) -> None:
    fold = f"## {heading}\n\n- a line\n\n### Details\n\nmore\n"
    assert folded(f"{ANSWER}\n{fold}## Next steps\n\nAsk again\n") == (
        f"{ANSWER}\n## Next steps\n\nAsk again\n",
        fold,
    )


@pytest.mark.parametrize(
    "heading",
    [
        "Findings",
        "Unlimited plans",
        "Methodist churches",
        "结论",
        "Revenue by payment method",
        "Results: revenue by payment method",
        "Customers above their credit limits",
        "Shipping methods",
        "Data cleaning costs",
        "How I would price it",
        "Findings and limitations",
        "Umsatz nach Methode",
        "Ventas por método de pago",
        "按支付方法统计",
    ],
)
def test_what_answers_is_shown(heading: str) -> None:
    report = f"{ANSWER}\n## {heading}\n\nx\n"
    assert folded(report) == (report, "")


def test_a_report_that_is_only_its_method_is_shown_whole() -> None:
    report = "## Method\n\nIt was counted: 42.\n"
    assert folded(report) == (report, "")


def test_a_fixed_layout_is_shown_whole() -> None:
    report = f"## Summary\n\n{ANSWER}\n## Method\n\nA sum.\n"
    assert folded(report, ("Summary", "Method")) == (report, "")


def test_a_heading_in_code_or_a_quotation_folds_nothing() -> None:
    report = f"{ANSWER}\n```\n## Method\n```\n\n> ## Limits\n> x\n"
    assert folded(report) == (report, "")


@given(st.lists(st.sampled_from(["## Method\n", "# A\n", "text\n", "\n", "- x\n", "```\n", "### Limits\n", "| a |\n"])))
def test_both_parts_together_are_the_report(lines: list[str]) -> None:
    shown, hidden = folded("".join(lines))
    assert sorted((shown + hidden).splitlines()) == sorted("".join(lines).splitlines())


@pytest.mark.parametrize("mark", ["\f", "\v", "\x85", "\u2028"])
def test_signs_that_end_no_line_of_markdown_fold_nothing_of_the_answer(mark: str) -> None:
    answer, fold = ANSWER.replace("North", mark.join("North")), "## Method\n\nI summed.\n"
    assert folded(f"{answer}\n{fold}") == (f"{answer}\n", fold)


@pytest.mark.parametrize("language", get_args(Language))
def test_our_notes_below_a_report_are_not_folded_with_its_limits(language: Language) -> None:
    table, limits = "| a | b |\n| --- | --- |\n| x | 40.7 ⚠ |\n", "## Limits\n\n_Few_ rows.\n"
    notes = [f"_{say('unsourced_in_tables', language)}_", say("report_unchecked", language, reason="x")]
    shown, hidden = folded("\n".join([table, limits, *(f"{note}\n" for note in notes)]))
    assert all(note in shown for note in notes)
    assert hidden.strip() == limits.strip()
