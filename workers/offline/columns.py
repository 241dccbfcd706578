"""What the columns of a table hold, and which of them a text means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from workers.offline.lexicon import CJK, Span, Word, concepts_of, lexicon, stem, stems, words
from workers.offline.values import Column, Kind, of_kind

_NUMBER = re.compile(
    rf"""[\s(+\-\u2212~≈]*(?:[A-Z]{{0,3}}[$€£¥￥]|{"|".join(lexicon()["currency_codes"]).upper()})?\s*   # a currency
    [-+]?\d[\d.,'\s\u00a0\u202f]*                                    # digits with separators
    \s*(?:%|[万亿]?[$€£¥￥元]|[万亿]|(?:thousand|[mb]illion)s?|[A-Za-z]{{1,4}}\.?)?  # a unit, a thousand
    \s*(?:[A-Z]{{3}}|[$€£¥￥])?\)?-?\s*                                # a currency behind it""",
    re.VERBOSE,
)
_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_DATE = re.compile(
    rf"""\s*(?:
      (?:1[89]|2[01])\d\d[-/年]\d{{1,2}}(?:[-/月]\d{{1,2}}日?)?.*  # 2023-03-14, 2023/3, 2023年3月14日
    | (?:1[89]|2[01])\d\d\.\d{{1,2}}\.\d{{1,2}}.*      # 2023.03.14, but 2023.14 is an amount
    | \d{{1,2}}[-/.]\d{{1,2}}[-/.]\d{{2,4}}.*              # 14/03/2023, 3.14.23
    | (?:\w+,?\ )?(?:{_MONTHS})[a-z]*\.?\ \d{{1,2}},?\ \d{{4}}.*     # Mar 14, 2023
    | \d{{1,2}}[\ .-]*(?:{_MONTHS})[a-z]*[\ .,-]*\d{{2,4}}.*         # 14 March 2023
    )\s*""",
    re.IGNORECASE | re.VERBOSE,
)
_DAY_AND_MONTH = re.compile(r"\s*(\d{1,2})[-/.](\d{1,2})[-/.]\d{2,4}\b")
_AMOUNT = re.compile(r".*(?:[$€£¥￥]|\d\s*(?:[km]|mio|mrd|tsd|bn|[mb]illion|thousand)\b).*", re.IGNORECASE)
_MOSTLY = 0.75
_FEW = 40
"""Up to this many distinct values, a text column counts as a category, whatever the number of rows."""


_MANY = 1_000
"""With more distinct values than this, a text column is no category, whatever the number of rows."""


def kind_of(name: str, dtype: str, unique: int | None, rows: int | None, samples: Sequence[str]) -> tuple[Kind, bool]:
    """What a column holds, and whether it is text that must first be read as numbers or dates."""
    filled = [sample for sample in samples if sample.strip().casefold() not in ("", "nan", "none", "n/a")]
    if unique == 0:
        return "empty", False
    distinct = unique if unique is not None else len(set(filled))
    id_like = named_like_an_id(name) and (rows is None or unique is None or unique > 0.5 * rows or unique > _FEW)
    if dtype.startswith("datetime"):
        return "date", False
    if dtype == "bool" or (distinct == 2 and _yes_and_no(filled)):
        return "flag", False
    if dtype.startswith(("int", "float", "Int", "Float", "uint", "decimal")):
        whole = dtype.startswith(("int", "Int", "uint"))
        if whole and (id_like or (unique == rows and _numbers_rows(name))):
            return "id", False
        if whole and named_like_an_id(name) and not is_rate(name):
            return "category", False  # a number that stands for a shop or a person is not added up
        return "number", False
    if _share(_DATE, filled) >= _MOSTLY:
        return "date", True
    if id_like and not _share(re.compile(r"\d+[.,]\d+"), filled) >= _MOSTLY:
        return "id", False
    if _share(_NUMBER, filled) >= _MOSTLY:
        return "number", True
    in_every_row = rows is not None and rows > _FEW and unique == rows
    if in_every_row and all(len(sample.split()) <= 2 for sample in filled):
        return "id", False
    if distinct <= _FEW or (rows and distinct <= min(0.05 * rows, _MANY)):
        return "category", False
    return "text", False


def hides_its_order(column: Column) -> bool:
    """True for a column of dates such as 03/04/2023, none of which shows whether the day or the month comes first."""
    found = [match for sample in column.samples if (match := _DAY_AND_MONTH.match(sample))]
    return bool(found) and all(int(match[1]) <= 12 and int(match[2]) <= 12 for match in found)


def _share(pattern: re.Pattern[str], samples: Sequence[str]) -> float:
    return sum(bool(pattern.fullmatch(sample)) for sample in samples) / len(samples) if samples else 0.0


def _yes_and_no(samples: Sequence[str]) -> bool:
    """True when one of two values says yes and the other no: N and S, for North and South, are no yes-no question."""
    values = {sample.strip().casefold() for sample in samples}
    return all(values & set(lexicon()[side]) for side in ("positive_values", "negative_values"))


def named_like_an_id(name: str) -> bool:
    """True for the name of a number that tells rows or things apart: "customer id", "Bestellnr"."""
    parts = words(name)
    return bool(parts) and (
        parts[-1].stem in stems("id_names")
        or name.casefold().endswith(("nr", "nummer"))  # "Bestellnr": German writes it in one word
        or any(CJK.search(i) and name.endswith(i) for i in lexicon()["id_names"])
    )


def holds_unread_amounts(column: Column) -> bool:
    """True for a column of words half of which are amounts, such as "1.5M+". Groups by these words would be no
    answer."""
    return column.kind in ("category", "text") and _share(_AMOUNT, column.samples) >= 0.5


def _numbers_rows(name: str) -> bool:
    """True for the name of what one row is, such as "visit". A different number in every row does not count visits."""
    return name.casefold() in lexicon()["row_names"] and not concepts_of([stem(name)]) & {"money", "quantity"}


def is_rate(name: str) -> bool:
    """True for the name of a number that is averaged rather than added up: a price, a rate, an age, and a scale such as
    "satisfaction (1-5)"."""
    named = any(word.stem in stems("rates") for word in words(name))
    chinese = any(CJK.search(rate) and rate in name for rate in lexicon()["rates"])
    return named or chinese or bool(re.search(r"[(（]\s*\d+\s*[-–—~至]\s*\d+\s*[)）]", name))


def concepts(column: Column) -> set[str]:
    """The concepts that a column's name stands for."""
    found = concepts_of([word.stem for word in words(column.name)])
    return found - {"quantity"} if "price" in found else found  # the price of a unit counts no units


@dataclass(frozen=True, slots=True)
class Mention:
    """A place in a text that means a column; `columns` holds several when they fit equally well."""

    span: Span
    columns: tuple[Column, ...]
    text: str
    score: float


WHOLE_NAME = 10.0
"""The lowest score of a mention that holds a column's whole name."""


def mentions(columns: Sequence[Column], text: str) -> list[Mention]:
    """The columns that a text means, in the order of the text."""
    stop = stems("stop_words")
    hits: dict[Span, list[tuple[float, Column]]] = {}
    text_words = [word for word in words(text) if not CJK.search(word.text)]
    for column in columns:
        for span, score in [*_word_hits(column, text_words, stop), *_chinese_hits(column, text)]:
            hits.setdefault(span, []).append((score, column))
    found: list[Mention] = []
    ranked = sorted(hits.items(), key=lambda item: (-max(score for score, _ in item[1]), -item[0].length))
    for span, scored in ranked:
        if span.meets(taken.span for taken in found):
            continue
        best = max(score for score, _ in scored)
        fitting = tuple(column for score, column in scored if score >= best - 0.01)
        found.append(Mention(span, fitting, text[span.start : span.end], best))
    return sorted(found, key=lambda mention: mention.span.start)


def _word_hits(column: Column, text_words: Sequence[Word], stop: frozenset[str]) -> Iterable[tuple[Span, float]]:
    parts = [word.stem for word in words(column.name)]
    own = concepts(column)
    for at, word in enumerate(text_words):
        phrase = text_words[at : at + len(parts)]
        if parts and [w.stem for w in phrase] == parts:
            stopped = len(parts) == 1 and parts[0] in stop
            yield Span(word.span.start, phrase[-1].span.end), WHOLE_NAME + len(parts) - (8.0 if stopped else 0.0)
        elif word.stem in stop:
            continue
        elif word.stem in parts:
            yield word.span, 6.0 if word.stem == parts[-1] else 5.0
        elif own & concepts_of([word.stem]):
            yield word.span, 4.0
        elif len(word.stem) >= 5 and any(len(part) >= 4 and _are_alike(word.stem, part) for part in parts):
            yield word.span, 3.0


def _chinese_hits(column: Column, text: str) -> Iterable[tuple[Span, float]]:
    if CJK.search(column.name):
        for name in dict.fromkeys([column.name, re.sub(r"^(?:是否|有无|是不是)|[（(].*$", "", column.name)]):
            at = text.find(name) if len(name) > 1 or name == column.name else -1
            if at >= 0:
                yield Span(at, at + len(name)), 12.0 + len(name)
                break
    for concept in concepts(column):
        for phrase in lexicon()["concepts"][concept]:
            if CJK.search(phrase):
                for match in re.finditer(re.escape(phrase), text):
                    yield Span(*match.span()), 4.0 + 0.5 * len(phrase)


def _are_alike(one: str, other: str) -> bool:
    return SequenceMatcher(None, one, other).ratio() >= 0.84


# --- defaults ---------------------------------------------------------------------------------------------------------

_MEASURE_ORDER = ("money", "profit", "charges", "salary", "cost", "score", "quantity", "price")


def default_measure(columns: Sequence[Column]) -> Column | None:
    """The number that a question about nothing in particular is most likely about."""
    numbers = of_kind(columns, "number")
    for concept in _MEASURE_ORDER:
        named = [column for column in numbers if concept in concepts(column)]
        if concept == "money":
            named = [column for column in named if "price" not in concepts(column)]
            named = named or [column for column in numbers if _in_currency(column) and not is_rate(column.name)]
        if named:
            return min(named, key=lambda column: (is_rate(column.name), column.missing))
    wanted = [column for column in numbers if not is_rate(column.name) and concepts(column).isdisjoint({"date"})]
    return next(iter(wanted or numbers), None)


def _in_currency(column: Column) -> bool:
    """True when samples carry a sign of currency."""
    return any(sign in sample for sign in lexicon()["currencies"] if not sign.isalpha() for sample in column.samples)


def is_money(column: Column) -> bool:
    """True when a column holds amounts of money, by its name or the signs in its samples."""
    named = {"money", "price", "cost", "profit", "charges", "salary"} & concepts(column)
    return bool(named) or _in_currency(column)


DERIVED = "derived"
"""The dtype of a column that is not in any file: computed from two others when the data is cleaned."""


def factors(columns: Sequence[Column]) -> tuple[Column, Column] | None:
    """Quantity and price, if there is one of each."""
    numbers = of_kind(columns, "number")
    price = [column for column in numbers if "price" in concepts(column)]
    quantity = [column for column in numbers if "quantity" in concepts(column) and column not in price]
    return (quantity[0], price[0]) if len(price) == 1 and len(quantity) == 1 else None


def amount_to_derive(columns: Sequence[Column]) -> Column | None:
    """A column of sales to compute as quantity times price, when the data has these two and no amount of money."""
    numbers = of_kind(columns, "number")
    has_amount = any(is_money(column) and "price" not in concepts(column) for column in numbers)
    taken = has_amount or factors(columns) is None or any(column.name == "sales" for column in columns)
    return None if taken else Column("sales", "number", DERIVED)


def default_date(columns: Sequence[Column]) -> Column | None:
    """The column that says when: a date column, fullest first."""
    return min(of_kind(columns, "date"), key=lambda column: column.missing, default=None)


def groupable(columns: Sequence[Column]) -> list[Column]:
    """Columns that make sensible groups, best first: named like a region or a product, few values."""
    order = ("region", "product", "category", "channel", "department", "city", "country", "contract", "gender", "type")

    def rank(column: Column) -> tuple[int, int]:
        own = concepts(column)
        return next((n for n, concept in enumerate(order) if concept in own), len(order)), column.unique or 0

    return sorted(of_kind(columns, "category", "flag"), key=rank)
