"""A thread's analysis as a command line program: the code behind its report, with its files and values as arguments.

NAME/
  main.py                 reads the arguments, puts the files where the code expects them, keeps what it makes
  analysis.py             the cells behind the report, and no others
  README.md  requirements.txt
  tests/test_program.py   runs it on the thread's files and compares what it gives with the thread's numbers
  tests/data/             those files, while they are small

Nothing of it is written by a model beyond the cells themselves.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import PurePath
from typing import Any

from core.phrases import say
from core.slack.markdown import escape_markdown
from core.steps import CellRan, FileAbstract
from core.values import Language
from workers.agent.code.program import Part
from workers.agent.text import one_line, plain_letters
from workers.delivery.reports.command_line_check import Difference, differences
from workers.delivery.reports.notebook import futures_in, setup_of, variable_of, with_last_shown, without_futures
from workers.delivery.reports.pack import requirements_of, safe_path, zipped

__all__ = ["Difference", "Option", "Program", "differences", "expected", "program_files", "program_zip"]

DATA_BYTES = 5_000_000
"""The thread's files are included for the tests if they are not larger than this together."""
_LINES = 200
_NAME_CHARS = 40
_DRIVERS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "postgres": (("psycopg[binary]",), "postgresql+psycopg://USER:PASSWORD@HOST:5432/DATABASE"),
    "mysql": (("pymysql",), "mysql+pymysql://USER:PASSWORD@HOST:3306/DATABASE"),
    "duckdb": (("duckdb-engine",), "duckdb:///FILE"),
    "sqlite": ((), "sqlite:///FILE"),
}
"""What SQLAlchemy needs to ask a source of a kind, and how its URL looks."""
_RESERVED = frozenset({"out", "out_", "help"})


@dataclass(frozen=True, slots=True)
class Option:
    """A value that differs from one use to the next, with the one of the thread."""

    name: str
    type: str
    value: str | int | float
    meaning: str


@dataclass(frozen=True, slots=True)
class Program:
    """What a program is made from. `parts` have the numbers that people see; `wanted` are the cells whose outputs the
    report uses. `left_out` are lines on cells that are not in it."""

    question: str
    language: Language
    parts: Sequence[tuple[int, Part]]
    wanted: frozenset[str]
    inputs: Sequence[FileAbstract] = ()
    options: Sequence[Option] = ()
    packages: Sequence[str] = ()
    left_out: Sequence[str] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    """The kinds of data sources, by name, as far as they are known."""
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The columns that the code needs of each input."""

    @property
    def name(self) -> str:
        """The folder of the program, of the question's words."""
        words = re.sub(r"[^a-z0-9]+", "-", plain_letters(self.question)).strip("-")
        cut = words[:_NAME_CHARS].rpartition("-")[0] if len(words) > _NAME_CHARS else words
        return cut or "analysis"

    @property
    def asks_sources(self) -> bool:
        """Whether its code sends statements to data sources."""
        return bool(self.sources)

    @property
    def sources(self) -> list[str]:
        """The data sources that its code asks."""
        return list(dict.fromkeys(one.source for _, part in self.parts for one in part.cell.statements))

    @property
    def usage(self) -> str:
        """The command line that runs it on the thread's files."""
        return " ".join(["python main.py", *(shlex.quote(file.path) for file in self.inputs)])


def program_files(program: Program) -> dict[str, str]:
    """The program's code and its tests, by path."""
    arguments = _arguments(program)
    about = {"question": program.question.strip() or "…", "out": say("program_out", program.language)}
    main = {
        "ABOUT: dict[str, str] = {}": about,
        "INPUTS: list[dict[str, Any]] = []": arguments,
        "OPTIONS: list[dict[str, Any]] = []": [
            {"name": one.name, "type": one.type, "value": one.value, "meaning": one.meaning} for one in program.options
        ],
    }
    return {
        "main.py": _filled("command_line_main.py", main),
        "analysis.py": _analysis(program),
        "requirements.txt": requirements_of(
            _analysis(program),
            [file.path for file in program.inputs],
            program.packages,
            [driver for name in program.sources for driver in _DRIVERS.get(program.kinds.get(name, ""), ((), ""))[0]],
        ),
        "tests/test_program.py": _filled("command_line_check.py", {"EXPECTED: dict[str, Any] = {}": expected(program)}),
    }


def program_zip(program: Program, proof: str, data: Mapping[str, bytes]) -> bytes:
    """The whole program; `proof` says what its tests gave, `data` are the thread's files by path."""
    files = {"README.md": _readme(program, proof), **program_files(program)}
    contents = [(f"{program.name}/{path}", text.encode()) for path, text in files.items()]
    if sum(map(len, data.values())) <= DATA_BYTES:
        contents += [
            (f"{program.name}/tests/data/{path}", one) for path, one in data.items() if safe_path(path) == path
        ]
    return zipped(contents)


def expected(program: Program) -> dict[str, Any]:
    """What the thread's own cells gave, for the steps whose outputs the report rests on."""
    steps = [
        {
            "heading": f"# {number}. {_title(part.cell, program.language)}",
            "lines": _numbered_lines(part.cell),
            "table": _table(part.cell, number),
            "charts": _charts(part.cell),
        }
        for number, part in program.parts
        if part.cell.cell_id in program.wanted and part.kept == "whole"
    ]
    return {"inputs": [file.path for file in program.inputs], "steps": steps}


def _arguments(program: Program) -> list[dict[str, Any]]:
    taken = set(_RESERVED) | {one.name for one in program.options}
    found = []
    for file in program.inputs:
        base = re.sub(r"\W+", "_", PurePath(file.path).stem).strip("_").casefold() or "input"
        name, number = base, 2
        while name in taken:
            name, number = f"{base}_{number}", number + 1
        taken.add(name)
        columns = program.columns.get(file.path, ())
        about = one_line(", ".join(columns), 300)
        found.append({"name": file.path, "argument": name, "about": about, "columns": list(columns)})
    return found


def _analysis(program: Program) -> str:
    parts = [part for _, part in program.parts]
    futures = sorted({line for part in parts for line in futures_in(part.code)})
    intro = [f"# {line}".rstrip() for line in program.question.splitlines()]
    intro += ["#", *(f"# {line}" for line in say("program_analysis", program.language).splitlines())]
    blocks = ["\n".join([*intro, *futures]), setup_of(parts, backend='matplotlib.use("Agg")\n')]
    draws = any(part.cell.figures for part in parts)
    for number, part in program.parts:
        title = _title(part.cell, program.language)
        code = without_futures(part.code)
        code = with_last_shown(code, part.cell, "show") if part.kept == "whole" else code
        charts = f"charts({', '.join(map(repr, _charts(part.cell)))})" if draws else ""
        blocks.append("\n".join(filter(None, (f"# %% {number}", f"step({number}, {title!r})", code, charts))))
    return "\n\n".join(block.rstrip() for block in blocks if block.strip()) + "\n"


def _readme(program: Program, proof: str) -> str:
    language = program.language
    options = [f"- `--{one.name.replace('_', '-')}` ({one.value!r}): {one.meaning}" for one in program.options]
    inputs = [f"- `{one['name']}`: {one['about'] or '…'}" for one in _arguments(program)]
    parts = [
        f"# {one_line(escape_markdown(program.question), 200) or '…'}",
        say("program_intro", language),
        f"```sh\npip install -r requirements.txt\n{program.usage}\npython tests/test_program.py\n```",
        "\n".join([say("program_inputs", language), "", *inputs]) if inputs else "",
        "\n".join([say("program_options", language), "", *options]) if options else "",
        "\n".join([say("program_asks", language), "", *_variables(program)]) if program.asks_sources else "",
        proof,
        "\n".join([say("program_left_out", language), "", *(f"- {line}" for line in program.left_out)])
        if program.left_out
        else "",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _variables(program: Program) -> list[str]:
    """The variables that its data sources need, a line each."""
    urls = {name: _DRIVERS.get(program.kinds.get(name, ""), ((), ""))[1] for name in program.sources}
    return [f"- `{variable_of(name)}`: {name}" + (f", `{url}`" if url else "") for name, url in urls.items()]


def _filled(name: str, lists: Mapping[str, Any]) -> str:
    """A script of ours with its lists filled in. What comes from the thread is text in JSON, and never code."""
    source = resources.files("workers.delivery.reports").joinpath(name).read_text(encoding="utf-8")
    for line, value in lists.items():
        literal = json.dumps(json.dumps(value, ensure_ascii=True))
        source = source.replace(f"{line}\n", f"{line.rpartition(' = ')[0]} = json.loads(\n    {literal}\n)\n", 1)
    return re.sub(r"^import (?=[k-z])", "import json\nimport ", source, count=1, flags=re.MULTILINE)


def _title(cell: CellRan, language: Language) -> str:
    return one_line(cell.title, 100) or say("progress_cell", language)


def _numbered_lines(cell: CellRan) -> list[str]:
    """The lines with a number that a cell printed, as far as they were kept whole."""
    text = "" if any(one.name == "stdout" for one in cell.whole_outputs) else cell.stdout
    if not cell.tables and not any(one.name == "result" for one in cell.whole_outputs):
        shown = with_last_shown(cell.code, cell, "show") != cell.code
        text = f"{text}\n{cell.result}" if shown else text
    return [line.rstrip() for line in text.splitlines() if re.search(r"\d", line) and " at 0x" not in line][:_LINES]


def _table(cell: CellRan, number: int) -> dict[str, Any] | None:
    if not cell.tables:
        return None
    table = cell.tables[0]
    return {"file": f"step-{number}.csv", "rows": [list(row) for row in table.rows], "total": table.total_rows}


def _charts(cell: CellRan) -> list[str]:
    return [PurePath(figure.name.replace("\\", "/")).name for figure in cell.figures]
