"""A sentence that wrongly calls a row the only one that rose or fell is found; what is true, or in doubt, passes."""

from __future__ import annotations

import pytest
from provenance_kit import shown, traced

from workers.agent.report.sourcing import marked, told

ENGLISH = "region,growth %,orders\nNorth,4.2,40\nSouth,3.1,31\nWest,-2.0,20\n"
GERMAN = "Region,Veränderung %\nNord,4.2\nSüd,3.1\nWest,-2.0\n"
FRENCH = "région,évolution %\nNord,4.2\nSud,3.1\nOuest,-2.0\n"
SPANISH = "región,variación %\nNorte,4.2\nSur,3.1\nOeste,-2.0\n"
CHINESE = "地区,增长率\n北区,4.2%\n南区,3.1%\n西区,-2.0%\n"
JAPANESE = "地域,増減率\n北部,4.2%\n南部,3.1%\n西部,-2.0%\n"


@pytest.mark.parametrize(
    ("report", "output"),
    [
        ("North is the only region that grew (4.2 %).", ENGLISH),
        ("North was the only region to grow, by 4.2 %.", ENGLISH),
        ("The only growing region is North (4.2 %).", ENGLISH),
        ("**Only North grew (4.2 %).**", ENGLISH),
        ("Nord ist die einzige Region, die gewachsen ist (4,2 %).", GERMAN),
        ("Nur Nord wuchs (4,2 %).", GERMAN),
        ("Le Nord est la seule région qui a progressé (4,2 %).", FRENCH),
        ("Seul le Nord a progressé (4,2 %).", FRENCH),
        ("Norte es la única región que creció (4,2 %).", SPANISH),
        ("Solo Norte creció (4,2 %).", SPANISH),
        ("北区是唯一增长的地区(4.2%)。", CHINESE),
        ("只有北区增长(4.2%)。", CHINESE),
        ("北部は唯一増加した地域です(4.2%)。", JAPANESE),
        ("増加したのは北部のみです(4.2%)。", JAPANESE),
    ],
)
def test_a_row_that_is_not_the_only_one_is_found(report: str, output: str) -> None:
    found = traced(report, output).unsourced
    assert [one.reason for one in found] == ["only"]
    assert [near.split("%")[0].split()[0] for near in found[0].near] == ["3.1", "4.2"]
    rest = output.replace("3.1", "-3.1")
    assert traced(report, rest).unsourced == ()


@pytest.mark.parametrize(
    "report",
    [
        "West is the only region that fell (-2.0 %).",
        "Only West declined, by 2.0 %.",
        "North grew only 4.2 %.",
        "North only grew 4.2 %.",
        "North is not the only region that grew (4.2 %).",
        "North is the only large region that grew (4.2 %).",
        "North is the only region that grew in each month (4.2 %).",
        "Among the large ones, North is the only region that grew (4.2 %).",
        "North is the only region that grew more than planned (4.2 %).",
        "Without South, North is the only region that grew (4.2 %).",
        "North and South are the only regions that grew (4.2 % and 3.1 %).",
        "North is the only region that grew again (4.2 %).",
        "Only North still grew (4.2 %).",
        "North is the only region with 40 orders.",
        "North is the only region that grew to 40 orders.",
    ],
)
def test_what_is_true_or_in_doubt_passes(report: str) -> None:
    assert [one.reason for one in traced(report, ENGLISH).unsourced] == []


def test_a_row_that_is_the_only_one_in_another_column_may_be_meant() -> None:
    table = "region,growth of orders %,growth of revenue %\nNorth,4.2,5.0\nSouth,3.1,-1.0\nWest,-2.0,-3.0\n"
    assert traced("North is the only region that grew (4.2 %).", table).unsourced == ()


def test_a_table_that_is_cut_says_nothing() -> None:
    cut = "region  growth %\nNorth        4.2\nSouth        3.1\n...          ...\nWest        -2.0\n"
    assert traced("North is the only region that grew (4.2 %).", shown(cut)).unsourced == ()


def test_the_model_and_the_readers_are_told_that_it_holds_for_another_row() -> None:
    provenance = traced("North is the only region that grew (4.2 %).", ENGLISH)
    assert told(provenance.unsourced)[0]["reason"] == "only"
    assert "4.2 % (⚠ by the outputs this holds for another row, too)" in marked(provenance, "en")
