"""The broker's knowledge of a source's tables and metrics: refreshed now and then, searched by words."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from core.telemetry import get_logger
from workers.sources.drivers.base import Driver
from workers.sources.knowledge.entries import Dictionary, Metric
from workers.sources.knowledge.folder import read_folder
from workers.sources.knowledge.metrics import metrics_text, named_in
from workers.sources.knowledge.otherwise import computed_otherwise
from workers.sources.knowledge.schema_text import Schema
from workers.sources.knowledge.tokens import estimated_tokens
from workers.sources.query import catalogue_of
from workers.sources.values import Source, Visible

log = get_logger(__name__)

KNOWN_S = 600.0
"""So old may be what is known of tables and of the dictionary's files."""
DOUBTED_S = 60.0
"""So old may be what is known once a statement has shown that it may be outdated: models name columns that never were,
and a large schema takes seconds."""
METRICS_SHARE = 0.3
"""What of a text's tokens metrics may take."""
NAMED_METRICS = 40
NOTHING = "Nothing fits these words. Use other words, or look at tables()."


@dataclass(frozen=True)
class _Known:
    schema: Schema
    metrics: tuple[Metric, ...]
    at: float


class Knowledge:
    """The knowledge of one source. `folder` has its data dictionary, None if there is none. Threads may share it."""

    def __init__(self, source: Source, folder: Path | None) -> None:
        self._source = source
        self._folder = folder
        self._building, self._reading = threading.Lock(), threading.Lock()
        self._known: _Known | None = None
        self._is_doubted = False
        self._read: tuple[float, tuple[Metric, ...]] | None = None

    def for_question(self, driver: Driver, question: str, tokens: int) -> str:
        """The tables, columns and metrics that a question needs, in about so many tokens at most.

        A small schema is given whole. Raises SourceError when the catalogue cannot be read.
        """
        known = self._get(driver)
        metrics = _metrics(known.metrics, question, int(tokens * METRICS_SHARE), others=True)
        schema = known.schema.for_question(question, tokens - estimated_tokens(metrics))
        return "\n\n".join(filter(None, (schema.text, metrics)))

    def computed_otherwise(self, sql: str, visible: Visible, names: Collection[str]) -> tuple[str, ...]:
        """The metrics that a statement, or the code around it, computes in another way. Never raises."""
        try:
            metrics = self._metrics()
            return computed_otherwise(metrics, sql, self._source.kind.dialect, visible, names) if metrics else ()
        except Exception as error:  # rows that were read are not lost for a hint
            log.warning("metrics_not_compared", source=self._source.name, why=type(error).__name__)
            return ()

    def search(self, driver: Driver, words: str) -> str:
        """The tables, columns and metrics that fit these words best. Raises SourceError as above."""
        known = self._get(driver)
        found = known.schema.search(words)
        metrics = _metrics(known.metrics, words, int(estimated_tokens(found.text) * METRICS_SHARE) + 500)
        if not metrics and known.metrics:
            names = ", ".join(metric.name for metric in known.metrics[:NAMED_METRICS])
            metrics = f"No metric of the team fits these words. There are: {names}."
        return "\n\n".join(filter(None, (found.text or NOTHING, metrics)))

    def doubt(self) -> None:
        """A statement named what the source does not have, or has only now: the tables are soon looked up again."""
        self._is_doubted = True

    def _metrics(self) -> tuple[Metric, ...]:
        """The metrics alone: no catalogue is looked up for them, and none is waited for."""
        known = self._known
        if self._folder is None or (known is not None and time.monotonic() - known.at <= KNOWN_S):
            return () if known is None else known.metrics
        with self._reading:
            if self._read is None or time.monotonic() - self._read[0] > KNOWN_S:
                self._read = time.monotonic(), read_folder(self._folder).metrics
            return self._read[1]

    def _get(self, driver: Driver) -> _Known:
        before = self._known
        # Built once, also when many threads ask at the same time. A large schema takes seconds: whoever asks while it
        # is built again gets what was known before.
        if not self._building.acquire(blocking=before is None):
            assert before is not None  # noqa: S101 - else the lock was waited for; mypy cannot see it
            return before
        try:
            if self._known is None or self._is_outdated(self._known):
                dictionary = Dictionary() if self._folder is None else read_folder(self._folder)
                if dictionary.faults:
                    log.warning("dictionary_faults", source=self._source.name, count=len(dictionary.faults))
                schema = Schema(catalogue_of(self._source, driver), dictionary)
                self._known = _Known(schema, dictionary.metrics, time.monotonic())
                self._is_doubted = False
            return self._known
        finally:
            self._building.release()

    def _is_outdated(self, known: _Known) -> bool:
        return time.monotonic() - known.at > (DOUBTED_S if self._is_doubted else KNOWN_S)


def _metrics(metrics: tuple[Metric, ...], words: str, tokens: int, *, others: bool = False) -> str:
    """The metrics that the words name, with their SQL. With `others`, those of the rest follow that have room, and then
    the names of those that have none: people rarely name a metric as the dictionary does."""
    shown: list[Metric] = []
    named = named_in(words, metrics)
    for metric in (*named, *(other for other in metrics if others and other not in named)):
        if estimated_tokens(metrics_text([*shown, metric])) > tokens:
            break
        shown.append(metric)
    rest = [metric.name for metric in metrics if metric not in shown] if others else []
    text = (
        f"Further metrics, by name: {', '.join(rest[:NAMED_METRICS])}. search_schema() gives their SQL." if rest else ""
    )
    return "\n\n".join(filter(None, (metrics_text(shown), text)))
