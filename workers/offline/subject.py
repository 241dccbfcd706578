"""What an intent is about: the measure, the rows, the groups; each as code and in words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Final

from core.phrases import written
from core.values import Language
from workers.offline import columns as cols
from workers.offline import dates
from workers.offline.cells import literal
from workers.offline.intent.quantities import bounds_mask
from workers.offline.lexicon import CJK, lexicon, stem, words
from workers.offline.reading import last_told
from workers.offline.thread import Thread, known_values
from workers.offline.values import Column, Filter, Intent, Join
from workers.offline.wording import month, sentences, signed, when

ORDERED = ("@year", "@month", "@weekday", "@months", "@quarters")
"""Groupings that are parts of a date; they stand in their own order."""

BAND = "~"
"""Stands before the name of a number that is grouped by in bands."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What an intent measures, in code and in words. `aggregation` follows a groupby, `total` stands alone."""

    label: str
    column: str | None
    aggregation: str
    axis_format: str
    label_format: str
    additive: bool = False
    rate: bool = False
    unit: str = ""

    @property
    def total(self) -> str:
        """The measure of all rows, as code."""
        return f"work{self.aggregation}" if self.column else "len(work)"

    @property
    def amount(self) -> str:
        """The label of an axis: the measure with its unit."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


def pretty(name: str, language: Language = "en") -> str:
    """A column's name for people: "tenure_months" is "tenure (months)"; "region" is said in Chinese to its readers."""
    parts = words(name)
    if language == "zh" and len(parts) == 1 and not CJK.search(name):
        for concept, phrases in lexicon()["concepts"].items():
            if concept == "date" and parts[0].text.casefold() in lexicon()["units"]:  # "days" is a length of time
                continue
            if any(not CJK.search(phrase) and stem(phrase) == parts[0].stem for phrase in phrases):
                return next((phrase for phrase in phrases if CJK.search(phrase)), name)
    if "_" in name and len(parts) > 1 and parts[-1].text.casefold() in lexicon()["units"]:
        unit = parts[-1].text
        rest = name[: name.rfind(unit)].replace("_", " ").strip()
        return f"{rest} ({unit.upper() if unit.casefold() in lexicon()['currency_codes'] else unit})"
    return name.replace("_", " ").strip()


def positive_value(join: Join, thread: Thread, column: str) -> str:
    """The value of a yes-no column that means yes."""
    told = join.column(column)
    values = known_values(join, thread.facts).get(column) or list(told.samples if told else ())
    yes = [value for value in values if value.casefold() in lexicon()["positive_values"]]
    return (yes or values[-1:] or ["Yes"])[0]


def subject(thread: Thread, join: Join, intent: Intent) -> Subject:
    """What the intent measures."""
    if intent.target and intent.measure == intent.target:
        refunds = intent.target == "is_refund"
        name = thread.say("words", "refunds") if refunds else pretty(intent.target, thread.language)
        share = thread.say("words", "rate", m=name)
        return Subject(share, "is_target", '["is_target"].mean()', "{x:.0%}", "{:.1%}", rate=True)
    column = join.column(intent.measure)
    if column is None or intent.aggregate == "count":
        rows = thread.say("words", "count")
        return Subject(rows, None, ".size()", "{x:,.0f}", "{:,.0f}", additive=True)
    sign = thread.sign_of(column)
    additive, name = intent.aggregate == "sum", pretty(column.name, thread.language)
    return Subject(
        label=name if additive else thread.say("words", intent.aggregate, m=name),
        column=column.name,
        aggregation=f"[{literal(column.name)}].{intent.aggregate}()",
        axis_format=signed("{x:,.10g}", sign, thread.language),
        label_format=signed("{:,.0f}" if additive and not _small(column) else "{:,.2f}", sign, thread.language),
        additive=additive,
        unit=sign,
    )


def _small(column: Column) -> bool:
    """True when the samples are so small that whole numbers would hide them."""
    digits = ["".join(re.findall(r"[\d.]", sample)) for sample in column.samples]
    values = [float(text) for text in digits if re.fullmatch(r"\d+\.?\d*|\.\d+", text)]
    return bool(values) and max(values) < 10


# --- which rows -------------------------------------------------------------------------------------------------------


def selection(thread: Thread, join: Join, intent: Intent, by: tuple[str, ...] = ()) -> list[str]:
    """The lines that make `work` from `df`."""
    lines = ["work = df", *(f"work = work[{mask}]" for mask, _, _ in _conditions(thread, join, intent))]
    if intent.target == "is_refund":
        lines.append('work = work.assign(is_target=work["is_refund"].astype(int))')
    elif intent.target:
        target, yes = literal(intent.target), literal(positive_value(join, thread, intent.target))
        lines.append(f"work = work[work[{target}].notna()]")
        lines.append(f"work = work.assign(is_target=(work[{target}].astype(str).str.strip() == {yes}).astype(int))")
    if intent.date:
        moment = f"work[{literal(intent.date)}].dt"
        days = literal(thread.say("words", "days").split())
        parts = {
            "@year": f'year={moment}.year.astype("Int64")',
            "@months": f'months={moment}.to_period("M").astype(str).where(work[{literal(intent.date)}].notna())',
            "@quarters": f'quarters={moment}.to_period("Q").astype(str).where(work[{literal(intent.date)}].notna())',
            "@month": f"month={moment}.month",
            "@weekday": f"weekday={moment}.day_of_week.map(dict(enumerate({days})))",
        }
        lines += [f"work = work.assign({parts[name]})" for name in by if name in parts]
    for name in by:
        if name.startswith(BAND):
            cut = f"bands(work[{literal(name[1:])}]{_band_words(thread.language)})"
            lines.append(f"work = work.assign(**{{{literal(plain(name))}: {cut}}})")
    return lines


def _band_words(language: Language) -> str:
    """How the bands of a number are named, as more arguments of `bands`; English needs none."""
    if language == "en":
        return ""
    band, marks = sentences()["words"][language]["band"], sentences()["cells"][language]["marks"]
    return f", band={literal(band)}, marks={literal(marks)}"


def rows_lines(thread: Thread, join: Join, intent: Intent) -> list[str]:
    """The lines that narrow `work` down one condition at a time and note in `steps` what each of them leaves."""
    return [
        f"work = keep(work, {mask}, {literal(column)}, {literal(said)}, steps)"
        for mask, column, said in _conditions(thread, join, intent)
    ]


def _conditions(thread: Thread, join: Join, intent: Intent) -> list[tuple[str, str, str]]:
    """The conditions that the rows of an intent meet: as code on `work`, the column, and in words."""
    found = []
    for item in intent.filters:
        mask = _mask(join, item)
        found.append((mask if item.keep else f"~({mask})", item.column, _filter_said(thread, join, item)))
    if (intent.no_refunds and thread.refunds) or leaves_out_refunded(thread, join, intent):
        found.append(('~work["is_refund"]', "is_refund", thread.say("words", "no_refunds")))
    return found


def _mask(join: Join, item: Filter) -> str:
    name, kind = literal(item.column), join.kind(item.column)
    if kind == "date":
        return dates.mask(item.values, f"work[{name}]", f"df[{name}]")
    if kind == "number":
        return bounds_mask(item.values, f"work[{name}]")
    return f"work[{name}].astype(str).isin({literal(item.values)})"


def leaves_out_refunded(thread: Thread, join: Join, intent: Intent) -> bool:
    """True for amounts in data that marks refunds on the orders themselves. A refunded order then counts as nothing."""
    told = last_told(thread.facts, "refunds")
    column = join.column(intent.measure)
    if thread.refunds is None or not told.get("on_orders") or column is None or column.kind != "number":
        return False
    used = {*(item.column for item in intent.filters), *intent.groups}
    amount = column == cols.default_measure(join.columns) or cols.is_money(column)
    return amount and intent.aggregate != "count" and not intent.target and thread.refunds.column not in used


def plain(by: str) -> str:
    """The column of `work` that a grouping stands in."""
    return f"{by[1:]}_band" if by.startswith(BAND) else by.removeprefix("@")


def label(thread: Thread, by: str) -> str:
    """The name of a grouping for people."""
    if by not in ORDERED:
        return pretty(by.removeprefix(BAND), thread.language)
    part = by.removeprefix("@").removesuffix("s")  # "@months" has the name of "@month"
    step = {"month": "M", "quarter": "Q"}.get(part)
    return thread.say("periods", step) if step else thread.say("words", part)


def spacing(thread: Thread, date: str | None) -> str:
    """The shortest step in which the dates of a column follow each other: D, W, M, Q or Y."""
    return next((str(told["step"]) for told in thread.facts.get("dates", ()) if told.get("column") == date), "D")


def span_in_years(thread: Thread) -> float | None:
    """From the first to the last date of the data; None when there is none."""
    told = last_told(thread.facts, "clean")
    try:
        first, last = (date.fromisoformat(str(told[key])) for key in ("date_from", "date_to"))
    except (KeyError, ValueError):
        return None
    return (last - first).days / 365.25


_COMMAS: Final[Mapping[Language, str]] = {"zh": "，", "ja": "、"}


def scope(thread: Thread, intent: Intent) -> str:
    """The rows that the question is about, in words: "2023, North, without refunds"; empty for all."""
    parts = [_filter_said(thread, thread.join, item) for item in intent.filters if thread.join]
    if intent.no_refunds and thread.refunds:
        parts.append(thread.say("words", "no_refunds"))
    return (_COMMAS.get(thread.language, ", ")).join(parts)


def _filter_said(thread: Thread, join: Join, item: Filter) -> str:
    kind = join.kind(item.column)
    if kind == "number":
        name = pretty(item.column, thread.language)
        listed = ", ".join(f"{name} {_bound_said(value, thread.language)}" for value in item.values)
    else:
        said = [time_said(thread, value) for value in item.values] if kind == "date" else item.values
        years = len(said) > 2 and all(value.isdigit() for value in item.values)
        listed = f"{said[0]}–{said[-1]}" if years else "/".join(said)
    return listed if item.keep else thread.say("words", "not", text=listed)


def _bound_said(value: str, language: Language) -> str:
    """ ">=1000" as "≥ 1,000"."""
    sign = value.rstrip("0123456789.")
    number = float(value[len(sign) :])
    return f"{ {'>=': '≥', '<=': '≤'}.get(sign, sign) } {written(f'{number:,.10g}', language)}"


_TIMES = {">=": "since", ">": "after", "<=": "until", "<": "before"}


def time_said(thread: Thread, value: str) -> str:
    """A value of dates.py in words."""
    if re.fullmatch(r"M\d\d", value):
        return month(int(value[1:]), thread.language)
    if relative := dates.LAST.fullmatch(value):
        return thread.say("words", f"last_{relative[2]}", n=int(relative[1]))
    if re.fullmatch(r"[YQM]-\d", value):
        return thread.say("words", f"last_{value[0]}", n=1) if value.endswith("0") else thread.say("words", value)
    if compared := dates.BOUND.fullmatch(value):
        return thread.say("words", _TIMES[compared[1]], y=time_said(thread, compared[2]))
    return when(value.replace("..", "–"), thread.language)
