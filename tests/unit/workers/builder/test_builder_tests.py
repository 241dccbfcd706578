"""Tests are requirements: run as data, written as a file, tried on broken programs, made of words."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from builder_kit import LocalWalls, build, code, model, reply

from workers.builder.build import Builder
from workers.builder.build_state import Order
from workers.builder.history.iterations import History
from workers.builder.requirements.components import plan
from workers.builder.requirements.requirement import Case, Expected, RunTable, read
from workers.builder.sandbox.walls import Job, Ran
from workers.builder.testing.cases import faults, job_of
from workers.builder.testing.mutation import mutants
from workers.turn.prompts import load_prompts

pytestmark = pytest.mark.process

PLAIN = "[file]\nname='p'\nlanguage='LANG'\n[project]\nrequirements='x'\n"
JUDGE_OFF = "[build]\nwithout=['coverage','review','lint','types']\n"


def case(**fields: object) -> Case:
    return Case.model_validate({"name": "t", **fields})


def wrong(one: Case, program: str, language: str = "python") -> list[str]:
    component = plan(read(PLAIN.replace("LANG", language))).entry
    job = job_of(one, component, {component.main_file: program}, RunTable(timeout_s=5), observed=False)
    walls = LocalWalls()
    return faults(one, walls.run(job), walls)


def test_a_test_looks_at_output_error_exit_code_and_files() -> None:
    program = "import sys\nopen('o.csv','w').write('a,b\\n')\nprint('one ')\nprint('bad', file=sys.stderr)\nsys.exit(3)"
    seen = {"stdout": "one", "stderr_contains": ["bad"], "exit_code": 3, "files": {"o.csv": "a,b"}}
    assert wrong(case(expect=seen), program) == []
    assert wrong(case(expect={**seen, "exit_code": 0}), program) == ["exit code 3, expected 0. bad"]
    assert wrong(case(expect={"exit_code": 3, "files": {"x.csv": ""}}), program) == ["it left no file x.csv"]
    assert wrong(case(expect={"exit_code": 3, "stdout_matches": "^two"}), program) != []


def test_a_test_without_an_exit_code_expects_zero() -> None:
    assert wrong(case(), "raise SystemExit(1)") == ["exit code 1, expected 0."]


def test_a_test_gives_arguments_input_files_and_variables() -> None:
    program = "import os, sys\nprint(sys.argv[1:], sys.stdin.read(), open('in.txt').read(), os.environ['UNIT'])"
    given = case(arguments=["a b", "$HOME"], stdin="x", files={"in.txt": "y"}, environment={"UNIT": "EUR"})
    expected = given.model_copy(update={"expect": Expected(stdout="['a b', '$HOME'] x y EUR")})
    assert wrong(expected, program) == []


def test_a_call_compares_a_value() -> None:
    program = "def double(value):\n    print('noise')\n    return [value, value]"
    assert wrong(case(call="double('x')", expect={"value": ["x", "x"]}), program) == []
    assert wrong(case(call="double('y')", expect={"value": ["x"]}), program) == [
        'it gave \'["y", "y"]\', expected \'["x"]\''
    ]


def test_fakes_stand_for_modules_and_commands_that_need_the_network() -> None:
    module = case(fakes={"somewebpackage": "def get(url): return url.upper()"}, expect={"stdout": "HTTP://X"})
    assert wrong(module, "import somewebpackage\nprint(somewebpackage.get('http://x'))") == []
    command = case(fakes={"curl": '{"answer": 42}\n'}, expect={"stdout": '{"answer": 42}'})
    assert wrong(command, "curl -s https://example.org | cat", "bash") == []


def test_a_run_that_was_stopped_is_a_failure() -> None:
    assert faults(case(), Ran("timeout", None, why="it did not end within 5 s"), LocalWalls()) == [
        "it was stopped (timeout): it did not end within 5 s"
    ]


def test_broken_programs_have_one_fault_each_and_begin_with_the_empty_one() -> None:
    component = plan(read(PLAIN.replace("LANG", "python"))).entry
    program = "def f(a):\n    if a < 3:\n        return a + 1\n    return 0\n\nprint(f(1))\n"
    made = mutants(component, {"p.py": program}, 50)
    assert made[0].what == "the file does nothing"
    assert {one.what for one in made[1:]} == {
        "a comparison is turned round",
        "a number is one more",
        "a condition is negated",
        "a result is left out",
        "an operator is another one",
    }
    assert len({one.text for one in made}) == len(made)
    assert len(mutants(component, {"p.py": program}, 4)) == 4
    assert mutants(component, {"p.py": program}, 0) == ()


def test_tests_that_let_broken_programs_pass_are_told(tmp_path: Path) -> None:
    text = PLAIN.replace("LANG", "python") + JUDGE_OFF + "[[tests.case]]\nname='it runs'\n"
    program = "import sys\n\nif len(sys.argv) > 1:\n    print(1)"
    iteration = build(tmp_path, text, model([reply("", code("p.py", program))])).iteration
    assert iteration.mutation.found == 0
    assert "p.py:1: the file does nothing" in iteration.mutation.survivors
    assert "* not found: p.py:3" in (tmp_path / "README.md").read_text()


def test_tests_in_words_become_cases_that_have_to_find_broken_programs(tmp_path: Path) -> None:
    text = PLAIN.replace("LANG", "python") + JUDGE_OFF + "[tests]\nprose='Two numbers give their sum.'\nmutants=6\n"
    weak = {"cases": [{"name": "it runs", "arguments": ["1", "2"]}]}
    strong = {"cases": [{"name": "a sum", "arguments": ["1", "2"], "expect": {"stdout": "3"}}]}
    replies = model(
        [
            reply("Broken programs that pass", json.dumps(strong)),
            reply("# Tests of", json.dumps(weak)),
            reply("# Component `p`", code("p.py", "import sys\n\nprint(int(sys.argv[1]) + int(sys.argv[2]))")),
        ]
    )
    iteration = build(tmp_path, text, replies).iteration
    assert [one.name for one in iteration.cases] == ["it runs", "a sum"]
    assert iteration.mutation.tried == iteration.mutation.found > 2


def test_a_further_test_that_the_program_fails_is_left_out_and_named(tmp_path: Path) -> None:
    text = PLAIN.replace("LANG", "python") + JUDGE_OFF + "[tests]\nprose='Two numbers give their sum.'\nmutants=6\n"
    weak = {"cases": [{"name": "it runs", "arguments": ["1", "2"]}]}
    sums = [{"name": n, "arguments": [n, "2"], "expect": {"stdout": str(int(n) + 2)}} for n in ("1", "0")]
    replies = model(
        [
            reply("Broken programs that pass", json.dumps({"cases": sums})),
            reply("# Tests of", json.dumps(weak)),
            reply("# Component `p`", code("p.py", "import sys\n\nprint(int(sys.argv[1]) and int(sys.argv[1]) + 2)")),
        ]
    )
    iteration = build(tmp_path, text, replies).iteration
    assert [one.name for one in iteration.cases] == ["it runs", "1"]
    assert iteration.mutation.left_out == ("0",)
    assert "* left out: the test “0”" in (tmp_path / "README.md").read_text()


def test_a_whole_program_is_handed_over_without_the_further_tests_that_a_model_owes(tmp_path: Path) -> None:
    text = PLAIN.replace("LANG", "python") + JUDGE_OFF + "[tests]\nprose='It prints x.'\nmutants=1\n"
    weak = {"cases": [{"name": "it runs", "expect": {"exit_code": 0}}]}
    replies = [
        reply("Broken programs that pass", "I cannot think of any."),
        reply("# Tests of", json.dumps(weak)),
        reply("# Component `p`", code("p.py", "print('x')")),
    ]
    iteration = build(tmp_path, text, model(replies)).iteration
    assert (iteration.state, iteration.mutation.tried, iteration.mutation.found) == ("passed", 1, 0)
    assert (tmp_path / "p.py").exists()


@pytest.mark.parametrize("forged", [{"files": {"p.py": "print('x')"}}, {"fakes": {"../p": "print('x')"}}])
def test_a_model_s_test_of_something_else_than_the_program_is_refused(tmp_path: Path, forged: dict[str, Any]) -> None:
    text = PLAIN.replace("LANG", "python") + JUDGE_OFF + "[tests]\nprose='It prints x.'\nmutants=0\n"
    cheat = {"cases": [{"name": "it prints", "covers": ["R1"], "expect": {"stdout": "x"}, **forged}]}
    honest = {"cases": [{"name": "it prints", "covers": ["R1"], "expect": {"stdout": "x"}}]}
    replies = [
        reply("Your last reply could not be used", json.dumps(honest)),
        reply("# Tests of", json.dumps(cheat)),
        reply("# Component `p`", code("p.py", "print('wrong')")),
    ]
    assert build(tmp_path, text, model(replies), rounds=0).iteration.state == "failed"


def test_generated_tests_that_cannot_be_read_are_asked_for_once_more(tmp_path: Path) -> None:
    text = PLAIN.replace("LANG", "python") + JUDGE_OFF + "[tests]\nprose='It prints x.'\nmutants=0\n"
    replies = [
        reply("cases.0.expct", '{"cases": [{"name": "x", "expect": {"stdout": "x"}}]}'),
        reply("# Tests of", '{"cases": [{"name": "x", "expct": {}}]}'),
        reply("# Component `p`", code("p.py", "print('x')")),
    ]
    assert build(tmp_path, text, model(replies)).iteration.state == "passed"


def test_a_build_that_is_stopped_runs_none_of_the_tests_that_are_left(tmp_path: Path) -> None:
    cases = "".join(f"[[tests.case]]\nname='t{n}'\nexpect={{stdout='x'}}\n" for n in range(9))
    text, walls = PLAIN.replace("LANG", "python") + JUDGE_OFF + cases, LocalWalls()
    begun: list[Job] = []

    def wanted() -> bool:
        begun[:] = [job for job in walls.jobs if job.words == ("python", "p.py")]
        return len(begun) < 2

    builder = Builder(
        model=model([reply("", code("p.py", "print('x')"))]),
        prompts=load_prompts(),
        walls=walls,
        history=History(tmp_path),
        wanted=wanted,
    )
    assert builder.build(Order(read(text, "p.toml"), text)).state == "stopped"
    assert len(begun) == 2


def test_the_test_file_runs_with_python_alone(tmp_path: Path) -> None:
    text = PLAIN.replace("LANG", "bash") + JUDGE_OFF
    text += '[[tests.case]]\nname="it says \\"hi\\" $HOME"\narguments=["a"]\nexpect={stdout="hi a"}\n'
    build(tmp_path, text, model([reply("", code("p.sh", 'echo "hi $1"', "bash"))]))
    words = [sys.executable, "-I", "tests/test_p.py"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, 'ok     it says "hi" $HOME\n1 of 1 tests pass\n')
    (tmp_path / "p.sh").write_text("echo no")
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "FAILED" in done.stdout
