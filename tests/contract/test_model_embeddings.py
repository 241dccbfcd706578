"""Embeddings over real HTTP: what is asked, what is taken, and what is said when it is not to be had."""

from __future__ import annotations

import pytest
from chat_endpoint import Behaviour
from embedding_endpoint import embedding_endpoint, embeddings, refusing, saying, vector_of

from workers.models.base import ModelNonsense, ModelRefused, ModelUnavailable
from workers.models.embeddings import Embeddings


def test_each_text_gets_its_own_vector_whatever_the_order_of_the_answer() -> None:
    with embedding_endpoint() as server, Embeddings(api_key="k-1", model="small", base_url=server.url) as model:
        found = model.embed(["who cancelled", "warehouse"])
        assert model.embed([]) == []
    assert found == [vector_of("who cancelled"), vector_of("warehouse")]
    (asked,) = server.asked
    assert (asked["path"], asked["model"], asked["encoding_format"]) == ("/v1/embeddings", "small", "float")
    assert server.keys == ["Bearer k-1"]


@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        (refusing(401), ModelRefused),
        (refusing(400), ModelRefused),
        (refusing(429), ModelUnavailable),
        (refusing(503), ModelUnavailable),
        (saying({"data": []}), ModelNonsense),
        (saying({"data": [{"index": 0, "embedding": []}]}), ModelNonsense),
        (saying({"data": [{"index": 0, "embedding": "AAAA"}]}), ModelNonsense),
        (saying({"data": [{"index": 0, "embedding": [0, 0]}]}), ModelNonsense),
        (saying({"data": [{"index": 7, "embedding": [1.0]}]}), ModelNonsense),
        (saying({"data": [{"index": 0, "embedding": [1.0] * 9_000}]}), ModelNonsense),
        (saying(["no"]), ModelNonsense),
        (lambda handler: handler.answer(200, b"<html>", "text/html"), ModelNonsense),
        (lambda handler: handler.answer(200, b'{"data": [{"index": 0, "embedding": [NaN]}]}'), ModelNonsense),
    ],
)
def test_what_is_no_embedding_is_told_apart_and_quotes_nothing(behaviour: Behaviour, error: type[Exception]) -> None:
    with (
        embedding_endpoint(behaviour) as server,
        Embeddings(api_key="k-1", model="m", base_url=server.url) as model,
        pytest.raises(error) as raised,
    ):
        model.embed(["a secret sentence"])
    assert "secret" not in str(raised.value)
    assert "k-1" not in str(raised.value)
    assert len(server.asked) == 1, "it is not tried again here"


def test_vectors_of_two_lengths_are_refused() -> None:
    two = saying({"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 2.0]}]})
    with (
        embedding_endpoint(two) as server,
        Embeddings(api_key="", model="m", base_url=server.url) as model,
        pytest.raises(ModelNonsense),
    ):
        model.embed(["one", "two"])


def test_an_endpoint_that_is_gone_is_unavailable() -> None:
    with embedding_endpoint(embeddings) as server:
        url = server.url
    with Embeddings(api_key="", model="m", base_url=url) as model, pytest.raises(ModelUnavailable):
        model.embed(["one"])
