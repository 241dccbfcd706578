"""A broker that ends is asked once more, and what it held open is let go of."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from executor.frames import encode, read_message
from workers.sources.broker.client import RESTARTED, BrokerClient, BrokerRestarted
from workers.sources.broker.requests import LIMIT, Ask, Request, why_refused
from workers.sources.errors import SourceAway, StatementFailed

REQUEST = Request(ask=Ask(ask="rows", source="shop", sql="select 1"), seconds=5, bytes=1)
Answer = Callable[[socket.socket], None]


@pytest.fixture
def answered(tmp_path: Path) -> Iterator[Callable[..., BrokerClient]]:
    """`answered(first, second)`: a client of a broker that does this at each request, one after the other."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "b.sock"))
        listener.listen()

        def start(*answers: Answer) -> BrokerClient:
            def serve() -> None:
                for answer in answers:
                    peer, _ = listener.accept()
                    with peer:
                        read_message(peer.recv, LIMIT)
                        answer(peer)

            threading.Thread(target=serve, daemon=True).start()
            return BrokerClient(tmp_path / "b.sock", back_s=0.1)

        yield start


def hang_up(peer: socket.socket) -> None:
    """What a broker does that is killed."""


def give_rows(peer: socket.socket) -> None:
    descriptor = os.memfd_create("rows")
    socket.send_fds(peer, [encode({"answered": {"rows": 1, "bytes": 1}})], [descriptor])
    os.close(descriptor)


def test_a_request_whose_broker_ended_is_asked_once_more(answered: Callable[..., BrokerClient]) -> None:
    answer, descriptor = answered(hang_up, give_rows).ask(REQUEST, threading.Event())
    assert answer.rows == 1
    os.close(descriptor or 0)


def test_a_broker_that_ends_again_is_a_sentence(answered: Callable[..., BrokerClient]) -> None:
    with pytest.raises(BrokerRestarted, match=RESTARTED):
        answered(hang_up, hang_up).ask(REQUEST, threading.Event())


@pytest.mark.parametrize(
    ("frame", "kind"),
    [
        ({"failed": {"kind": "StatementFailed", "message": "no such column"}}, StatementFailed),
        ({"failed": {"kind": "KeyError", "message": "odd"}}, SourceAway),
        ({"failed": {"kind": "annotations", "message": "odd"}}, SourceAway),
    ],
)
def test_an_error_comes_as_its_kind(
    answered: Callable[..., BrokerClient], frame: dict[str, object], kind: type[Exception]
) -> None:
    with pytest.raises(kind):
        answered(lambda peer: peer.sendall(encode(frame))).ask(REQUEST, threading.Event())


@pytest.mark.parametrize(
    ("payload", "said"),
    [
        ({"ask": "rows", "sql": "x" * 200_001}, "sql is too long: at most 200,000 characters"),
        ({"ask": "rows", "params": {"note": "x" * 100_001}}, "params.note is too long: at most 100,000 characters"),
        ({"ask": "rows", "params": {str(at): at for at in range(501)}}, "params is too long: at most 500 values"),
        ({"ask": "rows", "sql": 5}, "Call query(sql, source, params)"),
    ],
    ids=["statement", "parameter", "parameters", "no request"],
)
def test_what_is_too_long_in_a_request_is_told(payload: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Ask.model_validate(payload)
    assert said in why_refused(caught.value)
