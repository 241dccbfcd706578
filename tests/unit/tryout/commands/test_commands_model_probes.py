"""`threadbook doctor --model` tells what an endpoint can do, whatever it does."""

# ruff: noqa: E501  what a server says stays on one line

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from chat_endpoint import Behaviour, Handler, chunk, endpoint, hangs, refuses, says, sends, stream
from PIL import Image

from core.settings import Settings, load_settings
from tryout.commands import model_probes
from tryout.commands.model_probes import PROBES, Probe, probe, run

KEY = "sk-secret-123456"


def settings(url: str, folder: Path, team: str = "[limits]\ncontext_chars = 20000\n") -> Settings:
    (folder / "threadbook.toml").write_text(team)
    return load_settings({"OPENAI_BASE_URL": url, "OPENAI_API_KEY": KEY, "OPENAI_MODEL": "m"}, folder)


def probed(behaviour: Behaviour, folder: Path, team: str = "[limits]\ncontext_chars = 20000\n") -> dict[str, Probe]:
    with endpoint(behaviour) as server:
        return {found.name: found for found in probe(settings(server.url, folder, team))}


def capable(
    handler: Handler,
    *,
    ids: bool = True,
    reasons: str = "",
    context: int = 10**9,
    tools: bool = True,
    sees: Literal["yes", "no", "refuses"] = "yes",
) -> None:
    """A server that can do all of it, or all but something."""
    asked: dict[str, Any] = handler.server.asked[-1]
    text = asked["messages"][0]["content"]
    if isinstance(text, list):
        if sees == "refuses":
            return refuses(400, "At most 0 image(s) may be provided in one prompt.")(handler)
        picture = Image.open(io.BytesIO(base64.b64decode(text[1]["image_url"]["url"].partition(",")[2])))
        red, green, _ = picture.convert("RGB").getpixel((9, 9))
        return says("Red." if sees == "yes" and red > 2 * green else "I cannot tell.")(handler)
    usage = chunk(usage={"prompt_tokens": len(text) // 4, "completion_tokens": 9})
    if asked["model"] != "m":
        return refuses(404, "model not found")(handler)
    if len(text) > context:
        return refuses(400, "request (9412 tokens) exceeds the available context size (8192 tokens)")(handler)
    if asked.get("tools"):
        if not tools:
            return refuses(400, "m does not support tools")(handler)
        cities = [city for city in ("Oslo", "Rome") if city in text]
        calls = [
            {"index": n, "function": {"name": "weather", "arguments": json.dumps({"city": city})}}
            | ({"id": f"c{n}"} if ids else {})
            for n, city in enumerate(cities)
        ]
        return stream(chunk({"tool_calls": calls}), chunk(finish="tool_calls"), usage)(handler)
    numbers = re.search(r"from 1 to (\d+)", text)
    answer = (
        ",".join(map(str, range(1, int(numbers[1]) + 1))) if numbers else "heron" if "password" in text else "ready"
    )
    thinking = [chunk({"reasoning_content": reasons})] if reasons else []
    halves = (answer[: len(answer) // 2], answer[len(answer) // 2 :])
    return stream(*thinking, *(chunk({"content": half}) for half in halves), chunk(finish="stop"), usage)(handler)


def test_an_endpoint_that_can_do_all_of_it_is_ok_in_eleven_ways(tmp_path: Path) -> None:
    found = probed(capable, tmp_path)
    assert len(found) == len(PROBES) == 11
    assert {each.state for each in found.values()} == {"ok"}


@pytest.mark.parametrize(
    ("lacks", "name", "state", "what"),
    [
        ({"ids": False}, "tool-call ids", "note", "no id"),
        ({"ids": False}, "parallel tool calls", "note", "one id"),
        ({"reasons": "hm"}, "reasoning content", "ok", "field of its own"),
        ({"context": 5_000}, "small context", "note", "says so"),
        ({"tools": False}, "native tools", "missing", "does not support tools"),
        ({"sees": "no"}, "pictures", "note", "not told"),
        ({"sees": "refuses"}, "pictures", "note", "At most 0 image"),
    ],
)
def test_what_an_endpoint_lacks_is_named(
    tmp_path: Path, lacks: dict[str, Any], name: str, state: str, what: str
) -> None:
    found = probed(lambda handler: capable(handler, **lacks), tmp_path)[name]
    assert (found.state, what in found.what) == (state, True)


def test_without_tools_the_fenced_mode_works(tmp_path: Path) -> None:
    team = '[limits]\ncontext_chars = 20000\n[model]\nmode = "fenced"\n'
    found = probed(lambda handler: capable(handler, tools=False), tmp_path, team)
    assert found["native tools"].state == "note"


ODD: dict[str, tuple[Behaviour, Callable[[dict[str, Probe]], bool]]] = {
    "one word for everything": (says("ready"), lambda found: found["small context"].state == "missing"),
    "an unknown model is answered": (says("ready"), lambda found: found["refusals"].state == "note"),
    "thinking in the text": (says("<think>hm</think>yes"), lambda found: found["reasoning content"].state == "note"),
    "no stream": (
        sends(200, json.dumps({"choices": [{"message": {"content": "ready"}, "finish_reason": "stop"}]}), "application/json"),
        lambda found: found["streaming"].state == "note" and found["usage"].state == "note",
    ),
    "cut replies": (
        stream(chunk({"content": "1,2,3"}), chunk(finish="length")),
        lambda found: "cut at 3" in found["long output"].what,
    ),
    "a web page": (sends(200, "<html>login</html>"), lambda found: [*found] == ["no tools"]),
    "an error": (refuses(500, "boom"), lambda found: found["no tools"].what == "boom"),
    "a wrong key": (refuses(401, f"Incorrect API key provided: {KEY}"), lambda found: KEY not in found["no tools"].what),
    "only thinking": (
        stream(chunk({"reasoning": "hm"}), chunk(finish="stop")),
        lambda found: "only reasoning" in found["no tools"].what,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ODD)
def test_odd_endpoints_are_told_as_what_they_are(tmp_path: Path, case: str) -> None:
    behaviour, holds = ODD[case]
    assert holds(probed(behaviour, tmp_path))


def test_a_silent_endpoint_ends_the_probing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_probes, "MAX_SILENCE_S", 0.2)
    with endpoint(hangs(chunk({"content": "a"}))) as server:
        (found,) = probe(settings(server.url, tmp_path))
        server.closing.set()
    assert (found.state, found.what) == ("missing", "no answer (ReadTimeout)")


def test_the_exit_code_says_whether_the_product_works_with_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with endpoint(capable) as server:
        assert run(settings(server.url, tmp_path), as_json=True) == 0
        assert len(json.loads(capsys.readouterr().out)) == len(PROBES)
    assert run(settings("http://127.0.0.1:9/v1", tmp_path)) == 1
    assert run(load_settings({}, tmp_path)) == 1
