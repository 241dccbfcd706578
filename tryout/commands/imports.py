"""`threadbook import`: conversations of other tools become threads of the Store, marked as imported."""

from __future__ import annotations

import json
import re
import stat
import sys
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from core.actions import Action
from core.errors import SettingsError
from core.rows import TurnRow
from core.settings import Settings
from core.steps import Step
from core.store import Store
from core.store.lineage import CopiedTurn
from core.values import IMPORTED, ThreadKey
from tryout.commands.operator import operator, permitted, why_unreadable
from tryout.commands.show import printable
from workers.memory.imports import jsonl, model_programmer
from workers.memory.imports.conversation import FILE_BYTES, Conversation, NotReadable, Reading

NOWHERE = "import"
"""Team and channel of conversations that belong to no channel: only operators see them."""
_PLACE = re.compile(r"(?:(?P<team>[TE][A-Z0-9]{1,30})/)?(?P<channel>[CGD][A-Z0-9]{1,30})")
_MOST_SHOWN = 20


def run(settings: Settings, path: Path, *, channel: str = "", dry_run: bool = False, as_json: bool = False) -> int:
    """Import the conversations of a file, or only list them; 1 if that fails.

    A conversation that is already in the Store is not stored twice. Raises SettingsError for a channel that cannot be
    one.
    """
    with closing(Store(settings.database_url)) as store:
        try:
            if store.is_new():  # a team may begin with what it has
                store.migrate()
            if not permitted(settings, store, Action.IMPORT, path.name[:200], {"dry_run": int(dry_run)}):
                return 1
            team, place = _place(store, channel)
            reading = _read(path, operator(settings))
            kept = reading.conversations if dry_run else _keep(store, team, place, reading, operator(settings))
        except NotReadable as error:
            print(f"threadbook: {printable(str(error))} Nothing was imported.", file=sys.stderr)
            return 1
        except SQLAlchemyError as error:
            print(why_unreadable(store, error), file=sys.stderr)
            return 1
    ids = {each.key: _key(team, place, each).id for each in reading.conversations}
    _print(reading, kept, ids, dry_run=dry_run, as_json=as_json)
    return 0


def _read(path: Path, user: str) -> Reading:
    """The conversations of a file of either kind. Raises NotReadable."""
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            raise NotReadable(f"{path.name} is no file.")
        if about.st_size > FILE_BYTES:
            raise NotReadable(f"{path.name} has more than {FILE_BYTES} bytes. Split it.")
        with path.open("rb") as file:
            is_database = file.read(len(model_programmer.MAGIC)) == model_programmer.MAGIC
        read = model_programmer.read if is_database else jsonl.read
        return read(path, user, datetime.now(UTC))
    except OSError as error:
        raise NotReadable(f"{path.name} cannot be read ({error.strerror}).") from None


def _place(store: Store, channel: str) -> tuple[str, str]:
    """The team and the channel that the conversations belong to. Raises SettingsError."""
    if not channel:
        return NOWHERE, NOWHERE
    found = _PLACE.fullmatch(channel)
    if found is None:
        raise SettingsError(f"--channel takes Slack's id of a channel, such as C0123456789; {channel!r} is none.")
    if found["team"]:
        return found["team"], found["channel"]
    threads = store.find_threads(channel=channel, limit=1)
    if not threads:
        raise SettingsError(f"nobody asked in {channel} yet. Name its workspace too: --channel T0123456789/{channel}.")
    return ThreadKey.parse(threads[0].thread_id).team, channel


def _key(team: str, channel: str, conversation: Conversation) -> ThreadKey:
    return ThreadKey(team, channel, f"{IMPORTED}{conversation.key}")


def _keep(store: Store, team: str, channel: str, reading: Reading, user: str) -> list[Conversation]:
    """Keep them, and return those that are new."""
    new = []
    for conversation in reading.conversations:
        key = _key(team, channel, conversation)
        begun, ended = conversation.said[0][0], conversation.said[-1][0]
        row = TurnRow(f"{key.id}/t1", key.id, 1, "done", "en", "imported", begun, ended)
        steps: list[tuple[datetime, Step]] = [(begun, conversation.head), *conversation.said]
        sources = [ThreadKey(team, channel, f"{IMPORTED}{conversation.source}").id] if conversation.source else []
        if store.import_thread(key, CopiedTurn(row, steps), conversation.description, user, sources):
            new.append(conversation)
    return new


def _print(
    reading: Reading,
    kept: tuple[Conversation, ...] | list[Conversation],
    ids: Mapping[str, str],
    *,
    dry_run: bool,
    as_json: bool,
) -> None:
    known = len(reading.conversations) - len(kept)
    if as_json:
        threads = [
            {
                "thread": ids[each.key],
                "description": each.description,
                "messages": len(each.said),
                "at": each.said[0][0].isoformat(),
                "source": ids.get(each.source, ""),
            }
            for each in kept
        ]
        counts = {"known": known, "earlier": reading.earlier, "left_out": dict(reading.dropped or {})}
        print(json.dumps({"dry_run": dry_run, "threads": threads, **counts}, ensure_ascii=False))
        return
    for each in kept[:_MOST_SHOWN]:
        print(f"{ids[each.key]} · {len(each.said)} messages · {printable(each.description)}")
    if len(kept) > _MOST_SHOWN:
        print(f"… {len(kept) - _MOST_SHOWN} more")
    verb = "would be imported" if dry_run else "are imported"
    said = [f"{len(kept)} conversations {verb}."]
    said += [f"{known} were there already."] if known else []
    said += [f"{reading.earlier} are the beginning of another one and are kept with it."] if reading.earlier else []
    if reading.dropped:
        said.append(
            "Left out: " + ", ".join(f"{count} {what}" for what, count in sorted(reading.dropped.items())) + "."
        )
    print(printable(" ".join(said)))
