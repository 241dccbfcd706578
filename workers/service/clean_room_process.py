"""A process that runs code in clean rooms, without a thread's lease: what it opens, and how it serves each workspace.

`clean_rooms.py` checks reports in such a process, and `schedules/runner.py` makes the scheduled ones.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Never, Protocol, TypeVar

from core.blobs import Blobs
from core.installations.workspaces import opened_workspaces
from core.queue import connect_redis
from core.settings import Settings
from core.slack.writing.writer import SlackWriter
from core.store import Store
from executor.client import SessionClient
from workers.service.context import downloader
from workers.turn.clean_rooms.room import Room
from workers.turn.files import ThreadFiles
from workers.turn.limits import limits_of

LOOK_EVERY_S = 2.0


@dataclass(frozen=True, slots=True)
class Place:
    """A workspace's settings, its Slack, and the room in which its code runs."""

    settings: Settings
    slack: SlackWriter
    room: Room


@dataclass(frozen=True, slots=True)
class Rooms:
    """The Store, the place where there is one workspace, and `of(team)` where there are many.

    `of` raises NotInstalled, Undecipherable, StoreUnreachable.
    """

    store: Store
    only: Place
    of: Callable[[str], Place] | None


@contextmanager
def opened_rooms(settings: Settings) -> Iterator[Rooms]:
    """Open everything. Call it after a fork, never before it."""
    with closing(Store(settings.database_url)) as store, closing(connect_redis(settings.redis_url)) as redis:
        workspaces = opened_workspaces(settings, store, redis)
        slack = workspaces.only.slack
        sessions = SessionClient(settings.session_socket, partial(limits_of, settings))
        blobs = Blobs(settings.files)
        with downloader(settings, workspaces.only) as fetch:
            files = ThreadFiles(store=store, slack=slack, sessions=sessions, blobs=blobs, downloader=fetch)

            def of(team: str) -> Place:
                own, there = settings.for_workspace(team), workspaces.of(team)
                room = Room(own, blobs, sessions, files.for_workspace(there), is_patient=True)
                return Place(own, there.slack, room)

            only = Place(settings, slack, Room(settings, blobs, sessions, files, is_patient=True))
            yield Rooms(store, only, of if settings.many_workspaces else None)


class Serving(Protocol):
    """Does the work of one node that needs a clean room, piece by piece."""

    def begin(self) -> None:
        """This process has just started."""

    def next(self) -> bool:
        """Do the next piece of work; False when there is none, or when it is better to wait a moment."""


Made = TypeVar("Made", bound=Serving)


def serve(settings: Settings, make: Callable[[Rooms, Place, Callable[[str], Made] | None], Made]) -> Never:
    """Work until the process ends. `make` makes what works in a place.

    Where there are many workspaces, its last argument gives the one that works for a workspace.
    """
    with opened_rooms(settings) as rooms:
        of = rooms.of
        serving = make(rooms, rooms.only, None if of is None else lambda team: make(rooms, of(team), None))
        serving.begin()
        while True:
            if not serving.next():
                time.sleep(LOOK_EVERY_S)
