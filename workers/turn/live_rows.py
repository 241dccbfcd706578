"""What cells of a scheduled run ask of data sources: the rows of now, as the person who owns the schedule."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from core.authorization import Authorizer
from core.errors import SlackUnreachable
from core.phrases import say
from core.settings import Settings
from core.values import Language, ThreadKey
from executor.client import WithFile
from workers.sources.broker.client import BrokerClient
from workers.sources.broker.requests import Ask, Request
from workers.sources.errors import LimitReached, Refused, SourceAway, SourceError

MB = 1024 * 1024


class LiveRows:
    """Answers the requests of a run's cells. `refused` is the sentence for people once a source may not be asked."""

    def __init__(
        self,
        settings: Settings,
        access: Authorizer,
        broker: BrokerClient | None,
        *,
        thread: ThreadKey,
        owner: str,
        language: Language,
    ) -> None:
        self._settings, self._access, self._broker = settings, access, broker
        self._thread, self._owner, self._language = thread, owner, language
        self._ends_at = time.monotonic() + settings.report.clean_room_s
        self._bytes: dict[str, int] = {}
        self._sent: dict[str, int] = {}
        self.refused = ""
        self.away = False
        self.empty: list[str] = []
        """The sources of statements that gave no row."""

    def __call__(self, kind: str, payload: Mapping[str, Any]) -> Any:
        """The rows, with an open file. Raises SourceError, a sentence for the cell."""
        try:
            ask = Ask.model_validate(payload)
        except ValidationError:
            raise Refused("The request is not one that a cell can make.") from None
        name = ask.source or next(iter(self._settings.sources), "")
        self._require_allowed(name)
        given = self._settings.sources[name]
        left = given.turn_mb * MB - self._bytes.get(name, 0)
        if left <= 0 or self._sent.get(name, 0) >= given.turn_queries:
            raise LimitReached(f"This run has asked {name} for as much as one question may.")
        seconds = max(1.0, self._ends_at - time.monotonic())
        request = Request(ask=ask.model_copy(update={"source": name}), seconds=seconds, bytes=left)
        assert self._broker is not None  # noqa: S101 - `_require_allowed` has looked
        try:
            answer, descriptor = self._broker.ask(request, threading.Event())
        except SourceError as error:
            self.away = self.away or isinstance(error, SourceAway)
            raise
        if descriptor is None:
            return answer.value
        self._bytes[name] = self._bytes.get(name, 0) + answer.bytes
        self._sent[name] = self._sent.get(name, 0) + 1
        if not answer.rows:
            self.empty.append(name)
        return WithFile({"rows": answer.rows}, descriptor)

    def _require_allowed(self, name: str) -> None:
        if self._broker is None or name not in self._settings.sources:
            self._refuse("source_gone", name)
        if self._settings.sources[name].strict:
            self._refuse("schedule_strict", name)
        try:
            verdict = self._access.may_ask(name, self._thread, {self._owner})
        except SlackUnreachable:
            self.away = True
            raise SourceAway("Slack does not say now who may ask.") from None
        if not verdict:
            self._refuse(verdict.phrase, name)

    def _refuse(self, phrase: str, name: str) -> None:
        self.refused = say(phrase, self._language, source=name)
        raise Refused(self.refused)
