"""The analysis as a notebook and as a script. Both run on their own, beside the input files, without Threadbook."""

from __future__ import annotations

import ast
import base64
import json
import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from nbformat import from_dict, v4

from core import python_source
from core.phrases import say
from core.slack.markdown import escape_markdown
from core.slack.text import clip
from core.steps import CellRan
from core.values import Language
from workers.agent.code.program import Part, parsed
from workers.delivery.reports.compose import checked, figures, statements
from workers.delivery.reports.tools import team_setup, tools_setup
from workers.delivery.reports.values import PastReport, ReportInput

_V4: Any = v4
"""nbformat carries no types of its own."""
_from_dict: Any = from_dict

_OUTPUT = 50_000
"""Characters of one output in the notebook: running it again shows the rest."""

_PLOTTING = ("matplotlib", "seaborn", "plt.", ".plot")
_FONTS = """\
import matplotlib
{backend}import matplotlib.pyplot as plt
from matplotlib import font_manager

_installed = {{font.name for font in font_manager.fontManager.ttflist}}
_wanted = ("DejaVu Sans", "Noto Sans CJK SC", "Source Han Sans SC", "Microsoft YaHei", "PingFang SC")
plt.rcParams["font.family"] = [name for name in _wanted if name in _installed] or ["sans-serif"]
plt.rcParams["axes.unicode_minus"] = False
"""
_SAVING = '''

def _save_charts(step, *names):
    """Save the charts that a step left open under the names they had in the thread, and close them."""
    for index, number in enumerate(plt.get_fignums()):
        name = names[index] if index < len(names) else f"chart-{step}-{number}.png"
        plt.figure(number).savefig(name, dpi=150, bbox_inches="tight")
        print(f"saved {name}")
    plt.close("all")
'''
_SOURCES = '''# The data sources of the thread. Each is asked at the SQLAlchemy URL in an environment variable:
# {variables}
import datetime
import os
import re

import pandas as pd
import sqlalchemy


def _engine(source):
    name = re.sub(r"\\W", "_", f"{{source or {default!r}}}_DATABASE_URL").upper()
    if name not in os.environ:
        raise SystemExit(f"set {{name}} to the SQLAlchemy URL of the data source")
    return sqlalchemy.create_engine(os.environ[name])


def query(sql, source="", params=None):
    """Run a statement; `:name` stands for a value of `params`, and `IN (:name)` for a list."""
    params = params or {{}}
    many = [name for name, value in params.items() if isinstance(value, (list, tuple, set))]
    for name in many:
        sql = re.sub(rf"\\(\\s*:{{name}}\\s*\\)", f":{{name}}", sql)
    named = "|".join(map(re.escape, params)) or "(?!)"
    sql = re.sub(rf":(?!(?:{{named}})\\b)", r"\\:", sql)  # any other colon stands for itself
    expanding = [sqlalchemy.bindparam(name, expanding=True) for name in many]
    with _engine(source).connect() as connection:
        found = connection.execute(sqlalchemy.text(sql).bindparams(*expanding), params)
        names, rows = list(found.keys()), [tuple(row) for row in found]
    frame = pd.DataFrame.from_records(rows, columns=names, coerce_float=True)
    for at, values in enumerate(zip(*rows)):
        kinds = {{type(value) for value in values if value is not None}}
        if kinds == {{int}} and None in values and max(abs(value or 0) for value in values) < 2**63:
            frame.isetitem(at, pd.array(values, dtype="Int64"))  # as floats large numbers would be wrong
        elif kinds and all(issubclass(kind, datetime.date) for kind in kinds):
            zoned = any(getattr(value, "tzinfo", None) for value in values)
            frame.isetitem(at, pd.to_datetime(pd.Series(values), utc=zoned))
    return frame


def tables(source=""):
    return sqlalchemy.inspect(_engine(source)).get_table_names()


def columns(table, source=""):
    found = sqlalchemy.inspect(_engine(source)).get_columns(table)
    return pd.DataFrame([(each["name"], str(each["type"])) for each in found], columns=["column", "type"])


def search_schema(words, source=""):
    return ", ".join(tables(source))


def sample(table, n=5, source=""):
    return query(f"SELECT * FROM {{table}} LIMIT {{int(n)}}", source)


def describe(table, source=""):
    return sample(table, 10_000, source).describe(include="all")
'''
_COMMAND = 200
_NOT_WORTH_PRINTING = ("<Axes", "<matplotlib", "[<matplotlib", "Text(", "(<Figure", "<seaborn", "array([<Axes")


def notebook(given: ReportInput) -> str:
    """analysis.ipynb as JSON: each question, its cells that ran well with their outputs, and its report."""
    cells: list[dict[str, Any]] = []
    for at, (one, parts) in enumerate(_by_question(given)):
        quoted = "\n".join(f"> {line}" for line in one.question.strip().splitlines())
        if quoted or not at:
            cells.append(_markdown(given.safe(quoted) or "…"))
        if not at and (setup := setup_of(given.parts, backend="")):
            cells.append(_code(setup, None, []))
        cells += _steps(parts, given)
        if one.report:
            cells.append(_markdown(given.safe(one.report)))
    if given.author:
        cells.append(_markdown(given.safe(say("report_spoken", given.language, author=escape_markdown(given.author)))))
    if told := figures(given):
        cells.append(_markdown(given.safe(told)))
    if told := checked(given):
        cells.append(_markdown(given.safe(told)))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    # The whole is checked against the format's schema here; nbformat's own functions for parts check each by itself.
    made = _V4.new_notebook(cells=_from_dict(cells), metadata=kernel | {"language_info": {"name": "python"}})
    return file_text(made)


def _by_question(given: ReportInput) -> list[tuple[PastReport, list[tuple[int, Part]]]]:
    """Every question of the thread with its report and its numbered cells, in their order. Cells of no question belong
    to the next one."""
    asked = [(one, list[tuple[int, Part]]()) for one in (*given.past, PastReport(given.question, given.report))]
    own = {cell_id: at for at, one in enumerate(given.past) for cell_id in one.cells}
    at = len(given.past)
    for number, part in reversed(list(enumerate(given.parts, 1))):
        at = own.get(part.cell.cell_id, at)
        asked[at][1].insert(0, (number, part))
    return asked


def _steps(parts: Sequence[tuple[int, Part]], given: ReportInput) -> list[dict[str, Any]]:
    cells: list[dict[str, Any]] = []
    for number, part in parts:
        heading = f"### {number}. {_title(part.cell, given.language)}"
        if part.kept != "whole":
            heading += f"\n\n{_why(part, given.language)}"
        if part.cell.left_out:
            heading += f"\n\n{say('context_left_out_cell', given.language)}"
        if asked := statements([part.cell], given):
            heading += "\n\n" + "\n".join(f"- {line}" for line in asked)
        cells.append(_markdown(given.safe(heading)))
        if part.code:
            outputs = _outputs(part.cell, given, number) if part.kept == "whole" else []
            cells.append(_code(part.code, number, outputs))
    return cells


def file_text(book: Any) -> str:
    """A notebook as the text of its file."""
    return json.dumps(book, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def _markdown(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def _code(source: str, count: int | None, outputs: list[dict[str, Any]]) -> dict[str, Any]:
    return {"cell_type": "code", "metadata": {}, "source": source, "execution_count": count, "outputs": outputs}


def script(given: ReportInput) -> str:
    """analysis.py: the same code in one file; last values are printed, charts saved beside it."""
    parts = given.parts
    futures = sorted({line for part in parts for line in futures_in(part.code)})
    setup = setup_of(parts, backend='matplotlib.use("Agg")  # charts are saved as files\n')
    saving = "_save_charts" if "pyplot" in setup else ""
    blocks = ["\n".join([*_intro(given), *futures]), setup + _SAVING if saving else setup]
    for number, part in enumerate(parts, 1):
        title = f"# %% {number}. {_title(part.cell, given.language)}"
        if part.kept != "whole":
            title += f"\n# {_why(part, given.language)}"
        code = (
            with_last_shown(without_futures(part.code), part.cell)
            if part.kept == "whole"
            else without_futures(part.code)
        )
        names = [PurePath(figure.name.replace("\\", "/")).name for figure in part.cell.figures]
        save = f"_save_charts({', '.join(map(repr, [number, *names]))})" if saving and part.code else ""
        blocks.append("\n".join(filter(None, (title, code, save))))
    return "\n\n".join(block.rstrip() for block in blocks if block.strip()) + "\n"


def _intro(given: ReportInput) -> list[str]:
    files = ", ".join(file.path for file in given.files)
    lines = [*given.question.splitlines(), "", say("report_script", given.language)]
    if files:
        lines.append(say("report_script_files", given.language, files=files))
    return [f"# {line}".rstrip() for line in lines]


def setup_of(parts: Sequence[Part], backend: str) -> str:
    """What a session gives its cells: fonts for charts, the functions for data sources, the attribution tools."""
    code = "\n".join(part.code for part in parts)
    plots = any(word in code for word in _PLOTTING) or any(part.cell.figures for part in parts)
    asked = list(dict.fromkeys(one.source for part in parts for one in part.cell.statements))
    setup = [_FONTS.format(backend=backend)] if plots else []
    if tools := tools_setup(code):
        setup.append(tools)
    if functions := team_setup(one for part in parts for one in part.cell.functions):
        setup.append(functions)
    if asked:
        variables = ", ".join(map(variable_of, asked))
        setup.append(_SOURCES.format(variables=variables, default=asked[0]))
    return "\n\n".join(setup)


def variable_of(source: str) -> str:
    """The variable of the environment in which a script looks for the SQLAlchemy URL of a data source."""
    return re.sub(r"\W", "_", f"{source}_DATABASE_URL").upper()


def _title(cell: CellRan, language: Language) -> str:
    return " ".join(cell.title.split()) or say("progress_cell", language)


def _why(part: Part, language: Language) -> str:
    if part.cell.status == "undone":
        return say("report_cell_undone", language)
    key = "report_cell_partly" if part.kept == "partly" else "report_cell_left_out"
    if part.cell.language == "bash":
        return say("report_cell_shell", language, command=clip(" ".join(part.cell.code.split()), _COMMAND))
    reason = " ".join((part.cell.error_name or part.cell.status).split())
    return say(key, language, reason=reason)


def _outputs(cell: CellRan, given: ReportInput, number: int) -> list[dict[str, Any]]:
    outputs: list[dict[str, Any]] = []
    for name, text in (("stdout", cell.stdout), ("stderr", cell.stderr)):
        if text:
            outputs.append({"output_type": "stream", "name": name, "text": clip(text, _OUTPUT)})
    if cell.result:
        shown = {"text/plain": clip(cell.result, _OUTPUT)}
        outputs.append({"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": shown})
    for figure in cell.figures:
        if picture := given.pictures.get(figure.sha256):
            data = {"image/png": base64.b64encode(picture).decode(), "text/plain": figure.name}
            outputs.append({"output_type": "display_data", "metadata": {}, "data": data})
    return outputs


def futures_in(code: str) -> list[str]:
    """The `from __future__` lines of a code."""
    statements = python_source.parsed(code).body if code else []
    return [ast.unparse(statement) for statement in statements if _is_future(statement)]


def without_futures(code: str) -> str:
    """The code without its `from __future__` lines: in a file they may stand only at the top."""
    lines = code.split("\n")
    for statement in python_source.parsed(code).body if code else []:
        if _is_future(statement):
            for number in range(statement.lineno - 1, statement.end_lineno or statement.lineno):
                lines[number] = ""
    return "\n".join(lines).strip("\n")


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def with_last_shown(code: str, cell: CellRan, by: str = "print") -> str:
    """The code with its last expression passed to the function `by`, where the session showed a value worth reading."""
    statements = python_source.parsed(code).body
    last = statements[-1] if statements else None
    shown = cell.result.strip()
    if not isinstance(last, ast.Expr) or not shown or shown.startswith(_NOT_WORTH_PRINTING):
        return code
    source = code.encode().split(b"\n")
    before = b"\n".join([*source[: last.lineno - 1], source[last.lineno - 1][: last.col_offset]])
    end = (last.end_lineno or last.lineno) - 1
    after = b"\n".join([source[end][last.end_col_offset :], *source[end + 1 :]])
    value = code.encode()[len(before) : len(code.encode()) - len(after)]
    printing = (before + by.encode() + b"(" + value + b")" + after).decode()
    return printing if parsed(printing) else code
