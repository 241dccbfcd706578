"""Drafts a playbook from the cells of a report. Pure: the clean room checks whether it gives the same results."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot import expressions as sql
from sqlglot.errors import SqlglotError

from core.steps import Asked, Briefed, CellRan, FileAbstract, Finished, Step
from workers.agent.rerun import Plan
from workers.agent.text import one_line
from workers.memory.playbooks.lifting import Cell, Lifted, lift
from workers.memory.playbooks.matching import columns_of
from workers.memory.playbooks.page import Input, Playbook, PlaybookStage

NAME_CHARS = 80
_MOST_CHECKS = 8
_MOST_COLUMNS = 60
_POLITE = re.compile(
    r"\A(?:hi|hello|hey|please|can you|could you|would you|tell me|show me|i want to know|请问?|帮我)\b[\s,:，：]*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Draft:
    """A playbook, and the code of its stages by the ids of the cells that they come from."""

    playbook: Playbook
    codes: dict[str, str]


def draft(
    turns: Sequence[Sequence[Step]],
    made: Plan,
    *,
    owner: str,
    thread: str,
    kept: str,
    lifts: bool = True,
    passes: bool = False,
) -> Draft:
    """The playbook of the last of these turns. `lifts`: its cells become functions with parameters.

    `passes`: their calls pass the parameters on, and names of files are none.
    """
    question = _question(turns)
    cells = [Cell(part.cell.cell_id, _title(part.cell), part.code) for _, part in made.parts]
    ran = {part.cell.cell_id: part.cell for _, part in made.parts}
    files = [file for steps in turns for step in steps if isinstance(step, Briefed) for file in step.files]
    code = "\n".join(cell.code for cell in cells)
    used = [file for file in files if _mentions(code, file.path)]
    columns = {name for file in files for name in columns_of(file)}
    if lifts:
        names = set[str]() if passes else {file.path for file in used}
        stages, parameters = lift(cells, names, columns, question, passes=passes)
    else:
        stages, parameters = [Lifted(cell.id, cell.title, cell.code) for cell in cells], []
    shown = [PlaybookStage(each.title, _shows(ran[each.id]), each.code) for each in stages]
    finished = next((step for step in reversed(turns[-1]) if isinstance(step, Finished)), None)
    book = Playbook(
        name=one_line(_POLITE.sub("", question).strip(" ?？.。!！").split("\n")[0], NAME_CHARS) or "Analysis",
        when=one_line(question, 300) or "…",
        stages=tuple(shown),
        inputs=(*(_input(file, code) for file in used), *tables_asked(list(ran.values()))),
        parameters=tuple(parameters),
        checks=_checks(finished),
        owner=owner,
        kept=kept,
        thread=thread,
    )
    return Draft(book, {each.id: each.code for each in stages})


def _question(turns: Sequence[Sequence[Step]]) -> str:
    """The words that the last turn began with."""
    asked = [step.text for step in turns[-1] if isinstance(step, Asked) and step.text.strip() and not step.left_out]
    return asked[0] if asked else ""


def _title(cell: CellRan) -> str:
    return one_line(cell.title.replace("#", ""), 100) or "Stage"


def _shows(cell: CellRan) -> str:
    """What a cell showed, without its numbers: what the stage has to show in another thread."""
    found = [f"a table with {', '.join(table.columns[:8])}" for table in cell.tables[:1]]
    found += [f"a chart: {one_line(chart.title or chart.y or chart.figure, 80)}" for chart in cell.charts[:2]]
    found += [f"the file {file.name}" for file in cell.files[:2]]
    labels = [label for line in cell.stdout.splitlines()[:30] if (label := _label(line))]
    if labels:
        found.append("; ".join(dict.fromkeys(labels[:4])))
    return one_line(" · ".join(found), 300) or "nothing; it prepares what follows"


def _label(line: str) -> str:
    """A printed line without its values."""
    label = re.sub(r"[-+]?\d[\d.,:%]*", "…", one_line(line, 60)).strip()
    return label if re.search(r"[^\W\d_]{2}", label) else ""


def _input(file: FileAbstract, code: str) -> Input:
    named = [name for name in columns_of(file) if _mentions(code, name)]
    return Input(file=file.path, columns=tuple((named or columns_of(file))[:_MOST_COLUMNS]))


def _mentions(code: str, name: str) -> bool:
    """Whether code names a file or a column, as a string or as an attribute."""
    if not name:
        return False
    if any(f"{quote}{name}{quote}" in code for quote in "'\""):
        return True
    return name.isidentifier() and re.search(rf"\.{re.escape(name)}\b(?!\()", code) is not None


def tables_asked(cells: Sequence[CellRan]) -> list[Input]:
    """The tables of sources that the cells asked, with the columns that their statements surely need of each."""
    found: dict[tuple[str, str], set[str]] = {}
    for ran in (ran for cell in cells for ran in cell.statements if not ran.error):
        try:
            tree = sqlglot.parse_one(ran.sql)
        except SqlglotError:
            continue
        inner = {each.alias_or_name for each in tree.find_all(sql.CTE)}
        for select in tree.find_all(sql.Select):
            tables = [table for table in _read_by(select) if table.name and table.name not in inner]
            named = {table.alias_or_name.casefold(): table for table in tables}
            for table in tables:
                found.setdefault((ran.source, _full(table)), set())
            for column in select.find_all(sql.Column):
                alone = tables[0] if len(tables) == 1 and not column.table and _is_of(column, select) else None
                of = named.get(column.table.casefold(), alone)
                if column.name and of is not None:
                    found[ran.source, _full(of)].add(column.name)
    return [Input(source=source, table=table, columns=tuple(sorted(columns)))
            for (source, table), columns in found.items()]  # fmt: skip


def _read_by(select: sql.Select) -> list[sql.Table]:
    """The tables that a SELECT reads itself; those inside of it are read by its own inner SELECTs."""
    return [table for table in select.find_all(sql.Table) if table.find_ancestor(sql.Select) is select]


def _is_of(column: sql.Column, select: sql.Select) -> bool:
    return column.find_ancestor(sql.Select) is select


def _full(table: sql.Table) -> str:
    return ".".join(filter(None, (table.db, table.name)))


def _checks(finished: Finished | None) -> tuple[str, ...]:
    """What the report must name again: the labels of its figures, without their values."""
    sources = finished.sources if finished is not None else ()
    labels = [_label(place.about.strip(" ·")) for one in sources for place in one.places[:1]]
    return tuple(f"the report gives: {label}" for label in dict.fromkeys(filter(None, labels)))[:_MOST_CHECKS]
