"""Ranks: a sentence says that a row is first or last, but in the table of its figure another row is.

A clause is judged only if there is no doubt. It names one row, none of its other words restricts the statement, and the
row is not first in any column that may be meant.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from workers.agent.provenance.binding import Scene
from workers.agent.provenance.claims import Claim
from workers.agent.provenance.facts import Fact, Facts, Family, Label, is_total
from workers.agent.provenance.matching import bounds, candidates
from workers.agent.provenance.naming import Mention
from workers.agent.provenance.numerals import FILLER, Day
from workers.agent.provenance.rank_words import (
    ARTICLE,
    ASIDE,
    BAD,
    BEFORE_NAME,
    CJK_ASIDE,
    CJK_BAD,
    CJK_FUNCTION,
    CJK_GOOD,
    CJK_INTRO,
    COMPARED,
    COPULA,
    FOLLOWED,
    FUNCTION,
    GOOD,
    INTRO,
    KINDS,
    NUMBER_OF,
    OPENS,
    PREDICATE,
    RANK,
    RANKED,
    RESTRICTS,
    WITHIN,
)
from workers.agent.provenance.words import tokens

_LONGEST = 400
"""Characters of a sentence that is judged."""
_MOST = 60
"""Sentences of a report that are judged."""
_MOST_ROWS = 2_000
_LONG_NOUN = 6
"""Characters of the longest Chinese or Japanese word that is taken for a measure."""
_PIECE = re.compile(
    r"[,;:](?=\s)|[，；：、]|[()（）]|\s(?:and|while|whereas|but|then|und|während|aber|y|mientras|pero|et|mais|–|—|→)"
    r"(?=\s)|而|其次"
)
_BEHIND_NAME = re.compile(r"\s*(?:(?:clearly|narrowly|again|still|klar|deutlich|knapp)\s+)?")
_STOP = re.compile(r"[,;:，；：、()（）\d]|\b(?:is|was|were|are|with|at|mit|bei|con|avec|in|im|war|ist|fue|est)\b")
_NESTED = re.compile(r"[ \t]{2,}[-*•\d]")
_OF_ADJECTIVES = re.compile(r"most|least|meisten|wenigsten", re.IGNORECASE)
_ADVERB = re.compile(rf"\bam\s*$|{COPULA.pattern}", re.IGNORECASE)
"""Words before "most" in "is most efficient" and "am meisten gewachsen". This "most" compares no numbers of things."""
_MARKS = " .!?。*-•"


class Misplaced(NamedTuple):
    """A figure whose sentence puts its row first or last, the value of that row, and the value that really is there."""

    claim: Claim
    own: Fact
    leader: Fact


class _Clause(NamedTuple):
    """A clause that ranks: the report, its place there, the word that ranks, and the one figure in it."""

    text: str
    start: int
    end: int
    rank: re.Match[str]
    claim: Claim

    @property
    def kind(self) -> str:
        """How the word ranks: `level`, `size`, `lead`, `verb` or `best`."""
        return (self.rank.lastgroup or "").partition("_")[0]

    @property
    def up(self) -> bool:
        return (self.rank.lastgroup or "").endswith("up")


class _Row(NamedTuple):
    """A fact in a table, the family that distinguishes its rows, the name of its row in the clause, and its column."""

    fact: Fact
    family: Family
    label: Label
    name: Mention
    column: list[Fact]
    words: frozenset[str]
    """The words that all values of the column share: its name, the name of the series, the title of the chart."""


def misplaced(scene: Scene, facts: Facts, backed: Mapping[int, Fact]) -> Iterator[Misplaced]:
    """The figures of sentences that name the wrong row as the first or the last. `backed`: facts by id of claim."""
    text = scene.reading.text.replace(FILLER, " ")
    if RANK.search(text) is None:
        return
    spans: dict[tuple[int, int], list[Claim]] = defaultdict(list)
    for claim in scene.reading.claims:
        if not claim.in_table and claim.numeral.kind == "number":
            spans[claim.span].append(claim)
    judged = 0
    for span, claims in spans.items():
        if span[1] - span[0] > _LONGEST or RANK.search(text, *span) is None:
            continue
        judged += 1
        if judged > _MOST:
            return
        for clause in _clauses(text, span, claims, scene):
            if id(clause.claim) in backed and (found := _judged(clause, scene, facts)) is not None:
                yield found


# --- the sentence


def _clauses(text: str, span: tuple[int, int], claims: Sequence[Claim], scene: Scene) -> Iterator[_Clause]:
    """The clauses of a sentence with one word that ranks and one figure."""
    if RESTRICTS.search(text, *span) or _is_restricted_above(text, span, scene):
        return
    edges = [span[0]]
    for match in _PIECE.finditer(text, *span):
        edges += [match.start(), match.end()]
    edges.append(span[1])
    pieces = [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if text[a:b].strip(_MARKS)]
    for at, (start, stop) in enumerate(pieces):
        ranks = list(RANK.finditer(text, start, stop))
        if len(ranks) != 1:
            continue
        if not all(_says_its_own(piece, text, claims, scene) for piece in pieces[:at]):
            return
        end, rest = stop, pieces[at + 1 :]
        if rest and text[end] in ":：" and not _names_row(start, end, scene) and _names_at_once(text, rest[0], scene):
            end, rest = rest[0][1], rest[1:]
        own = _figures(claims, start, end, ranks[0])
        if not own and rest and _is_figure_alone(text, rest[0], claims, scene):
            end = rest[0][1]
            own = _figures(claims, start, end, ranks[0])
        if len(own) == 1 and not _goes_on(
            text, end, next(iter(each for each in pieces if each[0] >= end), None), scene
        ):
            yield _Clause(text, start, end, ranks[0], own[0])


def _figures(claims: Sequence[Claim], start: int, end: int, rank: re.Match[str]) -> list[Claim]:
    return [c for c in claims if start <= c.start < end and not rank.start() <= c.start < rank.end()]


def _says_its_own(piece: tuple[int, int], text: str, claims: Sequence[Claim], scene: Scene) -> bool:
    """Whether a part of a sentence has a figure of its own, or says nothing: "overall,"."""
    if any(piece[0] <= claim.start < piece[1] for claim in claims):
        return OPENS.match(text, *piece) is None and WITHIN.search(text[piece[0] : piece[1]]) is None
    return not scene.within(*piece) and not _unknown(text, piece)


def _goes_on(text: str, end: int, piece: tuple[int, int] | None, scene: Scene) -> bool:
    """Whether the part behind a clause may narrow it: "(100) of the new customers", ", in the premium segment"."""
    if piece is None or FOLLOWED.match(text, *piece):
        return False
    if text[end : end + 1] not in (")", "）") and not OPENS.match(text, *piece):
        return False
    return bool(scene.within(*piece) or _unknown(text, piece))


def _names_row(start: int, end: int, scene: Scene) -> bool:
    return any(scene.is_of_rows(mention) for mention in scene.within(start, end))


def _names_at_once(text: str, piece: tuple[int, int], scene: Scene) -> bool:
    """Whether a name stands right behind the colon: "Highest revenue: North, 120"."""
    inside = scene.within(*piece)
    return bool(inside) and not text[piece[0] : inside[0].start].strip()


def _is_figure_alone(text: str, piece: tuple[int, int], claims: Sequence[Claim], scene: Scene) -> bool:
    """Whether the next part of a sentence begins with the figure of the one before: "(120 units)", "at 120"."""
    inside = [claim for claim in claims if piece[0] <= claim.start < piece[1]]
    if len(inside) != 1 or RANK.search(text, *piece):
        return False
    before = (piece[0], inside[0].start)
    return not scene.within(*before) and not _unknown(text, before)


def _is_restricted_above(text: str, span: tuple[int, int], scene: Scene) -> bool:
    """Whether the paragraph before, an item above this one, or the heading may narrow what is ranked."""
    line = text.rfind("\n", 0, span[0]) + 1
    if _NESTED.match(text, line) or (text[line : line + 1] == "\n" and _NESTED.match(text, line + 1)):
        return True
    start = max(text.rfind("\n\n", 0, span[0]) + 1, span[0] - _LONGEST)
    heading = _heading(span, scene)
    return RESTRICTS.search(text, start, span[0]) is not None or (
        heading is not None and RESTRICTS.search(text, *heading) is not None
    )


def _heading(span: tuple[int, int], scene: Scene) -> tuple[int, int] | None:
    return next((each for each in reversed(scene.reading.headings) if each[1] <= span[0]), None)


def _unknown(
    text: str,
    piece: tuple[int, int],
    taken: Sequence[tuple[int, int]] = (),
    known: frozenset[str] = frozenset(),
) -> list[tuple[int, int, str]]:
    """The words of a part that are in no list. Chinese and Japanese signs that touch are one word."""
    chars = list(text[piece[0] : piece[1]])
    for start, end in taken:
        a, b = max(start - piece[0], 0), max(end - piece[0], 0)
        chars[a:b] = " " * len(chars[a:b])
    blanked = CJK_FUNCTION.sub(_blank, "".join(chars))
    found: list[tuple[int, int, str]] = []
    for start, end, word in tokens(blanked):
        if word in FUNCTION or word in KINDS or word in known or word.isdigit():
            continue
        a, b = start + piece[0], end + piece[0]
        if found and found[-1][1] == a and _is_cjk(word):
            found[-1] = (found[-1][0], b, found[-1][2] + word)
        else:
            found.append((a, b, word))
    return found


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _is_cjk(text: str) -> bool:
    return any(char > "\u3000" for char in text)


# --- the row


def _judged(clause: _Clause, scene: Scene, facts: Facts) -> Misplaced | None:
    if not _is_superlative(clause) or clause.claim.numeral.sign < 0:
        return None
    mentions = scene.within(clause.start, clause.end)
    leader: Fact | None = None
    own: Fact | None = None
    for each in candidates(clause.claim, scene, facts):
        fact = each.fact
        if each.against or fact.given or fact.turn or not _is_named(fact, mentions):
            continue
        row = _row(fact, mentions)
        first = _first(row, clause, scene) if row is not None else None
        if row is None or first is None or _is_narrowed(row, clause, scene) or not _is_about(row, clause, scene, facts):
            return None
        own, leader = own or fact, leader or first
    return Misplaced(clause.claim, own, leader) if own is not None and leader is not None else None


def _is_superlative(clause: _Clause) -> bool:
    if not COMPARED.match(clause.rank[0]):
        return True
    return ARTICLE.search(clause.text, clause.start, clause.rank.start()) is not None


def _is_named(fact: Fact, mentions: Sequence[Mention]) -> bool:
    return any(_says(mention, label) for family, label in fact.keys if not family.columns for mention in mentions)


def _says(mention: Mention, label: Label) -> bool:
    if isinstance(mention.label, Day):
        return isinstance(label, Day) and mention.label.fits(label)
    return mention.label == label


def _row(fact: Fact, mentions: Sequence[Mention]) -> _Row | None:
    """The fact in its table. The table is whole and has one name for each row, and the clause names this row."""
    grid = fact.grid
    if grid is None or not grid.whole or grid.record or not 1 < grid.rows <= _MOST_ROWS:
        return None
    column = [each for each in grid.facts if each.column == fact.column]
    lines = {each.place.line for each in column}
    if len(lines) > 1 and max(lines) - min(lines) >= len(lines):
        return None  # a line between them holds no row: "..." of a long table
    if len(column) != grid.rows or len({(each.unit, each.scale) for each in column}) > 1:
        return None
    rows: dict[int, set[Label]] = defaultdict(set)
    for each in column:
        for family, label in each.keys:
            rows[id(family)].add(label)
    telling = [key for key in fact.keys if not key[0].columns and key[0].binds and len(rows[id(key[0])]) > 1]
    if len(telling) != 1 or len(rows[id(telling[0][0])]) < len(column):
        return None
    words = frozenset(set(fact.words).intersection(*(each.words for each in column if not is_total(each))))
    family, own = telling[0]
    name: Mention | None = None
    for mention in mentions:
        labels = [label for label in family.labels if _says(mention, label)]
        if labels == [own] and name is None:
            name = mention
        elif labels or not _is_of_column(mention, fact, words):
            return None
    return None if name is None else _Row(fact, family, own, name, column, words)


def _is_of_column(mention: Mention, fact: Fact, words: frozenset[str]) -> bool:
    """Whether a name only says the column that the figure stands in."""
    if isinstance(mention.label, Day):
        return any(family.columns and _says(mention, label) for family, label in fact.keys)
    return all(word in words or word in FUNCTION or word in KINDS for word in mention.label)


def _first(row: _Row, clause: _Clause, scene: Scene) -> Fact | None:
    """The row that is clearly before the fact's own. None if its own row is first, or if that is in doubt."""
    rows = [each for each in row.column if not _is_aside(each)]
    value = row.fact.value
    if row.fact not in rows or value <= 0 or any(each.value < 0 for each in row.column):
        return None
    first = (max if clause.up else min)(rows, key=lambda each: each.value)
    if first.value in (value, 0.0):
        return None
    told = bounds(clause.claim, scene.reading.text)[0]
    if abs(first.value / value - 1) * told.value <= told.slack * 1.001:
        return None  # as rounded in the report, both are the same
    days = [label for each in rows for family, label in each.keys if family is row.family and isinstance(label, Day)]
    if days and (len(days) < len(rows) or len({tuple(part is None for part in day) for day in days}) > 1):
        return None
    if days and not clause.up and first in (rows[0], rows[-1]):
        return None  # the period at the edge may be a part of one
    return None if clause.up and not days and _is_sum(first, row.column) else first


def _is_aside(fact: Fact) -> bool:
    """Whether a row is a total, a mean, or a rest, which no report ranks."""
    if is_total(fact):
        return True
    for family, label in fact.keys:
        if family.columns or isinstance(label, Day):
            continue
        if not label or not ASIDE.isdisjoint(label) or CJK_ASIDE.search("".join(label)):
            return True
    return False


def _is_sum(fact: Fact, column: Sequence[Fact]) -> bool:
    """Whether a value is the sum of all others, or of the rows right above or below it: a subtotal."""
    at = column.index(fact)
    others = sum(each.value for each in column) - fact.value
    slack = abs(fact.value) * 0.0005 + fact.slack
    if len(column) > 2 and abs(others - fact.value) <= slack:
        return True
    for rows in (column[at + 1 :], column[:at][::-1]):
        total = 0.0
        for count, each in enumerate(rows, 1):
            total += each.value
            if count > 1 and abs(total - fact.value) <= slack:
                return True
    return False


def _is_narrowed(row: _Row, clause: _Clause, scene: Scene) -> bool:
    """Whether a name nearby may narrow which rows are ranked: a name of another table, or a period with only some of
    the rows."""
    span, text = clause.claim.span, clause.text
    line = text.rfind("\n", 0, span[0]) + 1
    if not text[line : span[0]].strip(_MARKS):
        above = _intro(text, line)
        if _unknown(
            CJK_INTRO.sub(_blank, text[above:line]), (0, line - above), (), row.words | _row_words(row.fact) | INTRO
        ):
            return True
        line = above
    mentions = [m for m in scene.within(line, span[1]) if not clause.start <= m.start < clause.end]
    heading = _heading(span, scene)
    mentions += scene.within(*heading) if heading else []
    labels = row.family.labels
    for mention in mentions:
        if isinstance(mention.label, Day):
            if 1 < sum(_says(mention, label) for label in labels) < len(labels):
                return True
        elif mention.label not in labels and scene.is_of_rows(mention):
            return True
    return False


def _intro(text: str, line: int) -> int:
    """Where the line begins that introduces this line or its list, such as "By region:". Without one, this line's
    start."""
    end = line - 1
    while end > 0 and line - end < _LONGEST:
        start = text.rfind("\n", 0, end) + 1
        own = text[start:end].strip()
        if own and not own.startswith(("-", "*", "•", "+")) and not own[:1].isdigit():
            return line if own.startswith(("#", "|")) or own.endswith((".", "!", "?", "。", "！", "？", ")")) else start
        end = start - 1
    return line


# --- the measure


def _is_about(row: _Row, clause: _Clause, scene: Scene, facts: Facts) -> bool:
    """Whether the clause ranks by the fact's column, and by nothing else, as far as its words can tell."""
    if _is_unclear(row, clause) or not _is_ranked(row, clause):
        return False
    text, fact = clause.text, row.fact
    days = [(m.start, m.end) for m in scene.within(clause.start, clause.end) if isinstance(m.label, Day)]
    taken = [(row.name.start, row.name.end), clause.rank.span(), (clause.claim.start, clause.claim.end), *days]
    unknown = _unknown(text, (clause.start, clause.end), taken, row.words | _row_words(fact))
    said = {word for _, _, word in tokens(text[clause.start : clause.end])} & row.words - FUNCTION - KINDS
    if unknown and (said or not _is_the_measure(unknown, row, clause)):
        return False
    measure = frozenset(_measure_said(clause, row.name)) & row.words - FUNCTION - KINDS
    if clause.kind == "size" and not measure and not unknown and _is_share(fact, clause):
        return False
    return not _leads_elsewhere(row, clause, facts, measure)


def _is_unclear(row: _Row, clause: _Clause) -> bool:
    """Whether the word that ranks may mean either end of this column."""
    assert row.fact.grid is not None  # noqa: S101 - `_row` has looked
    said, names = clause.text[clause.start : clause.end], row.fact.grid.names
    joined = "".join(names[row.fact.column]) if 0 <= row.fact.column < len(names) else "".join(row.words)
    if row.words & RANKED or any(word in joined for word in RANKED if not word.isascii()):
        return True
    if any("lead" in name for name in names):
        return True  # "leads" are people who may become customers, not the first
    if clause.kind in ("level", "size"):
        return False
    named = (row.words | {word for _, _, word in tokens(said)}) - FUNCTION - KINDS
    if any(word.startswith(BAD) for word in named) or CJK_BAD.search(joined + said):
        return True
    return clause.kind == "best" and not (row.words & GOOD or CJK_GOOD.search(joined))


def _is_ranked(row: _Row, clause: _Clause) -> bool:
    """Whether the name itself is ranked, not something within it: "in March the highest order was 120"."""
    name, rank, text = row.name, clause.rank, clause.text
    shown, plain = text[name.start : name.end], row.family.labels[row.label]
    if shown[-1:] == "s" and plain[-1:] != "s" and not isinstance(row.label, Day):
        return False  # the name in its genitive
    if text[name.end : name.end + 1] in ("'", "’", "-") or text[name.start - 1 : name.start] == "-":
        return False
    if clause.kind == "verb":
        return name.end <= rank.start() and _BEHIND_NAME.fullmatch(text, name.end, rank.start()) is not None
    before = name.end <= rank.start()
    between = text[name.end : rank.start()] if before else text[rank.end() : name.start]
    if COPULA.search(between) and (not before or _is_cjk(rank[0])):
        return True
    if _is_cjk(rank[0]):
        return before and PREDICATE.match(text, rank.end(), clause.end) is not None
    if BEFORE_NAME.search(text, clause.start, name.start) is None:
        return before
    end = clause.end if before else name.start
    stop = _STOP.search(text, rank.end(), end)
    return not tokens(text[rank.end() : stop.start() if stop else end])


def _measure_said(clause: _Clause, name: Mention) -> list[str]:
    """The words that may say by what is ranked: those behind the ranking word, or before it: "revenue is highest"."""
    text, rank = clause.text, clause.rank
    if clause.kind not in ("level", "size"):
        return []
    end = name.start if name.start >= rank.end() else clause.end
    stop = _STOP.search(text, rank.end(), end)
    found = _plain(text[rank.end() : stop.start() if stop else end])
    if not found and (clause.kind == "level" or _is_cjk(rank[0])):
        found = _plain(text[clause.start : rank.start()])
    return found


def _plain(text: str) -> list[str]:
    """The words that are no function words."""
    return [word for _, _, word in tokens(CJK_FUNCTION.sub(" ", text)) if word not in FUNCTION]


def _is_the_measure(unknown: Sequence[tuple[int, int, str]], row: _Row, clause: _Clause) -> bool:
    """Whether the one word that nothing explains can only be what the figure measures: "the most orders (34)"."""
    if len({word for _, _, word in unknown}) != 1:
        return False
    start, end, word = unknown[0]
    text, rank, claim = clause.text, clause.rank, clause.claim
    if _is_cjk(word):
        return len(word) <= _LONG_NOUN and _is_cjk_measure(start, end, row.name, clause)
    if claim.end <= start <= claim.end + 2:
        return clause.kind in ("verb", "lead")
    if clause.kind not in ("level", "size"):
        return False
    if start >= rank.end():
        after = tokens(text[end : clause.end])
        if (after and after[0][2] in KINDS) or not NUMBER_OF.fullmatch(text, rank.end(), start):
            return False
        return _OF_ADJECTIVES.fullmatch(rank[0]) is None or not _ADVERB.search(text, clause.start, rank.start())
    if row.fact.grid is not None and row.fact.grid.names and COPULA.search(text, end, rank.start()):
        return True
    return rank.start() - end <= 1 and rank[0].casefold().startswith(("más", "le", "la"))


def _is_cjk_measure(start: int, end: int, name: Mention, clause: _Clause) -> bool:
    """Whether a word says what is counted, not where: "北区的订单最多", "收入在3月最高"."""
    text, rank = clause.text, clause.rank
    if name.end <= start:
        return text[name.end : start].strip() in ("的", "の") and 0 <= rank.start() - end <= 1
    if not isinstance(name.label, Day) or name.end > rank.start():
        return False
    return text[end : name.start].strip() in ("在", "于") and rank.start() - name.end <= 1


def _row_words(fact: Fact) -> frozenset[str]:
    """The words of the headings above the labels of rows: "region"."""
    grid = fact.grid
    if grid is None or fact.place.what == "chart":
        return frozenset()
    numbers = {each.column for each in grid.facts}
    return frozenset(word for at, name in enumerate(grid.names) if at not in numbers for word in name)


def _is_share(fact: Fact, clause: _Clause) -> bool:
    """Whether "the largest" cannot mean this column: a rate does not make a row large."""
    return fact.percent or fact.unit in ("%", "pp") or clause.claim.numeral.unit in ("%", "pp")


def _leads_elsewhere(row: _Row, clause: _Clause, facts: Facts, measure: frozenset[str]) -> bool:
    """Whether the row is first in some other column that the words may mean."""
    columns: dict[tuple[int, int], list[Fact]] = defaultdict(list)
    mine: set[tuple[int, int]] = set()
    for each in facts.facts:
        if each.grid is None or each.given or _is_aside(each):
            continue
        at = (id(each.grid), each.column)
        columns[at].append(each)
        if _has(each, row.label):
            mine.add(at)
    mine.discard((id(row.fact.grid), row.fact.column))
    for at in mine:
        rows = columns[at]
        if measure and not any(measure & each.words for each in rows):
            continue
        first = (max if clause.up else min)(each.value for each in rows)
        leads = any(each.value == first and _has(each, row.label) for each in rows)
        if leads and any(each.value != first for each in rows):
            return True
    return False


def _has(fact: Fact, label: Label) -> bool:
    return any(own == label for family, own in fact.keys if not family.columns)
