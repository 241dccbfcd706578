"""`make check-litellm`: asks models through a real LiteLLM proxy, with its mock replies and with an endpoint behind it.

    python tests/proxies/check_litellm.py LITELLM      LITELLM is the program of an environment with litellm[proxy]

Prints a line per rule, then what `threadbook doctor --model` says of the proxy. Ends with 1 when a rule does not hold.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import yaml
from chat_endpoint import Endpoint, chunk, endpoint, refuses, says, stream
from patience import PATIENCE_S, reserved_port

from core.settings import load_settings
from core.steps import ToolCall
from tryout.commands.model_probes import probe
from workers.agent.replies.tools import TOOLS
from workers.models.base import ContextTooLong, ModelError, ModelRefused, ModelReply, ModelRequest, ModelUnavailable
from workers.models.openai_model import OpenAIModel

KEY = "sk-check-0123456789"
HI = ModelRequest(({"role": "user", "content": "hi"},), TOOLS)
MOCKS = {
    "mock": "It is **60**.",
    "mock-limited": "litellm.RateLimitError",
    "mock-broken": "litellm.InternalServerError",
    "mock-long": "litellm.ContextWindowExceededError",
}
CODE = '{"title": "Look", "code": "print(1)"}'


def configuration(behind: str) -> dict[str, Any]:
    """The proxy's: a model for each mock reply, and one that is asked at `behind`."""
    mocks = [
        {"model_name": name, "litellm_params": {"model": "openai/gpt-4o", "api_key": "none", "mock_response": reply}}
        for name, reply in MOCKS.items()
    ]
    asked = {"model": "openai/some-model", "api_base": behind, "api_key": "sk-behind"}
    return {
        "model_list": [*mocks, {"model_name": "behind", "litellm_params": asked}],
        "litellm_settings": {"telemetry": False, "num_retries": 0},
        "general_settings": {"master_key": KEY},
    }


@contextmanager
def proxy(program: str, behind: str) -> Iterator[str]:
    """A running proxy; gives what OPENAI_BASE_URL would be."""
    with tempfile.TemporaryDirectory() as name, reserved_port() as port:
        file, log = Path(name) / "config.yaml", Path(name) / "log"
        file.write_text(yaml.safe_dump(configuration(behind)), "utf-8")
        known = {"PATH": os.environ["PATH"], "HOME": name, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        with log.open("wb") as out:
            command = [program, "--config", str(file), "--host", "127.0.0.1", "--port", str(port)]
            running = subprocess.Popen(command, env=known, cwd=name, stdout=out, stderr=subprocess.STDOUT)
        try:
            _wait(f"http://127.0.0.1:{port}/health/liveliness", running, log)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            running.terminate()
            running.wait()


def _wait(url: str, running: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end and running.poll() is None:
        try:
            if httpx.get(url, timeout=5).status_code == 200:
                return
        except httpx.HTTPError:
            time.sleep(0.5)
    raise SystemExit(f"The proxy did not start:\n{log.read_text('utf-8', 'replace')[-3_000:]}")


# --- the rules


Ask = Callable[..., ModelReply]
Rule = Callable[[Ask, Endpoint], None]


def text_of_a_mock_is_streamed_with_its_usage(ask: Ask, _: Endpoint) -> None:
    """The whole text, and tokens that are counted."""
    reply = ask("mock")
    assert reply.text == MOCKS["mock"]
    assert reply.usage.prompt_tokens > 0


def text_and_usage_of_a_model_behind_come_through(ask: Ask, behind: Endpoint) -> None:
    """Piece by piece, with the tokens that the model named."""
    behind.plan = [says("Hel", "lo, ", "世界")]
    reply = ask("behind")
    assert (reply.text, reply.finish) == ("Hello, 世界", "stop")
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (11, 7)


def calls_of_tools_come_through_in_pieces(ask: Ask, behind: Endpoint) -> None:
    """With their ids, and with the tools that were offered."""
    half = len(CODE) // 2

    def piece(index: int, call_id: str | None, name: str | None, arguments: str) -> dict[str, Any]:
        function = {"arguments": arguments} | ({} if name is None else {"name": name})
        return chunk({"tool_calls": [{"index": index, "id": call_id, "type": "function", "function": function}]})

    behind.plan = [
        stream(
            chunk({"role": "assistant", "content": None}),
            piece(0, "a", "run_python", ""),
            piece(0, None, None, CODE[:half]),
            piece(0, None, None, CODE[half:]),
            piece(1, "b", "finish", '{"report": "r"}'),
            chunk(finish="tool_calls"),
        )
    ]
    reply = ask("behind")
    expected = (
        ToolCall(id="a", name="run_python", arguments=CODE),
        ToolCall(id="b", name="finish", arguments='{"report": "r"}'),
    )
    assert [(call.id, call.name, json.loads(call.arguments)) for call in reply.calls] == [
        (call.id, call.name, json.loads(call.arguments)) for call in expected
    ]
    offered = [tool["function"]["name"] for tool in behind.asked[-1]["tools"]]
    assert offered == [tool["function"]["name"] for tool in TOOLS]


def thinking_is_no_part_of_the_answer(ask: Ask, behind: Endpoint) -> None:
    """`reasoning_content` of the model behind."""
    behind.plan = [stream(chunk({"reasoning_content": "Let me see."}), chunk({"content": "60"}), chunk(finish="stop"))]
    assert ask("behind").text == "60"


def a_limit_is_waited_for(ask: Ask, _: Endpoint) -> None:
    """Too many requests are a matter of time."""
    fails(ModelUnavailable, ask, "mock-limited")


def a_fault_of_the_server_is_tried_again(ask: Ask, _: Endpoint) -> None:
    """So is its error 500."""
    fails(ModelUnavailable, ask, "mock-broken")


def a_prompt_that_is_too_long_is_known_as_that(ask: Ask, behind: Endpoint) -> None:
    """In the proxy's own words, and in those of the model behind it."""
    fails(ContextTooLong, ask, "mock-long")
    said = "This model's maximum context length is 4096 tokens. However, your messages resulted in 9000 tokens."
    behind.plan = [refuses(400, said, "context_length_exceeded")]
    fails(ContextTooLong, ask, "behind")


def an_unknown_model_and_a_wrong_key_are_matters_for_an_admin(ask: Ask, _: Endpoint) -> None:
    """Nothing is tried again."""
    fails(ModelRefused, ask, "no-such-model")
    fails(ModelRefused, ask, "mock", api_key="sk-wrong")


RULES: tuple[Rule, ...] = (
    text_of_a_mock_is_streamed_with_its_usage,
    text_and_usage_of_a_model_behind_come_through,
    calls_of_tools_come_through_in_pieces,
    thinking_is_no_part_of_the_answer,
    a_limit_is_waited_for,
    a_fault_of_the_server_is_tried_again,
    a_prompt_that_is_too_long_is_known_as_that,
    an_unknown_model_and_a_wrong_key_are_matters_for_an_admin,
)


def fails(expected: type[ModelError], ask: Ask, model: str, **options: Any) -> None:
    """The model fails in this way, and in no other."""
    found: ModelError | None = None
    said = ""
    try:
        said = ask(model, **options).text
    except ModelError as error:
        found = error
    assert type(found) is expected, f"{type(found).__name__}: {found or said}"
    assert KEY not in str(found)


def main() -> None:
    """Try every rule. Exit code 1 when one does not hold."""
    broken = 0
    with endpoint(says("ok")) as behind, proxy(sys.argv[1], behind.url) as url:

        def ask(name: str, *, api_key: str = KEY) -> ModelReply:
            known = {"timeout_s": PATIENCE_S, "max_retries": 0, "sleep": lambda _: None, "jitter": lambda: 0.0}
            with closing(OpenAIModel(api_key=api_key, base_url=url, model=name, **known)) as model:  # type: ignore[arg-type]
                return model.complete(HI, lambda _: None)

        for rule in RULES:
            behind.asked.clear()
            try:
                rule(ask, behind)
            except (AssertionError, ModelError) as error:
                broken += 1
                print(f"BROKEN  {rule.__name__.replace('_', ' ')}: {error}", flush=True)
            else:
                print(f"holds   {rule.__name__.replace('_', ' ')}", flush=True)
        behind.plan = [says("ok")]
        with tempfile.TemporaryDirectory() as home:
            given = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": url, "OPENAI_MODEL": "mock", "THREADBOOK_HOME": home}
            for found in probe(load_settings(given, Path(home))):
                print(f"probe   {found.state:<8}{found.name}: {found.what}", flush=True)
    raise SystemExit(1 if broken else 0)


if __name__ == "__main__":
    main()
