"""Any endpoint that speaks OpenAI's Chat Completions: streamed, with native tools or without.

The openai package makes the request and sorts its status codes. The stream is read here byte by byte (sse.py). Only so
can we notice a silence between tokens, an endless keep-alive or a reply without bound.

    connection, time-out, 408, 409, 429, 5xx, a stream that breaks off   tried again, then ModelUnavailable
    HTML, broken JSON, no choices                                        tried again, then ModelNonsense
    a prompt with more tokens than the model takes                       ContextTooLong at once
    other 4xx, 429 for want of quota                                     ModelRefused at once

The key appears in no message, log line or repr of ours; errors of the package, which hold the request, are not chained.
"""

from __future__ import annotations

import base64
import math
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Any, Literal, Self
from urllib.parse import urlsplit

import openai

from core.metrics import RETRIES
from core.telemetry import get_logger
from workers.agent.actions import Message
from workers.agent.pictures import pictures_in
from workers.models.base import (
    ContextTooLong,
    ModelError,
    ModelNonsense,
    ModelRefused,
    ModelReply,
    ModelRequest,
    ModelUnavailable,
    OnDelta,
)
from workers.models.sse import MAX_LINE_BYTES, Assembly, ErrorInStream, NotTheProtocol, events, whole_reply

log = get_logger(__name__)

CONNECT_TIMEOUT_S = 10.0
MAX_WAIT_S = 60.0
"""An endpoint that asks for a longer pause than this counts as unavailable now."""
MAX_REPLY_CHARS = 200_000
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 8.0
_TRANSIENT = {408, 409, 429}
_QUOTA = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
_TOO_LONG_CODES = {"context_length_exceeded", "string_above_max_length"}
_TOO_LONG = re.compile(
    r"context.{0,10}(?:length|window|size|limit)|maximum.{0,20}(?:tokens|input length|prompt length)"
    r"|prompt is too long|too many tokens|input is too long|exceed.{0,20}token limit|max_new_tokens.{0,10} must be <=",
    re.IGNORECASE,
)
"""What compatible servers say in place of OpenAI's code."""
_NO_TOOLS = re.compile(
    r"tool.*support|support.*tool|--jinja|--enable-auto-tool-choice|--tool-call-parser", re.IGNORECASE | re.DOTALL
)
"""What servers say that call no tools: because of the model, or of how they were started."""
_NO_PICTURES = re.compile(
    r"image|picture|\bvision|multi-?modal|mmproj|content.{0,40}(?:string|type|part|array|list)", re.IGNORECASE
)
"""What servers say that take no pictures: vLLM names its limit of images, llama.cpp the missing mmproj, others the type
of the content."""
_MOST_REFUSALS = 3
"""Refusals of pictures in a row after which none is sent any more. Fewer may be the fault of the pictures."""
_REMEMBERED_PICTURES = 1_000
_MESSAGE_CHARS = 300
_QUOTE_CHARS = 16
"""When an error and a prompt share this many characters in a row, the error quotes the prompt."""
_KEY_LIKE = re.compile(r"\b(?:sk|pk|key)-[\w*.-]{6,}|\bBearer\s+\S+", re.IGNORECASE)


def speaks_of_length(status: int, said: str) -> bool:
    """Whether an endpoint's words mean that a prompt has more tokens than the model takes."""
    return status == 413 or (status in (400, 422) and bool(_TOO_LONG.search(said)))


@dataclass(frozen=True, slots=True)
class _Failure:
    """One try that failed: the error to raise in the end, whether to try again, and after how long at least."""

    error: ModelError
    again: bool = False
    pause_s: float = 0.0
    without_usage: bool = False
    without_pictures: bool = False


class OpenAIModel:
    """A Model behind a Chat Completions endpoint. Safe to share between threads; close it or use `with`."""

    def __init__(
        self,
        *,
        api_key: str,
        model: str,
        base_url: str | None = None,
        mode: Literal["native", "fenced"] = "native",
        sees: bool = False,
        timeout_s: float = 120.0,
        max_retries: int = 3,
        max_reply_chars: int = MAX_REPLY_CHARS,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`timeout_s` bounds every silence: until the first token and between two. `max_retries` counts further tries.
        With `sees`, pictures are sent until the endpoint has refused some in a row."""
        self._model = model
        self._key = api_key
        self._native = mode == "native"
        self._sees = sees
        self._refused_pictures: dict[str, None] = {}
        """Digests of pictures that are not sent again, the last ones."""
        self._refusals = 0
        """Refusals of pictures since one was taken."""
        self._timeout_s = timeout_s
        self._max_retries = max_retries
        self._max_reply_chars = max_reply_chars
        self._sleep, self._jitter, self._clock = sleep, jitter, clock
        self._ask_usage = True
        self._client = openai.OpenAI(
            api_key=api_key or "none",  # a local server without keys still needs the header to be there
            base_url=base_url or None,
            timeout=openai.Timeout(timeout_s, connect=min(CONNECT_TIMEOUT_S, timeout_s)),
            max_retries=0,
        )

    @property
    def name(self) -> str:
        """The model's name at its endpoint."""
        return self._model

    @property
    def native_tools(self) -> bool:
        """False in fenced mode."""
        return self._native

    @property
    def sees(self) -> bool:
        """Whether pictures are sent: by setting, and until the endpoint has refused some in a row."""
        return self._sees

    def __repr__(self) -> str:
        return f"OpenAIModel({self._model!r} at {self._host})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections that are kept open."""
        self._client.close()

    def complete(self, request: ModelRequest, on_delta: OnDelta) -> ModelReply:
        """Answers a request. After a broken stream the text starts again, so `on_delta` may see its beginning twice."""
        tries = 0
        request = replace(request, pictures=self._welcome(request.pictures))
        while True:
            outcome = self._try(request, on_delta)
            if isinstance(outcome, ModelReply):
                self._refusals = 0 if request.pictures else self._refusals
                return outcome
            if outcome.without_usage and self._ask_usage:
                self._ask_usage = False
                continue
            error = self._unquoted(outcome.error, request)
            if outcome.without_pictures and request.pictures:
                self._note_refused(request.pictures, error)
                request = replace(request, pictures={})
                continue
            if not outcome.again or tries >= self._max_retries or outcome.pause_s > MAX_WAIT_S:
                raise error
            backoff = min(_FIRST_PAUSE_S * 2**tries, _LONGEST_PAUSE_S)
            pause = max(outcome.pause_s, backoff) * (1 + self._jitter() / 4)
            RETRIES.labels("model", type(outcome.error).__name__).inc()
            log.info("model_asked_again", why=error, attempt=tries + 1, pause_s=round(pause, 2))
            self._sleep(pause)
            if not request.wanted():
                raise error
            tries += 1

    def _welcome(self, pictures: Mapping[str, bytes]) -> dict[str, bytes]:
        """The pictures that the endpoint has not refused."""
        if not self._sees:
            return {}
        return {digest: data for digest, data in pictures.items() if digest not in self._refused_pictures}

    def _note_refused(self, pictures: Mapping[str, bytes], why: ModelError) -> None:
        """One of these pictures was refused: none of them is sent again, so that a thread's next call is no refusal."""
        self._refusals += 1
        self._refused_pictures |= dict.fromkeys(pictures)
        for digest in list(self._refused_pictures)[:-_REMEMBERED_PICTURES]:
            self._refused_pictures.pop(digest, None)
        if self._refusals < _MOST_REFUSALS:
            log.warning("pictures_refused", why=why, pictures=len(pictures))
            return
        self._sees = False
        log.warning("model_takes_no_pictures", why=why, fix="set sees = false for this model")

    @property
    def _host(self) -> str:
        return urlsplit(str(self._client.base_url)).hostname or ""

    def _try(self, request: ModelRequest, on_delta: OnDelta) -> ModelReply | _Failure:
        """One try. An error of the endpoint is returned; an exception of `on_delta` passes through."""
        try:
            with self._client.chat.completions.with_streaming_response.create(**self._arguments(request)) as response:
                chunks = _bytes(response.iter_bytes())
                if response.headers.get("content-type", "").split(";")[0].strip() == "application/json":
                    return whole_reply(_bounded(chunks), on_delta)
                return self._read(chunks, on_delta, request.wanted)
        except _Broken as error:
            return self._unavailable(f"the reply broke off: {error}")
        except _Silent as error:
            return self._unavailable(str(error))
        except NotTheProtocol as error:
            text = f"{self._host} does not answer in the protocol: {self._safe(str(error))}"
            return _Failure(ModelNonsense(text), again=True)
        except ErrorInStream as error:
            return self._in_stream(error.error)
        except openai.APITimeoutError:
            return self._unavailable(f"no answer within {self._timeout_s:g} s")
        except openai.APIConnectionError as error:
            return self._unavailable(f"no connection ({type(error.__cause__ or error).__name__})")
        except openai.APIStatusError as error:
            return self._status(error, request)
        except openai.OpenAIError as error:
            return _Failure(ModelNonsense(f"{self._host}: {self._safe(str(error))}"), again=True)

    def _arguments(self, request: ModelRequest) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "model": self._model,
            "messages": [_wire(message, request.pictures) for message in request.messages],
            "stream": True,
        }
        if self._ask_usage:
            arguments["stream_options"] = {"include_usage": True}
        if request.tools and self._native:
            arguments["tools"] = list(request.tools)
        if request.stop:
            arguments["stop"] = list(request.stop)
        return arguments

    def _read(self, chunks: Iterator[bytes], on_delta: OnDelta, wanted: Callable[[], bool]) -> ModelReply:
        """Puts the reply together and watches the clock: a stream that only pings counts as silent."""
        assembly = Assembly(self._max_reply_chars)
        heard = self._clock()
        for event in events(chunks):
            if event is not None and assembly.add(event, on_delta):
                heard = self._clock()
            if assembly.full:
                return assembly.reply()
            if not wanted():
                raise _Broken("nobody waits for it any more")
            if self._clock() - heard > self._timeout_s:
                raise _Silent(f"signs of life but no token for {self._timeout_s:g} s")
        if assembly.seen and not assembly.finish:
            raise _Broken("the stream ended in the middle")
        return assembly.reply()

    def _status(self, error: openai.APIStatusError, request: ModelRequest) -> _Failure:
        status, said = error.status_code, self._safe(_said(error.body) or error.message)
        text = f"{self._host} answered {status}: {said}"
        code = str(error.code or error.type or "")
        if code in _TOO_LONG_CODES or speaks_of_length(status, said):
            return _Failure(ContextTooLong(text))
        if request.pictures and status in (400, 404, 415, 422, 500, 501) and _NO_PICTURES.search(said):
            return _Failure(ModelRefused(text), without_pictures=True)
        if status in (400, 422) and re.search("stream_options|include_usage", said):
            return _Failure(ModelRefused(text), without_usage=True)
        if code in _QUOTA:
            return _Failure(ModelRefused(text))
        if status in (400, 422, 500) and _NO_TOOLS.search(said) and self._native:
            text += ' (set mode = "fenced" under [model] in threadbook.toml for models without tools)'
            return _Failure(ModelRefused(text))
        if status in _TRANSIENT or status >= 500:
            return _Failure(ModelUnavailable(text), again=True, pause_s=_retry_after(dict(error.response.headers)))
        return _Failure(ModelRefused(text))

    def _in_stream(self, error: object) -> _Failure:
        said, code = self._safe(_said({"error": error})), error.get("code") if isinstance(error, dict) else None
        text = f"{self._host} reported an error in its reply: {said}"
        if str(code) in _TOO_LONG_CODES or _TOO_LONG.search(said):
            return _Failure(ContextTooLong(text))
        if _NO_PICTURES.search(said):
            return _Failure(ModelUnavailable(text), again=True, without_pictures=True)
        if str(code) in _QUOTA | {"401", "403", "404", "invalid_api_key", "model_not_found"}:
            return _Failure(ModelRefused(text))
        return _Failure(ModelUnavailable(text), again=True)

    def _unavailable(self, why: str) -> _Failure:
        return _Failure(ModelUnavailable(f"{self._host}: {self._safe(why)}"), again=True)

    def _unquoted(self, error: ModelError, request: ModelRequest) -> ModelError:
        """The error without the endpoint's words when they quote what people wrote: it ends up in the log."""
        said = str(error)
        asked = " ".join(str(message.get("content")) for message in request.messages if message["role"] != "system")
        asked = " ".join(asked.split())
        quotes = any(said[start : start + _QUOTE_CHARS] in asked for start in range(len(said) - _QUOTE_CHARS + 1))
        return type(error)(f"{self._host}: its message quotes the prompt, so it is left out here") if quotes else error

    def _safe(self, text: str) -> str:
        """An endpoint's words for our log: one bounded line, without the key or anything that looks like one."""
        if len(self._key) >= 4:
            text = text.replace(self._key, "***")
        return _KEY_LIKE.sub("***", " ".join(text.split())[: _MESSAGE_CHARS * 2])[:_MESSAGE_CHARS]


def _wire(message: Message, pictures: Mapping[str, bytes]) -> Message:
    """The message as the endpoint gets it: with its pictures as parts of its content, or with a word that they are not
    there."""
    named = pictures_in(message)
    if not named:
        return message
    bare = {name: value for name, value in message.items() if name != "pictures"}
    text = str(message["content"])
    missing = [each["name"] for each in named if each["sha256"] not in pictures]
    if missing:
        text += f"\n\n(Could not be attached, so you do not see it: {', '.join(missing)})"
    parts = [
        {
            "type": "image_url",
            "image_url": {
                "url": _data_url(each["mimetype"], pictures[each["sha256"]]),
                **({"detail": each["detail"]} if "detail" in each else {}),
            },
        }
        for each in named
        if each["sha256"] in pictures
    ]
    return {**bare, "content": [{"type": "text", "text": text}, *parts] if parts else text}


def _data_url(mimetype: str, data: bytes) -> str:
    return f"data:{mimetype};base64,{base64.b64encode(data).decode('ascii')}"


class _Broken(Exception):
    """The connection ended inside the reply."""


class _Silent(Exception):
    """Nothing of the reply came for too long."""


def _bytes(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The chunks of a body. Any exception of the transport while reading means that the reply broke off.

    Which exceptions those are depends on the transport that the openai package was built with.
    """
    while True:
        try:
            chunk = next(chunks, None)
        except Exception as error:
            raise _Broken(type(error).__name__) from None
        if chunk is None:
            return
        yield chunk


def _bounded(chunks: Iterator[bytes]) -> bytes:
    body = bytearray()
    for chunk in chunks:
        body += chunk
        if len(body) > MAX_LINE_BYTES:
            raise NotTheProtocol("a reply without end")
    return bytes(body)


def _said(body: object) -> str:
    """The message in an error body, whichever of the usual shapes it has."""
    error = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or error.get("code") or ""
    return error if isinstance(error, str) else ""


def _retry_after(headers: dict[str, str]) -> float:
    """Seconds that the endpoint asks to wait: in milliseconds, in seconds or as a date; 0 when it does not say."""
    found = {name.lower(): value.strip() for name, value in headers.items()}
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with suppress(KeyError, ValueError):
            seconds = float(found[name]) * unit
            if math.isfinite(seconds):
                return max(seconds, 0.0)
    try:
        until = parsedate_to_datetime(found.get("retry-after", ""))
        now = parsedate_to_datetime(found["date"]) if "date" in found else datetime.now(UTC)
        return max((until - now).total_seconds(), 0.0)
    except (TypeError, ValueError):
        return 0.0
