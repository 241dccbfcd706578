"""`threadbook import`: kept with times and lineage, found, shown, exported as it came, purged, and never half."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from other_tools import HELLO, first_schema, lines, second_schema
from test_commands_export import ASKED, TURN, exported, settings_in, write
from turn_kit import changed

from core.errors import SettingsError
from core.settings import Settings, load_settings
from core.steps import Said
from core.store import Store
from core.values import ThreadKey
from tryout.commands import imports, threads
from tryout.commands.threads import Filter


def taken(capsys: pytest.CaptureFixture[str], settings: Settings, path: Path, **wanted: Any) -> dict[str, Any]:
    assert imports.run(settings, path, as_json=True, **wanted) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def without_split(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in record.items() if name != "split"} for record in records]


@pytest.mark.parametrize("kind", ["sft", "messages", "openai-jsonl"])
def test_what_is_exported_imported_and_exported_again_is_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: Any
) -> None:
    first, second = (tmp_path / name for name in ("first", "second"))
    for folder in (first, second):
        folder.mkdir()
    settings, other = settings_in(first), settings_in(second)
    write(settings, TURN, vote="up")
    spoken = changed(TURN[-2], user="U2", author="Ben")
    write(settings, [changed(ASKED, text="what sold worst?"), *TURN[1:-2], spoken, TURN[-1]], channel="C2")
    records = exported(capsys, settings, kind)
    assert len(records) == 2
    assert kind == "openai-jsonl" or [record["by_person"][-1] for record in records] == [False, True]
    taken(capsys, other, lines(tmp_path / "out.jsonl", *records))
    again = exported(capsys, other, kind)
    if kind == "openai-jsonl":  # it does not say which thread a record is of, so only what has one beginning is kept
        assert without_split(again) == without_split(records)
    else:
        assert again == records
    assert exported(capsys, other, kind, only="approved") == ([] if kind == "openai-jsonl" else records[:1])


def test_a_record_that_came_from_here_counts_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = settings_in(tmp_path)
    write(settings, TURN)
    records = exported(capsys, settings, "sft")
    taken(capsys, settings, lines(tmp_path / "out.jsonl", *records))
    assert exported(capsys, settings, "sft") == records


@pytest.mark.parametrize("schema", [first_schema, second_schema])
def test_model_programmers_conversations_are_found_shown_and_exported_with_pairs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], schema: Any
) -> None:
    settings = settings_in(tmp_path)
    found = taken(capsys, settings, schema(tmp_path / "chat.db"))
    assert (found["earlier"], found["known"]) == (1, 0)
    raw, edited = found["threads"]
    assert edited["source"] == raw["thread"]
    assert threads.run(settings, ["a.py"], Filter(), as_json=True) == 0
    (listed,) = json.loads(capsys.readouterr().out)
    assert (listed["thread_id"], listed["imported"]) == (edited["thread"], True)
    assert threads.run(settings, [], Filter()) == 0
    assert capsys.readouterr().out.count("· imported") == 2
    assert threads.run(settings, ["show", edited["thread"]], Filter()) == 0
    shown = capsys.readouterr().out
    assert "2023-04-02 16:12:00  said       user terminal" in shown
    assert threads.run(settings, ["diff", raw["thread"], edited["thread"]], Filter()) == 0
    assert "-rm" in capsys.readouterr().out
    records = exported(capsys, settings, "sft")
    assert [len(record["messages"]) for record in records] == [3, 6]
    assert len({record["split"] for record in records}) == 1, "they have the same beginning"
    first, second = exported(capsys, settings, "preferences")
    assert [one["chosen"][0]["content"] for one in (first, second)] == ["ls", "ls"]
    assert {one["rejected"][0]["content"] for one in (first, second)} == {"rm"}
    assert [len(one["prompt"]) for one in (first, second)] == [2, 4]


def test_importing_a_file_again_keeps_nothing_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = settings_in(tmp_path)
    path = second_schema(tmp_path / "chat.db")
    assert len(taken(capsys, settings, path, dry_run=True)["threads"]) == 2
    assert len(taken(capsys, settings, path)["threads"]) == 2
    again = taken(capsys, settings, path)
    assert (again["threads"], again["known"]) == ([], 2)
    assert imports.run(settings, path) == 0
    assert "2 were there already" in capsys.readouterr().out


def test_a_team_may_begin_with_an_import(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    environment = {"THREADBOOK_HOME": str(tmp_path), "THREADBOOK_NODE_ID": "here"}
    settings = load_settings(environment, tmp_path)
    assert len(taken(capsys, settings, lines(tmp_path / "a.jsonl", {"messages": HELLO}))["threads"]) == 1


def test_a_channels_workspace_is_known_from_its_threads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings, path = settings_in(tmp_path), lines(tmp_path / "a.jsonl", {"messages": HELLO})
    with pytest.raises(SettingsError, match="Name its workspace"):
        imports.run(settings, path, channel="C1")
    with pytest.raises(SettingsError, match="is none"):
        imports.run(settings, path, channel="#sales")
    (one,) = taken(capsys, settings, path, channel="T7/C1")["threads"]
    assert one["thread"].startswith("T7:C1:import-")
    (one,) = taken(capsys, settings, lines(path, {"messages": HELLO[:2]}), channel="C1")["threads"]
    assert one["thread"].startswith("T7:C1:import-")
    with closing(Store(settings.database_url)) as store:
        assert store.imported_threads("T7", ThreadKey.parse(one["thread"]).root_ts) == [one["thread"]]
        assert store.imported_threads("T1", ThreadKey.parse(one["thread"]).root_ts) == []


def test_a_purge_takes_an_imported_conversation_with_what_was_made_from_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = settings_in(tmp_path)
    raw, edited = (one["thread"] for one in taken(capsys, settings, second_schema(tmp_path / "chat.db"))["threads"])
    with closing(Store(settings.database_url)) as store:
        assert store.purgeable(thread_id=raw) == [edited, raw]
        for one in (edited, raw):
            store.purge_thread(one)
        assert store.find_threads(["a.py"]) == []
        assert store.timed_steps(raw) == []
        assert [stone.thread_id for stone in store.tombstones(raw)] == [raw]
    assert exported(capsys, settings, "sft") == []


def test_a_conversation_of_somebody_who_opted_out_is_not_exported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = settings_in(tmp_path, '[export]\nopted_out = ["terminal"]\n')
    taken(capsys, settings, second_schema(tmp_path / "chat.db"))
    assert [len(record["messages"]) for record in exported(capsys, settings, "sft")] == [3]


def test_a_file_with_one_bad_line_is_not_imported_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = settings_in(tmp_path)
    path = lines(tmp_path / "a.jsonl", {"messages": HELLO}, {"messages": [{"role": "root\x1b[2J", "content": ""}]})
    assert imports.run(settings, path) == 1
    said = capsys.readouterr().err
    assert "line 2 of a.jsonl" in said
    assert "Nothing was imported" in said
    with closing(Store(settings.database_url)) as store:
        assert store.find_threads() == []


def test_what_is_no_file_is_not_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_in(tmp_path)
    assert imports.run(settings, tmp_path / "gone.jsonl") == 1
    assert imports.run(settings, Path("/dev/zero")) == 1
    assert "is no file" in capsys.readouterr().err
    monkeypatch.setattr(imports, "FILE_BYTES", 3)
    assert imports.run(settings, lines(tmp_path / "a.jsonl", {"messages": HELLO})) == 1
    assert "more than 3 bytes" in capsys.readouterr().err


def test_hashes_in_imported_texts_hold_no_contents_of_the_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = settings_in(tmp_path)
    tools = [{"sha256": "a" * 64}]
    (one,) = taken(capsys, settings, lines(tmp_path / "a.jsonl", {"messages": HELLO, "tools": tools}))["threads"]
    with closing(Store(settings.database_url)) as store:
        assert "blob_refs" not in store.purge_counts(one["thread"])
        (steps,) = store.timed_steps(one["thread"])
        assert [step.message for _, step in steps if isinstance(step, Said)] == HELLO


def test_operators_may_be_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = settings_in(tmp_path, '[access]\nimport = ["admins"]\n')
    assert imports.run(settings, lines(tmp_path / "a.jsonl", {"messages": HELLO})) == 1
    assert "allows no operator to import" in capsys.readouterr().err
    with closing(Store(settings.database_url)) as store:
        assert store.find_threads() == []


def test_parts_of_a_message_are_one_text_for_a_trainer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = settings_in(tmp_path)
    parts = [{"type": "text", "text": "look"}, {"type": "text", "text": "here"}]
    taken(capsys, settings, lines(tmp_path / "a.jsonl", {"messages": [{"role": "user", "content": parts}, HELLO[4]]}))
    (record,) = exported(capsys, settings, "sft")
    assert record["messages"][0]["content"] == "look\nhere"
    assert record["tools"] == "[]"
    (record,) = exported(capsys, settings, "sharegpt")
    assert [each["value"] for each in record["conversations"]] == ["look\nhere", "It is 42."]
