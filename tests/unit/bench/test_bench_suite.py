"""Our suite for `threadbook eval`: its golds are computed twice, its files are the same every time."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

import pytest
from suite_checks import CHECKS, Files

from bench.suite import real, tables
from bench.suite.__main__ import questions, write
from bench.suite.values import UNKNOWN, Item
from tryout.evals.scoring import matches, score_tags
from tryout.evals.suite import read_suite

ITEMS = questions()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("suite")
    write(made)
    return made


@pytest.fixture(scope="module")
def files(folder: Path) -> Files:
    return Files(folder)


@pytest.mark.parametrize("item", [item for item in ITEMS if "trap" not in item.tags], ids=lambda item: item.id)
def test_a_gold_is_what_other_code_finds_in_the_files(item: Item, files: Files) -> None:
    found = CHECKS[item.id](files)
    assert len(found) == len(item.golds)
    for (gold, decimals), value in zip(item.golds.values(), found, strict=True):
        if decimals is None:
            assert str(gold) == str(value)
        else:
            assert float(value) == pytest.approx(float(gold), abs=0.1 * 10**-decimals)


def test_only_traps_have_no_gold() -> None:
    assert {item.id for item in ITEMS} - CHECKS.keys() == {item.id for item in ITEMS if "trap" in item.tags}
    assert CHECKS.keys() <= {item.id for item in ITEMS}
    assert all(value is UNKNOWN for item in ITEMS if "trap" in item.tags for value, _ in item.golds.values())


def test_the_suite_is_as_large_and_as_mixed_as_it_says() -> None:
    tags = Counter(tag for item in ITEMS for tag in item.tags)
    assert len(ITEMS) >= 120
    assert len({file for item in ITEMS for file in item.files} & tables.WRITERS.keys()) >= 20
    assert len({file for item in ITEMS for file in item.files} & set(real.NAMES)) >= 8
    for kind in ("clean", "dirty", "multi-sheet", "dates", "joins", "statistics", "time series", "chinese", "trap"):
        assert tags[kind] >= 8, kind


def test_the_same_files_are_written_every_time(folder: Path, tmp_path: Path) -> None:
    write(tmp_path)
    for path in folder.iterdir():
        if path.suffix != ".xlsx":  # a workbook is a zip with the time in it
            digests = {hashlib.sha256(made.read_bytes()).hexdigest() for made in (path, tmp_path / path.name)}
            assert len(digests) == 1, path.name


def test_every_gold_is_right_when_it_is_written_as_asked(folder: Path) -> None:
    asked = {question.id: question for question in read_suite(folder / "suite.jsonl")}
    for item in ITEMS:
        written = {
            name: "not in the data"
            if value is UNKNOWN
            else f"{value:.{decimals}f}"
            if decimals is not None
            else str(value)
            for name, (value, decimals) in item.golds.items()
        }
        report = "It is " + ", ".join(f"**@{name}[{value}]**" for name, value in written.items())
        assert score_tags(report, "report", asked[item.id].answers)[0] == "right", item.id


def test_a_gold_is_not_right_for_its_neighbour_in_the_last_place(folder: Path) -> None:
    asked = {question.id: question for question in read_suite(folder / "suite.jsonl")}
    for item in ITEMS:
        for name, (value, decimals) in item.golds.items():
            if decimals is not None and value is not UNKNOWN:
                other = round(float(value), decimals) + 1.5 * 10**-decimals
                assert not matches(asked[item.id].answers[name], f"{other:.{decimals + 1}f}"), item.id
