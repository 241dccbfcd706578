"""What the executor says, people read in the language of their thread."""

from __future__ import annotations

import re
from string import Formatter

import pytest

from core.phrases import say
from executor.notices import SENTENCES, notices_of, said, together
from executor.values import CellResult, Notice
from workers.notices import worded


def values_for(sentence: str) -> dict[str, str | float]:
    fields = [(name, spec) for _, name, spec, _ in Formatter().parse(sentence) if name]
    return {name: 1234 if spec else "words" for name, spec in fields}


def result(*parts: str | None) -> CellResult:
    notice = together(*parts)
    return CellResult("c", "killed", notice=notice, notices=notices_of(notice))


@pytest.mark.parametrize("code", SENTENCES)
def test_every_sentence_of_the_executor_has_its_words_and_the_same_english(code: str) -> None:
    values = values_for(SENTENCES[code])
    assert say(f"notice_{code}", "en", **values) == str(said(code, **values))
    assert re.search(r"[\u4e00-\u9fff]", say(f"notice_{code}", "zh", **values))


def test_a_notice_is_worded_with_its_parts_in_the_language_of_the_thread() -> None:
    stopped = result(said("over_limit", what="cell", why=said("used_memory", limit=2048)), said("as_before"))
    assert worded(stopped, "en") == stopped.notice
    assert worded(stopped, "zh") == (
        "代码单元已被停止：使用的内存超过 2,048 MB 的上限。变量恢复到这个代码单元运行之前的状态。"
    )


def test_what_a_subprocess_says_in_its_own_words_is_passed_on() -> None:
    mixed = result("Before it failed, the cell set x.", said("all_kept"))
    assert worded(mixed, "zh") == "Before it failed, the cell set x.所有变量都已保留。"


@pytest.mark.parametrize("strange", [Notice("of_tomorrow"), Notice("used_memory", {"other": "value"})])
def test_a_notice_of_another_version_is_shown_in_the_executors_own_english(strange: Notice) -> None:
    assert worded(CellResult("c", "ok", notice="English.", notices=(strange,)), "zh") == "English."


def test_no_notice_is_no_words() -> None:
    assert worded(CellResult("c", "ok"), "zh") == ""
