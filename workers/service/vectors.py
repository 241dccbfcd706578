"""Makes the vectors of threads, and answers the searches that ask for threads by their meaning.

A process of its own, so that no turn and no person waits for an endpoint. It makes the vectors of threads that have
changed since it last looked, and looks for searches between two of them. While the endpoint is unavailable, a search is
answered with nothing at once: the asker shows what the full-text search finds. Several nodes may do the same thing
at once; the second one changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from core.settings import Settings, embedding_key
from core.store import Store, StoreUnreachable
from core.store.vectors import OpenSearch
from core.telemetry import get_logger
from core.values import ThreadKey
from workers.memory.meaning.nearness import nearest, packed
from workers.memory.meaning.pieces import masked_words, pieces_of
from workers.models.base import ModelError, ModelRefused

if TYPE_CHECKING:
    from workers.models.embeddings import Embeddings

log = get_logger(__name__)

LOOK_EVERY_S = 0.25
SWEEP_EVERY_S = 5.0
AWAY_S = 30.0
"""So long an endpoint that failed is left alone."""
SEARCH_S = 10.0
"""Older searches are not answered: nobody waits for them any more."""
SEARCH_TIMEOUT_S = 2.0
_STEPS_BACK = 1_000
"""Transactions end in another order than their steps are numbered: so far back is looked again."""


def run(settings: Settings) -> None:
    """Make vectors and answer searches until the process ends."""
    with closing(Store(settings.database_url)) as store, opened_embeddings(settings) as embeddings:
        embedder = Embedder(settings, store, embeddings)
        while True:
            try:
                embedder.look()
            except Exception as error:
                log.warning("vectors_failed", error=error)
                time.sleep(SWEEP_EVERY_S)
            time.sleep(LOOK_EVERY_S)


def opened_embeddings(settings: Settings) -> Embeddings:
    """The embedding model of `[memory]`."""
    from workers.models.embeddings import Embeddings  # noqa: PLC0415 - only an installation with vectors reads it

    key = embedding_key(settings)
    return Embeddings(
        api_key=key.get_secret_value() if key else "",
        model=settings.memory.embedding_model,
        base_url=settings.memory.embedding_url or settings.openai_base_url,
    )


class Embedder:
    """The vectors of one installation."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        embeddings: Embeddings,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._store = store
        self._embeddings = embeddings
        self._clock = clock
        self._after = 0
        self._swept_at = self._away_until = float("-inf")
        self._due: list[str] = []

    def look(self) -> None:
        """Answer what is asked, and make the vectors of one thread if there is time. Raises StoreUnreachable."""
        for search in self._store.open_searches(datetime.now(UTC) - timedelta(seconds=SEARCH_S)):
            self._store.answer_search(search.id, self._found(search))
        if self._clock() - self._swept_at >= SWEEP_EVERY_S and not self._due:
            self._sweep()
        if self._due and self._clock() >= self._away_until:
            thread_id = self._due.pop(0)
            try:
                self._make(thread_id)
            except StoreUnreachable:
                self._due.insert(0, thread_id)
                raise

    def _found(self, search: OpenSearch) -> list[str]:
        if self._clock() < self._away_until:
            return []
        words = masked_words(search.text, self._settings.privacy_in(search.channel).redact)
        try:
            (asked,) = self._embeddings.embed([words], SEARCH_TIMEOUT_S)
        except ModelError as error:
            self._leave_alone(error)
            return []
        vectors = self._store.vectors_of(self._embeddings.model, search.team)
        return nearest(asked, vectors, self._settings.memory.embedding_least)

    def _sweep(self) -> None:
        """Find what has changed, and delete what nobody needs."""
        self._swept_at = self._clock()
        self._store.drop_old_searches(datetime.now(UTC))
        self._store.drop_orphaned_vectors()
        found = self._store.without_vectors(self._embeddings.model, self._after)
        if found:
            self._after = max(self._after, max(upto for upto, _ in found) - _STEPS_BACK)
        self._due = [thread_id for _, thread_id in found]

    def _make(self, thread_id: str) -> None:
        """Make the vectors of a thread."""
        if (mark := self._store.begin_vectors(thread_id)) is None:
            return
        turns = list(self._store.thread_steps(thread_id).values())
        redact = self._settings.privacy_in(ThreadKey.parse(thread_id).channel).redact
        pieces = pieces_of(turns, self._store.description_of(thread_id), redact)
        try:
            dims, vectors = packed(self._embeddings.embed(pieces))
        except ModelError as error:
            if not isinstance(error, ModelRefused) or not self._answers():
                self._due.insert(0, thread_id)
                self._leave_alone(error)
                return
            log.warning("thread_not_embedded", thread=thread_id, why=error)
            dims, vectors = 0, b""
        self._store.keep_vectors(mark, self._embeddings.model, dims, vectors)

    def _answers(self) -> bool:
        """Whether the endpoint takes other words than those that it refused."""
        try:
            return bool(self._embeddings.embed(["thread"]))
        except ModelError:
            return False

    def _leave_alone(self, error: ModelError) -> None:
        self._away_until = self._clock() + AWAY_S
        log.warning("embeddings_away", why=error, again_s=AWAY_S)
