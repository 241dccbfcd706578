"""What code would touch is told from its text alone, by rules that stand in a table and in the documentation."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.phrases import phrases
from workers.agent.code.risks import LONG_LOOP, RULES, UNREADABLE, touched

PAGE = Path(__file__).parents[5] / "docs" / "working-together.md"


def rules(code: str, language: str = "python") -> list[str]:
    return [finding.rule for finding in touched(code, language).risks]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_finds_its_example_and_no_other_does(rule: object) -> None:
    assert rules(rule.example) == [rule.name]  # type: ignore[attr-defined]


def test_the_documentation_lists_every_rule_and_people_read_each_of_them() -> None:
    page = PAGE.read_text("utf-8")
    assert [name for name in [*(rule.name for rule in RULES), UNREADABLE] if f"| `{name}` |" not in page] == []
    assert {f"risk_{rule.name}" for rule in RULES} | {f"risk_{UNREADABLE}"} <= set(phrases())


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("df.to_csv('../b.csv')", ["outside"]),
        ("df.to_parquet(path='/data/b.parquet')", ["outside"]),
        ("open(f'/tmp/{name}', mode='a')", ["outside"]),
        ("import pathlib\n(pathlib.Path('/tmp') / 'x').write_text('a')", ["outside"]),
        ("from os.path import join\nopen(join('..', 'x'), 'wb')", ["outside"]),
        ("import shutil\nshutil.copy('a.csv', '/data/a.csv')", ["outside"]),
        ("plt.savefig('a/../../b.png')", ["outside"]),
        ("from os import remove as away\naway('x')", ["delete"]),
        ("import shutil as s\ns.rmtree('folder')", ["delete"]),
        ("path.unlink()", ["delete"]),
        ("from pathlib import Path\nPath('a').rename('b')", ["delete"]),
        (f"for i in range({LONG_LOOP}):\n    pass", ["loop"]),
        ("sums = [i for i in range(0, 10 ** 9, 2)]", ["loop"]),
        ("for i in range(int(1e8)): pass", ["loop"]),
        ("while 1:\n    x += 1", ["loop"]),
        ("from subprocess import run\nrun(['ls'])", ["process"]),
        ("import multiprocessing as mp\nmp.Pool(4)", ["process"]),
        ("import pandas as pd\npd.read_csv('https://example.org/a.csv')", ["network"]),
        ("from urllib.request import urlopen\nurlopen(where)", ["network"]),
        ("exec(code)", ["hidden"]),
        ("import os\nos.remove('a')\nos.system('ls')", ["delete", "process"]),
        ("def broken(:", [UNREADABLE]),
    ],
)
def test_what_is_risky_is_found(code: str, found: list[str]) -> None:
    assert rules(code) == found


@pytest.mark.parametrize(
    "code",
    [
        "import pandas as pd\ndf = pd.read_csv('/inputs/sales.csv')\ndf.to_csv('out.csv')",
        "open('notes.txt', 'w').write('a')",
        "open('/inputs/a.txt').read()",
        f"for i in range({LONG_LOOP - 1}):\n    pass",
        "while True:\n    if done():\n        break",
        "df.rename(columns={'a': 'b'}).replace(1, 2)",
        "'a'.replace('a', 'b')",
        "pattern.compile('a')",
        "df.eval('a + b')",
        "print('see https://example.org')",
        "",
    ],
)
def test_plain_analysis_falls_under_no_rule(code: str) -> None:
    assert rules(code) == []


def test_a_command_of_a_shell_is_never_read() -> None:
    assert rules("ls", "bash") == [UNREADABLE]


def test_what_is_read_and_written_is_named_once_each_and_unknown_parts_are_left_open() -> None:
    found = touched(
        "import pandas as pd\na = pd.read_csv('a.csv')\nb = pd.read_csv('a.csv')\n"
        "c = query('select 1', source='shop')\na.to_excel(f'{region}.xlsx')\nopen('log.txt', 'a')\nopen('in.txt')"
    )
    assert found.reads == ("a.csv", "shop", "in.txt")
    assert found.writes == ("….xlsx", "log.txt")


def test_a_finding_names_its_line_and_shows_it() -> None:
    (finding,) = touched("a = 1\nimport os\n\nos.remove('x')  # away").risks
    assert (finding.line, finding.text) == (4, "os.remove('x') # away")


def test_there_are_so_many_findings_and_no_more() -> None:
    assert len(touched("\n".join(["eval(a)"] * 500)).risks) == 20


@given(
    st.text()
    | st.sampled_from(
        ["open(" + "+".join(["'a'"] * 5_000) + ", 'w')", "(" * 500, "for i in range(10 ** 10 ** 10): pass"]
    )
)
def test_no_text_makes_it_raise(code: str) -> None:
    touched(code)
