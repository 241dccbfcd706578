"""Whatever people and their files bring: a clear sentence in the thread, and nothing lost."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from harness import Start, Talk
from msoffcrypto.format.ooxml import OOXMLFile

from workers.models.scripted import ScriptedModel
from workers.offline import OfflineAnalyst

pytestmark = pytest.mark.integration


def finish(report: str) -> dict[str, Any]:
    return {"calls": [{"name": "finish", "arguments": {"report": report}}]}


def code(source: str) -> dict[str, Any]:
    return {"calls": [{"name": "run_python", "arguments": {"code": source, "title": "Look"}}]}


def empty(folder: Path) -> Path:
    path = folder / "empty.csv"
    path.write_bytes(b"\n")
    return path


def binary(folder: Path) -> Path:
    path = folder / "photo.csv"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20)
    return path


def locked(folder: Path) -> Path:
    plain = io.BytesIO()
    book = openpyxl.Workbook()
    book.active.append(["region", "amount"])
    book.save(plain)
    path = folder / "locked.xlsx"
    with path.open("wb") as out:
        OOXMLFile(plain).encrypt("secret", out)
    return path


@pytest.mark.parametrize(
    ("make", "words"),
    [(empty, "is empty"), (binary, "its content is something else"), (locked, "protected by a password")],
)
def test_a_file_that_cannot_be_used_is_named_with_its_reason(
    start: Start, tmp_path: Path, make: Callable[[Path], Path], words: str
) -> None:
    path = make(tmp_path)
    talk = start(ScriptedModel([])).ask("What is in it?", [path])
    assert f"I could not use {path.name}" in talk.text
    assert words in talk.text
    assert "send a file that I can read" in talk.text
    assert talk.turn.status == "stopped"


def test_the_reason_is_said_in_the_language_of_the_question(start: Start, tmp_path: Path) -> None:
    talk = start(ScriptedModel([])).ask("这份文件里有什么？", [locked(tmp_path)])
    assert "文件设有密码" in talk.text


def test_the_question_is_kept_and_answered_when_a_good_file_follows(start: Start, tmp_path: Path) -> None:
    good = tmp_path / "good.csv"
    good.write_text("region,amount\nNorth,10\nSouth,32\n")
    model = ScriptedModel(
        turns=[[], [code("import pandas as pd; pd.read_csv('good.csv')"), finish("It holds **2** rows.")]]
    )
    talk = start(model).ask("How many rows?", [empty(tmp_path)]).ask("sorry, this one", [good])
    assert talk.turn.status == "done"
    assert "**2** rows" in talk.report


def test_one_bad_file_beside_a_good_one_stops_nothing(start: Start, tmp_path: Path) -> None:
    good = tmp_path / "good.csv"
    good.write_text("region,amount\nNorth,10\n")
    model = ScriptedModel([code("import pandas as pd; pd.read_csv('good.csv')"), finish("One row.")])
    talk = start(model).ask("What is in them?", [good, locked(tmp_path)])
    assert "I could not use locked.xlsx" in talk.text
    assert "I continue with the files that I could read" in talk.text
    assert talk.turn.status == "done"


@pytest.mark.parametrize(("status", "words"), [(404, "no longer exists"), (400, "the download stopped")])
def test_a_file_that_vanished_or_cannot_be_fetched_is_said(
    start: Start, tmp_path: Path, status: int, words: str
) -> None:
    path = tmp_path / "gone.csv"
    path.write_text("a,b\n1,2\n")
    stack = start(ScriptedModel([]))
    stack.downloads_answer(status)
    talk = stack.ask("What is in it?", [path])
    assert "I could not use gone.csv" in talk.text
    assert words in talk.text


def test_a_table_of_sixty_columns_is_described_within_bounds_and_analysed(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    header = ",".join(f"measure_{n:02d}" for n in range(60))
    path.write_text("\n".join([header, *(",".join(str(row * n) for n in range(60)) for row in range(200))]))
    talk = start(OfflineAnalyst()).ask("What is in this file?", [path])
    assert talk.turn.status == "done", talk.text
    assert "60" in talk.report
    assert "200" in talk.report


def test_a_question_that_needs_a_file_asks_for_one(start: Start) -> None:
    talk = start(OfflineAnalyst()).ask("What is the trend of our sales per month?")
    assert talk.turn.status in ("waiting", "stopped", "done")
    assert "file" in talk.text.split("What is the trend")[0]


def test_a_model_that_invents_its_data_is_refused(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "sales.csv"
    path.write_text("region,amount\nNorth,10\nSouth,32\n")
    invented = "import pandas as pd\ndf = pd.DataFrame({'region': ['North'], 'amount': [999]})\nprint(df.amount.sum())"
    model = ScriptedModel([code(invented), finish("Together **999** were sold."), *[finish("Still **999**.")] * 10])
    talk = start(model).ask("How much was sold?", [path])
    assert talk.turn.status == "stopped"
    assert "999 were sold" not in talk.text
    assert "**999**" not in talk.text
    assert any(step.reason == "no_data_read" for step in talk.steps("corrected"))


def test_a_model_that_reads_the_file_after_being_told_to_may_finish(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "sales.csv"
    path.write_text("region,amount\nNorth,10\nSouth,32\n")
    reading = "import pandas as pd\nprint(pd.read_csv('sales.csv').amount.sum())"
    model = ScriptedModel([finish("Together **999**."), code(reading), finish("Together **42** were sold.")])
    talk = start(model).ask("How much was sold?", [path])
    assert talk.turn.status == "done"
    assert "**42**" in talk.report
    assert "**999**" not in talk.text


def test_a_file_without_words_is_looked_at_in_the_language_of_its_owner(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "sales.csv"
    path.write_text("region,amount\nNorth,10\nSouth,32\nNorth,5\n")
    talk = start(OfflineAnalyst()).ask("", [path], user="chenchen")
    assert talk.turn.status in ("done", "waiting"), talk.text
    assert talk.turn.language == "zh"


def test_the_same_file_twice_in_one_message_is_one_file(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "sales.csv"
    path.write_text("region,amount\nNorth,10\nSouth,32\n")
    model = ScriptedModel([code("import pandas as pd; pd.read_csv('sales.csv')"), finish("It holds **2** rows.")])
    talk = start(model).ask("How many rows?", [path, path])
    assert talk.turn.status == "done"
    assert [file.path for file in talk.steps("briefed")[0].files] == ["sales.csv"]


def test_two_files_of_one_name_are_two_files(start: Start, tmp_path: Path) -> None:
    paths = [tmp_path / folder / "sales.csv" for folder in ("a", "b")]
    for number, path in enumerate(paths):
        path.parent.mkdir()
        path.write_text(f"region,amount\nNorth,{number}\n")
    model = ScriptedModel([code("import pandas as pd; pd.read_csv('sales-2.csv')"), finish("Two files.")])
    talk = start(model).ask("What is in them?", paths)
    assert [file.path for file in talk.steps("briefed")[0].files] == ["sales.csv", "sales-2.csv"]
    assert talk.turn.status == "done"


def test_a_direct_message_is_answered_like_a_mention(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "sales.csv"
    path.write_text("region,amount\nNorth,10\nSouth,32\n")
    model = ScriptedModel([code("import pandas as pd; pd.read_csv('sales.csv')"), finish("It holds **2** rows.")])
    stack = start(model)
    direct = next(each for each in stack.channels() if each.get("is_im") and each.get("user") == "U0ANA00001")
    key = stack.slack.say(direct["id"], "ana", "How many rows?", [path]).thread
    stack.wait_for(lambda: stack.rests(key), "the answer")
    assert "**2** rows" in stack.talk(key).report


def test_of_very_many_files_those_that_are_left_out_are_named(start: Start, tmp_path: Path) -> None:
    paths = [tmp_path / f"part-{number:02}.csv" for number in range(1, 34)]
    for path in paths:
        path.write_text("region,amount\nNorth,10\n")
    stack = start(ScriptedModel([finish("Seen.")]))
    with stack.busy:
        key = stack.say("What is in these files?", paths[:11])
        for start_at in (11, 22):
            stack.wait_for(lambda n=start_at: len(stack.store.unread(key.id)) == n // 11, "the message")
            stack.say("and these", paths[start_at : start_at + 11], thread=key)
        stack.wait_for(lambda: len(stack.store.unread(key.id)) == 3, "all messages")
    talk = Talk(stack, key)
    stack.wait_for(lambda: stack.rests(key), "the answer")
    (briefed,) = talk.steps("briefed")
    assert len(briefed.files) == 20
    (problem,) = briefed.problems
    assert problem.name.startswith("part-21.csv, part-22.csv")
    assert problem.name.endswith("and 3 more")
    assert "I read only the first 20 files of a message" in talk.text
