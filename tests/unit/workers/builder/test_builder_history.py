"""Each build is an iteration: what changed is rebuilt, the rest is kept, and no work by hand is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from builder_kit import build, code, model, reply

from core.errors import ThreadbookError
from workers.builder.build import CannotBuild
from workers.builder.history.handover import differences, go_back
from workers.builder.history.iterations import History, Iteration

TEXT = """
[file]
name = "shop"
language = "python"
[[component]]
name = "prices"
requirements = "Give the price of a thing."
[[component]]
name = "shop"
requirements = "Print the price of the argument."
depends_on = ["prices"]
[[component]]
name = "extra"
requirements = "Print a line."
[tests]
mutants = 0
[build]
without = ["coverage", "review", "lint", "types", "run"]
"""
CONTRACT = '{"components": {"prices": {"exports": [{"name": "price", "signature": "price(thing: str) -> int"}]}}}'
PRICES = "def price(thing):\n    return len(thing)\n\n\n# end\nRATE = 1"
SHOP = "import sys\n\nfrom prices import price\n\nprint(price(*sys.argv[1:2] or ['']))"
FIRST = [
    reply("# Interfaces of", CONTRACT),
    reply("# Component `prices`", code("prices.py", PRICES)),
    reply("# Component `shop`", code("shop.py", SHOP)),
    reply("# Component `extra`", code("extra.py", "print('a line')")),
]


def first(folder: Path) -> Iteration:
    handed = build(folder, TEXT, model(FIRST))
    assert handed.iteration.state == "passed"
    return handed.iteration


def kept(iteration: Iteration) -> dict[str, int]:
    return {one.name: one.kept_from for one in iteration.components}


def test_an_iteration_keeps_requirement_calls_verdicts_and_code(tmp_path: Path) -> None:
    first(tmp_path)
    own = tmp_path / "history" / "iter-1"
    assert (own / "requirement.toml").read_text() == TEXT
    assert len((own / "calls.jsonl").read_text().splitlines()) == 4
    assert (own / "files" / "prices.py").read_text() == PRICES + "\n"
    assert "+++ b/shop.py" in (own / "changes.diff").read_text()
    assert {one.critic for one in first_version(tmp_path).verdicts} >= {"format", "interface", "security"}


def first_version(folder: Path):  # type: ignore[no-untyped-def]
    return History(folder).all()[0].components[0].versions[0]


def test_building_again_asks_the_model_nothing(tmp_path: Path) -> None:
    first(tmp_path)
    handed = build(tmp_path, TEXT, model([]))
    assert (handed.iteration.state, handed.iteration.calls) == ("passed", 0)
    assert kept(handed.iteration) == {"prices": 1, "shop": 1, "extra": 1}


def test_a_changed_requirement_rebuilds_its_component_and_checks_those_above_again(tmp_path: Path) -> None:
    first(tmp_path)
    changed = TEXT.replace("Give the price of a thing.", "Give twice the length of a thing.")
    fresh = PRICES.replace("len(thing)", "2 * len(thing)")
    replies = model([reply("# Interfaces of", CONTRACT), reply("Its code so far", code("prices.py", fresh))])
    handed = build(tmp_path, changed, replies)
    assert kept(handed.iteration) == {"prices": 0, "shop": 1, "extra": 1}
    assert (tmp_path / "prices.py").read_text() == fresh + "\n"


def test_a_changed_interface_rebuilds_what_stands_on_it(tmp_path: Path) -> None:
    first(tmp_path)
    changed = TEXT.replace("Give the price of a thing.", "Give the price of a thing in a currency.")
    contract = CONTRACT.replace("price(thing: str)", "price(thing: str, currency: str)")
    replies = [
        reply("# Interfaces of", contract),
        reply("# Component `prices`", code("prices.py", PRICES.replace("(thing):", "(thing, currency):"))),
        reply("# Component `shop`", code("shop.py", SHOP.replace("['']))", "[''], 'EUR'))"))),
    ]
    assert kept(build(tmp_path, changed, model(replies)).iteration) == {"prices": 0, "shop": 0, "extra": 1}


def test_a_new_test_only_checks_what_is_there(tmp_path: Path) -> None:
    first(tmp_path)
    case = '[[tests.case]]\nname = "length"\ncomponent = "shop"\narguments = ["abc"]\nexpect = { stdout = "3" }\n'
    handed = build(tmp_path, TEXT + case, model([]))
    assert (handed.iteration.state, handed.iteration.calls) == ("passed", 0)
    assert "ok     length" in run_tests(tmp_path)


def run_tests(folder: Path) -> str:
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "tests/test_shop.py"], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.stdout


def test_one_component_can_be_built_anew(tmp_path: Path) -> None:
    first(tmp_path)
    replies = model([reply("# Component `extra`", code("extra.py", "print('another line')"))])
    handed = build(tmp_path, TEXT, replies, only="extra")
    assert kept(handed.iteration) == {"prices": 1, "shop": 1, "extra": 0}


def test_a_component_that_there_is_not_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CannotBuild, match="there are prices, shop, extra"):
        build(tmp_path, TEXT, model([]), only="pries")


class Crash(ThreadbookError):
    """Stands for kill -9: nothing catches it."""


def test_a_build_that_was_cut_off_goes_on_where_it_was(tmp_path: Path) -> None:
    def die(progress) -> None:  # type: ignore[no-untyped-def]
        if progress.kind == "component":
            raise Crash

    with pytest.raises(Crash):
        build(tmp_path, TEXT, model(FIRST), tell=die)
    assert History(tmp_path).all()[0].state == "open"
    handed = build(tmp_path, TEXT, model(FIRST[2:]), resume=True)
    assert (handed.iteration.number, handed.iteration.state) == (1, "passed")
    assert handed.iteration.calls == 4
    assert kept(handed.iteration) == {"prices": 1, "shop": 0, "extra": 0}


def test_what_a_build_took_before_a_crash_counts_against_its_limit(tmp_path: Path) -> None:
    def die(progress) -> None:  # type: ignore[no-untyped-def]
        if progress.kind == "asked":
            raise Crash

    limited = TEXT + "max_calls = 3\n"
    for _ in range(2):  # the call of each was written down, and its component was not
        with pytest.raises(Crash):
            build(tmp_path, limited, model(FIRST), tell=die, resume=True)
    last = build(tmp_path, limited, model(FIRST), resume=True).iteration
    assert (last.number, last.state, last.calls) == (1, "stopped", 3)
    assert "3 calls of the model were made" in last.why
    more = build(tmp_path, limited, model(FIRST[1:]), resume=True).iteration
    assert (more.number, more.state, more.calls) == (1, "passed", 6)  # somebody asked to go on


def test_a_build_that_was_cut_off_before_any_code_does_not_ask_for_the_interfaces_again(tmp_path: Path) -> None:
    cut = build(tmp_path, TEXT + "max_calls = 1\n", model(FIRST)).iteration
    assert (cut.state, cut.components) == ("stopped", ())
    resumed = build(tmp_path, TEXT, model(FIRST[1:]), resume=True).iteration
    assert (resumed.number, resumed.state, resumed.calls) == (1, "passed", 4)


def test_a_change_by_hand_survives_a_rebuild_of_other_lines(tmp_path: Path) -> None:
    first(tmp_path)
    by_hand = (tmp_path / "prices.py").read_text().replace("RATE = 1", "RATE = 2  # by hand")
    (tmp_path / "prices.py").write_text(by_hand)
    changed = TEXT.replace("Give the price of a thing.", "Give twice the length of a thing.")
    fresh = PRICES.replace("len(thing)", "2 * len(thing)")
    replies = model([reply("# Interfaces of", CONTRACT), reply("# Component `prices`", code("prices.py", fresh))])
    handed = build(tmp_path, changed, replies)
    assert (handed.edited, handed.conflicts) == (("prices.py",), ())
    text = (tmp_path / "prices.py").read_text()
    assert "2 * len(thing)" in text
    assert "RATE = 2  # by hand" in text
    assert "+RATE = 2  # by hand" in (tmp_path / "history/iter-2/by-hand.patch").read_text()
    again = build(tmp_path, changed, model([]))
    assert again.edited == ("prices.py",)
    assert "RATE = 2  # by hand" in (tmp_path / "prices.py").read_text()


def test_a_change_by_hand_of_the_same_line_is_a_conflict_and_is_shown(tmp_path: Path) -> None:
    first(tmp_path)
    (tmp_path / "prices.py").write_text(PRICES.replace("len(thing)", "len(thing) + 1") + "\n")
    changed = TEXT.replace("Give the price of a thing.", "Give twice the length of a thing.")
    fresh = PRICES.replace("len(thing)", "2 * len(thing)")
    replies = model([reply("# Interfaces of", CONTRACT), reply("# Component `prices`", code("prices.py", fresh))])
    handed = build(tmp_path, changed, replies)
    assert handed.conflicts == ("prices.py:2:     return len(thing) + 1",)
    assert "2 * len(thing)" in (tmp_path / "prices.py").read_text()


def test_files_of_a_component_that_is_gone_are_removed_unless_somebody_changed_them(tmp_path: Path) -> None:
    first(tmp_path)
    without = TEXT.replace('[[component]]\nname = "extra"\nrequirements = "Print a line."\n', "")
    build(tmp_path, without, model(FIRST))
    assert not (tmp_path / "extra.py").exists()
    other = tmp_path / "other"
    first(other)
    (other / "extra.py").write_text("mine")
    handed = build(other, without, model(FIRST))
    assert (other / "extra.py").read_text() == "mine"
    assert handed.conflicts == ("extra.py: the program no longer has this file",)


def test_one_can_go_back_and_forth(tmp_path: Path) -> None:
    first(tmp_path)
    changed = TEXT.replace("Print a line.", "Print two lines.")
    replies = model(
        [reply("# Interfaces of", CONTRACT), reply("# Component `extra`", code("extra.py", "print('a\\nb')"))]
    )
    build(tmp_path, changed, replies)
    assert "-print('a line')" in differences(History(tmp_path))
    assert '+requirements = "Print two lines."' in differences(History(tmp_path))
    back = go_back(History(tmp_path), 1)
    assert (back.number, (tmp_path / "extra.py").read_text()) == (3, "print('a line')\n")
    assert (tmp_path / "requirement.toml").read_text() == TEXT
    assert build(tmp_path, TEXT, model([])).iteration.calls == 0
    with pytest.raises(FileNotFoundError, match="there is no iteration 9"):
        go_back(History(tmp_path), 9)


def test_who_goes_back_gets_the_readme_and_the_tests_of_that_iteration(tmp_path: Path) -> None:
    case = '[[tests.case]]\nname = "{}"\ncomponent = "extra"\nexpect = {{ stdout = "{}" }}\n'
    before = build(tmp_path, TEXT + case.format("a line is shown", "a line"), model(FIRST)).iteration
    changed = TEXT.replace("Print a line.", "Print a word.") + case.format("a word is shown", "a word")
    replies = [reply("# Interfaces of", CONTRACT), reply("# Component `extra`", code("extra.py", "print('a word')"))]
    after = build(tmp_path, changed, model(replies)).iteration
    assert (before.state, after.state) == ("passed", "passed")
    go_back(History(tmp_path), 1)
    readme, tests = (tmp_path / "README.md").read_text(), (tmp_path / "tests/test_shop.py").read_text()
    assert "Print a line." in readme
    assert "Print a word." not in readme
    assert "a line is shown" in tests


def test_nobody_goes_back_to_a_program_that_was_held_back(tmp_path: Path) -> None:
    first(tmp_path)
    replies = [reply("", code("extra.py", "import os\n\nos.system('ls')"))]
    build(tmp_path, TEXT, model(replies, replies), only="extra", rounds=0)
    with pytest.raises(FileNotFoundError, match="iteration 2 was not handed over"):
        go_back(History(tmp_path), 2)
    assert (tmp_path / "extra.py").read_text() == "print('a line')\n"
