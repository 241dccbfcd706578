"""Nothing that people wrote stands in a log line, whatever goes wrong in a turn."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import structlog
from sqlalchemy import text
from turn_world import World, cell, finish

from core.telemetry import configure_logging
from workers.models.base import ModelReply, ModelRequest, OnDelta
from workers.models.scripted import ScriptedModel

WORD = "Nightingale"
"""It is in the question, in the name of a file, in its data, in code and in its output."""


@pytest.fixture(autouse=True)
def restored_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


class Breaks:
    """A model that raises an error with the words of the prompt in it."""

    name = "breaks"
    native_tools = True
    sees = False

    def complete(self, request: ModelRequest, on_delta: OnDelta) -> ModelReply:
        raise ValueError(f"cannot encode {request.messages}")


def _store_refuses(world: World) -> None:
    with world.store._database.writing() as db:
        db.execute(text("CREATE TRIGGER no BEFORE INSERT ON steps BEGIN SELECT RAISE(ABORT, 'no'); END"))


def _store_is_broken(world: World) -> None:
    with world.store._database.writing() as db:
        db.execute(text("ALTER TABLE steps RENAME TO gone"))


def _slack_refuses(world: World) -> None:
    world.slack.fault("chat.postMessage", "error", error="invalid_arguments", times=3)


def _upload_refused(world: World) -> None:
    world.slack.fault("files.completeUploadExternal", "error", error="storage_limit_reached")


def _file_is_gone(world: World) -> None:
    world.slack.fault("download", "drop_call", times=20)


def _model_breaks(world: World) -> None:
    world.model = Breaks()


def _blobs_are_gone(world: World) -> None:
    files = world.settings.home / "files"
    files.write_text("not a folder")


@pytest.mark.parametrize(
    "fault",
    [_store_refuses, _store_is_broken, _slack_refuses, _upload_refused, _file_is_gone, _model_breaks, _blobs_are_gone],
)
def test_no_log_line_quotes_what_people_wrote(
    world: World, fault: Callable[[World], None], capfd: pytest.CaptureFixture[str]
) -> None:
    configure_logging(world.settings, json=True, level=logging.DEBUG)
    world.model = ScriptedModel(
        [
            cell(f"print('{WORD} is in the code')\nopen('{WORD}.txt', 'w').write('{WORD}')", f"{WORD}"),
            finish(f"{WORD} it is."),
        ]
    )
    key = world.say(f"what is {WORD}?", files={f"{WORD}.csv": f"name\n{WORD}\n".encode()})
    fault(world)
    try:
        world.run(key)
    except Exception:
        logging.getLogger("test").exception("as the job would log it")
    lines: list[dict[str, Any]] = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert [line["event"] for line in lines if line["level"] in ("warning", "error")]
    assert [line for line in lines if WORD in json.dumps(line)] == []
