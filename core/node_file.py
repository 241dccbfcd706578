"""The owner of a home folder: the node's name, and the instance of its worker service that announced itself last.

The name stays with the folder: a container that comes back on the same volume with a new hostname is the same node, and
its threads find their variables. A copied folder is recognised, because it is not at the place where it was written.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_MAX_NAME = 100


@dataclass(frozen=True, slots=True)
class NodeFile:
    """What stands in a home's file. `is_original`: it was written here, on this machine, since it was last booted."""

    name: str
    instance: str
    is_original: bool


def node_file(home: Path) -> Path:
    """The file of a home folder."""
    return home / "node.json"


def read_node_file(home: Path) -> NodeFile | None:
    """What the home's file says; None when there is none, or none that can be read."""
    try:
        written = json.loads(node_file(home).read_bytes())
        name, instance, place = written["name"], written["instance"], written["place"]
    except (OSError, ValueError, TypeError, KeyError):
        return None
    if not (isinstance(name, str) and isinstance(instance, str) and 0 < len(name) <= _MAX_NAME):
        return None
    return NodeFile(name, instance, is_original=place == _place(node_file(home)))


def write_node_file(home: Path, name: str, instance: str) -> None:
    """Let the home belong to this node and this instance. Raises OSError."""
    fresh = home / "node.json.new"
    fresh.touch(mode=0o600)
    fresh.write_text(json.dumps({"name": name, "instance": instance, "place": _place(fresh)}), encoding="utf-8")
    fresh.replace(node_file(home))


def _place(path: Path) -> list[str]:
    """Differs on a copy of the file, on another machine, and after a restart of the machine."""
    status, boot = path.stat(), ""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return [str(status.st_dev), str(status.st_ino), boot]
