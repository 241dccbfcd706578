"""Ranks: a sentence says that a row is first, last or third, but in the table of its figure another row is.

A clause is judged only if there is no doubt. It names one row, none of its other words restricts the statement, and the
row does not stand at this place in any column that may be meant.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from workers.agent.provenance.claims.binding import Scene
from workers.agent.provenance.claims.matching import bounds, candidates
from workers.agent.provenance.claims.naming import Mention
from workers.agent.provenance.claims.reading import Claim
from workers.agent.provenance.language.numerals import Day
from workers.agent.provenance.language.words import CJK_GOOD, GOOD, tokens
from workers.agent.provenance.outputs.facts import Fact, Facts, Family, Label, is_total
from workers.agent.provenance.ranks.clauses import (
    LONGEST,
    MARKS,
    Clause,
    blank,
    clauses,
    heading_of,
    intro_of,
    is_cjk,
    ranks_within,
    unknown_words,
)
from workers.agent.provenance.ranks.places import Ranked, find_ranks, text_of
from workers.agent.provenance.ranks.row_order import is_aside, may_stand_at, row_at
from workers.agent.provenance.ranks.words import (
    ARTICLE,
    BAD,
    BEFORE_NAME,
    CJK_BAD,
    CJK_FUNCTION,
    CJK_INTRO,
    COMPARED,
    COPULA,
    CUT,
    FUNCTION,
    INTRO,
    KINDS,
    NUMBER_OF,
    PREDICATE,
    RANKED,
)

_MOST = 60
"""Sentences of a report that are judged."""
_MOST_ROWS = 2_000
_LONG_NOUN = 6
"""Characters of the longest Chinese or Japanese word that is taken for a measure."""
_BEHIND_NAME = re.compile(r"\s*(?:(?:clearly|narrowly|again|still|klar|deutlich|knapp)\s+)?")
_STOP = re.compile(r"[,;:，；：、()（）\d]|\b(?:is|was|were|are|with|at|mit|bei|con|avec|in|im|war|ist|fue|est)\b")
_OF_ADJECTIVES = re.compile(r"most|least|meisten|wenigsten", re.IGNORECASE)
_ADVERB = re.compile(rf"\bam\s*$|{COPULA.pattern}", re.IGNORECASE)
"""Words before "most" in "is most efficient" and "am meisten gewachsen". This "most" compares no numbers of things."""
_TOUCHES = ("", ":", "：", "の", "的")
"""What may stand between a bare rank and the name behind it: "#2 South"."""


class Misplaced(NamedTuple):
    """A figure whose sentence puts its row at a wrong place, the value of that row, and the value that really is
    there."""

    claim: Claim
    own: Fact
    leader: Fact


class Row(NamedTuple):
    """A fact in a table, the family that distinguishes its rows, the name of its row in the clause, and its column."""

    fact: Fact
    family: Family
    label: Label
    name: Mention
    column: list[Fact]
    words: frozenset[str]
    """The words that all values of the column share: its name, the name of the series, the title of the chart."""


def misplaced(scene: Scene, facts: Facts, backed: Mapping[int, Fact]) -> Iterator[Misplaced]:
    """The figures of sentences that name the wrong row for a place. `backed`: facts by id of claim."""
    text = text_of(scene.reading)
    ranks = find_ranks(text, scene.mentions)
    if not ranks:
        return
    spans: dict[tuple[int, int], list[Claim]] = defaultdict(list)
    for claim in scene.reading.claims:
        if not claim.in_table and claim.numeral.kind == "number":
            spans[claim.span].append(claim)
    judged = 0
    for span, claims in spans.items():
        own = ranks_within(ranks, *span)
        if span[1] - span[0] > LONGEST or not own:
            continue
        judged += 1
        if judged > _MOST:
            return
        for clause in clauses(text, span, claims, own, scene):
            if id(clause.claim) in backed and (found := _judged(clause, scene, facts)) is not None:
                yield found


# --- the row


def _judged(clause: Clause, scene: Scene, facts: Facts) -> Misplaced | None:
    if not _is_superlative(clause) or clause.claim.numeral.sign < 0:
        return None
    mentions = clause.mentions(scene)
    leader: Fact | None = None
    own: Fact | None = None
    for each in candidates(clause.claim, scene, facts):
        fact = each.fact
        if each.against or fact.given or fact.turn or not _is_named(fact, mentions):
            continue
        row = row_of(fact, mentions)
        first = _row_there(row, clause, scene, facts) if row is not None else None
        if row is None or first is None or is_narrowed(row, clause, scene) or not _is_about(row, clause, scene, facts):
            return None
        own, leader = own or fact, leader or first
    return Misplaced(clause.claim, own, leader) if own is not None and leader is not None else None


def _is_superlative(clause: Clause) -> bool:
    if clause.rank.at > 1 or not COMPARED.match(clause.rank.word):
        return True
    return ARTICLE.search(clause.text, clause.start, clause.rank.start) is not None


def _row_there(row: Row, clause: Clause, scene: Scene, facts: Facts) -> Fact | None:
    """The row that stands where the clause puts the fact's own. None if that is its own place, or if it is in doubt."""
    told = bounds(clause.claim, scene.reading.text)[0]
    there = row_at(row.fact, row.family, row.column, clause.rank, told)
    if there is None or clause.rank.at == 1:
        return there
    is_better = (row.fact.value > there.value) == clause.rank.up
    return None if is_better and _may_be_cut(row, facts) else there


def _may_be_cut(row: Row, facts: Facts) -> bool:
    """Whether a table may hold only some of the rows. Among all of them, a row may be further behind."""
    own = row.fact.grid
    assert own is not None  # noqa: S101 - `row_of` has looked
    if own.title & CUT:
        return True
    counts = Counter(
        (id(each.grid), each.column)
        for each in facts.facts
        if each.grid is not None and each.grid.rows > own.rows and _has(each, row.label)
    )
    return 1 in counts.values()


def _is_named(fact: Fact, mentions: Sequence[Mention]) -> bool:
    return any(_says(mention, label) for family, label in fact.keys if not family.columns for mention in mentions)


def _says(mention: Mention, label: Label) -> bool:
    if isinstance(mention.label, Day):
        return isinstance(label, Day) and mention.label.fits(label)
    return mention.label == label


def row_of(fact: Fact, mentions: Sequence[Mention]) -> Row | None:
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
    return None if name is None else Row(fact, family, own, name, column, words)


def _is_of_column(mention: Mention, fact: Fact, words: frozenset[str]) -> bool:
    """Whether a name only says the column that the figure stands in."""
    if isinstance(mention.label, Day):
        return any(family.columns and _says(mention, label) for family, label in fact.keys)
    return all(word in words or word in FUNCTION or word in KINDS for word in mention.label)


def is_narrowed(row: Row, clause: Clause, scene: Scene) -> bool:
    """Whether a name nearby may narrow which rows are ranked: a name of another table, or a period with only some of
    the rows."""
    span, text = clause.claim.span, clause.text
    line = text.rfind("\n", 0, span[0]) + 1
    if not text[line : span[0]].strip(MARKS):
        above = intro_of(text, line)
        if unknown_words(
            CJK_INTRO.sub(blank, text[above:line]), (0, line - above), (), row.words | _row_words(row.fact) | INTRO
        ):
            return True
        line = above
    mentions = [m for m in scene.within(line, span[1]) if not clause.start <= m.start < clause.end]
    heading = heading_of(span, scene)
    mentions += scene.within(*heading) if heading else []
    labels = row.family.labels
    for mention in mentions:
        if isinstance(mention.label, Day):
            if 1 < sum(_says(mention, label) for label in labels) < len(labels):
                return True
        elif mention.label not in labels and scene.is_of_rows(mention):
            return True
    return False


# --- the measure


def _is_about(row: Row, clause: Clause, scene: Scene, facts: Facts) -> bool:
    """Whether the clause ranks by the fact's column, and by nothing else, as far as its words can tell."""
    if _is_unclear(row, clause) or not _is_ranked(row, clause, scene):
        return False
    text, fact = clause.text, row.fact
    days = [(m.start, m.end) for m in scene.within(clause.start, clause.end) if isinstance(m.label, Day)]
    taken = [(row.name.start, row.name.end), clause.rank.span, (clause.claim.start, clause.claim.end), *days]
    unknown = unknown_words(text, (clause.start, clause.end), taken, row.words | _row_words(fact))
    said = set(_words_beside(clause)) & row.words - FUNCTION - KINDS
    if unknown and (said or clause.joined or not _is_the_measure(unknown, row, clause)):
        return False
    if clause.rank.ordered and _is_another_list(row, clause, scene):
        return False
    measure = frozenset(said if clause.rank.ordered else _measure_said(clause, row.name)) & row.words - FUNCTION - KINDS
    if clause.kind == "size" and not measure and not unknown and _is_share(fact, clause):
        return False
    return not _leads_elsewhere(row, clause, facts, measure)


def _words_beside(clause: Clause) -> Iterator[str]:
    """The words of a clause beside its figure with the unit of it."""
    text, claim = clause.text, clause.claim
    for part in (text[clause.start : claim.start], text[claim.end : clause.end]):
        yield from (word for _, _, word in tokens(part))


def _is_another_list(row: Row, clause: Clause, scene: Scene) -> bool:
    """Whether the heading may say by what a bare rank counts: "Top 5 by profit"."""
    heading = heading_of(clause.claim.span, scene)
    return heading is not None and bool(
        unknown_words(clause.text, heading, (), row.words | _row_words(row.fact) | INTRO | RANKED | {"top"})
    )


def _is_unclear(row: Row, clause: Clause) -> bool:
    """Whether the word that ranks may mean either end of this column."""
    assert row.fact.grid is not None  # noqa: S101 - `row_of` has looked
    text, rank, names = clause.text, clause.rank, row.fact.grid.names
    said = f"{text[clause.start : rank.start]} {text[rank.end : clause.end]}"
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


def _is_ranked(row: Row, clause: Clause, scene: Scene) -> bool:
    """Whether the name itself is ranked, not something within it: "in March the highest order was 120"."""
    name, rank, text = row.name, clause.rank, clause.text
    shown, plain = text[name.start : name.end], row.family.labels[row.label]
    if shown[-1:] == "s" and plain[-1:] != "s" and not isinstance(row.label, Day):
        return False  # the name in its genitive
    if text[name.end : name.end + 1] in ("'", "’", "-") or text[name.start - 1 : name.start] == "-":
        return False
    if clause.kind == "verb":
        return name.end <= rank.start and _BEHIND_NAME.fullmatch(text, name.end, rank.start) is not None
    before = name.end <= rank.start
    between = text[name.end : rank.start] if before else text[rank.end : name.start]
    if rank.ordered and not before and between.strip() in _TOUCHES:
        return not _is_of_a_noun(clause, scene)
    if rank.ordered and _is_of_a_noun(clause, scene):
        return False
    if COPULA.search(between) and (not before or clause.is_cjk):
        return True
    if clause.is_cjk:
        return before and PREDICATE.match(text, rank.end, clause.end) is not None
    if BEFORE_NAME.search(text, clause.start, name.start) is None:
        return before
    end = clause.end if before else name.start
    stop = _STOP.search(text, rank.end, end)
    return not tokens(text[rank.end : stop.start() if stop else end])


def _is_of_a_noun(clause: Clause, scene: Scene) -> bool:
    """Whether a bare rank counts the thing before it: "order #2" of a row."""
    if clause.is_cjk:
        return False
    before = tokens(clause.text[clause.start : clause.rank.start].rstrip())
    if not before or clause.text[clause.start + before[-1][1] : clause.rank.start].strip():
        return False
    at = clause.start + before[-1][1]
    return before[-1][2] not in FUNCTION and all(each.end != at for each in clause.mentions(scene))


def _measure_said(clause: Clause, name: Mention) -> list[str]:
    """The words that may say by what is ranked: those behind the ranking word, or before it: "revenue is highest"."""
    text, rank = clause.text, clause.rank
    if clause.kind not in ("level", "size"):
        return []
    end = name.start if name.start >= rank.end else clause.end
    stop = _STOP.search(text, rank.end, end)
    found = _plain(text[rank.end : stop.start() if stop else end])
    if not found and (clause.kind == "level" or clause.is_cjk):
        found = _plain(text[clause.start : rank.start])
    return found


def _plain(text: str) -> list[str]:
    """The words that are no function words."""
    return [word for _, _, word in tokens(CJK_FUNCTION.sub(" ", text)) if word not in FUNCTION]


def _is_the_measure(unknown: Sequence[tuple[int, int, str]], row: Row, clause: Clause) -> bool:
    """Whether the one word that nothing explains can only be what the figure measures: "the most orders (34)"."""
    if len({word for _, _, word in unknown}) != 1:
        return False
    start, end, word = unknown[0]
    text, rank, claim = clause.text, clause.rank, clause.claim
    if is_cjk(word):
        return len(word) <= _LONG_NOUN and _is_cjk_measure(start, end, row.name, clause)
    if claim.end <= start <= claim.end + 2:
        return clause.kind in ("verb", "lead") or (clause.kind == "size" and clause.rank.at > 1)
    if clause.kind not in ("level", "size"):
        return False
    if start >= rank.end:
        after = tokens(text[end : clause.end])
        if (after and after[0][2] in KINDS) or not NUMBER_OF.fullmatch(text, rank.end, start):
            return False
        return _OF_ADJECTIVES.fullmatch(rank.word) is None or not _ADVERB.search(text, clause.start, rank.start)
    if row.fact.grid is not None and row.fact.grid.names and COPULA.search(text, end, rank.start):
        return True
    return rank.start - end <= 1 and rank.word.casefold().startswith(("más", "le", "la"))


def _is_cjk_measure(start: int, end: int, name: Mention, clause: Clause) -> bool:
    """Whether a word says what is counted, not where: "北区的订单最多", "收入在3月最高"."""
    text, rank = clause.text, clause.rank
    if name.end <= start:
        return text[name.end : start].strip() in ("的", "の") and 0 <= rank.start - end <= 1
    if not isinstance(name.label, Day) or name.end > rank.start:
        return False
    return text[end : name.start].strip() in ("在", "于") and rank.start - name.end <= 1


def _row_words(fact: Fact) -> frozenset[str]:
    """The words of the headings above the labels of rows: "region"."""
    grid = fact.grid
    if grid is None or fact.place.what == "chart":
        return frozenset()
    numbers = {each.column for each in grid.facts}
    return frozenset(word for at, name in enumerate(grid.names) if at not in numbers for word in name)


def _is_share(fact: Fact, clause: Clause) -> bool:
    """Whether "the largest" cannot mean this column: a rate does not make a row large."""
    return fact.percent or fact.unit in ("%", "pp") or clause.claim.numeral.unit in ("%", "pp")


def _leads_elsewhere(row: Row, clause: Clause, facts: Facts, measure: frozenset[str]) -> bool:
    """Whether the row stands at this place in some other column that the words may mean."""
    columns: dict[tuple[int, int], list[Fact]] = defaultdict(list)
    mine: set[tuple[int, int]] = set()
    for each in facts.facts:
        if each.grid is None or each.given or is_aside(each):
            continue
        at = (id(each.grid), each.column)
        columns[at].append(each)
        if _has(each, row.label):
            mine.add(at)
    if clause.rank.ordered and any(_is_listed(columns[at], clause.rank, row.label, measure) for at in mine):
        return True
    mine.discard((id(row.fact.grid), row.fact.column))
    for at in mine:
        rows = columns[at]
        if measure and not any(measure & each.words for each in rows):
            continue
        if any(may_stand_at(clause.rank, each, rows) for each in rows if _has(each, row.label)):
            return True
    return False


def _is_listed(rows: Sequence[Fact], rank: Ranked, label: Label, measure: frozenset[str]) -> bool:
    """Whether a bare rank may be a place in this list: it has a column of places, or the clause does not say by what it
    is ordered."""
    if any(each.words & RANKED for each in rows):
        return True
    return not measure and any(_has(each, label) for each in rows[rank.at - 1 : rank.at])


def _has(fact: Fact, label: Label) -> bool:
    return any(own == label for family, own in fact.keys if not family.columns)
