"""A playground without sockets: the application itself, called in process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from playground.app import create_app
from playground.hub import Playground
from playground.options import Options

Api = Callable[..., dict[str, Any]]


@pytest.fixture
def door(tmp_path: Path) -> Iterator[TestClient]:
    app = create_app("http://testserver", tmp_path, options=Options(share_delay_s=0.0, retry_delays_s=()))
    with TestClient(app) as client:
        client.hub = app.hub  # type: ignore[attr-defined]
        yield client


@pytest.fixture
def hub(door: TestClient) -> Playground:
    playground: Playground = door.hub  # type: ignore[attr-defined]
    return playground


@pytest.fixture
def api(door: TestClient) -> Api:
    """Calls a Web API method with JSON arguments and the bot's token."""

    def call(method: str, **arguments: Any) -> dict[str, Any]:
        answer = door.post(f"/api/{method}", json=arguments, headers={"Authorization": "Bearer xoxb-playground"})
        body: dict[str, Any] = answer.json()
        return body

    return call


@pytest.fixture
def people(door: TestClient) -> Callable[..., dict[str, Any]]:
    """Does something as a person through the control API."""

    def act(path: str, **arguments: Any) -> dict[str, Any]:
        body: dict[str, Any] = door.post(f"/control/{path}", json=arguments).json()
        return body

    return act
