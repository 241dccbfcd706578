"""The folders of compilers: a shell runs what lies there, nobody changes it, and a cell runs nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from attack_kit import need_layer
from conftest import LIMITS
from test_attacks_bash import PYTHON, commands

from executor.client import SessionClient
from executor.launch import running_host

WITHOUT = {"walled": (), "reduced": ("namespaces",), "open": ("namespaces", "landlock", "seccomp", "cgroup")}


@dataclass(frozen=True)
class Place:
    """Hosts with walls, with fewer and with none that show the same folder."""

    folder: Path
    hosts: dict[str, SessionClient]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("home") / "tools"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "greet").write_text("#!/bin/sh\necho hello\n")
    for one in (folder.parent, folder, folder / "bin", folder / "bin" / "greet"):
        one.chmod(0o777)  # the mode alone is not to hold anybody
    with (
        running_host(limits=LIMITS, bash=True, toolchains=[folder]) as walled,
        running_host(limits=LIMITS, bash=True, toolchains=[folder], without=WITHOUT["reduced"]) as reduced,
        running_host(limits=LIMITS, bash=True, toolchains=[folder], without=WITHOUT["open"]) as open_,
    ):
        yield Place(folder, {"walled": walled, "reduced": reduced, "open": open_})


ATTACKS = {
    "change a program": "echo '#!/bin/true' >>TOOLS/bin/greet && echo BREACHED",
    "add a program": "cp /bin/true TOOLS/bin/own && echo BREACHED",
    "add a program that comes first": "cp /bin/true TOOLS/bin/ls && echo BREACHED",
    "make a folder": "mkdir TOOLS/more && echo BREACHED",
    "move a program out": "mv TOOLS/bin/greet . && echo BREACHED",
    "link a program of its own": 'cp /bin/true "$HOME/own" && ln "$HOME/own" TOOLS/bin/own2 && echo BREACHED',
    "read what lies beside it": "cat TOOLS/../secret && echo BREACHED",
}


@pytest.mark.parametrize("kind", ["walled", "reduced"])
@pytest.mark.parametrize("name", ATTACKS)
def test_nobody_changes_a_toolchain_or_looks_beside_it(name: str, kind: str, place: Place) -> None:
    (place.folder.parent / "secret").write_text("s3cret")
    before = {path: path.read_bytes() for path in place.folder.rglob("*") if path.is_file()}
    held = commands(place.hosts[kind], f"T:{kind}:{name}")(ATTACKS[name].replace("TOOLS", str(place.folder)))
    assert held.status in ("ok", "error")
    assert "BREACHED" not in held.stdout
    assert {path: path.read_bytes() for path in place.folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("name", ATTACKS)
def test_the_same_gets_somewhere_without_walls(name: str, place: Place) -> None:
    """The positive control."""
    (place.folder.parent / "secret").write_text("s3cret")
    greet = place.folder / "bin" / "greet"
    text = greet.read_bytes()
    line = ATTACKS[name].replace("TOOLS", str(place.folder))
    try:
        assert "BREACHED" in commands(place.hosts["open"], f"T:open:{name}")(line).stdout
    finally:
        for path in [place.folder / "more", *(place.folder / "bin" / each for each in ("own", "own2", "ls"))]:
            if path.is_dir():
                path.rmdir()
            elif path.exists():
                path.unlink()
        greet.write_bytes(text)
        greet.chmod(0o777)


@pytest.mark.parametrize("kind", ["walled", "reduced"])
def test_a_shell_runs_what_lies_there_and_a_cell_does_not(kind: str, place: Place) -> None:
    client = place.hosts[kind]
    assert commands(client, f"T:{kind}:run")("greet").stdout == "hello\n"
    refused = client.run(f"T:{kind}:run", "cell", "import subprocess\nsubprocess.run(['greet'])")
    assert refused.error is not None
    assert refused.error.name == "PermissionError"


def test_the_session_of_another_host_does_not_see_the_folder(walled: SessionClient, place: Place) -> None:
    need_layer(walled.ping().sandbox, "private root")
    result = walled.run("T:other:1", "1", f"import os; print(os.path.exists({str(place.folder)!r}))")
    assert result.stdout.strip() == "False"


RENAME = f"{PYTHON} -c 'import os, sys; os.rename(sys.argv[1], sys.argv[2])'"
MOVES = {
    "out of the working folder": f'touch a; {RENAME} a "$HOME/a"',
    "into the working folder": f'touch "$HOME/b"; {RENAME} "$HOME/b" b',
    "between folders of the working folder": f"mkdir -p c d; touch c/x; {RENAME} c/x d/x",
    "a link from a library": f'ln {os.__file__} "$HOME/library"',
}


@pytest.mark.parametrize("kind", ["walled", "reduced"])
@pytest.mark.parametrize("name", MOVES)
def test_files_are_moved_between_folders_in_the_scratch_folder_of_a_shell_and_nowhere_else(
    name: str, kind: str, place: Place
) -> None:
    """A compiler needs it there. What is collected stays where it was made, and nothing of the machine comes along."""
    shell = commands(place.hosts[kind], f"T:{kind}:move {name}")
    allowed = shell(f'mkdir -p "$HOME/one" "$HOME/two"; touch "$HOME/one/x"; {RENAME} "$HOME"/one/x "$HOME"/two/x')
    assert allowed.status == "ok", allowed.stderr
    assert shell(f"{MOVES[name]} && echo BREACHED").stdout == ""
