"""Phrases: each in all six languages, with the same variables, and numbers and lists as the language writes them."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path
from typing import get_args

import pytest
import yaml
from jinja2 import UndefinedError, meta

from core.commands.registry import commands
from core.phrases import OWN_FILES, Phrase, decimal, environment, joined, listed, number, phrases, say
from core.values import Language

ROOT = Path(__file__).parents[3]
LIST = ROOT / "tests" / "golden" / "missing_translations.yaml"


@cache
def variables(text: str) -> set[str]:
    """What a phrase needs, by Jinja2's own reading."""
    jinja = environment("en")
    return meta.find_undeclared_variables(jinja.parse(text))


def plain(text: str) -> str:
    """A phrase without what Jinja2 and people's settings put in."""
    return re.sub(r"{{.*?}}|{%.*?%}|`[^`]*`", "", text)


@pytest.mark.parametrize(
    ("language", "one", "more"),
    [
        ("de", "1 von 4 Code-Zellen wurde nicht fertig.", "2 von 4 Code-Zellen wurden nicht fertig."),
        ("es", "1 de 4 celdas de código no terminó.", "2 de 4 celdas de código no terminaron."),
        ("fr", "1 cellule de code sur 4 n'a pas abouti.", "2 cellules de code sur 4 n'ont pas abouti."),
    ],
)
def test_one_cell_that_did_not_finish_is_told_in_the_singular(language: Language, one: str, more: str) -> None:
    assert say("report_failed_cells", language, count=1, total=4).startswith(one)
    assert say("report_failed_cells", language, count=2, total=4).startswith(more)


@pytest.mark.parametrize("language", get_args(Language))
def test_every_language_uses_the_same_variables(language: Language) -> None:
    assert [key for key, each in phrases().items() if variables(each.text(language)) != variables(each.en)] == []


@pytest.mark.parametrize("language", OWN_FILES)
def test_every_language_names_the_same_code(language: Language) -> None:
    """What stands between backticks, such as a setting, is the same in every language; so are the lines."""

    def kept(text: str) -> tuple[list[str], int]:
        return sorted(re.findall(r"`[^`]*`", text)), text.count("\n")

    assert [key for key, each in phrases().items() if kept(each.text(language)) != kept(each.text("en"))] == []


@pytest.mark.parametrize("language", OWN_FILES)
def test_no_translation_is_a_copy_of_the_english(language: Language) -> None:
    """Single words may be the same in both, and names are."""
    copies = [key for key, each in phrases().items() if each.text(language) == each.text("en")]
    assert [key for key in copies if len(re.findall(r"[A-Za-z]{3,}", plain(phrases()[key].en))) > 1] == []


@pytest.mark.parametrize("language", ["de", "es", "fr"])
def test_a_count_of_one_has_its_own_words_where_english_has_them(language: Language) -> None:
    """“1 cell” and “2 cells”: these languages tell them apart too, each in its own words."""

    def counted(text: str) -> set[str]:
        return set(re.findall(r"\b(\w+) == 1 else", text))

    assert [key for key, each in phrases().items() if counted(each.en) - counted(each.text(language))] == []


def test_one_row_is_no_rows_and_one_step_no_steps() -> None:
    """A count that is given as a text, and one behind “all”: no pattern finds these."""
    shapes = [say("report_shape", language, rows="1", columns=1) for language in ("en", "de", "es", "fr")]
    assert shapes == ["1 row × 1 column", "1 Zeile × 1 Spalte", "1 fila × 1 columna", "1 ligne × 1 colonne"]
    assert say("report_shape", "de", rows="", columns=2) == "viele Zeilen × 2 Spalten"
    steps = [say("program_same", language, steps=1, figures=1) for language in ("en", "de", "es", "fr")]
    assert [text for text in steps if re.search("steps|Schritte|pasos|étapes", text)] == []


def test_each_language_is_written_in_itself() -> None:
    english = {key: plain(each.en) for key, each in phrases().items()}
    chinese = {key: plain(each.zh) for key, each in phrases().items()}
    assert [key for key, text in english.items() if re.search(r"[\u4e00-\u9fff]", text)] == []
    without = [key for key, text in chinese.items() if not re.search(r"[\u4e00-\u9fff]", text)]
    assert [key for key in without if re.search(r"[A-Za-z]{3}", english[key])] == []


def test_a_folded_chinese_line_leaves_no_gap() -> None:
    gap = re.compile(r"[\u3000-\u303f\uff00-\uffef\u4e00-\u9fff] +[\u4e00-\u9fff]")
    assert [key for key, each in phrases().items() if gap.search(each.zh)] == []


@pytest.mark.parametrize("language", OWN_FILES)
def test_a_translation_has_no_space_at_its_ends(language: Language) -> None:
    assert [key for key, phrase in phrases().items() if (told := getattr(phrase, language)) != told.strip()] == []


def test_japanese_sets_no_space_between_its_own_letters() -> None:
    def words(text: str) -> str:
        return re.sub(r"「[^」]*」|`[^`]*`|{{.*?}}", "x", re.sub(r"{%.*?%}", "", text))

    gap = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff、。：（）] +[\u3040-\u30ff\u4e00-\u9fff]")
    assert [key for key, phrase in phrases().items() if gap.search(words(phrase.ja))] == []


def test_people_are_addressed_politely() -> None:
    """ "Sie", "usted" and "vous". What people say to the bot, between quotes, is theirs."""
    close = {
        "de": r"\b(?:du|dich|dir|dein\w*)\b",
        "es": r"\b(?:tú|tu|tus|ti|contigo)\b",
        "fr": r"\b(?:tu|toi|ton|tes)\b",
    }
    found = [
        (key, language)
        for key, phrase in phrases().items()
        for language, words in close.items()
        if not key.startswith("prompt_")
        and re.search(words, re.sub(r"„.*?“|«.*?»", "", getattr(phrase, language)), re.IGNORECASE)
    ]
    assert found == []


def test_a_phrase_without_its_translation_is_said_in_english() -> None:
    assert Phrase(en="so", zh="这样").text("ja") == "so"


def test_each_phrase_without_its_translations_is_on_the_list_which_only_shrinks() -> None:
    """A phrase that is new has its translations in core/languages/; one that got them leaves the list.

    `UPDATE_GOLDEN=1` takes what was translated off the list. With `MORE_MISSING=1` it also takes new phrases on it:
    for a merge of rooms that were written at the same time.
    """
    known: dict[str, list[str]] = yaml.safe_load(LIST.read_text(encoding="utf-8")) or {}
    found = missing()
    if os.environ.get("UPDATE_GOLDEN"):
        more = os.environ.get("MORE_MISSING")
        known = {key: without for key, without in found.items() if more or set(without) <= set(known.get(key, ()))}
        lines = "".join(f"{key}: [{', '.join(without)}]\n" for key, without in sorted(known.items()))
        LIST.write_text(HEAD + lines, encoding="utf-8")
    assert found == known


def missing() -> dict[str, list[str]]:
    """By phrase the languages that it lacks. One that is only marks and names needs none."""
    return {
        key: lacking
        for key, phrase in phrases().items()
        if re.search(r"[A-Za-z]{2}", f"{plain(phrase.en)} {counted_words(phrase.en)}")
        and (lacking := [str(language) for language in OWN_FILES if not getattr(phrase, language)])
    }


def counted_words(text: str) -> str:
    """The words that a phrase chooses among: “{{ 'figure' if count == 1 else 'figures' }}”."""
    return " ".join(re.findall(r"(?:{{|else|or) '([^']*)'", text))


HEAD = """\
# Phrases that are not translated yet, with the languages that they lack. They are said in English there.
# The list only shrinks: tests/unit/core/test_core_phrases.py says how it is written.
"""


def test_every_phrase_is_used() -> None:
    rooms = [ROOT / "bot", ROOT / "core", ROOT / "workers", ROOT / "tryout"]
    code = "\n".join(file.read_text(encoding="utf-8") for room in rooms for file in room.rglob("*.py"))
    answers = {key for command in commands().values() for key in (command.nothing, command.reply)}
    families = tuple(re.findall(r'say\(\s*f"(\w+)\{', code))
    quoted = set(re.findall(r'"(?=(\w+)")', code))
    assert [key for key in phrases() if key not in quoted and key not in answers and not key.startswith(families)] == []


def test_variables_are_filled_in() -> None:
    assert "130 MB" in say("file_too_large", "en", size_mb=130, limit_mb=100)
    assert "130 MB" in say("file_too_large", "zh", size_mb=130, limit_mb=100)


def test_a_missing_variable_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        say("file_too_large", "en", size_mb=130)


def test_an_unknown_key_names_the_nearest() -> None:
    with pytest.raises(KeyError, match="file_too_large"):
        say("file_too_larg", "en")


def test_a_count_is_written_as_its_language_writes_it() -> None:
    written = {language: number(1234567, language) for language in get_args(Language)}
    assert written["en"] == written["zh"] == written["ja"] == "1,234,567"
    assert written["de"] == written["es"] == "1.234.567"
    assert written["fr"] == "1\u202f234\u202f567"


def test_a_number_with_decimals_is_written_as_its_language_writes_it() -> None:
    written = {language: decimal(1234.5, 2, language) for language in get_args(Language)}
    assert written["en"] == written["zh"] == written["ja"] == "1,234.50"
    assert written["de"] == written["es"] == "1.234,50"
    assert written["fr"] == "1\u202f234,50"
    assert number(0.5, "de") == "0,5"
    assert number(-1200, "de") == "-1.200"


@pytest.mark.parametrize(
    ("value", "shown"), [(1_000_000.0, "1,000,000"), (1_234_567.0, "1,234,567"), (12_345.67, "12,345.67"), (0.3, "0.3")]
)
def test_a_limit_that_somebody_set_is_written_with_all_its_digits(value: float, shown: str) -> None:
    assert number(value, "en") == shown


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="format code"):
        say("notice_memory_error", "de", limit="many")


def test_a_list_ends_as_its_language_ends_it() -> None:
    told = {language: listed(["a", "b", "c"], language) for language in get_args(Language)}
    assert told == {
        "en": "a, b and c",
        "de": "a, b und c",
        "es": "a, b y c",
        "fr": "a, b et c",
        "zh": "a、b、c",
        "ja": "a、b、c",
    }
    assert listed(["a"], "de") == "a"
    assert listed([], "fr") == ""


def test_sentences_stand_apart_where_the_language_sets_spaces() -> None:
    assert joined(["One.", "Two."], "fr") == "One. Two."
    assert joined(["一。", "二。"], "ja") == "一。二。"
