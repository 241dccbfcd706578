"""The clauses of a report that rank: each with its one word that ranks, its one figure, and the name of its row."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from workers.agent.provenance.claims.binding import Scene
from workers.agent.provenance.claims.naming import Mention
from workers.agent.provenance.claims.reading import Claim
from workers.agent.provenance.language.words import tokens
from workers.agent.provenance.ranks.places import BEHIND_ROWS, Ranked
from workers.agent.provenance.ranks.words import CJK_FUNCTION, FOLLOWED, FUNCTION, KINDS, OPENS, RESTRICTS, WITHIN

LONGEST = 400
"""Characters of a sentence that is judged."""
_PIECE = re.compile(
    r"[,;:](?=\s)|[，；：、]|[()（）]|\s(?:and|while|whereas|but|then|und|während|aber|y|mientras|pero|et|mais|–|—|→)"
    r"(?=\s)|而|其次"
)
_NESTED = re.compile(r"[ \t]{2,}[-*•\d]")
MARKS = " .!?。*-•"
"""What stands around the words of a part."""


class Clause(NamedTuple):
    """A clause that ranks: the report, its place there, the word that ranks, and the one figure in it. `joined`: a part
    before it names its row ("South, the largest region, had 100")."""

    text: str
    start: int
    end: int
    rank: Ranked
    claim: Claim
    joined: bool = False

    @property
    def kind(self) -> str:
        """How the word ranks: `level`, `size`, `lead`, `verb` or `best`."""
        return self.rank.kind

    @property
    def is_cjk(self) -> bool:
        """Whether the words that rank are Chinese or Japanese."""
        return is_cjk(self.text[slice(*self.rank.span)])

    def mentions(self, scene: Scene) -> list[Mention]:
        """The names in the clause, without those that belong to the words that rank: "second only to North"."""
        inside = scene.within(self.start, self.end)
        return [each for each in inside if not self.rank.start <= each.start < self.rank.end]


def ranks_within(ranks: Sequence[Ranked], start: int, end: int) -> Sequence[Ranked]:
    """The words that rank between two places."""
    first = bisect_left(ranks, start, key=lambda each: each.start)
    return ranks[first : bisect_left(ranks, end, key=lambda each: each.start)]


def clauses(
    text: str, span: tuple[int, int], claims: Sequence[Claim], ranked: Sequence[Ranked], scene: Scene
) -> Iterator[Clause]:
    """The clauses of a sentence with one word that ranks and one figure."""
    if RESTRICTS.search(_without_ranks(text, span, ranked)) or is_restricted_above(text, span, scene):
        return
    pieces = _pieces(text, span, ranked)
    for at, (begin, stop) in enumerate(pieces):
        ranks = ranks_within(ranked, begin, stop)
        if len(ranks) != 1:
            continue
        named = _named_before(pieces[: at + 1], text, claims, ranks[0], scene)
        if not all(_says_its_own(piece, text, claims, scene) for piece in pieces[: at if named is None else named]):
            return
        start, end, rest = begin if named is None else pieces[named][0], stop, pieces[at + 1 :]
        if rest and text[end] in ":：" and not _names_row(start, end, scene) and _names_at_once(text, rest[0], scene):
            end, rest = rest[0][1], rest[1:]
        own = _figures(claims, start, end, ranks[0])
        is_next = _is_figure_next if ranks[0].at > 1 else _is_figure_alone
        if not own and rest and is_next(text, rest[0], claims, scene) and not ranks_within(ranked, *rest[0]):
            end = rest[0][1]
            own = _figures(claims, start, end, ranks[0])
        behind = next((each for each in pieces if each[0] >= end), None)
        if len(own) == 1 and not _goes_on(text, end, behind, ranks[0], scene):
            yield Clause(text, start, end, ranks[0], own[0], named is not None)


def _without_ranks(text: str, span: tuple[int, int], ranked: Sequence[Ranked]) -> str:
    """A sentence without the words that rank: the "only" of "second only to North" restricts nothing."""
    edges = [span[0], *(edge for each in ranked for edge in each.span), span[1]]
    return " ".join(text[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True))


def _pieces(text: str, span: tuple[int, int], ranked: Sequence[Ranked]) -> list[tuple[int, int]]:
    """The parts of a sentence. A bracket that only holds a rank is none: "South (rank 2) had 1,900"."""
    edges = [span[0]]
    for match in _PIECE.finditer(text, *span):
        if not any(
            each.start < match.start() < each.end or (each.ordered and _is_bracket_of(match, each, text))
            for each in ranked
        ):
            edges += [match.start(), match.end()]
    edges.append(span[1])
    return [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if text[a:b].strip(MARKS)]


def _is_bracket_of(mark: re.Match[str], rank: Ranked, text: str) -> bool:
    before, behind = text[rank.start - 1 : rank.start], text[rank.end : rank.end + 1]
    return before in ("(", "（") and behind in (")", "）") and mark.start() in (rank.start - 1, rank.end)


def _named_before(
    pieces: Sequence[tuple[int, int]], text: str, claims: Sequence[Claim], rank: Ranked, scene: Scene
) -> int | None:
    """The part of a sentence with nothing but the name of what the last part ranks: "South, the largest region, had
    100", "South (100) is the largest region"."""
    *before, last = pieces
    if any(scene.is_of_rows(each) and not rank.start <= each.start < rank.end for each in scene.within(*last)):
        return None
    figures = [claim for claim in claims if last[0] <= claim.start < last[1]]
    at = len(before) - 1
    if (
        at > 0
        and not figures
        and text[before[at][0] - 1] in "(（"
        and _is_figure_alone(text, before[at], claims, scene)
    ):
        at -= 1
    if at < 0 or (figures and at < len(before) - 1):
        return None
    names, start = scene.within(*before[at]), before[at][0]
    if len(names) != 1 or any(before[at][0] <= claim.start < before[at][1] for claim in claims):
        return None
    taken = [(names[0].start, names[0].end)]
    return at if not OPENS.match(text, start) and not unknown_words(text, before[at], taken) else None


def _figures(claims: Sequence[Claim], start: int, end: int, rank: Ranked) -> list[Claim]:
    return [c for c in claims if start <= c.start < end and not rank.start <= c.start < rank.end]


def _says_its_own(piece: tuple[int, int], text: str, claims: Sequence[Claim], scene: Scene) -> bool:
    """Whether a part of a sentence has a figure of its own, or says nothing: "overall,"."""
    if any(piece[0] <= claim.start < piece[1] for claim in claims):
        return OPENS.match(text, *piece) is None and WITHIN.search(text[piece[0] : piece[1]]) is None
    return not scene.within(*piece) and not unknown_words(text, piece)


def _goes_on(text: str, end: int, piece: tuple[int, int] | None, rank: Ranked, scene: Scene) -> bool:
    """Whether the part behind a clause may narrow it: "(100) of the new customers", ", in the premium segment"."""
    if piece is None or FOLLOWED.match(text, *piece):
        return False
    if text[end : end + 1] not in (")", "）") and not OPENS.match(text, *piece):
        return False
    names = scene.within(*piece)
    before = BEHIND_ROWS.match(text, *piece) if rank.at > 1 else None
    if before and names and names[0].start == before.end():
        return bool(unknown_words(text, piece, [before.span(), *((each.start, each.end) for each in names)]))
    return bool(names or unknown_words(text, piece))


def _names_row(start: int, end: int, scene: Scene) -> bool:
    return any(scene.is_of_rows(mention) for mention in scene.within(start, end))


def _names_at_once(text: str, piece: tuple[int, int], scene: Scene) -> bool:
    """Whether a name stands right behind the colon: "Highest revenue: North, 120"."""
    inside = scene.within(*piece)
    return bool(inside) and not text[piece[0] : inside[0].start].strip()


def _is_figure_alone(text: str, piece: tuple[int, int], claims: Sequence[Claim], scene: Scene) -> bool:
    """Whether the next part of a sentence begins with the figure of the one before: "(120 units)", "at 120"."""
    inside = [claim for claim in claims if piece[0] <= claim.start < piece[1]]
    if len(inside) != 1:
        return False
    before = (piece[0], inside[0].start)
    return not scene.within(*before) and not unknown_words(text, before)


def _is_figure_next(text: str, piece: tuple[int, int], claims: Sequence[Claim], scene: Scene) -> bool:
    """Whether the next part of a sentence has one figure and names no row: "with a revenue of 120". Its words are
    compared later with those of the figure's column."""
    inside = [claim for claim in claims if piece[0] <= claim.start < piece[1]]
    return len(inside) == 1 and not _names_row(*piece, scene)


def is_restricted_above(text: str, span: tuple[int, int], scene: Scene) -> bool:
    """Whether the paragraph before, an item above this one, or the heading may narrow what is ranked."""
    line = text.rfind("\n", 0, span[0]) + 1
    if _NESTED.match(text, line) or (text[line : line + 1] == "\n" and _NESTED.match(text, line + 1)):
        return True
    start = max(text.rfind("\n\n", 0, span[0]) + 1, span[0] - LONGEST)
    heading = heading_of(span, scene)
    return RESTRICTS.search(text, start, span[0]) is not None or (
        heading is not None and RESTRICTS.search(text, *heading) is not None
    )


def heading_of(span: tuple[int, int], scene: Scene) -> tuple[int, int] | None:
    """The heading that a sentence stands under."""
    return next((each for each in reversed(scene.reading.headings) if each[1] <= span[0]), None)


def intro_of(text: str, line: int, furthest: int = LONGEST) -> int:
    """Where the line begins that introduces this line or its list, such as "By region:". Without one, this line's
    start. It is no further away than so many characters."""
    end = line - 1
    while end > 0 and line - end < furthest:
        start = text.rfind("\n", 0, end) + 1
        own = text[start:end].strip()
        if own and not own.startswith(("-", "*", "•", "+")) and not own[:1].isdigit():
            return line if own.startswith(("#", "|")) or own.endswith((".", "!", "?", "。", "！", "？", ")")) else start
        end = start - 1
    return line


def unknown_words(
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
    blanked = CJK_FUNCTION.sub(blank, "".join(chars))
    found: list[tuple[int, int, str]] = []
    for start, end, word in tokens(blanked):
        if word in FUNCTION or word in KINDS or word in known or word.isdigit():
            continue
        a, b = start + piece[0], end + piece[0]
        if found and found[-1][1] == a and is_cjk(word):
            found[-1] = (found[-1][0], b, found[-1][2] + word)
        else:
            found.append((a, b, word))
    return found


def blank(match: re.Match[str]) -> str:
    """Blanks of the same length."""
    return " " * len(match[0])


def is_cjk(text: str) -> bool:
    """Whether a text holds a Chinese or Japanese sign."""
    return any(char > "\u3000" for char in text)
