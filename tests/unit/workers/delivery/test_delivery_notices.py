"""What the executor has codes for is worded for people and for the model in `phrases.yaml`."""

from __future__ import annotations

import re
from typing import get_args

import pytest
from jinja2 import meta

from core.phrases import environment, phrases, say
from core.values import Language
from executor.notices import CODES, notice, text_notice
from executor.values import CellResult, Notice
from workers.delivery.notices import worded


def result(*notices: Notice) -> CellResult:
    return CellResult("c", "killed", notices=notices)


@pytest.mark.parametrize("language", get_args(Language))
def test_every_code_of_the_executor_has_a_phrase_with_exactly_its_values(language: Language) -> None:
    templates = {code: phrases()[f"notice_{code}"].text(language) for code in CODES}
    used = {code: meta.find_undeclared_variables(environment(language).parse(text)) for code, text in templates.items()}
    assert {code: more for code, names in used.items() if (more := names - CODES[code])} == {}
    if language == "en":
        assert used == CODES


def test_every_code_of_the_executor_is_worded_in_chinese() -> None:
    told = {code: say(f"notice_{code}", "zh", **dict.fromkeys(names, 1234)) for code, names in CODES.items()}
    assert {code: text for code, text in told.items() if not re.search(r"[\u4e00-\u9fff]", text)} == {}


def test_every_phrase_of_a_notice_belongs_to_a_code() -> None:
    assert {key.removeprefix("notice_") for key in phrases() if key.startswith("notice_")} == set(CODES)


def test_a_notice_is_worded_with_its_parts_in_the_language_of_the_thread() -> None:
    stopped = result(notice("over_limit", what="cell", why=notice("used_memory", limit=2048)), notice("as_before"))
    assert worded(stopped, "en") == (
        "the cell was stopped: it used more than its 2,048 MB of memory. "
        "The variables are as they were before this cell."
    )
    assert worded(stopped, "zh") == (
        "代码单元已被停止：使用的内存超过 2,048 MB 的上限。变量恢复到这个代码单元运行之前的状态。"
    )


def test_what_an_older_host_stored_in_words_is_passed_on() -> None:
    mixed = result(text_notice("Before it failed, the cell set x."), notice("all_kept"))
    assert worded(mixed, "zh") == "Before it failed, the cell set x.所有变量都已保留。"


@pytest.mark.parametrize(
    ("strange", "shown"),
    [
        (Notice("of_tomorrow"), "of_tomorrow"),
        (Notice("used_memory", {"other": "value"}), "used_memory (other=value)"),
        (Notice("used_memory", {"limit": "much"}), "used_memory (limit=much)"),
    ],
)
def test_a_notice_of_another_version_is_shown_as_its_code(strange: Notice, shown: str) -> None:
    assert worded(result(strange, notice("all_kept")), "en") == f"{shown} All variables are kept."


def test_no_notice_is_no_words() -> None:
    assert worded(result(), "zh") == ""


def test_a_notice_of_the_executor_has_a_known_code_and_its_values() -> None:
    with pytest.raises(KeyError):
        notice("of_tomorrow")
    with pytest.raises(ValueError, match="used_memory has the values"):
        notice("used_memory", other=1)
