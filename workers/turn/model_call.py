"""Asking the model: one call, its reply or its failure as a step."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Literal

from core.blobs import Blobs
from core.errors import BlobMissing, BlobsUnreachable, LeaseLost
from core.steps import ModelFailed, Purpose, Replied, Resumed, Step, Usage
from core.telemetry import get_logger
from workers.agent.about_steps import payer
from workers.agent.actions import AskModel, Message
from workers.agent.consequences import follow_up
from workers.agent.pictures import MOST_BYTES, pictures_in
from workers.agent.prompt.messages import size, tokens_of
from workers.agent.text import tokens_in
from workers.agent.turn import Turn
from workers.models.base import (
    ContextTooLong,
    ModelError,
    ModelNonsense,
    ModelRefused,
    ModelRequest,
    ModelUnavailable,
    OnDelta,
)
from workers.turn.budgets import spent_of
from workers.turn.context import RetryLater
from workers.turn.live import LiveProgress
from workers.turn.open_turn import OpenTurn
from workers.turn.privacy import masked_messages
from workers.turn.stop_check import complete_unless_stopped

log = get_logger(__name__)

Reason = Literal["model_down", "model_refused", "model_nonsense", "model_context"]

_REASONS: dict[type[ModelError], Reason] = {
    ModelUnavailable: "model_down",
    ModelRefused: "model_refused",
    ModelNonsense: "model_nonsense",
    ContextTooLong: "model_context",
}

_PICTURE_BYTES = 16_000_000
"""Size of all pictures of a request: endpoints limit its body, and a worker holds it in memory."""

_STATUS: dict[Purpose, str] = {
    "act": "status_thinking",
    "check": "status_checking",
    "route": "status_second_route",
    "debug": "status_thinking",
    "look": "status_thinking",
    "build": "status_thinking",
    "learn": "status_learning",
}


def ask_model(turn: OpenTurn, view: Turn, action: AskModel) -> None:
    """Ask, and store the outcome: `Replied`, `ModelFailed`, or nothing when nobody waits for it any more.

    `view` is the turn that the messages were made from.
    """
    context = turn.context
    model = turn.second_model if action.purpose == "route" else turn.model
    live = LiveProgress(turn, _STATUS[action.purpose])
    started = time.monotonic()
    shown, masked = masked_messages(turn, action)
    pictures = _pictures(context.blobs, shown) if model.sees else {}
    request = ModelRequest(shown, action.tools, action.purpose, view, pictures=pictures)
    try:
        # What a judge, a second way or a debugger says is for nobody's eyes.
        show = live.add if action.purpose == "act" else _show_nothing
        heard = _Heard(show)
        with context.waiting.one_more():
            reply = complete_unless_stopped(model, request, heard.add, turn.is_unwanted)
    except ModelError as error:
        log.warning("model_failed", failure=type(error).__name__, error=error)
        if isinstance(error, ModelUnavailable) and _waits(turn.steps):
            raise RetryLater("the model is away, and somebody said to wait for it") from error
        failed = ModelFailed(purpose=action.purpose, reason=_reason(error), prompt_chars=size(action.messages))
        turn.append_reply(failed, *follow_up(view, failed))
        return
    if reply is None:
        asked = tokens_of(shown) + tokens_in(json.dumps(action.tools))
        _note_left(turn, model.name, Usage(prompt_tokens=asked, completion_tokens=heard.tokens))
        return
    spent = spent_of(reply.usage, model.name, context.settings)
    step = Replied(
        purpose=action.purpose,
        text=reply.text,
        calls=reply.calls,
        usage=reply.usage,
        finish=reply.finish,
        model=model.name,
        cost_micros=spent.cost_micros,
        duration_s=round(time.monotonic() - started, 3),
        masked=masked,
        pictures=len(pictures) if model.sees else 0,
    )
    turn.append_reply(step, *follow_up(view, step), spent=spent, user=payer(turn.steps))


class _Heard:
    """Counts the tokens of the text that comes, by our estimate."""

    def __init__(self, show: OnDelta) -> None:
        self.tokens = 0
        self._show = show

    def add(self, piece: str) -> None:
        self.tokens += tokens_in(piece)
        self._show(piece)


def _note_left(turn: OpenTurn, model: str, usage: Usage) -> None:
    """Count a call that was left before its end. An endpoint reports what it took at the end only, so this is our
    estimate. Otherwise who stops each call would spend nothing."""
    spent = spent_of(usage, model, turn.context.settings)
    with suppress(LeaseLost):  # whoever goes on with the turn makes the call again, and counts that one
        turn.context.store.note_left_call(turn.lease, turn.row.id, spent, user=payer(turn.steps), model=model)


def _pictures(blobs: Blobs, messages: Sequence[Message]) -> dict[str, bytes]:
    """The bytes of the pictures that these messages name, the newest first, as far as a request has room for them.

    If the file store does not give a picture now, it is left out: the answer does not wait for it.
    """
    found: dict[str, bytes] = {}
    room = _PICTURE_BYTES
    digests = [each["sha256"] for message in messages for each in pictures_in(message)]
    for digest in dict.fromkeys(reversed(digests)):
        try:
            data = blobs.get(digest)
        except (BlobMissing, BlobsUnreachable) as error:
            log.warning("picture_missing", file=digest, why=error)
            continue
        if len(data) <= min(room, MOST_BYTES):
            found[digest] = data
            room -= len(data)
    return found


def _waits(steps: Sequence[Step]) -> bool:
    """Whether a person wants a model that is unavailable to be tried again."""
    resumed = [step for step in steps if isinstance(step, Resumed)]
    return bool(resumed) and time.time() < (resumed[-1].waits_until or 0.0)


def _show_nothing(_piece: str) -> None:
    return


def _reason(error: ModelError) -> Reason:
    return next((reason for kind, reason in _REASONS.items() if isinstance(error, kind)), "model_nonsense")
