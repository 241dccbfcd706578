"""Facts in printed text: tables with aligned columns, pipes or commas, literals, lines with labels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from workers.agent.provenance.language.numerals import (
    SPAN,
    Day,
    Marks,
    Numeral,
    marks_of,
    scan,
    scan_dates,
    with_shared_units,
)
from workers.agent.provenance.language.words import CURRENCIES, Key, key_of, words_in
from workers.agent.provenance.outputs.facts import Family, Grid, Label, is_statistic
from workers.agent.provenance.outputs.grids import (
    Found,
    Reader,
    add_grid,
    add_index,
    is_year,
    label_of,
    make_fact,
    note_day,
    note_days,
    note_months,
    number_in,
    unit_of,
)
from workers.agent.provenance.outputs.listings import listed, run_of
from workers.agent.provenance.outputs.literals import literal_in, name_of, walk

MAX_TEXT = 64_000
_MOST_TRIES = 4
"""Of reading lines that look like one table as one, each time without the line above: sentences may stand above it."""
_MOST_MEASURES = 24
_MONEY = frozenset(CURRENCIES.values())
_SPLIT = re.compile(r"[,;|]\s+|\s{2,}|\t|\)\s|\s\(")
_TOLD = re.compile(r"^[^|]{1,60}?[:=]\s")
_TOLD_NUMBER = re.compile(r"^\S[^|]{0,60}?[:=] *[-−+]?\d[\d.,]* ?%?$")
_PAIR = re.compile(r"^(?=\S)(?!.*\s\s)[^\d:=,|(\[{]{1,40} [-−]?[$€£¥]?\d[\d,.]*[%€万元]?$")
"""A line with a name and its figure, and one blank between them. A list of such lines is not aligned."""
_LABEL_END = re.compile(r"[:=]")
_LABELLED = re.compile(r"(?:[:=]|[a-z_]{3,}|[\u3400-\u9fff])\s*$", re.IGNORECASE)


def read_text(text: str, reader: Reader) -> Found:
    """The facts of a printed text."""
    found = Found([], [], {}, {})
    lines = text[:MAX_TEXT].split("\n")
    note_months(lines, reader, found)
    titled: list[tuple[str, Grid]] = []
    whole = literal_in(text[:MAX_TEXT].strip())
    if whole is not None and "\n" in text.strip():
        walk(whole, reader, 1, found)
        _before_literal(text[:MAX_TEXT].strip(), reader, 1, found)
        note_days(lines, reader, found, 0)
        return found
    at = run = tries = 0
    while at < len(lines):
        end = run_of(lines, at, lambda line: _PAIR.match(line) is not None)
        if end - at >= 2 and _PAIR.match(lines[at]) and len({len(line) for line in lines[at:end]}) > 1:
            _lines(lines[at:end], reader, at + 1, found)
            at = end
            continue
        if (end := listed(lines, at, reader, found)) > at:
            at = end
            continue
        is_no_table = (at < run and tries == _MOST_TRIES) or _stands_above(lines, at)
        end = at + 1 if is_no_table else _run_end(lines, at)
        if at >= run:
            run, tries = end, 0
        block = lines[at:end]
        if len(block) >= 2:
            series = any(_SERIES_END.match(line) for line in (block[-1], *lines[end : end + 1]))
            index = _index_above(lines, at) if series else ""
            if _table(block, reader, at + 1, found, series=series, index=index):
                titled.append((_title_above(lines, at), found.grids[-1]))
                _note_title(*titled[-1])
                at = end
                continue
            tries += 1
        value = literal_in(lines[at].strip())
        if value is not None:
            walk(value, reader, at + 1, found, name=name_of(lines[at].strip()))
            _before_literal(lines[at].strip(), reader, at + 1, found)
            note_days([lines[at]], reader, found, at)
            at += 1
            continue
        end = at + 1
        shape = _shape(lines[at])
        while (
            shape
            and not is_no_table
            and end < len(lines)
            and _shape(lines[end]) == shape
            and (_TOLD.match(lines[end]) or _run_end(lines, end) == end + 1)
        ):
            end += 1
        _lines(lines[at:end], reader, at + 1, found)
        at = max(end, at + 1)
    _note_periods(titled)
    return found


def _stands_above(lines: Sequence[str], at: int) -> bool:
    """Whether a line such as "after 1 April: 28" stands above a table of pandas, and happens to be as long as it."""
    below = lines[at + 1] if at + 1 < len(lines) else ""
    return _TOLD_NUMBER.match(lines[at]) is not None and below.startswith("  ") and not any(map(str.isdigit, below))


def _before_literal(text: str, reader: Reader, line: int, found: Found) -> None:
    """The number that `print(len(rows), rows[:2])` writes before a literal. Behind a number of a name stands a mark:
    "2024: {…}"."""
    name = name_of(text).strip()
    if name[-1:].isdigit() and text[len(name) :].lstrip()[:1] not in (":", "="):
        _lines([name], reader, line, found)


def _run_end(lines: Sequence[str], at: int) -> int:
    """The end of the run of lines that look like one table: they are as long as the first, or have as many pipes or
    commas."""
    first = lines[at]
    if not first.strip():
        return at + 1
    pipes, commas = first.count("|"), first.count(",")
    if pipes >= 2 and first.lstrip().startswith("|"):
        return run_of(lines, at, lambda line: line.count("|") >= 2 and line.lstrip().startswith("|"))
    if commas and ", " not in first and not first.lstrip().startswith(("{", "[", "(")):
        end = run_of(lines, at, lambda line: line.count(",") == commas and ", " not in line)
        if end - at >= 2:
            return end
    if first.count("\t"):
        return run_of(lines, at, lambda line: line.count("\t") == first.count("\t"))
    width = len(first)
    if "  " not in first.strip() and " " not in first.strip():
        second = lines[at + 1] if at + 1 < len(lines) else ""
        if not second.strip() or len(second.rstrip()) <= width:
            return at + 1
        # The name of an index stands alone above a series, narrower than the rows.
        end = run_of(lines, at + 1, lambda line: len(line) == len(second))
        return end if end - at >= 3 and _numbers_at_end(lines[at + 1 : end]) else at + 1
    # Below the rows, an indented line is the header of the next table: the names of an index begin at the margin.
    below = at + 2
    end = run_of(lines, at, lambda line: len(line) == width or (len(line) < width and _is_narrow(line)))
    end = next((n for n in range(below, end) if len(lines[n]) < width and lines[n][0].isspace()), end)
    end = _before_sentence(lines, at, end)
    if first[0].isspace():
        end = _next_header(lines, at, end)
    if end - at >= 2:
        return end
    second = lines[at + 1] if at + 1 < len(lines) else ""
    if second.strip() and "  " in first and not scan(first, "point"):
        # A header that is narrower than its rows: names of index levels above a series.
        end = run_of(lines, at + 1, lambda line: len(line) == len(second))
        if end - at >= 3 and _numbers_at_end(lines[at + 1 : end]):
            return end
    return at + 1


_FIGURE = re.compile(r"(?<!\S)[-+−$€£¥]?\d[\d.,]*%?(?!\S)")


def _before_sentence(lines: Sequence[str], at: int, end: int) -> int:
    """Where a line stands that is as long as the rows by accident: one blank between its words, and other letters where
    the figures of the first row end."""
    ends: list[int] = []
    for n in range(at, end):
        if not ends:
            ends = [match.end() for match in _FIGURE.finditer(lines[n])]
        elif "  " not in lines[n].strip() and (
            _is_title(lines[n]) or any(lines[n][one : one + 1].strip() for one in ends)
        ):
            return n
    return end


def _is_title(line: str) -> bool:
    """Whether a line below rows of figures has only words: the title of what follows."""
    return " " in line.strip() and not any(map(str.isdigit, line)) and "nan" not in line.casefold()


def _next_header(lines: Sequence[str], at: int, end: int) -> int:
    """Where the header of a second table begins that is as wide as the first one, or the title above it; else `end`."""
    figures = False
    for n in range(at + 1, end):
        indented = lines[n][:1].isspace()
        if figures and indented and not any(map(str.isdigit, lines[n])):
            return n - 1 if _is_narrow(lines[n - 1]) else n
        figures = figures or any(map(str.isdigit, lines[n]))
    return end


def _is_narrow(line: str) -> bool:
    """Whether a line, without its outer blanks, may hold the index names below a header."""
    return bool(line.strip()) and "  " not in line.strip() and not any(map(str.isdigit, line)) and ":" not in line


def _numbers_at_end(lines: Sequence[str]) -> bool:
    return all(re.search(r"[\d%]\s*$", line) for line in lines)


_LONGEST_TITLE = 120
_UNIT_OF_ALL = re.compile(
    r"[(（](?:in )?(?:[%％]|个?百分点|pp|percentage points|(?:prozent|%-)punkten?|points de (?:%|pourcentage)|"
    r"puntos porcentuales|パーセントポイント)[)）]\s*[:：]?\s*$",
    re.IGNORECASE,
)
"""A title that ends with the unit of all that its table shows: "Anteil (%):"."""
_IN_PERCENT = re.compile(r"(?<!\d)(?<!\d )[%％]")


def _title_above(lines: Sequence[str], at: int) -> str:
    """The line above a table and above further headings of its columns; "" for none."""
    place = at - 1
    while place > 0 and lines[place][:2].isspace() and not any(map(str.isdigit, lines[place])):
        place -= 1
    return lines[place] if place >= 0 else ""


def _note_title(title: str, grid: Grid) -> None:
    """Note what the line above a table says of it: "churn % by region". A row of figures is no title."""
    if "  " in title.strip() or len(title) > _LONGEST_TITLE:
        return
    grid.title = words_in(title)
    if _IN_PERCENT.search(title) or _UNIT_OF_ALL.search(title):
        for fact in grid.facts:
            fact.percent = fact.percent or not fact.unit
    if _UNIT_OF_ALL.search(title):
        broken = {fact.column for fact in grid.facts if fact.decimals and not fact.unit and fact.scale == 1.0}
        # Fractions below a careless title may be told in percent.
        if any(abs(fact.value) > 1 for fact in grid.facts if fact.column in broken):
            grid.in_percent = frozenset(broken)


def _note_periods(titled: Sequence[tuple[str, Grid]]) -> None:
    """Give the values of tables the period by which alone their titles differ: "Year 2022, by clinic:" above one,
    "Year 2023, by clinic:" above the next."""
    alike: dict[str, list[tuple[Day, Grid]]] = {}
    for title, grid in titled:
        dates = [one for one in scan_dates(title) if one.kind == "date"] if len(title) <= _LONGEST_TITLE else []
        if len(dates) == 1 and not any(isinstance(label, Day) for fact in grid.facts for _, label in fact.keys):
            rest = title[: dates[0].start] + title[dates[0].end :]
            alike.setdefault(rest, []).append((dates[0].day, grid))
    for tables in alike.values():
        if len({day for day, _ in tables}) < 2:
            continue
        family = Family(columns=True, titles=True)
        for day, grid in tables:
            family.add(day, str(day))
            for fact in grid.facts:
                fact.keys = (*fact.keys, (family, day))


_SERIES_END = re.compile(r"^(?:Freq: [\w-]+, )?(?:Name: .{1,120}, )?(?:Length: \d+, )?dtype: \w+$")
"""What pandas prints below a series. Its first row is no header, even if its value could be a year."""


def _index_above(lines: Sequence[str], at: int) -> str:
    """The name of a series' index that is wider than the rows below it, as of counted ids. "" for none."""
    above = lines[at - 1].strip() if at else ""
    return above if re.fullmatch(r"[^\W\d]\w{0,60}", above) else ""


def _are_heading(span: tuple[int, int], below: Sequence[str]) -> bool:
    """Whether nothing stands below a heading."""
    return not any(line[slice(*span)].strip() for line in below)


def _are_names(start: int, end: int, before: tuple[int, int], lines: Sequence[str]) -> bool:
    """Whether a column goes on what the first one begins, as in "Customer Fink", "Customer Huber": it has no heading of
    its own, and each row has both parts, or neither one below a name that goes on.

    Numbers go on a name where further columns have headings: "Tier 1", "Tier 2".
    """
    rows = [line for line in lines if line[start:end].strip()]
    top = next((at for at, line in enumerate(lines) if line[start:end].strip()), 0)
    bare = [line for line in lines[top:] if not line[start:end].strip()]
    numbered = any(map(str.isdigit, "".join(line[start:end] for line in rows)))
    return (
        before[0] == 0
        and 0 < top <= _MOST_HEADINGS < len(rows) + 1
        and not any(line[slice(*before)].strip() for line in bare)
        and all(line[slice(*before)].strip() for line in rows)
        and (not numbered or any(line[end:].strip() for line in lines[:top]))
    )


_TWO_YEARS = re.compile(r"(?<!\S)(?:19|20)\d\d [^\d\s%]{1,6} (?:19|20)\d\d(?!\S)")


def _are_two_years(start: int, end: int, header: str) -> bool:
    """Whether this part of a header belongs to a heading such as "2024 / 2023"."""
    return any(match.start() <= start and end <= match.end() for match in _TWO_YEARS.finditer(header))


def _go_on(first: tuple[int, int], second: tuple[int, int], lines: Sequence[str]) -> bool:
    """Whether two columns are the words of one name: "Heures creuses" above "Total", at the left or the right edge.

    Levels of an index have headings, or begin below each other at two edges.
    """
    both = [line for line in lines if line[slice(*first)].strip() and line[slice(*second)].strip()]
    names = [line[slice(*second)] for line in lines if line[slice(*second)].strip()]
    headed = not lines[0][: second[1]].strip()
    body = [line for line in lines[headed:] if _NO_WORD.search(line, second[1])]
    if not both or not all(_NO_WORD.search(line, second[1]) for line in both):
        return False
    if any(map(str.isdigit, "".join(names))):
        return False
    if any(line[first[1] - 1] == " " or line[second[0]] == " " for line in both) or len(body) == len(both):
        return False
    if first[0] == 0:
        return len(both) == len(names) and all(line[0] != " " for line in body)
    one_edge = all(name[-1] != " " for name in names)
    left_out = any(line[slice(*first)].strip() and not line[slice(*second)].strip() for line in lines)
    return not left_out and one_edge and any(name[0] == " " for name in names) and len(names) > len(both)


_NO_WORD = re.compile(r"\d|\b(?:nan|none|nat)\b|<na>", re.IGNORECASE)


def _table(
    block: Sequence[str], reader: Reader, line: int, found: Found, *, series: bool = False, index: str = ""
) -> bool:
    """Read a block as a table; False when it is none. `index` is the name that stands above a series."""
    first = block[0]
    aligned = False
    if first.lstrip().startswith("|"):
        rows = [[cell.strip() for cell in text.strip().strip("|").split("|")] for text in block]
    elif "\t" in first:
        rows = [[cell.strip() for cell in text.split("\t")] for text in block]
    elif "," in first and ", " not in first and all(text.count(",") == first.count(",") for text in block):
        rows = [[cell.strip() for cell in text.split(",")] for text in block]
    else:
        rows, aligned = _columns_of(block), True
        if series or first.startswith("  "):
            rows = _with_whole_names(rows)
    kept = [(line + n, row) for n, row in enumerate(rows) if any(map(str.isalnum, "".join(row)))]
    values = [[number_in(cell, reader.marks) for cell in row] for _, row in kept]
    heads = _head_rows([row for _, row in kept], values, series=series)
    body = kept[heads:]
    if not body or len(body[0][1]) < 2:
        return False
    if len(body) < 2 and (not heads or (aligned and not _stands_below(block))):
        return False
    width = max(len(row) for _, row in body)
    words = [
        sum(value[at] is None for value in values[heads:] if at < len(value)) * 2 > len(body) for at in range(width)
    ]
    if aligned and any(cell.endswith(_GOES_ON) for _, row in kept for cell in row):
        return False
    if all(words) or (not heads and aligned and any(words[words.index(False) :])):
        return False  # sentences that happen to be of one length
    over = _over([row for _, row in kept[:heads]], [at for at in range(width) if not words[at]])
    first_head = 1 if over else 0
    header = [
        " ".join(row[at] for _, row in kept[first_head:heads] if at < len(row) and row[at]) for at in range(width)
    ]
    if index and not heads and words[0]:
        header[0] = index
    pivoted = aligned and _is_pivoted([row for _, row in kept[:heads]], words)
    add_grid(header, body, values[heads:], reader, found, over=over, of_values=pivoted)
    if index and not heads:
        add_index(index, body, reader, found)
    note_days(block, reader, found, line - 1)
    return True


_WORDS_TOGETHER = re.compile(r"\S+(?: \S+)*")


def _stands_below(block: Sequence[str]) -> bool:
    """Whether each figure of a single row ends where a heading above it ends, as pandas writes a table of one row."""
    if len(block) != 2 or not block[0][:1].isspace():
        return False
    ends = {match.end() for match in _WORDS_TOGETHER.finditer(block[0])}
    figures = [match.end() for match in _FIGURE.finditer(block[1])]
    return len(figures) >= 2 and ends.issuperset(figures)


def _head_rows(rows: Sequence[Sequence[str]], values: Sequence[Sequence[Numeral | None]], *, series: bool) -> int:
    """How many rows at the top name the columns: rows of words, or of years above numbers that are no years."""
    width = max(map(len, rows), default=0)
    below = values[1:]
    numeric = [sum(v[at] is not None for v in below if at < len(v)) * 2 > len(below) for at in range(width)]
    count = 0
    for row, value in zip(rows[:4], values, strict=False):
        cells = [(at, cell) for at, cell in enumerate(row) if cell]
        if not cells or not any(numeric):
            break
        over = [(at, cell) for at, cell in cells if at < width and numeric[at]]
        words = sum(value[at] is None for at, _ in over)
        years = 0 if series else sum(is_year(cell) and not _mostly_years(rows, at) for at, cell in over)
        if over and words + years < len(over):
            break
        if not over and any(value[at] is not None for at, _ in cells):
            break
        count += 1
    return count


def _is_pivoted(heads: Sequence[Sequence[str]], words: Sequence[bool]) -> bool:
    """Whether the columns of a table are the values of one thing, as pandas prints `pivot_table(columns="warehouse")`:
    that name stands before theirs, and the names of the index alone below it."""
    if len(heads) != 2 or not words or not words[0]:
        return False
    top, below = ([*row, *[""] * (len(words) - len(row))] for row in heads)
    figures = [at for at, word in enumerate(words) if not word]
    return bool(top[0] and below[0]) and all(top[at] and not below[at] for at in figures)


def _over(heads: Sequence[Sequence[str]], numeric: Sequence[int]) -> dict[int, str]:
    """What the first line of a header says of each column where it names groups of columns and the second line repeats
    its names below each group, as pandas prints `unstack()`: "orders", "churn rate, %" above the years."""
    if len(heads) < 2 or len(numeric) < 2 or len(heads[1]) <= numeric[-1]:
        return {}
    names = [heads[1][at] for at in numeric]
    size = next((at for at in range(1, len(names)) if names[at] == names[0]), len(names))
    tops = [heads[0][at] for at in numeric]
    if (
        not all(names)
        or size < 2
        or len(names) == size
        or len(names) % size
        or names != names[:size] * (len(names) // size)
    ):
        return {}
    if any(bool(top) != (at % size == 0) for at, top in enumerate(tops)):
        return {}
    return {at: tops[place - place % size] for place, at in enumerate(numeric)}


def _mostly_years(rows: Sequence[Sequence[str]], at: int) -> bool:
    cells = [row[at] for row in rows[1:] if at < len(row) and row[at]]
    return sum(map(is_year, cells)) * 2 > len(cells)


def _columns_of(block: Sequence[str]) -> list[list[str]]:
    """The cells of aligned lines: a column ends where all lines have a blank."""
    width = max(map(len, block))
    padded = [line.ljust(width) for line in block]
    used = [any(line[at] != " " for line in padded) for at in range(width)]
    spans: list[tuple[int, int]] = []
    start = None
    for at, one in enumerate([*used, False]):
        if one and start is None:
            start = at
        elif not one and start is not None:
            spans.append((start, at))
            start = None
    whole = _with_whole_headings(spans, padded)
    return [[line[a:b].strip() for a, b in whole] for line in padded]


def _with_whole_headings(spans: Sequence[tuple[int, int]], lines: Sequence[str]) -> list[tuple[int, int]]:
    """The columns with headings such as "part of change %" in one piece: their figures stand below the last word."""
    below = [line for line in lines[_is_headed(spans, lines) :] if any(map(str.isdigit, line))]
    whole: list[tuple[int, int]] = []
    for start, end in spans:
        before = whole[-1] if whole else None
        if (
            before
            and start - before[1] == 1
            and below
            and (
                _are_heading(before, below)
                or (_are_two_years(before[0], end, lines[0]) and _are_heading(before, below[1:]))
                or _are_names(start, end, before, lines)
                or _go_on(before, (start, end), lines)
            )
        ):
            whole[-1] = (before[0], end)
        else:
            whole.append((start, end))
    return whole


def _is_headed(spans: Sequence[tuple[int, int]], lines: Sequence[str]) -> bool:
    """Whether the first line has a word right above a column of numbers. A heading such as "Q1 late" has digits too.

    A line that names years is not taken for one: whose year a figure is of, no sentence has to say.
    """
    if any(map(is_year, lines[0].split())):
        return False
    for span in spans:
        below = [cell for line in lines[1:] if (cell := line[slice(*span)].strip())]
        if below and any(map(str.isalpha, lines[0][slice(*span)])) and all(map(_BARE_NUMBER.fullmatch, below)):
            return True
    return False


_BARE_NUMBER = re.compile(r"[-−+]?\d[\d.,]*%?|nan", re.IGNORECASE)
_MOST_HEADINGS = 2
_GOES_ON = (",", ":", ";", "(")
"""A text that ends so goes on behind the blank."""


def _with_whole_names(rows: list[list[str]]) -> list[list[str]]:
    """The rows with names such as "(unknown: C012)" in one piece. Where no other name reaches as far as a blank of such
    a name, the blank looks like the edge of a column."""
    for at in reversed(range(max(map(len, rows), default=0) - 2)):
        if any(row[at].endswith(_GOES_ON) for row in rows):
            rows = [[*row[:at], f"{row[at]} {row[at + 1]}".strip(), *row[at + 2 :]] for row in rows]
    return rows


def _shape(line: str) -> int:
    """How many numbers a line holds; 0 for a line without numbers or without words."""
    if not any(map(str.isdigit, line)) or len(line) > 2_000:
        return 0
    return sum(one.kind == "number" for one in _figures(line, "point"))


_UNSURE = re.compile(r"(?<![\d.,])\d{1,3}[.,]\d{3}(?![\d.,])")
"""A number whose mark stands before decimals or between thousands."""


def _figures(line: str, marks: Marks) -> list[Numeral]:
    """The numbers and dates of a line. What looks like a year is a number behind a label, unless it labels the next.

    A currency between two numbers, as in "gap % 5.17 EUR 3191", may be of either: it is of none.
    """
    if _UNSURE.search(line) and (own := marks_of(line)) != "unsure":
        marks = own  # "sum 966.11 | mean 1.073" among lines with decimal commas
    found = with_shared_units(scan(line, marks), line, SPAN)
    for at, (one, behind) in enumerate(pairwise(found)):
        if one.unit in _MONEY and behind.kind == "number" and not line[one.end : behind.start].strip():
            found[at] = replace(one, unit="", text=line[one.start : one.digits_end], end=one.digits_end)
    for at, one in enumerate(found):
        labels_next = at + 1 < len(found) and line[one.end : found[at + 1].start].strip(" :=") == ""
        if one.bare and one.kind == "date" and not labels_next and _LABELLED.search(line, 0, one.start):
            found[at] = Numeral(
                one.start, one.end, one.text, "number", ((float(one.text), 0),), digits_end=one.end, bare=True
            )
    return found


def _lines(  # noqa: PLR0912 - one loop over the lines and their numbers
    lines: Sequence[str], reader: Reader, first: int, found: Found
) -> None:
    """The facts of lines such as "North: revenue 12, orders 3". Lines of the same shape are rows of one family."""
    family = Family(binds=len(lines) > 1, lines=True)
    heads: list[str] = []
    parsed: list[tuple[int, str, list[Numeral]]] = []
    for number, text in enumerate(lines, first):
        line = text[:20_000]
        numbers = _figures(line, reader.marks) if any(map(str.isdigit, line)) else []
        for one in numbers:
            if one.kind in ("date", "time"):
                note_day(one, reader.place(number, line), found)
        parsed.append((number, line, [one for one in numbers if one.kind in ("number", "ordinal")]))
        heads.append(_head(line, numbers))
    if len(lines) == 1 and _listed(*parsed[0], reader, found):
        return
    shared = set(key_of(heads[0])) if len(lines) > 1 else set()
    for head in heads[1:]:
        shared &= set(key_of(head))
    if any(shared.issuperset(key_of(head)) for head in heads):
        shared = set()  # "Tech: …" above "Tech per month: …": without it, nothing would be left of the first name
    grid = Grid(rows=len(lines)) if len(lines) > 1 else None
    columns = Family(columns=True)
    for place, ((number, line, numbers), head) in enumerate(zip(parsed, heads, strict=True)):
        label = label_of(head)
        keys: tuple[tuple[Family, Label], ...] = ()
        if label and len(lines) > 1:
            own = label if isinstance(label, Day) else _distinct(label, shared)
            family.add(own, head)
            keys = ((family, own),)
        previous, named = 0, ""
        for at, one in enumerate(numbers):
            piece = _last_piece(line[previous : one.start]) if previous else line[: one.start]
            after = re.match(r"\s?[^\d,;|()\n]{0,40}", line[one.end :])
            words = set(key_of(piece)) | set(key_of(head)) | set(key_of(after[0] if after else ""))
            own_keys = keys
            name = piece.rstrip(" =:").rpartition(":")[2].strip(" =:$€£(-")
            named = name if any(map(str.isalnum, name)) else named  # "rates % 13.04 7.15": both are rates
            if keys and len(numbers) > 1 and (column := label_of(name)) and name.strip() != head:
                columns.add(column, name)
                own_keys = (*keys, (columns, column))
            fact = make_fact(one, reader.place(number, line.strip()), reader.turn, own_keys, words)
            if not fact.unit and fact.scale == 1.0:
                fact.unit, fact.scale = unit_of(named if len(numbers) > 1 else head)
            if grid is not None:
                fact.grid, fact.row, fact.column = grid, place, at
                grid.facts.append(fact)
            found.facts.append(fact)
            for part in _parts(line, one, reader.marks):
                apart = make_fact(part, reader.place(number, line.strip()), reader.turn, keys, set(key_of(head)))
                found.facts.append(apart)
            previous = one.end
    if len(columns.labels) < 2:
        columns.binds = False
    if grid is not None and grid.facts:
        grid.record = _are_measures(grid)
        family.binds = family.binds and not grid.record
        found.grids.append(grid)


_BRACKET_AT_END = re.compile(r"[(（\[][^()（）\[\]]{1,20}[)）\]][\s:=]*$")


def _last_piece(text: str) -> str:
    """The words before a number that name it, with a unit in brackets: "share (%) " of "cost 30 | share (%) 13.3"."""
    unit = _BRACKET_AT_END.search(text)
    end = unit.start() if unit else len(text)
    return _SPLIT.split(text[:end])[-1] + text[end:]


def _distinct(label: Key, shared: set[str]) -> Key:
    """The words of a label that its neighbours do not have; the whole label where only a number would be left."""
    own = tuple(word for word in label if word not in shared)
    return label if all(word.isdigit() for word in own) else own


_APART = re.compile(r"^[-−]?\d{1,3}(?: \d{3})+(?=$|\.\d)")


def _parts(line: str, one: Numeral, marks: Marks) -> list[Numeral]:
    """The two numbers of "30 660". `print(name, 30, 660)` writes them like 30,660 with a blank in place of the
    comma."""
    if not _APART.match(line[one.start : one.digits_end]):
        return []
    return scan(line[one.start : one.end].replace(" ", "  "), marks)


_AND = re.compile(r"^[\s,;|]+(?:and\s+)?")
_FEWEST = 3


def _listed(number: int, line: str, numbers: Sequence[Numeral], reader: Reader, found: Found) -> bool:
    """Read "monthly mean: Jan 1.4, Feb 4.9, Mar 7.6" as a table of one column. Returns whether the line is such a
    list."""
    colon = line.find(": ")
    numbers = [one for one in numbers if one.start > colon]
    if colon < 1 or len(numbers) < _FEWEST or len({(one.unit, one.readings[0][1] > 0) for one in numbers}) > 1:
        return False
    names: list[str] = []
    previous = colon + 1
    for one in numbers:
        piece = line[previous : one.start]
        if names and not re.match(r"\s?[,;|]", piece):
            return False
        names.append(_AND.sub("", piece).strip(" :$€£"))
        previous = one.end
    head = line[:colon].strip(" -•*")
    labels = [label_of(name) for name in names]
    if (
        not all(labels)
        or len(set(labels)) < len(labels)
        or "=" in line
        or not head
        or len(line.rstrip()) - previous > 1
    ):
        return False
    family, grid, words = Family(), Grid(rows=len(numbers), names=((), key_of(head))), set(key_of(head))
    unit, scale = unit_of(head)
    for row, (one, name, label) in enumerate(zip(numbers, names, labels, strict=True)):
        family.add(label, name)
        own = words | (set() if isinstance(label, Day) else set(label))
        fact = make_fact(one, reader.place(number, line.strip()), reader.turn, ((family, label),), own)
        if not fact.unit and fact.scale == 1.0:
            fact.unit, fact.scale = unit, scale
        fact.grid, fact.row, fact.column = grid, row, 1
        grid.facts.append(fact)
        found.facts.append(fact)
    found.grids.append(grid)
    return True


def _are_measures(grid: Grid) -> bool:
    """Whether lines of one figure each name measures ("spend: 482 EUR", "clicks: 64"): they are of different kinds."""
    facts = [fact for fact in grid.facts if not all(_counts(label) for _, label in fact.keys)]
    broken = sum(fact.decimals != 0 for fact in facts)
    differ = len({fact.unit for fact in facts}) > 1 or (len(facts) > broken == 1)
    return differ and len(grid.facts) == grid.rows <= _MOST_MEASURES


def _counts(label: Label) -> bool:
    """Whether a label is only the name of a figure, such as "rows": it is neither a thing nor a kind of its own."""
    return not isinstance(label, Day) and is_statistic(label)


def _head(line: str, numbers: Sequence[Numeral]) -> str:
    """What stands before the first number, or before the colon when there is one: the label of the line."""
    first = next((one for one in numbers if one.kind == "number"), None)
    end = first.start if first else len(line)
    mark = _LABEL_END.search(line, 0, end)
    head = line[: mark.start()] if mark and mark.start() else line[:end]
    return head.strip(" -•*:=|\t$€£(")[:80] if any(map(str.isalnum, head)) else ""
