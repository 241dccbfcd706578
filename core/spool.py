"""Events that the Store could not take, on the disk of this machine: the next bot finds them if this one dies.

One file per event, named by the message's ts, so that a redelivery replaces its file and the names are in order. A file
contains people's text: only the bot's own user may read it, and it is removed as soon as the Store has the message.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from core.telemetry import get_logger
from core.values import ThreadKey

log = get_logger(__name__)

MAX_EVENTS = 10_000
MAX_BYTES = 200_000_000
"""The size of all files together. Slack limits the size of one event."""

_CLOCKS_DIFFER = timedelta(minutes=10)
_ENDING, _PART = ".json", ".part"
_WRITTEN_S = 60.0
"""By then an event is written, or never will be."""
_TS = re.compile(r"\d{1,20}\.\d{1,10}")


Place = tuple[str, str, str]
"""A message in Slack: team, channel and ts."""


@dataclass(frozen=True, slots=True)
class Spooled:
    """A `message` or `app_mention` event, and for which bot of which workspace it came."""

    event: Mapping[str, Any]
    team: str
    bot_user_id: str

    @property
    def place(self) -> Place:
        """Which message it brings, if it brings one."""
        return self.team, str(self.event.get("channel")), str(self.event.get("ts"))

    @property
    def happened_s(self) -> float:
        """When, in seconds since 1970 by Slack's clock; 0 when the event does not say it."""
        ts = str(self.event.get("ts"))
        return float(ts) if _TS.fullmatch(ts) else 0.0

    @property
    def threads(self) -> set[str]:
        """The ids of the threads whose words are in it. An event that tells of a change has both texts."""
        channel = str(self.event.get("channel"))
        roots = {str(said.get("thread_ts") or said.get("ts")) for said in self._said}
        return {ThreadKey(self.team, channel, root).id for root in roots}

    @property
    def people(self) -> set[str]:
        """The ids of those whose words are in it."""
        return {str(said["user"]) for said in self._said if said.get("user")}

    @property
    def _said(self) -> list[Mapping[str, Any]]:
        found = (self.event, self.event.get("message"), self.event.get("previous_message"))
        return [said for said in found if isinstance(said, Mapping)]


class Spool:
    """A folder with the events that wait. Several bots of one machine may share it."""

    def __init__(self, folder: Path) -> None:
        """The folder is made when the first event is kept."""
        self._folder = folder

    def keep(self, spooled: Spooled) -> Path | None:
        """Write an event so that it survives a power cut; None when there is no room or the disk refuses."""
        content = json.dumps({"event": spooled.event, "team": spooled.team, "bot": spooled.bot_user_id}).encode()
        path = self._folder / _name(spooled)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            sizes = self._tidy()
            if len(sizes) >= MAX_EVENTS or sum(sizes) + len(content) > MAX_BYTES:
                log.error("spool_full", events=len(sizes))
                return None
            _write(path, content)
        except OSError as error:
            log.error("not_spooled", error=error)  # noqa: TRY400  the error has no more to say
            return None
        return path

    def _tidy(self) -> list[int]:
        """Remove what a process that died was writing; returns the sizes of the other files."""
        sizes = []
        for entry in os.scandir(self._folder):
            with suppress(FileNotFoundError):  # another process removes it right now
                status = entry.stat()
                if entry.name.endswith(_PART) and time.time() - status.st_mtime > _WRITTEN_S:
                    os.unlink(entry)
                else:
                    sizes.append(status.st_size)
        return sizes

    def kept(self) -> list[Path]:
        """The files of the events that wait, in the order in which people wrote them."""
        if not self._folder.is_dir():
            return []
        found = (path for path in self._folder.iterdir() if path.suffix == _ENDING)
        return sorted(found, key=lambda path: (path.name.find("."), path.name))

    def read(self, path: Path) -> Spooled | None:
        """The event of a file; None when it is gone or no event of ours."""
        try:
            given = json.loads(path.read_bytes())
            return Spooled(dict(given["event"]), str(given["team"]), str(given["bot"]))
        except FileNotFoundError:
            return None  # another bot was faster
        except (OSError, ValueError, KeyError, TypeError) as error:
            log.error("spooled_event_unreadable", file=path.name, error=error)  # noqa: TRY400  nothing to trace
            return None

    def forget(self, path: Path) -> None:
        """Remove the file of an event that is done."""
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            log.warning("spooled_event_not_removed", file=path.name, error=error)

    def remove(self, place: Place) -> bool:
        """Remove the events that bring this message; False when none is kept."""
        team, channel, ts = place
        twins = (Spooled({"type": kind, "channel": channel, "ts": ts}, team, "") for kind in ("message", "app_mention"))
        paths = [path for twin in twins if (path := self._folder / _name(twin)).exists()]
        for path in paths:
            self.forget(path)
        return bool(paths)

    def holds(self, thread_id: str) -> bool:
        """Whether an event with words of this thread waits here."""
        return any(thread_id in one.threads for path in self.kept() if (one := self.read(path)) is not None)

    def purge(self, *, thread_id: str = "", user: str = "", team: str = "", until: datetime | None = None) -> int:
        """Remove the events with words of this thread or of this person; returns their number. Raises OSError when one
        stays, once all others are gone.

        `team`: only those of this workspace. `until`: only what happened until then, as far as Slack's clock and ours
        agree. A bot that waits with one of them in its memory does not take it in any more.
        """
        if self._folder.is_dir():
            self._tidy()
        newest = math.inf if until is None else (until + _CLOCKS_DIFFER).timestamp()
        meant = [
            path
            for path in self.kept()
            if (one := self.read(path)) is not None
            and (thread_id in one.threads or user in one.people)
            and team in ("", one.team)
            and one.happened_s <= newest
        ]
        left = []
        for path in meant:
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                left.append(error)
        if left:
            raise left[0]
        return len(meant)


def _name(spooled: Spooled) -> str:
    event = spooled.event
    ts = str(event.get("ts"))
    same = json.dumps([spooled.team, event.get("channel"), ts, event.get("type")])
    moment = ts if _TS.fullmatch(ts) else "0.0"
    return f"{moment}-{hashlib.sha256(same.encode()).hexdigest()[:16]}{_ENDING}"


def _write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all: both its bytes and its name are on the disk afterwards."""
    part = path.with_name(f"{path.name}.{os.getpid()}{_PART}")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        part.rename(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
