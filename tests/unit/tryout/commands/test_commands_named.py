"""Which thread a link means, for the commands that look into threads."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from turn_kit import ASKED, CELL, FINISHED, message, write_turn

from core.errors import SettingsError
from core.settings import Settings, load_settings
from core.store import Store
from tryout.commands import compose, replay, threads

LINK = "https://x.slack.com/archives/C1/p1712345678000100"
TS = "1712345678.000100"

COMMANDS: dict[str, Callable[[Settings], int]] = {
    "replay": lambda settings: replay.run(settings, LINK),
    "show": lambda settings: threads.run(settings, ["show", LINK], threads.Filter()),
    "history": lambda settings: threads.run(settings, ["history", LINK], threads.Filter()),
    "compose": lambda settings: compose.run(settings, [LINK]),
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_a_link_that_two_workspaces_share_names_both_threads(
    tmp_path: Path, command: Callable[[Settings], int]
) -> None:
    settings = load_settings({"THREADBOOK_HOME": str(tmp_path)}, tmp_path)
    with closing(Store(settings.database_url)) as store:
        store.migrate()
        for team in ("T1", "T2"):
            store.record_message(message("C1", TS).model_copy(update={"team": team}))
        with pytest.raises(SettingsError, match=f"T1:C1:{TS}, T2:C1:{TS}"):
            command(settings)


def test_a_turn_is_named_by_its_id(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = load_settings({"THREADBOOK_HOME": str(tmp_path)}, tmp_path)
    with closing(Store(settings.database_url)) as store:
        store.migrate()
        turn = write_turn(store, [ASKED, CELL, FINISHED])
    assert replay.run(settings, turn.id, as_json=True) == 0
    assert turn.id in capsys.readouterr().out
