"""The playground's README and its doors name the same things."""

from __future__ import annotations

import re
from pathlib import Path

import playground
from playground.api.registry import METHODS
from playground.control import ROUTES

README = (Path(playground.__file__).parent / "README.md").read_text()


def test_every_method_is_in_the_readme_and_no_other() -> None:
    named = re.findall(r"`([a-z]+(?:\.[a-zA-Z]+)+)`", README.partition("Socket Mode:")[0])
    assert sorted(set(named) - {"playground.serve"}) == sorted(METHODS)


def test_every_control_door_is_in_the_readme_and_no_other() -> None:
    table = README.partition("## Control")[2]
    named = set(re.findall(r"`(GET|POST|PATCH|DELETE) (/[^?`]*)", table))
    offered = {(verb, route.path) for route in ROUTES for verb in (route.methods or set()) - {"HEAD"}}
    assert named == offered
