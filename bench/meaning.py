"""Threads found by a paraphrase: `python -m bench meaning`, with `embedding_model` under `[memory]` in threadbook.toml.

Each thread is looked for in other words: no telling word of the search stands in it. Searches for nothing that is there
say how much is offered all the same. Everything goes through the Store, the endpoint and the process of the worker.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from core.meaning import threads_near
from core.settings import load_settings
from core.steps import Asked, Finished
from core.store import Store
from core.store.full_text import words_in
from core.values import IncomingMessage, Lease
from workers.service.vectors import SWEEP_EVERY_S, Embedder, opened_embeddings

SHOWN = 8
"""`find` shows so many threads."""
THREADS = (
    ("How many customers cancelled their plan in March?", "Of 1,204 customers 87 cancelled, most on the basic plan.",
     "churn of subscribers last spring"),
    ("Which products run out of stock most often?", "Kettles were out of stock on 31 days.",
     "items we could not deliver because the shelf was empty"),
    ("Why did revenue fall in the north?", "Two shops closed, so revenue fell by 12 %.",
     "sales went down up there"),
    ("How long do support tickets stay open?", "The median ticket is closed after 9 hours.",
     "time until a complaint is answered"),
    ("Which campaign brought the most signups?", "The newsletter brought 540 signups.",
     "marketing that worked best for new registrations"),
    ("Do employees who work overtime leave earlier?", "Above 10 hours of overtime a week, twice as many leave.",
     "staff turnover and long shifts"),
    ("What is the average delivery time per depot?", "Depot 3 needs 2.1 days.",
     "how fast do parcels arrive"),
    ("Which machines failed most in winter?", "The press failed 14 times.",
     "breakdowns of equipment during the cold season"),
    ("Is there a link between discount and order size?", "No correlation was found (r = 0.04).",
     "do price reductions make people buy more"),
    ("How many invoices are overdue?", "41 invoices are overdue, 12 of them by more than 60 days.",
     "bills nobody has paid yet"),
    ("What do flats of 60 square metres cost in each district?", "The centre is the dearest district.",
     "apartment rents compared by neighbourhood"),
    ("Which students improved between the two exams?", "23 of 90 students improved by a grade.",
     "pupils whose test scores rose"),
    ("How much electricity does each building use at night?", "Building C uses 40 % of its power at night.",
     "energy consumption after dark"),
    ("What share of flights was delayed?", "18 % were late by more than 15 minutes.",
     "planes that did not depart on schedule"),
    ("How old are our patients on each ward?", "The oldest are in cardiology.",
     "age of people in hospital units"),
    ("Which web pages do visitors leave at once?", "The price page has a bounce rate of 71 %.",
     "where does our site lose its audience immediately"),
)  # fmt: skip
NOTHING = (
    "recipe for apple pie", "lyrics of a love song", "rules of chess", "capital of Peru", "how to tie a bow tie",
    "history of the Roman empire", "translate good morning into Italian", "names for a puppy",
)  # fmt: skip


def measure() -> dict[str, object]:
    """Measure, print a table, and give the figures."""
    settings = load_settings()
    if not settings.memory.embedding_model:
        print("no embedding_model under [memory]: nothing to measure")
        return {}
    with tempfile.TemporaryDirectory() as folder, opened_embeddings(settings) as model:
        store = Store(f"sqlite:///{Path(folder)}/store.db")
        store.migrate()
        ids = [_thread(store, number, said, report) for number, (said, report, _) in enumerate(THREADS)]
        clock = [0.0]
        embedder = Embedder(settings, store, model, clock=lambda: clock[0])
        began = time.perf_counter()
        for _ in range(3):
            clock[0] += SWEEP_EVERY_S
            for _ in ids:
                embedder.look()
        made_ms = (time.perf_counter() - began) * 1e3 / len(ids)
        took: list[float] = []

        def near(words: str) -> list[str]:
            began = time.perf_counter()
            found = threads_near(settings, store, words, team="T1", sleep=lambda _: embedder.look())
            took.append((time.perf_counter() - began) * 1e3)
            return found

        by_words = top = shown = 0
        for wanted, (_, _, words) in zip(ids, THREADS, strict=True):
            by_words += wanted in [one.thread_id for one in store.find_threads(words_in(words))]
            found = [one.thread_id for one in store.find_threads(words_in(words), near=near(words))]
            top += found[:1] == [wanted]
            shown += wanted in found[:SHOWN]
        offered = sum(bool(near(words)) for words in NOTHING)
        store.close()
    count = len(THREADS)
    print("| paraphrases | found |\n| --- | --- |")
    print(f"| by their words alone | {by_words} of {count} |")
    print(f"| with {settings.memory.embedding_model}, among the {SHOWN} that are shown | {shown} of {count} |")
    print(f"| with it, as the first one | {top} of {count} |")
    print(f"| searches for what is not there: something is offered | {offered} of {len(NOTHING)} |")
    print(f"{made_ms:.0f} ms for the vectors of a thread; a search takes {statistics.median(took):.0f} ms")
    return {"threads": count, "words": by_words, "first": top, "shown": shown, "offered": offered,
            "made_ms": made_ms, "search_ms": statistics.median(took)}  # fmt: skip


def _thread(store: Store, number: int, said: str, report: str) -> str:
    ts = f"{number + 100}.000001"
    message = IncomingMessage(team="T1", channel="C1", channel_type="channel", ts=ts, root_ts=ts, user="U1", text=said)
    thread_id = store.record_message(message, "Ana").thread_id
    lease = Lease(thread_id=thread_id, token=store.raise_fence(thread_id), owner="bench")
    turn = store.open_turn(lease, "en", "model")
    store.take_mail(lease, turn.id, [], [Asked(user="U1", author="Ana", text=said, ts=ts), Finished(report=report)])
    store.set_turn_status(lease, turn.id, "done")
    return thread_id
