"""Figures find their row: beside totals, missing values, other units, codes, brackets and the other one of two."""

from __future__ import annotations

from typing import Any

import pytest
from provenance_kit import first, shown, states, traced

from workers.agent.provenance.claims.reading import read_report
from workers.agent.provenance.outputs import printed

TABLE = "department  staff  rate\nSales          40  0.274\nSupport        26  0.265\nFinance        14  0.066\n"
COHORTS = (
    "         size   M0     M1     M2\n2025-01   412  1.0  0.640  0.419\n2025-02   388  1.0  0.646    NaN\n"
    "2025-03   455  1.0    NaN    NaN\n"
)
ENERGY = "site    kwh\nAix   4550170\nBonn  4238885\n"
SENSORS = (
    "CR-04: 0 readings above 8.0 degrees, 0.00 h\nCR-05: 190 readings above 8.0 degrees, 47.50 h\n"
    "CR-06: 12 readings above 8.0 degrees, 3.00 h\n"
)


@pytest.mark.parametrize("total", ["Total", "All", "Gesamt", "Summe", "overall"])
def test_a_row_with_the_total_does_not_let_values_of_other_rows_pass(total: str) -> None:
    out = f"{TABLE}{total:<14}80  0.235\n"
    assert states("The rate in Support is 26.5 %.", out)["26.5 %"] == "sourced"
    assert states("The rate in Finance is 26.5 %.", out)["26.5 %"] == "unsourced"
    assert states("The rate in Finance is 6.6 %, that of all 23.5 %.", out)["23.5 %"] == "sourced"


def test_a_column_with_missing_values_is_a_column_of_numbers() -> None:
    found = states("Of January 41.9 % are left after two months, of February 64.6 % after one.", COHORTS)
    assert set(found.values()) == {"sourced"}
    assert states("Of February 64.0 % are left after one month.", COHORTS)["64.0 %"] == "unsourced"


@pytest.mark.parametrize("figure", ["4,550,170 kWh", "4,550 MWh", "4.55 GWh"])
def test_energy_is_found_in_any_of_its_units(figure: str) -> None:
    assert first(f"Aix used {figure}.", ENERGY).state == "sourced"
    assert first(f"Bonn used {figure}.", ENERGY).state == "unsourced"


def test_a_figure_in_a_unit_that_gives_another_value_is_not_found() -> None:
    assert first("Aix used 4.55 MWh.", ENERGY).state == "unsourced"


def test_a_fraction_may_be_told_in_points() -> None:
    out = "difference 0.00492\ninterval 0.00072 0.00912\n"
    found = states("It rose by 0.49 points, interval 0.07 to 0.91 points.", out)
    assert list(found.values()) == ["sourced"] * 3


def test_a_score_in_points_is_no_fraction() -> None:
    assert first("The score is 42 points.", "score 42\n").state == "sourced"


def test_names_that_differ_in_their_number_alone_are_names() -> None:
    assert states("CR-05 was too warm for 47.5 h.", SENSORS)["47.5 h"] == "sourced"
    assert states("CR-06 was too warm for 47.5 h.", SENSORS)["47.5 h"] == "unsourced"
    assert states("CR-05 was above 8 degrees 190 times.", SENSORS)["190"] == "sourced"


def test_a_part_of_a_name_and_a_verb_are_no_date() -> None:
    assert "04 may" not in states("Limits: sensor CR-04 may hide some, and 12 march on.", SENSORS)


def test_of_two_the_first_figure_is_of_the_one_that_is_not_named() -> None:
    out = "variant  value\nA         2.54\nB         2.77\n"
    assert set(states("Revenue per visitor of B rises from 2.54 to 2.77.", out).values()) == {"sourced"}
    assert states("B brings 2.77 instead of 2.54.", out)["2.54"] == "sourced"
    assert states("B brings 2.54.", out)["2.54"] == "unsourced"


def test_a_bracket_may_tell_of_the_others() -> None:
    report = "Sales has the highest rate, 27.4 %, more than any other department (6.6 % to 26.5 %)."
    assert set(states(report, TABLE).values()) == {"sourced"}


def test_a_saving_is_told_without_its_minus() -> None:
    out = "unit         diff\nLogistics   -46.1\nOffice       -6.5\n"
    assert set(states("Logistics saves 46.1, Office 6.5.", out).values()) == {"sourced"}
    assert set(states("物流节省46.1。", "物流 差值 -46.1\n").values()) == {"sourced"}


def test_a_number_before_a_rows_name_claims_nothing() -> None:
    out = "account            actual\n4100 Production    3253.9\n4500 IT             879.6\n"
    report = "| account | actual |\n|---|---|\n| 4100 Production | 3,253.9 |\n| 4500 IT | 879.6 |\n"
    assert states(report, out) == {"3,253.9": "sourced", "879.6": "sourced"}


def test_a_value_is_not_its_own_difference_with_nothing() -> None:
    out = "CR-04: 0.00 h\nCR-05: 47.50 h\n"
    assert first("CR-05 was too warm for 47.5 minutes.", out).state == "unsourced"


def test_a_comma_of_ascii_parts_chinese_clauses() -> None:
    out = "科室  分钟\n内科  47.0\n儿科  55.0\n"
    assert set(states("内科平均47.0分钟,儿科55.0分钟。", out).values()) == {"sourced"}
    assert states("内科平均55.0分钟,儿科47.0分钟。", out)["55.0分钟"] == "unsourced"


def test_the_first_value_of_a_series_is_no_header_even_if_it_looks_like_a_year() -> None:
    out = "size       1954\nchanged    1310\nquality    1049\nName: count, dtype: int64\n"
    assert states("Size was given 1,954 times, quality 1,049 times.", out) == {"1,954": "sourced", "1,049": "sourced"}


def test_years_above_columns_are_their_names() -> None:
    out = "region  2023  2024\nNorth    120   150\nSouth    100    90\n"
    assert states("North sold 150 in 2024 and 120 in 2023.", out)["150"] == "sourced"
    assert states("North sold 120 in 2024.", out)["120"] == "unsourced"


def test_a_table_below_sentences_of_its_width_is_read() -> None:
    table = "region  sales\nNorth     120\nSouth     100\n"
    said = "Read: 5 rows.\nSkipped none.\n"
    assert states("South sold 100.", said + table) == {"100": "sourced"}
    assert states("North sold 100.", said + table) != {"100": "sourced"}


def test_a_log_of_lines_alike_is_not_tried_as_a_table_from_each_of_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    tried, read = [], printed._table

    def noted(block: Any, *arguments: Any, **more: Any) -> bool:
        tried.append(len(block))
        return read(block, *arguments, **more)

    monkeypatch.setattr(printed, "_table", noted)
    log = "".join(f"step {number:03} took {number * 3 + 1000} ms\n" for number in range(300))
    found = states("Step 299 took 1897 ms.", log)
    assert found["1897 ms"] == "sourced"
    assert len(tried) <= 8


def test_the_edges_of_a_tables_columns_are_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not once for each row: a long output would take minutes to read."""
    looked, find = [], printed._with_whole_headings

    def noted(spans: Any, lines: Any) -> Any:
        looked.append(len(lines))
        return find(spans, lines)

    monkeypatch.setattr(printed, "_with_whole_headings", noted)
    table = "".join(f"shop {number:03}  {number * 3 + 1000}\n" for number in range(50))
    assert states("Shop 049 sold 1147.", f"name      sold\n{table}")["1147"] == "sourced"
    assert looked == [51]


@pytest.mark.parametrize("name", ["(unknown: C012)", "unknown; C012", "Other, small"])
def test_a_row_whose_name_has_a_sign_and_a_blank_is_a_row_of_its_table(name: str) -> None:
    out = (
        f"country\nGermany            771.0\nSpain              471.7\nFrance             410.6\n{name:<19}200.4\n"
        "Name: revenue, dtype: float64\ntotal 1853.7\n"
    )
    assert first("Germany is 41.6 % of the total.", out).state == "derived"
    assert first("Germany brought 471.7.", out).state == "unsourced"


COUNTRIES = "country\nGermany    771.0\nSpain      471.7\nFrance     410.6\nName: revenue, dtype: float64\n"


@pytest.mark.parametrize("title", ["Revenue per country, in k EUR", "Umsatz je Land in T€", "Revenue (k€)"])
def test_the_title_of_a_cell_gives_its_amounts_their_scale(title: str) -> None:
    cell = shown(COUNTRIES, title)
    for told in ("771.0 k EUR", "€771,000", "771 T€", "€0.77 million"):
        assert set(states(f"Germany brought {told}.", cell).values()) == {"sourced"}, told
    assert first("Germany brought €771.", cell).reason == "unit"
    assert first("Without Germany it was €882.", cell).state == "unsourced"
    table = "| country | revenue, k EUR |\n|---|---|\n| Germany | 771.0 |\n"
    assert states(table, cell) == {"771.0": "sourced"}


def test_a_title_without_a_scale_leaves_amounts_as_they_are() -> None:
    assert first("Germany brought €771.", shown(COUNTRIES, "Revenue per country, in EUR")).state == "sourced"
    assert first("Germany brought €771.", shown(COUNTRIES, "Top customers above 5 k EUR")).state == "sourced"


def test_the_header_of_the_next_table_is_no_row_of_the_table_before() -> None:
    out = (
        "m               2026-06   2026-07   2026-08\ncountry                                    \n"
        "France         35079.71  34913.97  10408.70\nGermany        21579.60  22167.60   6071.10\n"
        "                 last_order\n0 2026-08-09 10:10:00+00:00\n"
    )
    report = "In France it fell from 34,914 in July to 10,409 in August (−70 %). Germany made 22,168 in July."
    assert set(states(report, out).values()) <= {"sourced", "derived"}
    assert first("France made 22,168 in July.", out).state == "unsourced"


TICKETS = "[{'customer': 'Ana', 'hours': 3.75, 'id': 3}, {'customer': 'Ana', 'hours': 7.5, 'id': 6}]"


@pytest.mark.parametrize(
    "out",
    [f"13 {TICKETS}\nopen hours 341.25", f"13 {TICKETS}", f"13\n{TICKETS}", "Ana 13 [3, 6, 9, 12]", "13 ['a', 'b']"],
)
def test_the_count_that_a_cell_prints_before_its_first_records_is_a_figure(out: str) -> None:
    assert states("Ana has 13 open tickets.", out)["13"] == "sourced"


def test_the_number_in_the_name_of_a_record_is_no_figure() -> None:
    assert states("There were 47 visits.", "week 47: {'visits': 13}")["47"] == "unsourced"


COUNTED = "     44 East\n    150 North\n      9 West Coast\n    203 total\n"


@pytest.mark.parametrize(("said", "state"), [("North has 150", "sourced"), ("East has 150", "unsourced")])
def test_a_count_before_its_name_belongs_to_that_name(said: str, state: str) -> None:
    found = states(f"{said} orders, of 203 in all.", COUNTED)
    assert (found["150"], found["203"]) == (state, "sourced")


def test_a_count_before_a_code_is_no_number_with_a_blank_for_a_comma() -> None:
    assert states("Code 404 came 50 times.", "     44 200\n     50 404\n")["50"] == "sourced"


STORES = "store   sales\nLyon    93100\nNice    81250\nParis   77400\n"


@pytest.mark.parametrize(
    "words", ["Lyon leads, {} ahead of Nice.", "Lyon liegt {} vor Nice.", "Lyon est {} devant Nice.",
              "Lyon está un {} por delante de Nice.", "Lyon领先Nice {}。"]
)  # fmt: skip
def test_a_row_is_ahead_by_a_percentage_of_the_row_behind(words: str) -> None:
    for figure, state in (("14.6 %", "derived"), ("12.7 %", "unsourced")):
        assert list(states(words.format(figure), STORES).values()) == [state]


@pytest.mark.parametrize("words", ["Nice is {} behind Lyon.", "Nice liegt {} hinter Lyon.", "Nice落后Lyon {}。"])
def test_a_row_is_behind_by_a_percentage_of_the_row_ahead(words: str) -> None:
    for figure, state in (("12.7 %", "derived"), ("14.6 %", "unsourced")):
        assert list(states(words.format(figure), STORES).values()) == [state]


CODED = (
    "   customers  mrr_usd\nUS      1204   182300\nDE       512    71400\n"
    "IT       388    50210\nIN       143    23870\n"
)


@pytest.mark.parametrize(
    ("report", "state"),
    [
        ("The US makes 55.6 % of MRR.", "derived"),
        ("In the US there are 1,204 customers.", "sourced"),
        ("The US has 512 customers.", "unsourced"),
        ("IT reports $50,210.", "sourced"),
        ("IT reports $71,400.", "unsourced"),
        ("IT有388个客户。", "sourced"),
        ("IN有388个客户。", "unsourced"),
        ("It gave us 512 customers in DE.", "sourced"),
        ("WE HAVE 512 CUSTOMERS, IT IS A LOT.", "sourced"),
    ],
)
def test_a_code_in_capitals_names_its_row_and_the_common_word_does_not(report: str, state: str) -> None:
    assert list(states(report, CODED).values()) == [state]


@pytest.mark.parametrize(
    ("of_in", "of_it", "state"), [("23,870", "50,210", "sourced"), ("50,210", "23,870", "unsourced")]
)
def test_a_code_among_figures_and_currencies_names_its_row(of_in: str, of_it: str, state: str) -> None:
    table = "    mrr_eur\nUS   182300\nDE    71400\nIT    50210\nIN    23870\n"
    found = states(f"Customers in DE bring 71,400 EUR, IN {of_in} EUR (EUR 2023), IT {of_it} EUR.", table)
    assert (found[f"{of_in} EUR"], found[f"{of_it} EUR"]) == (state, state)


@pytest.mark.parametrize(
    ("report", "states_of"),
    [
        ("The US makes 56.0 % of MRR.", ["unsourced"]),
        ("The US makes 53.6 % of MRR.", ["unsourced"]),
        ("The US has 53.6 % of the customers and 55.6 % of the MRR.", ["derived", "derived"]),
        ("The US has 55.6 % of the customers.", ["unsourced"]),
        ("US customers bring 55.6 % of all sales.", ["derived"]),
        ("US hat 53,6 % der Kunden.", ["derived"]),
    ],
)
def test_a_share_of_a_named_measure_is_of_no_other(report: str, states_of: list[str]) -> None:
    assert list(states(report, CODED).values()) == states_of


CHANNELS = (
    "channel    clicks  conversions  returns\nSearch       8120          312       41\n"
    "Social      11400          145       12\nEmail        2210           98       25\n"
)


@pytest.mark.parametrize(
    ("report", "state"),
    [
        ("Email converts 4.4 % of its clicks.", "derived"),
        ("Email converts 3.8 % of its clicks.", "unsourced"),
        ("Search brings 167 more conversions than Social.", "derived"),
        ("The top two channels bring 82.3 % of conversions.", "derived"),
        ("Search has a conversion of 312 %.", "unsourced"),
    ],
)
def test_whole_numbers_above_100_that_are_called_conversions_are_counts(report: str, state: str) -> None:
    assert list(states(report, CHANNELS).values()) == [state]


def test_small_numbers_that_are_called_a_conversion_are_percentages() -> None:
    rates = "channel    conversion\nSearch          3.84\nSocial          1.27\nEmail           4.43\n"
    assert states("Email has a conversion of 4.43 %.", rates) == {"4.43 %": "sourced"}


@pytest.mark.parametrize("words", ["Le total de Nice est de {}.", "El total de Nice es de {}."])
def test_est_de_before_a_figure_does_not_make_it_that_of_the_other_row(words: str) -> None:
    two = "store  total\nLyon   34.20\nNice   41.75\n"
    assert states(words.format("41,75"), two) == {"41,75": "sourced"}
    assert states(words.format("34,20"), two) == {"34,20": "unsourced"}


IN_DOLLARS = """\
USD nach region
           netto  anteil_pct  rang
region
Nord    31219.88       27.66     1
Süd     21385.84       18.95     3
West    22480.12       19.92     2"""
GROUPS_IN_DOLLARS = """\
| Warengruppe | Nettoumsatz (USD) | Anteil USD (%) | Rang USD |
|---|---|---|---|
| Küche | 13.106,97 | 11,61 | 3,00 |
| Möbel | 42.626,24 | 37,77 | 1,00 |"""


def test_a_rank_in_a_table_is_that_of_its_own_row_and_not_of_a_row_whose_column_is_called_the_same() -> None:
    report = "| Region | Rang USD |\n|---|---|\n| Süd | 3 |"
    (figure,) = traced(report, IN_DOLLARS, GROUPS_IN_DOLLARS).figures
    assert [place.about for place in figure.places] == ["Süd · rang"]
    assert not figure.unnamed


@pytest.mark.parametrize(("cell", "state"), [("18,95", "sourced"), ("18,59", "unsourced")])
def test_a_share_of_amounts_in_a_currency_is_a_percentage(cell: str, state: str) -> None:
    report = f"| Region | Anteil USD |\n|---|---|\n| Nord | 27,66 |\n| Süd | {cell} |"
    assert states(report, IN_DOLLARS)[cell] == state


def test_a_number_in_a_line_of_its_own_comes_before_the_same_number_of_a_row_that_nobody_names() -> None:
    rows = "            zeilen\ngruppe\nElektronik     119\nGarten          88"
    alone = "Ganzzeilen-Duplikate (2. Vorkommen): 119"
    report = "Von 6.000 Zeilen sind 119 ganz gleich."
    assert traced(report, rows, alone).figures[-1].places[0].cell == 2
    assert not traced(report, rows, alone).figures[-1].unnamed
    assert traced(report, rows).figures[-1].unnamed


@pytest.mark.parametrize(
    "report",
    [
        "HNO stieg von 16 der 59 Termine (2022) auf 26 von 47 (2024).",
        "HNO stieg von 16 der 59 Termine (2022) auf 26 [=1:26] von 47 (2024).",
        "HNO rose from 16 of 59 visits (2022) to 26 of 47 (2024).",
    ],
)
def test_a_bracket_behind_a_part_and_its_whole_names_both(report: str) -> None:
    outputs = (
        "Waits over 21 days:\ndept   2022  2023  2024\nHNO      16    29    26\nUro      48    44    49\n\n"
        "Known waits:\ndept   2022  2023  2024\nHNO      59    57    47\nUro      69    63    64\n"
    )
    assert "unsourced" not in states(report, outputs).values()
    wrong = report.replace("26 [=1:26]", "29").replace("26", "29")
    assert states(wrong, outputs)["29"] == "unsourced"


REFUNDS = (
    "region   refund amount   refund amount gross EUR\nNorth              680                      800\n"
    "South              512                      610\n"
)


def test_a_column_with_more_words_proves_nothing_in_a_column_of_the_report_that_is_called_like_another() -> None:
    def table(heading: str, figure: str) -> str:
        return f"| region | {heading} |\n|---|---:|\n| North | {figure} |\n"

    assert states(table("refund amount", "800"), REFUNDS) == {"800": "unsourced"}
    assert states(table("refund amount", "680"), REFUNDS) == {"680": "sourced"}
    assert states(table("refund amount gross", "800"), REFUNDS) == {"800": "sourced"}
    assert states(table("gross refund amount", "800"), REFUNDS) == {"800": "sourced"}


def test_the_share_of_a_count_proves_a_column_that_is_called_like_the_count() -> None:
    output = "team    closed  within SLA  within SLA, all %\nNorth      126         101              73.7\n"
    output += "South      228         184              76.0\n"
    report = "| team | within SLA % |\n|---|---:|\n| North | 73.7 |\n"
    assert states(report, output) == {"73.7": "sourced"}


STOCK = (
    "warehouse        HAM    NJ  Summe\nKategorie                        \nJackets          212   102    314\n"
    "Packs            454   332    786\nShoes            483   627   1110\nSumme           1149  1061   2210\n"
)


@pytest.mark.parametrize(
    ("report", "figure", "state"),
    [
        ("In NJ liegen 483 Stück Shoes.", "483", "unsourced"),
        ("In NJ liegen 627 Stück Shoes.", "627", "sourced"),
        ("Shoes: 627 in NJ, 483 in HAM.", "483", "sourced"),
        ("Shoes: 483 in NJ, 627 in HAM.", "483", "unsourced"),
        ("HAM and NJ together have 1,110 Shoes.", "1,110", "sourced"),
        ("There are 1,110 Shoes, 627 of them in NJ.", "1,110", "sourced"),
        ("NJ has 1,061 pieces, HAM 1,149.", "1,149", "sourced"),
        ("| Kategorie | HAM | NJ |\n|---|---|---|\n| Shoes | 483 | 627 |\n", "627", "sourced"),
        ("| Kategorie | HAM | NJ |\n|---|---|---|\n| Shoes | 627 | 12,345 |\n", "627", "unsourced"),
    ],
)
def test_the_columns_of_a_pivot_are_told_apart_as_rows_are(report: str, figure: str, state: str) -> None:
    assert states(report, STOCK)[figure] == state


TABLES = (
    "         table  rows                first                 last\n"
    "        orders  3520  2026-07-01 00:03:00  2026-11-30 22:17:00\n"
    "orders_archive  1687  2026-07-01 00:03:00  2026-09-30 23:51:00\n"
)


@pytest.mark.parametrize(("first", "second", "state"), [("1,687", "3,520", "sourced"), ("3,520", "1,687", "unsourced")])
def test_a_sentence_may_begin_with_the_name_of_a_table(first: str, second: str, state: str) -> None:
    report = (
        f"orders_archive has {first} rows and ends on 30 September 2026. "
        f"orders has {second} rows and goes to 30 November 2026. orders_archive is older."
    )
    found = states(report, TABLES)
    assert (found[first], found[second]) == (state, state)


@pytest.mark.parametrize(("before", "state"), [("North was closed.", "sourced"), ("North had approx.", "unsourced")])
def test_a_sentence_may_begin_with_a_number(before: str, state: str) -> None:
    orders = "        orders\nregion        \nNorth     3812\nSouth     2954\nEast      2507\n"
    assert states(f"{before} 2,954 orders are open.", orders)["2,954"] == state


SHARES = (
    "        revenue_eur  share (%)\nNorth          4800       48.0\nSouth          3700       37.0\n"
    "East           1500       15.0\n"
)


@pytest.mark.parametrize(
    "words",
    [
        "{} EUR ({} %) came from customers in North and {} EUR ({} %) from South.",
        "Of this, {} EUR ({} %) with shops in North, {} EUR ({} %) with those in South.",
        "{} EUR ({} %) in North and {} EUR ({} %) in South.",
        "{} EUR ({} %) kamen aus North und {} EUR ({} %) aus South.",
    ],
)
@pytest.mark.parametrize(
    ("figures", "state"),
    [(("4,800", "48.0", "3,700", "37.0"), "sourced"), (("3,700", "37.0", "4,800", "48.0"), "unsourced")],
)
def test_a_name_behind_the_bracket_of_each_figure_is_its_own(words: str, figures: tuple[str, ...], state: str) -> None:
    assert list(states(words.format(*figures), SHARES).values()) == [state] * 4


@pytest.mark.parametrize(
    "report",
    [
        "North tuvo aprox. 4120 pedidos y South aprox. 3050.",
        "North (insges. 4120) und South (insges. 3050) liegen vorn.",
        "North hatte zuzgl. 4120, South durchschn. 3050.",
        "North ha circa. 4120 ordini, South circa. 3050.",
        "North hat abzgl. 4120, South ausschl. 3050.",
        "North hat einschl. 4120, South monatl. 3050.",
    ],
)
def test_an_abbreviation_ends_no_sentence(report: str) -> None:
    assert len({claim.span for claim in read_report(report).claims}) == 1
    found = traced(report, "region  orders\nNorth     4120\nSouth     3050\n")
    assert [one.state for one in found.figures] == ["sourced", "sourced"]
