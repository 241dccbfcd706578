"""What nine cells over one array of 20 MB leave in the file store: `python -m bench packs`.

Each line is one way in which cells go on with the array. "whole" is what it takes to keep every version of every large
variable, as versions up to 0.2 did. "packs" is what the file store holds in the end. "export" is the time that
exporting took per cell, the first one left out, and "sent" the bytes that went to the file store for it.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from core.blobs import Blobs
from executor.client import SessionClient
from executor.launch import running_host
from workers.turn.transfer.packs import Pack, PackStore

CELLS = 9
BEGIN = "import numpy as np\nrandom = np.random.default_rng(1)\narray = random.random(2_500_000)"
WAYS: Mapping[str, str] = {
    "only reads it": "total = float(array.sum()) + {n}",
    "changes one number": "array[{n} * 271_828] += 1",
    "changes a slice of 1 %": "array[{n} * 25_000 : {n} * 25_000 + 25_000] *= 2",
    "inserts 1,000 numbers": "array = np.insert(array, {n} * 100_000, random.random(1_000))",
    "changes every number": "array += 1",
}


@dataclass(frozen=True, slots=True)
class Measured:
    """Bytes in the file store with each way of keeping, and what an export of a later cell took."""

    whole: int
    packs: int
    sent: float
    export_s: float


def nine_cells(client: SessionClient, thread: str, way: str, folder: Path) -> Measured:
    """Run the cells, and export the session after each as a worker does."""
    blobs = Blobs(str(folder))
    packs, kept = PackStore(blobs), list[Pack]()
    whole: dict[str, int] = {}
    sent: list[int] = []
    took: list[float] = []
    for number in range(CELLS):
        client.run(thread, f"c{number}", BEGIN if number == 0 else WAYS[way].format(n=number))
        session = client.export_session(thread)
        whole |= {sha256: session.paths[sha256].stat().st_size for sha256 in session.contents}
        began = time.monotonic()
        plan = packs.plan(1, session, kept)
        kept = [packs.store(thread, 1, plan), *kept[:1]]
        packs.sweep(thread, 1, kept)
        took.append(time.monotonic() - began)
        sent.append(sum(size for _, _, size in plan.new.values()))
    held = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    later = CELLS - 1
    return Measured(sum(whole.values()), held, sum(sent[1:]) / later, sum(took[1:]) / later)


def measure() -> dict[str, dict[str, float]]:
    """Measure every way and print a table; the figures by way."""
    figures: dict[str, dict[str, float]] = {}
    print(f"| each of {CELLS - 1} cells … | whole | packs | sent per cell | export per cell |")
    print("| --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as home, running_host() as client:
        for number, way in enumerate(WAYS):
            found = nine_cells(client, f"T1:C1:{number}.0", way, Path(home) / str(number))
            print(
                f"| {way} | {found.whole / 1e6:.1f} MB | {found.packs / 1e6:.1f} MB "
                f"| {found.sent / 1e6:.2f} MB | {found.export_s * 1000:.0f} ms |"
            )
            figures[way] = asdict(found)
    return figures
