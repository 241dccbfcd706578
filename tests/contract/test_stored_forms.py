"""What this version and earlier ones wrote beside the Store is read: `tests/releases/keep_forms.py` keeps each form."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from releases.keep_forms import FORMS, KEY, THREAD, unpacked
from rq.job import Job
from rq.serializers import JSONSerializer

from core.blobs import Blobs
from core.queue import restore, signatures_of, thread_of
from core.spool import Spool
from workers.turn.transfer.packs import PackStore

COME_BACK = """
import json, sys
sys.path[:] = json.loads(sys.argv[2])
from executor.inside.variable_pickles import Keeper
from releases.keep_forms import unpacked
kept = json.load(open(sys.argv[1]))
found = {part['key']: memoryview(bytearray(unpacked(part['data']))) for part in kept['parts']}
namespace = {'__name__': '__main__'}
lost = Keeper(namespace, 1 << 30).load(kept['parts'], found)
print(json.dumps([[one['name'] for one in lost], [check for check in kept['checks'] if not eval(check, namespace)]]))
"""
"""A process of its own: what comes back are also settings of the process."""


def kept(form: str) -> Any:
    """Every file of this form, as a parameter."""
    return pytest.mark.parametrize("file", sorted(FORMS.glob(f"{form}-*.json")), ids=lambda file: file.stem)


@kept("variables")
def test_variables_come_back_with_all_that_cells_know_of_them(file: Path) -> None:
    given = json.loads(file.read_text())
    python, lost = given["python"], given.get("lost", [])
    if python != f"{sys.version_info.major}.{sys.version_info.minor}":
        pytest.skip(f"the variables are those of Python {python}; with another one they are computed again")
    command = [sys.executable, "-c", COME_BACK, str(file), json.dumps(sys.path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == [lost, []]


@kept("pack")
def test_a_pack_is_the_session_that_was_kept(file: Path, tmp_path: Path) -> None:
    given = json.loads(file.read_text())
    blobs = Blobs(str(tmp_path / "files"))
    blobs.thread_folder(THREAD).put({name: unpacked(data) for name, data in given["objects"].items()})
    packs = PackStore(blobs)
    pack = packs.load(THREAD, given["name"])
    assert pack.session.to_message() == given["session"]
    (sha256,) = pack.contents
    packs.fetch(THREAD, pack, sha256, tmp_path / "content")
    assert (tmp_path / "content").read_bytes() == b"x" * 100


@kept("pack")
def test_a_session_that_was_one_content_is_read_too(file: Path, tmp_path: Path) -> None:
    given = json.loads(file.read_text())["session"]
    blobs = Blobs(str(tmp_path / "files"))
    name = blobs.put(json.dumps(given).encode())
    assert PackStore(blobs).load(THREAD, name).session.to_message() == given


@kept("spool")
def test_an_event_on_the_disk_is_taken_in(file: Path, tmp_path: Path) -> None:
    given = json.loads(file.read_text())
    (tmp_path / given["file"]).write_text(given["content"])
    spool = Spool(tmp_path)
    (path,) = spool.kept()
    spooled = spool.read(path)
    assert spooled is not None
    assert (spooled.event, spooled.team, spooled.bot_user_id) == (given["event"], "T1", "UBOT")
    assert spool.remove(spooled.place), "its name is that of its message"


@kept("job")
def test_a_wake_has_the_signature_that_it_had_and_names_its_thread(file: Path) -> None:
    fields = {name.encode(): unpacked(value) for name, value in json.loads(file.read_text()).items()}
    signature = fields.pop(b"signature")
    again = signatures_of(lambda: KEY).sign("a-job", {name.decode(): value for name, value in fields.items()})
    assert again.encode() == signature
    job = Job("a-job", connection=SimpleNamespace(), serializer=JSONSerializer)
    restore(job, fields)
    assert thread_of(job) == THREAD


def test_each_form_has_a_file() -> None:
    forms = {file.stem.partition("-")[0] for file in FORMS.glob("*.json")}
    assert forms == {"variables", "pack", "spool", "job"}
