"""The rules that are no filter and no namespace: limits of the kernel, the watcher, signatures, modes of files.

Checkpoints and modes are attacked from beside: not by a cell, but by whoever reaches the service's folder.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

from attack_kit import wait_for
from mutation_kit import PYTHON, REDUCED, SECOND, Beside, Mutation, named, written

from executor.attacks import Attack
from executor.attacks.quotas import HOLDS
from executor.client import SessionClient

_NOBODY = 65_534
_COUNTLESS = ("cgroup",)


_THREADS = """
import _thread, time
_thread.stack_size(65536)
def many():
    for turn in range(60): _thread.start_new_thread(time.sleep, (60,))
    return "sixty"
tries(many)
"""


def mutations() -> Iterator[Mutation]:
    """All of them, by layer."""
    yield from _resource_limits()
    yield from _sized_folders()
    yield from _watcher()
    yield from _identity()
    yield from _checkpoints()
    yield from _modes()


def _resource_limits() -> Iterator[Mutation]:
    by_signals = (
        "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGRTMIN})\n"
        "tries(lambda: sum(libc.sigqueue(os.getpid(), int(signal.SIGRTMIN), 0) == 0 for turn in range(400)) > 200)"
    )
    attacks: dict[str, tuple[tuple[tuple[str, Attack], ...], tuple[str, ...], str]] = {
        "AS": (
            written("reserve 2 GB of addresses", "import mmap\ntries(lambda: mmap.mmap(-1, 2 << 30, flags=0x22))"),
            (),
            "",
        ),
        "NPROC": (written("sixty threads before the watcher looks", _THREADS), _COUNTLESS, ""),
        "NOFILE": (written("hold 400 descriptors", "tries(lambda: len([os.dup(0) for turn in range(400)]))"), (), ""),
        "FSIZE": (
            written(
                "a file of 80 MB with nothing in it",
                "import signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
                "file = os.open('large', os.O_CREAT | os.O_RDWR)\n"
                "tries(lambda: os.ftruncate(file, 80 << 20) or os.fstat(file).st_size)",
            ),
            (),
            "",
        ),
        "CORE": (
            written(
                "a core file", "import resource\ntries(lambda: resource.getrlimit(resource.RLIMIT_CORE) != (1, 1))"
            ),
            (),
            "",
        ),
        "MEMLOCK": (
            written(
                "lock a megabyte",
                "block = ctypes.create_string_buffer(1 << 20)\ntries(lambda: libc.mlock(block, 1 << 20) == 0)",
            ),
            (),
            "",
        ),
        "MSGQUEUE": (named("a queue of messages"), (), SECOND.format("seccomp")),
        "SIGPENDING": (written("200 signals under way", by_signals), (), ""),
        "RTPRIO": (
            written(
                "go before everybody else",
                "tries(lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)) or 'does')",
            ),
            (),
            SECOND.format("seccomp"),
        ),
    }
    for name, (chosen, without, why) in attacks.items():
        fewer = (
            "from types import SimpleNamespace\n_set = resource.setrlimit\ndef _fewer(kind, value):\n"
            f"    if kind != resource.RLIMIT_{name}: _set(kind, value)\n"
            "resource = SimpleNamespace(**{**vars(resource), 'setrlimit': _fewer})\n"
        )
        yield Mutation("resource limits", name, "sandbox/limits.py", fewer, chosen, without, why)


def _sized_folders() -> Iterator[Mutation]:
    for folder, code, attack in (
        (
            "size of the workspace",
            "_private = add_private_folders\ndef add_private_folders(workspace_mb, *rest):\n"
            "    return _private(4_000, *rest)\n",
            "files in deep folders",
        ),
        (
            "size of /tmp",
            "_mount_sized = _mount_private\ndef _mount_private(folder, megabytes): _mount_sized(folder, 4_000)\n",
            "files in the temporary folder",
        ),
    ):
        yield Mutation("private root", folder, "sandbox/root.py", code, named(attack))


def _watcher() -> Iterator[Mutation]:
    """What counts where the kernel does not."""
    threads = _THREADS.replace("    return", "    time.sleep(LOOK_S)\n    return")
    held = "hold_in(4, 250, lambda: bytearray(b'x') * (250 << 20))"
    for rule, code, chosen, without, why in (
        (
            "memory of all processes",
            "def held(pids, inherited=0): return 0\n",
            written("four processes of 250 MB", HOLDS + f"tries(lambda: {held})"),
            _COUNTLESS,
            "",
        ),
        (
            "processes and threads",
            "from dataclasses import replace\n_usage = usage\ndef usage(pid): return replace(_usage(pid), tasks=0)\n",
            written("sixty threads for some time", threads),
            REDUCED,
            SECOND.format("the kernel's count, by a uid that each session of root has for that,"),
        ),
        (
            "files on disk",
            "def held_on_disk(folders, pids=()): return 0, 0\n",
            named("files in deep folders", "files in the temporary folder"),
            REDUCED,
            "",
        ),
        (
            "files without a name",
            "_all_held = held_on_disk\ndef held_on_disk(folders, pids=()): return _all_held(folders)\n",
            named("files that have lost their name"),
            REDUCED,
            "",
        ),
    ):
        yield Mutation("watcher", rule, "sessions/resource_monitor.py", code, chosen, without, why)
    both = (
        "from dataclasses import replace\nfrom executor.sessions import resource_monitor\n"
        "from executor.sandbox import privileges\n"
        "_usage = resource_monitor.usage\nresource_monitor.usage = lambda pid: replace(_usage(pid), tasks=0)\n"
        "def _not_root(user): raise OSError\nprivileges.be_counted_as = _not_root\n"
    )
    attack = written("sixty threads for some time", threads)
    yield Mutation("watcher", "processes and threads, and the kernel's count", "__init__.py", both, attack, REDUCED)


def _identity() -> Iterator[Mutation]:
    yield Mutation(
        "privileges",
        "a uid of its own",
        "sandbox/privileges.py",
        "def become_user(user): pass\n",
        written("be root", "tries(lambda: 0 in os.getresuid() and 'root')"),
    )
    yield Mutation(
        "privileges",
        "no new privileges",
        "sandbox/privileges.py",
        "def allow_no_new_privileges(): pass\n",
        written("gain by set-uid programs", "tries(lambda: libc.prctl(39, 0, 0, 0, 0) == 0)"),
    )
    yield Mutation(
        "processes",
        "a cell does not outlive its session",
        "inside/setup.py",
        "def stay_with_orphans(): pass\n",
        written(
            "leave an orphan to others",
            "n = ctypes.c_int()\nlibc.prctl(37, ctypes.byref(n))\ntries(lambda: not n.value)",
        ),
    )


# What somebody does who reaches the service's folder


def _checkpoints() -> Iterator[Mutation]:
    for rule, file, code, attack in (
        ("signature", "state/checkpoint_log.py", "hmac.compare_digest = lambda one, other: True\n", forged),
        (
            "bound to its thread",
            "state/checkpoint_log.py",
            "def _is_ours(self, stored):\n    return stored['hmac'] == self._hmac(_canonical(stored['body']))\n"
            "CheckpointLog.is_ours = _is_ours\n",
            swapped,
        ),
        (
            "hash of a large part",
            "state/checkpoints.py",
            "_all_parts = _open_part\ndef _open_part(folder, part):\n"
            "    return _all_parts(folder, {**part, 'stamp': stamp(folder / str(part['sha256']))})\n",
            exchanged,
        ),
    ):
        yield Mutation("checkpoints", rule, file, code, (), beside=((attack.__doc__ or "", attack),))


def _state(home: Path, thread: str) -> Path:
    return home / "threads" / thread / "state"


def _kept(client: SessionClient, home: Path, thread: str, code: str) -> Path:
    """The log of a thread whose subprocess has kept what `code` made, and has ended."""
    client.run(thread, "1", code)
    client.run(thread, "2", "import os\nos._exit(1)")
    log = _state(home, thread) / "log.jsonl"
    wait_for(log.exists)
    return log


def _comes_back_as(client: SessionClient, thread: str, value: str) -> str:
    """What got through: something if the thread's `kept` begins with this value now."""
    printed = client.run(thread, "3", "print(str(kept)[:20])").stdout.strip()
    return printed if printed.startswith(value) else ""


def forged(client: SessionClient, home: Path) -> str:
    """a checkpoint that nobody signed"""
    theirs = json.loads(_kept(client, home, "attacker", "kept = 'put there'").read_bytes().splitlines()[-1])
    log = _kept(client, home, "victim", "kept = 'own'")
    theirs["body"]["thread"] = "victim"
    log.write_text(json.dumps(theirs) + "\n")
    return _comes_back_as(client, "victim", "put there")


def swapped(client: SessionClient, home: Path) -> str:
    """the checkpoint of another thread, as it was signed"""
    theirs = _kept(client, home, "attacker", "kept = 'of another thread'").read_bytes()
    _kept(client, home, "victim", "kept = 'own'").write_bytes(theirs)
    return _comes_back_as(client, "victim", "of another thread")


def exchanged(client: SessionClient, home: Path) -> str:
    """other bytes in the file of a large variable"""
    log = _kept(client, home, "victim", "kept = bytes(b'o') * 1_000_000")
    (part,) = [path for path in log.parent.iterdir() if path.name != log.name]
    whole = part.read_bytes()
    part.write_bytes(whole.replace(b"o" * 1_000, b"x" * 1_000))
    return _comes_back_as(client, "victim", "b'x")


_LOOKS = """
import os, socket, sys
home, door = sys.argv[1:]
for folder, folders, files in os.walk(home, onerror=lambda error: None):
    print("listed", folder)
    for name in files:
        try: open(os.path.join(folder, name), "rb").close()
        except OSError: continue
        print("read", os.path.join(folder, name))
try: socket.socket(socket.AF_UNIX).connect(door)
except OSError: pass
else: print("spoke to", door)
"""


def another_user(client: SessionClient, home: Path) -> str:
    """another user of the machine reads the service's files"""
    client.run("private", "1", "kept = 7\nopen('table.csv', 'w').write('a')")
    client.run("private", "2", "print(kept)")
    wait_for((_state(home, "private") / "log.jsonl").exists)
    looked = subprocess.run(
        [PYTHON, "-I", "-c", _LOOKS, str(home), str(home.parent / "host.sock")],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        user=_NOBODY,
        group=_NOBODY,
        extra_groups=[],
        cwd="/",
    )
    return looked.stdout.partition("\n")[0]


def _modes() -> Iterator[Mutation]:
    """What other users of the machine may do. The folder is there before, open, as somebody has made it."""
    attack: tuple[tuple[str, Beside], ...] = ((another_user.__doc__ or "", another_user),)
    umask = "_mask = os.umask\nos.umask = lambda mode: _mask(0)\n"
    folder = "Path.chmod = lambda self, mode: None\n"
    for rule, code, why in (
        ("umask of the host", umask, SECOND.format("the mode of the home")),
        ("mode of the home", folder, ""),
        ("umask and modes", umask + folder, ""),
    ):
        yield Mutation("modes", rule, "files/home.py", code, (), beside=attack, why=why)
