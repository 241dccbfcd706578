"""The jail in which git runs: a git with a hole gets no further than its folder and its port.

The attacker is a program of the system that runs where git would.
"""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import mutations_jail
import pytest
from attack_kit import NEEDS_X86
from git_server import GitServer, git_server
from situations import has_capability

from executor.attacks import Attack
from executor.sandbox import landlock
from workers.repositories import cloning
from workers.repositories.jail import Order

pytestmark = [
    pytest.mark.skipif(landlock.version() < 4, reason="this kernel has no Landlock that knows TCP"),
    pytest.mark.skipif(not os.path.exists(mutations_jail.PYTHON), reason="the system has no Python"),
]
BY_LAYER = {
    layer: [one for rule in rules for one in rule.attacks]
    for layer, rules in groupby(mutations_jail.mutations(), lambda rule: rule.layer)
}
CAP_SETPCAP = 8
FOR_ROOT = {"find a capability in the bounding set"}
"""Nobody else can take one out of it. Without new privileges nobody gains one by it either."""
WITH_NOTHING = " with nothing"
"""The ending of an attack that only asks whether a call is refused: many of them make one program."""


@NEEDS_X86
@pytest.mark.parametrize("layer", BY_LAYER)
def test_no_attack_by_which_a_rule_was_tried_gets_out_of_the_jail(layer: str) -> None:
    """`make mutate-walls` shows which of them gets out when its rule is taken away."""
    asks = [one for name, one in BY_LAYER[layer] if name.endswith(WITH_NOTHING)]
    left_out = set() if has_capability(CAP_SETPCAP) else FOR_ROOT
    others = [(name, one) for name, one in BY_LAYER[layer] if not name.endswith(WITH_NOTHING) and name not in left_out]
    asked = [(f"calls{WITH_NOTHING}", Attack("", "\n".join(one.code for one in asks)))] if asks else []
    assert mutations_jail.tried(None, [*asked, *others]) == []


@pytest.fixture
def server(tmp_path: Path) -> Iterator[GitServer]:
    with git_server(tmp_path) as found:
        yield found


def in_jail(tmp_path: Path, code: str, **changes: object) -> str:
    """What a program of the system says from inside."""
    folder = tmp_path / "own"
    folder.mkdir(exist_ok=True)
    known = {"file_bytes": 1_000_000, "seconds": 10, "environment": {"A": "1"}, "folder": str(folder)}
    order = Order(**{"command": ["/bin/sh", "-c", code], **known, **changes})  # type: ignore[arg-type]
    root = str(Path(cloning.__file__).parents[2])
    done = subprocess.run(
        order.words(), env={"PYTHONPATH": root, "SECRET": "s3cret"}, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def test_the_jail_has_its_own_folder_and_no_secret(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s3cret")
    assert in_jail(tmp_path, "echo x > file; cat file; env").count("s3cret") == 0
    assert (tmp_path / "own" / "file").read_text() == "x\n"
    for place in (tmp_path / "secret", Path.home(), "/etc/shadow", "/proc/1/environ", "/proc/self/environ"):
        assert "ermission denied" in in_jail(tmp_path, f"cat {place}"), place
    assert "ermission denied" in in_jail(tmp_path, f"echo x > {tmp_path}/other")
    assert not (tmp_path / "other").exists()


def test_the_jail_runs_no_program_that_lies_in_its_folder(tmp_path: Path) -> None:
    said = in_jail(tmp_path, "printf '#!/bin/sh\\necho ran' > run; chmod +x run; ./run")
    assert "ermission denied" in said


def test_the_jail_speaks_to_one_port_alone(server: GitServer, tmp_path: Path) -> None:
    port = int(server.host.partition(":")[2])
    environment = cloning._environment(tmp_path / "own")
    fetch = f"git -c http.sslVerify=false ls-remote {server.url('nowhere')}"
    in_jail(tmp_path, fetch, ports=[port + 1], environment=environment)
    assert server.paths == []
    in_jail(tmp_path, fetch, ports=[port], environment=environment)
    assert server.paths != []


SPEAKS = """
import socket
for family, kind, protocol, address, flags in TRIED:
    try:
        made = socket.socket(family, kind, protocol)
        if flags:
            made.sendto(b"x", flags, address)
        else:
            made.connect(address)
            made.send(b"x")
        print("reached")
    except OSError as error:
        print(error)
"""


@pytest.fixture
def others(tmp_path: Path) -> Iterator[dict[str, tuple[object, ...]]]:
    """Servers of this user on this machine, by the way that leads there; each is one that could be reached."""
    path = str(tmp_path / "service.sock")
    with (
        socket.socket(socket.AF_UNIX) as own,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams,
        socket.create_server(("127.0.0.1", 0)) as stream,
    ):
        own.bind(path)
        own.listen()
        datagrams.bind(("127.0.0.1", 0))
        tcp = stream.getsockname()
        yield {
            "a socket of the service": (socket.AF_UNIX, socket.SOCK_STREAM, 0, path, 0),
            "a datagram": (socket.AF_INET, socket.SOCK_DGRAM, 0, datagrams.getsockname(), 0),
            "a first packet with data": (socket.AF_INET, socket.SOCK_STREAM, 0, tcp, int(socket.MSG_FASTOPEN)),
            "another kind of stream": (socket.AF_INET, socket.SOCK_STREAM, 262, tcp, 0),
            "another port": (socket.AF_INET, socket.SOCK_STREAM, 0, tcp, 0),
        }


@pytest.mark.parametrize(
    "way",
    ["a socket of the service", "a datagram", "a first packet with data", "another kind of stream", "another port"],
)
def test_the_jail_speaks_to_nothing_else_on_the_machine(
    way: str, others: dict[str, tuple[object, ...]], tmp_path: Path
) -> None:
    family, kind, *rest = others[way]
    program = SPEAKS.replace("TRIED", repr([(int(family), int(kind), *rest)]))  # type: ignore[call-overload]
    command = ["/usr/bin/python3", "-I", "-S", "-c", program]
    assert in_jail(tmp_path, "", command=command).strip() not in ("", "reached")
    free = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    assert free == "reached" or way == "another kind of stream", "it is not reached without a jail either"


def test_the_jail_changes_nothing_that_is_known_of_a_file_and_makes_no_namespace(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s3cret")
    (tmp_path / "secret").chmod(0o600)
    assert in_jail(tmp_path, f"chmod 777 {tmp_path}/secret; touch -d 2000-01-01 {tmp_path}/secret") is not None
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "secret").stat().st_mtime > 1_000_000_000
    assert "inside" not in in_jail(tmp_path, "unshare --user --net echo inside")
