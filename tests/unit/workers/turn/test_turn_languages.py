"""A whole thread in each language: everything that we say in it is in the golden file, to be read by people.

UPDATE_GOLDEN=1 writes the files anew.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import get_args

import pytest
from turn_world import ANA, BEN, World, cell, finish

from core.language_detection import detect
from core.values import Language
from tryout.stack.blocks_text import message_text
from workers.models.scripted import ScriptedModel

GOLDEN = Path(__file__).parents[3] / "golden" / "languages"
SALES = {"sales.csv": b"region,amount\nNorth,1200\nSouth,3245\n", "broken.xlsx": b"this is no workbook"}
QUESTIONS: dict[Language, str] = {
    "en": "How much did we sell per region?",
    "zh": "每个地区的销售额是多少？",
    "de": "Wie viel haben wir je Region verkauft?",
    "es": "¿Cuánto vendimos en cada región?",
    "fr": "Combien avons-nous vendu par région ?",
    "ja": "地域ごとの売上はいくらですか？",
}
WORDS: dict[Language, tuple[str, ...]] = {
    "en": ("status", "vars", "explain", "cost", "undo", "schedules"),
    "zh": ("状态", "变量", "解释", "费用", "撤销", "定时任务"),
    "de": ("status", "variablen", "erklären", "kosten", "rückgängig", "zeitpläne"),
    "es": ("estado", "variables", "explicar", "coste", "deshacer", "programaciones"),
    "fr": ("état", "variables", "expliquer", "coût", "défaire", "programmations"),
    "ja": ("状況", "変数", "説明", "費用", "取り消し", "スケジュール"),
}
READ = cell("import csv\nrows = list(csv.DictReader(open('sales.csv')))\nprint(len(rows))", "sales.csv")
FAILS = cell("total = sum(int(row['sum']) for row in rows)", "total")
ADD = cell("total = sum(int(row['amount']) for row in rows)\nprint(total)", "total")
TIME = re.compile(r"\d+(?:[.,]\d+)? ?(秒|(?:s|ms|B)(?!\w))")


@pytest.mark.parametrize("language", get_args(Language))
def test_a_thread_speaks_the_language_of_its_question(world: World, language: Language) -> None:
    assert detect(QUESTIONS[language]) == language
    world.model = ScriptedModel([READ, FAILS, ADD, finish("**4445**")])
    key = world.say(QUESTIONS[language], files=SALES)
    world.settle(key)
    for word in WORDS[language]:
        world.say(word, thread=key)
        world.settle(key)
    told = [
        ("> " if message.get("user") == ANA else "") + TIME.sub(r"# \1", message_text(message))
        for message in world.messages(key)
    ]
    text = "\n\n---\n\n".join(told)
    file = GOLDEN / f"{language}.md"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text + "\n", encoding="utf-8")
    assert text + "\n" == file.read_text(encoding="utf-8")


def test_a_command_in_an_english_word_is_answered_in_the_language_of_who_says_it(world: World) -> None:
    world.model = ScriptedModel(turns=[[finish("Eins.")], [finish("二。")]])
    key = world.say(QUESTIONS["de"], user=ANA)
    world.settle(key)
    world.say(QUESTIONS["zh"], user=BEN, thread=key)
    world.settle(key)
    world.say("cost", user=ANA, thread=key)
    world.settle(key)
    assert "Modellaufrufe" in message_text(world.messages(key)[-1])
    world.say("cost", user=BEN, thread=key)
    world.settle(key)
    assert "模型调用" in message_text(world.messages(key)[-1])
