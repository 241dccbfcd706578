"""The hand-over pack: one zip with a thread's answer, its data and its code, that runs elsewhere by one command."""

from __future__ import annotations

import ast
import io
import json
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from itertools import count
from pathlib import PurePosixPath
from typing import Any

from core.phrases import say
from core.steps import TableData
from core.values import StoredFile
from workers.agent.code.program import parsed
from workers.delivery.reports.formats.tables import DataTable, chart_table, what_is_missing
from workers.delivery.reports.notebook import file_text
from workers.delivery.reports.tables import to_csv
from workers.delivery.reports.tools import NEEDS, PACKAGE
from workers.delivery.reports.values import ReportFile, ReportInput

INPUT_BYTES = 50_000_000
"""Size of inputs and files of cells together. Further files are named in the pack's README, with their hash."""
_EPOCH = (1980, 1, 1, 0, 0, 0)
_BY_FILE = {".xlsx": "openpyxl", ".parquet": "pyarrow", ".feather": "pyarrow"}
_WORK = """\
import os

if os.path.isdir("work"):
    os.chdir("work")  # the data is here"""
_MAKEFILE = """\
PYTHON ?= python3

run: .venv/ready
\tcd work && ../.venv/bin/python ../analysis.py

.venv/ready: requirements.txt
\t$(PYTHON) -m venv .venv
\t.venv/bin/pip install --quiet -r requirements.txt
\ttouch $@

.PHONY: run
"""


@dataclass(frozen=True, slots=True)
class PackInput:
    """What a pack is made from.

    `files` are those of the report. `inputs` and `made` are bytes by path or name: what people gave, and what cells
    wrote; the charts are among the report's `pictures`. `left_out` names contents that are too large or are lost, by
    name with their hash. `packages` are lines such as "pandas 2.2.3" of the place where the code ran.
    """

    report: ReportInput
    files: Sequence[ReportFile]
    inputs: Mapping[str, bytes] = field(default_factory=dict)
    made: Mapping[str, bytes] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    packages: Sequence[str] = ()


def pack(given: PackInput) -> bytes:
    """The zip. The same input gives the same bytes.

    `work/` holds the inputs and is where the code runs, so that what people see beside it stays as it was delivered.
    """
    return zipped(_contents(given))


def _contents(given: PackInput) -> Iterator[tuple[str, bytes]]:
    has_code = any(file.name == "analysis.py" for file in given.files)
    yield "README.md", _readme(given, has_code=has_code).encode()
    for file in given.files:
        data = _in_work(file.data) if file.name == "analysis.ipynb" else file.data
        yield (f"tables/{file.name}" if file.name.endswith(".csv") else file.name), data
    if has_code:
        yield "requirements.txt", requirements(given).encode()
        yield "Makefile", _MAKEFILE.encode()
        yield "work/.keep", b""
    for path, data in given.inputs.items():
        if safe := safe_path(path):
            yield f"work/{safe}", data
    taken: dict[str, str] = {}
    for cell in (*given.report.earlier, *given.report.cells):
        for figure in cell.figures:
            if picture := given.report.pictures.get(figure.sha256):
                yield _picture_file(figure, taken), picture
    for name, chart in _chart_files(given.report):
        shown = [[column.name for column in chart.columns], *(map(_as_text, row) for row in chart.rows)]
        yield name, to_csv([list(row) for row in shown])
    for name, table in _table_files(given.report):
        yield name, to_csv([list(table.columns), *([*map(_as_text, row)] for row in table.rows)])
    for name, data in given.made.items():
        if safe := safe_path(name):
            yield f"made/{safe}", data


def _in_work(notebook: bytes) -> bytes:
    """The notebook of a pack: its first code goes into the folder with the data, beside which the notebook lies."""
    book = json.loads(notebook)
    code: dict[str, Any] = {"cell_type": "code", "id": "work", "metadata": {}, "source": _WORK}
    book["cells"].insert(1, code | {"execution_count": None, "outputs": []})
    return file_text(book).encode()


def _picture_file(figure: StoredFile, taken: dict[str, str]) -> str:
    """The file of a chart. Another chart of this name may have it: cells overwrite their files."""
    plain = PurePosixPath(safe_path(figure.name) or figure.sha256)
    stem = plain.with_suffix("")
    free = (f"charts/{stem}{f'-{number}' if number > 1 else ''}{plain.suffix}" for number in count(1))
    name = next(each for each in free if taken.get(each, figure.sha256) == figure.sha256)
    taken[name] = figure.sha256
    return name


def _chart_files(given: ReportInput) -> Iterator[tuple[str, DataTable]]:
    """The data of each chart with the name of its file, which is that of its picture."""
    names: set[str] = set()
    for cell in (*given.earlier, *given.cells):
        for chart in cell.charts:
            table = chart_table(chart, chart.title or cell.title, "", given.language)
            if not table.columns or not table.rows:
                continue
            stem = PurePosixPath(safe_path(chart.figure) or "chart").with_suffix("").name
            free = (f"charts/{stem}{f'-{number}' if number > 1 else ''}.csv" for number in count(1))
            name = next(each for each in free if each not in names)
            names.add(name)
            yield name, table


def _table_files(given: ReportInput) -> Iterator[tuple[str, TableData]]:
    """The tables of the cells, each with the name of its file."""
    for one in given.numbered.values():
        for place, table in enumerate(one.cell.tables):
            yield f"tables/cell-{one.number}{f'-{place + 1}' if place else ''}.csv", table


def _as_text(item: object) -> str:
    return "" if item is None else str(item)


def safe_path(path: str) -> str:
    """The path, if it stays inside a folder; else "". Names come from people and from cells."""
    parts = PurePosixPath(path.replace("\\", "/")).parts
    plain = bool(parts) and not any(part in ("..", "/", "") or re.search(r'[\x00-\x1f:*?"<>|]', part) for part in parts)
    return "/".join(parts) if plain else ""


def requirements(given: PackInput) -> str:
    """requirements.txt: what the code imports, and what its files need, in the versions that it ran with."""
    script = next((file.data.decode() for file in given.files if file.name == "analysis.py"), "")
    return requirements_of(script, given.inputs, given.packages)


def requirements_of(script: str, inputs: Iterable[str], packages: Sequence[str], drivers: Iterable[str] = ()) -> str:
    """The same for a script that reads files with these names, and asks databases by these drivers.

    A package that was not there when the code ran is only named in a comment: an import may have failed on purpose, and
    pip would install whatever has that name today.
    """
    versions = dict(line.rsplit(" ", 1) for line in packages if " " in line)
    known = {name.lower().replace("_", "-"): number for name, number in versions.items()}
    imported = set(_imported(script))
    wanted = {*imported, *drivers}
    names = [path.lower() for path in inputs]
    wanted |= {name for end, name in _BY_FILE.items() if any(path.endswith(end) for path in names)}
    wanted |= {name for end, name in _BY_FILE.items() if end in script}
    pinned = [(name, known.get(plain := name.partition("[")[0]) or _installed(plain)) for name in sorted(wanted)]
    unknown = [name for name, number in pinned if not number and name in imported]
    lines = [f"{name}=={number}" if number else name for name, number in pinned if name not in unknown]
    return "".join(f"{line}\n" for line in (*lines, *(f"# not installed where this ran: {name}" for name in unknown)))


def zipped(contents: Iterable[tuple[str, bytes]]) -> bytes:
    """A zip of these files, each name once. The same contents give the same bytes."""
    archive = io.BytesIO()
    names: set[str] = set()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as written:
        for name, data in contents:
            if name in names:
                continue
            names.add(name)
            info = zipfile.ZipInfo(name, _EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            written.writestr(info, data)
    return archive.getvalue()


def _installed(name: str) -> str:
    """The version that is installed here, where the session host runs the same interpreter; "" when it is not."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _imported(script: str) -> Iterator[str]:
    """The packages whose modules a script imports, by the names that pip knows."""
    modules = _modules(parsed(script))
    if PACKAGE in modules:  # its source stands in the script
        modules = modules - {PACKAGE} | set(NEEDS)
    for module in sorted(modules):
        if module not in sys.stdlib_module_names:
            yield _distributions().get(module, [module])[0].lower().replace("_", "-")


@cache
def _distributions() -> Mapping[str, list[str]]:
    """By module the packages that have it. A process looks once: it reads the lists of files of all packages."""
    return packages_distributions()


def _modules(tree: ast.Module | None) -> set[str]:
    nodes: Iterable[ast.AST] = ast.walk(tree) if tree else ()
    names: set[str] = set()
    for node in nodes:
        match node:
            case ast.Import(names=aliases):
                names |= {alias.name.partition(".")[0] for alias in aliases}
            case ast.ImportFrom(module=str(module), level=0):
                names.add(module.partition(".")[0])
            case _:
                pass
    return names


def _readme(given: PackInput, *, has_code: bool) -> str:
    language, question = given.report.language, given.report.question.strip()
    parts = [
        f"# {' '.join((question.splitlines() or ['…'])[0].split())}",
        say("pack_intro", language),
        "```sh\nmake\n```" if has_code else "",
        say("pack_run", language) if has_code else "",
        _cut(given.report),
        _left_out(given),
    ]
    return given.report.safe("\n\n".join(part for part in parts if part)) + "\n"


def _left_out(given: PackInput) -> str:
    if not given.left_out:
        return ""
    lines = [f"- {' '.join(name.split())} (SHA-256 {sha256})" for name, sha256 in given.left_out.items()]
    return "\n".join([say("pack_left_out", given.report.language), "", *lines])


def _cut(given: ReportInput) -> str:
    """The files of charts that lack points and of tables that lack rows or columns, one a line."""
    missing = [(name, chart.missing) for name, chart in _chart_files(given)]
    missing += [(name, what_is_missing(table, given.language)) for name, table in _table_files(given)]
    return "\n".join(f"- `{name}`: {what}" for name, what in missing if what)
