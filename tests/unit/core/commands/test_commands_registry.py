"""Words that are commands: a message that says one of them and nothing else."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from core.commands.registry import ANSWERS, argument_of, command_in, commands, language_of
from core.commands.words import OPENING_CHARS
from core.formats import FORMATS
from core.phrases import phrases, say
from core.values import Language


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Undo!", "undo"),
        ("undo, please", "undo"),
        ("撤销。", "undo"),
        ("ＲＥＳＥＴ", "reset"),
        ("重置", "reset"),
        ("  Continue… ", "continue"),
        ("继续！", "continue"),
        ("Stop", "stop"),
        ("Help?", "help"),
        ("帮助", "help"),
        ("Stopp!", "stop"),
        ("bitte rückgängig", "undo"),
        ("Noch einmal versuchen", "continue"),
        ("Hilfe?", "help"),
        ("¡Para!", "stop"),
        ("¿Qué recuerdas?", "recall"),
        ("Continúe, por favor", "continue"),
        ("¡Ayuda!", "help"),
        ("Arrêtez, s’il vous plaît", "stop"),
        ("Où en es-tu ?", "status"),
        ("Qu’as-tu mémorisé ?", "recall"),
        ("réessayer", "continue"),
        ("止めてください。", "stop"),
        ("取り消し", "undo"),
        ("ＰＤＦで", "pdf"),
        ("続けて！", "continue"),
        ("Make it a slide!", "slides"),
        ("Mach eine Folie daraus", "slides"),
    ],
)
def test_a_command_is_recognised_in_any_case_and_with_any_marks(text: str, name: str) -> None:
    assert command_in(text) == commands()[name]


@pytest.mark.parametrize(
    ("text", "name", "taken"),
    [
        ("merke dir: aktiver Kunde = Bestellung in 90 Tagen", "remember", "aktiver Kunde = Bestellung in 90 Tagen"),
        ("apunta: los importes están en miles", "note", "los importes están en miles"),
        ("mémorise : les montants sont hors TVA", "remember", "les montants sont hors TVA"),
        ("覚えて：金額は税抜き", "remember", "金額は税抜き"),
        ("Notiz: Beträge in Tausend", "note", "Beträge in Tausend"),
        ("bauen: ein Werkzeug, das Umsätze zählt", "build", "ein Werkzeug, das Umsätze zählt"),
        ("construir: una herramienta que cuente ventas", "build", "una herramienta que cuente ventas"),
        ("construire : un outil qui compte les ventes", "build", "un outil qui compte les ventes"),
        ("構築：売上を数えるツール", "build", "売上を数えるツール"),
        ("Anpassen: es nimmt auch Excel", "change", "es nimmt auch Excel"),
        ("cambiar: también acepta Excel", "change", "también acepta Excel"),
        ("modifier : il accepte aussi Excel", "change", "il accepte aussi Excel"),
        ("変更：Excel も受け取る", "change", "Excel も受け取る"),
        ("関数を学習：解約率を求める", "learn", "解約率を求める"),
        ("make this a program: it takes a region", "program", "it takes a region"),
        ("mach daraus ein Programm: mit Region", "program", "mit Region"),
        ("做成程序：按地区", "program", "按地区"),
        ("keep this as a playbook: monthly sales", "playbook", "monthly sales"),
    ],
)
def test_a_command_takes_the_words_behind_its_colon_in_every_language(text: str, name: str, taken: str) -> None:
    assert command_in(text, mention=False) == commands()[name]
    assert argument_of(name, text) == taken


@pytest.mark.parametrize("text", ["as a program it would be slow", "make this a program that reads sales.csv"])
def test_words_without_a_colon_behind_it_are_a_question(text: str) -> None:
    assert command_in(text) is None


def test_so_much_of_a_message_is_compared_that_every_word_fits() -> None:
    assert all(len(word) * 2 <= OPENING_CHARS for each in commands().values() for word in each.longest_first)


@pytest.mark.parametrize(
    "text", ["find the ten best customers", "search for outliers", "查找异常值", "suchen wir Ausreißer"]
)
def test_a_question_that_begins_like_a_search_is_a_question(text: str) -> None:
    assert command_in(text) is None


@pytest.mark.parametrize(
    "text", ['find "churn march"', "find: churn march", "查找：churn march", "suchen „churn march“"]
)
def test_words_behind_a_colon_or_in_quotation_marks_are_looked_for(text: str) -> None:
    assert command_in(text) == commands()["find"]
    assert "churn march" in (argument_of("find", text) or "")


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("Merke dir, dass Beträge netto sind", "Beträge netto sind"),
        ("Bitte merken Sie sich, dass Beträge netto sind", "Beträge netto sind"),
        ("请记住，金额不含税", "金额不含税"),
        ("请记住金额不含税", "金额不含税"),
    ],
)
def test_what_is_to_be_remembered_may_stand_behind_a_comma_and_in_chinese_without(text: str, taken: str) -> None:
    assert command_in(text) == commands()["remember"]
    assert argument_of("remember", text) == taken


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Keep in mind that refunds are negative. What sold best?", None),
        ("remember the dip in March?", None),
        ("记住密码的用户有多少", None),
        ("请记住，退款是负数。三月卖得最好的是什么？", None),
        ("Recuerda que el IVA es 21 %. ¿Qué se vendió más?", None),
        ("note that the north is closed, what about the south?", None),
        ("Remember: “active?” is the column of open orders", "remember"),
        ("remember that the page is https://example.org/?id=1", "remember"),
        ("Keep in mind that refunds are negative.", "remember"),
    ],
)
def test_a_message_that_also_asks_something_is_a_question_unless_a_colon_stands_there(
    text: str, name: str | None
) -> None:
    found = command_in(text)
    assert (found.name if found else None) == name


@pytest.mark.parametrize("text", ["memory usage by host", "Memory per process, as a chart"])
def test_a_question_about_the_memory_of_machines_is_a_question(text: str) -> None:
    assert command_in(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "What do you know about US sales?",
        "What do you remember of our sales?",
        "¿Qué recuerda la gente de la campaña?",
        "Was haben sie sich gemerkt, die Befragten?",
        "Qu'avez-vous mémorisé de la publicité, par âge ?",
    ],
)
def test_a_question_that_begins_like_one_about_the_teams_memory_is_a_question(text: str) -> None:
    assert command_in(text) is None


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("What do you remember about refunds?", "refunds?"),
        ("Was hast du dir gemerkt über Retouren?", "Retouren?"),
        ("qué recuerdas sobre devoluciones", "devoluciones"),
        ("qu'as-tu mémorisé sur les retours", "les retours"),
        ("memory: refunds", "refunds"),
        ("What do you know about us?", ""),
        ("何を覚えていますか？", ""),
    ],
)
def test_the_teams_memory_is_asked_about_a_topic_or_as_a_whole(text: str, topic: str) -> None:
    assert command_in(text) == commands()["recall"]
    assert argument_of("recall", text) == topic


@pytest.mark.parametrize("language", get_args(Language))
def test_every_word_that_the_help_names_is_understood(language: Language) -> None:
    """People copy them from there: each one is a command, in each language."""
    listed = say("help", language).split("*\n", 1)[1]
    words = re.findall(r"[“„«「]\s?(.*?)\s?[”“»」]", listed)
    assert len(words) > 20
    for word in words:
        assert understood(word), word


def understood(word: str) -> bool:
    """Whether a word of the help is a command: alone, with what it takes, or before a block of code."""
    said = (word, word.replace("…", "x"), f"{word}\n{CODE}x = 1{CODE}")
    return any(command_in(each) is not None for each in said)


@pytest.mark.parametrize(
    ("text", "thread", "language"),
    [
        ("weiter", "en", "de"),
        ("¡Ayuda!", "en", "es"),
        ("réessayer", "de", "fr"),
        ("merke dir: aktive Kunden", "en", "de"),
        ("undo", "ja", "ja"),
        ("停止", "ja", "ja"),
        ("停止", "en", "zh"),
        ("status", "fr", "fr"),
        ("please undo", "de", "en"),
        ("Welche Region ist am größten?", "en", "de"),
        ("silence", "en", "en"),
        ("charge <https://x.slack.com/archives/C0SALES001/p1700000000000000>", "en", "fr"),
    ],
)
def test_a_command_is_answered_in_its_language_else_in_that_of_the_thread(
    text: str, thread: Language, language: Language
) -> None:
    assert language_of(text, thread) == language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("charge per customer by month", "en"),
        ("Modifier codes by claim count", "en"),
        ("Modifier les prix change-t-il les ventes ?", "fr"),
        ("Lade die Daten", "de"),
    ],
)
def test_a_question_that_begins_like_a_command_is_in_the_language_of_its_other_words(
    text: str, language: Language
) -> None:
    assert language_of(text, "en") == language


def test_no_word_belongs_to_two_commands() -> None:
    owners: dict[str, set[str]] = {}
    for command in commands().values():
        for words in command.words.values():
            for word in words:
                owners.setdefault(word, set()).add(command.name)
    assert {word: names for word, names in owners.items() if len(names) > 1} == {}


def test_every_word_is_written_as_messages_are_read() -> None:
    """In small letters, without marks: else it would never be recognised."""
    unread = [
        word
        for command in commands().values()
        if not command.takes
        for words in command.words.values()
        for word in words
        if not command.is_said_in(word)
    ]
    assert unread == []


@pytest.mark.parametrize(
    "text",
    [
        "undo the discount",
        "continue with the South",
        "重置密码的人有多少？",
        "",
        "!",
        "stop " * 20,
        "Stopp die Retouren mitzuzählen",
        "Weiter mit dem Süden",
        "Kosten je Region",
        "para cada región, ¿cuánto vendimos?",
        "Nota media por alumno",
        "Estado de los pedidos por mes",
        "Arrête de compter les retours",
        "État des stocks par région",
        "Retiens les 5 meilleurs clients",
        "費用を地域別に教えて",
        "検索数の推移",
        "bauen wir mehr Häuser als im Vorjahr?",
        "als Programm oder als Bericht?",
        "cambiar de proveedor, ¿cuánto costaría?",
        "modifier les prix change-t-il les ventes ?",
        "変更された注文は何件ですか",
        "構築費用を月別に教えて",
        "停止したセンサーは何台ですか",
    ],
)
def test_a_question_that_holds_such_a_word_stays_a_question(text: str) -> None:
    assert command_in(text, mention=False) is None


@pytest.mark.parametrize(
    "text",
    [
        "bauen wir mehr als im Vorjahr?",
        "anpassen der Preise",
        "cambiar de precio",
        "modifier les prix",
        "変更点は何ですか",
    ],
)
def test_a_mention_that_begins_with_build_or_change_is_a_question_without_a_colon(text: str) -> None:
    assert command_in(text) is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("YES", "confirm"),
        ("好的", "confirm"),
        ("No.", "decline"),
        ("不用", "decline"),
        ("Ja!", "confirm"),
        ("Sí", "confirm"),
        ("いいえ。", "decline"),
    ],
)
def test_yes_and_no_are_commands_only_as_answers(text: str, name: str) -> None:
    assert commands()[name].is_said_in(text)
    assert command_in(text) is None
    assert name in ANSWERS


CODE = "```"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (f"run {CODE}x = 1{CODE}", "x = 1"),
        (f"Run this:\n{CODE}\nx = 1\ny = 2\n{CODE}", "x = 1\ny = 2"),
        (f"run {CODE}python\n  x = 1{CODE}", "  x = 1"),
        (f"运行\n{CODE}x = 1{CODE}", "x = 1"),
        (f"run {CODE}a = 1{CODE}\n{CODE}b = 2{CODE}", "a = 1\nb = 2"),
        (f"run {CODE}{CODE}", ""),
    ],
)
def test_run_takes_the_code_between_fences(text: str, code: str) -> None:
    assert command_in(text) == commands()["run"]
    assert argument_of("run", text) == code


@pytest.mark.parametrize(
    "text",
    [
        "run the regression again",
        "run",
        f"run {CODE}x = 1",
        f"run {CODE}x = 1{CODE} and tell me why it fails",
        f"please explain {CODE}x = 1{CODE}",
        f"{CODE}run{CODE}",
    ],
)
def test_run_without_a_whole_block_or_with_words_beside_it_is_a_question(text: str) -> None:
    assert command_in(text) is None


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("note amounts are in thousands", "amounts are in thousands"),
        ("Note: a\nb", "a\nb"),
        ("备注：金额以千为单位", "金额以千为单位"),
        ("note", ""),
    ],
)
def test_note_takes_the_words_behind_it(text: str, note: str) -> None:
    assert command_in(text) == commands()["note"]
    assert argument_of("note", text) == note


def test_a_sentence_among_people_that_begins_with_note_is_no_note_and_with_a_colon_it_is() -> None:
    assert command_in("note that the north is closed", mention=False) is None
    assert command_in("note", mention=False) is None
    assert command_in("notebooks are nice") is None
    assert command_in("note: the north is closed", mention=False) == commands()["note"]


def test_no_word_means_two_things() -> None:
    every = [word for command in commands().values() for words in command.words.values() for word in words]
    assert len(every) == len(set(every))


def test_every_command_has_words_in_each_language_and_phrases_that_exist() -> None:
    for command in commands().values():
        if command.by_form:
            continue
        assert set(command.words) == set(get_args(Language))
        assert all(command.words.values())
        assert {key for key in (command.nothing, command.reply) if key} <= set(phrases())


@pytest.mark.parametrize(
    ("language", "opening"), [("en", "“"), ("zh", "“"), ("de", "„"), ("es", "«"), ("fr", "« "), ("ja", "「")]
)
@pytest.mark.parametrize("phrase", ["help", "help_strict"])
def test_help_names_each_command_that_people_can_say(language: Language, opening: str, phrase: str) -> None:
    """In its own words; a language that shares a word, such as “stop”, may leave it to the first that has it."""
    text = say(phrase, language).casefold()
    said = [command for command in commands().values() if not command.by_form and command.name not in ANSWERS]

    def words(name: str) -> set[str]:
        own = commands()[name].words
        return set(own[language]) if language in ("en", "zh") else {word for each in own.values() for word in each}

    assert [each.name for each in said if not any(f"{opening}{word}" in text for word in words(each.name))] == []


@pytest.mark.parametrize(
    "text",
    [
        "stop all schedules",
        "Please stop the schedule.",
        "cancel the schedule",
        "delete the schedule",
        "unschedule this",
        "stoppe den Zeitplan",
        "Bitte den Zeitplan beenden",
        "lösche den zeitplan",
        "cancela la programación",
        "Elimine la programación.",
        "annulez la programmation",
        "arrête la programmation",
        "取消定时",
        "删除定时任务",
        "スケジュールを止めて",
        "定期実行を停止",
    ],
)
def test_a_schedule_is_stopped_in_the_words_that_people_use(text: str) -> None:
    assert command_in(text) == commands()["stop_schedules"]


@pytest.mark.parametrize("text", ["stop the schedule of deliveries", "why was the schedule cancelled?", "cancel"])
def test_other_words_stop_no_schedule(text: str) -> None:
    assert command_in(text) != commands()["stop_schedules"]


@pytest.mark.parametrize("language", ["en", "zh", "de", "es", "fr", "ja"])
def test_the_words_for_other_forms_that_people_and_models_are_given_are_commands(language: Language) -> None:
    words = re.findall(r"[“„«「]\s*(.+?)\s*[”“»」]", say("format_examples", language))
    found = [command_in(each) for each in words]
    assert [each and each.name for each in found] == [*FORMATS, "download"]


@pytest.mark.parametrize("language", ["en", "zh", "de", "es", "fr", "ja"])
def test_the_words_for_keeping_and_for_ending_schedules_that_models_are_given_are_commands(language: Language) -> None:
    words = re.findall(r"[“„«「]\s*(.+?)\s*[”“»」]", say("keep_examples", language))
    found = [command_in(each) for each in words]
    assert [each and each.name for each in found] == ["remember", "forget", "playbook"]
    assert argument_of("playbook", words[-1]) == re.split(r"[:：]\s*", words[-1])[1]
    (end,) = re.findall(r"[“„«「]\s*(.+?)\s*[”“»」]", say("schedule_end_example", language))
    assert command_in(end) == commands()["stop_schedules"]


@pytest.mark.parametrize("language", ["en", "zh", "de", "es", "fr", "ja"])
@pytest.mark.parametrize(("phrase", "name"), [("program_example", "program"), ("build_example", "build")])
def test_the_words_for_programs_that_models_are_given_are_commands(phrase: str, name: str, language: Language) -> None:
    (words,) = re.findall(r"[“„«「]\s*(.+?)\s*[”“»」]", say(phrase, language))
    assert command_in(words) == commands()[name]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("save this report as a playbook: Sales", "Sales"),
        ("把这份报告保存为手册：渠道销售", "渠道销售"),
        ("Speichere diesen Bericht als Playbook: Umsatz", "Umsatz"),
        ("Guarda este informe como playbook: Ventas", "Ventas"),
        ("Enregistre ce rapport comme playbook : Ventes", "Ventes"),
        ("このレポートをプレイブックとして保存：チャネル別売上", "チャネル別売上"),
        ("プレイブックとして保存：チャネル別売上", "チャネル別売上"),
    ],
)
def test_a_report_becomes_a_playbook_in_all_languages_with_its_name_behind_a_colon(text: str, name: str) -> None:
    assert command_in(text) == commands()["playbook"]
    assert argument_of("playbook", text) == name


def test_a_light_command_needs_no_session_and_opens_no_turn_of_its_own() -> None:
    light = [command for command in commands().values() if command.light]
    assert light
    assert [each.name for each in light if each.session or each.at_rest not in ("last_turn", "drop")] == []
