"""The rules of the jail for git (`workers/repositories/jail.py`), each with the attacks that need it.

The attacker is a program of the system that runs where git would, as if git had a hole.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from mutation_kit import ASK_THE_KERNEL, CAPABILITY, PYTHON, SECOND, Mutation, asked, named, written

from executor.attacks import METADATA, REACH, Attack, given
from executor.sandbox import seccomp
from tryout.commands.attack_check import known_of
from workers.repositories.jail import Order

ROOT = Path(__file__).resolve().parents[2]
_JAIL, _SECCOMP, _LANDLOCK = (
    "workers/repositories/jail.py",
    "executor/sandbox/seccomp.py",
    "executor/sandbox/landlock.py",
)
_PRIVILEGES = "executor/sandbox/privileges.py"
_START = "from workers.repositories.jail import main; main()"


def mutations() -> Iterator[Mutation]:
    """All that are known of the jail, by layer."""
    for one in (*_limits(), *_privileges(), *_files(), *_rest_of_landlock(), *_denied(), *_by_argument(), *_metadata()):
        yield replace(one, layer=f"jail: {one.layer}", in_jail=True)


def _limits() -> Iterator[Mutation]:
    attacks = {
        "CORE": "tries(lambda: resource.getrlimit(resource.RLIMIT_CORE) != (0, 0))",
        "FSIZE": "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "tries(lambda: open('large', 'wb').write(bytes(3_000_000)))",
        "CPU": "tries(lambda: resource.getrlimit(resource.RLIMIT_CPU)[1] not in range(100))",
        "AS": "tries(lambda: len(bytearray(3 << 30)))",
        "NOFILE": "tries(lambda: len([os.dup(0) for turn in range(300)]))",
    }
    for name, code in attacks.items():
        fewer = (
            "_limit = resource.setrlimit\ndef _fewer(kind, limit):\n"
            f"    if kind != resource.RLIMIT_{name}: _limit(kind, limit)\nresource.setrlimit = _fewer\n"
        )
        yield Mutation("limits", name, _JAIL, fewer, written(f"beyond {name}", "import resource, signal\n" + code))


def _privileges() -> Iterator[Mutation]:
    yield Mutation(
        "processes",
        "ends with its worker",
        _JAIL,
        "def die_with_parent(signum): pass\n",
        written(
            "outlive the worker", "n = ctypes.c_int()\nlibc.prctl(2, ctypes.byref(n))\nif not n.value: breached('can')"
        ),
    )
    yield Mutation(
        "files",
        "umask",
        _JAIL,
        "os.umask = lambda mode: None\n",
        written(
            "make a file that others may read", "open('made', 'w')\ntries(lambda: os.stat('made').st_mode & 0o077 != 0)"
        ),
    )
    yield Mutation(
        "secrets",
        "an environment of its own",
        _JAIL,
        "_run = os.execve\nos.execve = lambda path, words, own: _run(path, words, {**os.environ, **own})\n",
        written("find a secret in the environment", "tries(lambda: os.environ.get('SECRET'))"),
    )
    yield Mutation(
        "capabilities",
        "bounding set",
        _PRIVILEGES,
        "def drop_bounding_set(): pass\n",
        written("find a capability in the bounding set", "tries(lambda: libc.prctl(23, 1, 0, 0, 0) == 1)"),
    )
    yield Mutation(
        "capabilities",
        "effective, permitted",
        _PRIVILEGES,
        "def drop_capabilities(): pass\n",
        written(
            "hold a capability",
            "head, sets = ctypes.create_string_buffer(b'\\x22\\x05\\x08\\x20' + bytes(4), 8), (ctypes.c_uint32 * 6)()\n"
            "libc.capget(head, sets)\ntries(lambda: any(sets))",
        ),
        why="a second lock: by the bits for which uid 0 means nothing they go at the exec",
    )
    yield Mutation(
        "capabilities",
        "no new privileges",
        _PRIVILEGES,
        "def allow_no_new_privileges(): pass\n",
        written("gain by set-uid programs", "tries(lambda: libc.prctl(39, 0, 0, 0, 0) == 0)"),
    )


def _files() -> Iterator[Mutation]:
    attacks = {
        "EXECUTE": (
            "os.write(own := os.open('own', os.O_CREAT | os.O_WRONLY, 0o755), open('/bin/true', 'rb').read())\n"
            "os.close(own)\n"
            "tries(lambda: s.run(['./own'], env={}).returncode == 0)",
            "",
        ),
        "WRITE_FILE": ("tries(lambda: os.write(os.open(OUTSIDE + '/file', os.O_WRONLY), b'x'))", ""),
        "READ_FILE": ("tries(lambda: open(OUTSIDE + '/file').read())", ""),
        "READ_DIR": ("tries(lambda: os.listdir(OUTSIDE))", ""),
        "REMOVE_DIR": ("tries(lambda: os.rmdir(OUTSIDE + '/empty') or 'gone')", ""),
        "REMOVE_FILE": ("tries(lambda: os.unlink(OUTSIDE + '/file') or 'gone')", ""),
        "MAKE_CHAR": ("tries(lambda: os.mknod('device', 0o20666, os.makedev(1, 3)) or 'made')", CAPABILITY),
        "MAKE_DIR": ("tries(lambda: os.mkdir(OUTSIDE + '/made') or 'made')", ""),
        "MAKE_REG": ("tries(lambda: os.mknod(OUTSIDE + '/made') or 'made')", ""),
        "MAKE_SOCK": ("tries(lambda: os.mknod('s', 0o140600) or 'made')", ""),
        "MAKE_FIFO": ("tries(lambda: os.mkfifo('pipe') or 'made')", ""),
        "MAKE_BLOCK": ("tries(lambda: os.mknod('b', 0o60600, 1) or 'made')", CAPABILITY),
        "MAKE_SYM": ("tries(lambda: os.symlink('/etc/passwd', 'link') or 'made')", ""),
        "REFER": (
            "tries(lambda: os.rename(OUTSIDE + '/file', 'mine') or 'moved')",
            "Landlock always refuses this where it is not allowed",
        ),
        "TRUNCATE": ("tries(lambda: os.truncate(OUTSIDE + '/file', 0) or 'cut')", ""),
        "IOCTL_DEV": (
            "import fcntl\nfile = os.open('/dev/urandom', os.O_RDONLY)\n"
            "tries(lambda: fcntl.ioctl(file, 0x80045200, bytes(4)) and 1)",
            "",
        ),
    }
    for bit, (right, (code, why)) in enumerate(attacks.items()):
        fewer = f"_HANDLED_FROM = {{since: bits & ~(1 << {bit}) for since, bits in _HANDLED_FROM.items()}}\n"
        attack = written(f"{right} without leave", "import subprocess as s\n" + code)
        yield Mutation("landlock", right, _LANDLOCK, fewer, attack, why=why)


_SPEAK = "import socket\ndef speak(family, kind, protocol, address):\n    s = socket.socket(family, kind, protocol)\n"
_CONNECT = _SPEAK + "    s.connect(address)\n    return 'reached'\n"
_UNCONNECTED = _SPEAK + "    return s.sendto(b'x', FLAGS, address)\n"
FAST = "tries(lambda: speak(2, 1, 0, ('127.0.0.1', OTHER)))"


def _rest_of_landlock() -> Iterator[Mutation]:
    yield Mutation(
        "landlock", "TCP", _LANDLOCK, "_TCP_BIND_CONNECT = _TCP_CONNECT = 1\n", written("another port", _CONNECT + FAST)
    )
    yield Mutation(
        "landlock",
        "scope of signals",
        _LANDLOCK,
        "_SCOPE_ABSTRACT_AND_SIGNAL = 1\n",
        written("signal the worker", "tries(lambda: os.kill(HOST_PID, 0) or 'could have')"),
    )
    yield Mutation(
        "landlock",
        "scope of abstract sockets",
        _LANDLOCK,
        "_SCOPE_ABSTRACT_AND_SIGNAL = 2\n",
        written("an abstract socket", _CONNECT + "tries(lambda: speak(1, 1, 0, ABSTRACT))"),
        why=SECOND.format("the rule on kinds of sockets"),
    )


def _denied() -> Iterator[Mutation]:
    for names in seccomp.DENIED.values():
        for call in names.split():
            if call in seccomp.FOR_TCP.split():
                continue
            fewer = f"' '.join(each for each in names.split() if each != {call!r})"
            code = f"DENIED = {{why: {fewer} for why, names in DENIED.items()}}\n"
            yield Mutation("seccomp", call, _SECCOMP, code, asked(call), why=ASK_THE_KERNEL)
    for call in seccomp.EXEC_FROM_MEMORY.split():
        code = f"EXEC_FROM_MEMORY = ' '.join(each for each in EXEC_FROM_MEMORY.split() if each != {call!r})\n"
        attack = "os.memfd_create('m') > 0" if call == "memfd_create" else f"looked(lambda: call({call!r}, *[-1] * 6))"
        yield Mutation("seccomp", call, _SECCOMP, code, written(f"{call} of a program", f"tries(lambda: {attack})"))
    yield Mutation(
        "seccomp", "setsid", _SECCOMP, "CONTAINED = ''\n", named("a share of the processor for each process")
    )


def _by_argument() -> Iterator[Mutation]:
    pair = "import _socket\none, other = _socket.socketpair(1, 1, 0)\n"
    tcp = {
        "socket": written(
            "other kinds of sockets",
            _CONNECT + "tries(lambda: speak(1, 1, 0, SERVICE), lambda: speak(2, 2, 0, ('127.0.0.1', 9)),\n"
            "      lambda: speak(2, 1, 262, ('127.0.0.1', OTHER)))",
        ),
        "sendto": written(
            "a first packet with data",
            _UNCONNECTED.replace("FLAGS", "socket.MSG_FASTOPEN") + FAST,
        ),
        "sendmsg": written(
            "the same by sendmsg",
            _SPEAK + "    return s.sendmsg([b'x'], [], socket.MSG_FASTOPEN, address)\n" + FAST,
        ),
        "sendmmsg": written("many at once", "tries(lambda: looked(lambda: call('sendmmsg', -1, 0, 0, 0x20000000)))"),
    }
    for call, attack in tcp.items():
        code = f"_TCP_ALONE = {{name: rule for name, rule in _TCP_ALONE.items() if name != {call!r}}}\n"
        yield Mutation("seccomp, by argument", call, _SECCOMP, code, attack)
    attacks = {
        "clone": named("a child of its parent", "clone into a user namespace"),
        "socketpair": written("another family", "tries(lambda: looked(lambda: call('socketpair', 2, 1, 0, bytes(8))))"),
        "ioctl": written("type into a terminal", "tries(lambda: looked(lambda: call('ioctl', -1, 0x5412, bytes(8))))"),
        "prlimit64": written(
            "limits by a process's number",
            "import resource\ntries(lambda: resource.prlimit(os.getpid(), resource.RLIMIT_CORE))",
        ),
        "setrlimit": written("a core limit", "tries(lambda: call('setrlimit', 4, bytes(16)) == 0)"),
        "prctl": named("no orphan of its own"),
        "fcntl": written(
            "a lease", "import fcntl\ntries(lambda: fcntl.fcntl(os.open('m', os.O_CREAT), 1024, fcntl.F_RDLCK) == 0)"
        ),
        "recvfrom": written("receive out of band", pair + "tries(lambda: looked(lambda: one.recv(1, 1)))"),
        "recvmsg": written("the same by recvmsg", pair + "tries(lambda: looked(lambda: one.recvmsg(1, 0, 1)))"),
        "recvmmsg": written("the same, many", pair + "tries(lambda: looked(lambda: call('recvmmsg', -1, 0, 0, 1, 0)))"),
        "mmap": named("pages of a hundredfold size"),
    }
    for call, attack in attacks.items():
        code = (
            "_all = _by_argument\ndef _by_argument(*, counted):\n"
            f"    return {{name: rule for name, rule in _all(counted=counted).items() if name != {call!r}}}\n"
        )
        why = "this machine has no huge pages to give" if call == "mmap" else ""
        yield Mutation("seccomp, by argument", call, _SECCOMP, code, attack, why=why)


def _metadata() -> Iterator[Mutation]:
    for names in seccomp.METADATA:
        for call in names.split():
            fewer = f"' '.join(each for each in names.split() if each != {call!r})"
            code = f"METADATA = {{{fewer}: answer for names, answer in METADATA.items()}}\n"
            answers = (
                f"try: call({call!r}, *[-1] * 6)\nexcept OSError as error:\n"
                "    if error.errno != errno.EOPNOTSUPP: breached(error)\n"
            )
            attack = ((call, METADATA[call]),) if call in METADATA else written(f"{call} with nothing", answers)
            yield Mutation("seccomp, what is known of files", call, _SECCOMP, code, attack)


def tried(mutation: Mutation | None, attacks: Sequence[tuple[str, Attack]]) -> list[str]:
    """The attacks that got through from inside of the jail. RuntimeError when no program starts there."""
    with tempfile.TemporaryDirectory(prefix="threadbook-") as name, ExitStack() as open_:
        folder = Path(name)
        copy = folder / "copy"
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "executor", copy / "executor", ignore=ignored)
        shutil.copytree(ROOT / "workers" / "repositories", copy / "workers" / "repositories", ignore=ignored)
        shutil.copy(ROOT / "workers" / "__init__.py", copy / "workers")
        if mutation is not None:
            with (copy / mutation.file).open("a") as file:
                file.write(f"\n\n{mutation.code}")
        own = folder / "own"
        made = [_attempt(open_, folder, copy, own, one) for _, one in attacks]
        return [name for (name, _), got in zip(attacks, made, strict=True) if got]


def _attempt(open_: ExitStack, folder: Path, copy: Path, own: Path, one: Attack) -> bool:
    for path in (own, outside := folder / "outside"):
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
    (outside / "file").write_text("a file of the service")
    (outside / "empty").mkdir()
    canary = outside / "canary"
    canary.write_text("a file that git may read")
    canary.chmod(0o600)
    os.setxattr(canary, "user.kept", b"x")
    service, other = open_.enter_context(socket.socket(socket.AF_UNIX)), socket.create_server(("127.0.0.1", 0))
    abstract = open_.enter_context(socket.socket(socket.AF_UNIX))
    open_.enter_context(other)
    service.bind(str(outside / "service.sock"))
    abstract.bind(f"\0{folder.name}-{other.getsockname()[1]}")
    service.listen()
    abstract.listen()
    known = given(
        HOST_PID=os.getpid(),
        CANARY=str(canary),
        OUTSIDE=str(outside),
        OTHER=other.getsockname()[1],
        SERVICE=str(outside / "service.sock"),
        ABSTRACT=f"\0{folder.name}-{other.getsockname()[1]}",
    )
    command = [PYTHON, "-I", "-S", "-c", f"print('STARTED', flush=True)\n{REACH}{known}{one.code}"]
    order = Order(command, {"A": "1"}, str(own), file_bytes=1_000_000, seconds=10, ports=[443], read=[str(canary)])
    before = known_of(canary)
    ran = subprocess.run(
        [sys.executable, "-c", _START, order.words()[-1]],
        env={"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1", "SECRET": "s3cret"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=own,
        umask=0o022,
        extra_groups=[0, 12345] if os.geteuid() == 0 else None,  # to which an owner may give a file without any power
    )
    if "STARTED" not in ran.stdout:
        raise RuntimeError(ran.stderr[-500:])
    return "BREACHED" in ran.stdout or known_of(canary) != before
