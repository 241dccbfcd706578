"""Conversations of other tools: what is read of a file, what lineage it has, and what a hostile file comes to."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from other_tools import HELLO, first_schema, lines, second_schema

from workers.agent.thread.states import items_of, step_hash
from workers.memory.imports import conversation, jsonl, messages, model_programmer
from workers.memory.imports.conversation import Conversation, NotReadable, Reading

NOW = datetime(2026, 11, 2, tzinfo=UTC)


def from_lines(folder: Path, *records: object) -> Reading:
    return jsonl.read(lines(folder / "a.jsonl", *records), "cli:ana@here", NOW)


def texts(one: Conversation) -> list[str]:
    return [step.text for _, step in one.said]


# --- JSONL


def test_messages_with_tool_calls_are_kept_word_for_word_and_in_their_order(tmp_path: Path) -> None:
    (one,) = from_lines(tmp_path, {"messages": HELLO, "tools": [{"type": "function"}]}).conversations
    assert [step.message for _, step in one.said] == HELLO
    assert [list(step.message) for _, step in one.said] == [list(each) for each in HELLO]
    assert one.head.tools == ({"type": "function"},)
    assert (one.description, one.head.place) == ("sum it", "line 1")


def test_times_of_messages_and_of_conversations_are_kept(tmp_path: Path) -> None:
    said = [{**HELLO[1], "timestamp": "2024-02-03T04:05:06+01:00"}, {**HELLO[4], "created_at": 1706929600.5}]
    dated, whole, undated = from_lines(
        tmp_path, {"messages": said}, {"messages": HELLO, "created": "2023-04-02 16:08:02"}, {"messages": HELLO[:2]}
    ).conversations
    assert [f"{at:%d %H:%M:%S}" for at, _ in dated.said] == ["03 03:05:06", "03 03:06:40"]
    assert {at for at, _ in whole.said} == {datetime(2023, 4, 2, 16, 8, 2, tzinfo=UTC)}
    assert {at for at, _ in undated.said} == {NOW}
    assert "timestamp" not in dated.said[0][1].message


def test_identical_texts_and_identical_conversations_stay_two(tmp_path: Path) -> None:
    twice = [HELLO[1], HELLO[4], HELLO[1], HELLO[4]]
    first, second = from_lines(tmp_path, {"messages": twice}, {"messages": twice}).conversations
    assert texts(first) == ["sum it", "It is 42."] * 2
    assert len(items_of([list(first.said)])) == 4
    assert first.key != second.key
    assert [one.key for one in from_lines(tmp_path, {"messages": twice}).conversations] == [first.key]


def test_what_has_the_same_beginning_is_one_group(tmp_path: Path) -> None:
    short, long, other = from_lines(
        tmp_path, {"messages": HELLO[:3]}, {"messages": HELLO}, {"messages": HELLO[1:]}
    ).conversations
    assert short.head.group == long.head.group != other.head.group


def test_fields_that_no_endpoint_knows_and_pictures_are_left_out_and_counted(tmp_path: Path) -> None:
    parts = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:"}}]
    read = from_lines(tmp_path, {"messages": [{"role": "user", "content": parts, "mood": "good"}], "id": 7})
    (one,) = read.conversations
    assert one.said[0][1].message == {"role": "user", "content": [{"type": "text", "text": "look"}]}
    assert read.dropped == {"field mood": 1, "field id": 1, "parts of messages that are no text": 1}


@pytest.mark.parametrize(
    ("record", "why"),
    [
        ("{", "no JSON"),
        ("[" * 200_000, "no JSON"),
        ('{"messages": [{"role": "user", "content": NaN}]}', "no JSON"),
        (b"\xff\xfe{", "no JSON"),
        ({"conversations": []}, "no list of `messages`"),
        ({"messages": []}, "no message"),
        ({"messages": [HELLO[1]] * (conversation.MESSAGES + 1)}, "more than"),
        ({"messages": ["hello"]}, "no object"),
        ({"messages": [{"role": "root", "content": "x"}]}, "no role"),
        ({"messages": [{"role": "user", "content": 7}]}, "no text"),
        ({"messages": [{"role": "user"}]}, "neither a text nor calls"),
        ({"messages": [{"role": "user", "content": "x" * (messages.MESSAGE_CHARS + 1)}]}, "longer"),
        ({"messages": [{"role": "user", "content": "x" * 900_000}] * 9}, "characters"),
        ({"messages": [{"role": "assistant", "tool_calls": [{"id": "c", "type": "web"}]}]}, "none of a function"),
        ({"messages": HELLO, "tools": "{"}, "tools are no JSON"),
        ({"messages": HELLO, "tools": ["a"]}, "no list of objects"),
    ],
)
def test_a_line_that_is_no_conversation_is_named_and_nothing_is_read(tmp_path: Path, record: Any, why: str) -> None:
    path = tmp_path / "bad.jsonl"
    raw = record if isinstance(record, bytes) else (record if isinstance(record, str) else json.dumps(record)).encode()
    path.write_bytes(json.dumps({"messages": HELLO}).encode() + b"\n" + raw + b"\n")
    with pytest.raises(NotReadable) as caught:
        jsonl.read(path, "cli:ana@here", NOW)
    assert "line 2" in str(caught.value)
    assert why in str(caught.value)


def test_bounds_of_a_file_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotReadable, match="holds no conversation"):
        from_lines(tmp_path)
    monkeypatch.setattr(jsonl, "LINE_BYTES", 100)
    with pytest.raises(NotReadable, match="longer than 100 bytes"):
        from_lines(tmp_path, {"messages": HELLO})
    monkeypatch.undo()
    monkeypatch.setattr(jsonl, "CONVERSATIONS", 1)
    with pytest.raises(NotReadable, match="more than 1 conversations"):
        from_lines(tmp_path, {"messages": HELLO}, {"messages": HELLO})


# --- ModelProgrammer


def from_database(path: Path) -> Reading:
    return model_programmer.read(path, "cli:ana@here", NOW)


@pytest.mark.parametrize("schema", [first_schema, second_schema])
def test_both_schemas_give_the_same_conversations_with_types_times_and_originals(tmp_path: Path, schema: Any) -> None:
    read = from_database(schema(tmp_path / "chat.db"))
    raw, edited = read.conversations
    assert read.earlier == 1, "the first one is the beginning of the second one"
    assert texts(raw) == ["Use the terminal.", "write a vector", "rm"]
    assert texts(edited) == ["Use the terminal.", "write a vector", "ls", "a.py", "ls", "a.py"]
    assert [step.type for _, step in edited.said][1:4] == ["manual", "edit", "terminal"]
    assert edited.said[2][1].before == "rm"
    assert edited.said[2][1].source == step_hash(raw.said[2][1])
    assert edited.source == raw.key
    assert f"{edited.said[2][0]:%H:%M:%S.%f}" == "16:11:00.123456"
    assert edited.said[3][1].who == "user terminal"
    assert raw.source == ""


def test_a_conversation_is_called_and_started_as_its_beginning_was(tmp_path: Path) -> None:
    raw, edited = from_database(second_schema(tmp_path / "chat.db")).conversations
    assert (raw.description, raw.head.startup, raw.head.format) == ("vectors", "cd work", "model_programmer_1")
    assert (edited.description, edited.head.startup) == ("write a vector", "")
    raw, _ = from_database(second_schema(tmp_path / "old.db", old=True)).conversations
    assert (raw.description, raw.head.startup) == ("write a vector", "")


def test_a_message_that_cannot_be_read_is_left_out_and_counted(tmp_path: Path) -> None:
    path = second_schema(tmp_path / "chat.db")
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE messages SET content = ? WHERE hash = 'h5'", ("[" * 100_000,))
        db.execute("UPDATE messages SET content = x'00ff' WHERE hash = 'h1'")
        db.commit()
    read = from_database(path)
    assert texts(read.conversations[-1]) == ["write a vector", "ls", "ls"]
    assert read.dropped == {"messages that cannot be read": 2}


def test_a_database_that_is_another_one_or_broken_is_said_to_be(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as db:
        db.execute("CREATE TABLE messages (id)")
        db.commit()
    with pytest.raises(NotReadable, match="none of ModelProgrammer"):
        from_database(other)
    broken = second_schema(tmp_path / "chat.db")
    broken.write_bytes(broken.read_bytes()[:4096] + b"\xff" * 9_000)
    with pytest.raises(NotReadable):
        from_database(broken)
    with pytest.raises(NotReadable, match="conversation 1 does not say"):
        from_database(first_schema(tmp_path / "odd.db", [("2023-04-02 16:09:00", {"h1": 1})]))


def test_views_of_a_hostile_database_are_not_run(tmp_path: Path) -> None:
    path = first_schema(tmp_path / "chat.db")
    with closing(sqlite3.connect(path)) as db:
        db.execute("DROP TABLE message_info")
        endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS hash FROM n"
        db.execute(f"CREATE VIEW message_info AS {endless}")
        db.commit()
    with pytest.raises(NotReadable, match="none of ModelProgrammer"):
        from_database(path)


def test_a_database_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = second_schema(tmp_path / "chat.db")
    for name, value, why in (
        ("_ROWS", 2, "more than 2 rows"),
        ("_LINKS", 2, "more than 2 rows"),
        ("CONVERSATIONS", 1, "more than 1 conversations"),
        ("MESSAGES", 3, "more than 3 messages"),
        ("CONVERSATION_CHARS", 10, "more than 10 characters"),
        ("TOTAL_CHARS", 10, "more than 10 characters"),
        ("_MOST_TICKS", 0, "cannot be read as a database"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(model_programmer, name, value)
            patch.setattr(model_programmer, "_STEPS", 1)
            if name != "_MOST_TICKS":
                patch.setattr(model_programmer, "_STEPS", 50_000)
                if name in ("_ROWS", "_LINKS"):
                    patch.setattr(model_programmer._select, "__defaults__", (value if name == "_ROWS" else 500,))
            with pytest.raises(NotReadable, match=why):
                from_database(path)


def test_a_conversation_that_was_made_from_itself_ends(tmp_path: Path) -> None:
    path = second_schema(tmp_path / "chat.db")
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE conversations SET source_id = CASE id WHEN 1 THEN 3 WHEN 3 THEN 1 ELSE id END")
        db.execute("UPDATE messages SET source_id = id")
        db.commit()
    assert len(from_database(path).conversations) == 2
