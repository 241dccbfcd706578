"""How strong the walls are is found by attacking them at every start, on whatever machine this is (promise 8)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from attack_kit import wait_for
from patience import PATIENCE_S
from services import missing
from situations import ROOT, SITUATIONS, command, lacking

from executor.client import SessionClient
from executor.launch import running_host
from executor.sandbox import landlock, seccomp
from executor.sandbox.privileges import allow_no_new_privileges, drop_capabilities
from executor.sandbox.probe import attack_code, read_findings
from executor.sandbox.root import system_paths
from executor.values import Limits, Sandbox

LEVELS = {
    "as-it-is": "strong",
    "read-only-cgroups": "strong",
    "masked-proc": "strong",
    "bare-container": "reduced",
    "ordinary-user": "strong",
    "ordinary-user-masked-proc": "strong",
    "ordinary-user-in-a-container": "reduced",
    "our-container": "strong",
    "our-systemd-unit": "strong",
    "ordinary-user-no-user-namespaces": "reduced",
    "ordinary-user-refused": "reduced",
}
OFF = {
    "as-it-is": "",
    "read-only-cgroups": "cgroup",
    "masked-proc": "",
    "bare-container": "namespaces, private root, identity, cgroup",
    "ordinary-user": "cgroup",
    "ordinary-user-masked-proc": "cgroup",
    "ordinary-user-in-a-container": "namespaces, private root, identity, cgroup",
    "our-container": "cgroup",
    "our-systemd-unit": "cgroup",
    "ordinary-user-no-user-namespaces": "namespaces, private root, identity, cgroup",
    "ordinary-user-refused": "namespaces, private root, identity, cgroup",
}
"""The layers that are off in each situation, where root plays it on a machine that has them all."""
CHOSEN = "allow-list"
"""A layer that a team switches on. No machine lacks it."""

SECOND_FILE = """
import os
import matplotlib.pyplot as plt
import pandas as pd
pd.DataFrame({"a": [1, 2]}).plot(title="lazy imports find their files")
print(1 + 1)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user may enter and write, which pytest's own are not."""
    made = Path(tempfile.mkdtemp(prefix="threadbook-attack-"))
    made.chmod(0o777)
    yield made
    shutil.rmtree(made, ignore_errors=True)


def threadbook(situation: str, folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command of ours in a situation, as a person does."""
    if why := lacking(situation):
        missing(why, f"{situation} cannot be played by this user")
    home = folder / "home"
    home.mkdir(exist_ok=True)
    home.chmod(0o777)
    variables: Mapping[str, str] = {"PATH": os.environ["PATH"], "THREADBOOK_HOME": str(home), **environment}
    return subprocess.run(
        command(situation, sys.executable, "-m", "threadbook", *words),
        cwd=ROOT,
        env=dict(variables),
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_S,
        check=False,
    )


def whole_machine(sandbox: Sandbox) -> None:
    """These tests play other machines on one that has every layer."""
    for layer, state in sandbox.layers.items():
        if layer != CHOSEN and not state.startswith("on"):
            missing(f"the sandbox layer {layer!r}", state)


@pytest.mark.parametrize("situation", SITUATIONS)
def test_on_every_kind_of_machine_a_file_runs_and_the_level_is_said(
    sandbox: Sandbox, folder: Path, situation: str
) -> None:
    whole_machine(sandbox)
    cell = folder / "cell.py"
    cell.write_text(SECOND_FILE)
    ran = threadbook(situation, folder, "run", str(cell), "--json")
    outcome = json.loads(ran.stdout)
    assert (outcome["cells"][0]["status"], outcome["cells"][0]["stdout"]) == ("ok", "2\n"), ran.stderr
    assert [file["name"] for file in outcome["cells"][0]["artifacts"]] == ["lazy-imports-find-their-files.png"]
    found = outcome["sandbox"]
    assert found["level"] == LEVELS[situation], ran.stderr
    off = [layer for layer, state in found["layers"].items() if layer != CHOSEN and not state.startswith("on")]
    assert ", ".join(off) == OFF[situation]
    assert found["layers"]["attacks at start"] == "on: 17 of 17 held"


@pytest.mark.parametrize("situation", ["as-it-is", "ordinary-user", "ordinary-user-refused", "bare-container"])
def test_the_doctor_says_of_each_layer_whether_it_is_on_what_it_stops_and_how_to_get_it(
    sandbox: Sandbox, folder: Path, situation: str
) -> None:
    whole_machine(sandbox)
    found = sandbox_finding(threadbook(situation, folder, "doctor", "--json"))
    rows = {row["layer"]: row for row in found["layers"]}
    assert list(rows) == list(sandbox.layers)
    assert all(row["stops"] for row in rows.values())
    assert rows[CHOSEN]["state"] == "off"
    assert ", ".join(name for name, row in rows.items() if row["fix"] and name != CHOSEN) == OFF[situation]
    assert all(not row["state"].startswith("on") for row in rows.values() if row["fix"])
    strong = LEVELS[situation] == "strong"
    assert found["state"] == ("ok" if strong else "note")
    assert found["what"].startswith(f"level {LEVELS[situation]}")
    if not strong:
        assert "needs 'strong'" in found["fix"]
        assert "Operation not permitted" in rows["namespaces"]["state"]
    table = threadbook(situation, folder, "doctor", COLUMNS="160").stdout
    assert all(f"│ {layer} " in table for layer in rows)


def sandbox_finding(doctor: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    return next(finding for finding in json.loads(doctor.stdout) if finding["part"] == "Sandbox")


REAL_SLACK = {"SLACK_API_URL": "https://slack.com/api/", "SLACK_BOT_TOKEN": "xoxb-0", "SLACK_APP_TOKEN": "xapp-0"}
NO_SLACK = {"HTTPS_PROXY": "http://127.0.0.1:9"}
"""Slack cannot be asked whether the token is right."""


def test_a_service_on_real_slack_does_not_start_behind_weaker_walls_than_configured(
    sandbox: Sandbox, folder: Path, redis_url: str
) -> None:
    whole_machine(sandbox)
    configured = {"REDIS_URL": redis_url, "THREADBOOK_CONFIG": str(folder / "threadbook.toml"), **REAL_SLACK}
    configured |= NO_SLACK
    (folder / "threadbook.toml").write_text('[sandbox]\nminimum = "strong"\n')
    refused = threadbook("bare-container", folder, "worker", **configured)
    assert refused.returncode == 1
    assert "the sandbox on this node is 'reduced', [sandbox] minimum in threadbook.toml is 'strong'" in refused.stderr
    assert "`threadbook doctor` says which layer is missing" in refused.stderr


@pytest.mark.parametrize(
    ("situation", "minimum"),
    [("bare-container", "reduced"), ("masked-proc", "strong"), ("read-only-cgroups", "strong")],
)
def test_a_service_on_real_slack_starts_behind_walls_as_strong_as_configured(
    sandbox: Sandbox, folder: Path, redis_url: str, situation: str, minimum: str
) -> None:
    whole_machine(sandbox)
    (folder / "threadbook.toml").write_text(f'[sandbox]\nminimum = "{minimum}"\n')
    home = folder / "home"
    process = subprocess.Popen(
        command(situation, sys.executable, "-m", "threadbook", "worker"),
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "REDIS_URL": redis_url, "THREADBOOK_HOME": str(home)}
        | {"THREADBOOK_CONFIG": str(folder / "threadbook.toml"), **REAL_SLACK, **NO_SLACK},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert wait_for(lambda: (home / "worker.ready").exists() or process.poll() is not None)
        assert process.poll() is None
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


@pytest.mark.parametrize(
    ("without", "level"),
    [(("seccomp",), "none"), (("landlock",), "none"), (("namespaces",), "reduced"), (("cgroup",), "strong")],
)
def test_a_wall_that_is_left_out_lowers_the_level(sandbox: Sandbox, without: tuple[str, ...], level: str) -> None:
    if sandbox.level != "strong":
        missing("the sandbox layer 'namespaces'", sandbox.layers["namespaces"])
    with running_host(limits=Limits(), without=without) as client:
        found = client.ping().sandbox
        assert found.level == level
        assert all(found.layers[name].startswith("off") for name in without)


NEEDS = {"cut a file of the host to nothing": 3, "end a process of the host": 6}
"""Attack of the probe → the version of Landlock that stops it, where there are no namespaces."""


@pytest.mark.parametrize("attack", NEEDS)
def test_each_version_of_landlock_stops_what_the_table_of_kernels_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, attack: str
) -> None:
    """An older kernel is played by asking this one for no more than that one knows."""
    if landlock.version() < 6:
        missing("Landlock's version 6", f"this kernel has version {landlock.version()}")
    canary = tmp_path / "canary"
    for version in range(1, 7):
        canary.unlink(missing_ok=True)  # another attack changed its mode
        canary.write_text("a file of the host")
        monkeypatch.setattr(landlock, "version", lambda version=version: version)
        held = walled_by_landlock(attack_code(canary, os.getpid()))[attack] == "held"
        assert held == (version >= NEEDS[attack]), version


@pytest.mark.parametrize("lacks", ["fchmod", ""])
def test_the_probe_finds_a_filter_that_forgets_modes_changed_by_a_descriptor(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lacks: str
) -> None:
    """For a file that a session may read, a descriptor to read it by is enough, and no other wall stands in the way."""
    if not {Path(file).stat().st_uid for file in (sys.executable, os.__file__)} & {os.geteuid()}:
        missing("an interpreter of this user's own", "the mode of another user's is not ours to change")
    fewer = {" ".join(call for call in calls.split() if call != lacks): n for calls, n in seccomp.METADATA.items()}
    monkeypatch.setattr(seccomp, "METADATA", fewer)
    (tmp_path / "canary").write_text("a file of the host")
    found = walled_by_landlock(attack_code(tmp_path / "canary", os.getpid()), filtered=True)
    others = (
        found.pop("change the mode of a file that may be read"),
        found["change what is known of a file of the host"],
    )
    assert ["held" if got == "held" else "changed" for got in others] == ["changed" if lacks else "held", "held"]


def walled_by_landlock(code: str, *, filtered: bool = False) -> dict[str, str]:
    """What the probe finds in a process with this one wall, or with the filter of system calls besides."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.dup2(writer, 1)
            allow_no_new_privileges()
            drop_capabilities()
            sys.stdout = os.fdopen(1, "w", closefd=False)
            landlock.restrict(system_paths(), [], ())
            if filtered:
                seccomp.install(execute=False, counted=True, own_root=False)
            exec(code, {})
            sys.stdout.flush()
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as lines:
        found = read_findings(lines.read())
    os.waitpid(child, 0)
    return found


def test_memory_that_nobody_counts_lowers_the_level(sandbox: Sandbox) -> None:
    """The watcher is put to the test at every start: without the wall that refuses what it cannot count, it fails."""
    with running_host(limits=Limits(), without=("namespaces", "landlock", "seccomp", "cgroup")) as client:
        found = client.ping().sandbox
        assert "hold memory that processes share: 16 MB, not counted" in found.layers["attacks at start"]


def test_a_root_who_may_not_mount_is_told_that_another_machine_cannot_be_played() -> None:
    if why := lacking("bare-container"):
        missing(why, "a bare container cannot be played by this user")
    inside = command("bare-container", *command("ordinary-user", "true"))
    ran = subprocess.run(inside, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (ran.returncode, ran.stderr) == (0, "ordinary-user is left out: this needs a root who may mount\n")


def test_a_host_leaves_no_cgroup_behind() -> None:
    with running_host() as client:
        client.run("t", "1", "1")
        name = f"threadbook-{client.ping().pid}"
    # Other groups come and go meanwhile: os.walk passes over what has just gone.
    assert [folder for folder, below, _ in os.walk("/sys/fs/cgroup") if name in below] == []


def test_a_host_that_stops_with_sessions_alive_has_nothing_to_complain_about(capfd: pytest.CaptureFixture[str]) -> None:
    with running_host() as client:
        busy = "import os, time\nfor turn in range(4):\n    if os.fork() == 0: time.sleep(600)\nprint('up')"
        assert [client.run(f"t{number}", "1", busy).stdout for number in range(4)] == ["up\n"] * 4
    complaints = [line for line in capfd.readouterr().err.splitlines() if "refuses" not in line]
    assert complaints == []


def test_a_probe_that_finds_nothing_gives_its_reason(walled: SessionClient, sandbox: Sandbox) -> None:
    """No line of the table, and so none of the log that it is made of, ends in an empty reason."""
    assert not any(state.endswith("()") or state.endswith(": ") for state in sandbox.layers.values())
