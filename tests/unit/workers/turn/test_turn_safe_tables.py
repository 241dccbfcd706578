"""A model's own code cannot get a live formula out of the thread: not as a file, not in the zip of "download all"."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import openpyxl
from turn_world import World, cell, finish

from core.values import ThreadKey
from workers.models.scripted import ScriptedModel

EVIL = """\
import openpyxl, zipfile
book = openpyxl.Workbook()
book.active.append(["=cmd|'/C calc'!A0", -5, "=SUM(B1:B1)"])
book.save("out.xlsx")
open("out.csv", "w").write("name,amount\\n=cmd|'/C calc'!A0,-5\\n")
book.save("live.xlsx")
with zipfile.ZipFile("live.xlsx", "a") as parts:
    parts.writestr("xl/externalLinks/externalLink1.xml", "<a/>")
print("rows 1")"""


def posted(world: World, key: ThreadKey) -> dict[str, bytes]:
    """The files of the thread, by their names."""
    files = [file for message in world.messages(key) for file in message.get("files") or ()]
    return {file["name"]: world.slack.content(file["id"]) for file in files}


def first_row(data: bytes) -> list[tuple[object, str]]:
    return [(each.value, each.data_type) for each in openpyxl.load_workbook(io.BytesIO(data)).active[1]]


SAFE = [("'=cmd|'/C calc'!A0", "s"), (-5, "n"), ("=SUM(B1:B1)", "f")]


def test_what_a_cell_wrote_leaves_without_live_formulas_and_the_thread_is_told(world: World) -> None:
    world.model = ScriptedModel([cell(EVIL, "Write the files"), finish("All is written.")])
    key = world.say("write it as Excel")
    world.settle(key)
    assert world.statuses(key) == ["done"]
    files = posted(world, key)
    assert first_row(files["out.xlsx"]) == SAFE
    assert files["out.csv"].decode() == "name,amount\n'=cmd|'/C calc'!A0,-5\n"
    assert "live.xlsx" not in files
    text = world.text(key)
    assert "In out.xlsx, out.csv" in text or "In out.csv, out.xlsx" in text
    assert "I did not post live.xlsx" in text
    world.say("download all", thread=key)
    world.settle(key)
    with zipfile.ZipFile(io.BytesIO(posted(world, key)["analysis.zip"])) as packed:
        made = {Path(name).name: packed.read(name) for name in packed.namelist() if name.startswith("made/")}
    assert first_row(made["out.xlsx"]) == SAFE
    assert b"'=cmd" in made["out.csv"]
    assert "live.xlsx" not in made
