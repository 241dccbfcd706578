"""Phrases: two languages each, the same variables, no accidents."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from jinja2 import Environment, UndefinedError, meta

from core.commands import commands
from core.phrases import detect, phrases, say

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("key", sorted(phrases()))
def test_both_languages_use_the_same_variables(key: str) -> None:
    environment = Environment()
    used = [meta.find_undeclared_variables(environment.parse(text)) for text in (phrases()[key].en, phrases()[key].zh)]
    assert used[0] == used[1]


@pytest.mark.parametrize("key", sorted(phrases()))
def test_each_language_is_written_in_itself(key: str) -> None:
    def words(text: str) -> str:
        return re.sub(r"{{.*?}}|{%.*?%}|`[^`]*`", "", text)

    assert not re.search(r"[\u4e00-\u9fff]", words(phrases()[key].en))
    assert re.search(r"[\u4e00-\u9fff]", words(phrases()[key].zh)) or not re.search(
        r"[A-Za-z]{3}", words(phrases()[key].en)
    )


@pytest.mark.parametrize("key", sorted(phrases()))
def test_a_folded_chinese_line_leaves_no_gap(key: str) -> None:
    assert not re.search(r"[\u3000-\u303f\uff00-\uffef\u4e00-\u9fff] +[\u4e00-\u9fff]", phrases()[key].zh)


def test_every_phrase_is_used() -> None:
    rooms = [ROOT / "bot", ROOT / "core", ROOT / "workers", ROOT / "tryout"]
    code = "\n".join(file.read_text(encoding="utf-8") for room in rooms for file in room.rglob("*.py"))
    answers = {key for command in commands().values() for key in (command.nothing, command.reply)}
    families = tuple(re.findall(r'say\(\s*f"(\w+)\{', code))
    assert [
        key for key in phrases() if f'"{key}"' not in code and key not in answers and not key.startswith(families)
    ] == []


def test_variables_are_filled_in() -> None:
    assert "130 MB" in say("file_too_large", "en", size_mb=130, limit_mb=100)
    assert "130 MB" in say("file_too_large", "zh", size_mb=130, limit_mb=100)


def test_a_missing_variable_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        say("file_too_large", "en", size_mb=130)


def test_an_unknown_key_names_the_nearest() -> None:
    with pytest.raises(KeyError, match="file_too_large"):
        say("file_too_larg", "en")


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Which region grew fastest?", "en"),
        ("今年哪个地区增长最快？", "zh"),
        ("用 Python 画 revenue 的趋势图", "zh"),
        ("请分析 sales_2023_final.csv", "zh"),
        ("the column 地区 is wrong, please compare by region", "en"),
        ("売上推移を分析してください", "en"),
        ("지역별 매출을 비교해 주세요", "en"),
        ("¿Qué región creció más?", "en"),
        ("", "en"),
        ("😀 123", "en"),
    ],
)
def test_the_language_is_that_of_most_words(text: str, language: str) -> None:
    assert detect(text) == language
