"""Which version of Threadbook runs here, and which ones run beside it while a team upgrades."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata

UNTOLD = "an older one"
"""The version of a node that does not announce one: no release did before."""


def version() -> str:
    """The version of Threadbook that is installed; "unknown" when it runs without having been installed."""
    try:
        return metadata.version("threadbook")
    except metadata.PackageNotFoundError:
        return "unknown"


def mixed(versions: Mapping[str, str]) -> str:
    """The sentence for an admin when these nodes run several versions, by their names; "" when they run one."""
    if len(set(versions.values())) < 2:
        return ""
    by_version: dict[str, list[str]] = {}
    for node, its_version in sorted(versions.items()):
        by_version.setdefault(its_version, []).append(node)
    named = "; ".join(f"{each} on {', '.join(nodes)}" for each, nodes in sorted(by_version.items()))
    return f"several versions run: {named}"
