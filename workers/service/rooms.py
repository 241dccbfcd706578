"""Clean rooms for a process that runs code without a thread's lease: what each workspace's code runs with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial

from core.blobs import Blobs
from core.installations.workspaces import opened_workspaces
from core.queue import connect_redis
from core.settings import Settings
from core.slack.writer import SlackWriter
from core.store import Store
from executor.client import SessionClient
from workers.service.context import downloader
from workers.turn.clean_room import Room
from workers.turn.files import ThreadFiles
from workers.turn.limits import limits_of


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
