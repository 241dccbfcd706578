"""Where a figure comes from: value, unit, sign, row and step, one rule each."""

# ruff: noqa: E501 - outputs and reports stand as they are printed
from __future__ import annotations

import pytest
from provenance_kit import first, shown, states, traced

from core.steps import (
    Briefed,
    ChartData,
    ColumnNote,
    DataCheck,
    FileAbstract,
    SeriesData,
    StatementRan,
    TableData,
    TableNote,
)
from tests.work import growth, instructions_in
from workers.agent.provenance.claims.reading import read_report
from workers.agent.provenance.language.numerals import Day, marks_of, scan

REGIONS = "          revenue  orders\nregion                   \nNorth   482310.40    3812\nSouth   371942.15    2954\nEast    298411.90    2507\n"
YEARS = "          2023    2024  pct_change\nLamp     81200   90144        11.0\nDesk     64350   58120        -9.7\n"


# --- how numbers are written


@pytest.mark.parametrize(
    "figure",
    ["1,234,567", "1.234.567", "1 234 567", "12,34,567", "1\u2009234\u2009567", "1,2\u2009Mio.", "1.23 million", "1.2 M", "1,23 Mio.", "123.5万", "1,235k", "about 1,230,000"],
)  # fmt: skip
def test_a_number_is_found_with_the_marks_and_scales_of_several_languages(figure: str) -> None:
    assert first(f"In all {figure} were sold.", "Total: 1234567\n").state == "sourced"


@pytest.mark.parametrize(
    "figure", ["1,243,567", "12,43,567", "1\u2009243\u2009567", "1.32 million", "1.2 bn", "132.5万", "12.3 M"]
)
def test_another_number_is_not(figure: str) -> None:
    assert first(f"In all {figure} were sold.", "Total: 1234567\n").state == "unsourced"


@pytest.mark.parametrize(
    ("figure", "value"),
    [
        ("1.2億円", 120_000_000), ("1億2000万円", 120_000_000), ("1亿2000万元", 120_000_000), ("1.2億", 120_000_000),
        ("12億3456万7890円", 1_234_567_890), ("27.4兆円", 27_400_000_000_000), ("341萬", 3_412_345),
        ("3,4 millones de euros", 3_412_345), ("1,23 mil millones", 1_234_567_890), ("3.412 mil euros", 3_412_345),
        ("27,4 billones", 27_400_000_000_000), ("1,23 milliard", 1_234_567_890), ("1,23 Md€", 1_234_567_890),
        ("2,5 Milliarden", 2_500_000_000), ("1,2 Milliarde", 1_200_000_000), ("27,4 Billionen", 27_400_000_000_000),
        ("$27.4 trillion", 27_400_000_000_000), ("$27.4tn", 27_400_000_000_000),
        ("34.12 lakh", 3_412_345), ("123.46 crore", 1_234_567_890),
    ],
)  # fmt: skip
def test_the_words_for_large_numbers_count_in_each_language_of_a_report(figure: str, value: int) -> None:
    assert first(f"North: {figure}.", f"region  revenue\nNorth   {value}\nSouth   17\n").state == "sourced"


@pytest.mark.parametrize(
    "figure",
    ["341 trillion", "341tn", "341億円", "341億", "341兆円", "341 millones", "341 billones", "341 mil millones",
     "341 milliards d'euros", "341 Md€", "341 Billionen", "341 crore", "341 lakh", "3億41万円"],
)  # fmt: skip
def test_a_number_is_not_that_of_an_output_a_million_times_smaller(figure: str) -> None:
    assert first(f"North: {figure}.", "region  revenue\nNorth   341\nSouth   17\n").state == "unsourced"


@pytest.mark.parametrize(
    ("figure", "output"),
    [("1e-11", "p 1e-12\n"), ("2.6e-9", "p 2.5e-09\n"), ("3e-11", "p 0.0\n"), ("4.4e-10", "a 3.12e-7\nb 3.11e-7\n")],
)
def test_a_tiny_number_is_no_other_tiny_number(figure: str, output: str) -> None:
    assert first(f"Here p = {figure}.", output).state == "unsourced"


@pytest.mark.parametrize(("figure", "output"), [("1e-12", "p 1e-12\n"), ("2.5e-9", "p 2.5137e-09\n")])
def test_a_tiny_number_is_found_and_rounded_as_any_other(figure: str, output: str) -> None:
    assert first(f"Here p = {figure}.", output).state == "sourced"


@pytest.mark.parametrize(
    "figure", ["1.2 × 10⁻⁵", "1.2 × 10^-5", "1.2·10⁻⁵", "1.2 x 10^{-5}", "1.2 × 10^−5", "1,2 × 10⁻⁵"]
)
def test_a_power_of_ten_is_a_part_of_its_number(figure: str) -> None:
    assert states(f"Here p = {figure}.", "p 1.2e-5\n") == {figure: "sourced"}
    assert states(f"Here p = {figure}.", "p 1.2e-4\n") == {figure: "unsourced"}
    assert states(f"Here p = {figure}.", "p 1.2\n") == {figure: "unsourced"}


@pytest.mark.parametrize("formula", [r"$%s$", r"$p = %s$", r"\(%s\)", "%s"])
@pytest.mark.parametrize("figure", [r"1.2\times10^{-5}", r"1.2 \times 10^{-5}", r"1.2 \cdot 10^{-5}"])
def test_a_power_of_ten_in_latex_is_a_part_of_its_number(formula: str, figure: str) -> None:
    report = f"Here p is {formula % figure}."
    assert states(report, "p 1.2e-5\n") == {figure: "sourced"}
    assert states(report, "p 1.2\n") == {figure: "unsourced"}


def test_a_percent_sign_of_latex_is_one_and_a_dollar_beside_a_number_stays_a_currency() -> None:
    assert set(states(r"The share is $12.3\%$.", "share 12.3%\n").values()) == {"sourced"}
    assert set(states(r"The share is $12.3\%$.", "share 14.3%\n").values()) == {"unsourced"}
    assert states("It rose from $25 to $300.", "was_eur 25\nis_usd 300\n") == {"$25": "unsourced", "$300": "sourced"}


@pytest.mark.parametrize(
    ("figure", "read"), [("７０３６．８", "7036.8"), ("－７，０３６．８", "-7,036.8"), ("１２．３％", "12.3％")]
)
def test_a_full_width_number_is_read_like_any_other(figure: str, read: str) -> None:
    output = f"total {read.replace('％', '%')}\n"
    assert states(f"合计 {figure}，下降。", output) == {read: "sourced"}
    assert states(f"合计 {figure}，下降。", "total 9\n") == {read: "unsourced"}


def test_a_power_of_ten_has_a_unit_like_any_number() -> None:
    assert states("The earth has 5.97 × 10²⁴ kg.", "mass_kg 5.97e24\n") == {"5.97 × 10²⁴ kg": "sourced"}
    assert states("A grid of 300 x 10 cells.", "rows 300\ncolumns 10\n") == {"300": "sourced", "10": "sourced"}


def test_the_arithmetic_of_tiny_numbers_shows_them() -> None:
    ratio = first("North is 3.00 times South.", "North 3e-7\nSouth 1e-7\n")
    assert ratio.arithmetic == "3e-07 / 1e-07 = 3"


@pytest.mark.parametrize(
    ("figure", "state"),
    [("12.3 %", "sourced"), ("12.34%", "sourced"), ("12.4 %", "unsourced"), ("0.12 %", "unsourced")],
)
def test_a_fraction_may_be_told_in_percent(figure: str, state: str) -> None:
    assert first(f"Churn is {figure}.", "churn_rate 0.1234\n").state == state


@pytest.mark.parametrize(
    "date",
    ["2024-03-15", "15.03.2024", "March 15, 2024", "15. März 2024", "2024年3月15日", "15 March 2024", "March 2024"],
)
def test_a_date_is_found_in_any_form_and_as_coarse_as_it_is_said(date: str) -> None:
    assert first(f"It peaked on {date}.", "peak: 2024-03-15\n").state == "sourced"
    assert first(f"It peaked on {date}.", "peak: 2024-04-16\n").state == "unsourced"


@pytest.mark.parametrize(
    ("report", "rank", "rows", "state"),
    [
        ("East is the 3rd of 5 regions.", "3rd", 5, "left"),
        ("Osten liegt auf dem 3. Platz von 5.", "3.", 5, "left"),
        ("It was the 400th order.", "400th", 450, "left"),
        ("It was the 400th order.", "400th", 5, "unsourced"),
        ("It was the 12th order.", "12th", 11, "unsourced"),
    ],
)
def test_a_rank_above_ten_needs_a_table_with_as_many_rows(report: str, rank: str, rows: int, state: str) -> None:
    first_lines = "order   amount\n" + "".join(f"A{row:05}   {90_000 - 7 * row}\n" for row in range(min(rows, 20)))
    assert states(report, f"{first_lines}\n[{rows} rows x 2 columns]\n")[rank] == state


@pytest.mark.parametrize(
    ("report", "rank", "state"),
    [
        ("East is the 12th of 11 regions.", "12th", "unsourced"),
        ("East is in 12th place of the 11 regions.", "12th", "unsourced"),
        ("Osten liegt auf dem 12. Platz von 11 Regionen.", "12.", "unsourced"),
        ("East is the 7th out of 5.", "7th", "unsourced"),
        ("East is the 11th of 11 regions.", "11th", "left"),
        ("East is the 12th of 1,200 shops.", "12th", "left"),
        ("It was the 12th order of 5 lamps.", "12th", "left"),
        ("It was the 12th of 5 kg and more.", "12th", "left"),
    ],
)
def test_a_rank_beyond_the_count_that_it_is_of_is_a_contradiction(report: str, rank: str, state: str) -> None:
    assert states(report, "[12 rows x 2 columns]\n")[rank] == state


def test_a_rank_that_an_output_names_needs_no_table() -> None:
    assert states("It was the 400th order.", "rank of the first refund: 400\n") == {"400th": "left"}


def test_a_figure_may_be_rounded_to_fewer_digits_and_not_to_more() -> None:
    assert first("It is 2.35.", "mean 2.3456\n").state == "sourced"
    assert first("It is 2.3456.", "mean 2.35\n").state == "unsourced"
    assert first("It is 2.34.", "mean 2.3456\n").state == "unsourced"


@pytest.mark.parametrize("shown", ["3.035", "2400.5", "0.125"])
def test_a_half_may_be_rounded_either_way_and_what_is_over_a_half_only_up(shown: str) -> None:
    down, up = {"3.035": ("3.03", "3.04"), "2400.5": ("2,400", "2,401"), "0.125": ("0.12", "0.13")}[shown]
    assert first(f"It is {down}.", f"mean {shown}\n").state == "sourced"
    assert first(f"It is {up}.", f"mean {shown}\n").state == "sourced"
    assert first(f"It is {down}.", f"mean {shown}1\n").state == "unsourced"
    assert first(f"It is {up}.", f"mean {shown[:-1]}49\n").state == "unsourced"


# --- what is no claim


@pytest.mark.parametrize(
    "report",
    [
        "1. North\n2. South\n15. East", "# 12 findings of 2031", "```\n4711\n```", "`df[4711]`", "See sales_4711.csv and [x](http://a/4711).",
        "Top 50 and step 14 of figure 31.", "A 95 % confidence interval, p < 0.05, the 1.5 × IQR rule.", "A-4711 and Q4 and COVID-19",
        "The 5 regions and 12 months.", "Python 3.11 ran.", "Im 95-%-Bereich.", "The 95 % range.", "L'intervalle à 95 %.",
        "Mit 95 % Sicherheit.", "El intervalo al 95 %.",
        "Between the 2.5 % and the 97.5 % quantile.", "Das 97,5-%-Quantil.", "Le quantile à 97,5 %.",
        "Aus den Perzentilen 2,5 % und 97,5 %.",
    ],
)  # fmt: skip
def test_what_says_nothing_is_left_alone(report: str) -> None:
    assert not traced(report, REGIONS).unsourced


@pytest.mark.parametrize(
    ("report", "state"),
    [
        ("## North made 4,321\n\nMore below.", {"4,321": "sourced"}),
        ("## North made 9,876\n\nMore below.", {"9,876": "unsourced"}),
        ("# Revenue fell by 45 %\n\nMore below.", {"45 %": "unsourced"}),
        ("## 2.1 Findings\n\nMore below.", {}),
        ("## 13. Findings of Q3 2031\n\nMore below.", {}),
        ("## The last 30 days\n\nMore below.", {}),
    ],
)
def test_a_figure_in_a_heading_is_traced_and_its_number_and_period_are_not(report: str, state: dict[str, str]) -> None:
    assert states(report, "region  revenue\nNorth   4321\nSouth   1234\n") == state


@pytest.mark.parametrize(
    ("report", "state"),
    [
        ("North made `4,321` and South `€1,234`.", {"4,321": "sourced", "€1,234": "sourced"}),
        ("North made `9,876`, a fall of `45 %`.", {"9,876": "unsourced", "45 %": "unsourced"}),
        ("```\nRegion  Revenue\nNorth     4,321\nSouth     9,876\n```\n", {"4,321": "sourced", "9,876": "unsourced"}),
        ("```text\nNorth     9,876\n```\n", {"9,876": "unsourced"}),
        ("Rows with `amount > 9876`, `sales_9876` and `v9.876.1` are left out.", {}),
        ("```sql\nselect 9876\n```\n\n```\nlimit = 9876\n```\n", {}),
    ],
)
def test_a_figure_between_the_marks_of_code_is_traced_and_code_is_not(report: str, state: dict[str, str]) -> None:
    assert states(report, "region  revenue\nNorth   4321\nSouth   1234\n") == state


@pytest.mark.parametrize("filler", ["`", "`` ", "```\n", "a  ", ".", "-.", "a.", "| a |\n| " + " " * 50_000])
def test_a_report_of_one_thing_is_read_in_one_go(filler: str) -> None:
    """A pattern that begins anew at each character would go on past the suite's limit for a test."""
    assert not traced("`a" + filler * (60_000 // len(filler)), REGIONS).figures


def test_the_dash_of_a_list_is_no_minus() -> None:
    assert first("- 529 rows were dropped", "dropped: 529\n").state == "sourced"


# --- where it may come from


GERMAN = "Der Umsatz ist {} und damit der höchste; die Zahl ist aus der Tabelle, und sie ist für das Jahr."


@pytest.mark.parametrize(
    "code",
    [
        'print(f"{total:,.0f}".replace(",", "."))',
        'print(f"{total:,.2f}".replace(",", "X").replace(".", ",").replace("X", "."))',
        'print("{:,}".format(total).replace(",", "."))',
        'print(format(total, ",").replace(",", "."))',
        'print(f"{total:,}".translate(str.maketrans(",.", ".,")))',
        'locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")\nprint(f"{total:n}")',
    ],
)
def test_a_point_before_three_digits_stands_between_thousands_where_the_code_writes_so(code: str) -> None:
    cell = shown("4.812\n", code=code)
    assert first(GERMAN.format("4.812"), cell).state == "sourced"
    assert first("Revenue is 4,812 in all.", cell).state == "sourced"
    assert first("Revenue is 4.81 in all.", cell).state == "unsourced"


@pytest.mark.parametrize(
    "code",
    [
        "print(ratio)",
        'df["x"] = df["x"].str.replace(",", ".").astype(float)\nprint(df["x"].max())',
        'print(f"{ratio:.3f}")',
    ],
)
def test_it_stands_before_decimals_where_the_code_does_not(code: str) -> None:
    cell = shown("4.812\n", code=code)
    assert first(GERMAN.format("4,812"), cell).state == "sourced"
    assert first("The ratio is 4.81 in all.", cell).state == "sourced"
    assert first(GERMAN.format("4.812"), cell).state == "unsourced"
    assert states("The ratio is 4,812, and not 0.25.", cell)["4,812"] == "unsourced"


def test_numbers_of_the_question_are_given() -> None:
    assert first("None is above 4,711.", "0 rows\n", question="Which are above 4711?").state == "given"


def test_what_the_file_says_of_itself_is_given() -> None:
    note = TableNote(name="t", rows=412, columns=(ColumnNote(name="a", dtype="object", unique=37, missing=0.25),))
    file = FileAbstract(path="a.csv", format="csv", size=1, sha256="0" * 64, tables=(note,))
    found = traced("It has 412 rows, 37 values of a, 25.0 % missing.", Briefed(files=(file,)))
    assert [one.state for one in found.figures] == ["given"] * 3


def test_a_threshold_in_the_code_is_given_and_data_in_the_code_is_not() -> None:
    code = "big = df[df.x > 1500]\ntotals = {'North': 4321}"
    found = states("Orders above 1,500: North 4,321.", shown("ok", code=code))
    assert found == {"1,500": "given", "4,321": "unsourced"}


def test_tables_charts_and_statements_are_outputs_too() -> None:
    table = TableData(
        columns=("r", "v"), dtypes=("object", "float64"), rows=(("a", 17.25),), total_rows=4321, total_columns=2
    )
    series = SeriesData(kind="bar", name="s", points=(("a", 33.5),), total_points=1)
    chart = ChartData(figure="f.png", title="t", x="x", y="y", series=(series,))
    ran = StatementRan(source="db", sql="select 1", rows=987)
    found = traced("17.25, 4,321, 33.5, 987", shown("", tables=(table,), charts=(chart,), statements=(ran,)))
    assert [(one.state, one.places[0].what) for one in found.figures] == [
        ("sourced", "table"), ("derived", "count"), ("sourced", "chart"), ("sourced", "statement"),
    ]  # fmt: skip


def test_counts_that_a_hint_told_the_model_are_outputs_too() -> None:
    lost = DataCheck(code="rows_lost", names=("sd", "data"), numbers=(216, 104))
    report = "104 valores de 216 entran en esta parte, el 48.1 % [=1:104/1:216*100]."
    assert set(states(report, shown("nothing here", checks=(lost,))).values()) <= {"sourced", "derived"}
    assert states(report, shown("nothing here"))["104"] == "unsourced"
    glyphs = DataCheck(code="glyphs", numbers=(2, 20154))
    assert states("20154 casos.", shown("nothing here", checks=(glyphs,)))["20154"] == "unsourced"


def test_a_source_names_cell_and_line() -> None:
    place = first("South made 371,942.15.", "nothing here\n", REGIONS).places[0]
    assert (place.cell, place.cell_id, place.line) == (2, "T/c2", 4)
    assert "South" in place.about


def test_without_any_cell_every_figure_is_unsourced() -> None:
    assert states("Churn is 12.3 % of 4,711.") == {"12.3 %": "unsourced", "4,711": "unsourced"}


# --- what it is about


@pytest.mark.parametrize(
    "report",
    [
        "North made 371,942.15.", "| Region | Revenue |\n|---|---|\n| North | 371,942.15 |",
        "South made 371,942.15 and East 482,310.40.", "### North\n\nRevenue was 371,942.15.",
    ],
)  # fmt: skip
def test_the_right_value_of_the_wrong_row_is_found(report: str) -> None:
    wrong = traced(report, REGIONS).unsourced
    assert [one.reason for one in wrong] == ["row"]


def test_the_nearest_candidates_name_the_row_that_the_sentence_is_about() -> None:
    assert any("482310.4" in near and "North" in near for near in first("North made 371,942.15.", REGIONS).near)


def test_a_period_binds_like_a_row() -> None:
    text = "2024-01  500.5\n2024-02  700.5\n2024-03  900.5\n"
    assert states("February 2024 had 700.5.", text)["700.5"] == "sourced"
    assert states("March 2024 had 700.5.", text)["700.5"] == "unsourced"
    assert states("2024年3月为700.5。", text)["700.5"] == "unsourced"


def test_a_column_of_a_year_binds() -> None:
    assert states("Lamp made 90,144 in 2024.", YEARS)["90,144"] == "sourced"
    assert states("Lamp made 81,200 in 2024.", YEARS)["81,200"] == "unsourced"


@pytest.mark.parametrize(
    ("report", "ok"), [("$4,321", False), ("€4,321", True), ("4,321 EUR", True), ("4.321 %", False)]
)
def test_a_unit_that_the_data_names_binds(report: str, ok: bool) -> None:
    text = "region  revenue_eur\nNorth          4321\nSouth          1234\n"
    assert (first(f"North made {report}.", text).state == "sourced") == ok


def test_thousands_in_the_heading_count() -> None:
    text = "region  revenue_k_eur\nNorth            4321\nSouth            1234\n"
    question = "Revenue in k EUR?"
    assert first("North made 4,321 k EUR.", text, question=question).state == "sourced"
    assert first("North made 4.3 million EUR.", text, question=question).state == "sourced"


@pytest.mark.parametrize(
    ("heading", "told"),
    [
        ("Ingresos (millones €)", "3,41"),
        ("CA (milliards €)", "0,0034"),
        ("売上（億円）", "0.0341"),
        ("Sales (lakh)", "34.12"),
    ],
)
def test_the_scale_in_a_heading_of_the_report_counts_in_each_language(heading: str, told: str) -> None:
    report = f"| Region | {heading} |\n|---|---|\n| North | {told} |\n"
    assert first(report, "region  revenue\nNorth   3412345\nSouth   17\n").state == "sourced"


@pytest.mark.parametrize(
    ("report", "ok"),
    [
        ("Desk: −9.7 %", True), ("Desk: +9.7 %", False), ("Desk fell by 9.7 %.", True), ("Desk rose by 9.7 %.", False),
        ("Desk fiel um 9,7 %.", True), ("Desk下降了9.7%。", True), ("Desk增长了9.7%。", False), ("Lamp fell by 11.0 %.", False),
        ("Desk pierde 9,7 %.", True), ("Desk gana 9,7 %.", False), ("Desk subió 9,7 %.", False), ("Desk est en baisse de 9,7 %.", True),
        ("Desk vend 9,7 % de moins.", True), ("Desk est en hausse de 9,7 %.", False), ("Deskは9.7 %低くなった。", True),
        ("Deskは9.7 %少なくなった。", True), ("Deskは前年を9.7 %下回る。", True), ("Deskは前年を9.7 %上回る。", False),
        ("Deskは9.7 %高くなった。", False), ("Desk比去年低9.7%。", True), ("Desk比去年高9.7%。", False),
    ],
)  # fmt: skip
def test_a_sign_and_the_words_of_a_direction_bind(report: str, ok: bool) -> None:
    assert (not traced(report, YEARS).unsourced) == ok


@pytest.mark.parametrize(("verb", "ok"), [("減りました", True), ("増えました", False)])
def test_the_verb_at_the_end_of_a_japanese_list_is_of_all_its_figures(verb: str, ok: bool) -> None:
    changes = "プラン  増減_kWh\nPro        -1672\nTempo       -239\nBase          35\n"
    report = f"増えたのはBase(35 kWh増)だけで、Proは1,672 kWh、Tempoは239 kWh{verb}。"
    assert (not traced(report, changes).unsourced) == ok


@pytest.mark.parametrize("told", ["(4,321.5)", "**(4,321.5)**", "($4,321.5)", "−4,321.5", "(0.12)"])
def test_brackets_around_a_cell_of_a_table_may_be_a_minus(told: str) -> None:
    report = f"| region | result |\n|---|---|\n| South | {told} |\n"
    text = "region   result\nNorth    1234567.89\nSouth    -4321.5\n\nstandard error of South: 0.12\n"
    assert first(report, text).state == "sourced"


def test_brackets_in_a_sentence_are_no_minus() -> None:
    assert first("South made more (12.7).", "region   result\nNorth    10.5\nSouth    -12.7\n").state == "unsourced"


def test_a_figure_that_this_turn_computed_anew_is_stale() -> None:
    before = (shown("Total revenue: 9876\n"),)
    assert first("Total revenue is 9,876.", "Total revenue: 5432\n", earlier=before).reason == "earlier"
    assert first("Total revenue was 9,876 before.", "Total revenue: 5432\n", earlier=before).state == "sourced"
    assert first("Total revenue is 9,876.", "Customers: 17\n", earlier=before).state == "sourced"


# --- steps


@pytest.mark.parametrize(
    ("report", "how"),
    [
        ("North leads South by 110,368.25.", "difference"), ("All regions together made 1,152,664.45.", "sum"),
        ("North has 41.8 % of revenue.", "share"), ("North made 1.3 times the revenue of South.", "ratio"),
        ("North and South together made 854,252.55.", "sum"),
    ],
)  # fmt: skip
def test_a_figure_may_follow_by_one_step_within_a_table(report: str, how: str) -> None:
    one = first(report, REGIONS)
    assert (one.state, one.how) == ("derived", how)


@pytest.mark.parametrize(
    "report",
    [
        "From 64,350 to 58,120 is −9.7 %.", "58,120 after a fall from 64,350 (−9.7 %)",
        "Von 64.350 auf 58.120 (−9,7 %)", "从64,350降到58,120（−9.7%）",
    ],
)  # fmt: skip
def test_a_change_in_percent_is_measured_from_its_base(report: str) -> None:
    outputs = ("a: 64350\n", "b: 58120\n")
    assert not traced(report, *outputs).unsourced
    assert traced(report.replace("9.7", "10.7").replace("9,7", "10,7"), *outputs).unsourced


def test_a_percentage_beside_a_pair_is_of_that_pair() -> None:
    text = "plan   customers  churned\nBasic       4120      618\nPlus        2315      231\n"
    assert not traced("Plus: 231 of 2,315 (9.98 %)", text).unsourced
    assert [one.text for one in traced("Plus: 231 of 2,315 (27.2 %)", text).unsourced] == ["27.2 %"]


def test_a_step_over_two_sentences_is_not_tried() -> None:
    assert traced("North made 482,310.40.\n\nA gap of 110,368.25 to another.", REGIONS).unsourced


def test_a_total_in_a_table_of_the_report_is_recomputed() -> None:
    report = "| Region | Orders |\n|---|---|\n| North | 3,812 |\n| South | 2,954 |\n| Total | {} |"
    assert not traced(report.format("6,766"), REGIONS).unsourced
    assert [one.text for one in traced(report.format("6,676"), REGIONS).unsourced] == ["6,676"]


# --- anything goes in


@pytest.mark.parametrize(
    "report", ["", "|", "|a|\n|-|", "%%%", "1" * 5_000, "1,1,1,1," * 500, "(" * 3_000, "[=1:2]" * 300, "\u2060⁰٣"]
)
def test_no_report_breaks_it(report: str) -> None:
    traced(report, REGIONS, "{'a': [1, {'b': nan}]}", "[" * 500, "1e999 -1e-999", "|" * 400)


@pytest.mark.parametrize(
    "text", ["np.float64(1.5)", "{'n': inf}", "a\tb\n1\t2", ",,,,\n,,,,", "9" * 400, "2024-99-99 25:61", "\x00\ud800"]
)
def test_no_output_breaks_it(text: str) -> None:
    traced("It is 1.5 and 4,711.", text)


# --- what brackets and words say of a figure

ORDERS = "          amount  quantity\norder_id                  \nSO-1   61984.25       400\nSO-2   15416.10        27\nSO-3   13294.00        46\n"


def test_brackets_right_behind_a_figure_say_what_it_is_of() -> None:
    report = "Furthest out: $61,984 (order SO-1); $15,416 (order SO-2, quantity 27); $13,294 (order SO-3)."
    assert {figure.state for figure in traced(report, ORDERS).figures if "$" in figure.text} == {"sourced"}
    wrong = "Furthest out: $61,984 (order SO-1); $15,416 (order SO-3)."
    assert [figure.state for figure in traced(wrong, ORDERS).figures if "$" in figure.text] == ["sourced", "unsourced"]


def test_a_figure_of_the_next_one_is_not_of_the_one_that_was_named() -> None:
    found = states("SO-1 has quantity 400, while the next largest is 46.", ORDERS)
    assert found == {"400": "sourced", "46": "sourced"}
    assert states("SO-1 has quantity 400, and the largest is 46.", ORDERS)["46"] == "unsourced"


RATES = "plan      customers  churned\nBasic          2140      193\nPlus            860       43\n"


@pytest.mark.parametrize(
    ("report", "flagged"),
    [
        ("Basic churns at 9.0 %, Plus at 5.0 %.", []),
        ("Basic churns at 5.0 %, Plus at 9.0 %.", ["5.0 %", "9.0 %"]),
        ("The churn of Plus rose by 5.0 %.", ["5.0 %"]),
    ],
)
def test_a_rate_of_two_columns_is_that_of_the_row_that_is_named(report: str, flagged: list[str]) -> None:
    assert [one.text for one in traced(report, RATES).unsourced] == flagged


def test_names_of_measures_do_not_exclude_each_other_and_names_of_things_do() -> None:
    fleet = "{'vehicles': 184, 'km': 2912000, 'fuel_l': 262080.0}"
    assert traced("The 184 vehicles drove 2,912,000 km on 262,080 l.", fleet).unsourced == ()
    regions = "{'North': 1840, 'South': 2912}"
    assert [one.text for one in traced("North sold 2,912.", regions).unsourced] == ["2,912"]


def test_a_german_adjective_is_known_as_a_name_in_its_other_forms() -> None:
    wards = "Station     Betten\nInnere          48\nGeriatrie       20\n"
    assert traced("In der Inneren stehen 48 Betten, in der Geriatrie 20.", wards).unsourced == ()
    assert [one.text for one in traced("In der Inneren stehen 20 Betten.", wards).unsourced] == ["20"]


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("Au total 1234,50 € du 04/01/2022 au 20/06/2024", Day(2022, 1, 4)),
        ("In all 1,234.50 from 04/01/2022 to 06/20/2024", Day(2022, 4, 1)),
    ],
)
def test_the_order_of_day_and_month_follows_the_marks_of_the_numbers(text: str, day: Day) -> None:
    dates = [one.day for one in scan(text, marks_of(text)) if one.kind == "date"]
    assert dates == [day, Day(2024, 6, 20)]


# --- what follows from a table as it stands

PLANTS = (
    "          output  scrap  cost_eur\nplant                            \nGraz        4320    216    8640.0\n"
    "Linz        2875     23    7187.5\nWels        1640     41    2460.0\n"
)
FUNNEL = "step       users\nvisit      48200\nbasket      6748\npayment     3374\n"
YEARLY = "            2022     2023\nRevenue   812400   900000\nProfit     81240    99000\n"


@pytest.mark.parametrize(
    "report",
    [
        "There were 8,835 pieces of output and 280 of scrap.",
        "Graz and Linz made 7,195 pieces of output.",
        "In Graz 5.0 % of the output is scrap.",
        "A piece of output costs €2.00 in Graz and €2.50 in Linz.",
        "Graz and Wels are at 5.0 % and 2.5 % of scrap.",
        "Linz made 2,875 pieces; 23 of them (0.8 %) are scrap.",
    ],
)
def test_totals_rates_and_costs_of_a_small_table_are_derived(report: str) -> None:
    assert {each.state for each in traced(report, PLANTS).figures} <= {"sourced", "derived", "left"}


@pytest.mark.parametrize(
    ("report", "figure"),
    [
        ("There were 8,853 pieces of output and 280 of scrap.", "8,853"),
        ("In Graz 5.3 % of the output is scrap.", "5.3 %"),
        ("A piece of output costs €2.40 in Graz.", "€2.40"),
        ("Graz and Wels are at 2.5 % and 5.0 % of scrap.", "2.5 %"),
    ],
)
def test_another_total_rate_or_cost_is_not(report: str, figure: str) -> None:
    assert states(report, PLANTS)[figure] == "unsourced"


def test_a_stage_is_a_share_of_the_one_before_and_of_the_first() -> None:
    report = "6,748 users fill a basket (14.0 %) and 3,374 end with a payment (50.0 %). 41,452 users only visit."
    assert set(states(report, FUNNEL).values()) == {"sourced", "derived"}
    assert states(report.replace("14.0 %", "41.0 %"), FUNNEL)["41.0 %"] == "unsourced"


def test_rows_of_one_year_make_a_rate_and_those_of_two_do_not() -> None:
    assert states("In 2023 profit was 11.0 % of revenue.", YEARLY)["11.0 %"] == "derived"
    assert states("In 2023 profit was 12.2 % of revenue.", YEARLY)["12.2 %"] == "unsourced"


def test_an_m_behind_an_amount_of_money_is_a_million() -> None:
    assert first("Revenue was €4.2 m.", "revenue_eur 4218330.55\n").state == "sourced"
    assert first("The hall is 4.2 m high.", "revenue_eur 4218330.55\n").state == "unsourced"


def test_a_column_called_pct_is_told_as_it_stands() -> None:
    printed = "        pct  visits\nplan\nfree  0.31    12.5\npro   0.74    20.1\n"
    table = "| plan | {} |\n|---|---|\n| free | {} |\n| pro | {} |\n"
    assert set(states(table.format("pct", 0.31, 0.74), printed).values()) == {"sourced"}
    assert set(states(table.format("mean of pct", 0.31, 0.74), printed).values()) == {"sourced"}
    assert set(states(table.format("pct", "31 %", "74 %"), printed).values()) == {"sourced"}
    assert set(states(table.format("pct", "0.31 %", "0.74 %"), printed).values()) == {"unsourced"}
    assert set(states(table.format("share in %", 0.31, 0.74), printed).values()) == {"unsourced"}
    assert "unsourced" in states(table.format("pct", 0.74, 0.31), printed).values()


def test_a_capital_t_behind_an_amount_of_money_is_a_trillion_and_before_its_sign_a_thousand() -> None:
    assert first("The market is worth $3.4T.", "market_usd 3412000000000\n").state == "sourced"
    assert first("The market is worth $3.4T.", "market_usd 3412\n").state == "unsourced"


@pytest.mark.parametrize("said", ["$2.5 B", "2.5 B€", "2.5 B USD", "2.5B"])
def test_a_b_means_billions_beside_money_or_right_behind_the_number(said: str) -> None:
    assert first(f"The market is worth {said}.", "market 2500000000\n").state == "sourced"
    assert first(f"The market is worth {said}.", "market 2.5\n").state == "unsourced"


def test_a_b_behind_a_blank_means_bytes() -> None:
    assert first("Each page takes 512 B.", "page size 512\n").state == "sourced"
    assert first("Der Umsatz liegt bei 512 T€.", "umsatz_eur 512300\n").state == "sourced"


def test_lines_of_different_kinds_are_measures_and_bind_no_row() -> None:
    printed = "spend: 48200.00 EUR\nclicks: 64,200\ncustomers: 241\n"
    report = "The campaign cost €48,200 and brought 241 customers, €200.00 for each customer."
    assert set(states(report, printed).values()) == {"sourced", "derived"}
    assert states(report.replace("€200.00", "€220.00"), printed)["€220.00"] == "unsourced"


def test_the_mark_of_a_key_line_hides_no_figure() -> None:
    printed = "→ North: 482310.40\n→ South: 371942.15\n"
    assert states("North made 482,310, South 371,942.", printed) == {"482,310": "sourced", "371,942": "sourced"}
    assert states("North made 371,942.", printed) == {"371,942": "unsourced"}


def test_a_value_of_another_row_does_not_pass_because_the_samples_of_the_file_hold_it() -> None:
    column = ColumnNote(name="units", dtype="int64", samples=("120", "100", "30"))
    file = FileAbstract(
        path="sales.csv", format="csv", size=1, sha256="0" * 64, tables=(TableNote(name="", columns=(column,), rows=3),)
    )
    output = "region\nnorth    120\nsouth    100\nwest      30\nName: units, dtype: int64"
    steps = (Briefed(files=(file,)), shown(output))
    assert first("South sold 120 units.", *steps).reason == "row"
    assert first("North sold 120 units.", *steps).state == "sourced"


def test_a_sentence_of_thousands_of_figures_is_read_in_pieces() -> None:
    """Each figure is held against the others of its sentence: in one piece this took minutes."""
    reading = read_report("South leads with 100, " * 2_500)
    assert len(reading.claims) == 2_500
    assert max(end - start for start, end in {claim.span for claim in reading.claims}) <= 1_500
    assert all(claim.span[0] <= claim.start < claim.end <= claim.span[1] for claim in reading.claims)


@pytest.mark.parametrize(
    ("words", "shown_value"),
    [("about 1000", "120"), ("about 1000", "1900"), ("nearly 1000", "120"), ("almost 1000", "1400"),
     ("over 2000", "1400"), ("more than 1 million", "120000"), ("less than 1000", "1400"), ("约1000", "120"),
     ("about 77", "76.3"), ("rund 77", "77.6"), ("約77", "76.3"), ("約129.3万", "1292400"), ("about 12.5", "12.6")],
)  # fmt: skip
def test_words_such_as_about_do_not_make_a_round_figure_fit_any_value(words: str, shown_value: str) -> None:
    assert set(states(f"There were {words} orders.", f"orders: {shown_value}").values()) == {"unsourced"}


@pytest.mark.parametrize(
    ("words", "shown_value"),
    [("about 1000", "960"), ("nearly 1000", "980"), ("over 1000", "1900"), ("over 100", "120"), ("under 1000", "120"),
     ("just over 1 million", "1040000"), ("about 1.2 million", "1234567"), ("约1000", "980"), ("knapp 500", "487"),
     ("about 77", "76.6"), ("約77", "77.15"), ("about 75", "74.2"), ("rund 120", "117.3"), ("約129.2万", "1292400")],
)  # fmt: skip
def test_words_such_as_about_let_a_round_figure_stand_for_one_near_it(words: str, shown_value: str) -> None:
    assert set(states(f"There were {words} orders.", f"orders: {shown_value}").values()) == {"sourced"}


# --- what a size costs


@pytest.mark.parametrize(
    "line",
    [
        "1" + " " * 30_000 + "x",
        "a (1" + " " * 30_000 + "x",
        "a: [1" + " ] " * 10_000 + "x",
        "1" * 60_000,
        "1," * 30_000,
    ],
)
def test_a_printed_line_of_one_thing_is_read_in_one_go(line: str) -> None:
    """A pattern that begins anew at each character would go on past the suite's limit for a test."""
    assert states("It is 5 km.", f"{line}\n5 km\n") == {"5 km": "sourced"}


@pytest.mark.parametrize("line", [f"({'1' * 5_000}, 3)", f"[{'1' * 5_000} rows x 2 columns]"])
def test_a_number_that_is_too_long_to_be_a_size_counts_nothing(line: str) -> None:
    assert states("It is 5 km.", f"{line}\n5 km\n") == {"5 km": "sourced"}


@pytest.mark.parametrize("part", ["It grew by 13 %. ", "| a | 13.5 |\n", "\n\n| a | b |\n|---|---|\n| a | 13.5 |\n"])
def test_the_work_for_the_figures_of_a_report_grows_with_their_number(part: str) -> None:
    report = "| a | b |\n|---|---|\n" if part.startswith("|") else ""
    assert growth(lambda size: read_report(report + part * size), 100, instructions_in) < 5


def test_a_sentence_may_end_with_a_decimal_number() -> None:
    out = "country\nGermany            771.0\nSpain              471.7\nFrance             410.6\n(unknown)          200.4\n"
    report = "Germany brought 771.0, Spain 471.7 and France 410.6. Another 200.4 come from customers without a country."
    assert set(states(report, out).values()) == {"sourced"}
