"""What a local file store has taken is on the disk before its hash is known to anybody."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from power_cut import PowerCut

from core.blobs import Blobs

pytestmark = pytest.mark.process

SCRIPT = """
import os, sys
from pathlib import Path
from core.blobs import Blobs
blobs = Blobs(sys.argv[1])
print(blobs.put(b"small"))
print(blobs.put(Path(sys.argv[2])))
blobs.folder("thread").put({"one": b"of a pack", "two": b"y" * 3_000_000})
sys.stdout.flush()
os._exit(0)
"""


def test_a_content_that_was_put_is_there_after_a_power_cut(tmp_path: Path) -> None:
    disk, large = tmp_path / "disk", tmp_path / "large"
    disk.mkdir()
    large.write_bytes(b"x" * 3_000_000)
    power = PowerCut(disk, tmp_path / "power")
    command = [sys.executable, "-c", SCRIPT, str(disk / "files"), str(large)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **power.environment}
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()
    power.cut()
    blobs = Blobs(str(disk / "files"))
    assert [len(blobs.get(sha256)) for sha256 in said] == [5, 3_000_000]
    assert [len(each) for each in blobs.folder("thread").get(["one", "two"])] == [9, 3_000_000]
    assert not list((disk / "files").rglob("*.partial"))
