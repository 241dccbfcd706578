"""A message cut into the questions that it asks, so that each is answered on its own."""

from __future__ import annotations

import re

from workers.offline.lexicon import CJK, has

MAX_CLAUSES = 5
"""Questions of one message that are answered; the rest stays with the last."""

_VERBS = "compare|show|list|plot|draw|forecast|predict|describe|calculate|compute|find|tell|explain|break down"
_ASKS = re.compile(
    rf"(?:and|then|also|but|so|now|please|next|finally|,|\s)*\b(?:how|what|what's|which|who|whose|why|where|when|is|are|was|were|do|does|did"
    rf"|can|could|has|have|{_VERBS})\b",
    re.IGNORECASE,
)
_ASKS_CHINESE = re.compile(r"哪|谁|多少|什么|怎么|怎样|如何|为何|是否|能否|吗|呢|几[个名种]|预测|对比|比较")
_END = re.compile(r"[?？!！。;；\n]+|\.(?=\s|$)")
_PAUSE = re.compile(
    rf"[,，]\s*|\s+(?=and\s+(?:how|what|which|why|who\s+(?:is|are|was|were|has|have|buys?)|is|are|does|do|did|can|could|{_VERBS})\b)",
    re.IGNORECASE,
)
_LEADING_IN = re.compile(
    r"\s*(?:(?:and|then|also|but)\s+)?(?:by|per|in|for|from|since|with|without|as|按|在)\b", re.IGNORECASE
)
_JOINING = re.compile(r"^(?:(?:and|then|also|but|so)\b|[\s,，;；])+", re.IGNORECASE)


def clauses(text: str) -> list[str]:
    """The questions of a text in their order. A part that is not a question ("only 2023") stays with its neighbour."""
    found: list[str] = []
    opening = ""
    for sentence in _pieces(text, _END):
        own: list[str] = []
        for piece in _pieces(sentence, _PAUSE):
            if own and not _asks(piece):
                own[-1] += piece
            else:
                own.append(piece)
        if len(own) > 1 and not _wants(own[0]):  # "in 2023, which region led?"
            own[:2] = [own[0] + own[1]]
        if not _wants(own[0]):
            if found:
                found[-1] += own.pop(0)
            else:
                opening += own.pop(0)
        found += own
        if opening and found:
            found[0], opening = opening + found[0], ""
    found = [*found[: MAX_CLAUSES - 1], "".join(found[MAX_CLAUSES - 1 :])] if len(found) > MAX_CLAUSES else found
    return [bare for clause in found if (bare := _JOINING.sub("", clause).rstrip(" ,，;；\n"))] or [text]


def told_before(text: str) -> int:
    """Where the first sentence that asks or orders something begins; 0 when none does."""
    start = 0
    for sentence in _pieces(text, _END):
        if _wants(sentence):
            return start
        start += len(sentence)
    return 0


def _pieces(text: str, border: re.Pattern[str]) -> list[str]:
    """The text cut after every border; joined again they are the text."""
    ends = [match.end() for match in border.finditer(text)]
    return [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True) if text[start:end]]


def _asks(piece: str) -> bool:
    return bool(_ASKS.match(piece.strip()) or (CJK.search(piece) and _ASKS_CHINESE.search(piece)))


def _wants(sentence: str) -> bool:
    """True for a question, and for an analysis that is named without its form: "Sales per month by region." """
    named = any(has(group, sentence) for group in ("frequencies", "aggregates", "orders", "asks_each"))
    return _asks(sentence) or (named and not _LEADING_IN.match(sentence))
