"""Whatever a model, a cell or a person says: decide answers, the prompt is well formed, every turn comes to rest."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace

from agent_kit import BRIEFED, FIGURE, PROBLEM, asked, assert_endpoint_accepts, step_of, turn
from hypothesis import given, settings
from hypothesis import strategies as st

from core.steps import (
    Asked,
    Briefed,
    CellRan,
    Checked,
    Corrected,
    Finished,
    GaveUp,
    Questioned,
    Replied,
    Step,
    ToolCall,
    dump_step,
    load_step,
)
from workers.agent.actions import AskModel, RunCell, Wait
from workers.agent.decide import decide
from workers.agent.replies.loose_json import Unreadable, read_json
from workers.agent.replies.parse import read_reply
from workers.agent.replies.verdict import read_verdict
from workers.agent.turn import AgentLimits
from workers.models.scripted import ScriptedModel

FRAGMENTS = """
```python|```|<finish>|</finish>|<ask>|- a|print(1)|Let me|?|{"code": "|{"name": "run_python", "arguments": |}|"
is_final|true|false|[|final answer:|<code>|~~~|x = (|我来|<tool_call>|{{ x }}|{% if|> |# Task|<think>|</think>
"""
fragments = [*FRAGMENTS.replace("\n", "|").split("|"), "\n", "\n\n", "\\", "\x00", "\ud800"]
words = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from(fragments), max_size=12).map("".join),
    st.sampled_from(["", "print(1)", "Done."]),
)
ids = st.sampled_from(["a", "b", "", "reply-1", "call-1-2"])
names = st.sampled_from(["run_python", "python", "ask_user", "finish", "nope", "", "multi_tool_use.parallel"])
some_keys = dict.fromkeys(("code", "title", "report", "question"), words) | {"options": st.lists(words, max_size=3)}
any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
arguments = st.one_of(words, st.fixed_dictionaries({}, optional=some_keys).map(json.dumps), any_json.map(json.dumps))
calls = st.builds(ToolCall, id=ids, name=names, arguments=arguments)
replies = st.builds(
    Replied,
    purpose=st.sampled_from(["act", "act", "check"]),
    text=words,
    calls=st.lists(calls, max_size=3).map(tuple),
    finish=st.sampled_from(["stop", "length", "tool_calls"]),
)
cells = st.builds(
    CellRan,
    call_id=ids,
    cell_id=st.just("T1/c1"),
    title=words,
    code=words,
    status=st.sampled_from(["ok", "error", "timeout", "killed", "died"]),
    stdout=words,
    result=words,
    error_name=st.sampled_from(["", "KeyError", "NameError", "SyntaxError", "FileNotFoundError", "AttributeError"]),
    error=words,
    error_line=st.none() | st.integers(-2, 9),
    figures=st.just((FIGURE,)),
    rejected=st.just((PROBLEM,)),
    files_read=st.none() | st.just(("sales.csv",)) | st.just(()),
)
steps: st.SearchStrategy[Step] = st.one_of(
    replies,
    cells,
    st.builds(Asked, user=st.sampled_from(["U1", "U2"]), author=words, text=words, ts=st.just("1.0")),
    st.just(BRIEFED),
    st.just(Briefed()),
    st.builds(Corrected, reason=words, text=words.map("RetryBuffer. ".__add__), call_id=st.none() | ids),
    st.builds(Questioned, call_id=ids, question=words),
    st.builds(Checked, is_final=st.booleans(), reason=words),
)
histories = st.lists(steps, max_size=12).map(tuple)
ends = st.sampled_from([(), (Finished(report="r"),), (GaveUp(reason="x", text="t"),)])


@settings(max_examples=150)
@given(now=histories, before=st.lists(histories, max_size=2).map(tuple), end=ends, native=st.booleans())
def test_decide_never_raises_on_any_steps(now: tuple[Step, ...], before: tuple, end: tuple, native: bool) -> None:
    for action in (
        decide(turn(asked(), *now, earlier=before, native_tools=native)),
        decide(turn(asked(), *now, *end, native_tools=native)),
    ):
        if isinstance(action, AskModel) and action.purpose == "act":
            assert_endpoint_accepts(action.messages)
            assert action.messages[-1]["role"] != "assistant"


@settings(max_examples=60)
@given(
    script=st.lists(replies, min_size=1, max_size=8), ran=st.lists(cells, min_size=1, max_size=4), native=st.booleans()
)
def test_every_turn_comes_to_rest_within_its_limits(script: list[Replied], ran: list[CellRan], native: bool) -> None:
    limits = AgentLimits(max_cells=4, max_model_calls=9)
    now = turn(asked(), BRIEFED, limits=limits, native_tools=native)
    for turn_of_the_loop in range(120):
        action = decide(now)
        if isinstance(action, Wait):
            break
        step: Step | None
        if isinstance(action, AskModel):
            step = script[turn_of_the_loop % len(script)].model_copy(update={"purpose": action.purpose})
        elif isinstance(action, RunCell):
            update = {"call_id": action.call_id, "cell_id": action.cell_id, "code": action.code, "title": action.title}
            step = ran[turn_of_the_loop % len(ran)].model_copy(update=update)
        else:
            step = step_of(action, ScriptedModel(), lambda _: ran[0])
        assert step is not None
        now = replace(now, steps=(*now.steps, step))
    assert now.resting
    assert sum(isinstance(step, CellRan) for step in now.steps) <= limits.max_cells
    assert sum(isinstance(step, Replied) for step in now.steps) <= limits.max_model_calls
    assert len({step.cell_id for step in now.steps if isinstance(step, CellRan)}) == sum(
        isinstance(step, CellRan) for step in now.steps
    )


@settings(max_examples=200)
@given(reply=replies, text=words)
def test_reading_never_raises_and_its_words_can_be_stored(reply: Replied, text: str) -> None:
    reading = read_reply(reply, 1)
    assert reading.intents
    assert len({intent.call_id for intent in reading.intents}) == len(reading.intents)
    for intent in reading.intents:
        assert "\x00" not in repr(intent)
        for value in (getattr(intent, name) for name in ("code", "text", "question", "title") if hasattr(intent, name)):
            value.encode("utf-8")
    read_verdict(text)
    with contextlib.suppress(Unreadable):
        read_json(text)


@given(step=cells)
def test_steps_survive_the_store(step: CellRan) -> None:
    assert load_step(dump_step(step)) == step
