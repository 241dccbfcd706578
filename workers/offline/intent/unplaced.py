"""Finds the words of a question that the analysis did not use. The answer names them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from core.values import Language
from workers.offline.intent.clauses import told_before
from workers.offline.lexicon import CJK, Span, find, lexicon, stem, stems, without, words
from workers.offline.values import Unplaced

MAX_UNPLACED = 4
_GROUPS = (
    *("causes", "falls", "rises", "asks_anomalies", "time_words", "beyond", "ascending", "without", "with_again"),
    *("significance", "durations", "shares", "refunds", "refers_back", "reset", "greetings", "tests", "orders"),
    *("small_talk", "row_names", "exports"),
)
_GROUPS_OF_ALL = ("refunds", "reset", "greetings")
"""What is understood in every language."""
UNDERSTOOD: Final = frozenset[Language]({"en", "zh"})
"""The languages that the rules understand."""
_KEYED = ("analyses", "frequencies", "aggregates", "charts", "parts_of_dates", "best_period")
_LEADS = re.compile(
    r"\b(?P<demanding>only|just|exclude|excluding|without|except|(?:filter|limit|restrict)(?:ed)? (?:to|by|on))"
    r"\s+(?:(?:for|in|from|the|to)\s+)*$"
    r"|\b(?:in|for|from|at|of|to|within|called|named|about)\s+(?:the\s+)?$",
    re.IGNORECASE,
)
_LEADS_CHINESE = re.compile(
    r"(?:只看|仅看|只要|只统计|只分析|只包括|仅限|限于|排除|剔除|去掉|不含|不包括|除去|扣除|除了)(?:掉|了)?"
    r"([\u3400-\u9fff]{2,10}?)(?=的|地区|以外|之外|[^\u3400-\u9fff]|$)"
)
_PARTICLES = "的了着吗呢吧啊和与及或是有在对把被给为以用由会能要想都也就还再又很更最不我你他她它这那该哪谁几"
_NAME_BEFORE = re.compile(r"(?<=\s)[A-Z][\w'’]*[\s\-]$")
_JOINTS = re.compile(r"[\s&'’.\-]{1,3}")


def unplaced(
    text: str, used: Iterable[Span], own_names: Sequence[str], *, refunds: bool, language: Language
) -> tuple[Unplaced, ...]:
    """The words of a text outside the spans that were used and outside the words that any question is made of.

    `refunds`: the data has refunds, so the words for them mean something. In a `language` that no rule understands, few
    words are harmless. `own_names` are names of tables and columns: their words are known, too. What is only told
    before the question ("we sell chairs") need not be used.
    """
    told = Span(0, told_before(text))
    free = [span for span in find(lexicon()["unread"], text) if not span.meets([told, *used])]
    unread = [span for span in free if not span.meets(s for s in free if s.length > span.length)]
    unread = [span for span in unread if not span.meets(find(lexicon()["without"], text))]
    known = {word.stem for name in own_names for word in words(name)}
    if language not in UNDERSTOOD:
        return _foreign(text, language, [*used, *unread], known, refunds=refunds)
    taken = [told, *used, *unread, *_known(text, _GROUPS, refunds=refunds)]
    found = [
        *(Unplaced(text[span.start : span.end]) for span in unread),
        *_latin(text, taken, known | stems("stop_words")),
        *_chinese(text, taken, own_names),
    ]
    return tuple(dict.fromkeys(found))[:MAX_UNPLACED]


def _foreign(
    text: str, language: Language, taken: Sequence[Span], known: set[str], *, refunds: bool
) -> tuple[Unplaced, ...]:
    """The words of a text in a language that no rule understands, except for words that change nothing."""
    harmless, false = lexicon()["harmless"][language], lexicon()["false_friends"][language]
    misread = [
        span for span in find(false, text) if not {word.stem for word in words(text[span.start : span.end])} <= known
    ]
    taken = [*taken, *_known(text, _GROUPS_OF_ALL, refunds=refunds), *find(harmless, text)]
    taken = [span for span in taken if not span.meets(misread)]
    found = [Unplaced(text[span.start : span.end]) for span in misread]
    found += _latin(text, [*taken, *misread], known | {stem(word) for word in harmless})
    rest = without(text, [*taken, *misread])
    found += [Unplaced(run[0]) for run in re.finditer(r"[\u3400-\u9fff]+", rest) if run[0] not in known]
    return tuple(dict.fromkeys(found))[:MAX_UNPLACED]


def _known(text: str, groups: Sequence[str], *, refunds: bool) -> list[Span]:
    """Where phrases of these groups of the lexicon stand in a text, and those that name analyses and the like."""
    told = lexicon()
    phrases = [phrase for group in groups if refunds or group != "refunds" for phrase in told[group]]
    phrases += [phrase for group in _KEYED for listed in told[group].values() for phrase in listed]
    return find(phrases, text)


def _latin(text: str, taken: Sequence[Span], known: set[str]) -> Iterable[Unplaced]:
    """Phrases of words that stand side by side; a capital, quotes or a word such as "only" make them a name."""
    open_words = [
        word for word in words(text)
        if not CJK.search(word.text) and word.stem not in known and not word.span.meets(taken)
        and (len(word.text) > 1 or word.text.isdigit())
    ]  # fmt: skip
    phrases: list[list[Span]] = []
    for word in open_words:
        if phrases and _JOINTS.fullmatch(text[phrases[-1][-1].end : word.span.start]):
            phrases[-1].append(word.span)
        else:
            phrases.append([word.span])
    for spans in phrases:
        start, end = spans[0].start, spans[-1].end
        if start and (before := _NAME_BEFORE.search(text, 1, start)):  # "Customer 42": a column's word can open a name
            start = before.start()
        phrase, led = text[start:end], _LEADS.search(text[:start])
        quoted = text[max(0, start - 1) : start] in ("'", '"', "“", "‘", "「") and start > 0
        capital = start > 0 and phrase[0].isupper()
        named = (bool(led) or quoted or capital) and any(char.isalpha() for char in phrase)
        demanded = bool(
            named
            and led
            and (led["demanding"] or ((quoted or capital) and not led[0].lower().startswith(("of", "about", "to"))))
        )
        yield Unplaced(phrase, named, demanded)


def _chinese(text: str, taken: Sequence[Span], own_names: Sequence[str]) -> Iterable[Unplaced]:
    """Runs of characters that are left when all known words are taken out; and what stands behind "only", whole."""
    insisted: list[Span] = []
    for match in _LEADS_CHINESE.finditer(text):
        span = Span(*match.span(1))
        if not span.meets(taken):
            insisted.append(span)
            yield Unplaced(match[1], named=True, demanded=True)
    rest = without(text, [*taken, *insisted])
    fillers = sorted((word for word in lexicon()["fillers"] if CJK.search(word)), key=len, reverse=True)
    loose = "".join(word for word in fillers if len(word) == 1)
    for filler in [*(name for name in own_names if CJK.search(name)), *(word for word in fillers if len(word) > 1)]:
        rest = rest.replace(filler, " " * len(filler))
    for match in re.finditer(rf"(?:(?![{_PARTICLES}])[\u3400-\u9fff]){{2,8}}", rest):
        if not match[0].strip(loose):
            continue
        yield Unplaced(match[0], named=text[match.end() :].startswith(("的", "地区", "省", "市")))
