"""The prompt names the team's tools as they are called: whoever follows it needs no help() first."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import threadbook_tools

SYSTEM = (Path(__file__).parents[2] / "prompts" / "system.yaml").read_text(encoding="utf-8")
CALLED = re.findall(
    r"([a-z_]+)\(([a-z_,\s]+)\)", SYSTEM[SYSTEM.index("threadbook_tools is at hand") :].split("\n\n")[0]
)


def test_the_prompt_names_tools() -> None:
    assert len(CALLED) >= 12


@pytest.mark.parametrize(("name", "given"), [each for each in CALLED if each[0] != "help"], ids=lambda text: text[:20])
def test_a_tool_of_the_prompt_takes_what_the_prompt_says(name: str, given: str) -> None:
    parameters = inspect.signature(getattr(threadbook_tools, name)).parameters
    named = [word.strip() for word in given.split(",")]
    assert named == list(parameters)[: len(named)]
    assert all(each.default is not inspect.Parameter.empty for each in list(parameters.values())[len(named) :])
