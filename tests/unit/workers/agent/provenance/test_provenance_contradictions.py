"""Figures of a report that contradict others of it, and the many that seem to and do not."""

from __future__ import annotations

from pathlib import Path

import measure
import pytest
import yaml
from generator import cases

from workers.agent.provenance import contradictions
from workers.agent.provenance.formulas.tokens import find_tokens

BY_REGION = (
    "| region | orders | revenue EUR | share |\n|---|---:|---:|---:|\n| North | 120 | 2,410 | 48.5 % |\n"
    "| South | 100 | 1,905 | 38.3 % |\n| West | 30 | 657 | 13.2 % |\n"
)
BY_YEAR = (
    "| region | 2023 | 2024 | change |\n|---|---:|---:|---:|\n| North | 120 | 150 | +25.0 % |\n"
    "| South | 100 | 110 | +10.0 % |\n| West | 30 | 36 | +20.0 % |\n"
)


def found(report: str) -> list[tuple[str, str]]:
    """The figures that contradict others, each with what these give."""
    return [(one.figure, one.gives) for one in contradictions(report)]


@pytest.mark.parametrize("figure", ["4,792", "5,972", "4,912"])
def test_a_total_is_told_when_its_rows_give_another_one_and_the_columns_beside_it_add_up(figure: str) -> None:
    assert found(f"{BY_REGION}| Total | 250 | {figure} | 100 % |\n") == [(figure, "4,972")]
    assert found(f"{BY_REGION}| **Total** | **250** | **4,972** | **100 %** |\n") == []


def test_a_total_that_one_wrong_digit_parts_from_its_rows_is_told_where_the_table_has_one_column() -> None:
    table = "| Region | Umsatz |\n|---|---:|\n| Nord | 1.850 € |\n| Süd | 1.150 € |\n| West | 700 € |\n"
    assert found(f"{table}| **Gesamt** | **3.900 €** |\n") == [("3.900 €", "3,700 €")]
    assert found(f"{table}| Gesamt | 3.700 € |\n") == []
    assert found(f"Die drei größten Regionen:\n\n{table}| Gesamt | 3.900 € |\n") == []
    assert found(f"{table}| Gesamt | 4.655 € |\n") == []  # rows may be left out


def test_shares_with_a_row_of_others_make_a_whole() -> None:
    table = "| plan | share |\n|---|---:|\n| Base | 40 % |\n| Pro | 30 % |\n| Others | {} % |\n| Total | 100 % |\n"
    assert found(table.format(23)) == [("100 %", "93 %")]
    assert found(table.format(29)) == []  # rounded
    assert found(table.replace("Others", "Mini").format(23)) == []  # perhaps more plans


def test_a_total_in_the_sentence_above_a_table_is_told_when_the_shares_are_those_of_its_own_sum() -> None:
    assert found(f"Total revenue is 5,172 EUR in all.\n\n{BY_REGION}") == [("5,172 EUR", "4,972 EUR")]
    assert found(f"Total revenue is 4,972 EUR in all.\n\n{BY_REGION}") == []
    assert found(f"Total revenue is 5,172 EUR without returns.\n\n{BY_REGION}") == []
    of_all = BY_REGION.replace("48.5", "40.0").replace("38.3", "31.7").replace("13.2", "10.9")
    assert found(f"Total revenue is 6,020 EUR in all.\n\n{of_all}") == []  # the table is a part of it


@pytest.mark.parametrize(
    ("row", "wrong"),
    [("+25.0 %", []), ("+20.0 %", [("+20.0 %", "25.0 %")]), ("25 %", []), ("+25.1 %", []), ("+20.0 %*", [])],
)
def test_a_change_is_told_that_contradicts_its_row_where_the_other_rows_show_the_formula(
    row: str, wrong: list[tuple[str, str]]
) -> None:
    assert found(f"{BY_YEAR}| East | 40 | 50 | {row} |\n") == wrong


def test_two_columns_in_the_other_order_explain_no_change() -> None:
    assert (
        found(
            "| plan | 2022 | 2023 | 2024 | change % |\n|---|---:|---:|---:|---:|\n"
            "| Pro | 36,408 | 35,983 | 34,736 | −4.6 |\n| Tempo | 6,648 | 6,580 | 6,409 | −3.6 |\n"
            "| Night | 5,497 | 5,457 | 5,566 | +1.3 |\n| Base | 3,737 | 3,853 | 3,772 | +0.9 |\n"
            "| Green | 3,400 | 3,527 | 3,311 | −2.6 |\n| **All** | 5,295 | 5,370 | 5,361 | +1.2 |\n"
        )
        == []
    )


@pytest.mark.parametrize(
    "sentence",
    [
        "Orders rose from 100 to 120, up 25 %.",
        "Orders rose by 25 % from 100 to 120.",
        "Orders: 100 → 120 (+25 %).",
        "Die Bestellungen stiegen von 100 auf 120, also um 25 %.",
        "Die Bestellungen stiegen um 25 % von 100 auf 120.",
        "Les commandes passent de 100 à 120, soit une hausse de 25 %.",
        "Les commandes ont augmenté de 25 %, de 100 à 120.",
        "Los pedidos subieron de 100 a 120, un aumento del 25 %.",
        "Los pedidos subieron un 25 %, de 100 a 120.",
        "注文は100件から120件に増え、25%増でした。",
        "注文は100から120へ25%増加した。",
        "订单从100增至120，增长25%。",
    ],
)
def test_a_change_in_a_sentence_is_told_when_its_two_levels_give_another(sentence: str) -> None:
    assert [figure.rstrip("%").strip(" +") for figure, _ in found(sentence)] == ["25"]
    assert found(sentence.replace("25", "20")) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "Orders rose from 100 to 120, and 25 % of them were returned.",
        "Order value rose by 6.3 % in 2024, from 217,351 to 231,034 GBP, on 2.6 % more orders (520 against 507).",
        "Revenue fell from 1.2 million EUR to 0.9 million EUR, down 30 %.",
        "Revenue rose from about 1,200 to about 1,500, up 22 %.",
        "The rate rose from 12.0 % to 15.0 %, up 25 %.",
        "The rate rose from 12.0 % to 15.0 %, up 3.0 pp.",
        "Orders grew from 100 to 144, up 20 % per year.",
        "Orders rose from 100 to 120, 25 % above plan.",
        "Der Umsatz stieg von 100 auf 120, bereinigt um 15 %.",
        "Values range from 100 to 120, 25 % of them in May.",
        "From 100 to 120 orders came on Mondays, up 25 % on Sundays.",
    ],
)
def test_a_percentage_of_something_else_beside_two_levels_is_not_told(sentence: str) -> None:
    assert found(sentence) == []


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("| Total | 250 | 1,657 |", "a mean of the rows"),
        ("| Total | 250 | 2,410 |", "a maximum"),
        ("| Total | 231 | 4,972 |", "customers who buy in two regions"),
        ("| Average | 83 | 1,999 |", "no total"),
        ("| Total (all regions) | 400 | 9,000 |", "a total of more than these rows"),
        ("| Total | 400 | 9,000 |", "rows are left out: no column adds up"),
    ],
)
def test_what_does_not_add_up_for_a_reason_is_not_told(row: str, why: str) -> None:
    table = (
        "| region | customers | revenue EUR |\n|---|---:|---:|\n| North | 120 | 2,410 |\n| South | 100 | 1,905 |\n"
        "| West | 30 | 657 |\n"
    )
    assert found(f"{table}{row}\n") == [], why


@pytest.mark.parametrize(
    "heading", ["average order EUR", "Ø Wert EUR", "price EUR", "return rate", "rank", "prix moyen EUR", "単価 EUR"]
)
def test_columns_that_do_not_add_up_by_their_heading_are_not_told(heading: str) -> None:
    table = f"| region | orders | {heading} |\n|---|---:|---:|\n| North | 120 | 20.1 |\n| South | 100 | 19.0 |\n"
    assert found(f"{table}| West | 30 | 22.0 |\n| Total | 250 | 81.1 |\n") == []


def test_rows_within_rows_and_rounded_figures_are_not_told() -> None:
    nested = "| region | orders | value EUR |\n|---|---:|---:|\n| North | 120 | 2,410 |\n| of which new | 40 | 800 |\n"
    assert found(f"{nested}| South | 100 | 1,905 |\n| Total | 220 | 4,315 |\n") == []
    rounded = (
        "| region | n | k EUR |\n|---|---:|---:|\n| North | 12 | 1.4 |\n| South | 10 | 1.4 |\n| West | 3 | 1.4 |\n"
    )
    assert found(f"{rounded}| Total | 25 | 4.3 |\n") == []


SETS = [Path(measure.__file__).with_name(f"held_out{n}.yaml") for n in ("", *(f"_{n}" for n in range(2, 12)))]


@pytest.mark.parametrize("path", [*SETS, measure.SETTLED_ON], ids=lambda path: path.stem)
def test_no_report_of_the_sets_by_hand_contradicts_itself(path: Path) -> None:
    worlds = yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    texts = [text for world in worlds for one in world["reports"] for text in (one["report"], one.get("mended", ""))]
    assert [one for text in texts for one in contradictions(find_tokens(text)[0])] == []


def test_no_generated_report_contradicts_itself() -> None:
    assert [found(one.report) for one in cases(60, 0) if found(one.report)] == []
