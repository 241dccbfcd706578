"""A requirement file is read whole or refused with every fault at its line, column and nearest key."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from workers.builder.requirements.components import covers_nothing, plan
from workers.builder.requirements.requirement import RequirementWrong, read, schema, warnings, with_tests
from workers.builder.requirements.toml_positions import positions

SCHEMA = Path(__file__).parents[4] / "docs" / "requirement.schema.json"
ORIGINAL = """
[file]
name="sorter"
language="bash"
extension="sh"
description="Sorts its arguments"
[project]
requirements="Print the arguments in order, each on its own line."
specs="sort reads lines"
hints='''use "printf", not echo'''
"""


def faults(text: str) -> list[str]:
    with pytest.raises(RequirementWrong) as caught:
        read(text, "p.toml")
    return [str(problem) for problem in caught.value.problems]


def test_a_file_with_the_fields_of_the_original_is_one_component() -> None:
    requirement = read(ORIGINAL, "sorter.toml")
    (only,) = plan(requirement).components
    assert (only.name, only.language.name, only.files) == ("sorter", "bash", ("sorter.sh",))
    assert (only.specs, only.hints) == ("sort reads lines", 'use "printf", not echo')
    assert [one.id for one in only.numbered] == ["R1"]


def test_a_file_without_a_name_is_called_like_the_requirement_file() -> None:
    assert read('[project]\nrequirements = "x"', "quick sort.toml").file.name == "quick_sort"


@pytest.mark.parametrize(
    ("language", "path"),
    [
        ("python", "p.py"),
        ("Bash", "p.sh"),
        ("javascript", "p.js"),
        ("ts", "p.txt"),
        ("golang", "p.go"),
        ("Elm", "p.txt"),
    ],
)
def test_the_file_ending_follows_the_language(language: str, path: str) -> None:
    requirement = read(f'[file]\nname="p"\nlanguage="{language}"\n[project]\nrequirements="x"')
    assert plan(requirement).files == (path,)


def test_every_fault_is_told_with_its_place_and_the_nearest_key() -> None:
    text = """[file]
name = "a"
langauge = "python"
[project]
requirements = ["one", "two"]
[[component]]
name = "x"
depends_on = ["stat"]
[[component]]
name = "stats"
entri = true
[tests]
[[tests.case]]
name = "t"
expect = { stdot = "a", exit_code = 900 }
"""
    assert faults(text) == [
        "3:1: unknown key `file.langauge`; did you mean `language`?",
        "5:1: `requirements` is one text, not a list: write it between triple quotes",
        "11:1: unknown key `component.1.entri`; did you mean `entry`?",
        "15:12: unknown key `tests.case.0.expect.stdot`; did you mean `stdout`?",
        "15:25: `tests.case.0.expect.exit_code`: Input should be less than or equal to 255",
    ]


def test_what_makes_no_sense_together_is_told_with_its_place() -> None:
    text = """[[component]]
name = "a"
requirements = "x"
depends_on = ["b"]
[[component]]
name = "b"
requirements = "x"
depends_on = ["a", "bb"]
[[tests.case]]
name = "t"
call = "f()"
"""
    assert faults(text) == [
        "8:1: b depends on 'bb', which is no component; did you mean `b`?",
        "1:1: components depend on each other in a circle: a → b → a",
        "9:1: the test 't' calls, so it needs `value` under expect",
    ]


def test_a_file_that_is_no_toml_is_refused_at_the_fault() -> None:
    assert faults('[file]\nname = "a\n') == ["2:10: this is no TOML: Illegal character '\\n'"]


@pytest.mark.parametrize(
    "path", ["../out.py", "/etc/passwd", "a/../../b", ".bashrc", "history/x.py", "README.md", "a\\b"]
)
def test_no_file_of_a_program_lies_outside_its_folder(path: str) -> None:
    text = f"[[component]]\nname = 'a'\nrequirements = 'x'\nfiles = ['{path}']"
    assert faults(text)[0].startswith("4:1: `component.0.files.0`")


def test_no_two_components_write_the_same_file() -> None:
    text = "[[component]]\nname='a'\nrequirements='x'\nfiles=['b.py']\n[[component]]\nname='b'\nrequirements='x'\n"
    assert faults(text) == ["5:1: b.py belongs to a already"]


def test_no_program_takes_the_name_of_what_the_builder_writes() -> None:
    own = "[file]\nname='README'\nextension='md'\n[project]\nrequirements='x'\n"
    assert faults(own) == ["2:1: README.md is written by the builder itself"]
    part = "[[component]]\nname='requirements'\nlanguage='text'\nrequirements='x'\n"
    assert faults(part) == ["2:1: requirements.txt is written by the builder itself"]


@pytest.mark.parametrize("name", ["../x", "a/b", "-rf", "a b", "a."])
def test_a_name_that_is_no_file_name_is_refused(name: str) -> None:
    assert faults(f"[file]\nname = '{name}'\n[project]\nrequirements = 'x'")[0].startswith("2:1: `file.name`")


def test_positions_survive_strings_that_look_like_keys() -> None:
    text = '[a]\nx = """\n[b]\ny = 1\n"""\nz = { k = "}", "l m" = [1,\n 2] }\n[[c.d]]\n[[c.d]]\ne.f = 1 # g = 2\n'
    found = positions(text)
    assert found[("a", "z", "l m")] == (6, 16)
    assert found[("c", "d", 1, "e", "f")] == (10, 1)
    assert ("b",) not in found
    assert ("g",) not in found


def test_a_test_that_covers_a_requirement_that_there_is_not_is_told() -> None:
    requirement = read("[project]\nrequirements='One. Two.'\n[[tests.case]]\nname='t'\ncovers=['R2','R3']", "p.toml")
    assert covers_nothing(plan(requirement), requirement.tests.case) == (
        "the test 't' covers R3, and p has 2 requirements",
    )


def test_tests_of_a_further_file_are_added() -> None:
    more = read("[tests]\nprose = 'an empty input'\nmutants = 2\n[[tests.case]]\nname = 'two'", tests_only=True)
    own = read("[project]\nrequirements='x'\n[[tests.case]]\nname = 'one'")
    both = with_tests(own, more).tests
    assert ([case.name for case in both.case], both.prose, both.mutants) == (["one", "two"], "an empty input", 2)


def test_a_language_without_tools_is_a_warning() -> None:
    assert "did you mean `python`?" in warnings(read("[file]\nlanguage='pyton'\n[project]\nrequirements='x'"))[0]


def test_the_schema_is_the_published_one_and_takes_what_the_reader_takes() -> None:
    text = json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        SCHEMA.write_text(text, encoding="utf-8")
    assert SCHEMA.read_text(encoding="utf-8") == text, "UPDATE_GOLDEN=1 writes docs/requirement.schema.json again"
    Draft202012Validator.check_schema(schema())
    valid = Draft202012Validator(schema())
    assert valid.is_valid({"file": {"name": "a"}, "project": {"requirements": "x"}})
    assert not valid.is_valid({"file": {"nam": "a"}})
