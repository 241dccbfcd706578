"""The words of a report: the model's own text, and what we know for certain (charts, method, files, limits)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from core.figure_sources import source_line
from core.phrases import UNSPACED, decimal, number, say
from core.slack.folding import tells_method
from core.slack.markdown import closed, escape_markdown, headings
from core.slack.views.report_badge import badge
from core.steps import CellRan, FileAbstract, TableNote
from core.values import Language
from workers.agent.about_steps import cells_run, failed_cells, files_made, repairs_of
from workers.delivery.amounts import duration, spending
from workers.delivery.reports.second import second_line
from workers.delivery.reports.values import ReportInput

_MOST_LINES = 30
_MOST_FIGURES = 200
_SHOWN_FILES = 6


def sections(given: ReportInput, *, charts: bool = True) -> str:
    """Our part of the report, as Markdown below the model's: nothing that the model has a say in."""
    has_method = any(map(tells_method, headings(given.report)))
    parts = (
        _section(given, "report_charts", _charts(given) if charts else []),
        _section(given, "report_method", [] if has_method else _method(given)),
        _section(given, "report_files", _files(given)),
        _section(given, "report_sources", statements(given.cells, given)),
        limits(given),
    )
    return "\n\n".join(part for part in parts if part)


def files_line(given: ReportInput) -> str:
    """The files of the answer in one quiet line of plain text, with what became of each; "" without any."""
    left, right = ("（", "）") if given.language in UNSPACED else (" (", ")")
    mark = _colon(given.language)
    parts = [line.partition(f"`{mark}") for line in _files(given)]  # a name may have such a mark itself
    lines = [f"{name}{left}{facts}{right}" if facts else name for name, _, facts in parts]
    lines = [line.replace("`", "") for line in lines]
    if not lines:
        return ""
    shown = lines[:_SHOWN_FILES]
    if more := len(lines) - len(shown):
        shown.append(say("report_more", given.language, count=more))
    return f"{say('report_files', given.language)}{mark}{' · '.join(shown)}"


def sources_line(given: ReportInput) -> str:
    """The data sources that the answer rests on, in one quiet line of plain text; "" without any."""
    names = dict.fromkeys(one.source for cell in given.used for one in cell.statements if not one.error)
    return f"{say('report_sources', given.language)}{_colon(given.language)}{' · '.join(names)}" if names else ""


def limits(given: ReportInput) -> str:
    """What this run could not do, as Markdown: it qualifies the answer, so the thread shows it too."""
    return _section(given, "report_limits", _limits(given))


def figures(given: ReportInput) -> str:
    """Each figure of the report with its source, as Markdown: figure, cell, line. Cells count as in the notebook."""
    lines = [
        f"{escape_markdown(one.figure)} ← {source_line(one, given.numbered, given.language, escape_markdown)}"
        for one in given.sources
    ]
    return _section(given, "report_figures", list(dict.fromkeys(lines)), most=_MOST_FIGURES)


def checked(given: ReportInput) -> str:
    """The outcome of running the code again, as Markdown; "" where nobody does."""
    if given.clean_room is None:
        return ""
    text = escape_markdown(badge(given.clean_room, given.language, in_file=True))
    return f"## {say('clean_heading', given.language)}\n\n{text}"


def second(given: ReportInput) -> str:
    """What a second way to the figures gave, with its code, as Markdown; "" where nobody asked for one."""
    if given.second is None:
        return ""
    text = given.safe(escape_markdown(second_line(given.second, given.language, given.model)))
    code = given.second.code.strip()
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`+", code)), 3)
    shown = f"\n\n{fence}python\n{code}\n{fence}" if code else ""
    return f"## {say('second_heading', given.language)}\n\n{text}{shown}"


def footer(given: ReportInput) -> str:
    """One quiet line of plain text: who worked, how much, how long, at what cost if that can be told."""
    repaired = sum(len(tries) for tries in repairs_of(given.cells).values())
    counts = {"count": cells_run(given.cells), "failed": len(failed_cells(given.cells)), "repaired": repaired}
    parts = [
        say("report_spoken", given.language, author=given.author) if given.author else given.model,
        say("report_cells", given.language, **counts) if given.cells else "",
        duration(given.duration_s, given.language) if given.duration_s > 0 else "",
        spending(given.spent, given.currency, given.language),
    ]
    return " · ".join(part for part in parts if part)


def whole(given: ReportInput) -> str:
    """report.md: question, the model's report, our sections, the sources of its figures, footer."""
    asked = "\n".join(f"> {line}" for line in given.question.strip().splitlines()) or "> …"
    by = say("report_asked_by", given.language, author=escape_markdown(given.asker)) if given.asker else ""
    foot = footer(given)
    parts = [
        *map(given.safe, (asked, by, closed(given.report.strip()), sections(given), figures(given))),
        second(given),
        given.safe(checked(given)),
        given.safe(f"---\n\n{escape_markdown(foot)}") if foot else "",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _section(given: ReportInput, key: str, lines: Sequence[str], most: int = _MOST_LINES) -> str:
    if not lines:
        return ""
    shown = list(lines[:most])
    if more := len(lines) - len(shown):
        shown.append(say("report_more", given.language, count=more))
    return f"## {say(key, given.language)}\n\n" + "\n".join(f"- {line}" for line in shown)


def _charts(given: ReportInput) -> list[str]:
    return [
        f"`{_code(figure.name)}`" + ("" if _same(figure.name, cell.title) else f" — {escape_markdown(cell.title)}")
        for cell in given.drawn
        if cell.cell_id not in given.unshown
        for figure in cell.figures
    ]


def _same(name: str, title: str) -> bool:
    """Whether a chart's file name says all that its cell's title says."""
    letters = [[letter for letter in text.casefold() if letter.isalnum()] for text in (name.rpartition(".")[0], title)]
    return letters[0] == letters[1] or not letters[1]


def _method(given: ReportInput) -> list[str]:
    return [escape_markdown(cell.title) for cell in given.cells if cell.status == "ok" and cell.title.strip()]


def _files(given: ReportInput) -> list[str]:
    """The files that came with this turn, and those of turns before that the answer rests on."""
    read = {name for cell in given.used for name in cell.files_read or ()}
    told = any(cell.files_read is not None for cell in (*given.earlier, *given.cells))
    lines = []
    for file in given.files:
        if told and given.behind is not None and file.path not in (*read, *given.new_files):
            continue
        use = "report_file_read" if file.path in read else "report_file_unread" if told else ""
        told_use = say(use, given.language) if use else ""
        lines.append(_joined(f"`{_code(file.path)}`", given, _shape(given, file), told_use))
    made = files_made(given.cells)
    lines += [_joined(f"`{_code(name)}`", given, say("report_file_made", given.language)) for name in made]
    return list(dict.fromkeys(lines))


def statements(cells: Sequence[CellRan], given: ReportInput) -> list[str]:
    """What these cells had run on data sources, one line each: the source, rows, seconds, the SQL as it was sent."""
    ran = [one for cell in cells for one in cell.statements if not one.error]
    return list(
        dict.fromkeys(
            say(
                "report_statement",
                given.language,
                source=escape_markdown(one.source),
                rows=number(one.rows, given.language),
                seconds=decimal(one.seconds, 1, given.language),
                sql=_code(one.sql),
            )
            for one in ran
        )
    )


def _shape(given: ReportInput, file: FileAbstract) -> str:
    tables = [_table_shape(given, table, named=len(file.tables) > 1) for table in file.tables[:6]]
    if more := len(file.tables) - len(tables):
        tables.append(say("report_more", given.language, count=more))
    return "; ".join(tables)


def _table_shape(given: ReportInput, table: TableNote, *, named: bool) -> str:
    rows = number(table.rows, given.language) if table.rows is not None else ""
    shape = say("report_shape", given.language, rows=rows, columns=len(table.columns))
    return f"{escape_markdown(table.name)} {shape}" if named else shape


def _limits(given: ReportInput) -> list[str]:
    lines = [f"`{_code(problem.name)}`: {escape_markdown(problem.why)}" for problem in given.problems]
    lines += [
        f"`{_code(refused.name)}`: {escape_markdown(refused.why_text or refused.why)}"
        for cell in given.cells
        for refused in cell.rejected
    ]
    lines += [
        say(f"report_cell_{cell.status}", given.language, title=escape_markdown(cell.title))
        for cell in given.cells
        if cell.status in ("timeout", "killed", "died")
    ]
    if left := len(failed_cells(given.cells)):
        lines.append(say("report_failed_cells", given.language, count=left, total=cells_run(given.cells)))
    return list(dict.fromkeys(lines))


def _joined(name: str, given: ReportInput, *facts: str) -> str:
    marks: Mapping[Language, str] = {"zh": "，", "ja": "、"}
    told = marks.get(given.language, ", ").join(fact for fact in facts if fact)
    return f"{name}{_colon(given.language)}{told}" if told else name


def _colon(language: Language) -> str:
    return "：" if language in UNSPACED else " : " if language == "fr" else ": "


def _code(name: str) -> str:
    return " ".join(name.replace("`", "'").split())
