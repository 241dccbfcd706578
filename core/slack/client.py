"""Clients for Slack's Web API, and what its errors mean for the caller."""

from __future__ import annotations

import json
import threading
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPException
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from urllib.request import Request

import httpx
from redis import Redis
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry import HttpRequest, HttpResponse, RetryHandler
from slack_sdk.http_retry.builtin_handlers import (
    ConnectionErrorRetryHandler,
    RateLimitErrorRetryHandler,
    ServerErrorRetryHandler,
)
from slack_sdk.web import SlackResponse

from core.errors import SlackFailed, SlackUnreachable, outline
from core.metrics import RETRIES, SLACK_CALLS, plain
from core.settings import Settings
from core.slack.connections import kept
from core.slack.rates import LONGEST_WAIT_S, Crowded, Rates, channel_of, is_decorative
from core.slack.text import clip
from core.telemetry import get_logger

log = get_logger(__name__)

TIMEOUT_S = 30

LOST = (OSError, HTTPException)
"""What the SDK raises when the connection failed: Slack may or may not have done the call. `Crowded` is one of them,
but its call was not made: catch it first."""

NOT_OFFERED = frozenset(
    {"unknown_method", "missing_scope", "not_allowed_token_type", "not_agent_app", "method_deprecated"}
)
"""What a server answers if it does not offer a method, or does not offer it to us."""

_PERHAPS_DONE = {"fatal_error", "internal_error", "request_timeout", "service_unavailable"}
_LATER = {"message_limit_exceeded", "ratelimited", "rate_limited", "team_added_to_org"}
"""The last one: the workspace is moving into an organisation."""
_UNTIL_SOMEBODY_ACTS = {
    "account_inactive",
    "channel_not_found",
    "ekm_access_denied",
    "invalid_auth",
    "is_archived",
    "messages_tab_disabled",
    "no_permission",
    "not_in_channel",
    "org_login_required",
    "restricted_action_read_only_channel",
    "restricted_action_thread_locked",
    "team_access_not_granted",
    "token_expired",
    "token_revoked",
}
"""We cannot post to the channel, so we cannot tell anybody there: the work waits until an admin acts."""


def web_client(settings: Settings, redis: Redis | None = None) -> CountedClient:
    """A client for posting. It waits for rate limits, and never repeats a call whose reply was lost.

    With `redis` it keeps to the rate budgets that all our processes share.
    """
    token = settings.slack_bot_token
    rates = None if redis is None else Rates(redis, paced=settings.keeps_rate_budgets)
    return _client(token.get_secret_value() if token else None, settings.slack_api_url, [], rates)


class NoToken(Crowded):
    """The call was not made: the workspace has no token, or it cannot be read now."""


def team_client(settings: Settings, redis: Redis, team: str, token_of: Callable[[], str]) -> CountedClient:
    """The same for one of many workspaces: `token_of` reads its token for each call, and its budgets are its own.

    `token_of` raises NoToken where there is none.
    """
    rates = Rates(redis, paced=settings.keeps_rate_budgets, scope=team)
    client = _TeamClient(settings.slack_api_url, [], rates, team, token_of)
    client.repeats = _TeamClient(settings.slack_api_url, _repeat_handlers(), rates, team, token_of)
    return client


def repeating(client: WebClient) -> WebClient:
    """The same for calls that may be made twice: it also repeats after lost replies and server errors."""
    if isinstance(client, CountedClient) and client.repeats is not None:
        return client.repeats
    return _client(client.token, client.base_url, _repeat_handlers(), rates_of(client))


def _repeat_handlers() -> list[RetryHandler]:
    return [
        _Counted(ServerErrorRetryHandler(max_retry_count=2), "server_error"),
        _Counted(ConnectionErrorRetryHandler(max_retry_count=2), "no_reply"),
    ]


def rates_of(client: WebClient) -> Rates | None:
    """The rate budgets of a client, if it has any."""
    return client.rates if isinstance(client, CountedClient) else None


class CountedClient(WebClient):
    """Counts each call by its final result: "ok", Slack's name of the error, or "no_reply"."""

    rates: Rates | None = None
    repeats: WebClient | None = None
    """The client for calls that may be made twice; None: `repeating` makes one."""
    transport: httpx.BaseTransport | None = None
    """How the bytes of files travel; None: over the network."""

    def api_call(self, api_method: str, **arguments: Any) -> SlackResponse:
        """As in the SDK, whose methods all come through here. Raises Crowded, an OSError, without making the call."""
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

    def _request_for_pagination(self, api_url: str, req_args: dict[str, dict[str, Any]]) -> dict[str, Any]:
        """The SDK asks for a further page of a reply past `api_call`. It takes a slot like the first one."""
        if self.rates is not None:
            self.rates.wait(_method_of(api_url), channel_of(req_args))
        return super()._request_for_pagination(api_url, req_args)

    def _perform_urllib_http_request_internal(self, url: str, req: Request) -> dict[str, Any]:
        """The SDK would open a connection for each call."""
        return kept().call(req, proxy=self.proxy, timeout_s=self.timeout)


_WANT_A_TEAM = frozenset({"users.list", "users.conversations", "usergroups.users.list"})
"""Methods that an organisation's token may only call for one of its workspaces."""


class _TeamClient(CountedClient):
    """A client that reads its token for each call and does not keep it."""

    def __init__(
        self, base_url: str, handlers: Sequence[RetryHandler], rates: Rates, team: str, token_of: Callable[[], str]
    ) -> None:
        self._token_of = token_of
        self._team = team
        super().__init__(base_url=base_url, timeout=TIMEOUT_S, retry_handlers=_handlers(handlers, rates))
        self.rates = rates
        _heed_no_proxy(self)

    @property
    def token(self) -> str:
        return self._token_of()

    @token.setter
    def token(self, value: str | None) -> None:
        """The SDK sets it once, to nothing."""

    def api_call(self, api_method: str, **arguments: Any) -> SlackResponse:
        if api_method in _WANT_A_TEAM:
            arguments["params"] = {**(arguments.get("params") or {}), "team_id": self._team}
        return super().api_call(api_method, **arguments)


class _Counted(RetryHandler):
    """Wraps a retry handler and counts its retries by their cause."""

    def __init__(self, handler: RetryHandler, cause: str) -> None:
        super().__init__(handler.max_retry_count, handler.interval_calculator)
        self._handler = handler
        self._cause = cause

    def can_retry(self, **attempt: Any) -> bool:
        return self._handler.can_retry(**attempt)

    def prepare_for_next_attempt(self, **attempt: Any) -> None:
        RETRIES.labels("slack", self._cause).inc()
        self._handler.prepare_for_next_attempt(**attempt)


class _SharedRateLimit(RateLimitErrorRetryHandler):
    """Waits for the time in Retry-After, and makes all other processes wait too.

    A decorative call does not wait, and no call waits for longer than `LONGEST_WAIT_S`.
    """

    def __init__(self, rates: Rates | None) -> None:
        super().__init__(max_retry_count=2)
        self._rates = rates

    def can_retry(self, **attempt: Any) -> bool:
        limited = super().can_retry(**attempt)
        if limited and (is_decorative() or (_retry_after_s(attempt.get("response")) or 0) > LONGEST_WAIT_S):
            self._pause_all(attempt["request"], attempt.get("response"))
            return False
        return limited

    def prepare_for_next_attempt(self, **attempt: Any) -> None:
        response = attempt.get("response")
        self._pause_all(attempt["request"], response)
        if response is not None and _retry_after_s(response) is None:
            response.headers.clear()  # the SDK would fail on a date; without one it waits for a moment
        super().prepare_for_next_attempt(**attempt)

    def _pause_all(self, request: HttpRequest, response: HttpResponse | None) -> None:
        seconds = _retry_after_s(response)
        if self._rates is not None and seconds is not None:
            self._rates.pause(_method_of(request.url), _channel_in(request.data), seconds)


def _retry_after_s(response: HttpResponse | None) -> int | None:
    """The seconds of a reply's Retry-After; None where it has none, or another text in it."""
    headers = {str(name).lower(): value for name, value in (response.headers if response else {}).items()}
    retry_after = headers.get("retry-after")
    seconds = str(retry_after[0] if isinstance(retry_after, list) else retry_after or "")
    return int(seconds) if seconds.isdecimal() else None


def _method_of(url: str) -> str:
    return urlsplit(url).path.rpartition("/")[2]


def _channel_in(body: bytes | None) -> str:
    """The channel in the body of a request, a form or JSON."""
    text = (body or b"").decode(errors="replace")
    try:
        return channel_of({"json": json.loads(text)})
    except ValueError:
        return channel_of({"data": dict(parse_qsl(text))})


def _client(
    token: str | None, base_url: str, handlers: Sequence[RetryHandler], rates: Rates | None = None
) -> CountedClient:
    client = CountedClient(token=token, base_url=base_url, timeout=TIMEOUT_S, retry_handlers=_handlers(handlers, rates))
    client.rates = rates
    _heed_no_proxy(client)
    return client


def _handlers(handlers: Sequence[RetryHandler], rates: Rates | None) -> list[RetryHandler]:
    # The handlers are given because the SDK's default repeats a POST after a lost reply, which posts twice.
    return [_Counted(_SharedRateLimit(rates), "rate_limited"), *handlers]


def _heed_no_proxy(client: WebClient) -> None:
    # The SDK takes the proxy of the environment and ignores NO_PROXY.
    if urllib.request.proxy_bypass(urlsplit(client.base_url).hostname or ""):
        client.proxy = None


def error_name(error: SlackApiError) -> str:
    """Slack's own name of an error: "not_in_channel"."""
    data = getattr(error.response, "data", error.response)
    name = data.get("error") if isinstance(data, dict) else None
    return clip(name, 200) if isinstance(name, str) else f"http_{getattr(error.response, 'status_code', 0)}"


def error_details(error: SlackApiError) -> str:
    """Slack's reasons for refused blocks, for the log."""
    data = getattr(error.response, "data", None)
    details = (data.get("errors") or data.get("response_metadata")) if isinstance(data, dict) else None
    return clip(str(details or ""), 500)


def perhaps_done(error: SlackApiError) -> bool:
    """Whether Slack may have done the call although it reports an error."""
    return getattr(error.response, "status_code", 200) >= 500 or error_name(error) in _PERHAPS_DONE


def passes_by_itself(error: BaseException | None) -> bool:
    """Whether the error is temporary (5xx, too many calls, no reply) and says nothing about the call itself."""
    if isinstance(error, SlackApiError):
        return error_name(error) in _LATER or perhaps_done(error)
    return isinstance(error, LOST)


def refusal(method: str, error: SlackApiError) -> SlackFailed | SlackUnreachable:
    """Our error for an error of Slack: SlackUnreachable if it is temporary, or if an admin can correct it."""
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
    except Crowded as error:
        raise SlackUnreachable(str(error)) from error
    except LOST as error:
        raise SlackUnreachable(f"{method} got no reply: {outline(error)}") from error


def describe(error: Exception) -> str:
    """An error in a word or two, for the log."""
    return error_name(error) if isinstance(error, SlackApiError) else outline(error)


class Shortcomings:
    """Methods that this server does not offer or refuses: each is logged once."""

    def __init__(self) -> None:
        self._logged: set[tuple[str, str]] = set()
        self._lock = threading.Lock()

    def note(self, method: str, error: SlackApiError) -> None:
        """Log that a method failed with this error, the first time."""
        seen = (method, error_name(error))
        with self._lock:
            if seen in self._logged:
                return
            self._logged.add(seen)
        log.warning("slack_method_refused", method=method, error=seen[1])
