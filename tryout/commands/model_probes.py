"""`threadbook doctor --model`: eleven requests to the configured endpoint, and what they say of it (docs/models.md)."""

from __future__ import annotations

import base64
import json
import re
import struct
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import httpx
from rich.console import Console
from rich.table import Table

from core.settings import Settings
from core.telemetry import redactor
from tryout.commands.show import printable
from workers.models.base import ModelReply
from workers.models.openai_model import speaks_of_length
from workers.models.sse import Assembly, ErrorInStream, NotTheProtocol, events, whole_reply

OPENAI = "https://api.openai.com/v1"
MAX_BYTES = 4_000_000
MAX_SILENCE_S = 120.0
_THINK = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_COUNT_TO = 300

Json = dict[str, Any]
State = Literal["ok", "note", "missing"]


@dataclass(frozen=True)
class Probe:
    """What one probe found. "missing": the product does not work so; "note": it works, with less."""

    name: str
    state: State
    what: str
    fix: str = ""


@dataclass
class Heard:
    """What came back to one request: the status, the reply as the product reads it, and what it passes over."""

    status: int = 0
    error: str = ""
    reply: ModelReply = field(default_factory=ModelReply)
    pieces: int = 0
    streamed: bool = False
    reasoning: int = 0

    @property
    def answered(self) -> bool:
        """Whether a reply in the protocol came."""
        return self.status == 200 and not self.error


@dataclass(frozen=True)
class Endpoint:
    """A Chat Completions endpoint, asked one request at a time without a second try."""

    http: httpx.Client
    model: str
    clean: Callable[[str], str] = str

    def ask(
        self, text: str, *, tools: Sequence[Json] = (), model: str = "", usage: bool = True, picture: bytes = b""
    ) -> Heard:
        """Send one question as the product would, streamed; with a PNG if given. Never raises for what an endpoint
        does."""
        url = f"data:image/png;base64,{base64.b64encode(picture).decode()}"
        parts = [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": url}}]
        message: Json = {"role": "user", "content": parts if picture else text}
        body: Json = {"model": model or self.model, "messages": [message], "stream": True}
        if usage:
            body["stream_options"] = {"include_usage": True}
        if tools:
            body["tools"] = list(tools)
        heard = Heard()
        try:
            with self.http.stream("POST", "chat/completions", json=body) as response:
                heard.status = response.status_code
                if not response.is_success:
                    said = b"".join(_bounded(response.iter_bytes())).decode("utf-8", "replace")
                    heard.error = self.clean(_message(said))[:300]
                elif response.headers.get("content-type", "").split(";")[0].strip() == "application/json":
                    heard.reply = whole_reply(b"".join(_bounded(response.iter_bytes())), lambda _: None)
                else:
                    heard.streamed = True
                    _read(_bounded(response.iter_bytes()), heard)
        except ErrorInStream as error:
            heard.error = self.clean(f"an error in the stream: {error.error}")[:300]
        except NotTheProtocol as error:
            heard.error = self.clean(f"not the protocol: {error}")[:300]
        except httpx.HTTPError as error:
            heard.error = f"no answer ({type(error).__name__})"
        if usage and heard.status in (400, 422) and re.search("stream_options|include_usage", heard.error):
            return self.ask(text, tools=tools, model=model, usage=False, picture=picture)
        return heard


def _read(chunks: Iterable[bytes], heard: Heard) -> None:
    assembly = Assembly(MAX_BYTES)
    for event in events(chunks):
        if event is None:
            continue
        heard.pieces += assembly.add(event, lambda _: None)
        heard.reasoning += len(_thinking(event))
        if assembly.full:
            break
    heard.reply = assembly.reply()
    if not assembly.finish:
        heard.error = "the stream ended without a finish_reason"


def _thinking(event: Mapping[str, Any]) -> str:
    choices = event.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    delta = choice.get("delta")
    delta = delta if isinstance(delta, dict) else {}
    return str(delta.get("reasoning_content") or delta.get("reasoning") or "")


def _bounded(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The first bytes of a body, for as long as there is no endless silence between them."""
    size, started = 0, time.monotonic()
    for chunk in chunks:
        size += len(chunk)
        if size > MAX_BYTES or time.monotonic() - started > 5 * MAX_SILENCE_S:
            raise NotTheProtocol("a reply without end")
        yield chunk


def _message(body: str) -> str:
    try:
        error = json.loads(body).get("error")
    except (ValueError, AttributeError, RecursionError):
        return body
    return str(error.get("message") if isinstance(error, dict) else error)


def _tool(name: str, argument: str) -> Json:
    parameters = {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]}
    return {
        "type": "function",
        "function": {"name": name, "description": f"Look up a {argument}.", "parameters": parameters},
    }


_WEATHER = (_tool("weather", "city"),)


def no_tools(endpoint: Endpoint, _: Settings) -> Probe:
    """A plain question gets text."""
    heard = endpoint.ask("Reply with the single word: ready")
    if heard.answered and heard.reply.text.strip():
        return Probe("no tools", "ok", f"answers with text ({heard.reply.text.strip()[:30]!r})")
    why = heard.error or ("only reasoning, no text" if heard.reasoning else "an empty reply")
    return Probe("no tools", "missing", why, "check OPENAI_BASE_URL (it ends in /v1), OPENAI_API_KEY, OPENAI_MODEL")


def streaming(endpoint: Endpoint, _: Settings) -> Probe:
    """A longer reply comes in pieces."""
    heard = endpoint.ask("Count from 1 to 20, separated by commas.")
    if not heard.answered:
        return Probe("streaming", "missing", heard.error, "see the first probe")
    if not heard.streamed or heard.pieces < 2:
        what = "the reply comes at once; people see no text while it is written"
        return Probe("streaming", "note", what, "let a proxy in between pass server-sent events on")
    return Probe("streaming", "ok", f"{heard.pieces} pieces")


def usage(endpoint: Endpoint, _: Settings) -> Probe:
    """Tokens are counted."""
    used = endpoint.ask("Reply with the single word: ready").reply.usage
    if used.prompt_tokens and used.completion_tokens:
        cached = f", {used.cached_tokens} of them cached" if used.cached_tokens else ""
        return Probe("usage", "ok", f"{used.prompt_tokens} tokens of prompt{cached}, {used.completion_tokens} of reply")
    return Probe(
        "usage", "note", "no tokens are told: costs and budgets count nothing", "turn on usage in streams there"
    )


def native_tools(endpoint: Endpoint, settings: Settings) -> Probe:
    """A tool is called with its argument as JSON."""
    heard = endpoint.ask("What is the weather in Oslo? Use the tool.", tools=_WEATHER)
    fenced = settings.model.mode == "fenced"
    state: State = "note" if fenced else "missing"
    fix = "" if fenced else 'set mode = "fenced" under [model] in threadbook.toml, or start the server with tool calls'
    if not heard.answered:
        return Probe("native tools", state, heard.error, fix)
    calls = [call for call in heard.reply.calls if call.name == "weather"]
    if not calls:
        return Probe("native tools", state, f"no call; it said {heard.reply.text.strip()[:60]!r}", fix)
    try:
        right = "oslo" in str(json.loads(calls[0].arguments)["city"]).lower()
    except (ValueError, KeyError, TypeError):
        right = False
    if not right:
        return Probe("native tools", state, f"arguments that cannot be used: {calls[0].arguments[:60]!r}", fix)
    return Probe(
        "native tools", "ok", "the tool is called with its argument" + ("; fenced mode is set" if fenced else "")
    )


def tool_call_ids(endpoint: Endpoint, _: Settings) -> Probe:
    """Calls have ids of their own."""
    calls = endpoint.ask("What is the weather in Rome? Use the tool.", tools=_WEATHER).reply.calls
    if not calls:
        return Probe("tool-call ids", "note", "no call to look at")
    if not all(call.id for call in calls):
        return Probe("tool-call ids", "note", "calls have no id; we number them ourselves")
    return Probe("tool-call ids", "ok", f"such as {calls[0].id[:30]!r}")


def parallel_calls(endpoint: Endpoint, _: Settings) -> Probe:
    """Two calls in one reply are distinguished."""
    text = "What is the weather in Oslo, and what is it in Rome? Call the tool for both at once."
    calls = endpoint.ask(text, tools=_WEATHER).reply.calls
    if len(calls) < 2:
        return Probe("parallel tool calls", "note", f"{len(calls)} call in a reply; cells come one by one")
    if len({call.id for call in calls}) < len(calls):
        return Probe("parallel tool calls", "note", f"{len(calls)} calls with one id; we number them ourselves")
    return Probe("parallel tool calls", "ok", f"{len(calls)} calls in one reply")


def reasoning(endpoint: Endpoint, _: Settings) -> Probe:
    """Where the model's thinking comes."""
    heard = endpoint.ask("Is 391 prime? Think first, then answer yes or no.")
    if not heard.answered:
        return Probe("reasoning content", "note", heard.error)
    if heard.reasoning:
        return Probe(
            "reasoning content", "ok", f"in a field of its own ({heard.reasoning} characters); not shown to people"
        )
    if _THINK.search(heard.reply.text):
        fix = "let the server take it out (vLLM: --reasoning-parser; llama.cpp: --reasoning-format)"
        return Probe("reasoning content", "note", "inside the text, where people see it", fix)
    return Probe("reasoning content", "ok", "none")


def refusals(endpoint: Endpoint, _: Settings) -> Probe:
    """A request that cannot be met is refused in a way that we can tell from a failure."""
    heard = endpoint.ask("hello", model="threadbook-no-such-model")
    if heard.status in (400, 401, 403, 404, 422):
        return Probe("refusals", "ok", f"an unknown model is refused with {heard.status}")
    if heard.answered:
        return Probe(
            "refusals", "note", "an unknown model is answered all the same: a wrong OPENAI_MODEL goes unnoticed"
        )
    what = f"an unknown model is answered with {heard.status or 'nothing'}: {heard.error}"
    return Probe("refusals", "note", what, "we would ask again before we give up")


def long_output(endpoint: Endpoint, _: Settings) -> Probe:
    """A long reply comes whole."""
    heard = endpoint.ask(f"Write the whole numbers from 1 to {_COUNT_TO}, separated by commas. Leave none out.")
    if not heard.answered:
        return Probe("long output", "note", heard.error)
    last = [int(number) for number in re.findall(r"\d{1,6}", heard.reply.text)][-1:]
    if heard.reply.finish == "length":
        fix = "raise the server's limit of output tokens (Ollama: num_predict; vLLM: --max-model-len)"
        return Probe("long output", "note", f"cut at {last[0] if last else 0} of {_COUNT_TO}", fix)
    if last != [_COUNT_TO]:
        return Probe("long output", "note", f"ended by itself at {last[0] if last else 'nothing'} of {_COUNT_TO}")
    return Probe("long output", "ok", f"{len(heard.reply.text):,} characters, whole")


def small_context(endpoint: Endpoint, settings: Settings) -> Probe:
    """A prompt as long as ours may be is read to its beginning."""
    chars = settings.limits.context_chars
    lines = (f"line {n}: nothing to see here, read on" for n in range(chars))
    middle = ""
    for line in lines:
        if len(middle) >= chars - 300:
            break
        middle += line + "\n"
    heard = endpoint.ask(f"The password is heron.\n{middle}\nReply with the password from the first line, one word.")
    fix = f"set context_chars under [limits] below {chars:,}, or give the model a larger context (Ollama: num_ctx)"
    if heard.answered and "heron" in heard.reply.text.lower():
        return Probe("small context", "ok", f"a prompt of {chars:,} characters is read whole")
    if heard.answered:
        return Probe("small context", "missing", f"a prompt of {chars:,} characters is cut without a word", fix)
    if speaks_of_length(heard.status, heard.error):
        what = f"a prompt of {chars:,} characters is too long, and the endpoint says so: we shorten it and ask again"
        return Probe("small context", "note", what, fix)
    return Probe("small context", "missing", f"a prompt of {chars:,} characters fails: {heard.error}", fix)


def pictures(endpoint: Endpoint, settings: Settings) -> Probe:
    """The model sees the pictures that it is sent: charts of cells, images of people."""
    if not settings.model.sees:
        return Probe("pictures", "ok", "none are sent: sees = false under [model]")
    heard = endpoint.ask("Which colour fills this picture? One word.", picture=_red_square())
    fix = "set sees = false under [model]; charts and images are then described to it in words"
    if heard.answered and "red" in heard.reply.text.lower():
        return Probe("pictures", "ok", "a picture is seen")
    if heard.answered:
        return Probe("pictures", "note", "a picture is taken, and what it shows is not told", fix)
    return Probe("pictures", "note", f"a picture is refused: {heard.error}", fix)


def _red_square(side: int = 64) -> bytes:
    """A PNG of one colour."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\x00" + b"\xe0\x10\x10" * side) * side
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


PROBES: tuple[Callable[[Endpoint, Settings], Probe], ...] = (
    no_tools, streaming, usage, native_tools, tool_call_ids, parallel_calls, reasoning, refusals, long_output,
    pictures, small_context,
)  # fmt: skip


def probe(settings: Settings) -> Iterator[Probe]:
    """The findings, one after the other. When the first fails, there is nothing to ask further."""
    key = settings.openai_api_key.get_secret_value() if settings.openai_api_key else "none"
    base = (settings.openai_base_url or OPENAI).rstrip("/") + "/"
    headers = {"Authorization": f"Bearer {key}"}
    with httpx.Client(base_url=base, headers=headers, timeout=httpx.Timeout(MAX_SILENCE_S, connect=10)) as http:
        endpoint = Endpoint(http, settings.openai_model, redactor(settings.secrets()))
        for each in PROBES:
            found = each(endpoint, settings)
            yield found
            if each is no_tools and found.state == "missing":
                return


def run(settings: Settings, *, as_json: bool = False) -> int:
    """Probe the endpoint and print what works. Returns 1 if the product would not work with it, else 0."""
    console = Console(stderr=as_json)
    if settings.openai_api_key is None and not settings.openai_base_url:
        console.print("no endpoint is set: OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own", style="red")
        return 1
    with console.status(f"asking {settings.openai_model} eleven questions; one of them is long"):
        found = list(probe(settings))
    if as_json:
        print(json.dumps([asdict(each) for each in found], ensure_ascii=False))
    else:
        table = Table("probe", "state", "what", "fix")
        colours = {"ok": "green", "missing": "red", "note": "yellow"}
        for each in found:
            table.add_row(each.name, f"[{colours[each.state]}]{each.state}[/]", printable(each.what), each.fix)
        console.print(table)
    return 1 if any(each.state == "missing" for each in found) else 0
