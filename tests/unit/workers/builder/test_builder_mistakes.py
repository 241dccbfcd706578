"""A model makes each typical mistake: what each critic says, what is asked for again, and what is kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from builder_kit import FINE, LocalWalls, build, code, covered, model, reply

from workers.builder.critics.verdicts import Verdict
from workers.builder.history.iterations import BuiltComponent, Iteration
from workers.builder.progress import Progress
from workers.models.base import ModelReply, ModelRequest, OnDelta

pytestmark = pytest.mark.process

GREETER = """
[file]
name = "greet"
language = "python"
[project]
requirements = "Print hello and the first argument."
[tests]
mutants = 0
[[tests.case]]
name = "it greets by name"
arguments = ["Ana"]
covers = ["R1"]
expect = { stdout = "hello Ana\\n" }
"""
RIGHT = 'import sys\n\nprint("hello", sys.argv[1])'
JUDGES = [reply("# Requirements of", covered(("R1", True, "greet.py:3"))), reply("You review code", FINE)]


def versions(iteration: Iteration) -> BuiltComponent:
    return iteration.components[-1]


def verdict(built: BuiltComponent, critic: str, version: int = 1) -> Verdict:
    return next(one for one in built.versions[version - 1].verdicts if one.critic == critic)


def first_then_right(tmp_path: Path, first: str, text: str = GREETER) -> BuiltComponent:
    """The build of a model whose first reply is wrong; the second one is right."""
    replies = model([reply("", first)], [reply("version 2", code("greet.py", RIGHT))], JUDGES)
    handed = build(tmp_path, text, replies)
    assert handed.iteration.state == "passed"
    assert (tmp_path / "greet.py").read_text() == RIGHT + "\n"
    return handed.iteration.components[0]


def test_a_right_program_passes_at_once_and_its_requirement_counts_as_tested(tmp_path: Path) -> None:
    handed = build(tmp_path, GREETER, model([reply("", code("greet.py", RIGHT))], checks=JUDGES))
    built = handed.iteration.components[0]
    assert (handed.iteration.state, len(built.versions), handed.iteration.calls) == ("passed", 1, 3)
    assert [(row.id, row.state, row.where) for row in built.coverage] == [("R1", "tested", "it greets by name")]


def test_code_that_does_not_parse_is_shown_its_line(tmp_path: Path) -> None:
    built = first_then_right(tmp_path, code("greet.py", "import sys\nprint('hello' sys.argv[1])"))
    (found,) = verdict(built, "format").findings
    assert (found.where, found.rule) == ("greet.py:2", "syntax")
    assert [(one.critic, one.state) for one in built.versions[0].verdicts] == [
        ("format", "failed"),
        ("security", "skipped"),
    ]


def test_prose_instead_of_code_is_told_what_is_missing(tmp_path: Path) -> None:
    built = first_then_right(tmp_path, "I would love to help! First, which Python version do you use?")
    assert "has no file `greet.py`" in verdict(built, "format").findings[0].message


def test_half_a_character_in_a_reply_is_replaced_and_breaks_nothing(tmp_path: Path) -> None:
    handed = build(tmp_path, GREETER, model([reply("", code("greet.py", f"{RIGHT}  # \ud83d"))], checks=JUDGES))
    assert handed.iteration.state == "passed"
    assert (tmp_path / "greet.py").read_text() == f"{RIGHT}  # ?\n"


def test_a_wrong_output_names_the_test_and_both_texts(tmp_path: Path) -> None:
    built = first_then_right(tmp_path, code("greet.py", 'import sys\nprint("Hi", sys.argv[1])'))
    found = verdict(built, "tests")
    assert (found.state, found.good, found.total) == ("failed", 0, 1)
    assert "'Hi Ana\\n', expected 'hello Ana\\n'" in found.findings[0].message


def test_a_crash_is_told_with_its_line(tmp_path: Path) -> None:
    built = first_then_right(tmp_path, code("greet.py", 'import sys\n\nprint("hello", sys.argv[9])'))
    assert verdict(built, "tests").findings[0].where == "greet.py:3"


def test_an_unsafe_call_holds_the_program_back_until_it_is_gone(tmp_path: Path) -> None:
    unsafe = 'import os, sys\nos.system("echo hello " + sys.argv[1])'
    built = first_then_right(tmp_path, code("greet.py", unsafe))
    found = verdict(built, "security").findings[0]
    assert (found.severity, found.where, found.rule) == ("high", "greet.py:2", "shell")


def test_a_missing_module_is_named_with_the_files_that_there_are(tmp_path: Path) -> None:
    built = first_then_right(tmp_path, code("greet.py", "from greetings_helper import greet\ngreet()"))
    found = verdict(built, "interface").findings[0]
    assert "`greetings_helper`" in found.message
    assert "(greet.py)" in found.message


def test_a_program_that_never_ends_is_stopped(tmp_path: Path) -> None:
    text = GREETER + "[run]\ntimeout_s = 3\n"  # the right program starts a Python within it, also on a busy machine
    built = first_then_right(tmp_path, code("greet.py", "while True:\n    pass"), text)
    assert "did not end within 3 s" in verdict(built, "tests").findings[0].message


def test_a_reply_that_was_cut_off_is_asked_to_be_shorter(tmp_path: Path) -> None:
    first = reply("", "File: greet.py\n``````python\nimport sys\nprint(", finish="length")
    replies = model([first], [reply("cut off", code("greet.py", RIGHT))], JUDGES)
    assert build(tmp_path, GREETER, replies).iteration.state == "passed"


def test_a_version_that_is_worse_after_a_remark_is_rolled_back(tmp_path: Path) -> None:
    """The judge asks for more, the model breaks what worked, and the working version stays."""
    judge = [reply("# Requirements of", covered(("R1", False, ""))), reply("You review code", FINE)]
    worse = [
        reply("version 2", code("greet.py", 'try:\n    print("hello"\nexcept: pass')),
        reply("thrown away, because it was worse", code("greet.py", 'print("hello")')),
    ]
    told: list[Progress] = []
    text = GREETER + "[build]\nrounds = 2\n"
    handed = build(tmp_path, text, model([reply("", code("greet.py", RIGHT))], worse, judge), tell=told.append)
    built = handed.iteration.components[0]
    assert [version.kept for version in built.versions] == [True, False, False]
    assert (tmp_path / "greet.py").read_text() == RIGHT + "\n"
    assert [one.text.split(":")[0] for one in told if one.kind == "rolled back"] == ["version 2", "version 3"]
    assert handed.iteration.state == "failed"
    assert "R1 is not met" in verdict(built, "coverage").findings[0].message


def test_rounds_end_and_the_best_version_is_handed_over_with_what_is_open(tmp_path: Path) -> None:
    wrong = code("greet.py", 'print("hi")')
    replies = model([reply("", wrong)], [reply("", wrong)], JUDGES)
    handed = build(tmp_path, GREETER + "[build]\nrounds = 1\n", replies)
    assert (handed.iteration.state, len(handed.iteration.components[0].versions)) == ("failed", 2)
    assert "Some checks fail" in (tmp_path / "README.md").read_text()


def test_a_program_that_stays_unsafe_is_not_handed_over(tmp_path: Path) -> None:
    unsafe = code("greet.py", "import sys\n\neval(\"print('hello', sys.argv[1])\")")
    handed = build(tmp_path, GREETER, model([reply("", unsafe)], [reply("", unsafe)], JUDGES))
    assert handed.iteration.state == "held back"
    assert not (tmp_path / "greet.py").exists()
    assert (tmp_path / "history/iter-1/files/greet.py").exists()
    report = (tmp_path / "SECURITY.md").read_text()
    assert "**Held back**" in report
    assert "| high | greet.py:3 | eval |" in report


def test_what_the_requirement_allows_is_told_and_holds_nothing_back(tmp_path: Path) -> None:
    program = "import subprocess, sys\n\nprint('hello', sys.argv[1], flush=True)\nsubprocess.run('true', shell=True)"
    text = GREETER + '[security]\nallow = ["processes"]\n'
    handed = build(tmp_path, text, model([reply("", code("greet.py", program))], checks=JUDGES))
    assert handed.iteration.state == "passed"
    assert "meant, by `[security] allow`" in (tmp_path / "SECURITY.md").read_text()


def test_a_budget_of_calls_stops_the_build_and_keeps_what_there_is(tmp_path: Path) -> None:
    text = GREETER + "[build]\nmax_calls = 1\n"
    handed = build(tmp_path, text, model([reply("", code("greet.py", "x ="))], [reply("", "")], JUDGES))
    assert handed.iteration.state == "stopped"
    assert "max_calls" in handed.iteration.why


LIBRARY = """
[file]
name = "report"
language = "python"
[[component]]
name = "stats"
requirements = "Give the mean of numbers."
[[component]]
name = "report"
requirements = "Print the mean of the arguments."
depends_on = ["stats"]
[tests]
mutants = 0
[[tests.case]]
name = "the mean of two"
arguments = ["1", "3"]
expect = { stdout = "2.0\\n" }
[build]
without = ["coverage", "review"]
"""
CONTRACT = (
    '{"components": {"stats": {"exports": [{"name": "mean", "signature": "mean(values: list[float]) -> float", '
    '"purpose": "their mean"}]}}}'
)
STATS = "def mean(values):\n    return sum(values) / len(values)"
REPORT = "import sys\n\nfrom stats import mean\n\nprint(mean([float(one) for one in sys.argv[1:]]))"


def components(stats: str = STATS, report: str = REPORT, contract: str = CONTRACT) -> list[dict[str, object]]:
    return [
        reply("# Interfaces of", contract),
        reply("# Component `stats`", code("stats.py", stats)),
        reply("# Component `report`", code("report.py", report)),
    ]


def test_components_are_built_in_the_order_of_their_needs(tmp_path: Path) -> None:
    told: list[Progress] = []
    handed = build(tmp_path, LIBRARY, model(components()), tell=told.append)
    assert handed.iteration.state == "passed"
    assert next(one.text for one in told if one.kind == "plan") == "Iteration 1: stats → report"
    assert handed.iteration.contract.of("stats").exports[0].name == "mean"


def test_a_name_of_the_contract_that_is_missing_is_asked_for(tmp_path: Path) -> None:
    wrong = components(stats="def average(values):\n    return sum(values) / len(values)")
    repair = [reply("The contract wants `mean(values: list[float]) -> float`", code("stats.py", STATS))]
    assert build(tmp_path, LIBRARY, model(wrong, repair)).iteration.state == "passed"


def test_parameters_that_differ_from_the_contract_are_asked_for(tmp_path: Path) -> None:
    wrong = components(stats="def mean(values, precision):\n    return round(sum(values) / len(values), precision)")
    repair = [reply("takes (values, precision), the contract says", code("stats.py", STATS))]
    assert build(tmp_path, LIBRARY, model(wrong, repair)).iteration.state == "passed"


def test_a_component_that_uses_what_the_other_does_not_offer_is_told_what_it_offers(tmp_path: Path) -> None:
    wrong = components(report="import stats, sys\n\nprint(stats.average([float(one) for one in sys.argv[1:]]))")
    repair = [reply("stats.py has no `average`. It offers: mean.", code("report.py", REPORT))]
    assert build(tmp_path, LIBRARY, model(wrong, repair)).iteration.state == "passed"


def test_a_test_that_breaks_in_the_component_below_repairs_that_one(tmp_path: Path) -> None:
    wrong = components(stats="def mean(values):\n    return sum(values) / lenght(values)")
    repair = [reply("# Component `stats`, version 2", code("stats.py", STATS))]
    handed = build(tmp_path, LIBRARY, model(wrong, repair))
    assert handed.iteration.state == "passed"
    assert (tmp_path / "stats.py").read_text() == STATS + "\n"


SHARED = """
[file]
name = "show"
[[component]]
name = "rates"
requirements = "Give the rate."
[[component]]
name = "double"
requirements = "Double the rate."
depends_on = ["rates"]
[[component]]
name = "show"
requirements = "Print the rate."
depends_on = ["rates", "double"]
[build]
without = ["coverage", "review"]
rounds = 1
[tests]
mutants = 0
[[tests.case]]
name = "it doubles"
component = "double"
call = "double()"
expect = { value = 4 }
[[tests.case]]
name = "it shows"
expect = { stdout = "3" }
"""
SHARED_CONTRACT = (
    '{"components": {"rates": {"exports": [{"name": "rate", "signature": "rate() -> int"}]}, '
    '"double": {"exports": [{"name": "double", "signature": "double() -> int"}]}}}'
)
RATES = "def rate():\n    return 2\n\n\ndef check():\n    raise ValueError('no')"


def repaired_below(folder: Path, repair: str) -> Iteration:
    """The build of a program whose test breaks in the component `rates`, which gets this repair."""
    first = [
        reply("# Interfaces of", SHARED_CONTRACT),
        reply("# Component `rates`", code("rates.py", RATES)),
        reply(
            "# Component `double`",
            code("double.py", "from rates import rate\n\n\ndef double():\n    return 2 * rate()"),
        ),
        reply(
            "# Component `show`",
            code("show.py", "from rates import check, rate\n\nif rate() != 3:\n    check()\nprint(rate())"),
        ),
    ]
    return build(
        folder, SHARED, model(first, [reply("# Component `rates`, version 2", code("rates.py", repair))])
    ).iteration


def test_a_repair_that_breaks_another_component_is_rolled_back(tmp_path: Path) -> None:
    iteration = repaired_below(tmp_path, RATES.replace("2", "3"))
    assert iteration.state == "failed"
    assert versions(iteration).versions[1].why.startswith("double: tests: The test “it doubles” fails")
    assert iteration.files["rates.py"] == RATES + "\n"


def test_a_repair_that_breaks_the_component_itself_does_not_hide_the_test_that_fails(tmp_path: Path) -> None:
    iteration = repaired_below(tmp_path, f"{RATES}\n\n\nraise SystemExit(5)")
    best = versions(iteration).best
    assert best is not None
    assert [(one.good, one.total) for one in best.verdicts if one.critic == "tests"] == [(0, 1)]


def test_a_contract_that_cannot_be_read_is_asked_for_once_more(tmp_path: Path) -> None:
    replies = components()
    replies[0] = reply("Your last reply could not be used", CONTRACT)
    handed = build(tmp_path, LIBRARY, model([replies[0], reply("# Interfaces of", "Gladly!"), *replies[1:]]))
    assert handed.iteration.state == "passed"


def test_a_program_that_a_person_starts_is_run_even_without_tests(tmp_path: Path) -> None:
    text = "[file]\nname='p'\n[project]\nrequirements='x'\n[build]\nrounds=0\nwithout=['coverage','review']"
    handed = build(tmp_path, text, model([reply("", code("p.py", "import nothing_here_4711"))]))
    assert verdict(handed.iteration.components[0], "run").state == "failed"


def test_a_language_without_tools_here_is_built_and_its_checks_are_skipped_by_name(tmp_path: Path) -> None:
    text = "[file]\nname='p'\nlanguage='go'\n[project]\nrequirements='x'\n[build]\nwithout=['coverage','review']"
    walls = LocalWalls()
    handed = build(tmp_path, text, model([reply("", code("p.go", "package main", "go"))]), walls=walls)
    built = handed.iteration.components[0]
    assert handed.iteration.state == "passed"
    assert verdict(built, "format").note == "gofmt is not installed here"
    assert verdict(built, "run").note == "go is not installed here"
    assert (tmp_path / "p.go").exists()


class PrefixModel:
    """An endpoint that completes the reply which we begin, and stops at the fence."""

    name, native_tools = "prefix", False

    def __init__(self) -> None:
        self.requests: list[ModelRequest] = []

    def complete(self, request: ModelRequest, on_delta: OnDelta) -> ModelReply:
        self.requests.append(request)
        return ModelReply(text=RIGHT)


def test_an_endpoint_that_completes_a_reply_gets_its_beginning_with_the_language_and_a_stop(tmp_path: Path) -> None:
    text = GREETER + "[build]\nprefix = true\nwithout = ['coverage', 'review']\n"
    endpoint = PrefixModel()
    assert build(tmp_path, text, endpoint).iteration.state == "passed"
    (request,) = endpoint.requests
    last = {"role": "assistant", "content": "File: greet.py\n``````python\n", "prefix": True}
    assert (request.messages[-1], request.stop) == (last, ("\n``````",))


def test_a_package_that_the_requirement_names_and_that_is_not_here_is_no_fault(tmp_path: Path) -> None:
    text = (
        "[file]\nname='p'\n[project]\nrequirements='x'\nspecs='from websearch_4711 import search'\n[build]\nrounds=0\n"
    )
    program = "from websearch_4711 import search\nprint(search('x'))"
    handed = build(tmp_path, text + "without=['coverage','review']", model([reply("", code("p.py", program))]))
    built = handed.iteration.components[0]
    assert handed.iteration.state == "passed"
    assert verdict(built, "run").note == "the package websearch_4711 is not installed here"
