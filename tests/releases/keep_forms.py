"""Keeps what this version writes beside the Store, for later versions to read: run it with the code of that version.

PYTHONPATH=.:tests python tests/releases/keep_forms.py DATE
"""

from __future__ import annotations

import base64
import json
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Any

from rq.job import Job
from rq.serializers import JSONSerializer

from core.blobs import Blobs
from core.queue import ADVANCE, signatures_of
from core.spool import Spool, Spooled
from executor.files.exported import ExportedSession
from executor.inside.variable_pickles import Keeper
from workers.turn.transfer.packs import PackStore

FORMS = Path(__file__).parent / "forms"
KEY = b"the key of a golden file"
THREAD = "T1:C1:1.000001"
CELL = """
import collections, decimal, os, random
import numpy as np, pandas as pd
random.seed(3); np.random.seed(4); decimal.getcontext().prec = 50; os.environ['MOOD'] = 'good'
pd.set_option('display.max_rows', 7)
words = {'a': [1, 2]}; same = words['a']
large = np.zeros(40_000); large[7] = 1.0; part = large[5:]; few = np.arange(10); fewer = few[2:]
frame = pd.DataFrame({'n': [0] * 40_000}); column = frame['n']
nan = float('nan'); known = {nan: 1}
rows = [{'n': 0}] * 3; index = {0: rows[0]}
class Base:
    kinds = []
    def __init_subclass__(cls): Base.kinds.append(cls.__name__)
class Kind(Base): pass
one = Kind(); Point = collections.namedtuple('Point', 'x y'); point = Point(1, 2)
def counter():
    count = [0]
    def up():
        count[0] += 1
        return count[0]
    return up, lambda: count[0]
up, seen = counter(); up()
def reads(): return words
try: raise ValueError('no')
except ValueError as error: kept = error
"""
CHECKS = [
    "words == {'a': [1, 2]} and same is words['a']",
    "large.sum() == 1 and part[2] == 1",
    "list(fewer) == list(range(2, 10)) and len(frame) == len(column) == 40_000",
    "known[nan] == 1 and index[0] is rows[0] and rows[0] is rows[2]",
    "Base.kinds == ['Kind'] and type(one) is Kind and point.y == 2",
    "seen() == 1 and up() == 2 and seen() == 2 and reads() is words",
    "kept.args == ('no',)",
]


def main(date: str) -> None:
    """Write one file for each form. A file that is there is never written again."""
    for form, kept in (("variables", variables()), ("pack", a_pack()), ("spool", spooled()), ("job", job())):
        with (FORMS / f"{form}-{date}.json").open("x") as file:
            file.write(json.dumps(kept, indent=1) + "\n")


def variables() -> dict[str, Any]:
    """The parts of a namespace, and what must hold once they came back."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    keeper = Keeper(namespace, 1 << 30)
    keeper.expect(set(), CELL)
    exec(compile(CELL, "<cell>", "exec"), namespace)
    _, parts, lost = keeper.save(set(namespace))
    assert not lost, lost
    kept = [
        {"key": part.key, "size": part.size, "checksum": part.checksum, "data": packed(b"".join(part.pieces))}
        for part in parts
    ]
    return {"python": f"{sys.version_info.major}.{sys.version_info.minor}", "checks": CHECKS, "parts": kept}


def a_pack() -> dict[str, Any]:
    """The objects of a session with one large content and one file."""
    with tempfile.TemporaryDirectory() as folder:
        blobs = Blobs(folder + "/files")
        content = Path(folder) / "content"
        content.write_bytes(b"x" * 100)
        sha256 = blobs.put(content)
        state = {"body": {"parts": [{"key": "o1", "sha256": sha256}], "lost": [["gone", "TypeError"]]}, "hmac": "00"}
        files = [{"name": "a.csv", "sha256": sha256, "given": True}]
        session = ExportedSession(state, files, ["t1/c1"], ["t1/c2"], {sha256: content}, [("a.csv", sha256)])
        packs = PackStore(blobs)
        pack = packs.store(THREAD, 3, packs.plan(3, session, []))
        folder_of_thread = blobs.thread_folder(THREAD)
        names = sorted(folder_of_thread.names())
        objects = dict(zip(names, map(packed, folder_of_thread.get(names)), strict=True))
        return {"name": pack.name, "objects": objects, "session": session.to_message()}


def spooled() -> dict[str, Any]:
    """The file of an event."""
    event = {"type": "message", "channel": "C1", "ts": "1.000001", "user": "U1", "text": "how much?"}
    with tempfile.TemporaryDirectory() as folder:
        path = Spool(Path(folder)).keep(Spooled(event, "T1", "UBOT"))
        assert path is not None
        return {"file": path.name, "content": path.read_text(), "event": event}


def job() -> dict[str, Any]:
    """The fields of a wake in Redis, as text."""
    made = Job.create(ADVANCE, args=(THREAD,), id="a-job", connection=object(), serializer=JSONSerializer)
    fields: dict[str, Any] = {"data": made.to_dict()["data"]}
    fields["enqueued_at"] = "2026-12-01T12:00:00.000000Z"
    fields["signature"] = signatures_of(lambda: KEY).sign("a-job", fields)
    return {name: packed(value if isinstance(value, bytes) else value.encode()) for name, value in fields.items()}


def packed(data: bytes) -> str:
    """Bytes as text."""
    return base64.b64encode(zlib.compress(data, 9)).decode()


def unpacked(text: str) -> bytes:
    """What `packed` was given."""
    return zlib.decompress(base64.b64decode(text))


if __name__ == "__main__":
    main(sys.argv[1])
