"""The playground as an ASGI application."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from starlette.applications import Starlette
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.websockets import WebSocket

from playground import control, file_doors
from playground.guard import Guard
from playground.hub import AppInside, Playground
from playground.labels import AppLabels
from playground.oauth import consent
from playground.options import Options
from playground.page.doors import ROUTES as PAGE_ROUTES
from playground.page.render import Pages
from playground.response_urls import respond
from playground.samples import Sample
from playground.web_api import web_api


async def link(websocket: WebSocket) -> None:
    """The Socket Mode door."""
    hub: Playground = websocket.app.state.hub
    await hub.sockets.serve(websocket)


def create_app(
    base_url: str,
    data_dir: Path,
    *,
    options: Options | None = None,
    hosts: frozenset[str] | None = None,
    samples: Sequence[Sample] = (),
    inside: AppInside | None = None,
    labels: AppLabels | None = None,
) -> Guard:
    """The application that answers at `base_url` and keeps uploads under `data_dir`.

    `hosts` are the host names that requests may carry; None accepts every name. Empty channels offer
    `samples`; `inside` says what goes on in the app behind a thread, `labels` knows the answers that people judge.
    `.hub` is the playground behind it.
    """
    hub = Playground(data_dir, base_url.rstrip("/"), options, samples, inside, labels=labels)
    app = Starlette(
        routes=[
            Route("/api/{method}", web_api, methods=["GET", "POST"]),
            WebSocketRoute("/link/", link),
            Route("/upload/v1/{file_id}", file_doors.upload, methods=["POST"]),
            Route("/files-pri/{place}/{name}", file_doors.download),
            Route("/files-pri/{place}/download/{name}", file_doors.download),
            Route("/response/{key}", respond, methods=["POST"]),
            Route("/oauth/v2/authorize", consent, methods=["GET", "POST"]),
            Mount("/control", routes=control.ROUTES),
            *PAGE_ROUTES,
        ]
    )
    app.state.hub = hub
    app.state.pages = Pages(hub)
    return Guard(app, hub, hosts)
