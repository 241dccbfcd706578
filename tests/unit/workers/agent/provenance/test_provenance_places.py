"""A sentence that puts a row at the wrong place, "third-largest" or "rank 2", is found; what is true, or in doubt,
passes."""

from __future__ import annotations

import pytest
from provenance_kit import shown, traced

from core.steps import CellRan
from workers.agent.provenance import Traced, facts_of
from workers.agent.provenance.claims.binding import Scene
from workers.agent.provenance.claims.reading import read_report
from workers.agent.provenance.ranks.leading import misplaced

TABLE = (
    "region  orders  revenue\nEast        80     1500\nNorth      120     2400\nSouth      100     1900\n"
    "West        30      660\nCentre      60     1100\n"
)
MONTHS = (
    "month\n2024-01    120\n2024-02     80\n2024-03    100\n2024-04    140\n2024-05     90\n2024-06    130\n"
    "Name: revenue, dtype: int64\n"
)
CHINESE = "门店    销售额   订单\n静安 458261 4998\n徐汇 484810 5935\n浦东 474941 6643\n虹口 401552 3120\n"
JAPANESE = "店舗      売上   注文\n福岡     4582  499\n東京     4848  593\n大阪     4749  664\n札幌     3120  288\n"


def ranked(report: str, *outputs: CellRan | str) -> list[Traced]:
    return [one for one in traced(report, *(outputs or (TABLE,))).figures if one.reason == "rank"]


@pytest.mark.parametrize(
    ("report", "output"),
    [
        ("South has the third-highest revenue (1,900).", TABLE),
        ("South has the third highest revenue, 1,900.", TABLE),
        ("East is the second-largest region with 1,500.", TABLE),
        ("The fourth-largest region is East with 1,500.", TABLE),
        ("Revenue was second-highest in East (1,500).", TABLE),
        ("Centre has the third-lowest revenue, 1,100.", TABLE),
        ("East has the second-fewest orders (80).", TABLE),
        ("East has the 2nd most orders (80).", TABLE),
        ("East ranks second with a revenue of 1,500.", TABLE),
        ("East ranks 2nd with a revenue of 1,500.", TABLE),
        ("East is in second place with 1,500.", TABLE),
        ("East is No. 4 with 1,500.", TABLE),
        ("East is #4 with 1,500.", TABLE),
        ("East (rank 2) had a revenue of 1,500.", TABLE),
        ("East (#2) had a revenue of 1,500.", TABLE),
        ("Rank 2: East (1,500)", TABLE),
        ("East, the second-largest region, had 1,500.", TABLE),
        ("East (1,500) is the second-largest region.", TABLE),
        ("East is second only to North, with 1,500.", TABLE),
        ("East is second with 1,500, behind North.", TABLE),
        ("East is second behind North with 1,500.", TABLE),
        ("March was the second-weakest month, at 100.", MONTHS),
        ("March was the second-strongest month, at 100.", MONTHS),
        ("South hat den dritthöchsten Umsatz (1.900).", TABLE),
        ("East ist die zweitgrößte Region mit 1.500.", TABLE),
        ("East hat die viertmeisten Bestellungen (80).", TABLE),
        ("East liegt auf Platz zwei mit 1.500.", TABLE),
        ("East liegt mit 1.500 auf Platz 2.", TABLE),
        ("East liegt mit 1.500 an zweiter Stelle.", TABLE),
        ("East liegt mit 1.500 auf Rang 2.", TABLE),
        ("East (Rang 2) hatte 1.500.", TABLE),
        ("Die zweitgrößte Region ist East mit 1.500.", TABLE),
        ("East es la segunda mayor región con 1.500.", TABLE),
        ("East es la segunda región más grande con 1.500.", TABLE),
        ("East ocupa el segundo lugar con 1.500.", TABLE),
        ("East está en el puesto 2 con 1.500.", TABLE),
        ("East est la deuxième plus grande région avec 1 500.", TABLE),
        ("East est la deuxième région la plus importante avec 1 500.", TABLE),
        ("East est en deuxième position avec 1 500.", TABLE),
        ("East est au rang 2 avec 1 500.", TABLE),
        ("East arrive deuxième avec 1 500.", TABLE),
        ("浦东销售额第三高，为 474,941 元。", CHINESE),
        ("静安是第二大门店（458,261 元）。", CHINESE),
        ("静安排名第二，为 458,261 元。", CHINESE),
        ("第二名是静安，458,261 元。", CHINESE),
        ("静安销售额仅次于徐汇，为 458,261 元。", CHINESE),
        ("福岡の売上は2番目に高く、4,582です。", JAPANESE),
        ("売上が2番目に高いのは福岡で、4,582です。", JAPANESE),
        ("福岡は2位で、4,582です。", JAPANESE),
        ("第2位は福岡で、4,582です。", JAPANESE),
        ("2位の福岡は4,582です。", JAPANESE),
        ("福岡は東京に次いで、4,582です。", JAPANESE),
    ],
)
def test_a_sentence_that_puts_a_row_at_the_wrong_place_is_flagged(report: str, output: str) -> None:
    assert [one.state for one in ranked(report, output)] == ["unsourced"]


@pytest.mark.parametrize(
    ("report", "output"),
    [
        ("South has the second-highest revenue (1,900).", TABLE),
        ("East is the third-largest region with 1,500.", TABLE),
        ("Revenue was third-highest in East (1,500).", TABLE),
        ("Centre has the second-lowest revenue, 1,100.", TABLE),
        ("East has the third-fewest orders (80).", TABLE),
        ("East ranks third with a revenue of 1,500.", TABLE),
        ("East is No. 3 with 1,500.", TABLE),
        ("East (#3) had a revenue of 1,500.", TABLE),
        ("Rank 3: East (1,500)", TABLE),
        ("East, the third-largest region, had 1,500.", TABLE),
        ("East (1,500) is the third-largest region.", TABLE),
        ("South is second only to North, with 1,900.", TABLE),
        ("South is second with 1,900, behind North.", TABLE),
        ("East is third with 1,500, behind North and South.", TABLE),
        ("March was the third-weakest month, at 100.", MONTHS),
        ("January was the third-strongest month, at 120.", MONTHS),
        ("East ist die drittgrößte Region mit 1.500.", TABLE),
        ("South liegt mit 1.900 auf Platz 2.", TABLE),
        ("South liegt mit 1.900 an zweiter Stelle.", TABLE),
        ("South es la segunda mayor región con 1.900.", TABLE),
        ("South está en el puesto 2 con 1.900.", TABLE),
        ("South est la deuxième plus grande région avec 1 900.", TABLE),
        ("South est au rang 2 avec 1 900.", TABLE),
        ("浦东销售额第二高，为 474,941 元。", CHINESE),
        ("静安是第三大门店（458,261 元）。", CHINESE),
        ("浦东销售额仅次于徐汇，为 474,941 元。", CHINESE),
        ("大阪の売上は2番目に高く、4,749です。", JAPANESE),
        ("2位の大阪は4,749です。", JAPANESE),
        ("大阪は東京に次いで、4,749です。", JAPANESE),
    ],
)
def test_the_right_place_is_not_flagged(report: str, output: str) -> None:
    assert traced(report, output).unsourced == ()


@pytest.mark.parametrize(
    "report",
    [
        "West is the third-largest of the northern regions (660).",
        "Among the small regions, West is second with 660.",
        "East has the second-highest revenue (1,500) per shop.",
        "In the third quarter, East had 1,500.",
        "East was weak in the second half with 1,500.",
        "On the 5th of March, East had 1,500.",
        "In the second run, East reached 1,500.",
        "East offers first-class service with 1,500.",
        "East is second to none with 1,500.",
        "East's second-largest order was 1,500.",
        "In East the second-largest order was 1,500.",
        "East was second quarter after quarter with 1,500.",
        "East is not the second-largest region with 1,500.",
        "East and West are second with 1,500.",
        "## Top 5 by profit\n\n- #2: East (1,500)",
        "By profit:\n\n- #2: East (1,500)",
        "Order #2 in East came to 1,500.",
        "East grew second-fastest, to 1,500.",
        "East is the second most efficient region with 1,500.",
        "Im zweiten Quartal lag East bei 1.500.",
        "East hat unter den kleinen den zweithöchsten Umsatz (1.500).",
        "In der zweiten Hälfte hatte East 1.500.",
        "En segundo lugar, East tuvo 1.500.",
        "En el segundo trimestre East tuvo 1.500.",
        "Au deuxième trimestre, East compte 1 500.",
        "第二季度 East 为 1,500。",
        "除了 North，East 排名第二，为 1,500。",
        "East の第2四半期は1,500です。",
        "上位2位の East は1,500です。",
    ],
)
def test_ordinals_that_rank_nothing_and_restrictions_are_doubts(report: str) -> None:
    assert not ranked(report)


def test_equal_rows_share_their_places() -> None:
    even = "region  orders\nNorth      120\nSouth      100\nEast       100\nWest        80\nCentre      30\n"
    for place in ("second", "third"):
        assert not ranked(f"South has the {place}-most orders (100).", even)
    for place in ("third", "fourth"):
        assert not ranked(f"West has the {place}-most orders (80).", even)
    assert ranked("West has the second-most orders (80).", even)
    assert ranked("West has the fifth-most orders (80).", even)


def test_rows_that_are_told_alike_share_their_places() -> None:
    table = "region  revenue\nNorth     12340\nSouth     12310\nWest       7000\nEast       5000\n"
    assert not ranked("North is the second-largest region with 12.3k.", table)
    assert ranked("North is the second-largest region with 12,340.", table)


def test_a_row_that_has_this_place_in_another_column_may_be_meant() -> None:
    table = "region  orders  margin\nNorth      120      20\nSouth      100      40\nWest        30      25\n"
    assert not ranked("West is the second-largest region with 30 orders.", table)
    assert ranked("West has the second-most orders (30).", table)


def test_a_bare_rank_may_be_the_place_in_a_list_of_another_order() -> None:
    table = "region  revenue\nNorth      2400\nEast       1500\nSouth      1900\nWest        660\n"
    assert not ranked("East ranks second with 1,500.", table)
    assert ranked("East has the second-highest revenue (1,500).", table)


def test_a_column_of_places_says_what_a_bare_rank_means() -> None:
    table = "region  profit_rank  revenue\nNorth             1     2400\nEast              4     1500\n" + (
        "South             2     1900\nWest              3      660\n"
    )
    assert not ranked("West is third with 660.", table)


def test_a_row_may_be_further_behind_where_a_table_holds_only_some_rows() -> None:
    some = "region  revenue\nNorth      2400\nSouth      1900\nWest        660\nEast        500\n"
    all_rows = some + "Centre     2000\nCoast      1000\n"
    assert ranked("South is the third-largest region with 1,900.", some)
    assert not ranked("South is the third-largest region with 1,900.", all_rows)
    north = some.replace("West        660\n", "")
    assert not ranked("South is the third-largest region with 1,900.", north, all_rows)


def test_a_place_that_the_table_does_not_have_is_a_doubt() -> None:
    assert not ranked("South has the seventh-highest revenue (1,900).")


def test_totals_and_subtotals_have_no_place() -> None:
    table = "region  orders\nTotal      650\nNorth      120\nOther      400\nSouth      130\nWest        40\n"
    assert not ranked("North has the second-most orders (120).", table)
    parts = "area   orders\nEurope     250\nNorth      130\nSouth      120\nAsia        90\n"
    assert not ranked("South has the second-most orders (120).", parts)


def test_the_row_at_the_place_comes_first_then_the_one_that_was_named() -> None:
    (one,) = ranked("East has the second-highest revenue (1,500).")
    assert one.near == ("1900 (cell 1, line 4: South · revenue)", "1500 (cell 1, line 2: East · revenue)")


@pytest.mark.parametrize(
    "report",
    [
        "second largest " * 4_000,
        "No. 2 " * 10_000,
        "#2 South " * 6_000,
        "second behind South and North, " * 1_500,
        "South is second-largest with 100.\n\n" * 1_500,
        "第二" * 20_000,
        "2番目に" * 10_000,
        "deuxième plus " * 4_000,
        "South に次ぐ" * 5_000,
    ],
    ids=range(9),
)
def test_hostile_and_huge_reports_are_read_in_bounds(report: str) -> None:
    facts = facts_of([[shown(TABLE)]])
    scene = Scene(read_report(report), facts)
    found = list(misplaced(scene, facts, {id(claim): facts.facts[0] for claim in scene.reading.claims}))
    assert len(found) <= 60
