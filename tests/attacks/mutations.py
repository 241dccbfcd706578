"""Takes the walls away one rule at a time and sees whether an attack gets through: `make mutate-walls`.

A rule that nothing needs protects nothing, or nobody attacks it. Production has no switch for this: the executor is
copied into a folder, a line is added to the copy that takes one rule away, and a session host is started from there.
Each rule names the attacks that need it. What survives without a reason is an attack that is missing.
"""

from __future__ import annotations

import argparse
import errno
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from json import dumps
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent), str(ROOT / "tests")]

import mutations_jail  # noqa: E402  run as a program, these are not on the path
import mutations_rest  # noqa: E402
from mutation_kit import (  # noqa: E402
    ASK_THE_KERNEL,
    CAPABILITY,
    REDUCED,
    SECOND,
    Beside,
    Mutation,
    asked,
    named,
    written,
)
from test_attacks_kernel import ENTRIES, MACHINE_CODE, header_numbers  # noqa: E402

from executor.attacks import METADATA, Attack  # noqa: E402
from executor.client import SessionClient  # noqa: E402
from executor.environment import clean_environment  # noqa: E402
from executor.launch import stop_host, wait_for_host  # noqa: E402
from executor.sandbox import allowed, seccomp  # noqa: E402
from executor.values import Syscalls  # noqa: E402
from tryout.commands.attack_check import LIMITS, Round  # noqa: E402

_SECCOMP = "sandbox/seccomp.py"


def kernels_own_answer(number: int) -> int:
    """The errno of a call with nothing in a process without capabilities and without our filter; 0 when it is done."""
    code = f"""
import ctypes, sys
sys.path.insert(0, {str(ROOT)!r})
from executor.sandbox.privileges import allow_no_new_privileges, drop_bounding_set, drop_capabilities
drop_bounding_set(); drop_capabilities(); allow_no_new_privileges()
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
result = libc.syscall(ctypes.c_long({number}), *[ctypes.c_long(-1)] * 6)
sys.exit(ctypes.get_errno() if result < 0 else 0)
"""
    return subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode


BY_ITSELF = {errno.EPERM: CAPABILITY, errno.ENOSYS: "the kernel has no such call any more"}
"""The reasons for which a call may survive that is let through: it is refused all the same."""


def mutations() -> Iterator[Mutation]:
    """All that are known, by layer."""
    yield from _denied_calls()
    yield from _rules_by_argument()
    yield from _landlock_rights()
    yield from _others()
    yield from mutations_rest.mutations()
    yield from _allow_list()
    yield from mutations_jail.mutations()


def _without_word(name: str, word: str) -> str:
    return f"{name} = ' '.join(each for each in {name}.split() if each != {word!r})\n"


def _denied_calls() -> Iterator[Mutation]:
    for names in seccomp.DENIED.values():
        for call in names.split():
            fewer = f"' '.join(each for each in names.split() if each != {call!r})"
            code = f"DENIED = {{why: {fewer} for why, names in DENIED.items()}}\n"
            yield Mutation("seccomp", call, _SECCOMP, code, asked(call), why=ASK_THE_KERNEL)
    for call in seccomp.EXEC.split():
        yield Mutation("seccomp", call, _SECCOMP, _without_word("EXEC", call), asked(call))
    for call in seccomp.UNCOUNTED.split():
        opens = {"memfd_create": "os.memfd_create('m') > 0", "socketpair": "call('socketpair', 1, 1, 0, bytes(8)) == 0"}
        attack = written(f"{call} where nobody counts", f"tries(lambda: {opens[call]})")
        yield Mutation(
            "seccomp", f"{call} (uncounted)", _SECCOMP, _without_word("UNCOUNTED", call), attack, ("cgroup",)
        )
    for call in seccomp.AFTER_SETUP.split():
        attack = named("descriptors under way in a socket") if call == "sendmsg" else asked(call)
        yield Mutation("seccomp", f"{call} after set-up", _SECCOMP, _without_word("AFTER_SETUP", call), attack)
    yield Mutation(
        "seccomp", "setsid", _SECCOMP, "CONTAINED = ''\n", named("a share of the processor for each process")
    )
    for answer in ("0", "errno.EOPNOTSUPP"):
        for calls, value in seccomp.METADATA.items():
            if (value == 0) == (answer == "0"):
                for call in calls.split():
                    fewer = f"' '.join(each for each in names.split() if each != {call!r})"
                    code = f"METADATA = {{{fewer}: answer for names, answer in METADATA.items()}}\n"
                    way = {"fchmod": "fchmod", "utimensat": "utimensat"}.get(call, call)
                    answers = (
                        f"try: call({call!r}, *[-1] * 6)\nexcept OSError as error:\n"
                        "    if error.errno != errno.EOPNOTSUPP: breached(error)\n"
                    )
                    attack = ((way, METADATA[way]),) if way in METADATA else written(f"{call} with nothing", answers)
                    yield Mutation("seccomp", f"{call} (reduced)", _SECCOMP, code, attack, REDUCED)


def _rules_by_argument() -> Iterator[Mutation]:
    attacks = {
        "clone": named("a child of its parent", "clone into a user namespace"),
        "socketpair": written(
            "a pair of another family", "tries(lambda: looked(lambda: call('socketpair', 2, 1, 0, bytes(8))))"
        ),
        "ioctl": named("type into a terminal"),
        "prlimit64": written(
            "limits by a process's number",
            "import resource\ntries(lambda: resource.prlimit(os.getpid(), resource.RLIMIT_CORE))",
        ),
        "setrlimit": written("a core limit of its own", "tries(lambda: call('setrlimit', 4, bytes(16)) == 0)"),
        "prctl": named("no orphan of its own", "a core file by the machine's helper"),
        "fcntl": named("a lease on a library, for which its next writer waits"),
        "sendto": written(
            "send out of band",
            "import _socket\ntries(lambda: looked(lambda: _socket.socketpair(1, 1, 0)[0].send(b'x', _socket.MSG_OOB)))",
        ),
        "recvfrom": named("receive out of band"),
        "recvmsg": named("receive out of band"),
        "recvmmsg": named("receive out of band"),
        "memfd_create": named("a file of such pages"),
        "mmap": named("pages of a hundredfold size"),
    }
    for call, chosen in attacks.items():
        code = (
            "_all = _by_argument\ndef _by_argument(*, counted):\n"
            f"    return {{name: rule for name, rule in _all(counted=counted).items() if name != {call!r}}}\n"
        )
        why = "this machine has no huge pages to give" if call == "mmap" else ""
        yield Mutation("seccomp, by argument", call, _SECCOMP, code, chosen, why=why)
    yield Mutation(
        "seccomp, by argument",
        "clone3",
        _SECCOMP,
        "_program = program\ndef program(machine, **options):\n    number = machine.calls['clone3']\n"
        "    code = _program(machine, **options)\n    at = code.index((_EQUAL, 0, 1, number))\n"
        "    return code[:at] + code[at + 2:]\n",
        written(
            "clone3",
            "try: call('clone3', 0, 0)\nexcept OSError as error:\n"
            "    if error.errno != errno.ENOSYS: breached(error)\n",
        ),
    )
    for entry, rule, why in (
        ("int 0x80: getpid of the 32-bit table", "_KILL = _ALLOW", ""),
        ("x32: getpid with the x32 bit", "_AT_LEAST = 0x15", "this kernel has no x32"),
    ):
        attack = written(entry, MACHINE_CODE.format(hex=ENTRIES[entry]))
        yield Mutation("seccomp, entries", entry.partition(":")[0], _SECCOMP, rule + "\n", attack, why=why)


def _landlock_rights() -> Iterator[Mutation]:
    in_folder = "os.path.join(os.path.dirname(CANARY), 'made')"
    attacks: dict[str, tuple[tuple[tuple[str, Attack], ...], str]] = {
        "EXECUTE": (named("run a program"), SECOND.format("seccomp")),
        "WRITE_FILE": (written("write", "tries(lambda: open(CANARY, 'r+').write('x') and 'wrote')"), ""),
        "READ_FILE": (written("read", "tries(lambda: open('/etc/hostname').read() + 'read')"), ""),
        "READ_DIR": (written("list", "tries(lambda: os.listdir('/var'))"), ""),
        "REMOVE_DIR": (
            written("rmdir", "tries(lambda: os.rmdir(os.path.join(os.path.dirname(CANARY), 'empty')) or 1)"),
            "",
        ),
        "REMOVE_FILE": (written("unlink", "tries(lambda: os.unlink(CANARY) or 'gone')"), ""),
        "MAKE_CHAR": (named("make a device"), CAPABILITY),
        "MAKE_DIR": (written("mkdir", f"tries(lambda: os.mkdir({in_folder}) or 'made')"), ""),
        "MAKE_REG": (written("create", f"tries(lambda: os.mknod({in_folder}) or 'made')"), ""),
        "MAKE_SOCK": (written("socket", "tries(lambda: os.mknod('s', 0o140600) or 'made')"), ""),
        "MAKE_FIFO": (named("make a pipe"), ""),
        "MAKE_BLOCK": (written("block", "tries(lambda: os.mknod('b', 0o60600, 1) or 'made')"), CAPABILITY),
        "MAKE_SYM": (named("make a symbolic link"), ""),
        "REFER": (named("take a file of the service along"), "Landlock always refuses this where it is not allowed"),
        "TRUNCATE": (written("truncate", "tries(lambda: os.truncate(CANARY, 0) or 'cut')"), ""),
        "IOCTL_DEV": (
            written(
                "ioctl of a device",
                "import fcntl\nfile = os.open('/dev/urandom', os.O_RDONLY)\n"
                "tries(lambda: fcntl.ioctl(file, 0x80045200, bytes(4)) and 1)",
            ),
            "",
        ),
    }
    for bit, (right, (chosen, why)) in enumerate(attacks.items()):
        code = f"_HANDLED_FROM = {{since: bits & ~(1 << {bit}) for since, bits in _HANDLED_FROM.items()}}\n"
        yield Mutation("landlock", right, "sandbox/landlock.py", code, chosen, REDUCED, why)
    for name, code, chosen, why in (
        ("TCP", "_TCP_BIND_CONNECT = 0\n", named("open a TCP socket"), SECOND.format("seccomp")),
        ("scope of signals", "_SCOPE_ABSTRACT_AND_SIGNAL = 1\n", named("end the session host", "signal it"), ""),
        (
            "scope of abstract sockets",
            "_SCOPE_ABSTRACT_AND_SIGNAL = 2\n",
            named("open an abstract socket"),
            SECOND.format("seccomp"),
        ),
    ):
        yield Mutation("landlock", name, "sandbox/landlock.py", code, chosen, REDUCED, why)


def _others() -> Iterator[Mutation]:
    for kind, chosen, why in (
        ("NEWPID", named("ask for its group", "hold on to it"), ""),
        ("NEWNET", named("open a UDP socket", "open a netlink socket"), SECOND.format("seccomp")),
        ("NEWIPC", named("make shared memory", "a queue of messages"), SECOND.format("seccomp")),
        (
            "NEWUTS",
            written("rename the host", "tries(lambda: socket.sethostname('x') or 'renamed')"),
            SECOND.format("seccomp"),
        ),
        ("NEWCGROUP", written("see its cgroup", "tries(lambda: 'threadbook' in open('/proc/self/cgroup').read())"), ""),
    ):
        code = f"calls.CLONE_{kind} = 0\n"
        yield Mutation(
            "namespaces",
            kind,
            "sandbox/namespaces.py",
            f"_ALL_BUT_USER &= ~calls.CLONE_{kind}\n{code}",
            chosen,
            why=why,
        )
    yield Mutation(
        "cgroup",
        "entry",
        "sandbox/cgroup.py",
        "def enter(group_files): return True\n",
        named("memory that several processes map", "shared memory put out of sight"),
    )
    yield Mutation(
        "privileges",
        "hide_memory",
        "sandbox/privileges.py",
        "def hide_memory(): pass\n",
        named("read its memory", "read its environment"),
        REDUCED,
        SECOND.format("Landlock (no tracing out of its domain)"),
    )
    yield Mutation(
        "privileges",
        "no capabilities",
        "sandbox/privileges.py",
        "def drop_capabilities(): pass\ndef drop_bounding_set(): pass\n",
        written(
            "hold a capability",
            "line = [l for l in open('/proc/self/status') if l.startswith('CapEff')][0]\n"
            "tries(lambda: int(line.split()[1], 16) != 0 and line)",
        ),
        why=SECOND.format("the change of uid"),
    )
    yield Mutation(
        "descriptors",
        "close_other_descriptors",
        "inside/setup.py",
        "def close_other_descriptors(kept): pass\n",
        written(
            "find a descriptor of the zygote",
            "def is_open(number):\n    try: return os.fstat(number).st_rdev != os.fstat(0).st_rdev\n"
            "    except OSError: return False\n"
            "tries(lambda: [n for n in range(3, 200) if is_open(n)] or None)",
        ),
    )
    for rule, code, chosen, why in (
        ("read-only root", "calls.MOUNT_ATTR_RDONLY = 0\n", named("write into a library"), SECOND.format("Landlock")),
        (
            "no links followed in a workspace",
            "calls.MS_NOSYMFOLLOW = 0\n",
            named("make a symbolic link"),
            SECOND.format("Landlock (no links are made)"),
        ),
    ):
        yield Mutation("private root", rule, "sandbox/root.py", code, chosen, why=why)


def _allow_list() -> Iterator[Mutation]:
    """Each call that only the list refuses is let through once: who makes it must be seen."""
    listed, denied = allowed.numbers("x86_64"), {*" ".join(seccomp.DENIED.values()).split()}
    for call, number in header_numbers("x86_64").items():
        if call in listed or call in denied or call in ENDS or call in seccomp.MACHINES["x86_64"].calls:
            continue
        code = f"_listed = numbers\ndef numbers(machine): return _listed(machine) | {{{call!r}: {number}}}\n"
        attack = written(
            f"{call} with nothing",
            f"NUMBERS[{call!r}] = {number}\ntry: call({call!r}, *[-1] * 6)\nexcept OSError as error:\n"
            "    if error.errno not in (errno.EPERM, errno.ENOSYS): breached(error)\nelse: breached('done')\n",
        )
        yield Mutation("allow-list", call, "sandbox/allowed.py", code, attack, why=ASK_THE_KERNEL, syscalls="allow")
    yield Mutation(
        "allow-list",
        "no session answers for itself",
        "inside/setup.py",
        "def _hand_over(setup, listener): socket.send_fds(setup, [encode({'type': 'listen'})], [listener])\n",
        written(
            "hold the answer to a refused call",
            "import fcntl\ndef is_answer(number):\n    try: fcntl.ioctl(number, 0xC0182101, bytes(24))\n"
            "    except OSError as error: return error.errno == errno.ENOENT\n"
            "tries(lambda: [n for n in range(3, 1024) if is_answer(n)] or None)",
        ),
        syscalls="allow",
    )
    yield Mutation(
        "allow-list",
        "ENOSYS for what is new",
        _SECCOMP,
        "_SINCE_5_1 = 1 << 29\n",
        written(
            "openat2 with nothing",
            "NUMBERS['openat2'] = 437\ntry: call('openat2', 0, 0)\nexcept OSError as error:\n"
            "    if error.errno != errno.ENOSYS: breached(error)\n",
        ),
        syscalls="allow",
    )


ENDS = {"rt_sigreturn", "exit", "exit_group", "pause"}
"""Who makes these with nothing says nothing any more."""


@contextmanager
def host_of(
    folder: Path, mutation: Mutation | None, without: Sequence[str], syscalls: Syscalls
) -> Iterator[SessionClient]:
    """A session host that runs from a copy of the executor, with one rule less."""
    package = folder / "copy" / "executor"
    shutil.copytree(ROOT / "executor", package, ignore=shutil.ignore_patterns("__pycache__"))
    if mutation is not None:
        with (package / mutation.file).open("a") as file:
            file.write(f"\n\n{mutation.code}")
    for path in [folder, folder / "copy", *package.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    socket, home = folder / "host.sock", folder / "home"
    home.mkdir(mode=0o755)  # as a person may have made it
    command = [sys.executable, "-m", "executor.host", "--socket", str(socket), "--home", str(home)]
    command += ["--limits", dumps(asdict(LIMITS)), "--without", ",".join(without), "--syscalls", syscalls]
    environment = clean_environment(home.absolute() / "zygote") | {"PYTHONPATH": str(folder / "copy")}
    groups = [0, 12345]  # to which an owner may give a file without any power
    process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL, cwd=folder, extra_groups=groups)
    try:
        wait_for_host(process, socket)
        yield SessionClient(socket)
    finally:
        stop_host(process)


Situation = tuple[tuple[str, ...], Syscalls, bool]
"""Layers that are left out, the list that system calls are held to, and whether it is the jail for git."""


def situation_of(mutation: Mutation) -> Situation:
    """Where its attacks are made."""
    return mutation.without, mutation.syscalls, mutation.in_jail


def tried(
    mutation: Mutation | None,
    attacks: Sequence[tuple[str, Attack]],
    situation: Situation,
    beside: Sequence[tuple[str, Beside]] = (),
) -> list[str]:
    """The attacks that got through; those from `beside` a session are each made in a host of their own."""
    without, syscalls, in_jail = situation
    if in_jail:
        return mutations_jail.tried(mutation, attacks)
    with (
        tempfile.TemporaryDirectory(prefix="threadbook-") as name,
        host_of(Path(name), mutation, without, syscalls) as client,
    ):
        host = client.ping()
        canary = Path(name) / "copy" / "executor" / "canary.txt"  # a file that every session may read
        (canary.parent / "empty").mkdir(exist_ok=True)
        round_ = Round(client, host.pid, host.sandbox, canary, lambda: None)
        canary.chmod(0o644)
        through = [name for name, one in attacks if round_.make("", name, one).state != "held"]
    for name, attack in beside:
        with (
            tempfile.TemporaryDirectory(prefix="threadbook-") as folder,
            host_of(Path(folder), mutation, without, syscalls) as client,
        ):
            if attack(client, Path(folder) / "home"):
                through.append(name)
    return through


def outcome(mutation: Mutation) -> tuple[str, str]:
    """("killed" | "survived" | "not told", by what or why)."""
    try:
        through = tried(mutation, mutation.attacks, situation_of(mutation), mutation.beside)
    except RuntimeError:  # without this rule, or on a machine this busy: that proves nothing
        return "not told", "no session starts"
    if through:
        return "killed", through[0]
    why = mutation.why
    if why == ASK_THE_KERNEL:
        numbers = header_numbers("x86_64") | seccomp.MACHINES["x86_64"].calls
        why = BY_ITSELF.get(kernels_own_answer(numbers[mutation.rule]), "")
    return "survived", why


def main() -> None:
    """Print a line per rule, and write the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="rules whose layer or name has this in it")
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--table", type=Path, help="where to write the table")
    options = parser.parse_args()
    end, rows = time.monotonic() + options.minutes * 60, []
    chosen = [one for one in mutations() if options.only in f"{one.layer}: {one.rule}"]
    for situation in {situation_of(one) for one in chosen}:
        attacks = dict(attack for one in chosen if situation_of(one) == situation for attack in one.attacks)
        beside = dict(attack for one in chosen if situation_of(one) == situation for attack in one.beside)
        if through := tried(None, list(attacks.items()), situation, list(beside.items())):
            sys.exit(f"these get through with all rules, so they prove nothing: {', '.join(through)}")
    for mutation in chosen:
        if time.monotonic() > end:
            break
        state, by = outcome(mutation)
        rows.append(f"| {mutation.layer} | {mutation.rule} | {state} | {by or 'NO REASON'} |")
        print(rows[-1], flush=True)
    left = f"{len(rows)} of {len(chosen)} rules were taken away."
    print(left)
    if options.table:
        options.table.parent.mkdir(exist_ok=True)
        head = ["| layer | rule | without it | by which attack, or why not |", "| --- | --- | --- | --- |"]
        options.table.write_text("\n".join([*head, *rows, "", left]) + "\n")
    sys.exit(any("NO REASON" in row for row in rows))


if __name__ == "__main__":
    os.umask(0o022)
    main()
