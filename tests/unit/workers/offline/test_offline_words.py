"""What the offline analyst says: each sentence in every language, with the same values; and each word is used."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
from jinja2 import meta, nodes

import workers.offline
from core.phrases import OWN_FILES, say
from core.values import Language
from workers.offline import cells
from workers.offline.cells import templates
from workers.offline.lexicon import find, lexicon
from workers.offline.wording import environment, money, month, number, percent, sentences, when

ROOM = Path(workers.offline.__file__).parent
LANGUAGES = get_args(Language)
NAMED_BY_VALUES = {
    "@weekday",  # said without its sign
    "lacks_date", "lacks_number",  # Intent.lacks
    *(f"last_{step}" for step in "DWMQY"),  # values of dates.py
}  # fmt: skip
SAME_EVERYWHERE = {"marks", "dates", "single_number"}
"""Keys that hold no words, or only those of the data."""


@cache
def _texts() -> frozenset[str]:
    """Every text in the code of the room; names such as "@weekday" also without their sign."""
    found = set(NAMED_BY_VALUES)
    for file in [*ROOM.glob("*.py"), *ROOM.glob("intent/*.py")]:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        found |= {
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
    return frozenset(found | {text.removeprefix("@") for text in found})


def leaves(told: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    """Every sentence under a group of one language, by the way to it."""
    for key, text in told.items():
        if isinstance(text, Mapping):
            yield from leaves(text, f"{path}{key}.")
        else:
            yield f"{path}{key}", text


def shown(text: str) -> set[str]:
    """The values that a sentence shows, and those that its cell fills in; what it only asks about does not count."""
    found: set[str] = set()

    def walk(node: nodes.Node) -> None:
        if isinstance(node, nodes.If):
            parts: list[nodes.Node] = [*node.body, *node.elif_, *node.else_]
        elif isinstance(node, nodes.CondExpr):
            parts = [part for part in (node.expr1, node.expr2) if part is not None]
        elif isinstance(node, nodes.Getattr):
            found.add(_path(node))
            return
        elif isinstance(node, nodes.Name):
            found.add(node.name)
            return
        else:
            parts = list(node.iter_child_nodes())
        for part in parts:
            walk(part)

    parsed = environment("en").parse(text)
    for part in parsed.body:
        walk(part)
    own = {node.name for node in parsed.find_all(nodes.Name) if node.ctx != "load"}
    own |= {node.name for node in parsed.find_all(nodes.Macro)} | {"loop"}
    own |= {arg.name for macro in parsed.find_all(nodes.Macro) for arg in macro.args}
    values = {path for path in found if path.partition(".")[0] not in own}
    return values | set(re.findall(r"(?<!{){(\w+)}(?!})", re.sub(r"{{.*?}}", "", text)))


def _path(node: nodes.Node) -> str:
    if isinstance(node, nodes.Getattr):
        return f"{_path(node.node)}.{node.attr}"
    if isinstance(node, nodes.Getitem):
        return _path(node.node)
    return node.name if isinstance(node, nodes.Name) else ""


@pytest.mark.parametrize("group", sorted(sentences()))
def test_every_sentence_stands_in_every_language(group: str) -> None:
    told = sentences()[group]
    wanted = [path for path, _ in leaves(told["en"])]
    assert told.keys() == set(LANGUAGES)
    assert {language: sorted(set(wanted) ^ {path for path, _ in leaves(told[language])}) for language in told} == {
        language: [] for language in LANGUAGES
    }
    assert [(language, path) for language in told for path, text in leaves(told[language]) if not text] == [
        ("en", "dates") for _ in [0] if group == "cells"
    ]


@pytest.mark.parametrize("language", OWN_FILES)
@pytest.mark.parametrize("group", sorted(sentences()))
def test_a_translation_shows_the_same_values(group: str, language: Language) -> None:
    """The words `period` and `by` may be left out where a language says it without them."""
    english, own = dict(leaves(sentences()[group]["en"])), dict(leaves(sentences()[group][language]))
    words = {"period", "by"}
    assert {
        path: sorted((shown(text) ^ shown(own[path])) - words)
        for path, text in english.items()
        if (shown(text) ^ shown(own[path])) - words
    } == {}


@pytest.mark.parametrize("language", OWN_FILES)
@pytest.mark.parametrize("group", sorted(sentences()))
def test_no_translation_is_a_copy_of_the_english(group: str, language: Language) -> None:
    english, own = dict(leaves(sentences()[group]["en"])), dict(leaves(sentences()[group][language]))

    def plain(text: str) -> str:
        return re.sub(r"{{.*?}}|{%.*?%}|{\w+}", "", text)

    same = [path for path, text in english.items() if own[path] == text and path not in SAME_EVERYWHERE]
    assert [path for path in same if len(re.findall(r"[A-Za-z]{3,}", plain(english[path]))) > 0] == [
        path for path in same if path in ("methods.gradient boosting", "median", "aggregates.median")
    ]


def test_japanese_and_chinese_set_no_space_between_their_letters() -> None:
    gap = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff、。：（）] +[\u3040-\u30ff\u4e00-\u9fff]")
    lists = {"days", "month_names"}
    texts = [each for told in sentences().values() for key in ("zh", "ja") for each in leaves(told[key])]
    assert [
        path
        for path, text in texts
        if path not in lists and gap.search(re.sub(r"{%.*?%}|{{.*?}}|「[^」]*」", "x", text))
    ] == []


def test_people_are_addressed_politely() -> None:
    close = {
        "de": r"\b(?:du|dich|dir|dein\w*)\b",
        "es": r"\b(?:tú|tu|tus|ti|contigo)\b",
        "fr": r"\b(?:tu|toi|ton|tes)\b",
    }
    assert [
        text
        for told in sentences().values()
        for language, words in close.items()
        for _, text in leaves(told[language])
        if re.search(words, text, re.IGNORECASE)
    ] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_headings_of_a_report_are_folded_away_in_every_language(language: Language) -> None:
    """Method and limits stand behind a button: their headings must be those that the thread knows."""
    from core.slack.folding import folded

    frame = sentences()["frame"][language]
    report = f"**1**\n\n## {frame['findings']}\n\n- 2\n\n## {frame['method']}\n\n- 3\n\n## {frame['limits']}\n\n- 4\n"
    kept, hidden = folded(report)
    assert ("- 2" in kept, "- 3" in kept, "- 4" in kept) == (True, False, False)
    assert "- 3" in hidden


@pytest.mark.parametrize("group", sorted(set(sentences()) - {"cells"}))
def test_every_sentence_is_used(group: str) -> None:
    assert group in _texts()
    assert sentences()[group]["en"].keys() - _texts() == set()


def test_every_finding_is_one_that_the_code_tells() -> None:
    """A name that the code does not tell would take the whole section away."""
    findings = [told["en"].get("findings") for told in sentences().values()]
    names = {name for each in findings if isinstance(each, Mapping) for name in each}
    assert len(names) > 20
    assert names - _texts() == set()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_finding_shows_its_own_item_and_what_its_section_knows(language: Language) -> None:
    """The name of an item of a list is `one`; any other name would be undefined, and the section would be missing."""
    known = {"by", "c", "changes", "column", "extremes", "f", "h", "m", "moved_by", "one", "p", "pairs", "period", "s"}
    known |= {"singles", "steps", "t", "target", "test", "x", "y"}
    findings = [told[language].get("findings") for told in sentences().values()]
    texts = [text for each in findings if isinstance(each, Mapping) for text in each.values()]
    assert [meta.find_undeclared_variables(environment(language).parse(text)) - known for text in texts] == [
        set() for _ in texts
    ]


def test_every_word_of_a_cell_is_used() -> None:
    said = {key for template in templates() for key in cells.words_of(template)}
    assert said == sentences()["cells"]["en"].keys()


def test_every_template_has_a_title_and_the_other_way_round() -> None:
    assert sentences()["titles"]["en"].keys() == templates() - {"style"}


def test_every_group_of_the_lexicon_is_used() -> None:
    assert lexicon().keys() - _texts() == set()


@pytest.mark.parametrize("group", ["analyses", "frequencies", "aggregates", "parts_of_dates", "best_period", "charts"])
def test_every_meaning_in_the_lexicon_is_used(group: str) -> None:
    assert lexicon()[group].keys() - _texts() == set()


@pytest.mark.parametrize("group", ["harmless", "false_friends"])
def test_every_language_without_rules_of_its_own_has_its_words(group: str) -> None:
    assert lexicon()[group].keys() == set(OWN_FILES)


def test_numbers_are_written_as_the_language_writes_them() -> None:
    written = {language: (number(1234.5, language), money(1234567.0, "€", language)) for language in LANGUAGES}
    assert written["en"] == written["zh"] == written["ja"] == ("1,234", "€1,234,567")
    assert written["de"] == written["es"] == ("1.234", "1.234.567\u00a0€")
    assert written["fr"] == ("1\u202f234", "1\u202f234\u202f567\u00a0€")
    assert [percent(0.125, language) for language in LANGUAGES] == [
        "12,5\u00a0%" if language in ("de", "es", "fr") else "12.5%" for language in LANGUAGES
    ]
    assert money(-2.5, "$", "de") == "-2,50\u00a0$"


def test_times_are_written_as_the_language_writes_them() -> None:
    times = ["2023", "2023Q1", "2023-04", "2023-04-05"]
    assert {language: [when(time, language) for time in times] for language in LANGUAGES} == {
        "en": times,
        "zh": times,
        "de": ["2023", "Q1 2023", "April 2023", "05.04.2023"],
        "es": ["2023", "T1 2023", "abril de 2023", "05/04/2023"],
        "fr": ["2023", "T1 2023", "avril 2023", "05/04/2023"],
        "ja": ["2023年", "2023年第1四半期", "2023年4月", "2023/04/05"],
    }


def test_what_is_no_time_stays_as_it_is() -> None:
    for text in ("A-2023-04", "2023-13", "12.5", "20231", "nan"):
        assert when(text, "de") == text


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_year_has_twelve_months_and_a_week_seven_days(language: Language) -> None:
    assert len({month(number, language) for number in range(1, 13)}) == 12
    assert len(set(sentences()["words"][language]["days"].split())) == 7
    assert say("report_method", language)


def test_a_name_without_a_word_stands_nowhere() -> None:
    assert find(["__", "—", ""], "sales by __ — and region") == []
