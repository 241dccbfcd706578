"""P11: turns in flight while a model takes 20 s to answer, and the memory that each of them takes.

The whole stack runs as real processes. The model is a Chat Completions endpoint in this process, which is silent for
20 s and then ends the turn. Rounds with a process per turn and with many turns per process alternate. Limits on running
turns are off: the machine is measured.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psutil
from rich.console import Console
from rich.table import Table

from bench.load import StackProcesses
from core.retry import wait_until
from tryout.stack.blocks_text import message_text
from tryout.stack.stack import Stack, running

THINKS_S = 20.0
ROUNDS = 2
PER_PROCESS = (40, 1, 40)
"""Workers, turns of each, and turns asked for: a process per turn, as up to 0.2."""
TOGETHER = (4, 60, 240)
GOAL_TURNS, GOAL_MIB = 200, 5.0
TIMEOUT_S = 600.0
CHANNEL = "#sales"
REPORT = "It is the same as before."


def measure() -> dict[str, Any]:
    """Measure both, one after the other and again, print a table, return the raw figures."""
    rounds = [_round(*shape) for _ in range(ROUNDS) for shape in (PER_PROCESS, TOGETHER)]
    table = Table(
        *("workers × turns", "asked", "in flight at once", "memory at rest", "while all wait", "per waiting turn"),
        *("turns in flight per GiB", "all over in", "lost, twice"),
        title=f"P11: a model that answers after {THINKS_S:g} s (worker service, PSS)",
    )
    for each in rounds:
        table.add_row(
            f"{each['workers']} × {each['turns']}",
            str(each["asked"]),
            str(each["in_flight"]),
            f"{each['rest_mib']:.0f} MiB",
            f"{each['waiting_mib']:.0f} MiB",
            f"{each['per_turn_mib']:.2f} MiB",
            f"{each['in_flight'] / each['waiting_mib'] * 1024:.0f}",
            f"{each['all_s']:.1f} s",
            f"{each['lost']}, {each['twice']}",
        )
    Console().print(table)
    met = all(
        each["in_flight"] >= GOAL_TURNS and each["per_turn_mib"] <= GOAL_MIB
        for each in rounds
        if each["turns"] == TOGETHER[1]
    )
    Console().print(f"P11  {GOAL_TURNS} turns in flight, at most {GOAL_MIB:g} MiB each: {'yes' if met else 'NO'}")
    return {"p11": rounds, "load_average": os.getloadavg()}


@dataclass
class SlowModel:
    """A Chat Completions endpoint; how many requests wait for it now, and how many did at most."""

    url: str = ""
    waiting: int = 0
    most: int = 0
    served: threading.Event = field(default_factory=threading.Event)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Requests of one connection, one after the other."""
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = next(
                    int(line.split(b":")[1])
                    for line in head.split(b"\r\n")
                    if line.lower().startswith(b"content-length")
                )
                body = json.loads(await reader.readexactly(length))
                writer.write(await self._reply(body))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _reply(self, body: dict[str, Any]) -> bytes:
        if body.get("tools"):
            self.waiting += 1
            self.most = max(self.most, self.waiting)
            await asyncio.sleep(THINKS_S)
            self.waiting -= 1
            call = {"name": "finish", "arguments": json.dumps({"report": REPORT})}
            message = {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": call}]}
        else:
            message = {"role": "assistant", "content": '{"is_final": true}'}
        usage = {"prompt_tokens": 1, "completion_tokens": 1}
        text = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n"
        return head.encode() + text


@contextmanager
def _slow_model() -> Iterator[SlowModel]:
    model, loop = SlowModel(), asyncio.new_event_loop()

    def serve() -> None:
        asyncio.set_event_loop(loop)
        server = loop.run_until_complete(asyncio.start_server(model.answer, "127.0.0.1", 0, backlog=1_000))
        model.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        model.served.set()
        loop.run_forever()

    threading.Thread(target=serve, daemon=True).start()
    model.served.wait()
    try:
        yield model
    finally:
        loop.call_soon_threadsafe(loop.stop)


@contextmanager
def _stack(workers: int, turns: int, model: SlowModel) -> Iterator[Stack]:
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        fairness = "[fairness]\nrunning = 0\nper_channel = 0\nper_person = 0\n"
        (folder / "threadbook.toml").write_text(f"[workers]\ncount = {workers}\nturns = {turns}\n{fairness}")
        changes = {
            "OPENAI_BASE_URL": model.url,
            "OPENAI_API_KEY": "none",
            "OPENAI_MODEL": "slow",
            "THREADBOOK_CONFIG": str(folder / "threadbook.toml"),
        }
        with patch.dict("os.environ", changes), running(folder / "home", lambda _: None) as stack:
            stack.slack.set_options(share_delay_s=0)
            yield stack


def _round(workers: int, turns: int, asked: int) -> dict[str, Any]:
    with _slow_model() as model, _stack(workers, turns, model) as stack:
        processes = StackProcesses(stack)
        rest = processes.memory_mib()["worker service"]
        cpu = processes.seconds()["worker service"]
        began = time.time()
        keys = [
            stack.slack.say(CHANNEL, ("ana", "ben")[number % 2], f"@threadbook question {number}").thread
            for number in range(asked)
        ]
        wait_until(lambda: model.waiting >= asked, for_s=THINKS_S * 0.9, every_s=0.05)
        waiting, in_flight = processes.memory_mib()["worker service"], model.waiting
        left = list(keys)

        def all_done() -> bool:
            stack.check()
            while left and [turn.status for turn in stack.store.turns(left[0].id)] == ["done"]:
                left.pop(0)
            return not left

        if not wait_until(all_done, for_s=TIMEOUT_S, every_s=0.2):
            raise TimeoutError(f"{len(left)} of {asked} threads did not finish within {TIMEOUT_S:.0f} s")
        ended = [turn.ended_at.timestamp() for key in keys for turn in stack.store.turns(key.id) if turn.ended_at]
        answers = [sum(REPORT in message_text(said) for said in stack.slack.thread(key)[1:]) for key in keys]
        return {
            "workers": workers,
            "turns": turns,
            "asked": asked,
            "in_flight": in_flight,
            "most": model.most,
            "rest_mib": rest,
            "waiting_mib": waiting,
            "per_turn_mib": (waiting - rest) / max(in_flight, 1),
            "all_s": max(ended) - began,
            "cpu_ms_per_turn": (processes.seconds()["worker service"] - cpu) / asked * 1000,
            "lost": answers.count(0),
            "twice": sum(number > 1 for number in answers),
            "memory_free_mib": psutil.virtual_memory().available >> 20,
        }
