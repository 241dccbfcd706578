"""`threadbook threads compose`: a conversation of pieces of others, kept as an imported one is."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime

from sqlalchemy.exc import SQLAlchemyError

from core.actions import Action
from core.errors import SettingsError
from core.rows import TurnRow
from core.settings import Settings
from core.steps import Imported, Said, Step
from core.store import Store
from core.store.history import History
from core.store.lineage import CopiedTurn
from core.values import IMPORTED, ThreadKey
from tryout.commands.imports import NOWHERE
from tryout.commands.named import turns_named
from tryout.commands.operator import operator, permitted, why_unreadable
from tryout.commands.show import printable
from workers.agent.about_steps import data_held
from workers.agent.thread.training import imported, people_in
from workers.memory.imports.composing import NoPiece, Piece, messages_of
from workers.memory.imports.conversation import MESSAGES, described, key_of

MOST_PIECES = 100


def run(settings: Settings, words: Sequence[str], *, as_json: bool = False) -> int:
    """Keep a conversation of these pieces, in their order, and print its name; 1 when a piece is not there.

    It belongs to the channel of its pieces. When they are of several channels, only operators see it. Raises
    SettingsError without pieces.
    """
    if not words or len(words) > MOST_PIECES:
        raise SettingsError(
            f"threads compose takes 1 to {MOST_PIECES} pieces: THREAD, THREAD#ITEM or THREAD#ITEM..ITEM. "
            "`threadbook threads show THREAD` prints the items."
        )
    with (
        closing(Store(settings.database_url)) as store,
        closing(History(settings.database_url)) as history,
    ):
        try:
            if not permitted(settings, store, Action.IMPORT, " ".join(words)[:300]):
                return 1
            key, count, is_new = _composed(store, history, words, operator(settings))
        except NoPiece as error:
            print(f"threadbook: {printable(str(error))}. Nothing was kept.", file=sys.stderr)
            return 1
        except SQLAlchemyError as error:
            print(why_unreadable(store, error), file=sys.stderr)
            return 1
    if as_json:
        print(json.dumps({"thread": key.id, "name": key.root_ts, "messages": count, "new": is_new}))
        return 0
    seen = f"in {key.channel}: `load {key.root_ts}`" if key.channel != NOWHERE else "by operators alone"
    print(f"{key.id} · {count} messages · {'kept' if is_new else 'was there already'}, to be seen {seen}")
    return 0


def _composed(store: Store, history: History, words: Sequence[str], user: str) -> tuple[ThreadKey, int, bool]:
    """The new thread, the number of its messages, and whether it is new. Raises NoPiece."""
    said: list[tuple[datetime, Said]] = []
    threads: dict[str, Sequence[Sequence[Step]]] = {}
    for word in words:
        piece = Piece.read(word)
        turns = turns_named(history, piece.thread)
        if not turns:
            raise NoPiece(f"no thread {piece.thread!r} is stored")
        thread_id = turns[-1].thread_id
        timed = store.timed_steps(thread_id)
        threads[thread_id] = [[step for _, step in steps] for steps in timed]
        try:
            said += messages_of(timed, piece)
        except NoPiece as error:
            raise NoPiece(f"{error} in {thread_id}") from None
    if not 0 < len(said) <= MESSAGES:
        raise NoPiece(f"the pieces have {len(said)} messages; 1 to {MESSAGES} are possible")
    places = {(key.team, key.channel) for key in map(ThreadKey.parse, threads)}
    team, channel = places.pop() if len(places) == 1 else (NOWHERE, NOWHERE)
    key = ThreadKey(team, channel, f"{IMPORTED}{key_of([[step.message for _, step in said], sorted(threads)], 1)}")
    groups = tuple(dict.fromkeys(group for each, turns in threads.items() for group in _groups(each, turns)))
    held = [data_held(turns) for turns in threads.values()]
    head = Imported(
        file="threadbook threads compose",
        format="composed",
        place=f"{len(words)} pieces",
        group=groups[0],
        groups=groups,
        people=tuple(sorted({person for turns in threads.values() for person in people_in(turns)})),
        sources=tuple(sorted({source for each in held for source in each.sources})),
        servers=tuple(sorted({server for each in held for server in each.servers})),
        user=user,
        author=user,
    )
    first, last = said[0][0], max(at for at, _ in said)
    row = TurnRow(f"{key.id}/t1", key.id, 1, "done", "en", "imported", first, max(first, last))
    about = described("", (step for _, step in said))
    is_new = store.import_thread(key, CopiedTurn(row, [(first, head), *said]), about, user, sorted(threads))
    return key, len(said), is_new


def _groups(thread_id: str, turns: Sequence[Sequence[Step]]) -> list[str]:
    """What decides about the split of a thread's records in an export."""
    taken = next(filter(None, map(imported, turns)), None)
    if taken is not None:
        return list(taken.head.groups or (taken.head.group,))
    return [hashlib.sha256(thread_id.encode()).hexdigest()[:16]]
