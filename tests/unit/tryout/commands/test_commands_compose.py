"""`threadbook threads compose`: pieces of threads become one conversation, and the rules of the threads go on."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from other_tools import HELLO, lines
from test_commands_export import ASKED, TURN, exported, settings_in, write

from core.errors import SettingsError
from core.settings import Settings
from core.steps import Imported, Step
from core.store import Store
from tryout.commands import imports, threads
from tryout.commands.threads import Filter
from workers.agent.about_steps import data_held

ONE, TWO = "T1:C1:100.000001", "T1:C2:100.000001"
WORST: list[Step] = [ASKED.model_copy(update={"text": "what sold worst?", "user": "U7"}), *TURN[1:]]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    made = settings_in(tmp_path)
    write(made, TURN)
    write(made, WORST, channel="C2")
    return made


def printed(capsys: pytest.CaptureFixture[str], settings: Settings, *words: str) -> Any:
    assert threads.run(settings, words, Filter(), as_json=True) == 0
    return json.loads(capsys.readouterr().out)


def items(capsys: pytest.CaptureFixture[str], settings: Settings, thread: str, kind: str) -> list[str]:
    """The hashes of the items of a kind, as `show` prints them."""
    said = printed(capsys, settings, "show", thread)["said"]
    return [item["hash"][:12] for item in said if item["kind"] == kind]


def texts(capsys: pytest.CaptureFixture[str], settings: Settings, thread: str) -> list[str]:
    return [item["text"] for item in printed(capsys, settings, "show", thread)["said"] if item["kind"] == "said"]


def test_pieces_stand_in_the_order_in_which_they_are_named(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    (question,) = items(capsys, settings, TWO, "asked")
    cells = items(capsys, settings, ONE, "cell")
    (report,) = items(capsys, settings, ONE, "finished")
    made = printed(capsys, settings, "compose", f"{TWO}#{question}", f"{ONE}#{cells[-1]}..{report}")
    said = texts(capsys, settings, made["thread"])
    assert said == ["what sold worst?", "```python\nprint(12)\n```", "12\n", "North: 12"]
    again = printed(capsys, settings, "compose", f"{TWO}#{question}", f"{ONE}#{cells[-1]}..{report}")
    assert (again["thread"], again["new"]) == (made["thread"], False)


def test_a_whole_thread_and_an_imported_one_are_pieces_too(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert imports.run(settings, lines(tmp_path / "a.jsonl", {"messages": HELLO}), channel="T1/C1", as_json=True) == 0
    (one,) = json.loads(capsys.readouterr().out)["threads"]
    made = printed(capsys, settings, "compose", one["thread"], ONE)
    said = texts(capsys, settings, made["thread"])
    assert said[:2] == ["Be brief.", "sum it"]
    assert said[-1] == "North: 12"
    assert made["thread"].startswith("T1:C1:import-"), "all pieces are of one channel, so is this"


def test_pieces_of_two_channels_are_seen_by_operators_alone(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    assert printed(capsys, settings, "compose", ONE, TWO)["thread"].startswith("import:import:import-")


def test_a_purge_of_a_piece_is_one_of_the_whole(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    made = printed(capsys, settings, "compose", ONE, TWO)["thread"]
    with closing(Store(settings.database_url)) as store:
        for source in (ONE, TWO):
            assert store.purgeable(thread_id=source) == [made, source]
        assert "what sold best?" in json.dumps(printed(capsys, settings, "show", made))
        store.delete_message("T1", "C1", "100.000001")
        assert "what sold best?" not in json.dumps(printed(capsys, settings, "show", made))


def test_who_opted_out_of_a_piece_opted_out_of_the_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = settings_in(tmp_path, '[export]\nopted_out = ["U7"]\n')
    write(settings, TURN)
    write(settings, WORST, channel="C2")
    assert len(exported(capsys, settings, "messages")) == 1
    printed(capsys, settings, "compose", ONE, TWO)
    assert len(exported(capsys, settings, "messages")) == 1
    printed(capsys, settings, "compose", ONE)
    assert len(exported(capsys, settings, "messages")) == 2


def test_a_composed_conversation_stays_in_the_split_of_its_threads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = settings_in(tmp_path, "[export]\ntest_percent = 50\n")
    channels = [f"C{number}" for number in range(1, 9)]
    for channel in channels:
        write(settings, [ASKED.model_copy(update={"text": f"what sold in {channel}?"}), *TURN[1:]], channel=channel)
    splits = {
        channel: record["split"]
        for record in exported(capsys, settings, "messages")
        for channel in channels
        if f"what sold in {channel}?" in json.dumps(record)
    }
    test = next(channel for channel, split in splits.items() if split == "test")
    train, other = [channel for channel, split in splits.items() if split == "train"][:2]
    names = {channel: f"T1:{channel}:100.000001" for channel in channels}
    printed(capsys, settings, "compose", names[test], names[train])
    assert len(exported(capsys, settings, "messages")) == len(channels), "it would be in both"
    printed(capsys, settings, "compose", names[train], names[other])
    assert [record["split"] for record in exported(capsys, settings, "messages")][-1] == "train"


def test_what_a_piece_holds_data_of_is_held_by_the_whole() -> None:
    who = {"user": "cli:a@b", "author": "cli:a@b"}
    head = Imported(
        file="x", format="composed", place="1 pieces", group="0" * 16, sources=("shop",), servers=("crm",), **who
    )
    assert data_held([[head]]) == (("shop",), ("crm",))


def test_a_piece_that_is_not_there_is_named(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    for word, why in (
        ("T1:C9:1.1", "no thread"),
        (f"{ONE}#abcdefabcdef", "no one item"),
        (f"{ONE}#", "kept"),
        (f"{ONE}#a", "no one item"),
    ):
        assert threads.run(settings, ["compose", word], Filter()) == (0 if why == "kept" else 1)
        said = capsys.readouterr()
        assert why in said.out + said.err
    with pytest.raises(SettingsError, match="1 to 100 pieces"):
        threads.run(settings, ["compose"], Filter())
