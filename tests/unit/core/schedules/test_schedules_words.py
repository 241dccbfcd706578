"""What orders a report again and again, and what is only a question."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from core.commands.registry import command_in
from core.schedule_times import BadTimes, next_time
from core.schedules.thresholds import Threshold
from core.schedules.words import read_schedule


@pytest.mark.parametrize(
    ("said", "cron"),
    [
        ("every Monday 9:00 run this again", "0 9 * * 1"),
        ("Please run this again every day at 8:30am", "30 8 * * *"),
        ("rerun it every weekday at 17", "0 17 * * 1-5"),
        ("run this report every Tuesday, Thursday and Friday at 12:05 pm", "5 12 * * 2,4,5"),
        ("every month on the 3rd at 7:15 run this again", "15 7 3 * *"),
        ("run this again every 2 hours", "0 */2 * * *"),
        ("cron 0 9 1-7 * 1 run this again", "0 9 1-7 * 1"),
        ("每周一 9:00 重新运行", "0 9 * * 1"),
        ("jeden Montag 9:00 noch einmal ausführen", "0 9 * * 1"),
        ("Bitte jeden Dienstag und Freitag um 17 Uhr 30 erneut ausführen", "30 17 * * 2,5"),
        ("jeden Werktag um 8 Uhr noch einmal berechnen", "0 8 * * 1-5"),
        ("Jeden Monat am 3. um 7:15 noch einmal ausführen", "15 7 3 * *"),
        ("alle 2 Stunden erneut ausführen", "0 */2 * * *"),
        ("cada lunes 9:00 ejecutar de nuevo", "0 9 * * 1"),
        ("Ejecuta esto todos los días a las 8", "0 8 * * *"),
        ("repite este informe cada martes, jueves y sábado 12:05", "5 12 * * 2,4,6"),
        ("ejecutar de nuevo el día 3 de cada mes 7:15", "15 7 3 * *"),
        ("chaque lundi 9:00 relancer", "0 9 * * 1"),
        ("Relance ce rapport tous les mercredis et vendredis à 9h30", "30 9 * * 3,5"),
        ("relancer le 1er de chaque mois à 7 h", "0 7 1 * *"),
        ("réexécuter toutes les heures", "0 * * * *"),
        ("毎週月曜 9:00 もう一度実行", "0 9 * * 1"),
        ("毎週火曜日・金曜日の午後3時半に再実行してください", "30 15 * * 2,5"),
        ("平日 8時に再実行", "0 8 * * 1-5"),
        ("毎月3日 7:15 もう一度計算", "15 7 3 * *"),
        ("每周一、三下午3点半重跑", "30 15 * * 1,3"),
        ("每天早上 8 点再运行一次", "0 8 * * *"),
        ("每个工作日9:05重新执行", "5 9 * * 1-5"),
        ("每月15号 10点 重新运行", "0 10 15 * *"),
        ("每3小时重新运行", "0 */3 * * *"),
        ("run this again every Monday to Friday at 9", "0 9 * * 1,2,3,4,5"),
        ("run this again every Friday-Sunday at 9", "0 9 * * 0,5,6"),
        ("jeden Montag bis Mittwoch um 9 Uhr erneut ausführen", "0 9 * * 1,2,3"),
        ("每周一到周五9点重新运行", "0 9 * * 1,2,3,4,5"),
        ("毎週月曜から金曜まで9時に再実行", "0 9 * * 1,2,3,4,5"),
        ("run this again every Monday at 9:00 with the data of last week", "0 9 * * 1"),
        ("run this again every Monday at 9:00 with the data until yesterday", "0 9 * * 1"),
        ("run this again every month at 9:00", "0 9 1 * *"),
        ("run this again on the 31st of every month at 9:00", "0 9 L * *"),
        ("每月31号 9点 重新运行", "0 9 L * *"),
        ("run this again every day at 5 p.m.", "0 17 * * *"),
        ("run this again every day at 9 in the evening", "0 21 * * *"),
        ("every Monday evening at 7 run this again", "0 19 * * 1"),
        ("run this again every day at 5 o’clock in the afternoon", "0 17 * * *"),
        ("run this again every day at 12 at night", "0 0 * * *"),
        ("run the evening report again every day at 9:00", "0 9 * * *"),
        ("run the noon report again every day at 9:00", "0 9 * * *"),
        ("run this again every day at noon with the data of 10:00", "0 12 * * *"),
        ("every day, noon: run this again", "0 12 * * *"),
        ("jeden Montag um 9 Uhr abends erneut ausführen", "0 21 * * 1"),
        ("jeden Tag nachmittags um 3 Uhr erneut ausführen", "0 15 * * *"),
        ("jeden Tag um 8 Uhr früh erneut ausführen", "0 8 * * *"),
        ("cada lunes a las 7 de la tarde ejecuta esto de nuevo", "0 19 * * 1"),
        ("cada lunes por la noche a las 10 ejecuta esto de nuevo", "0 22 * * 1"),
        ("chaque lundi à 7 heures du soir, relance", "0 19 * * 1"),
        ("chaque lundi à 9 h 30 relance", "30 9 * * 1"),
        ("每天晚上 9:30 重新运行", "30 21 * * *"),
        ("每天晚上12点重新运行", "0 0 * * *"),
        ("每天中午1点重新运行", "0 13 * * *"),
        ("每天傍晚6点重新运行", "0 18 * * *"),
        ("每天凌晨2点重新运行", "0 2 * * *"),
        ("毎日夜の9時に再実行", "0 21 * * *"),
        ("毎日午後 3:30 再実行", "30 15 * * *"),
    ],
)
def test_times_in_words_become_cron(said: str, cron: str) -> None:
    words = read_schedule(said)
    assert words is not None
    assert words.cron == cron
    command = command_in(f" {said} ", mention=False)
    assert command is not None
    assert command.name == "schedule"


@pytest.mark.parametrize(
    "said",
    [
        "cron 0 9 * * 1 run this again until June",
        "cron 0 9 * * 1#5 run this again",
        "cron 0 9 * * MON run this again",
        "run this again every 31 February at 9:00",
        "jeden 31. Februar um 9 Uhr erneut ausführen",
        "ejecuta esto de nuevo cada 31 de febrero a las 9",
        "run this again every 24 hours",
        "run this again every 5 hours",
        "run this again every 0 hours",
        "run this again every hour between 9 and 17",
        "run this again every hour on weekdays",
        "run this again every month on the last day at 9:00",
        "run this again every month on the first Monday at 9:00",
        "run this again every other Monday at 9:00",
        "run this again every two weeks on Monday at 9",
        "run this again every quarter at 9:00",
        "run this again every day at 9 a.m. and 5 p.m.",
        "run this again every day at 9 in the morning and 5 in the afternoon",
        "run this again every day at quarter past 9 am",
        "jeden Montag um halb 9 Uhr erneut ausführen",
        "cada lunes a las 9 y media ejecuta esto de nuevo",
        "chaque lundi à 9 heures et demie, relance",
        "每天下午3点一刻重新运行",
        "毎日9時15分前に再実行",
        "run this again daily at 9 and 17",
        "run this again every day at 9:00 and 17:00",
        "run this again every day at 9:00 until Friday",
        "run this again every Monday at 9:00 for the next 3 weeks",
        "run this again every Monday 9:00 only on odd weeks",
        "run this again every day except Monday at 9:00",
        "run this again every day but Sunday at 9:00",
        "run this again every day at 9:00 starting next month",
        "run this again every weekend at 9:00",
        "jeden zweiten Montag um 9 Uhr erneut ausführen",
        "alle zwei Wochen um 9 Uhr erneut ausführen",
        "jeden Tag außer Montag um 9 Uhr erneut ausführen",
        "jeden Montag um 9 Uhr erneut ausführen bis Ende Juni",
        "ejecuta esto de nuevo cada día a las 9 excepto el lunes",
        "relancer chaque jour à 9h00 sauf le lundi",
        "relancer chaque premier lundi à 9h00",
        "每两周周一9点重新运行",
        "每隔一天9点重新运行",
        "每月最后一天9点重新运行",
        "每天9点重新运行，除了周一",
        "隔週月曜 9時に再実行",
        "毎月最終日9時に再実行",
        "毎日9時に再実行、月曜以外",
    ],
)
def test_times_that_cannot_be_read_are_not_taken_for_others(said: str) -> None:
    words = read_schedule(said)
    assert words is not None
    assert (words.cron, words.unread) == ("", "times")
    with pytest.raises(BadTimes, match="schedule_bad_times"):
        next_time(words.cron, "Europe/Berlin", datetime.now(UTC))


@pytest.mark.parametrize(
    "said",
    [
        "every Monday at 9:00 EST run this again",
        "every Monday at 9:00 (CET) run this again",
        "every Monday 9am PT run this again",
        "every Monday at 9:00 UTC+2 run this again",
        "every Monday at 9:00 Berlin time run this again",
        "every Monday at 9 a.m. New York time run this again",
        "jeden Montag um 9 Uhr MEZ erneut ausführen",
        "chaque lundi à 9h heure de Paris, relance",
    ],
)
def test_a_time_zone_that_is_no_name_is_not_left_out(said: str) -> None:
    words = read_schedule(said)
    assert words is not None
    assert words.unread == "zone"


@pytest.mark.parametrize(
    ("said", "zone"),
    [
        ("every Monday at 9:00 Europe/Berlin run this again", "Europe/Berlin"),
        ("every Monday at 9:00 Europe/Berlin time run this again", "Europe/Berlin"),
        ("every Monday at 9:00 utc run this again", "UTC"),
        ("every Monday at 9:00 GMT run this again", "GMT"),
        ("every Monday at 9:00 local time run this again", ""),
        ("every Monday at 9:00 run this time series report again", ""),
        ("tous les lundis à 9:00 et relancez ce rapport", ""),
    ],
)
def test_a_time_zone_has_its_name_or_is_that_of_the_person(said: str, zone: str) -> None:
    words = read_schedule(said)
    assert words is not None
    assert (words.zone, words.unread) == (zone, "")


@pytest.mark.parametrize(
    ("said", "cron"),
    [
        ("every Monday at 9.30 run this again", "30 9 * * 1"),
        ("every Monday at 9.15 pm run this again", "15 21 * * 1"),
        ("jeden Montag um 9.30 Uhr erneut ausführen", "30 9 * * 1"),
        ("chaque lundi à 17.05 relance", "5 17 * * 1"),
        ("every Monday at 9:00 run this again, only when churn goes above 9.30 %", "0 9 * * 1"),
    ],
)
def test_a_point_in_a_time_is_a_colon(said: str, cron: str) -> None:
    words = read_schedule(said)
    assert words is not None
    assert (words.cron, words.unread) == (cron, "")


@pytest.mark.parametrize(
    "said",
    [
        "don't run this again every Monday at 9:00",
        "Please do not run this again every day at 9:00",
        "run this again every day at 9:00, not on weekends",
        "no longer run this again every 2 hours",
        "bitte nicht jeden Montag um 9 Uhr erneut ausführen",
        "ya no ejecutes esto cada lunes a las 9",
        "ne relance plus ce rapport chaque lundi à 9h",
        "不要每天9点重新运行",
        "毎日9時に再実行しないで",
    ],
)
def test_an_order_not_to_run_schedules_nothing(said: str) -> None:
    words = read_schedule(said)
    assert words is not None
    assert (words.cron, words.unread) == ("", "times")


@pytest.mark.parametrize(
    "said",
    [
        "run this again every Monday, Tuesday or Friday at 9:00",
        "run this again every Monday/Friday at 9:00",
        "run this again every Mon & Fri at 9:00",
        "run this again every Monday at 9:00 and on Friday",
        "run this again every Monday and every Friday at 9:00",
        "run this again every Monday and the 1st of every month at 9:00",
        "run this again every Monday to Wednesday and Friday at 9:00",
        "run this again every Monday in December at 9:00",
        "run this again every Monday this month at 9:00",
        "jeden Montag um 9 Uhr und jeden Freitag um 9 Uhr erneut ausführen",
        "ejecuta esto de nuevo todos los lunes y los viernes a las 9",
        "relancer chaque lundi et le vendredi à 9h",
        "每周一9点、每周五9点重新运行",
        "毎週月曜9時と金曜9時に再実行",
    ],
)
def test_days_beside_those_that_were_read_are_not_left_out(said: str) -> None:
    words = read_schedule(said)
    assert words is not None
    assert (words.cron, words.unread) == ("", "times")


@pytest.mark.parametrize(
    "said",
    [
        "run this again every Monday at 9:00 with last Sunday's data",
        "run the daily report again every day at 9:00",
        "run the not-shipped report again every Monday at 9:00, not on holidays",
        "run this again every Monday at 9:00 with the data of this month",
        "chaque lundi à 9h relance mon rapport",
        "每周一9点用上周日的数据重新运行",
    ],
)
def test_words_about_the_data_are_no_further_days(said: str) -> None:
    words = read_schedule(said)
    assert words is not None
    assert (words.cron[:3], words.unread) == ("0 9", "")


@pytest.mark.parametrize(
    "said",
    [
        "every month on the 1st and 15th at 9 run this again",
        "run this again on the 1st and 15th of every month at 9",
        "run this again on the 1st, 15th of every month at 9",
        "every month on the 1st & 15th at 9 run this again",
        "run this again on the 15 of every month at 9",
        "jeden Monat am 1. und 15. um 9 Uhr noch einmal ausführen",
        "cada día 1 a las 9 ejecutar de nuevo",
        "el día 1 y 15 de cada mes a las 9 ejecutar de nuevo",
        "el 1 y el 15 de cada mes a las 9 ejecutar de nuevo",
        "le 1er et le 15 de chaque mois à 9h relancer",
        "le 1er et 15 de chaque mois à 9h relancer",
        "每月1号和15号9点重新运行",
        "每月1日、15日9点重新运行",
        "毎月1日と15日の9時に再実行",
        "每天8:30重新运行，周末除外",
        "每天8:30重新运行，除周末",
        "tous les jours de la semaine à 8h30 relancer",
        "run this again every day at 9, no weekends",
        "run this again every day but weekends at 9",
        "jeden Tag ohne Wochenende um 9 Uhr noch einmal ausführen",
        "todos los días a las 9 sin fines de semana ejecutar de nuevo",
    ],
)
def test_a_second_day_of_the_month_and_free_weekends_are_not_left_out(said: str) -> None:
    words = read_schedule(said)
    assert words is not None
    assert (words.cron, words.unread) == ("", "times")


@pytest.mark.parametrize(
    ("said", "cron"),
    [
        ("cada día hábil a las 8:30 ejecutar de nuevo", "30 8 * * 1-5"),
        ("los días hábiles a las 8:30 ejecutar de nuevo", "30 8 * * 1-5"),
        ("tous les jours ouvrés à 8h30 relancer", "30 8 * * 1-5"),
        ("tous les jours ouvrables à 8h30 relancer", "30 8 * * 1-5"),
        ("jeden Arbeitstag um 8:30 noch einmal ausführen", "30 8 * * 1-5"),
        ("an jedem Werktag um 8:30 noch einmal ausführen", "30 8 * * 1-5"),
        ("run this again each weekday at 8:30", "30 8 * * 1-5"),
        ("run this again on day 5 of every month at 9", "0 9 5 * *"),
        ("every month on day 15 at 9 run this again", "0 9 15 * *"),
        ("run this again on the 1st of every month at 9", "0 9 1 * *"),
        ("run this again every month at 9 with the 10 best customers", "0 9 1 * *"),
        ("el día 3 de cada mes 7:15 ejecutar de nuevo", "15 7 3 * *"),
        ("cada día a las 9 ejecutar de nuevo", "0 9 * * *"),
        ("cada día 9:00 ejecutar de nuevo", "0 9 * * *"),
        ("le 15 de chaque mois à 9h relancer", "0 9 15 * *"),
        ("每月15号 10点 重新运行", "0 10 15 * *"),
        ("毎月3日 7:15 もう一度計算", "15 7 3 * *"),
    ],
)
def test_working_days_and_days_of_the_month_are_read_in_further_words(said: str, cron: str) -> None:
    words = read_schedule(said)
    assert words is not None
    assert (words.cron, words.unread) == (cron, "")


@pytest.mark.parametrize(
    "said",
    [
        "every region's total?",
        "why did sales fall again every Monday at 9:00?",
        "Should we run this report every Monday at 9:00?",
        "Every Monday at 9:00 we sell more",
        "run this again",
        "every Monday 25:00 run this again",
        "every Monday run this again",
        "每周一的销售额是多少",
        "Wie hoch ist der Umsatz jeden Montag um 9:00?",
        "Jeden Montag um 9:00 verkaufen wir mehr",
        "cada lunes a las 9 vendemos más",
        "chaque lundi à 9h nous vendons plus",
        "毎週月曜 9時の売上",
        "x" * 500,
        "",
    ],
)
def test_a_question_or_half_an_order_is_none(said: str) -> None:
    assert read_schedule(said) is None
    command = command_in(said)
    assert command is None or command.name != "schedule"


@pytest.mark.parametrize(
    ("said", "threshold"),
    [
        (
            "only when the churn rate crosses 12 %",
            Threshold(name="churn rate", crossing="either", limit=12, percent=True),
        ),
        ("only when sales are below 1,200,000", Threshold(name="sales", crossing="below", limit=1_200_000)),
        ("only if total goes below 1,500.5", Threshold(name="total", crossing="below", limit=1500.5)),
        ("only when it exceeds 3", Threshold(name="", crossing="above", limit=3)),
        ("只在流失率超过12%时", Threshold(name="流失率", crossing="above", limit=12, percent=True)),
        ("仅当销售额低于 3 万", Threshold(name="销售额", crossing="below", limit=30_000)),
        ("仅当销售额低于 3 亿", Threshold(name="销售额", crossing="below", limit=300_000_000)),
        ("only when sales are above 1.5 million", Threshold(name="sales", crossing="above", limit=1_500_000)),
        (
            "only when the growth rate goes above 5 %",
            Threshold(name="growth rate", crossing="above", limit=5, percent=True),
        ),
        ("只在不良率超过5%时", Threshold(name="不良率", crossing="above", limit=5, percent=True)),
        ("only if revenue exceeds 5k", Threshold(name="revenue", crossing="above", limit=5_000)),
        ("only when revenue is above $500", Threshold(name="revenue", crossing="above", limit=500)),
        ("only if the total falls below EUR 2.5m", Threshold(name="total", crossing="below", limit=2_500_000)),
    ],
)
def test_a_limit_is_read_with_its_figure_and_its_number_is_no_time(said: str, threshold: Threshold) -> None:
    words = read_schedule(f"every Monday 9:00 run this again, {said}")
    assert words is not None
    assert words.threshold == threshold
    assert (words.cron, words.unread) == ("0 9 * * 1", "")


@pytest.mark.parametrize(
    "said",
    [
        "only when churn is at least 12 %",
        "only when churn <= 5 %",
        "only if the number of orders is 0",
        "only when churn rises",
        "only if sales fall by more than 10 %",
        "only when sales drop more than 5 % against last week",
        "only when sales are not above 100",
        "only when sales are above 1 500",
        "only when churn is above 12,5 %",
        "only when sales are below 1.200.000",
        "只在流失率超过12,5%时",
        "only when churn is above 12 % or sales are below 100",
        "if churn is above 12 %",
        "unless churn is below 5 %",
        "只在流失率变化超过12%时",
        "如果流失率大于12%",
        "nur wenn der Umsatz unter 5 fällt",
        "sólo si las ventas bajan de 5",
        "seulement si les ventes passent sous 5",
        "売上が 5 を下回ったときだけ",
    ],
)
def test_a_limit_that_cannot_be_read_is_not_taken_for_another_or_none(said: str) -> None:
    for order in (f"every Monday 9:00 run this again, {said}", f"jeden Montag 9:00 noch einmal ausführen, {said}"):
        words = read_schedule(order)
        assert words is not None
        assert words.unread == "limit"


def test_a_zone_and_a_file_pattern_are_read() -> None:
    words = read_schedule("every Monday 9:00 America/New_York run this again with the newest sales_*.csv")
    assert words is not None
    assert (words.zone, words.pattern) == ("America/New_York", "sales_*.csv")


@pytest.mark.parametrize(
    ("said", "on_days_off"),
    [
        ("every Monday 9:00 run this again", ""),
        ("every Monday 9:00 run this again, not on holidays", "skip"),
        ("every weekday at 8:00 run this again except public holidays", "skip"),
        ("run this again every day at 9:00, skip bank holidays", "skip"),
        ("every Monday 9:00 run this again, on holidays the next working day", "next"),
        ("every Monday 9:00 run this again, or the next business day", "next"),
        ("每周一 9:00 重新运行，节假日除外", "skip"),
        ("每天9:00重新运行，节假日不运行", "skip"),
        ("每周一 9:00 重新运行，除节假日外", "skip"),
        ("每周一 9:00 重新运行，遇节假日顺延", "next"),
        ("每周一 9:00 重新运行，遇节假日顺延到下一个工作日", "next"),
        ("jeden Montag 9:00 noch einmal ausführen, nicht an Feiertagen", "skip"),
        ("jeden Montag 9:00 noch einmal ausführen, außer an Feiertagen", "skip"),
        ("jeden Montag 9:00 noch einmal ausführen, sonst am nächsten Werktag", "next"),
        ("cada lunes 9:00 ejecutar de nuevo, excepto festivos", "skip"),
        ("chaque lundi 9:00 relancer, sauf les jours fériés", "skip"),
        ("毎週月曜 9:00 もう一度実行、祝日を除く", "skip"),
        ("毎週月曜 9:00 もう一度実行、祝日は翌営業日", "next"),
    ],
)
def test_words_say_what_becomes_of_a_run_on_a_day_off(said: str, on_days_off: str) -> None:
    words = read_schedule(said)
    assert words is not None
    assert words.on_days_off == on_days_off
    assert words.cron.split()[-1] in ("1", "*", "1-5")
