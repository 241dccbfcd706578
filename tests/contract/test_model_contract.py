"""What every model promises, on each of them: the endpoint on a socket, the scripted double, the built-in analyst."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from chat_endpoint import endpoint, says

from core.steps import Asked, Briefed, Replied
from workers.agent.actions import AskModel
from workers.agent.decide import decide
from workers.agent.replies.parse import read_reply
from workers.agent.replies.verdict import read_verdict
from workers.agent.turn import AgentLimits, Environment, Turn
from workers.models.base import Model, ModelReply, ModelRequest
from workers.models.openai_model import OpenAIModel
from workers.models.scripted import ScriptedModel
from workers.offline import OfflineAnalyst
from workers.turn.prompts import load_prompts


@pytest.fixture(params=["endpoint", "endpoint, fenced", "scripted", "offline"])
def model(request: pytest.FixtureRequest) -> Iterator[Model]:
    if request.param == "scripted":
        yield ScriptedModel([{"text": "Three."}], checks=[{"text": '{"is_final": true}'}])
    elif request.param == "offline":
        yield OfflineAnalyst()
    else:
        with endpoint(says("Three", "."), says('{"is_final"', ": true}")) as server:
            mode = "fenced" if "fenced" in request.param else "native"
            with OpenAIModel(api_key="k", base_url=server.url, model="m", mode=mode) as one:  # type: ignore[arg-type]
                yield one


def turn(model: Model, *steps: object) -> Turn:
    return Turn(
        id="T1",
        language="en",
        steps=(Asked(user="U", author="Ana", text="What is 1 + 2?", ts="1.0"), Briefed(), *steps),  # type: ignore[arg-type]
        limits=AgentLimits(),
        environment=Environment(python_version="3.11", packages=("pandas 2.2",), today="2025-11-21"),
        prompts=load_prompts(),
        native_tools=model.native_tools,
    )


def ask(model: Model, about: Turn) -> tuple[ModelReply, str]:
    action = decide(about)
    assert isinstance(action, AskModel)
    heard: list[str] = []
    reply = model.complete(ModelRequest(action.messages, action.tools, action.purpose, about), heard.append)
    return reply, "".join(heard)


def test_a_model_has_a_name_to_show(model: Model) -> None:
    assert model.name.strip() == model.name != ""


def test_what_streams_is_the_text_of_the_reply(model: Model) -> None:
    reply, heard = ask(model, turn(model))
    assert heard == reply.text


def test_a_reply_can_be_acted_on(model: Model) -> None:
    reply, _ = ask(model, turn(model))
    replied = Replied(purpose="act", text=reply.text, calls=reply.calls, finish=reply.finish)
    assert type(read_reply(replied, 1).intents[0]).__name__ != "Malformed"


def test_a_reply_survives_the_store_and_the_judge_is_understood(model: Model) -> None:
    reply, _ = ask(model, turn(model))
    replied = Replied(purpose="act", text=reply.text, calls=reply.calls, usage=reply.usage)
    assert Replied.model_validate_json(replied.model_dump_json()) == replied
    judged = turn(model, Replied(purpose="act", text="The sum is 3."))
    assert isinstance(action := decide(judged), AskModel)
    assert action.purpose == "check"
    verdict, _ = ask(model, judged)
    assert read_verdict(verdict.text) is not None
