"""The times of a schedule are said in words, in the language of the thread."""

from __future__ import annotations

from typing import get_args

import pytest

from core.schedules.rhythms import rhythm
from core.values import Language


@pytest.mark.parametrize(
    ("cron", "said"),
    [
        ("0 * * * *", "every hour"),
        ("0 */2 * * *", "every 2 hours"),
        ("5 9 * * *", "every day at 09:05"),
        ("30 17 * * 1-5", "every weekday at 17:30"),
        ("0 9 * * 1", "every Monday at 09:00"),
        ("0 9 * * 1,3,7", "every Monday, Wednesday and Sunday at 09:00"),
        ("0 9 15 * *", "on day 15 of every month at 09:00"),
        ("0 9 L * *", "on the last day of every month at 09:00"),
        ("*/5 * * * *", "cron */5 * * * *"),
        ("0 9,17 * * *", "cron 0 9,17 * * *"),
        ("0 9 1 * 1", "cron 0 9 1 * 1"),
        ("0 9 * 1 1", "cron 0 9 * 1 1"),
    ],
)
def test_common_rhythms_are_words_and_others_are_cron(cron: str, said: str) -> None:
    assert rhythm(cron, "en") == said


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("zh", "每周一、周三 09:00"),
        ("de", "jeden Montag und Mittwoch um 09:00 Uhr"),
        ("es", "cada lunes y miércoles a las 09:00"),
        ("fr", "chaque lundi et mercredi à 09:00"),
        ("ja", "毎週月曜、水曜の 09:00"),
    ],
)
def test_days_are_named_in_the_language_of_the_thread(language: Language, said: str) -> None:
    assert rhythm("0 9 * * 1,3", language) == said


@pytest.mark.parametrize("cron", ["0 * * * *", "0 */6 * * *", "0 9 * * *", "0 9 * * 1-5", "0 9 7 * *", "0 9 L * *"])
def test_no_language_shows_cron_for_a_common_rhythm(cron: str) -> None:
    assert not any("*" in rhythm(cron, language) for language in get_args(Language))
