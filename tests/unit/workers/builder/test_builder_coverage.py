"""What is known of each requirement follows from the tests that there are and that pass."""

from __future__ import annotations

from pathlib import Path

import pytest
from builder_kit import build, code, model, reply

from workers.builder.history.iterations import Iteration
from workers.builder.requirements.components import covers_nothing, plan
from workers.builder.requirements.requirement import read

TEXT = """
[file]
name = "p"
[project]
requirements = "- Print one.\\n- Print two."
[build]
without = ["coverage", "review", "lint", "types"]
rounds = 0
[tests]
mutants = 0
"""


def case(name: str, covers: str, stdout: str = "x") -> str:
    return f'[[tests.case]]\nname = "{name}"\ncovers = ["{covers}"]\nexpect = {{ stdout = "{stdout}" }}\n'


def known(iteration: Iteration) -> dict[str, tuple[str, str]]:
    return {row.id: (row.state, row.where) for row in iteration.components[0].coverage}


def test_no_requirement_is_tested_by_one_of_many_tests_that_fail(tmp_path: Path) -> None:
    text = TEXT + "".join(case(f"t{n}", f"R{n % 2 + 1}", "y") for n in range(32))
    handed = build(tmp_path, text, model([reply("", code("p.py", "print('x')"))]))
    assert known(handed.iteration) == {"R1": ("unclear", ""), "R2": ("unclear", "")}


@pytest.mark.parametrize("expect", ["{}", "{ exit_code = 0 }", '{ stdout_contains = [""] }'])
def test_a_test_that_every_program_passes_shows_no_requirement(tmp_path: Path, expect: str) -> None:
    hollow = f'[[tests.case]]\nname = "it runs"\ncovers = ["R1"]\nexpect = {expect}\n'
    handed = build(tmp_path, TEXT + hollow, model([reply("", code("p.py", "print('wrong')"))]))
    assert known(handed.iteration)["R1"] == ("unclear", "")
    requirement = read(TEXT + hollow)
    (sentence,) = covers_nothing(plan(requirement), requirement.tests.case)
    assert "'it runs' expects nothing" in sentence


@pytest.mark.parametrize("expect", ['{ stdout = "" }', "{ exit_code = 2 }", '{ stderr_contains = ["usage"] }'])
def test_a_test_that_expects_something_covers_its_requirement(expect: str) -> None:
    requirement = read(TEXT + f'[[tests.case]]\nname = "it runs"\ncovers = ["R1"]\nexpect = {expect}\n')
    assert covers_nothing(plan(requirement), requirement.tests.case) == ()


def test_a_kept_program_is_tested_by_the_tests_that_there_are_now(tmp_path: Path) -> None:
    author = model([reply("", code("p.py", "print('x')"))])
    before = build(tmp_path, TEXT + case("old", "R1"), author).iteration
    after = build(tmp_path, TEXT + case("new", "R2"), author).iteration
    assert known(before)["R1"] == ("tested", "old")
    assert (after.calls, known(after)) == (0, {"R1": ("unclear", ""), "R2": ("tested", "new")})
