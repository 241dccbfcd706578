"""An endpoint of OpenAI's `/v1/embeddings` on a real socket, with a model of a few words: it knows which mean the same.

A text is counted by its kinds of words, so a paraphrase without a common word has the same vector.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from chat_endpoint import Behaviour, Endpoint, Handler, endpoint

MEANINGS: tuple[frozenset[str], ...] = (
    frozenset({"churn", "cancelled", "left", "attrition", "leaving"}),
    frozenset({"customers", "clients", "subscribers", "people"}),
    frozenset({"refunds", "returned", "money", "back"}),
    frozenset({"warehouse", "stock", "inventory"}),
)


def vector_of(text: str) -> list[float]:
    """How often words of each meaning stand in a text; the last number is for all other words."""
    words = re.findall(r"\w+", text.casefold())
    return [float(sum(word in meaning for word in words)) for meaning in MEANINGS] + [0.1]


def embeddings(handler: Handler) -> None:
    """Answer as OpenAI does, the vectors in the opposite order: their index tells which is which."""
    asked = handler.server.asked[-1]
    given: Sequence[str] = asked["input"]
    data = [{"object": "embedding", "index": place, "embedding": vector_of(text)} for place, text in enumerate(given)]
    body = {
        "object": "list",
        "data": data[::-1],
        "model": asked["model"],
        "usage": {"prompt_tokens": 1, "total_tokens": 1},
    }
    handler.answer(200, json.dumps(body).encode())


def refusing(status: int) -> Behaviour:
    """Answer with an error that quotes what was asked."""

    def behave(handler: Handler) -> None:
        body = {"error": {"message": f"bad: {handler.server.asked[-1]['input']}"}}
        handler.answer(status, json.dumps(body).encode())

    return behave


def saying(body: object) -> Behaviour:
    """Answer with this JSON."""
    return lambda handler: handler.answer(200, json.dumps(body).encode())


@contextmanager
def embedding_endpoint(*plan: Behaviour) -> Iterator[Endpoint]:
    """The endpoint with this plan, else one that answers."""
    with endpoint(*(plan or (embeddings,))) as server:
        yield server
