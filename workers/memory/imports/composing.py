"""A conversation composed from pieces of threads: what a piece means, and how a step becomes a message. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from core.steps import Asked, CellRan, Finished, Noted, Replied, Said, Step
from workers.agent.text import clip
from workers.agent.thread.effective_steps import effective_steps
from workers.agent.thread.states import SHORTEST_NAME, Moment, TimedTurn, paired, step_hash
from workers.privacy.masking import masked_in, restored

OUTPUT_CHARS = 20_000


class NoPiece(Exception):
    """A piece names nothing in its thread, or more than one thing. The text says so."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a thread: all of it, one item, or the items from one to another, by their hashes as people see them."""

    thread: str
    first: str = ""
    last: str = ""

    @classmethod
    def read(cls, text: str) -> Piece:
        """`THREAD`, `THREAD#HASH` or `THREAD#HASH..HASH`."""
        thread, _, items = text.partition("#")
        first, between, last = items.partition("..")
        return cls(thread, first, last if between else first)


def messages_of(turns: Sequence[TimedTurn], piece: Piece) -> list[tuple[Moment, Said]]:
    """What a piece says now, as messages. Raises NoPiece."""
    stored = [[step for _, step in steps] for steps in turns]
    timed = [
        (at, step)
        for steps, effective in zip(turns, effective_steps(stored), strict=True)
        for (at, _), step in paired(steps, effective)
    ]
    start = _place(timed, piece.first) if piece.first else 0
    end = _place(timed, piece.last) if piece.last else len(timed) - 1
    values = masked_in(stored)
    return [(at, said) for at, step in timed[start : end + 1] for said in _said(step, values)]


def _place(timed: Sequence[tuple[Moment, Step]], name: str) -> int:
    """Where the item of this hash stands; of several with the same words, the first."""
    found = [place for place, (_, step) in enumerate(timed) if step_hash(step).startswith(name)]
    if len(name) < SHORTEST_NAME or len({step_hash(timed[place][1]) for place in found}) != 1:
        raise NoPiece(f"no one item is called {name!r}")
    return found[0]


def _said(step: Step, values: Mapping[str, str]) -> Iterator[Said]:
    """A step as messages without calls of tools: a piece may stand without what it was called by."""
    match step:
        case Said():
            yield step
        case Asked() | Noted():
            if step.text.strip() and not getattr(step, "left_out", False):
                yield Said(message={"role": "user", "content": step.text}, type="manual", source=step_hash(step))
        case Replied():
            if step.purpose == "act" and not step.calls and step.text.strip():
                content = restored(step.text, values)
                yield Said(message={"role": "assistant", "content": content}, type="raw", source=step_hash(step))
        case CellRan():
            code = restored(step.code, values)
            fenced = f"```python\n{code.strip()}\n```"
            yield Said(message={"role": "assistant", "content": fenced}, type="formatted", source=step_hash(step))
            shown = "\n".join(each for each in (step.stdout, step.result, step.error) if each.strip())
            if shown and not step.left_out:
                output = {"role": "user", "name": "terminal", "content": clip(shown, OUTPUT_CHARS)}
                yield Said(message=output, type="terminal", source=step_hash(step))
        case Finished():
            content = restored(step.report, values)
            yield Said(message={"role": "assistant", "content": content}, type="formatted", source=step_hash(step))
        case _:
            return
