"""No credential is in the memory of any process that runs, or forks, code that nobody has read (promise 1)."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from attack_kit import descendants, need_layer, wait_for

from executor.launch import running_host
from executor.values import Limits, Sandbox

FIRST, SECOND = "xoxb-pla", "nted-4711"  # never side by side in a process, unless somebody put them there
SECRETS = ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "OPENAI_API_KEY", "DATABASE_URL")

SCAN = """
import ctypes, os
first, second = {first!r}, {second!r}
read, write = os.pipe()
libc = ctypes.CDLL(None)
found = scanned = 0
def spans():
    try: lines = open("/proc/self/maps").read().splitlines()
    except OSError:  # then around whatever has an address, and below the end of the heap
        import gc
        gc.unfreeze()
        libc.sbrk.restype = ctypes.c_void_p
        top = libc.sbrk(0)
        near = {{id(one) >> 20 for one in gc.get_objects()}} | {{(top >> 20) - down for down in range(64)}}
        yield from ((place << 20, place + 1 << 20) for place in near)
        return
    for line in lines:
        span, rights = line.split()[:2]
        if "r" in rights and "vsyscall" not in line: yield [int(word, 16) for word in span.split("-")]
for start, end in spans():
    for at in range(start, end, 4096):
        if libc.write(write, ctypes.c_void_p(at), 4096) != 4096: continue  # EFAULT where nothing can be read
        page = os.read(read, 4096)
        scanned += 1
        place = page.find(first)
        found += place >= 0 and page[place + len(first):][:len(second)] == second
print(found, scanned)
"""
ASK = "rows = [query('select 1', source='sales') for turn in range(20)]\nprint(len(rows))"


def answer(kind: str, payload: dict[str, Any]) -> Any:
    """What a worker does for a cell: it has the address of the database, and gives back rows."""
    url = f"postgresql://reader:{FIRST}{SECOND}@db/sales"
    return {"columns": ["n"], "rows": [[len(url)]]}


def holders(host: int) -> tuple[list[int], int]:
    """(processes of the host whose memory holds the secret, processes that could be looked into)."""
    found, seen = [], 0
    for pid in descendants(host):
        try:
            if holds(pid):
                found.append(pid)
        except PermissionError:
            continue  # it hides its memory from everybody of its uid: nobody of that uid gets a secret out of it
        seen += 1
    return found, seen


def holds(pid: int) -> bool:
    secret = re.compile(re.escape(FIRST.encode()) + re.escape(SECOND.encode()))
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            start, end = (int(word, 16) for word in line.split()[0].split("-"))
            try:
                memory.seek(start)
                if secret.search(memory.read(end - start) or b""):
                    return True
            except (OSError, OverflowError):
                continue  # a region that cannot be read
    return False


@pytest.fixture
def _a_service_full_of_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SECRETS:
        monkeypatch.setenv(name, FIRST + SECOND)


@pytest.mark.usefixtures("_a_service_full_of_secrets")
def test_no_process_below_the_host_holds_a_secret_and_the_scan_would_find_one() -> None:
    """The host, its zygote, a session that asked for data, and a spare one; then with a secret planted in a cell."""
    with running_host() as client:
        host = client.ping().pid
        assert client.run("t", "1", ASK, on_request=answer).stdout == "20\n"
        found, seen = holders(host)
        assert found == []
        assert seen >= 2  # at least the host and its zygote let themselves be looked into by their own user
        client.run("t", "2", f"planted = {FIRST + SECOND!r}")
        found, _ = holders(host)
        assert host in found, "the scan does not find what is there: this test proves nothing"


@pytest.mark.usefixtures("_a_service_full_of_secrets")
def test_a_cell_finds_no_secret_in_its_own_memory_and_would_find_one() -> None:
    scan = SCAN.format(first=FIRST.encode(), second=SECOND.encode())
    with running_host() as client:
        assert client.run("t", "1", ASK, on_request=answer).stdout == "20\n"
        found, scanned = client.run("t", "2", scan).stdout.split()
        assert int(scanned) > 1_000
        assert int(found) == 0
        client.run("t", "3", f"planted = ''.join(['{FIRST}', '{SECOND}'])")
        found, _ = client.run("t", "4", scan).stdout.split()
        assert int(found) > 0


@pytest.mark.parametrize("without", [(), ("namespaces",)])
def test_a_cell_finds_nothing_of_another_thread_in_its_own_memory_and_would_find_it(
    tmp_path: Path, without: tuple[str, ...]
) -> None:
    """All subprocesses are forks of one zygote: what it is told of one thread, every later one inherits."""
    secret, scan = FIRST + SECOND, SCAN.format(first=FIRST.encode(), second=SECOND.encode())
    with running_host(home=tmp_path, limits=replace(Limits(), spare_sessions=0), without=without) as client:
        for number in range(20):
            assert client.run(f"{secret}:{number}", "1", "print(1 + 1)").stdout == "2\n"
            client.reset(f"{secret}:{number}")
        found, scanned = client.run("spy", "1", scan).stdout.split()
        assert int(scanned) > 1_000
        assert int(found) == 0
        client.run("spy", "2", f"planted = ''.join(['{FIRST}', '{SECOND}'])")
        assert int(client.run("spy", "3", scan).stdout.split()[0]) > 0


def test_behind_a_private_root_a_cell_does_not_know_where_the_service_keeps_its_files(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    need_layer(sandbox, "private root")
    home = tmp_path / (FIRST + SECOND)
    with running_host(home=home) as client:
        found, scanned = client.run("t", "1", SCAN.format(first=FIRST.encode(), second=SECOND.encode())).stdout.split()
        assert int(scanned) > 1_000
        assert int(found) == 0


LAYOUT = "print(hash('x'), id(object), keep)"


@pytest.mark.parametrize("without", [(), ("namespaces",)])
def test_what_a_cell_learns_of_hashes_and_addresses_does_not_hold_for_all_sessions_of_a_host(
    monkeypatch: pytest.MonkeyPatch, without: tuple[str, ...]
) -> None:
    """Forks of one zygote share them: it is renewed. Sessions of the one before live on, with shell and variables."""
    monkeypatch.setenv("PYTHONHASHSEED", "0")
    with running_host(renew_after=3, without=without, bash=True) as client:
        host = client.ping().pid
        client.run("first", "1", "keep = 7")
        first = client.run("first", "2", LAYOUT).stdout.split()
        seen = {tuple(first)}

        def renewed() -> bool:
            thread = f"t{len(seen)}-{next(numbers)}"
            seen.add(tuple(client.run(thread, "1", "keep = 7\n" + LAYOUT).stdout.split()))
            client.reset(thread)
            return len(seen) >= 3

        numbers = itertools.count()
        assert wait_for(renewed), "every session has the hash seed of one zygote"
        for at in (0, 1):
            assert len({layout[at] for layout in seen}) == len(seen)
        assert client.run("first", "3", LAYOUT).stdout.split() == first
        assert client.bash("first", "4", "echo $((1 + 1))", approve=lambda _: True).stdout == "2\n"
        client.reset("first")
        assert wait_for(lambda: renewed() and zygotes(host) <= 2), "a zygote outlives its last session"


def zygotes(host: int) -> int:
    """How many a host has."""
    children = Path(f"/proc/{host}/task/{host}/children").read_text().split()
    return sum(b"executor.zygote" in Path(f"/proc/{child}/cmdline").read_bytes() for child in children)
