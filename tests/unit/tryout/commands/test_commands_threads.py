"""`threadbook threads`: lists, shows, walks and compares; earlier states can be shown again."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from turn_kit import ASKED, CELL, FINISHED, REPLIED, write_turn

from core.errors import SettingsError
from core.settings import Settings, load_settings
from core.steps import Changed
from core.store import Store
from tryout.commands import threads
from tryout.commands.threads import Filter
from workers.agent.thread.states import last_state

THREAD = "T1:C1:100.000001"
EDIT = Changed(
    do="edit", target="message:100.000001", text="what sold worst?", user="U2", author="Ben", ts="105.000001"
)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    environment = {"THREADBOOK_HOME": str(tmp_path), "THREADBOOK_NODE_ID": "here", "REDIS_URL": "redis://127.0.0.1:1/0"}
    settings = load_settings(environment, tmp_path)
    with closing(Store(settings.database_url)) as store:
        store.migrate()
        write_turn(store, [ASKED, REPLIED, CELL, FINISHED])
        write_turn(store, [ASKED, EDIT], channel="C2")
    return settings


def printed(capsys: pytest.CaptureFixture[str], settings: Settings, *words: str, **wanted: Any) -> Any:
    assert threads.run(settings, words, Filter(**wanted), as_json=True) == 0
    return json.loads(capsys.readouterr().out)


def test_threads_are_found_by_words_and_by_channel(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    assert {one["thread_id"] for one in printed(capsys, settings, "sold", "best")} == {THREAD, "T1:C2:100.000001"}
    assert [one["thread_id"] for one in printed(capsys, settings, "groupby")] == [THREAD]
    assert [one["thread_id"] for one in printed(capsys, settings, channel="C2")] == ["T1:C2:100.000001"]
    assert printed(capsys, settings, "nothing", "like", "it") == []
    assert threads.run(settings, ["groupby"], Filter()) == 0
    assert "what sold best?" in capsys.readouterr().out


def test_threads_are_found_by_how_far_they_are(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(Store(settings.database_url)) as store:
        for number, status in enumerate(("running", "waiting", "failed", "stopped"), start=3):
            write_turn(store, [ASKED], channel=f"C{number}", status=status)
    done = {THREAD, "T1:C2:100.000001"}
    by_state = {"running": {"T1:C3:100.000001"}, "waiting": {"T1:C4:100.000001"}, "done": done}
    by_state |= {"failed": {"T1:C5:100.000001"}, "stopped": {"T1:C6:100.000001"}}
    assert set(by_state) == set(threads.STATES)
    for state, expected in by_state.items():
        assert {one["thread_id"] for one in printed(capsys, settings, state=state)} == expected
    with pytest.raises(SettingsError, match="one of running, waiting"):
        threads.run(settings, [], Filter(state="asleep"))


def test_an_earlier_state_is_shown_again_and_compared(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    other = "T1:C2:100.000001"
    states = printed(capsys, settings, "history", other)["states"]
    assert [state["event"] for state in states] == ["edit"]
    shown = printed(capsys, settings, "show", f"{other}@{states[0]['state'][:10]}")
    assert [item["text"] for item in shown["said"]] == ["what sold worst?"]
    changes = printed(capsys, settings, "diff", THREAD, other)["changes"]
    assert changes[0]["before"]["text"] == "what sold best?"
    assert changes[0]["after"]["text"] == "what sold worst?"
    assert threads.run(settings, ["diff", THREAD, other], Filter()) == 0
    assert "+what sold worst?" in capsys.readouterr().out
    assert threads.run(settings, ["show", THREAD], Filter()) == 0
    assert "North sold best." in capsys.readouterr().out
    assert threads.run(settings, ["history", THREAD], Filter()) == 0
    assert "turn" in capsys.readouterr().out


def test_of_a_purged_thread_its_tombstone_tells(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(Store(settings.database_url)) as store:
        state = last_state(store.timed_steps(THREAD))
        store.purge_thread(THREAD, state=state)
    for name in (THREAD, state):
        assert threads.run(settings, ["show", name], Filter()) == 1
        assert "deleted for good" in capsys.readouterr().err
    assert threads.run(settings, ["show", "T1:C9:1.1"], Filter()) == 1
    assert "no thread" in capsys.readouterr().err


def test_wrong_words_and_an_unknown_state_are_said(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SettingsError, match="two threads"):
        threads.run(settings, ["diff", THREAD], Filter())
    assert threads.run(settings, ["show", f"{THREAD}@ffffffff"], Filter()) == 1
    assert "no one state" in capsys.readouterr().err
