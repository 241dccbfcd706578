"""What `threadbook doctor --attack` makes of what a session did; the attacks themselves run in tests/attacks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from core.settings import Settings, load_settings
from executor.attacks import ATTACKS, Attack
from executor.values import CellError, CellResult, HostInfo, Sandbox, SessionInfo
from tryout.commands import attack_check

ONE = {"kind": {"an attack": Attack("tried", "code")}}


class Obliging:
    """A session host on which each attack ends as it is told."""

    def __init__(self, result: CellResult, level: str = "strong", layers: dict[str, str] | None = None) -> None:
        self.result, self.sandbox, self.change = result, Sandbox(level, layers or {}), False
        self.codes: list[str] = []

    def ping(self) -> HostInfo:
        return HostInfo(4711, self.sandbox, 0)

    def sessions(self) -> list[SessionInfo]:
        return [SessionInfo("attacked", 4712, None)]

    def reset(self, thread: str) -> None:
        pass

    def run(self, thread: str, cell: str, code: str) -> CellResult:
        if thread == "attacked":
            return CellResult("x", "ok", stdout="/workspace\n")
        self.codes.append(code)
        if self.change:
            canary = next(line for line in code.splitlines() if line.startswith("CANARY = ")).split("'")[1]
            Path(canary).chmod(0o777)
        return self.result


def check(monkeypatch: pytest.MonkeyPatch, host: Obliging, attacks: Any = ONE) -> attack_check.Check:
    @contextmanager
    def running(**options: Any) -> Iterator[Obliging]:
        yield host

    monkeypatch.setattr(attack_check, "running_host", running)
    monkeypatch.setattr(attack_check, "ATTACKS", attacks)
    monkeypatch.setattr(attack_check, "MEMORY", {})
    return attack_check.attack()


def printed(text: str, **more: Any) -> CellResult:
    return CellResult("x", "ok", stdout=text, **more)


@pytest.mark.parametrize(
    ("result", "state", "why"),
    [
        (printed("held: PermissionError Operation not permitted\n"), "held", "PermissionError Operation not permitted"),
        (printed(""), "held", "it got nowhere"),
        (CellResult("x", "error", error=CellError("OSError", "no", "")), "held", "OSError no"),
        (printed("held: OSError\nBREACHED the key\n"), "breached", "it got through: the key"),
    ],
)
def test_an_attack_is_judged_by_what_its_cell_printed(
    monkeypatch: pytest.MonkeyPatch, result: CellResult, state: str, why: str
) -> None:
    (row,) = check(monkeypatch, Obliging(result)).rows
    assert (row.kind, row.attack, row.tried, row.state, row.why) == ("kind", "an attack", "tried", state, why)


def test_an_attack_that_says_nothing_and_changes_a_file_of_the_service_has_breached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host = Obliging(printed("held: what it says"))
    host.change = True
    (row,) = check(monkeypatch, host).rows
    assert (row.state, row.why) == ("breached", "it got through: a file of the service was changed")


@pytest.mark.parametrize(("layer", "state"), [("off: refused", "not applicable"), ("on: all", "breached")])
def test_what_a_level_does_not_promise_is_no_breach_of_it(
    monkeypatch: pytest.MonkeyPatch, layer: str, state: str
) -> None:
    host = Obliging(printed("BREACHED 1"), "reduced", {"namespaces": layer})
    (row,) = check(monkeypatch, host, {"kind": {"an attack": Attack("tried", "code", needs="namespaces")}}).rows
    assert row.state == state
    assert state == "breached" or row.why == "level 'reduced' does not promise it: it takes namespaces"


def test_every_attack_is_made_and_they_are_forty_and_more(monkeypatch: pytest.MonkeyPatch) -> None:
    host = Obliging(printed(""))
    found = check(monkeypatch, host, ATTACKS)
    named = {(row.kind, row.attack) for row in found.rows}
    assert named == {(kind, name) for kind, attacks in ATTACKS.items() for name in attacks}
    assert len(named) >= 40
    assert all(row.tried for row in found.rows)


def settings(tmp_path: Path, minimum: str) -> Settings:
    (tmp_path / "threadbook.toml").write_text(f'[sandbox]\nminimum = "{minimum}"\n')
    return load_settings({"THREADBOOK_HOME": str(tmp_path / "home")}, tmp_path)


@pytest.mark.parametrize(
    ("state", "level", "minimum", "status"),
    [
        ("held", "strong", "strong", 0),
        ("breached", "strong", "strong", 1),
        ("not applicable", "reduced", "reduced", 0),
        ("held", "reduced", "strong", 1),
    ],
)
def test_the_exit_code_says_whether_something_got_through_or_the_level_is_too_low(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    state: Any,
    level: str,
    minimum: str,
    status: int,
) -> None:
    found = attack_check.Check(level, (attack_check.Row("files", "read [a] key", "open", state, "because"),), 3.0)
    monkeypatch.setattr(attack_check, "attack", lambda advance, **options: found)
    assert attack_check.run(settings(tmp_path, minimum), as_json=True) == status
    told = json.loads(capsys.readouterr().out)
    assert told["rows"] == [
        {"kind": "files", "attack": "read [a] key", "tried": "open", "state": state, "why": "because"}
    ]
    assert (told["level"], told["minimum"]) == (level, minimum)
    monkeypatch.setenv("COLUMNS", "120")
    assert attack_check.run(settings(tmp_path, minimum)) == status
    table = capsys.readouterr().out
    assert "read [a] key" in table
    assert f"1 attacks on a sandbox of level {level!r} in 3 s" in table
    assert ("minimum is 'strong'" in table) == (level == "reduced" and minimum == "strong")
