"""Questions in languages that the rules do not understand: a right answer, or a refusal in the asker's language."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import pandas as pd
import pytest

from core.values import Language
from workers.delivery.reports.formats.tables import mark_of, with_numbers

pytestmark = pytest.mark.long

BRANCHES = ["Köln", "Ulm", "Jena"]


@pytest.fixture
def shop(tmp_path: Path) -> pd.DataFrame:
    """Sales of three branches over two years, with the columns named in German."""
    days = pd.date_range("2022-01-01", periods=600, freq="D")
    frame = pd.DataFrame({
        "Datum": days.strftime("%Y-%m-%d"),
        "Filiale": [BRANCHES[n % 3] for n in range(600)],
        "Umsatz": [round(1000 + 7.25 * n + 300 * (n % 3), 2) for n in range(600)],
    })  # fmt: skip
    frame.to_csv(tmp_path / "shop.csv", index=False)
    return frame


REFUSED = {
    "de": (
        "nichts berechnet",
        [
            ("Umsatz nach Filiale ohne Köln", "ohne"),
            ("Was war der Umsatz vor 2023?", "vor"),
            ("Wie viele Filialen sind das?", "viele"),
            ("Wie ist der Durchschnitt von Umsatz nach Filiale?", "Durchschnitt"),
            ("Welche Filiale hat den geringsten Umsatz?", "geringsten"),
            ("Zeig mir den Umsatz für die Filiale Bonn", "Bonn"),
        ],
    ),
    "es": (
        "no calculé nada",
        [
            ("¿Cuál es el promedio de Umsatz por Filiale?", "promedio"),
            ("¿Cuál es el Umsatz de las Filiale que no son Köln?", "no"),
            ("¿Qué Filiale es la peor en Umsatz?", "peor"),
        ],
    ),
    "fr": (
        "rien calculé",
        [
            ("Quel est le Umsatz moyen par Filiale ?", "moyen"),
            ("Montre le Umsatz de la Filiale sans Köln", "sans"),
            ("Quelle est la Filiale la plus faible en Umsatz ?", "plus"),
        ],
    ),
    "ja": (
        "何も計算していません",
        [
            ("Umsatzの前年比を教えてください", "前年"),
            ("FilialeごとのUmsatzが最も少ないのはどこですか", "最"),
            ("2022年以外のUmsatzを教えてください", "以外"),
        ],
    ),
}


@pytest.mark.parametrize(
    ("language", "question", "word"),
    [(language, question, word) for language, (_, asked) in REFUSED.items() for question, word in asked],
)
@pytest.mark.usefixtures("shop")
def test_what_is_not_understood_is_refused_in_the_language_of_the_question(
    thread: Any, tmp_path: Path, language: str, question: str, word: str
) -> None:
    answer = thread.ask(question, tmp_path / "shop.csv")
    assert thread.language == language
    assert not answer.has_tick
    assert REFUSED[language][0] in answer.report
    named = re.findall(r"[„«「] ?(.+?) ?[“»」]", answer.report.split("\n")[0])
    assert any(word in name for name in named), answer.report


ANSWERED = {
    "de": "Bitte zeige den Umsatz nach Filiale",
    "es": "Muestra el Umsatz por Filiale, por favor",
    "fr": "Montrez le Umsatz par Filiale",
    "ja": "Filiale別のUmsatzを表示してください",
}


@pytest.mark.parametrize("language", ANSWERED)
def test_what_is_understood_is_answered_right_in_the_language_of_the_question(
    thread: Any, tmp_path: Path, shop: pd.DataFrame, language: Language
) -> None:
    answer = thread.ask(ANSWERED[language], tmp_path / "shop.csv")
    assert thread.language == language
    assert answer.has_tick, answer.report
    sums = shop.groupby("Filiale")["Umsatz"].sum()
    rows = [
        [cell.strip() for cell in line.strip("| ").split("|")]
        for line in answer.report.splitlines()
        if line.startswith("| ") and line.split("|")[1].strip() in BRANCHES
    ]
    found = {row[0]: row[1] for row in with_numbers([["Filiale"] * len(rows[0]), *rows], mark_of("", language))[1:]}
    assert set(found) == set(BRANCHES)
    for branch, value in found.items():
        assert isinstance(value, tuple), value
        assert value[0] == pytest.approx(sums[branch], abs=0.5)


@pytest.mark.parametrize("language", get_args(Language))
@pytest.mark.parametrize("question", ["Umsatz by Filiale", "How did Umsatz develop per month?", "Forecast Umsatz"])
def test_every_language_says_the_same_figures(
    new_thread: Any, tmp_path: Path, shop: pd.DataFrame, language: Language, question: str
) -> None:
    """Who prefers a language reads in it what the others read, with its marks between the digits."""
    thread, english = new_thread(), new_thread()
    thread.prefers, english.prefers = language, "en"
    answer, other = (each.ask(question, tmp_path / "shop.csv") for each in (thread, english))
    assert answer.has_tick

    def bold(report: str) -> list[str]:
        told = report.split("##", maxsplit=1)[0]
        return [re.sub(r"\D", "", text) for text in re.findall(r"\d[\d.,\u202f]*\d(?!\d*年)", told)]

    amounts = {text for text in bold(other.report) if len(text) > 4}
    assert amounts
    assert amounts <= set(bold(answer.report))


@pytest.mark.parametrize(
    ("greeting", "reply"),
    [
        ("Hallo!", "Guten Tag"),
        ("¡Hola!", "¡Hola!"),
        ("Bonjour !", "Bonjour"),
        ("こんにちは", "こんにちは"),
        ("danke", "Gern geschehen"),
        ("merci", "Je vous en prie"),
    ],
)
@pytest.mark.usefixtures("shop")
def test_a_greeting_is_returned(new_thread: Any, tmp_path: Path, greeting: str, reply: str) -> None:
    thread = new_thread()
    thread.prefers = {"Gu": "de", "Ge": "de", "¡H": "es", "Bo": "fr", "Je": "fr", "こん": "ja"}[reply[:2]]
    answer = thread.ask(greeting, tmp_path / "shop.csv")
    assert reply in answer.report
    assert answer.has_tick


@pytest.mark.parametrize("language", ["de", "es", "fr", "ja"])
@pytest.mark.usefixtures("shop")
def test_all_that_a_cell_prints_and_is_called_is_in_the_language(
    new_thread: Any, tmp_path: Path, language: Language
) -> None:
    thread = new_thread()
    thread.prefers = language
    answer = thread.ask("How did Umsatz develop per month and by Filiale?", tmp_path / "shop.csv")
    said = [cell.title for cell in answer.cells]
    said += [line for cell in answer.cells for line in cell.stdout.splitlines() if not re.match(r"\w+: [{\[]", line)]
    english = r"\b(?:rows?|groups|months?|average|read|clean|other|lines|the)\b"
    assert [text for text in said if re.search(english, text, re.IGNORECASE)] == []
