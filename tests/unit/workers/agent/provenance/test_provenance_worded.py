"""How reports word rows, ways, units and tokens, as a model behind an endpoint wrote them.

Each true report has a twin with a wrong figure, which is still found.
"""

from __future__ import annotations

import pytest
from provenance_kit import shown, states, traced

from core.steps import ChartData, SeriesData

CHI = """\
Chi2 Retoure x region: chi2=10.46, p=0.0333
Chi2 Retoure x Warengruppe: chi2=24.78, p=0.0001
Chi2 Retoure x Kanal: chi2=0.49, p=0.7843"""
ROWS = """\
ausgewertete Zeilen: 5808 | davon ohne Region: 43

              netto  zeilen
region
Mitte         100.5      43
Nord          300.5      63
ohne Region    16.5      39"""
WEEKS = """\
quarter   revenue  clicks
2025Q1  500062.10  350062
2026Q1  376062.96  180000
8 weeks, all channels: revenue 2025 368,987.43 | revenue 2026 376,062.96 | change % 1.9"""
AGENTS = "agent  median_h    n\nPetra     14.57  497\nLuc        8.44  500\nInes       9.38  510\nDana       8.90  503"
TICKETS = (
    "kept                   3185\nresolved_without_csat   621\nwith_csat              2321\nresolved                661"
)
ORDER_VALUE = "month    mom_pct\n2026-01    11.74\n2026-06    -9.10\nJune AOV against the mean of the period: -11.7 %"
COUNTRIES = "pays  commandes\nAT          453\nDE         1828"
SEXES = """\
### Acuerdo (%)
sexo                 H      M
pregunta
p1_atencion      48.68  51.81
p2_espera        24.89  33.75"""
SHIFT = "→ 全部60周 | 净增收入(美元) 334,989.28 | 占总收入(%) 13.33 | Email花费增加(%) 61.75"
CHANNELS = """\
channel       spend_change_pct  revenue_change_pct
Search                   23.48                5.48
Social                    9.90              -15.62
All channels             18.52                1.92"""
MIXED = "peso suma 966.11 | peso media 1.073\nMadrid 3,41\nGalicia 3,39\nAndalucía 2,77"
MONTHS = "month    net_revenue\n2026-06    353111.15\n2026-11    410109.36"


@pytest.mark.parametrize(
    ("output", "report", "figure", "wrong"),
    [
        (
            CHI,
            "Regionen knapp (Chi² = 10,46), die Warengruppen klar, die zwischen Kanälen nicht (Chi² = 0,49).",
            "0,49",
            "24,78",
        ),
        (ROWS, "„Sued“ heißt Nord, „mitte “ Mitte; 43 Zeilen ohne Region sind getrennt geführt.", "43", "63"),
        (
            WEEKS,
            "8 weeks of 2026Q1 brought 1.9 % more revenue than those of 2025Q1 ($376,062.96 against $368,987.43).",
            "$376,062.96",
            "$376,026.96",
        ),
        (
            AGENTS,
            "Petra's median is 14.57 hours, against 8.44 to 9.38 hours for the three others.",
            "9.38 hours",
            "9.83 hours",
        ),
        (TICKETS, "CSAT is given for 2,321 tickets; 621 resolved tickets have none.", "621", "612"),
        (
            ORDER_VALUE,
            "June had more orders than most, but the lowest value, 11.7 % below the mean.",
            "11.7 %",
            "12.7 %",
        ),
        (COUNTRIES, "Le nombre de commandes va d'environ 450 à 1 828.", "450", "430"),
        (COUNTRIES, "Alemania tiene más de 1.800 pedidos, Austria unos 450.", "450", "510"),
        (SEXES, "| pregunta | H | M |\n|---|---|---|\n| p1_atencion | 48,7 | 51,8 |", "51,8", "33,8"),
        (SHIFT, "净增收入约334,989.28美元，相当于总收入的13.33%。", "13.33%", "13.55%"),
        (CHANNELS, "Spend rose by 18.52 %, most of all in Search (23.48 %).", "18.52 %", "18.25 %"),
        (MIXED, "La columna peso tiene una media de 1,073 y una suma de 966,11.", "1,073", "1,037"),
    ],
    ids=[
        "a plural with an umlaut",
        "a line that says its row",
        "two periods, then both figures in brackets",
        "the others of one that is named",
        "two of three words of a row",
        "down right behind the figure",
        "about, in French",
        "about, in Spanish",
        "a column M",
        "a percent sign in brackets before the figure",
        "all channels are no channel",
        "a line with its own decimal point",
    ],
)
def test_a_true_figure_passes_and_its_twin_is_found(output: str, report: str, figure: str, wrong: str) -> None:
    assert report.count(figure) == 1
    assert states(report, output)[figure] in ("sourced", "derived")
    assert states(report.replace(figure, wrong), output)[wrong] == "unsourced"


def test_a_word_of_the_other_way_right_behind_the_figure_is_still_wrong() -> None:
    assert states("June lies 11.7 % above the mean of the period.", ORDER_VALUE)["11.7 %"] == "unsourced"


@pytest.mark.parametrize("behind", ["57.0 thousand EUR [={}]", "57.0 [={}] thousand EUR"])
def test_a_token_stands_behind_its_figure_or_before_the_unit(behind: str) -> None:
    report = f"It was 410,109.36 EUR in November, still {behind.format('(1:410109.36-1:353111.15)/1000')} above June."
    assert states(report, MONTHS) == {"410,109.36 EUR": "sourced", "57.0 thousand EUR": "derived"}


@pytest.mark.parametrize("written", ["q:0,80", "q:0.80"])
def test_a_token_may_have_a_decimal_comma(written: str) -> None:
    assert states(f"Le taux est de 0,80 [={written}].", MONTHS, question="Et à 0,80 EUR ?")["0,80"] == "given"


@pytest.mark.parametrize(
    ("written", "value"), [("1:1.234,56", 1234.56), ("1:12,5", 12.5), ("1:4,321", 4321.0), ("1:1,234.5", 1234.5)]
)
def test_a_number_of_a_token_is_read_with_either_mark(written: str, value: float) -> None:
    assert states(f"It is {value:,} [={written}].", f"x {value}")[f"{value:,}"] == "sourced"


def test_a_token_takes_the_number_that_is_shown_so_before_a_point_that_rounds_to_it() -> None:
    points = (("Q1", 1.53), ("Q2", 2.61))
    chart = ChartData(
        figure="a.png",
        title="ROAS",
        x="quarter",
        y="ROAS",
        series=(SeriesData(kind="line", name="Display", points=points, total_points=2),),
    )
    cell = shown("missing weeks {'Affiliate': 2, 'Display': 3, 'Email': 1}", charts=(chart,))
    assert states("There are 6 missing weeks [=1:1+1:2+1:3], 15 in all.", cell)["6"] == "derived"


def test_another_measure_of_a_row_says_nothing_against_a_series_of_a_chart() -> None:
    points = (("Search", 23.48), ("Social", 9.9))
    names = ("spend", "clicks")
    series = tuple(SeriesData(kind="bar", name=name, points=points, total_points=2) for name in names)
    chart = ChartData(figure="a.png", title="Change", x="channel", y="change %", series=series)
    cell = shown("channel  change %\nSearch       5.48\nSocial     -15.62", charts=(chart,))
    report = "- Search: spend +23.48 % for revenue +5.48 %."
    assert traced(report, cell).unsourced == ()


PEOPLE = "comunidad    n\nCataluña   207\nGalicia    190\nMadrid     218"
SHARES = """\
### Acuerdo (%)
| Pregunta | Cataluña | Galicia | Madrid |
|---|---|---|---|
| p2_espera | 36,1 | 39,1 | 19,4 |
| p3_precio | 32,2 | 31,1 | 30,2 |"""
AGES = "edad    nps\n18-29  -12.1\n30-44  -26.7\n45-64  -33.4\n65+    -16.0"


@pytest.mark.parametrize(
    ("report", "found"),
    [
        ("p2_espera va del 19,4 % de Madrid al 36,1 % de Galicia.", ["36,1 %"]),
        ("p2_espera va del 19,4 % de Madrid al 39,1 % de Galicia.", []),
        (
            "| Región | p2_espera | p3_precio |\n|---|---|---|\n| Galicia | 39,1 | 31,1 |\n| Madrid | 19,4 | 31,1 |",
            ["31,1"],
        ),
        ("Madrid va último; en p2_espera gana otra con 39,1 %.", []),
        ("Galicia lleva 39,1 % contra 19,4 % en Madrid.", []),
    ],
    ids=["another column", "its own", "as rows of a table", "a name of the clause before", "against another"],
)
def test_columns_of_things_that_are_rows_elsewhere_are_told_apart(report: str, found: list[str]) -> None:
    assert [one.text for one in traced(report, PEOPLE, SHARES).unsourced] == found


def test_a_row_with_the_name_of_a_column_is_that_column() -> None:
    turned = "             web     app\nnet     467786.26  385781.90\norders        570        490"
    report = "| channel | net | orders |\n|---|---|---|\n| web | 467,786.26 | {} |\n| app | 385,781.90 | 490 |"
    assert traced(report.format(570), turned).unsourced == ()
    assert [one.text for one in traced(report.format(490), turned).unsourced] == ["490"]


def test_columns_of_measures_are_not() -> None:
    table = "region  net  gross\nNord     55     61\nWest     20     33"
    assert traced("Net of Nord was 55 of a gross 61, West's gross 33.", table).unsourced == ()


def test_bands_of_numbers_are_rows() -> None:
    assert states("Bei den 45-64-Jährigen ist der NPS -33,4.", AGES)["-33,4"] == "sourced"
    assert states("Bei den 45-64-Jährigen ist der NPS -26,7.", AGES)["-26,7"] == "unsourced"
    assert states("In der Gruppe 65+ ist er -16,0.", AGES) == {"65": "left", "-16,0": "sourced"}


def test_days_and_percentiles_are_no_bands() -> None:
    days = "day    median\n05-30    41.0\n05-31    42.5\n06-01    24.0"
    assert traced("It was between 24.0 and 42.5 from 05-30 to 06-01.", days).unsourced == ()


def test_a_line_below_a_table_of_pipes_is_a_line() -> None:
    line = "customers with one order 159 | share of buyers 11.7 % | net 46798.85"
    output = f"| customer | orders |\n|---|---|\n| K1 | 9 |\n{line}"
    assert traced("159 customers bought once, 11.7 % of the buyers.", output).unsourced == ()


def test_a_second_name_in_a_row_is_that_of_the_figures_behind_it() -> None:
    row = "| | mejor | valor | peor | valor |\n|---|---|---|---|---|\n| n | Madrid | {} | Galicia | {} |"
    assert traced(row.format(218, 190), PEOPLE).unsourced == ()
    assert [one.text for one in traced(row.format(218, 207), PEOPLE).unsourced] == ["207"]


def test_a_total_of_an_earlier_question_is_not_computed_anew_by_a_part() -> None:
    earlier = (shown("EUR total: orders 4661 | net 1580089.49"),)
    now = "customers with one order 159 | their net 46798.85 EUR"
    assert traced("They hold 46,798.85 EUR of 1,580,089.49 EUR.", now, earlier=earlier).unsourced == ()
