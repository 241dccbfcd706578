"""The claims of a report: the numbers and dates in its Markdown that say something, each with the words around it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from workers.agent.provenance.language.numerals import FILLER, RANGE, Marks, Numeral, marks_of, scan, with_shared_units
from workers.agent.provenance.language.words import SCALES, UNITS
from workers.agent.provenance.outputs.grids import unit_of

MAX_REPORT = 60_000
_LONGEST = 1_500
SMALL = 12
"""A bare whole number up to this in a sentence ("the 5 regions") is no claim: it cannot be told from a word."""

_SMALL = {(float(number), 0) for number in range(SMALL + 1)}
_FENCED = re.compile(
    r"^(?P<open>(?P<fence>```+|~~~+)(?P<word>[^\n]*))(?P<inside>.*?)(?P<close>^(?P=fence)[ \t]*$|\Z)",
    re.MULTILINE | re.DOTALL,
)
_WIDE_NUMBER = re.compile("[＋－]?[０-９]+(?:，[０-９]{3}(?![０-９]))*(?:．[０-９]+)?")
_NARROW = str.maketrans("０１２３４５６７８９．，－＋", "0123456789.,-+")
_MATH = re.compile(r"\$(?=[^$\n]*\\[A-Za-z]|[-+\d.,\s]*\\%\$)([^$\n]{1,200})\$")
"""A formula as LaTeX writes it: with a command between two dollars, or a percent sign behind a number."""
_MARKED = re.compile(r"(?P<open>(?<!`)(`{1,9})(?!`))(?P<inside>.*?)(?P<close>(?<!`)\2(?!`))")
_TEXT_WORDS = ("", "text", "txt", "plain", "plaintext")
"""The words behind a fence that may hold a table of text."""
_TEXT_TABLE = re.compile(r"^[ \t|]*[^\W\d_][^={};\n]{0,100}?(?:[ \t]{2,}|\t|\|)[^={};\n]{0,100}\d", re.MULTILINE)
"""A line of a table with its columns in line: a name, then a number."""
_ONLY_A_FIGURE = re.compile(r"[-−–+±(]?\W?\d[\d.,'’\s]*[^\w\s]?\s?\w{0,12}\W?")
_FILE = re.compile(
    r"(?<![\w.-])[\w.-]*[\w-]\.(?:csv|tsv|xlsx?|json|jsonl|parquet|png|svg|pdf|md|html|txt|ipynb|py|docx?|zip|sql|db)\b"
)
_BLANKED = (
    re.compile(r"!?\[[^\]\n]{0,300}\]\([^)\n]{0,2000}\)(?=\S*)"),
    re.compile(r"<[a-zA-Z/!][^>\n]{0,500}>"),
    re.compile(r"https?://\S+"),
    _FILE,
    re.compile(r"^[ \t>]{0,12}\d{1,3}[.)](?=\s)", re.MULTILINE),
    re.compile(r"\[\^?\d{1,3}\]"),
    re.compile(
        r"\b(?:top|step|cell|figure|fig\.|table|chart|sheet|page|section|chapter|version|python|pandas|"
        r"part|no\.|question|"
        r"abbildung|abb\.|tabelle|schritt|zelle|blatt|seite|abschnitt|teil)[ -]?#?\d+(?:\.\d+)*(?![\d,.]*\d|\s?[%€$])",
        re.IGNORECASE,
    ),
    re.compile(r"(?:图|表|步骤|单元格|第)\s?\d+\s?(?:步|张|页|节|章)?(?=[^\d.,万亿%元]|$)"),
    # Names of methods, not results: confidence levels, the fences of quartiles, thresholds of p.
    re.compile(
        r"(?<![\d.,])(?:80|90|95|99(?:[.,]9)?)[ -]?(?:%|percent|Prozent)[ -]*(?:iges? |-?)?(?:confidence|"
        r"CI\b|KI\b|interval|prediction|Konfidenz|置信|信頼|区间|区間|percentile|Perzentil)", re.IGNORECASE),
    re.compile(
        r"(?<![\d.,])(?:95|99(?:[.,]9)?)[ -]?(?:%|percent|Prozent)[ -]*(?:range\b|certainty|Bereich|Sicherheit)",
        re.IGNORECASE),
    re.compile(
        r"\b(?:(?:IC|CI|KI|intervalles? de confiance|intervalos? de confianza)[ :]*(?:(?:à|de|del|al)[ ]+)?|"
        r"(?:intervalles?|fourchettes?) à |intervalos? (?:al|del) )"
        r"(?:80|90|95|99(?:[.,]9)?)[ ]?%", re.IGNORECASE),
    re.compile(
        r"(?<![\d.,])(?:10|5|1|0[.,]1)\s?%[ -]*(?:-?\s?)?"
        r"(?:level|significance|Niveau|Signifikanz|显著)", re.IGNORECASE),
    re.compile(
        r"(?<![\d.,])(?:1[.,]5|3)\s?(?:[x×*·]|times|mal|倍)\s?(?:the )?(?:IQR|inter-?quartile|"
        r"interquartils?|四分位)", re.IGNORECASE),
    re.compile(r"(?<![\d.,])1[.,]5\s?IQR"),
    re.compile(r"\b(?:p|alpha|α)\s?[-=<>≤≥]{1,2}\s?0?[.,](?:1|10|05|01|001|0001)(?!\d)"),
    re.compile(r"[<≤]\s?0?[.,](?:1|10|05|01|001|0001)(?!\d)"),
    re.compile(r"\b\d{1,2}(?:st|nd|rd|th|\.|e)?[ -](?:percentile|centile|Perzentil)", re.IGNORECASE),
    re.compile(
        r"(?<![\d.,])(?:0[.,]5|2[.,]5|5|25|75|95|97[.,]5|99[.,]5)[ -]?%[ -]*"
        r"(?:(?:and|und|et|y|bis|to|–|-) *(?:(?:the|dem|das) )?(?:75|95|97[.,]5|99[.,]5)[ -]?%[ -]*)?"
        r"(?:quantile|Quantil|cuantil|percentile|Perzentil|分位)|"
        r"\b(?:quantile?n?s?|cuantile?s?|per[cz]entile?n?s?)[ :]+(?:(?:à|de|of) )?(?:2[.,]5|5|25|75|95|97[.,]5)[ ]?%"
        r"(?: ?(?:and|und|et|y|bis|to|–|-) ?(?:75|95|97[.,]5)[ ]?%)?", re.IGNORECASE),
    re.compile(r"\bISO[ -]?\d+|\bUTF-?\d+|\bR²"),
)  # fmt: skip
_HEADING = re.compile(r"^[ \t>]{0,12}#{1,6} .*$", re.MULTILINE)
_NUMBER_OF_HEADING = re.compile(r"[ \t>]{0,12}#{1,6} +(?:\d{1,2}(?:\.\d{1,2})+[.)]?|\d{1,2}[.)])\s")
_EMPHASIS = re.compile(r"(?:[*~]|(?<![^\W_])_|_(?![^\W_])){1,3}(?=\S)|(?<=\S)(?:[*~]|(?<![^\W_])_|_(?![^\W_])){1,3}")
_ROW = re.compile(r"^[ \t]*\|?.*\|.*$")
_RULE = re.compile(r"^[ \t]*+\|?+[ \t]*+:?-{2,}:?[ \t]*+(?:\|[ \t]*+:?-{2,}:?[ \t]*+)*\|?[ \t]*$")
_SENTENCE = re.compile(
    r"(?<=[.!?])[\s\u2060]+(?=[A-ZÄÖÜ\"“(*\u2060]|[a-z][a-z0-9]*_\w)|(?<=\d{3}[.!?])[\s\u2060]+(?=[a-zäöü])|[。！？]|"
    r"(?<=[a-zäöüß]{5}[.!?])[\s\u2060]+(?=\d)|"
    r"\n(?=[ \t]*(?:[-*•>]|\d{1,3}[.)])[ \t])|"
    r"\n(?=[ \t]*\u2060{2,4} )|\n[ \t]*\n|\n(?=[^\S\n]*(?:\||#))|(?<=[^\n])\n(?=#)"
)
"""A sentence may begin with the name of a table, such as orders_archive, with any word behind a long number, or with a
number behind a word that is too long for an abbreviation."""
_ABBREVIATION = re.compile(
    r"(?:\b(?:vs|approx|ca|bzw|z\. ?B|e\.g|i\.e|Mio|Mrd|Tsd|ggü|No|Nr|St|inkl|max|min|"
    r"(?i:aprox|circa|insges|durchschn|zuzgl|abzgl|einschl|ausschl|monatl|jährl))|\b[A-Z])\.$"
)
_ORDINAL = re.compile(r"(?<![\d.,])\b\d{1,2}\.$")
"""Where commas stand before decimals, "2. Platz" goes on. In English "Tier 2." ends a sentence."""
_YEARS = re.compile(r"(?<![\w.,/$€£¥+−–-])((?:19|20)\d\d)-((?:19|20)\d\d)(?![\w/–-]|[.,]\d|[\s\u2060]?[%％$€£¥元万])")
"""Two years with a hyphen between them, as titles of charts have them: they are dates."""
_CLAUSE = re.compile(
    r"[,;:](?=[\s\u2060\u3040-\u30ff\u3400-\u9fff])|(?<=[%％\u3040-\u30ff\u3400-\u9fff])[,;:](?=[A-Za-z])|"
    r"[，；：、]|[()（）]|[ \u2060](?:and|while|whereas|but|und|während|aber|then|"
    r"et|y|followed by|–|—|vs\.?|versus|against|compared (?:to|with)|contre|frente a|gegenüber|→)(?=[ \u2060])|而|其次"
)


@dataclass(slots=True, eq=False)
class Claim:
    """One figure of a report. Places are those of the report as it was given.

    `span` is its sentence (or row of a table), `clause` the part of it. `row` are the words of its row and `column` the
    heading of its column, when it stands in a table; `table` and `at` say which table, row and column.
    """

    numeral: Numeral
    span: tuple[int, int]
    clause: tuple[int, int]
    row: str = ""
    column: str = ""
    table: int = -1
    at: tuple[int, int] = (-1, -1)
    small: bool = False

    @property
    def start(self) -> int:
        """Where the figure begins in the report."""
        return self.numeral.start

    @property
    def end(self) -> int:
        """Where the figure ends in the report, its unit included."""
        return self.numeral.end

    @property
    def in_table(self) -> bool:
        """Whether it stands in a table of the report."""
        return self.table >= 0


@dataclass(slots=True)
class Reading:
    """A report that was read: its claims, and its text with blanks in place of everything that cannot be a claim.

    `written` is the same text as it was given, at the same places.
    """

    text: str
    written: str
    claims: list[Claim] = field(default_factory=list)
    marks: Marks = "unsure"
    headings: list[tuple[int, int]] = field(default_factory=list)
    names: list[tuple[int, int, str]] = field(default_factory=list)
    """What stands as code, and names of files: blank in `text`, for they claim nothing, but they may name a row."""


@dataclass(slots=True)
class _Cell:
    start: int
    end: int
    text: str


def read_report(report: str) -> Reading:
    """The claims of a report's Markdown, at most of its first 60,000 characters."""
    text = _YEARS.sub("\\1–\\2", blanked(report[:MAX_REPORT]))
    reading = Reading(text, report[:MAX_REPORT], marks=marks_of(text), names=_names(report[:MAX_REPORT]))
    numerals = with_shared_units(scan(text, reading.marks), text, RANGE)
    tables = list(_tables(text, reading.names))
    inside = [(start, end) for start, end, _ in tables]
    for number, (start, end, rows) in enumerate(tables):
        reading.claims += _table_claims(_within(numerals, start, end), rows, number)
    for span in _spans(text, inside, ordinals=reading.marks != "point"):
        reading.claims += [_claim(one, text, span) for one in _within(numerals, *span)]
    reading.headings = [match.span() for match in _HEADING.finditer(text)]
    reading.claims = [
        claim
        for claim in reading.claims
        if not (
            _is_basis(claim.numeral, text)
            or _only_names(claim.numeral, text, reading.headings)
            or _is_day_of_month(claim, text)
        )
    ]
    reading.claims.sort(key=lambda claim: claim.start)
    return reading


def _within(numerals: Sequence[Numeral], start: int, end: int) -> Sequence[Numeral]:
    """Those that begin in this part of the text. They come in its order."""
    first = bisect_left(numerals, start, key=lambda one: one.start)
    return numerals[first : bisect_left(numerals, end, key=lambda one: one.start)]


_BASIS = re.compile(r"(?:\b(?:per|je|pro|par|por)|每)[\s\u2060]*$", re.IGNORECASE)


def _is_basis(one: Numeral, text: str) -> bool:
    """Whether a number is the basis of a rate: "per 100 km", "je 1.000 Einwohner"."""
    digits = re.sub(r"\D", "", one.text)
    round_one = digits.rstrip("0") == "1" and one.unit not in ("%", "eur", "usd", "gbp", "cny")
    return round_one and _BASIS.search(text, max(0, one.start - 8), one.start) is not None


_MONTH_BEFORE = re.compile(r"\d\s?月")
_DAY_BEHIND = re.compile(r"[\s\u2060]*[日号](?![間间数元本])")


def _is_day_of_month(claim: Claim, text: str) -> bool:
    """Whether a number is a day of a month that its sentence names before: 31 in "7月28日まで、29日から31日"."""
    one = claim.numeral
    return (
        one.bare
        and one.kind == "number"
        and 1 <= one.readings[0][0] <= 31
        and _DAY_BEHIND.match(text, one.digits_end) is not None
        and _MONTH_BEFORE.search(text, claim.span[0], one.start) is not None
    )


def _only_names(one: Numeral, text: str, headings: Sequence[tuple[int, int]]) -> bool:
    """Whether it names a heading and claims nothing: the heading's own number, its period ("the last 30 days")."""
    heading = next((start for start, end in headings if start <= one.start < end), None)
    if heading is None:
        return False
    numbered = _NUMBER_OF_HEADING.match(text, heading)
    return one.kind != "number" or _is_span_of_time(one) or (numbered is not None and one.start < numbered.end())


def _is_span_of_time(one: Numeral) -> bool:
    return UNITS.get(one.unit) == "time" or one.unit in ("mo", "d", "w", "a")


def blanked(report: str) -> str:
    """The report, at its full length, with blanks in place of what holds no claim: code, links, numbers of lists."""
    text = _MARKED.sub(_without_marks, _FENCED.sub(_without_marks, _MATH.sub(_plain_math, _narrow(report))))
    for pattern in _BLANKED:
        text = pattern.sub(lambda match: _blank(match[0]), text)
    text = text.replace("\x00", FILLER)
    return _EMPHASIS.sub(lambda match: FILLER * len(match[0]), text)


def _names(report: str) -> list[tuple[int, int, str]]:
    """The names of a report that `blanked` leaves out, with their places."""
    text = _FENCED.sub(_without_marks, _narrow(report))
    found = [
        (*code.span("inside"), code["inside"].strip())
        for code in _MARKED.finditer(text)
        if not _ONLY_A_FIGURE.fullmatch(code["inside"])
    ]
    return found + [(*file.span(), file[0]) for file in _FILE.finditer(_MARKED.sub(_without_marks, text))]


def _narrow(report: str) -> str:
    """The report with its full-width numbers in the digits of all others; each letter keeps its place."""
    return _WIDE_NUMBER.sub(lambda match: match[0].translate(_NARROW), report)


def _plain_math(formula: re.Match[str]) -> str:
    """A formula without what only sets it: its dollars are no currency, and `\\%` is a percent sign."""
    inside = formula[1].replace("\\%", f"{FILLER}%").replace("\\,", FILLER * 2)
    return f"{FILLER}{inside}{FILLER}"


def _without_marks(code: re.Match[str]) -> str:
    """Code as blanks. If it is no code but a figure or a table of text, only its marks become blanks."""
    inside = code["inside"]
    word = code.groupdict().get("word")
    if word is None:
        claims = _ONLY_A_FIGURE.fullmatch(inside) is not None
    else:
        claims = word.strip().casefold() in _TEXT_WORDS and _TEXT_TABLE.search(inside) is not None
    return f"{_blank(code['open'])}{inside if claims else _blank(inside)}{_blank(code['close'])}"


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", "\x00", text)


def _claim(one: Numeral, text: str, span: tuple[int, int]) -> Claim:
    start, end = span
    clause = [start, end]
    for match in _CLAUSE.finditer(text, start, end):
        if match.end() <= one.start:
            clause[0] = match.end()
        elif match.start() >= one.end:
            clause[1] = match.start()
            break
    counted = one.bare or (_is_span_of_time(one) and text[one.start : one.digits_end].isdigit())
    small = one.kind == "number" and bool(counted) and one.readings[0] in _SMALL
    return Claim(one, span, (clause[0], clause[1]), small=small)


def _spans(text: str, inside: Sequence[tuple[int, int]], *, ordinals: bool) -> Iterator[tuple[int, int]]:
    """The sentences and list items outside tables. `ordinals`: a point behind a number may make it an ordinal one."""
    goes_on = (_ABBREVIATION, _ORDINAL) if ordinals else (_ABBREVIATION,)
    edges = [0]
    for start, end in inside:
        edges += [start, end]
    edges.append(len(text))
    for begin, stop in zip(edges[::2], edges[1::2], strict=True):
        start = begin
        for match in _SENTENCE.finditer(text, begin, stop):
            before = (text, max(start, match.start() - 12), match.start())
            if match[0][0] not in "。！？\n" and any(one.search(*before) for one in goes_on):
                continue
            yield from _pieces(text, start, match.start() + (match[0][0] in "。！？"))
            start = match.end()
        yield from _pieces(text, start, stop)


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A sentence, or its pieces if it is longer than any person writes. Each figure is compared with all others of its
    sentence, so a sentence with thousands of figures would take minutes."""
    while end - start > _LONGEST:
        cut = max(text.rfind(sign, start + _LONGEST // 2, start + _LONGEST) for sign in (",", ";", "，", "、", " "))
        cut = cut + 1 if cut > start else start + _LONGEST
        yield start, cut
        start = cut
    yield start, end


def _tables(text: str, names: Sequence[tuple[int, int, str]]) -> Iterator[tuple[int, int, list[list[_Cell]]]]:
    """The Markdown tables: where each starts and ends, and its rows of cells, the heading first."""
    place, lines = 0, []
    for line in text.split("\n"):
        lines.append((place, line))
        place += len(line) + 1
    at = 0
    while at + 1 < len(lines):
        if (
            "|" not in lines[at][1]
            or "|" not in lines[at + 1][1]
            or not _RULE.match(lines[at + 1][1].replace(FILLER, ""))
        ):
            at += 1
            continue
        end = at + 2
        while end < len(lines) and _ROW.match(lines[end][1]) and lines[end][1].strip():
            end += 1
        rows = [_cells(*lines[n]) for n in range(at, end) if n != at + 1]
        _name_cells(rows, names)
        last = lines[end - 1]
        yield lines[at][0], last[0] + len(last[1]), rows
        at = end


def _cells(start: int, line: str) -> list[_Cell]:
    cells: list[_Cell] = []
    begin = 0
    for match in re.finditer(r"(?<!\\)\|", line + "|"):
        text = line[begin : match.start()]
        cells.append(_Cell(start + begin, start + match.start(), text.replace(FILLER, "").strip()))
        begin = match.end()
    if cells and not cells[0].text and line.lstrip().startswith("|"):
        cells = cells[1:]
    return cells[:-1] if cells and not cells[-1].text and line.rstrip().endswith("|") else cells


def _name_cells(rows: Sequence[Sequence[_Cell]], names: Sequence[tuple[int, int, str]]) -> None:
    """Give a cell that holds nothing but code, or the name of a file, that name as its text."""
    for cell in (cell for row in rows for cell in row if not cell.text):
        cell.text = next((name for start, end, name in names if cell.start <= start and end <= cell.end), "")


def _table_claims(numerals: Sequence[Numeral], rows: Sequence[Sequence[_Cell]], number: int) -> Iterator[Claim]:
    """The claims of a table. A first column of dates, years or counting numbers names its rows and claims nothing."""
    if not rows:
        return
    head, body = rows[0], rows[1:]
    held = {(r, c): _within(numerals, cell.start, cell.end) for r, row in enumerate(body) for c, cell in enumerate(row)}
    width = max((len(row) for row in body), default=0)
    labels = {c for c in range(width) if _names_rows(c, body, held)}
    for r, row in enumerate(body):
        words = " | ".join(row[c].text for c in sorted(labels) if c < len(row))
        for c, cell in enumerate(row):
            heading = head[c].text if c < len(head) else ""
            for one in held[r, c]:
                if c in labels and one.kind != "number":
                    continue
                if c in labels and (one.bare or c == 0):
                    continue
                span = (row[0].start, row[-1].end)
                yield Claim(_with_heading(one, heading), span, (cell.start, cell.end), words, heading, number, (r, c))


def _names_rows(c: int, body: Sequence[Sequence[_Cell]], held: Mapping[tuple[int, int], Sequence[Numeral]]) -> bool:
    cells = [(row[c].text, held[r, c]) for r, row in enumerate(body) if c < len(row) and row[c].text]
    if not cells:
        return False
    figures = sum(any(one.kind == "number" for one in found) and _is_figure(text) for text, found in cells)
    if c == 0 and all(_CODED.match(text) for text, _ in cells):
        return True
    if c == 0 and all(text.rstrip(".").isdigit() for text, _ in cells):
        counted = [int(text.rstrip(".")) for text, _ in cells]
        return counted == list(range(counted[0], counted[0] + len(counted))) or all(1900 < n < 2100 for n in counted)
    return figures * 2 < len(cells) or (c == 0 and all(found and found[0].kind == "date" for _, found in cells))


_CODED = re.compile(r"^\d+[\s\u2060-]+[^\W\d_]{2,}[^\d]*$")
"""A row's name with a number before it: "4100 Production"."""


def _is_figure(text: str) -> bool:
    """Whether a cell is mostly a number."""
    letters = sum(map(str.isalpha, text))
    return letters <= max(6, sum(map(str.isdigit, text)) * 2)


_SCALE_IN_HEADING = re.compile(
    r"(?:[(\[（,/ ]|^)(?P<scale>k|thousands?|tsd\.?|tausend|mio\.?|mn|m|millions?|millionen|bn|mrd\.?|"
    r"billions?|trillions?|milliards?|mil millones|millones|lakhs?|crores?|千|万|百万|亿|萬|億|兆)(?:[ )\]）/.円元]|$)",
    re.IGNORECASE,
)


def _with_heading(one: Numeral, heading: str) -> Numeral:
    """The number with the unit and the scale that its column's heading gives."""
    if one.kind != "number":
        return one
    unit, scale = unit_of(heading)
    if len(heading.strip()) == 1 and heading.strip().isalpha():
        scale = 1.0  # men and women, "H" and "M"
    elif scale == 1.0 and (match := _SCALE_IN_HEADING.search(heading)):
        scale = SCALES.get(match["scale"].rstrip(".").casefold(), 1.0)
    changed = one
    if not one.unit and unit:
        changed = replace(changed, unit=unit)
    if one.scale == 1.0 and scale != 1.0 and one.unit != "%":
        changed = replace(changed, scale=scale)
    return changed
