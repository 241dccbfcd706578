"""Lists that shells print: the figure stands before the name that it belongs to."""

from __future__ import annotations

import pytest
from provenance_kit import states

FILES = (
    "total 48\n-rw-r--r-- 1 ana staff 18213 Nov 20 10:11 orders.csv\n"
    "-rw-r--r-- 1 ana staff  4096 Nov 21 09:00 people.csv\n"
    "-rw-r--r-- 1 ana staff   771 Nov 21 2024 notes.txt\ndrwxr-xr-x 2 ana staff  4096 Nov 22 00:00 out\n"
)
COUNTS = "   120 shop.csv\n    48 staff.csv\n  1310 orders.csv\n  1478 total\n"
EVEN = "120 shop.csv\n148 staff.csv\n268 total\n"
THREE = "  12  100 1200 shop.csv\n   4   48  310 staff.csv\n  16  148 1510 total\n"
TOLD = [
    "{} has {}.",
    "`{}` has {}.",
    "| file | size |\n|---|---|\n| {} | {} |\n",
    "| file | size |\n|---|---|\n| `{}` | {} |\n",
]


@pytest.mark.parametrize("told", TOLD)
@pytest.mark.parametrize(
    ("out", "name", "own", "other"),
    [
        (FILES, "orders.csv", "18,213", "771"),
        (FILES, "notes.txt", "771", "18,213"),
        (FILES.replace("18213", "  17K"), "orders.csv", "17k", "771"),
        (COUNTS, "shop.csv", "120", "1,310"),
        (COUNTS, "staff.csv", "48", "120"),
        (EVEN, "shop.csv", "120", "148"),
        (THREE, "staff.csv", "310", "1,200"),
    ],
)
def test_a_figure_before_the_name_of_a_file_belongs_to_that_file(
    told: str, out: str, name: str, own: str, other: str
) -> None:
    assert states(told.format(name, own), out) == {own: "sourced"}
    assert states(told.format(name, other), out) == {other: "unsourced"}


def test_the_total_below_counts_of_files_is_of_no_file() -> None:
    assert states("shop.csv and the others have 1,478 lines.", COUNTS) == {"1,478": "sourced"}


REGIONS = "region  units\nnorth     120\nsouth     100\nwest       30\n"


def test_a_rows_name_that_stands_as_code_is_its_name() -> None:
    assert states("The region `north` sold 120.", REGIONS) == {"120": "sourced"}
    assert states("The region `north` sold 100.", REGIONS) == {"100": "unsourced"}


def test_a_file_that_has_a_rows_name_as_a_part_is_not_that_row() -> None:
    assert states("By south.csv the most are 120.", REGIONS) == {"120": "sourced"}
    assert states("By `south + west` the most are 120.", REGIONS) == {"120": "sourced"}
