"""The language that a text is written in."""

from __future__ import annotations

import pytest

from core.language_detection import detect


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Which region grew fastest?", "en"),
        ("今年哪个地区增长最快？", "zh"),
        ("用 Python 画 revenue 的趋势图", "zh"),
        ("请分析 sales_2023_final.csv", "zh"),
        ("the column 地区 is wrong, please compare by region", "en"),
        ("売上推移を分析してください", "ja"),
        ("지역별 매출을 비교해 주세요", "en"),
        ("¿Qué región creció más?", "es"),
        ("¿Cuánto vendimos por mes en 2024?", "es"),
        ("Welche Region ist am stärksten gewachsen?", "de"),
        ("Umsatz nach Region, bitte als Tabelle", "de"),
        ("Quelle région a le plus progressé ?", "fr"),
        ("Montre l'évolution des ventes par mois", "fr"),
        ("地域ごとの売上を比較して", "ja"),
        ("地域別売上推移", "ja"),
        ("各地区销售额对比", "zh"),
        ("北部 南部", "zh"),
        ("¿ventas 2024?", "es"),
        ("Vergleiche Kunden je Region", "de"),
        ("nombre de clients", "fr"),
        ("sales of Müller and Söhne", "en"),
        ("revenue by die and gender", "en"),
        ("compare la and en columns for the sales", "en"),
        ("", "en"),
        ("😀 123", "en"),
    ],
)
def test_the_language_is_that_of_most_words(text: str, language: str) -> None:
    assert detect(text) == language


def test_what_a_person_quotes_does_not_choose_the_language() -> None:
    quoted = "> Ben:\n> The revenue of the north has fallen for the third time in a row, and nobody knows why."
    assert detect(f"Warum ist das so?\n\n{quoted}") == "de"
    assert detect(f"为什么？\n\n{quoted}") == "zh"
    assert detect("> Ben:\n> Der Umsatz im Norden ist wieder gefallen, und niemand weiß, warum das so ist.") == "de"


def test_words_that_tell_nothing_keep_the_language_of_the_thread() -> None:
    assert detect("2024?", "de") == "de"
    assert detect("nach Region", "de") == "de"
    assert detect("only 2024", "de") == "en"
    assert detect("東京 大阪", "ja") == "ja"
    assert detect("每月的销售额", "ja") == "zh"
