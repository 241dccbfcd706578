"""A sentence that names the wrong row as the first or the last is found; what is true, or in doubt, passes."""

from __future__ import annotations

import pytest
from provenance_kit import shown, traced

from core.steps import CellRan, ChartData, SeriesData, TableData
from workers.agent.provenance import Traced, facts_of
from workers.agent.provenance.claims.binding import Scene
from workers.agent.provenance.claims.reading import read_report
from workers.agent.provenance.ranks.leading import misplaced
from workers.agent.report.sourcing import marked, told

TABLE = "region  orders  revenue\nNorth      120     2400\nSouth      100     1900\nWest        30      660\n"
MONTHS = "month\n2024-01    120\n2024-02     80\n2024-03    100\n2024-04    140\nName: revenue, dtype: int64\n"
CHINESE = "门店    销售额   订单\n徐汇 484810 5935\n浦东 474941 6643\n静安 458261 4998\n"
JAPANESE = "店舗      売上   注文\n東京     4848  593\n大阪     4749  664\n福岡     4582  499\n"


def ranked(report: str, *outputs: CellRan | str) -> list[Traced]:
    return [one for one in traced(report, *(outputs or (TABLE,))).figures if one.reason == "rank"]


@pytest.mark.parametrize(
    "report",
    [
        "South leads with 100 orders.",
        "South leads clearly, with 100 orders, 20 of them in May.",
        "South has the most orders (100).",
        "South has the highest revenue, 1,900.",
        "The highest revenue is in South (1,900).",
        "Revenue was highest in South (1,900).",
        "The top region is South with 1,900.",
        "South ranks first with a revenue of 1,900.",
        "The fewest orders came from South: 100.",
        "The weakest region is South (1,900).",
        "Overall, South is ahead with 1,900.",
        "**Highest revenue:** South (1,900)",
        "- **South** has the most orders: **100**",
        "Revenue is 4,960 in all, and South leads with 1,900.",
        "South has the worst revenue (1,900).",
        "South leads with 100 orders, followed by West (30).",
        "Key findings:\n- South leads with 100 orders",
        "By revenue:\n\n- South leads with 1,900.",
        "South, the largest region, had 1,900.",
        "South (1,900) is the largest region.",
        "South (1,900) has the highest revenue.",
    ],
)
def test_a_sentence_that_names_the_wrong_leader_is_flagged(report: str) -> None:
    assert [one.state for one in ranked(report)] == ["unsourced"]


@pytest.mark.parametrize(
    "report",
    [
        "North leads with 120 orders.",
        "North has the most orders (120).",
        "North has the highest revenue, 2,400.",
        "The highest revenue is in North (2,400).",
        "West has the fewest orders (30).",
        "The weakest region is West (660).",
        "**Highest revenue:** North (2,400)",
        "North, the largest region, had 2,400.",
        "North (2,400) is the largest region.",
        "North (2,400) has the most orders, South (1,900) the second-highest revenue.",
    ],
)
def test_the_right_leader_is_not_flagged(report: str) -> None:
    assert traced(report, TABLE).unsourced == ()


def test_the_row_that_leads_comes_with_its_value_then_the_one_that_was_named() -> None:
    (one,) = ranked("South leads with 100 orders.")
    assert one.near == ("120 (cell 1, line 2: North · orders)", "100 (cell 1, line 3: South · orders)")


def test_the_model_is_told_and_readers_see_a_mark_of_its_own() -> None:
    provenance = traced("South leads with 100 orders.", TABLE)
    assert told(provenance.unsourced)[0]["reason"] == "rank"
    expected = "South leads with 100 (⚠ by the outputs another row has this rank) orders."
    assert marked(provenance, "en") == expected


def test_a_series_that_was_printed_has_its_weakest_month() -> None:
    assert ranked("March was the weakest month, at 100.", MONTHS)
    assert ranked("The strongest month was January with 120.", MONTHS)
    assert not ranked("February was the weakest month, at 80.", MONTHS)


def test_a_table_and_a_chart_that_came_as_data_are_compared_too() -> None:
    rows = (("North", 120), ("South", 100), ("West", 30))
    table = TableData(
        columns=("region", "orders"), dtypes=("object", "int64"), rows=rows, total_rows=3, total_columns=2
    )
    series = SeriesData(kind="bar", name="", points=rows, total_points=3)
    chart = ChartData(figure="a.png", title="By region", x="region", y="orders", series=(series,))
    for cell in (shown("", tables=(table,)), shown("", charts=(chart,))):
        assert ranked("South has the most orders (100).", cell)
        assert not ranked("North has the most orders (120).", cell)
        assert not ranked("West has the fewest orders (30).", cell)


def test_a_table_or_chart_that_is_cut_says_nothing() -> None:
    rows = (("North", 120), ("South", 100), ("West", 30))
    table = TableData(
        columns=("region", "orders"), dtypes=("object", "int64"), rows=rows, total_rows=900, total_columns=2
    )
    series = SeriesData(kind="bar", name="", points=rows, total_points=900)
    chart = ChartData(figure="a.png", title="By region", x="region", y="orders", series=(series,))
    printed = "region  orders\nNorth      120\nSouth      100\n...        ...\nWest        30\n"
    for cell in (shown("", tables=(table,)), shown("", charts=(chart,)), printed):
        assert not ranked("South has the most orders (100).", cell)


@pytest.mark.parametrize(
    ("report", "output"),
    [
        ("South liegt mit 100 vorn.", TABLE),
        ("South führt mit 1.900.", TABLE),
        ("South hat den höchsten Umsatz (1.900).", TABLE),
        ("Die meisten Bestellungen hat South (100).", TABLE),
        ("Der schwächste Monat war März mit 100.", MONTHS),
        ("Am höchsten war der Umsatz im März (100).", MONTHS),
        ("South lidera con 1.900.", TABLE),
        ("South tiene los ingresos más altos (1.900).", TABLE),
        ("South tiene el mayor número de pedidos (100).", TABLE),
        ("South est en tête avec 100.", TABLE),
        ("South a le plus de commandes (100).", TABLE),
        ("South a le chiffre le plus élevé (1 900).", TABLE),
        ("浦东销售额最高，为 47.49 万元。", CHINESE),
        ("销售额最高的门店是浦东（474,941 元）。", CHINESE),
        ("South 的订单最多，为 100。", TABLE),
        ("3月最弱，为 100。", MONTHS),
        ("大阪の売上が最も高く、4,749です。", JAPANESE),
        ("売上が最も高いのは大阪で、4,749です。", JAPANESE),
    ],
)
def test_six_languages_name_leaders(report: str, output: str) -> None:
    assert len(ranked(report, output)) == 1


@pytest.mark.parametrize(
    ("report", "output"),
    [
        ("North liegt mit 120 vorn.", TABLE),
        ("Der schwächste Monat war Februar mit 80.", MONTHS),
        ("North tiene los ingresos más altos (2.400).", TABLE),
        ("North a le plus de commandes (120).", TABLE),
        ("徐汇销售额最高，为 48.48 万元。", CHINESE),
        ("東京の売上が最も高く、4,848です。", JAPANESE),
    ],
)
def test_six_languages_name_the_right_ones(report: str, output: str) -> None:
    assert traced(report, output).unsourced == ()


@pytest.mark.parametrize(
    "report",
    [
        "Among the small regions, South leads with 1,900.",
        "South leads with 1,900 among the small ones.",
        "Without North, South leads with 1,900.",
        "South leads with 1,900, if one leaves the old shops out.",
        "Of the new customers, South has the most orders (100).",
        "South has the most orders (100) of the new shops.",
        "South has the most orders (100), of the new shops.",
        "Of those with more than 20 orders, South has the highest revenue (1,900).",
        "With 30 orders or more, South has the highest revenue (1,900).",
        "South is the region with the highest revenue (1,900) per shop.",
        "Premium\n- South leads with 1,900.",
        "**Premium**\n\n- South leads with 1,900.",
        "在超过20单的地区中，South 的 revenue 最高，为 1,900。",
        "Of the three in the east South has the most orders (100).",
        "In the premium segment, South leads with 1,900.",
        "South leads in Europe with 1,900.",
        "The largest European region is South (1,900).",
        "Europe's largest region is South (1,900).",
        "Only the small regions count here.\nSouth leads with 1,900.",
        "- Premium:\n  - South leads with 1,900.",
        "South führt außer im Norden mit 1.900.",
        "South hat unter den kleinen den höchsten Umsatz (1.900).",
        "Europas stärkste Region ist South (1.900).",
        "除了 North，South 的订单最多，为 100。",
        "其中 South 的订单最多，为 100。",
        "欧洲最高的是 South（1,900）。",
        "South lidera con 1.900 entre las pequeñas.",
        "Sans North, South est en tête avec 100.",
    ],
)
def test_a_restriction_is_a_doubt(report: str) -> None:
    assert not ranked(report)


@pytest.mark.parametrize(
    "report",
    [
        "North and South lead with 100.",
        "South leads West with 1,900.",
        "South leads, tied with West, at 1,900.",
        "South has a higher revenue than West (1,900).",
        "South has the second-highest revenue (1,900).",
        "South has the second highest revenue (1,900).",
        "South hat den zweithöchsten Umsatz (1.900).",
        "South 的订单第二多，为 100。",
        "South is one of the largest, with 1,900.",
        "South is among the top 3 with 1,900.",
        "South does not lead with 1,900.",
        "South führt nicht mit 1.900.",
        "South would lead with 1,900.",
        "South has at least 100 orders.",
        "Most of South's revenue, 1,900, is old.",
        "South leads to 100 orders.",
        "South's largest order was 100.",
        "In South the largest order was 100.",
        "In South the highest revenue was 1,900.",
        "South 最大的订单为 100。",
        "South is the most efficient with 100.",
        "The largest region South has a revenue of 1,900.",
        "South ist am wenigsten gefallen (1.900).",
        "South grew the most, to 1,900.",
        "South had its highest revenue, 1,900.",
        "South es más alto (1.900).",
    ],
)
def test_two_names_ordinals_negations_and_comparisons_are_doubts(report: str) -> None:
    assert not ranked(report)


def test_a_tie_as_it_is_told_is_a_doubt() -> None:
    table = "region  revenue\nNorth     12340\nSouth     12310\nWest       7000\n"
    assert not ranked("South leads with 12.3k.", table)
    assert ranked("South leads with 12,310.", table)
    even = "region  revenue\nNorth     12340\nSouth     12340\nWest       7000\n"
    assert not ranked("South leads with 12,340.", even)


def test_a_word_whose_direction_is_unclear_is_a_doubt() -> None:
    costs = "region  delay_days\nNorth          12.5\nSouth          10.5\nWest            3.5\n"
    for word in ("leads", "is the best region", "is the weakest region", "is the worst region", "is ahead"):
        assert not ranked(f"South {word} with 10.5.", costs)
    assert ranked("South has the highest delay, 10.5 days.", costs)
    places = "region  rank\nNorth     30\nSouth     20\nWest      10\n"
    assert not ranked("South has the highest rank (20).", places)


def test_a_row_that_leads_in_another_column_may_be_meant() -> None:
    table = "region  orders  margin\nNorth      120      20\nSouth      100      40\nWest        30      25\n"
    assert not ranked("South leads with 100 orders.", table)
    assert not ranked("South is the largest region with 100 orders.", table)
    assert ranked("South has the most orders (100).", table)


def test_totals_means_and_rests_do_not_lead() -> None:
    table = "region  orders\nNorth      120\nOther      400\nTotal      650\nMean       150\nSouth      130\n"
    assert not ranked("South leads with 130 orders.", table)
    parts = "area   orders\nEurope     250\nNorth      130\nSouth      120\nAsia        90\n"
    assert not ranked("North leads with 130 orders.", parts)


def test_a_table_with_two_columns_of_names_is_a_doubt() -> None:
    table = "team  name  orders\nred   Ann      120\nred   Bob      100\nblue  Cid       90\nblue  Dan       80\n"
    assert not ranked("Cid leads with 90 orders.", table)


def test_the_first_and_the_last_period_may_be_parts_of_one() -> None:
    table = "month\n2024-01    120\n2024-02     80\n2024-03    100\n2024-04     20\nName: revenue, dtype: int64\n"
    assert not ranked("February was the weakest month, at 80.", table)


def test_a_period_named_before_may_narrow_the_rows() -> None:
    months = "month\n2023-11    90\n2023-12    20\n2024-01   120\n2024-02    80\n2024-03   100\n2024-04   140\n"
    assert not ranked("In 2024: The weakest month was February 2024 with 80.", months)
    assert not ranked("## 2024\n\nThe weakest month was February 2024 with 80.", months)


def test_a_name_of_another_table_nearby_may_narrow_the_rows() -> None:
    groups = "group     sales\nPremium     900\nBasic       500\nClassic     300\n"
    assert not ranked("Premium sold 900. South leads with 1,900.", TABLE, groups)
    assert not ranked("Premium:\n- South leads with 1,900.\n", TABLE, groups)
    assert ranked("South leads with 1,900.", TABLE, groups)


def test_figures_below_zero_are_a_doubt() -> None:
    table = "region  change\nNorth       12\nSouth       10\nWest       -30\n"
    assert not ranked("South has the largest change (10).", table)


def test_a_value_of_an_earlier_turn_is_not_ranked() -> None:
    provenance = traced("South leads with 100 orders.", earlier=(shown(TABLE),))
    assert not [one for one in provenance.figures if one.reason == "rank"]


@pytest.mark.parametrize(
    "report",
    [
        "leads " * 9_000,
        "South has the highest " * 2_500 + "100",
        "South leads with 100, " * 500,
        "South leads with 100 orders.\n\n" * 2_000,
        "- South leads with 100:\n" * 2_000,
        "最高" * 20_000,
        "más " * 10_000 + "100",
        "South est le plus " * 3_000 + "100",
        "\n" * 50_000 + "South leads with 100.",
        "South leads " + " " * 50_000 + "with 100.",
    ],
    ids=range(10),
)
def test_hostile_and_huge_reports_and_tables_are_read_in_bounds(report: str) -> None:
    rows = "".join(f"row{n}  {n}\n" for n in range(1_000, 1_390))
    facts = facts_of([[shown(f"{TABLE}\n{rows}")]])
    scene = Scene(read_report(report), facts)
    found = list(misplaced(scene, facts, {id(claim): facts.facts[0] for claim in scene.reading.claims}))
    assert len(found) <= 60
