"""Clients for Slack's Web API, and how its failures are read."""

from __future__ import annotations

import json
import threading
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPException
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from redis import Redis
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry import RetryHandler
from slack_sdk.http_retry.builtin_handlers import (
    ConnectionErrorRetryHandler,
    RateLimitErrorRetryHandler,
    ServerErrorRetryHandler,
)
from slack_sdk.web import SlackResponse

from core.errors import SlackFailed, SlackUnreachable
from core.metrics import RETRIES, SLACK_CALLS, plain
from core.settings import Settings
from core.slack_rates import Rates, channel_of
from core.slack_text import clip
from core.telemetry import get_logger

log = get_logger(__name__)

TIMEOUT_S = 30

LOST = (OSError, HTTPException)
"""What the SDK raises when the connection failed: the call may or may not have been done."""

_PERHAPS_DONE = {"fatal_error", "internal_error", "request_timeout", "service_unavailable"}
_LATER = {"ratelimited", "rate_limited"}
_UNTIL_SOMEBODY_ACTS = {
    "account_inactive",
    "channel_not_found",
    "ekm_access_denied",
    "invalid_auth",
    "is_archived",
    "not_in_channel",
    "org_login_required",
    "team_access_not_granted",
    "token_expired",
    "token_revoked",
}
"""Slack hears nothing from us in that channel, so we cannot even say so: the work waits until it is put right."""


def web_client(settings: Settings, redis: Redis | None = None) -> CountedClient:
    """A client for posting. It waits out rate limits but never repeats a call whose reply was lost.

    With `redis` it keeps to the budgets that all our processes share.
    """
    token = settings.slack_bot_token
    rates = None if redis is None else Rates(redis, paced=settings.keeps_rate_budgets)
    return _client(token.get_secret_value() if token else None, settings.slack_api_url, [], rates)


def repeating(client: WebClient) -> WebClient:
    """The same for calls that may be made twice: it also repeats after lost replies and server errors."""
    handlers = [
        _Counted(ServerErrorRetryHandler(max_retry_count=2), "server_error"),
        _Counted(ConnectionErrorRetryHandler(max_retry_count=2), "no_reply"),
    ]
    return _client(client.token, client.base_url, handlers, rates_of(client))


def rates_of(client: WebClient) -> Rates | None:
    """The budgets that a client keeps to, if any."""
    return client.rates if isinstance(client, CountedClient) else None


class CountedClient(WebClient):
    """Counts each call by what came of it at last: "ok", Slack's name of the error, or "no_reply"."""

    rates: Rates | None = None

    def api_call(self, api_method: str, **arguments: Any) -> SlackResponse:
        """As in the SDK, whose methods all come through here. Raises Crowded, an OSError, when no call was made."""
        if self.rates is not None:
            self.rates.wait(api_method, channel_of(arguments))
        try:
            reply = super().api_call(api_method, **arguments)
        except SlackApiError as error:
            SLACK_CALLS.labels(api_method, plain(error_name(error))).inc()
            raise
        except LOST:
            SLACK_CALLS.labels(api_method, "no_reply").inc()
            raise
        SLACK_CALLS.labels(api_method, "ok").inc()
        return reply


class _Counted(RetryHandler):
    """Another handler, whose repetitions are counted by their cause."""

    def __init__(self, handler: RetryHandler, cause: str) -> None:
        super().__init__(handler.max_retry_count, handler.interval_calculator)
        self._handler = handler
        self._cause = cause

    def can_retry(self, **attempt: Any) -> bool:
        return self._handler.can_retry(**attempt)

    def prepare_for_next_attempt(self, **attempt: Any) -> None:
        RETRIES.labels("slack", self._cause).inc()
        self._handler.prepare_for_next_attempt(**attempt)


class _Told(RateLimitErrorRetryHandler):
    """Waits as long as Slack says, and has all other processes wait too."""

    def __init__(self, rates: Rates | None) -> None:
        super().__init__(max_retry_count=2)
        self._rates = rates

    def prepare_for_next_attempt(self, **attempt: Any) -> None:
        request, response = attempt["request"], attempt.get("response")
        headers = {str(name).lower(): value for name, value in (response.headers if response else {}).items()}
        said = headers.get("retry-after")
        seconds = str(said[0] if isinstance(said, list) else said or "")
        if self._rates is not None and seconds.isdigit():
            self._rates.pause(urlsplit(request.url).path.rpartition("/")[2], _channel_in(request.data), int(seconds))
        super().prepare_for_next_attempt(**attempt)


def _channel_in(body: bytes | None) -> str:
    """The channel of a request on its way out, a form or JSON."""
    text = (body or b"").decode(errors="replace")
    try:
        return channel_of({"json": json.loads(text)})
    except ValueError:
        return channel_of({"data": dict(parse_qsl(text))})


def _client(
    token: str | None, base_url: str, handlers: Sequence[RetryHandler], rates: Rates | None = None
) -> CountedClient:
    # Given explicitly: the SDK's own default repeats a POST after a lost reply, which posts it twice.
    handlers = [_Counted(_Told(rates), "rate_limited"), *handlers]
    client = CountedClient(token=token, base_url=base_url, timeout=TIMEOUT_S, retry_handlers=handlers)
    client.rates = rates
    # The SDK takes the proxy of the environment without asking for its exceptions (NO_PROXY).
    if urllib.request.proxy_bypass(urlsplit(base_url).hostname or ""):
        client.proxy = None
    return client


def error_name(error: SlackApiError) -> str:
    """Slack's own name of an error: "not_in_channel"."""
    data = getattr(error.response, "data", error.response)
    name = data.get("error") if isinstance(data, dict) else None
    return clip(name, 200) if isinstance(name, str) else f"http_{getattr(error.response, 'status_code', 0)}"


def error_details(error: SlackApiError) -> str:
    """What Slack says about refused blocks, for the log."""
    data = getattr(error.response, "data", None)
    details = (data.get("errors") or data.get("response_metadata")) if isinstance(data, dict) else None
    return clip(str(details or ""), 500)


def perhaps_done(error: SlackApiError) -> bool:
    """Whether Slack may have done what was asked although it says that it failed."""
    return getattr(error.response, "status_code", 200) >= 500 or error_name(error) in _PERHAPS_DONE


def passes_by_itself(error: BaseException | None) -> bool:
    """Whether this is a bad moment of Slack's (5xx, too many calls, no reply), and no word about what was asked."""
    if isinstance(error, SlackApiError):
        return error_name(error) in _LATER or perhaps_done(error)
    return isinstance(error, LOST)


def refusal(method: str, error: SlackApiError) -> SlackFailed | SlackUnreachable:
    """The error of ours for one of Slack's: SlackUnreachable for one that passes, by itself or when somebody acts."""
    name = error_name(error)
    passes = passes_by_itself(error) or name in _UNTIL_SOMEBODY_ACTS
    return SlackUnreachable(f"{method}: {name}") if passes else SlackFailed(method, name)


@contextmanager
def ours(method: str) -> Iterator[None]:
    """Inside the block, Slack's failures become ours: SlackFailed or SlackUnreachable."""
    try:
        yield
    except SlackApiError as error:
        raise refusal(method, error) from error
    except LOST as error:
        raise SlackUnreachable(f"{method} got no reply: {error!r}") from error


def describe(error: Exception) -> str:
    """An error in a word or two, for the log."""
    return error_name(error) if isinstance(error, SlackApiError) else repr(error)


class Shortcomings:
    """What this server does not offer or refuses: said once each in the log."""

    def __init__(self) -> None:
        self._said: set[tuple[str, str]] = set()
        self._lock = threading.Lock()

    def note(self, method: str, error: SlackApiError) -> None:
        """Log that a method failed with this error, the first time."""
        mark = (method, error_name(error))
        with self._lock:
            if mark in self._said:
                return
            self._said.add(mark)
        log.warning("slack_does_without", method=method, error=mark[1])
