"""HTTP mode: what the app gets is posted to its request address, signed as Slack signs it."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import httpx

from playground.clock import Clock
from playground.errors import SlackError
from playground.options import Options
from playground.parsing import parsed_json
from playground.wire import WireLog, place_of

Json = dict[str, Any]


class HttpMode:
    """Posts to the app. The same two methods as `SocketMode` has for what is delivered."""

    def __init__(self, wire: WireLog, options: Callable[[], Options], clock: Clock) -> None:
        self._wire = wire
        self._options = options
        self._clock = clock

    async def deliver_event(self, payload: Json) -> bool:
        """Delivers an event, again after an answer that is not 2xx, with the same event_id. False: given up."""
        reason = ""
        for attempt, pause in enumerate((0.0, *self._options().retry_delays_s)):
            await self._clock.sleep(pause)
            headers = {"X-Slack-Retry-Num": str(attempt), "X-Slack-Retry-Reason": reason} if attempt else {}
            headers["Content-Type"] = "application/json"
            answer, reason = await self._post(payload, json.dumps(payload).encode(), headers, attempt)
            if answer is not None:
                return True
        return False

    async def deliver_interaction(self, payload: Json) -> Json:
        """Delivers a click or a submission once. Returns what the app answered ({} for nothing).

        Raises SlackError operation_timeout when it did not in time: the person sees an error, as in Slack.
        """
        body = urlencode({"payload": json.dumps(payload)}).encode()
        answer, _ = await self._post(payload, body, {"Content-Type": "application/x-www-form-urlencoded"}, 0)
        if answer is None:
            raise SlackError("operation_timeout")
        try:
            said = parsed_json(answer.content)
        except ValueError:
            return {}
        return said if isinstance(said, dict) else {}

    async def _post(self, payload: Json, body: bytes, headers: Json, attempt: int) -> tuple[httpx.Response | None, str]:
        options, event = self._options(), payload.get("event") or {}
        entry = self._wire.add(
            "post",
            event_id=payload.get("event_id", ""),
            event=str(event.get("type", payload.get("type"))),
            **place_of(payload),
            attempt=attempt,
            outcome="waiting",
        )
        stamp = str(int(time.time()))
        digest = hmac.new(options.signing_secret.encode(), f"v0:{stamp}:".encode() + body, hashlib.sha256)
        signed = {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": f"v0={digest.hexdigest()}"}
        try:
            async with httpx.AsyncClient(trust_env=False, timeout=options.ack_timeout_s) as http:
                answer = await http.post(options.request_url, content=body, headers={**headers, **signed})
        except httpx.TimeoutException:
            entry["outcome"] = "http_timeout"
            return None, "http_timeout"
        except httpx.HTTPError:
            entry["outcome"] = "connection_failed"
            return None, "connection_failed"
        entry["outcome"] = "acknowledged" if answer.is_success else f"http {answer.status_code}"
        return (answer, "") if answer.is_success else (None, "http_error")
