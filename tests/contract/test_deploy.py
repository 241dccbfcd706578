"""The files of `deploy/` agree with the product: its settings, its metrics, its ports and the time that it takes."""

from __future__ import annotations

import ast
import fnmatch
import functools
import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from own_code import ROOT, files, nodes_of

from core.settings import environment_names
from workers.service.supervisor import STOP_S

DEPLOY = ROOT / "deploy"
KINDS = {
    "Counter": ("_total",),
    "CounterMetricFamily": ("_total",),
    "Gauge": ("",),
    "Histogram": ("_bucket", "_count", "_sum"),
    "SummaryMetricFamily": ("_count", "_sum"),
}
NAME = re.compile(r"\bthreadbook_[a-z_]+")
OF_PROMETHEUS = {"job", "instance", "le"}


@functools.cache
def metrics() -> dict[str, set[str]]:
    """Series → labels, of everything that our processes show."""
    found: dict[str, set[str]] = {}
    for _, node in nodes_of(files("core", "workers", "bot"), KINDS.keys()):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id not in KINDS:
            continue
        texts = [part for part in ast.walk(node) if isinstance(part, ast.Tuple | ast.List)]
        labels = {
            each.value
            for part in texts
            for each in part.elts
            if isinstance(each, ast.Constant)
            if isinstance(each.value, str)
        }
        if node.args and isinstance(node.args[0], ast.Constant):
            found |= {f"{node.args[0].value}{ending}": labels for ending in KINDS[node.func.id]}
    return found


def expressions() -> Iterator[tuple[str, str]]:
    rules = yaml.safe_load((DEPLOY / "monitoring" / "alerts.yaml").read_text(encoding="utf-8"))
    for group in rules["groups"]:
        for rule in group["rules"]:
            yield rule["alert"], rule["expr"]
    board = json.loads((DEPLOY / "monitoring" / "grafana-dashboard.json").read_text(encoding="utf-8"))
    for panel in board["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]


def test_alerts_and_dashboard_ask_only_for_metrics_that_we_show_by_labels_that_these_have() -> None:
    known = metrics()
    assert {"threadbook_turns_total", "threadbook_restores_total", "threadbook_session_seconds_sum"} <= known.keys()
    for title, expression in expressions():
        names = set(NAME.findall(expression))
        assert names <= known.keys(), title
        has = OF_PROMETHEUS.union(*(known[name] for name in names))
        asked = {label.strip() for part in re.findall(r"by \(([^)]*)\)", expression) for label in part.split(",")}
        asked |= set(re.findall(r"(\w+)=~?\"", expression)) | set(re.findall(r"(\w+)!=\"", expression))
        assert asked <= has, title


def test_every_metric_is_on_the_dashboard() -> None:
    shown = {name for _, expression in expressions() for name in NAME.findall(expression)}
    families = {re.sub(r"_(total|bucket|count|sum)$", "", name) for name in metrics()}
    assert families - {re.sub(r"_(total|bucket|count|sum)$", "", name) for name in shown} == set()


def test_panels_have_ids_of_their_own_and_do_not_overlap() -> None:
    panels = json.loads((DEPLOY / "monitoring" / "grafana-dashboard.json").read_text(encoding="utf-8"))["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    squares = [
        (x, y)
        for at in (panel["gridPos"] for panel in panels)
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(set(squares)) == len(squares)


def compose() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    return document


def manifests() -> list[dict[str, Any]]:
    folder = DEPLOY / "kubernetes" / "base"
    return [each for path in sorted(folder.glob("*.yaml")) for each in yaml.safe_load_all(path.read_text()) if each]


def unit(name: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in (DEPLOY / "systemd" / f"threadbook-{name}.service").read_text(encoding="utf-8").splitlines():
        key, is_set, value = line.partition("=")
        if is_set and not line.startswith("#"):
            found.setdefault(key, []).append(value)
    return found


def pods() -> dict[str, dict[str, Any]]:
    """The pod of each workload, by its name."""
    return {each["metadata"]["name"]: each["spec"]["template"]["spec"] for each in manifests() if _has_pods(each)}


def _has_pods(manifest: dict[str, Any]) -> bool:
    return manifest["kind"] in ("Deployment", "StatefulSet")


def test_every_setting_that_is_given_exists() -> None:
    named = {name for service in compose()["services"].values() for name in service.get("environment", {})}
    named |= {entry["name"] for pod in pods().values() for c in pod["containers"] for entry in c.get("env", ())}
    named |= set(re.findall(r"\b[A-Z][A-Z_]+(?==)", (DEPLOY / "Dockerfile").read_text(encoding="utf-8")))
    for name in ("bot", "worker"):
        named |= {word.partition("=")[0] for line in unit(name)["Environment"] for word in line.split()}
    ours = {name for name in named if name.startswith(("THREADBOOK_", "SLACK_", "OPENAI_"))}
    assert len(ours) > 8
    assert ours - environment_names().keys() == set()


def test_the_worker_service_alone_is_given_what_a_team_names_itself() -> None:
    """The URLs of sources and the keys of models have names that only `threadbook.toml` knows."""
    services = compose()["services"]
    assert services["worker"]["env_file"] == [{"path": "../worker.env", "required": False}]
    assert [name for name, service in services.items() if "env_file" in service] == ["worker"]
    assert "worker.env" in (DEPLOY.parent / ".gitignore").read_text(encoding="utf-8").split()


def test_whoever_stops_a_worker_gives_it_the_time_that_it_takes() -> None:
    assert int(compose()["services"]["worker"]["stop_grace_period"].removesuffix("s")) > STOP_S
    assert pods()["threadbook-worker"]["terminationGracePeriodSeconds"] > STOP_S
    assert int(unit("worker")["TimeoutStopSec"][0]) > STOP_S
    assert unit("worker")["KillMode"] == ["mixed"]


def test_the_ports_of_the_health_pages_are_the_same_everywhere() -> None:
    image = dict(re.findall(r"(THREADBOOK_\w+_PORT)=(\d+)", (DEPLOY / "Dockerfile").read_text(encoding="utf-8")))
    assert image == {"THREADBOOK_BOT_HEALTH_PORT": "9101", "THREADBOOK_WORKER_HEALTH_PORT": "9102"}
    for name in ("bot", "worker"):
        port = image[f"THREADBOOK_{name.upper()}_HEALTH_PORT"]
        assert f"THREADBOOK_{name.upper()}_HEALTH_PORT={port}" in unit(name)["Environment"][0]
        (container,) = pods()[f"threadbook-{name}"]["containers"]
        assert container["ports"] == [{"name": "health", "containerPort": int(port)}]
        assert f'"{name}:{port}"' in (DEPLOY / "monitoring" / "prometheus.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["bot", "worker"])
def test_no_process_of_ours_is_root_or_may_become_it(name: str) -> None:
    assert "USER 10001:10001" in (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    service = compose()["services"][name]
    assert (service["cap_drop"], service["read_only"]) == (["ALL"], True)
    assert "no-new-privileges:true" in service["security_opt"]
    pod = pods()[f"threadbook-{name}"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["automountServiceAccountToken"] is False
    security = container["securityContext"]
    assert (security["allowPrivilegeEscalation"], security["readOnlyRootFilesystem"]) == (False, True)
    assert unit(name)["NoNewPrivileges"] == ["yes"]
    assert unit(name)["CapabilityBoundingSet"] == [""]


def test_a_worker_is_not_restarted_because_slack_or_redis_is_away() -> None:
    """Its restart would end the sessions of all threads."""
    assert "livenessProbe" not in pods()["threadbook-worker"]["containers"][0]


def test_the_image_gets_every_package_and_nothing_of_a_checkout_that_is_secret_or_large() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    wanted = [line[1:] for line in lines if line.startswith("!")]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = project["tool"]["setuptools"]["packages"]["find"]["include"]
    rooms = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    shipped = {room for room in rooms if any(fnmatch.fnmatch(room, pattern) for pattern in packages)}
    assert shipped - set(wanted) == set()
    assert {".env", "threadbook.toml", ".git", ".venv", ".threadbook", "tests"} & set(wanted) == set()
    assert lines[1] == "**"


def test_the_image_has_git_for_the_links_that_people_give() -> None:
    final = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").rpartition("FROM ")[2]
    assert re.search(r"apt-get install .*\bgit\b", final)
    assert final.index("apt-get install") < final.index("USER 10001")
