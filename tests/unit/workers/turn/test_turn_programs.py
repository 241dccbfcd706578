"""A report becomes a command line program: its code, its files as arguments, tested on the thread's own numbers."""

from __future__ import annotations

import io
import re
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import get_args

import pytest
from patience import PATIENCE_S
from turn_world import Json, World, cell, finish

from core.phrases import say
from core.values import Language, ThreadKey
from workers.delivery.reports.command_line_check import SENTENCES
from workers.models.scripted import ScriptedModel

pytestmark = pytest.mark.process

SALES = b"region,units\nnorth,120\nsouth,100\n"
READ = 'import csv\nwith open("sales.csv") as f:\n    rows = list(csv.DictReader(f))\nprint("rows", len(rows))'
SUM = 'total = sum(int(row["units"]) for row in rows if int(row["units"]) >= 100)\nprint("total units", total)'
QUESTION = "How many units did the regions with at least 100 units sell?"
REPORT = "They sold 220 units in 2 rows."


def asked(world: World, *replies: Json, question: str = QUESTION) -> ThreadKey:
    script = replies or (cell(READ, "Read the sales"), cell(SUM, "Add the units"), finish(REPORT))
    world.model = ScriptedModel(list(script))
    key = world.say(question, files={"sales.csv": SALES})
    world.settle(key)
    return key


def made(world: World, key: ThreadKey, words: str = "make this a program") -> str:
    """What the thread says of the program."""
    before = len(world.text(key))
    world.say(words, thread=key)
    world.settle(key)
    return world.text(key)[before:]


def unpacked(world: World, folder: Path) -> Path:
    """The program that was posted last, unpacked."""
    files = list(world.slack._files.values())
    data = world.slack.content([file["id"] for file in files if file["name"].endswith(".zip")][-1])
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        archive.extractall(folder)
        return folder / archive.namelist()[0].partition("/")[0]


def run(program: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], cwd=program, capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )


def test_a_report_becomes_a_program_that_gives_the_threads_numbers(world: World, tmp_path: Path) -> None:
    key = asked(world)
    said = made(world, key)
    assert "python main.py sales.csv" in said
    assert "all 2 steps that the report depends on gave the same, and with them 2 figures" in said
    assert "without a seed" not in said
    program = unpacked(world, tmp_path)
    assert {path.relative_to(program).as_posix() for path in program.rglob("*") if path.is_file()} == {
        "README.md", "analysis.py", "main.py", "requirements.txt", "tests/test_program.py", "tests/data/sales.csv",
    }  # fmt: skip
    tested = run(program, "tests/test_program.py")
    assert (tested.returncode, tested.stdout.strip()) == (0, "2 of 2 steps give the same"), tested.stderr


def test_a_program_that_draws_other_numbers_each_time_says_so(world: World) -> None:
    draw = "import random\nprint('units', int(rows[0]['units']) + int(random.random() * 0))"
    key = asked(world, cell(READ, "Read the sales"), cell(draw, "Draw"), finish("It sold 120 units in 2 rows."))
    assert "draws random numbers without a seed" in made(world, key)


def test_the_name_of_a_file_is_no_command_of_the_shell(world: World, tmp_path: Path) -> None:
    name = "a'; touch pwned; '.csv"
    reads = f"import csv\nwith open({name!r}) as f:\n    rows = list(csv.DictReader(f))\nprint('rows', len(rows))"
    world.model = ScriptedModel([cell(reads, "Read the sales"), finish("There are 2 rows.")])
    key = world.say("How many rows are there?", files={name: SALES})
    world.settle(key)
    made(world, key)
    program = unpacked(world, tmp_path)
    (usage,) = [line for line in (program / "README.md").read_text().splitlines() if line.startswith("python main.py ")]
    assert shlex.split(usage) == ["python", "main.py", name]


def test_newer_files_and_values_named_in_the_question_are_its_arguments(world: World, tmp_path: Path) -> None:
    made(world, asked(world))
    program = unpacked(world, tmp_path)
    (program / "newer.csv").write_bytes(SALES + b"west,90\neast,500\n")
    assert "total units 720" in run(program, "main.py", "newer.csv").stdout
    assert "--units" in run(program, "main.py", "--help").stdout
    assert "total units 810" in run(program, "main.py", "newer.csv", "--units", "10").stdout


def test_wrong_arguments_get_a_usage_text_and_exit_code_2(world: World, tmp_path: Path) -> None:
    made(world, asked(world))
    program = unpacked(world, tmp_path)
    for words in ((), ("nothing.csv",), ("README.md",), ("tests/data/sales.csv", "--units", "many")):
        ran = run(program, "main.py", *words)
        assert ran.returncode == 2
        assert ran.stderr.startswith("usage: main.py")


def test_a_program_that_gives_other_numbers_says_which_and_its_test_fails(world: World, tmp_path: Path) -> None:
    code = 'import os\nluck = int.from_bytes(os.urandom(6), "big")\nprint("luck", luck, "of", 220)'
    lucky = cell(code, "Luck")
    other = asked(world, cell(READ, "Read"), lucky, finish("There are 2 rows, and the draw is of 220."))
    said = made(world, other)
    assert "did not give the same in 1 of 2 steps" in said
    assert "2. Luck: it does not print" in said
    assert run(unpacked(world, tmp_path), "tests/test_program.py").returncode == 1


def test_what_is_not_the_same_is_told_in_the_language_of_the_question(world: World, tmp_path: Path) -> None:
    code = 'import os\nprint("luck", int.from_bytes(os.urandom(6), "big"), "of", 220)'
    answer = finish("Es gibt 2 Zeilen, und gezogen wurde aus 220.")
    other = asked(world, cell(READ, "Lesen"), cell(code, "Glück"), answer, question="Wie viele Zeilen hat die Datei?")
    said = made(world, other, "mach daraus ein Programm")
    assert "2. Glück: gibt 'luck " in said
    assert said.count("nicht aus") == 1
    assert "it does not print 'luck " in run(unpacked(world, tmp_path), "tests/test_program.py").stdout


def test_every_difference_has_its_sentence_in_each_language() -> None:
    for language in get_args(Language):
        for kind, sentence in SENTENCES.items():
            names = re.findall(r"{(\w+)}", sentence)
            values = {name: f"<{name}>" for name in names}
            said = say(f"program_step_{kind}", language, **values)
            assert all(value in said for value in values.values())
            assert language != "en" or said == sentence.format(**values)  # the program's own test says the same


def test_a_table_and_a_chart_are_compared_too(world: World, tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    table = (
        'import pandas as pd\nimport matplotlib.pyplot as plt\nframe = pd.read_csv("sales.csv")\n'
        'frame.plot.bar(x="region", y="units")\nframe.groupby("region").sum()'
    )
    said = made(world, asked(world, cell(table, "By region"), finish("The north sold 120 units.")))
    assert "the one step that the report depends on gave the same" in said
    program = unpacked(world, tmp_path)
    assert run(program, "tests/test_program.py").returncode == 0
    assert run(program, "main.py", "tests/data/sales.csv", "--out", "made").returncode == 0
    assert (program / "made/step-1.csv").read_text() == "region,units\nnorth,120\nsouth,100\n"
    assert len(list((program / "made").glob("*.png"))) == 1


def test_a_table_that_no_file_of_the_thread_is_like_is_compared_too(world: World, tmp_path: Path) -> None:
    """What a program made in its room is deleted with the room."""
    pytest.importorskip("pandas")
    table = 'import pandas as pd\nframe = pd.read_csv("sales.csv")\nframe.groupby("region").sum() * 2'
    said = made(world, asked(world, cell(table, "Doubled"), finish("The north sold 240 units.")))
    assert "the one step that the report depends on gave the same" in said
    program = unpacked(world, tmp_path)
    assert run(program, "tests/test_program.py").returncode == 0


def test_what_reaches_out_of_the_sandbox_is_left_out_and_named(world: World) -> None:
    reaching = 'import urllib.request\nif False:\n    urllib.request.urlopen("http://example.com")\nprint("rates", 7)'
    key = asked(world, cell(READ, "Read"), cell(reaching, "Fetch"), finish("There are 2 rows, at 7."))
    said = made(world, key)
    assert "gave the same" in said
    assert "Not in it: cell 2 “Fetch”, which calls the network" in said


def test_without_a_report_nothing_is_made_and_twice_is_once(world: World) -> None:
    key = asked(world)
    made(world, key)
    assert "已经在本消息列中" in made(world, key, "做成程序")
    assert sum(name.endswith(".zip") for name in world.files(key)) == 1
    unanswered = asked(world, finish("I cannot tell."), question="What is love?")
    assert "no report in this thread yet" in made(world, unanswered)


def test_words_of_the_thread_become_no_code(world: World, tmp_path: Path) -> None:
    question = 'Count rows %s """\nimport os; os.abort() # {{ x }} \\'
    made(
        world, asked(world, cell(READ, 'x"); raise SystemExit(9) #\n'), finish("There are 2 rows."), question=question)
    )
    program = unpacked(world, tmp_path)
    assert run(program, "tests/test_program.py").returncode == 0
    assert "import os; os.abort() # {{ x }}" in run(program, "main.py", "--help").stdout


def test_a_sandbox_that_is_away_leaves_a_program_that_says_it_was_not_tested(world: World) -> None:
    key = asked(world)
    world.sessions.fault("run", "away", times=5)
    said = made(world, key)
    assert "could not be tested now" in said
    assert "python main.py sales.csv" in said


def test_words_behind_the_command_are_not_a_question_and_are_told_not_to_be_used(world: World) -> None:
    key = asked(world)
    said = made(world, key, "make this a program: it takes <!channel> and a region")
    assert "python main.py sales.csv" in said
    assert "I did not use “it takes " in said
    assert "build: …" in said
    assert "<!channel>" not in said
    again = made(world, key, "make this a program: with a region")
    assert "in the thread already" in again
    assert "I did not use “with a region”" in again
    assert sum(name.endswith(".zip") for name in world.files(key)) == 1
    assert world.statuses(key) == ["done"]


def test_words_behind_the_command_ask_no_model_where_there_is_no_report(world: World) -> None:
    unanswered = asked(world, finish("I cannot tell."), question="What is love?")
    assert "no report in this thread yet" in made(world, unanswered, "make this a program: it counts words")
