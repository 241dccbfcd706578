"""Socket Mode: single-use tickets, each envelope to exactly one of several connections, retries until acknowledged."""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
import time
import uuid
from collections.abc import Callable
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from playground.clock import Clock
from playground.errors import SlackError
from playground.faults import Faults
from playground.options import Options
from playground.parsing import parsed_json
from playground.wire import WireLog, place_of

Json = dict[str, Any]
MAX_FRAME = 1_000_000


class Connection:
    """One open websocket of the app."""

    def __init__(self, websocket: WebSocket, number: int) -> None:
        self.websocket = websocket
        self.number = number
        self.open = True
        self.leaving = False
        self._acks: dict[str, asyncio.Future[Json | None]] = {}

    async def send(self, frame: Json) -> bool:
        """Sends a frame. False when the other side is gone."""
        try:
            await self.websocket.send_text(json.dumps(frame, ensure_ascii=False))
        except (WebSocketDisconnect, RuntimeError, OSError):
            self.close()
            return False
        return True

    def expect(self, envelope_id: str) -> asyncio.Future[Json | None]:
        """The acknowledgement to come: its frame, or None when the connection closed first."""
        self._acks[envelope_id] = asyncio.get_running_loop().create_future()
        return self._acks[envelope_id]

    def acknowledged(self, frame: Json) -> bool:
        """Takes an incoming frame. False when it acknowledges nothing that was sent here."""
        waiting = self._acks.pop(str(frame.get("envelope_id", "")), None)
        if waiting is None or waiting.done():
            return False
        waiting.set_result(frame)
        return True

    def forget(self, envelope_id: str) -> None:
        """Stops waiting for an acknowledgement."""
        self._acks.pop(envelope_id, None)

    def close(self) -> None:
        """Marks it as gone. Whoever waits for an acknowledgement is told at once."""
        self.open = False
        for waiting in self._acks.values():
            if not waiting.done():
                waiting.set_result(None)
        self._acks.clear()


class SocketMode:
    """The app's connections and what is on its way to them."""

    def __init__(
        self, wire: WireLog, options: Callable[[], Options], app_id: str, clock: Clock, faults: Faults
    ) -> None:
        self._clock = clock
        self._faults = faults
        self._wire = wire
        self._options = options
        self._app_id = app_id
        self._tickets: dict[str, float] = {}
        self._connections: list[Connection] = []
        self._arrived = asyncio.Condition()
        self._turn = 0
        self._count = 0

    def ticket(self) -> str:
        """A ticket for one connection."""
        ticket = str(uuid.uuid4())
        self._tickets[ticket] = self._clock.now()
        return ticket

    @property
    def connections(self) -> list[Connection]:
        """Those that may receive envelopes."""
        return [each for each in self._connections if each.open and not each.leaving]

    @property
    def leaving(self) -> list[Connection]:
        """Those that were asked to close and are still there."""
        return [each for each in self._connections if each.open and each.leaving]

    async def serve(self, websocket: WebSocket) -> None:
        """One connection from handshake to end."""
        born = self._tickets.pop(websocket.query_params.get("ticket", ""), None)
        options = self._options()
        if born is None or self._clock.now() - born > options.ticket_ttl_s:
            await websocket.close(code=1008, reason="ticket is used, expired or unknown")
            return
        await websocket.accept()
        self._count += 1
        connection = Connection(websocket, self._count)
        if len(self.connections) >= options.max_connections:
            await self._say_goodbye(connection, "too_many_websockets")
            await websocket.close()
            return
        self._connections.append(connection)
        await connection.send(self._hello())
        async with self._arrived:
            self._arrived.notify_all()
        try:
            while True:
                self._take(connection, await websocket.receive_text())
        except (WebSocketDisconnect, KeyError):
            pass
        finally:
            connection.close()
            self._connections.remove(connection)

    def _hello(self) -> Json:
        return {
            "type": "hello",
            "num_connections": len(self.connections),
            "connection_info": {"app_id": self._app_id},
            "debug_info": {
                "host": socket.gethostname(),
                "started": time.strftime("%Y-%m-%d %H:%M:%S.000"),
                "build_number": 1,
                "approximate_connection_time": 18060,
            },
        }

    def _take(self, connection: Connection, text: str) -> None:
        try:
            frame = parsed_json(text) if len(text) <= MAX_FRAME else None
        except ValueError:
            frame = None
        known = isinstance(frame, dict) and connection.acknowledged(frame)
        if not known:
            self._wire.add("stray_frame", connection=connection.number, text=text[:200])

    async def disconnect(self, reason: str, *, all_of_them: bool = False, abrupt: bool = False) -> int:
        """Asks one connection (or all) to close, or cuts it without notice. Returns how many were told."""
        chosen = self.connections if all_of_them else self.connections[:1]
        for connection in chosen:
            connection.leaving = True
            if abrupt:
                await self._cut(connection)
            else:
                await self._say_goodbye(connection, reason)
        return len(chosen)

    async def _cut(self, connection: Connection) -> None:
        connection.close()
        await connection.websocket.close(code=1001)

    async def _say_goodbye(self, connection: Connection, reason: str) -> None:
        self._wire.add("disconnect", connection=connection.number, reason=reason)
        await connection.send({"type": "disconnect", "reason": reason, "debug_info": {"host": socket.gethostname()}})

    async def deliver_event(self, payload: Json) -> bool:
        """Delivers an event, again after a missed acknowledgement, always with the same event_id. False: given up."""
        reason = ""
        for attempt, pause in enumerate((0.0, *self._options().retry_delays_s)):
            await self._pause(pause)
            acknowledged, why = await self._attempt("events_api", payload, attempt, reason)
            if acknowledged is not None:
                return True
            reason = why
        return False

    async def deliver_interaction(self, payload: Json) -> Json:
        """Delivers a click or a submission once. Returns the payload of the acknowledgement ({} for a plain one).

        Raises SlackError operation_timeout when nobody acknowledged in time: the person sees an error, as in Slack.
        """
        acknowledged, _ = await self._attempt("interactive", payload, 0, "")
        if acknowledged is None:
            raise SlackError("operation_timeout")
        answer = acknowledged.get("payload")
        return answer if isinstance(answer, dict) else {}

    async def _pause(self, seconds: float) -> None:
        """Waits, but not longer than until a connection is there when there was none."""
        if seconds <= 0:
            return
        if self.connections:
            await self._clock.sleep(seconds)
            return
        ended = asyncio.create_task(self._clock.sleep(seconds))
        arrived = asyncio.create_task(self._arrival())
        try:
            await asyncio.wait({ended, arrived}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()
            arrived.cancel()

    async def _arrival(self) -> None:
        async with self._arrived:
            await self._arrived.wait_for(lambda: bool(self.connections))

    async def _attempt(self, kind: str, payload: Json, attempt: int, reason: str) -> tuple[Json | None, str]:
        connection = self._choose()
        event = payload.get("event") or {}
        entry = self._wire.add(
            "envelope",
            type=kind,
            event_id=payload.get("event_id", ""),
            event=f"{event.get('type', payload.get('type'))}{':' + event['subtype'] if event.get('subtype') else ''}",
            ts=event.get("ts", ""),
            **place_of(payload),
            attempt=attempt,
            connection=connection.number if connection else 0,
            outcome="waiting",
        )
        if connection is None:
            entry["outcome"] = "connection_failed"
            return None, "connection_failed"
        envelope_id = str(uuid.uuid4())
        frame = {
            "envelope_id": envelope_id,
            "payload": payload,
            "type": kind,
            "accepts_response_payload": _answers(payload),
        }
        if kind == "events_api":
            frame |= {"retry_attempt": attempt, "retry_reason": reason}
        fault = self._faults.take("envelope", {"type": kind, **event})
        if fault and fault.kind == "drop_call":
            await self._cut(connection)
            entry["outcome"] = "connection_failed"
            return None, "connection_failed"
        waiting = connection.expect(envelope_id)
        if not await connection.send(frame):
            entry["outcome"] = "connection_failed"
            return None, "connection_failed"
        if fault and fault.kind == "drop_reply":
            await self._cut(connection)
        try:
            acknowledged = await asyncio.wait_for(waiting, self._options().ack_timeout_s)
        except TimeoutError:
            connection.forget(envelope_id)
            entry["outcome"] = "timeout"
            return None, "timeout"
        entry["outcome"] = "acknowledged" if acknowledged is not None else "connection_failed"
        return acknowledged, "" if acknowledged is not None else "connection_failed"

    def _choose(self) -> Connection | None:
        """One of the connections, in turn from a random start. An app must not rely on affinity."""
        ready = self.connections
        if not ready:
            return None
        self._turn = self._turn + 1 if self._turn else secrets.randbelow(len(ready)) + 1
        return ready[self._turn % len(ready)]


def _answers(payload: Json) -> bool:
    return payload.get("type") in {"view_submission", "block_suggestion"}
