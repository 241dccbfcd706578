"""Drafts a playbook from the cells of a report. Pure: the clean room checks whether it gives the same results."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import sqlglot
from sqlglot import expressions as sql
from sqlglot.errors import SqlglotError

from core.steps import Asked, Briefed, CellRan, FileAbstract, Finished, Step
from workers.agent.report.rerun import Plan
from workers.agent.text import one_line
from workers.agent.turn import Told
from workers.memory.playbooks.lifting import Cell, Lifted, lift
from workers.memory.playbooks.matching import columns_of
from workers.memory.playbooks.page import Input, Playbook, PlaybookStage
from workers.memory.playbooks.showing import given, of_then, shows

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
    told: Told = str,
) -> Draft:
    """The playbook of the last of these turns. `lifts`: its cells become functions with parameters.

    `passes`: their calls pass the parameters on, and names of files are none. `told`: what everybody may read of what
    the cells showed.
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
    shown, before = list[PlaybookStage](), ""
    for each in stages:
        marked = _marked(each.code, of_then(ran[each.id].code, before))
        shown.append(PlaybookStage(each.title, shows(ran[each.id], told), marked))
        before += f"{ran[each.id].stdout}\n{ran[each.id].result}\n"
    finished = next((step for step in reversed(turns[-1]) if isinstance(step, Finished)), None)
    book = Playbook(
        name=one_line(_POLITE.sub("", question).strip(" ?？.。!！").split("\n")[0], NAME_CHARS) or "Analysis",
        when=one_line(question, 300) or "…",
        stages=tuple(shown),
        inputs=(*(_input(file, code) for file in used), *tables_asked(list(ran.values()))),
        parameters=tuple(parameters),
        checks=_checks(finished, code, told),
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


def _marked(code: str, values: Sequence[str]) -> str:
    """The code of a stage, and above it which of its values are of the data that it was kept on."""
    return f"# Of the data when this was kept: {', '.join(values)}\n{code}" if values else code


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


def _checks(finished: Finished | None, code: str, told: Told) -> tuple[str, ...]:
    """What the report must name again: the labels of its figures, without their values."""
    sources = finished.sources if finished is not None else ()
    labels = given((place for one in sources for place in one.places[:1]), code, told)
    return tuple(f"the report gives: {label}" for label in islice(labels, _MOST_CHECKS))
