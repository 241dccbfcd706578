"""What is clearly a wish for a schedule, and no whole order: nothing is scheduled, and no model is asked."""

from __future__ import annotations

import pytest

from core.commands.registry import command_in
from core.phrases import say
from core.schedules.wishes import wishes_schedule
from core.schedules.words import read_schedule
from core.values import Language


@pytest.mark.parametrize(
    "said",
    [
        "Mondays at 9",
        "every Monday",
        "every Monday at 9",
        "run this every Monday",
        "every Monday run this again",
        "Run this report again every Monday",
        "schedule this for every Monday at 9",
        "Mondays at 9 run this again",
        "run this again Mondays at 9",
        "please send me this report every Monday",
        "can you do this every morning?",
        "do this every week",
        "jeden Montag",
        "montags um 9 Uhr",
        "jeden Montag um 9 Uhr",
        "jeden Montag erneut ausführen",
        "Bitte führe das jeden Montag aus",
        "Kannst du mir das jeden Montag schicken?",
        "每周一",
        "每周一9点",
        "每周一重新运行",
        "请每天早上更新",
        "每天9点发给我",
        "毎週月曜9時",
        "毎週月曜",
        "毎週月曜に再実行してください",
        "chaque lundi",
        "le lundi à 9h",
        "relancer chaque lundi",
        "Envoie-moi ce rapport chaque lundi",
        "cada lunes a las 9",
        "cada lunes",
        "los lunes a las 9",
        "ejecuta esto cada lunes",
        "weekly at 9 run this again",
        "remind me every Monday",
        "post this every Monday at 9",
        "daily at 9",
        "run this again every morning",
        "run this again every weekday",
        "every Monday and Friday",
        "update this report every day",
        "every Monday 25:00 run this again",
        "every Monday at 9:00, please",
    ],
)
def test_a_wish_that_lacks_its_time_or_its_order_is_found(said: str) -> None:
    assert wishes_schedule(said)
    command = command_in(said)
    assert command is not None
    assert command.name == "schedule_wish"


@pytest.mark.parametrize(
    "said",
    [
        "every region's total?",
        "why did sales fall again every Monday at 9:00?",
        "Every Monday at 9:00 we sell more",
        "run this again",
        "run this again for every region",
        "run this again for each month",
        "run this again for every Monday",
        "run the regression for every month",
        "每周一的销售额是多少",
        "每周一的销售额",
        "Wie hoch ist der Umsatz jeden Montag um 9:00?",
        "cada lunes a las 9 vendemos más",
        "毎週月曜 9時の売上",
        "weekly",
        "monthly",
        "every month",
        "monthly?",
        "Mondays",
        "every Monday?",
        "every Monday's total",
        "sales every Monday",
        "average per weekday",
        "total by month",
        "every 2 weeks",
        "Show sales on Mondays at 9",
        "only Mondays",
        "What about Mondays at 9?",
        "not every Monday",
        "every Monday except holidays",
        "compare every month",
        "top 5 every Monday",
        "daily 2023",
        "daily sales",
        "on Mondays at 9 the shop opens",
        "le lundi",
        "el lunes",
        "el 5 de cada mes",
        "x" * 500,
        "",
    ],
)
def test_a_question_is_no_wish_for_a_schedule(said: str) -> None:
    assert not wishes_schedule(said)


@pytest.mark.parametrize("language", ["en", "zh", "de", "es", "fr", "ja"])
def test_the_example_that_people_and_models_are_given_is_a_whole_order(language: Language) -> None:
    words = read_schedule(say("schedule_example", language))
    assert words is not None
    assert (words.cron, words.unread) == ("0 9 * * 1", "")
    assert say("schedule_example", language) in say("schedule_wish", language)
