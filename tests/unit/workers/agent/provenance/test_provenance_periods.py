"""Columns and lines whose names hold a period: "orders_2023" beside "orders_2024"."""

from __future__ import annotations

import pytest
from provenance_kit import states, traced

from workers.agent.provenance.language.numerals import Day, scan_days

TABLE = "      orders_2023  orders_2024\nNord         1322         1411\nSued          812          799\n"
LINES = "orders_2023: 1322\norders_2024: 1411\n"
RECORD = '{"revenue_2023": 1198000, "revenue_2024": 1342000, "growth": 0.1202}\n'
QUARTERS = "      sales_q1  sales_q2\nNord       410       540\nSued       120       130\n"
MONTHS = "sales jan: 4821\nsales feb: 5193\n"


@pytest.mark.parametrize(
    ("output", "report"),
    [
        (TABLE, "Nord had 1,411 orders in 2024 and 1,322 in 2023, 89 more."),
        (TABLE, "Nord grew from 1,322 in 2023 to 1,411 in 2024 (+6.7 %), Sued fell from 812 to 799."),
        (TABLE, "Nord grew by 6.7 % from 2023 to 2024."),
        (TABLE, "Im Jahr 2024 hatte Nord 1.411 Bestellungen nach 1.322 im Vorjahr."),
        (TABLE, "2024年Nord有1,411单，2023年1,322单。"),
        (TABLE, "| | 2023 | 2024 |\n|---|---|---|\n| Nord | 1,322 | 1,411 |\n"),
        (TABLE, "In 2024, Nord had 1,411 orders against 1,322 in 2023."),
        (TABLE, "In 2024, Nord had 1,411 orders compared with 1,322 in 2023."),
        (TABLE, "En 2024, Nord compte 1 411 commandes contre 1 322 en 2023."),
        (TABLE, "En 2024, Nord tuvo 1.411 pedidos frente a 1.322 en 2023."),
        (LINES, "2024 had 89 more orders than 2023."),
        (RECORD, "2024 revenue was 1,342,000, up 12.0 % from 1,198,000 in 2023."),
        (QUARTERS, "In Q2 Nord sold 540, after 410 in Q1."),
        (MONTHS, "January brought 4,821 and February 5,193."),
    ],
)
def test_a_period_in_a_name_is_known(output: str, report: str) -> None:
    assert "unsourced" not in states(report, output).values()


@pytest.mark.parametrize(
    ("output", "report", "figure"),
    [
        (TABLE, "In 2024 Nord had 1,322 orders.", "1,322"),
        (TABLE, "Nord had 1,411 orders in 2023.", "1,411"),
        (TABLE, "In 2024, Nord had 1,322 orders against 1,411 in 2023.", "1,322"),
        (TABLE, "| | 2023 | 2024 |\n|---|---|---|\n| Nord | 1,411 | 1,322 |\n", "1,411"),
        (TABLE, "In 2025 Nord had 1,411 orders.", "2025"),
        (LINES, "In 2024 there were 1,322 orders.", "1,322"),
        (RECORD, "2024 revenue was 1,198,000.", "1,198,000"),
        (QUARTERS, "In Q2 Nord sold 410.", "410"),
        (MONTHS, "January brought 5,193.", "5,193"),
    ],
)
def test_the_value_of_another_period_is_found(output: str, report: str, figure: str) -> None:
    assert states(report, output)[figure] == "unsourced"


def test_names_of_different_measures_bind_no_period() -> None:
    plan = "      actual_2024  plan_2025\nNord         1411       1500\nSued          799        900\n"
    assert "unsourced" not in states("Nord reached 1,411; the plan for 2025 says 1,500.", plan).values()
    assert "unsourced" not in states("For 2025 Nord plans 1,500 after 1,411.", plan).values()


YEARS = "month  2023  2024\nNord   1322  1411\nSued    812   799\n"


@pytest.mark.parametrize("output", [YEARS, TABLE])
@pytest.mark.parametrize(
    "report",
    [
        "Orders of Nord rose to 1,411 compared to 2023.",
        "Compared to 2023, orders of Nord rose to 1,411.",
        "Nord took 1,411 orders, 6.7 % more than in 2023.",
        "Nord took 1,411 orders, 89 more than in 2023 (1,322).",
        "Compared to 2023 (1,322), Nord rose to 1,411.",
        "Compared to 2023, when Nord had 1,322 orders, it rose to 1,411.",
        "Compared to 2023's 1,322 orders, Nord rose to 1,411.",
        "Nord: 1,411 orders (+6.7 % on 2023), Sued: 799 (-1.6 %).",
        "Gegenüber 2023 stieg Nord auf 1.411.",
        "Nord lag mit 1.411 um 6,7 % höher als im Jahr 2023.",
        "Nord a progressé à 1 411, soit 6,7 % de plus qu'en 2023.",
        "Nord ha crecido a 1.411, un 6,7 % más que en 2023.",
        "与2023年相比，Nord增至1,411。",
        "Nordは2023年より6.7%多い1,411件でした。",
    ],
)
def test_a_date_that_is_compared_with_is_not_that_of_the_figure(output: str, report: str) -> None:
    assert "unsourced" not in states(report, output).values()


@pytest.mark.parametrize("output", [YEARS, TABLE])
@pytest.mark.parametrize(
    ("report", "figure"),
    [
        ("Orders of Nord rose to 1,322 compared to 2023.", "1,322"),
        ("Compared to 2023, orders of Nord rose to 1,322.", "1,322"),
        ("Compared to 2023 (1,411), Nord rose to 1,322.", "1,411"),
        ("Gegenüber 2023 stieg Nord auf 1.322.", "1.322"),
        ("In 2024 Nord took 1,322 orders, more than in 2023.", "1,322"),
    ],
)
def test_a_figure_is_not_of_the_date_that_it_is_compared_with(output: str, report: str, figure: str) -> None:
    assert states(report, output)[figure] == "unsourced"


def test_a_figure_behind_instead_of_may_be_of_the_date_before() -> None:
    assert "unsourced" not in states("89 more orders in 2024: 1,411 instead of 1,322.", LINES).values()
    assert states("89 more orders in 2024: 1,322 instead of 1,411.", LINES)["1,322"] == "unsourced"
    older = "orders_2021: 1207\norders_2022: 1298\n" + LINES
    assert states("89 more orders in 2024: 1,411 instead of 1,207.", older)["1,207"] == "unsourced"


THREE_YEARS = "region  2022  2023  2024\nEMEA    1210  1388  1502\nAMER    2310  2288  2410\n"


@pytest.mark.parametrize(
    ("report", "right", "wrong"),
    [
        ("AMER bajó de 2.310 en 2022 a {} en 2023 y subió a 2.410 en 2024.", "2.288", "2.410"),
        ("AMER est tombé de 2 310 en 2022 à {} en 2023 et a atteint 2 410 en 2024.", "2 288", "2 410"),
    ],
)
def test_y_and_et_part_the_dates_of_a_sentence(report: str, right: str, wrong: str) -> None:
    assert traced(report.format(right), THREE_YEARS).unsourced == ()
    assert [one.text for one in traced(report.format(wrong), THREE_YEARS).unsourced] == [wrong]


WEEKS = (
    "        week  tickets\n0 2024-04-01      132\n1 2024-04-08      141\n2 2024-04-15      188\n"
    "3 2024-04-22      156\n"
)


@pytest.mark.parametrize(
    "report",
    [
        "Tickets peaked in the week of 15 April with 188, a third more than the week before (141).",
        "In the week of 15 April there were 188 tickets, after 141 the week before.",
        "Die Woche vom 15. April hatte 188 Tickets, die Vorwoche 141.",
        "La semaine du 15 avril compte 188 tickets, la semaine précédente 141.",
    ],
)
def test_the_figure_of_the_period_before_a_named_one_is_known(report: str) -> None:
    assert "unsourced" not in states(report, WEEKS).values()


@pytest.mark.parametrize("figure", ["132", "156", "188"])
def test_another_figure_is_not_of_the_period_before(figure: str) -> None:
    report = f"Tickets peaked in the week of 15 April, well above the week before ({figure})."
    assert states(report, WEEKS)[figure] == "unsourced"


REVENUE = "month\n2024-01    10250.5\n2024-02    11980.0\n2024-03     9875.25\nName: revenue, dtype: float64\n"
BY_QUARTER = "quarter\n2024Q1    410\n2024Q2    540\nName: sales, dtype: int64\n"


@pytest.mark.parametrize(
    ("report", "output"),
    [
        ("La semaine du 15 avril 2024 compte 188 tickets.", WEEKS),
        ("La semana del 15 de abril de 2024 tuvo 188 tickets.", WEEKS),
        ("En janvier, 10 250,50 ; en février 2024, 11 980.", REVENUE),
        ("En enero, 10.250,50; en febrero de 2024, 11.980.", REVENUE),
        ("Au deuxième trimestre 2024, 540 ventes ; au premier trimestre, 410.", BY_QUARTER),
        ("En el segundo trimestre de 2024 hubo 540 ventas.", BY_QUARTER),
        ("En juin 12 450 commandes.", "orders: 12450\nmonth: 2024-06\n"),
    ],
)
def test_dates_in_french_and_spanish_are_read(report: str, output: str) -> None:
    assert "unsourced" not in states(report, output).values()


@pytest.mark.parametrize(
    ("report", "output", "figure"),
    [
        ("La semaine du 15 avril compte 141 tickets.", WEEKS, "141"),
        ("En enero, 11.980.", REVENUE, "11.980"),
        ("En février, 10 250,50.", REVENUE, "10 250,50"),
        ("En avril 2024, 11 980.", REVENUE, "avril 2024"),
        ("Au premier trimestre 2024, 540 ventes.", BY_QUARTER, "540"),
    ],
)
def test_the_value_of_another_date_is_found_in_french_and_spanish(report: str, output: str, figure: str) -> None:
    assert states(report, output)[figure] == "unsourced"


PANEL = (
    "region  year  rate_pct\nNorth   2022      84.8\nNorth   2023      84.4\nSouth   2022      71.2\n"
    "South   2023      73.5\n"
)
NUMBERED = "   year  rate_pct\n0  2022      84.8\n1  2023      84.4\n"


@pytest.mark.parametrize(
    ("output", "report"),
    [
        (PANEL, "In 2023 the rate of North was 84.4 %."),
        (PANEL, "North fell from 84.8 % in 2022 to 84.4 % in 2023, South rose from 71.2 % to 73.5 %."),
        (PANEL, "In 2023 North reached 84.4 %, after 84.8 % the year before."),
        (PANEL, "North was at 84.8 %."),
        (PANEL, "| | 2022 | 2023 |\n|---|---|---|\n| North | 84.8 % | 84.4 % |\n| South | 71.2 % | 73.5 % |\n"),
        (NUMBERED, "In 2023 the rate was 84.4 %, below the 84.8 % of 2022."),
        (NUMBERED, "The rate fell to 84.4 %, from 84.8 % in 2022."),
        (NUMBERED, "Im Jahr 2023 lag die Rate bei 84,4 %, nach 84,8 % im Vorjahr."),
        (NUMBERED, "2023年的比率为84.4%，2022年为84.8%。"),
        (NUMBERED, "Since 2022 the rate fell by 0.4 points to 84.4 % in 2023."),
    ],
)
def test_a_column_of_years_that_is_not_the_first_says_of_when_a_figure_is(output: str, report: str) -> None:
    assert "unsourced" not in states(report, output).values()


@pytest.mark.parametrize("output", [PANEL, NUMBERED])
@pytest.mark.parametrize(
    ("report", "figure"),
    [
        ("In 2023 the rate was 84.8 %.", "84.8 %"),
        ("In 2023 the rate of North was 84.8 %.", "84.8 %"),
        ("2023 lag die Rate bei 84,8 %.", "84,8 %"),
        ("En 2023, le taux était de 84,8 %.", "84,8 %"),
        ("En 2023 la tasa fue del 84,8 %.", "84,8 %"),
        ("2023年的比率为84.8%。", "84.8%"),
        ("2023年の比率は84.8%でした。", "84.8%"),
        ("In 2022 the rate was 84.4 %.", "84.4 %"),
    ],
)
def test_the_value_of_another_year_of_such_a_column_is_found(output: str, report: str, figure: str) -> None:
    assert states(report, output)[figure] == "unsourced"


SERIES = "year\n2022    84.8\n2023    84.4\n2024    85.9\nName: rate_pct, dtype: float64\n"
LATER = "   year  rate_pct\n0  2022      84.8\n1  2023      84.4\n2  2024      85.9\n"


@pytest.mark.parametrize("output", [SERIES, LATER])
@pytest.mark.parametrize(
    "report",
    [
        "Since 2022 the rate has risen to 85.9 %.",
        "After 2022 the rate fell to 84.4 %.",
        "The rate reached 85.9 %, the highest since 2022.",
        "From 2022 on, it moved between 84.4 % and 85.9 %.",
        "In contrast to 2023, the rate was 85.9 %.",
        "The rate was 85.9 % in the last year, up from 2023.",
        "Seit 2022 ist die Rate auf 85,9 % gestiegen.",
        "Depuis 2022, le taux est passé à 85,9 %.",
        "Desde 2022 la tasa subió al 85,9 %.",
        "自2022年以来，比率升至85.9%。",
        "2022年から比率は85.9%に上がりました。",
    ],
)
def test_a_figure_may_be_of_any_date_since_a_named_one(output: str, report: str) -> None:
    assert "unsourced" not in states(report, output).values()


def test_a_year_that_only_describes_a_row_is_no_period_of_its_figure() -> None:
    films = (
        "title    year  rating_pct\nMatrix   1999        87.1\nUp       2009        83.2\nCoco     2017        84.6\n"
    )
    assert "unsourced" not in states("In 2017, Matrix still had a rating of 87.1 %.", films).values()
    opened = "store  opened_year  sales\nNorth         2015    412\nSouth         2019    388\n"
    assert "unsourced" not in states("In 2019 North sold 412.", opened).values()


@pytest.mark.parametrize(
    ("short", "whole", "month"),
    [
        ("Ene", "enero", 1),
        ("Abr", "abril", 4),
        ("ago.", "agosto", 8),
        ("Sept.", "septiembre", 9),
        ("dic", "diciembre", 12),
        ("Jän.", "Jänner", 1),
        ("Mär", "März", 3),
        ("Mai", "Mai", 5),
        ("Okt.", "Oktober", 10),
        ("Dez", "Dezember", 12),
        ("janv.", "janvier", 1),
        ("févr.", "février", 2),
        ("avr.", "avril", 4),
        ("juil.", "juillet", 7),
        ("août", "août", 8),
        ("déc.", "décembre", 12),
    ],
)
def test_a_short_month_is_the_month(short: str, whole: str, month: int) -> None:
    for text in (f"{short} 2024", f"{whole} 2024"):
        assert [one.day for one in scan_days(text)] == [Day(2024, month)]


def test_a_year_ago_is_no_month() -> None:
    assert [one.day for one in scan_days("It was more a year ago, 2023 was better. Two days ago. 5 are left.")] == [
        Day(2023)
    ]


HIGHEST = (
    "  punto  año mes más alto  bicis (alto) mes más bajo  bicis (bajo)\n"
    "  Norte 2023          Jul         52569          Ene         26086\n"
    "  Norte 2024          Ago         56222          Ene         24894\n"
    "  Sur 2023            May         29328          Ago         10750\n"
    "  Sur 2024            Oct         32621          Ago         15659\n"
)


@pytest.mark.parametrize("token", ["", " [=1:10750]"])
def test_a_row_of_two_months_is_of_both(token: str) -> None:
    report = (
        "| punto | más alto 2023 | más alto 2024 | más bajo 2023 |\n|---|---|---|---|\n"
        f"| Sur | May (29.328) | octubre (32.621) | Ago (10.750{token}) |\n"
        "| Norte | Jul (52.569) | Ago (56.222) | Ene (26.086) |\n"
    )
    assert "unsourced" not in states(report, HIGHEST).values()


def test_a_month_of_a_year_is_known_where_both_are_labels() -> None:
    gaps = "  año  punto mes  texto\n 2023 Puerto Ene       \n 2023 Puerto Feb    s/d\n 2024 Carril Ago avería\n"
    months = "mes    2023   2024\nEne  122577 123275\nFeb  126628 129086\nAgo  201507 221770\n"
    found = states("Faltan Puerto febrero de 2023 y Carril agosto de 2024.", gaps, months)
    assert "unsourced" not in found.values()
    assert states("Falta Puerto marzo de 2021.", gaps, months)["marzo de 2021"] == "unsourced"


def test_a_date_behind_since_in_a_bracket_is_not_that_of_the_figure_before() -> None:
    table = (
        "tarif      2022      2023      2024\nBase    53000.5   53300.4   50840.1\n"
        "Total  149195.7  151769.4  153037.8\n"
    )
    report = "En 2024, la consommation totale est de 153 038 (+0,8 % sur un an, +2,6 % depuis 2022)."
    assert states(report, table)["153 038"] == "sourced"
    assert states(report.replace("2024", "2023"), table)["153 038"] == "unsourced"


@pytest.mark.parametrize("token", ["", " [=1:34]"])
def test_a_measure_behind_a_colon_is_not_that_of_a_column_of_a_year(token: str) -> None:
    table = (
        "Por mes:\n"
        "            pedidos 2023  pedidos 2024  ventas 2023 (GBP)  ventas 2024 (GBP)  variación (GBP)  variación (%)\n"
        "enero                 39            38            19230.4            13732.6          -5497.8          -28.6\n"
        "marzo                 34            47            17042.7            21559.8           4517.1           26.5\n"
        "mayo                  51            52            23343.7            24554.6           1211.0            5.2\n"
    )
    report = f"Un mes tiene entre 34{token} y 52 pedidos: unos pocos pedidos grandes mueven la variación."
    assert "unsourced" not in states(report, table).values()


@pytest.mark.parametrize("dash", ["-", "–"])
def test_the_years_of_a_quoted_title_are_dates(dash: str) -> None:
    schools = "school    year  rate\n"
    schools += "".join(
        f"{name:9} {year}  {60 + year % 7}.5\n" for name in ("Ashby", "Brook") for year in range(2020, 2025)
    )
    district = "District:\nyear  rate  change\n2023  81.3    -1.2\n2024  84.8     3.5\n"
    report = (
        f'The chart "District pass rate, 2020{dash}2024" shows the dip of 2021 to 2023 and 3.5 points more in 2024.'
    )
    assert "unsourced" not in states(report, schools, district).values()
    assert states(f'The chart "Rate, 1990{dash}1995" shows it.', schools)["1990"] == "unsourced"


@pytest.mark.parametrize(
    "report",
    [
        "Hollins fell to fourth place in 2024, although its rate of 89.8 % is almost the same as in 2021.",
        "Hollins fiel 2024 auf Platz vier, obwohl die Quote mit 89,8 % fast so hoch wie 2021 ist.",
        "Hollins recule en 2024, bien que son taux de 89,8 % soit presque le même qu'en 2021.",
        "Hollins baja en 2024, aunque su tasa del 89,8 % es casi igual que en 2021.",
    ],
)
def test_the_year_that_a_figure_is_the_same_as_is_not_its_own(report: str) -> None:
    rates = "Pass rate (%):\nschool   2021   2023   2024\nHollins  90.1   83.4   89.8\nAshby    64.2   70.5   71.3\n"
    assert "unsourced" not in states(report, rates).values()
    wrong = report.replace("2024", "2023")
    assert "unsourced" in states(wrong, rates).values()


@pytest.mark.parametrize(
    ("report", "found"),
    [
        ("Oktober 2025 reicht bis zum 28.10.; es fehlen Tage.", {"Oktober 2025": "sourced", "28.10.": "sourced"}),
        ("Vom 2.1. bis 28.10. gibt es Belege.", {"2.1.": "sourced", "28.10.": "sourced"}),
        ("Der letzte Beleg ist vom 27.10. Danach fehlen Belege.", {"27.10.": "unsourced"}),
        ("It was 28.10. That is low.", {"28.10": "unsourced"}),
    ],
)
def test_a_german_date_may_leave_its_year_out(report: str, found: dict[str, str]) -> None:
    assert states(report, "Letztes Datum: 2025-10-28\nErster Beleg: 2024-01-02\n") == found


@pytest.mark.parametrize(
    ("report", "output"),
    [
        ("Die Werte reichen von 0.5 bis 1.2. Der Rest fehlt.", "min 0.5\nmax 1.2\n"),
        ("Der Wert stieg bis 12.5. Danach fiel er.", "max: 12.5\n"),
        ("Der Mittelwert liegt bei dem 1.2. Das ist wenig.", "mean: 1.2\n"),
        ("Der Wert stieg bis 12.5.", "max: 12.5\n"),
        ("Der Wert stieg bis 12.5.\n\nDanach fiel er.", "Er reicht bis 12.5.\n"),
        ("Die Belege reichen bis 28.10. Danach fehlen sie.", "Letztes Datum: 2025-10-28\n"),
        ("Vom 2.1. bis 28.10. Danach fehlen Belege.", "2025-01-02\n2025-10-28\n"),
    ],
)
def test_a_decimal_at_the_end_of_a_german_sentence_is_no_date(report: str, output: str) -> None:
    assert "unsourced" not in states(report, output).values()
    assert "unsourced" in states(report, "Stand: 2025-03-04, 77.3\n").values()
