"""Makes reports over outputs that pandas printed, with figures that are known to be true, and plants one fault.

Everything follows from a seed. A `Case` holds the thread's turns and a true report; `plant` gives the same report with
one figure changed, by kind of fault:

    digits    two digits of a figure change places, or one becomes another
    row       the value of another row (or period) in its place
    unit      another currency or scale, or a percentage as an amount
    sign      a plus as a minus, a rise as a fall
    earlier   the value that an earlier turn of the thread showed for the same thing
    base      a percentage of the wrong whole, or a change measured from the wrong end
"""

# ruff: noqa: SIM905, UP031, E501 - sentences and lists of words are data here
from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any

import pandas as pd

from core.steps import Asked, CellRan, Finished, Step, TableData

KINDS = ("digits", "row", "unit", "sign", "earlier", "base")
_NAMES = {
    "region": ["North", "South", "East", "West", "Central", "Coast", "Highlands", "Islands"],
    "product": ["Desk", "Lamp", "Chair", "Shelf", "Sofa", "Stool", "Mirror", "Carpet"],
    "country": ["Germany", "France", "Italy", "Spain", "Poland", "Austria", "Norway", "Greece"],
    "team": ["Alpha", "Bravo", "Delta", "Echo", "Kilo", "Lima", "Oscar", "Sierra"],
    "filiale": ["Berlin", "München", "Hamburg", "Köln", "Leipzig", "Bremen", "Dresden", "Essen"],
    "城市": ["北京", "上海", "广州", "深圳", "成都", "杭州", "武汉", "西安"],
    "plan": ["Basic", "Plus", "Pro", "Enterprise", "Starter", "Family"],
}
_MEASURES = {
    "en": [
        ("revenue_eur", "Revenue", "eur"),
        ("cost_usd", "Cost", "usd"),
        ("orders", "Orders", ""),
        ("visits", "Visits", ""),
    ],
    "de": [("umsatz_eur", "Umsatz", "eur"), ("kosten_eur", "Kosten", "eur"), ("bestellungen", "Bestellungen", "")],
    "zh": [("销售额", "销售额", "cny"), ("订单数", "订单数", ""), ("成本_元", "成本", "cny")],
}
_MONTHS = {
    "en": "January February March April May June July August September October November December".split(),
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split(),
}


@dataclass
class Slot:
    """A figure in a sentence: its true text, and what a fault of each kind would put there."""

    text: str
    wrong: dict[str, str] = field(default_factory=dict)


@dataclass
class Sentence:
    """A sentence with a place for each of its figures."""

    text: str
    slots: list[Slot]

    def told(self, at: int = -1, instead: str = "") -> str:
        return self.text.format(*(instead if n == at else slot.text for n, slot in enumerate(self.slots)))


@dataclass
class Case:
    """A thread and a report whose figures are all true."""

    seed: int
    turns: list[list[Step]]
    parts: list[Sentence]

    @property
    def report(self) -> str:
        return "\n".join(part.told() for part in self.parts)

    @property
    def figures(self) -> int:
        return sum(len(part.slots) for part in self.parts)

    def plant(self, kind: str, rng: random.Random) -> str | None:
        """The report with one fault of this kind; None when no figure of it can have one."""
        places = [
            (p, s)
            for p, part in enumerate(self.parts)
            for s, slot in enumerate(part.slots)
            if kind in slot.wrong and slot.wrong[kind] != slot.text
        ]
        if not places:
            return None
        p, s = rng.choice(places)
        wrong = self.parts[p].slots[s].wrong[kind]
        return "\n".join(part.told(s, wrong) if n == p else part.told() for n, part in enumerate(self.parts))


class Style:
    """How one report writes its figures."""

    def __init__(self, rng: random.Random, language: str) -> None:
        self.rng, self.language = rng, language

    def digits(self, value: float, decimals: int) -> str:
        text = f"{abs(value):,.{decimals}f}"
        return text.translate(str.maketrans(",.", ".,")) if self.language == "de" else text

    def amount(self, value: float, unit: str, form: str) -> str:
        """A value with its unit, exact, rounded, or in thousands or millions."""
        if form == "scaled" and abs(value) >= 1e5:
            if self.language == "zh":
                return f"{value / 1e4:.1f}万{'元' if unit else ''}"
            scale, word = (
                (1e6, {"en": "million", "de": "Mio."}) if abs(value) >= 1e6 else (1e3, {"en": "k", "de": "Tsd."})
            )
            number = self.digits(value / scale, 2 if scale == 1e6 else 1)
            return self.money(f"{number}{'' if word[self.language] == 'k' else ' '}{word[self.language]}", unit)
        return self.money(self.digits(value, 0 if form == "whole" or value == int(value) else 2), unit)

    def money(self, number: str, unit: str) -> str:
        if not unit:
            return number
        if self.language == "zh":
            return f"{number}元"
        if self.language == "de":
            return f"{number} €" if unit == "eur" else f"{number} USD"
        return f"€{number}" if unit == "eur" else f"${number}"

    def percent(self, value: float, *, plus: bool = False, decimals: int = 1) -> str:
        sign = "−" if value < 0 else "+" if plus else ""
        return f"{sign}{self.digits(value, decimals)}{'%' if self.language == 'zh' else ' %'}"


def _swapped(text: str, rng: random.Random) -> str:
    """The text with two different neighbouring digits exchanged, or one digit changed."""
    places = [n for n, char in enumerate(text) if char.isdigit()]
    pairs = [(a, b) for a, b in pairwise(places) if text[a] != text[b] and not (a == places[0] and text[b] == "0")]
    chars = list(text)
    if pairs and rng.random() < 0.7:
        a, b = rng.choice(pairs)
        chars[a], chars[b] = chars[b], chars[a]
    else:
        at = rng.choice(places)
        chars[at] = rng.choice([digit for digit in "123456789" if digit != chars[at]])
    return "".join(chars)


def _other_unit(text: str, language: str) -> str:
    """The same digits in another currency or scale."""
    for a, b in (
        ("€", "$"),
        ("USD", "€"),
        ("$", "£"),
        (" million", " billion"),
        (" Mio.", " Mrd."),
        ("万", "亿"),
        ("元", "美元"),
        ("%", "€"),
    ):
        if a in text:
            return text.replace(a, b, 1)
    return text + " %"


@cache
def case(seed: int) -> Case:
    """The case of a seed. Nobody changes one: each measure asks for the same ones."""
    rng = random.Random(seed)
    language = rng.choice(["en", "en", "de", "zh"])
    maker: Callable[[random.Random, str], Case] = rng.choice([_entities, _entities, _months, _compared, _grouped])
    made = maker(rng, language)
    for part in made.parts:
        for slot in part.slots:
            slot.wrong.setdefault("digits", _swapped(slot.text, rng))
            slot.wrong.setdefault("unit", _other_unit(slot.text, language))
    made.seed = seed
    return made


def cases(count: int, first: int = 0) -> Iterator[Case]:
    """This many cases."""
    return (case(first + n) for n in range(count))


# --- outputs


def _asked(text: str, ts: str) -> Asked:
    return Asked(user="U1", author="Ana", text=text, ts=ts)


def _printed(frame: pd.DataFrame, rng: random.Random) -> dict[str, Any]:
    """A frame as one of the ways in which cells show it."""
    label, how = frame.columns[0], rng.randrange(6)
    if how == 0:
        return {"stdout": frame.set_index(label).to_string() + "\n"}
    if how == 1:
        return {"stdout": frame.to_string(index=False) + "\n"}
    if how == 2:
        return {"stdout": frame.to_string() + "\n"}
    if how == 3:
        rows = tuple(
            tuple(row) for row in json.loads(frame.to_json(orient="values", force_ascii=False, double_precision=12))
        )
        data = TableData(
            columns=tuple(map(str, frame.columns)),
            dtypes=tuple(map(str, frame.dtypes)),
            rows=rows,
            total_rows=len(frame),
            total_columns=frame.shape[1],
        )
        return {"result": frame.to_string(), "tables": (data,)}
    if how == 4:
        return {"stdout": frame.to_json(orient="records", force_ascii=False) + "\n"}
    lines = []
    for record in frame.to_dict("records"):
        rest = ", ".join(
            f"{name} {value:.2f}" if isinstance(value, float) else f"{name} {value}"
            for name, value in list(record.items())[1:]
        )
        lines.append(f"{record[label]}: {rest}")
    return {"stdout": "\n".join(lines) + "\n"}


def _cell(number: int, turn: int, title: str, **shown: Any) -> CellRan:
    return CellRan(
        call_id=f"c{turn}{number}", cell_id=f"T{turn}/c{number}", title=title, code="show(df)", status="ok", **shown
    )


def _table(head: list[str], rows: list[tuple[str, list[Slot]]]) -> Sentence:
    """A Markdown table."""
    slots = [slot for _, row in rows for slot in row]
    lines = ["", "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    at = 0
    for name, row in rows:
        lines.append("| " + " | ".join([name, *("{%d}" % (at + n) for n in range(len(row)))]) + " |")
        at += len(row)
    return Sentence("\n".join([*lines, ""]), slots)


# --- worlds


def _entities(rng: random.Random, language: str) -> Case:
    """A table of things with two measures, totals and shares; the turn before showed all years."""
    label = {"de": "filiale", "zh": "城市"}.get(language) or rng.choice(
        ["region", "product", "country", "team", "plan"]
    )
    names = rng.sample(_NAMES[label], rng.randint(4, min(7, len(_NAMES[label]))))
    (first, shown, unit), (second, shown2, unit2) = rng.sample(_MEASURES[language], 2)
    size = 10 ** rng.uniform(4.2, 6.3)
    cents = rng.random() < 0.4 and unit != ""

    def frame() -> pd.DataFrame:
        a = [round(size * rng.uniform(0.3, 1.7), 2 if cents else 0) for _ in names]
        b = [rng.randint(900, 9_800) for _ in names]
        return pd.DataFrame({label: names, first: a if cents else [int(v) for v in a], second: b})

    def cells(data: pd.DataFrame, turn: int) -> list[CellRan]:
        total, count = data[first].sum(), data[second].sum()
        share = pd.Series(
            (data[first] / total * 100).round(1).to_list(), index=pd.Index(names, name=label), name="share_pct"
        )
        return [
            _cell(1, turn, "Per " + label, **_printed(data, state)),
            _cell(2, turn, "Totals", stdout=f"Total {first}: {total:.2f}\nTotal {second}: {count}\n"),
            _cell(3, turn, "Share in percent", stdout=share.to_string() + "\n"),
        ]

    before, now = frame(), frame()
    state = random.Random(rng.random())
    style = Style(rng, language)
    question = {
        "en": f"Which {label} leads?",
        "de": "Welche Filiale liegt vorn?",
        "zh": "哪个城市最高？（金额单位：元）",
    }[language]
    steps = [
        [_asked(question, "1.0"), *cells(before, 1), Finished(report="…")],
        [
            _asked({"en": "and only for 2024?", "de": "und nur 2024?", "zh": "只看2024年呢？"}[language], "2.0"),
            *cells(now, 2),
        ],
    ]
    now = now.assign(
        share=(now[first] / now[first].sum() * 100).round(1), other=(now[second] / now[second].sum() * 100).round(1)
    )
    old = before.assign(share=(before[first] / before[first].sum() * 100).round(1))
    ranked = now.sort_values(first, ascending=False).reset_index(drop=True)
    form = rng.choice(["exact", "whole", "scaled"])
    n, amounts, shares, counts = (ranked[column].to_list() for column in (label, first, "share", second))
    stale_amounts, stale_shares = (dict(zip(old[label], old[column], strict=True)) for column in (first, "share"))
    sum_of_all = ranked[first].sum()

    def amount(row: int) -> Slot:
        rivals = [style.amount(v, unit, form) for at, v in enumerate(amounts) if at != row]
        return Slot(
            style.amount(amounts[row], unit, form),
            {"row": rng.choice(rivals), "earlier": style.amount(float(stale_amounts[n[row]]), unit, form)},
        )

    def share(row: int) -> Slot:
        wrong = {
            "row": rng.choice([style.percent(v) for at, v in enumerate(shares) if at != row]),
            "earlier": style.percent(float(stale_shares[n[row]])),
            "base": style.percent(amounts[row] / (sum_of_all - amounts[row]) * 100),
        }
        return Slot(style.percent(shares[row]), wrong)

    def count(row: int) -> Slot:
        return Slot(
            style.amount(counts[row], unit2, "whole"),
            {"row": rng.choice([style.amount(v, unit2, "whole") for at, v in enumerate(counts) if at != row])},
        )

    total = Slot(style.amount(ranked[first].sum(), unit, form), {"earlier": style.amount(old[first].sum(), unit, form)})
    gap = Slot(style.amount(ranked[first][0] - ranked[first][1], unit, "exact"), {})
    two = Slot(style.percent(float((ranked[first][:2].sum()) / ranked[first].sum() * 100)), {})
    two.wrong["base"] = style.percent(float(ranked[first][:2].sum() / ranked[first][2:].sum() * 100))
    last = len(ranked) - 1
    texts = {
        "en": [
            Sentence(
                f"**{n[0]} leads with {{0}} of {shown.lower()} ({{1}} of the total).** {n[1]} follows with {{2}}.",
                [amount(0), share(0), amount(1)],
            ),
            Sentence(f"- {n[last]} is last: {{0}}, a share of {{1}}.", [amount(last), share(last)]),
            Sentence("- In total it was {0}.", [total]),
            Sentence(f"- The gap between {n[0]} and {n[1]} is {{0}}.", [gap]),
            Sentence(f"- {n[0]} and {n[1]} together make {{0}} of all {shown.lower()}.", [two]),
            Sentence(f"- {shown2}: {n[2]} had {{0}}, {n[1]} had {{1}}.", [count(2), count(1)]),
            Sentence(f"- While {n[1]} reached {{0}}, {n[2]} only got to {{1}}.", [amount(1), amount(2)]),
        ],
        "de": [
            Sentence(
                f"**{n[0]} liegt mit {{0}} {shown} vorn ({{1}}).** Es folgt {n[1]} mit {{2}}.",
                [amount(0), share(0), amount(1)],
            ),
            Sentence(f"- {n[last]} ist das Schlusslicht: {{0}}, ein Anteil von {{1}}.", [amount(last), share(last)]),
            Sentence("- Insgesamt waren es {0}.", [total]),
            Sentence(f"- Der Abstand zwischen {n[0]} und {n[1]} beträgt {{0}}.", [gap]),
            Sentence(f"- {n[0]} und {n[1]} kommen zusammen auf {{0}}.", [two]),
            Sentence(f"- {shown2}: {n[2]} mit {{0}}, {n[1]} mit {{1}}.", [count(2), count(1)]),
        ],
        "zh": [
            Sentence(
                f"**{n[0]}的{shown}最高，为{{0}}，占{{1}}。** 其次是{n[1]}（{{2}}）。", [amount(0), share(0), amount(1)]
            ),
            Sentence(f"- {n[last]}最低：{{0}}，占比{{1}}。", [amount(last), share(last)]),
            Sentence("- 合计{0}。", [total]),
            Sentence(f"- {n[0]}与{n[1]}相差{{0}}。", [gap]),
            Sentence(f"- {n[0]}和{n[1]}合计占{{0}}。", [two]),
            Sentence(f"- {shown2}：{n[2]}为{{0}}，{n[1]}为{{1}}。", [count(2), count(1)]),
        ],
    }[language]
    chosen = [texts[0], *rng.sample(texts[1:], rng.randint(2, len(texts) - 1))]
    if rng.random() < 0.5:
        heading = [label, shown, {"en": "Share", "de": "Anteil", "zh": "占比"}[language], shown2]
        chosen.append(_table(heading, [(n[r], [amount(r), share(r), count(r)]) for r in range(len(ranked))]))
    return Case(0, steps, chosen)


def _months(rng: random.Random, language: str) -> Case:
    """A monthly series, and the same of the year before in the turn before."""
    length = rng.randint(5, 12)
    name, shown, unit = rng.choice([m for m in _MEASURES[language] if m[2]])
    size = 10 ** rng.uniform(3.5, 6)
    values = [round(size * rng.uniform(0.5, 1.5)) for _ in range(length)]
    older = [round(size * rng.uniform(0.5, 1.5)) for _ in range(length)]
    year = rng.randint(2019, 2025)
    style = Style(rng, language)

    def cells(data: list[int], turn: int) -> list[CellRan]:
        series = pd.Series(data, index=pd.period_range(f"{year}-01", periods=length, freq="M"), name=name)
        frame = pd.DataFrame({"month": [str(p) for p in series.index], name: data})
        shown_as = {"stdout": str(series) + "\n"} if state.random() < 0.5 else _printed(frame, state)
        first = _cell(1, turn, "Per month", **shown_as)
        change = (data[-1] / data[-2] - 1) * 100
        return [
            first,
            _cell(
                2,
                turn,
                "Figures",
                stdout=f"Total: {sum(data)}\nMean: {sum(data) / length:.2f}\nChange of the last month: {change:.1f} %\n",
            ),
        ]

    state = random.Random(rng.random())
    steps: list[list[Step]] = [
        [
            _asked(
                "How do things develop per month, all shops?" if language != "zh" else "所有门店每月如何（元）？", "1.0"
            ),
            *cells(older, 1),
            Finished(report="…"),
        ],
        [_asked("And the web shop alone?", "2.0"), *cells(values, 2)],
    ]

    def month(at: int) -> str:
        return f"{year}年{at + 1}月" if language == "zh" else f"{_MONTHS[language][at]} {year}"

    def amount(at: int) -> Slot:
        rivals = [style.amount(v, unit, "exact") for n, v in enumerate(values) if n != at]
        return Slot(
            style.amount(values[at], unit, "exact"),
            {"row": rng.choice(rivals), "earlier": style.amount(older[at], unit, "exact")},
        )

    best, worst = max(range(length), key=values.__getitem__), min(range(length), key=values.__getitem__)
    change = (values[-1] / values[-2] - 1) * 100
    swing = (values[-1] - values[-2]) / values[-1] * 100
    old_change = (older[-1] / older[-2] - 1) * 100
    moved = Slot(
        style.percent(change, plus=True),
        {
            "sign": style.percent(-change, plus=True),
            "base": style.percent(swing, plus=True),
            "earlier": style.percent(old_change, plus=True),
        },
    )
    run = (values[-1] / values[0] - 1) * 100
    whole = Slot(
        style.percent(run, plus=True),
        {
            "sign": style.percent(-run, plus=True),
            "base": style.percent((values[-1] - values[0]) / values[-1] * 100, plus=True),
        },
    )
    total = Slot(style.amount(sum(values), unit, "exact"), {"earlier": style.amount(sum(older), unit, "exact")})
    mean = Slot(
        style.amount(sum(values) / length, unit, "exact"), {"earlier": style.amount(sum(older) / length, unit, "exact")}
    )
    texts = {
        "en": [
            Sentence(
                f"{shown} peaked in {month(best)} at {{0}}; the weakest month was {month(worst)} with {{1}}.",
                [amount(best), amount(worst)],
            ),
            Sentence("In all it was {0}, on average {1} per month.", [total, mean]),
            Sentence(
                f"From {month(length - 2)} ({{0}}) to {month(length - 1)} ({{1}}) it changed by {{2}}.",
                [amount(length - 2), amount(length - 1), moved],
            ),
            Sentence(
                f"It went from {{0}} in {month(0)} to {{1}} in {month(length - 1)} ({{2}}).",
                [amount(0), amount(length - 1), whole],
            ),
        ],
        "de": [
            Sentence(
                f"Am höchsten lag der Wert im {month(best)} mit {{0}}, am niedrigsten im {month(worst)} mit {{1}}.",
                [amount(best), amount(worst)],
            ),
            Sentence("In Summe waren es {0}, im Mittel {1} je Monat.", [total, mean]),
            Sentence(
                f"Von {month(length - 2)} ({{0}}) auf {month(length - 1)} ({{1}}) änderte er sich um {{2}}.",
                [amount(length - 2), amount(length - 1), moved],
            ),
            Sentence(
                f"Er ging von {{0}} im {month(0)} auf {{1}} im {month(length - 1)} ({{2}}).",
                [amount(0), amount(length - 1), whole],
            ),
        ],
        "zh": [
            Sentence(
                f"{shown}在{month(best)}最高，为{{0}}；{month(worst)}最低，为{{1}}。", [amount(best), amount(worst)]
            ),
            Sentence("合计{0}，月均{1}。", [total, mean]),
            Sentence(
                f"从{month(length - 2)}的{{0}}到{month(length - 1)}的{{1}}，变化{{2}}。",
                [amount(length - 2), amount(length - 1), moved],
            ),
        ],
    }[language]
    chosen = rng.sample(texts, rng.randint(2, len(texts)))
    if rng.random() < 0.4:
        chosen.append(
            _table(
                ["Month" if language == "en" else "Monat" if language == "de" else "月份", shown],
                [(month(n), [amount(n)]) for n in range(length)],
            )
        )
    return Case(0, steps, chosen)


def _compared(rng: random.Random, language: str) -> Case:
    """Two years side by side, with difference and change in percent."""
    label = {"de": "filiale", "zh": "城市"}.get(language) or rng.choice(["region", "product", "country"])
    names = rng.sample(_NAMES[label], rng.randint(4, 6))
    unit = {"en": "usd", "de": "eur", "zh": "cny"}[language]
    one = rng.randint(2018, 2024)
    style = Style(rng, language)
    state = random.Random(rng.random())

    def frame() -> pd.DataFrame:
        a = [rng.randint(20_000, 900_000) for _ in names]
        b = [round(v * rng.uniform(0.7, 1.4)) for v in a]
        made = pd.DataFrame({label: names, str(one): a, str(one + 1): b})
        made["diff"] = made[str(one + 1)] - made[str(one)]
        made["pct_change"] = (made["diff"] / made[str(one)] * 100).round(1)
        return made

    before, now = frame(), frame()

    def cells(data: pd.DataFrame, turn: int) -> list[CellRan]:
        sums = data[[str(one), str(one + 1), "diff"]].sum()
        return [
            _cell(1, turn, "Both years", stdout=data.set_index(label).to_string() + "\n")
            if state.random() < 0.6
            else _cell(1, turn, "Both years", **_printed(data, state)),
            _cell(2, turn, "Sums", stdout=sums.to_string() + "\n"),
        ]

    currency = {"en": "USD", "de": "EUR", "zh": "元"}[language]
    steps: list[list[Step]] = [
        [
            _asked(f"Compare {one} and {one + 1} per {label} ({currency}), all channels", "1.0"),
            *cells(before, 1),
            Finished(report="…"),
        ],
        [_asked("Now the web shop only", "2.0"), *cells(now, 2)],
    ]

    new, old = now.to_dict("list"), before.to_dict("list")

    def level(row: int, year: int) -> Slot:
        value = new[str(year)][row]
        rivals = [style.amount(v, unit, "exact") for n, v in enumerate(new[str(year)]) if n != row]
        return Slot(
            style.amount(value, unit, "exact"),
            {"row": rng.choice(rivals), "earlier": style.amount(old[str(year)][row], unit, "exact")},
        )

    def change(row: int, *, plus: bool) -> Slot:
        value = new["pct_change"][row]
        rivals = [style.percent(v, plus=plus) for n, v in enumerate(new["pct_change"]) if n != row]
        swing = new["diff"][row] / new[str(one + 1)][row] * 100
        if plus:
            return Slot(style.percent(value, plus=True), {
                "row": rng.choice(rivals), "sign": style.percent(-value, plus=True),
                "base": style.percent(swing, plus=True), "earlier": style.percent(old["pct_change"][row], plus=True),
            })  # fmt: skip
        return Slot(
            style.percent(abs(value)),
            {"row": rng.choice([r.lstrip("−+") for r in rivals]), "base": style.percent(abs(swing))},
        )

    def diff(row: int) -> Slot:
        value = new["diff"][row]
        text = style.amount(abs(value), unit, "exact")
        sign = "−" if value < 0 else "+"
        return Slot(sign + text, {"sign": ("+" if value < 0 else "−") + text})

    a, b, c = rng.sample(range(len(names)), 3)
    total = [int(now[str(one)].sum()), int(now[str(one + 1)].sum())]
    grew = (total[1] / total[0] - 1) * 100
    whole = Slot(
        style.percent(grew, plus=True),
        {
            "sign": style.percent(-grew, plus=True),
            "base": style.percent((total[1] - total[0]) / total[1] * 100, plus=True),
        },
    )
    totals = [
        Slot(style.amount(value, unit, "exact"), {"earlier": style.amount(int(before[str(year)].sum()), unit, "exact")})
        for value, year in zip(total, (one, one + 1), strict=True)
    ]
    rose = now["diff"] > 0
    verb = {
        "en": lambda row: "rose" if rose[row] else "fell",
        "de": lambda row: "stieg" if rose[row] else "fiel",
        "zh": lambda row: "增长" if rose[row] else "下降",
    }[language]
    share = int(now[str(one + 1)][b]) / total[1] * 100
    part = Slot(style.percent(share), {"base": style.percent(int(now[str(one + 1)][b]) / total[0] * 100)})
    texts = {
        "en": [
            Sentence(f"In total it went from {{0}} in {one} to {{1}} in {one + 1} ({{2}}).", [*totals, whole]),
            Sentence(f"- {names[a]}: {{0}} ({{1}})", [change(a, plus=True), diff(a)]),
            Sentence(
                f"- {names[b]} {verb(b)} by {{0}}, from {{1}} to {{2}}.",
                [change(b, plus=False), level(b, one), level(b, one + 1)],
            ),
            Sentence(f"- {names[c]} made {{0}} in {one + 1} after {{1}} in {one}.", [level(c, one + 1), level(c, one)]),
            Sentence(f"- {names[b]} has {{0}} of the total of {one + 1}.", [part]),
        ],
        "de": [
            Sentence(
                f"Insgesamt ging es von {{0}} im Jahr {one} auf {{1}} im Jahr {one + 1} ({{2}}).", [*totals, whole]
            ),
            Sentence(f"- {names[a]}: {{0}} ({{1}})", [change(a, plus=True), diff(a)]),
            Sentence(
                f"- {names[b]} {verb(b)} um {{0}}, von {{1}} auf {{2}}.",
                [change(b, plus=False), level(b, one), level(b, one + 1)],
            ),
            Sentence(
                f"- {names[c]} kam {one + 1} auf {{0}} nach {{1}} im Jahr {one}.", [level(c, one + 1), level(c, one)]
            ),
        ],
        "zh": [
            Sentence(f"总额从{one}年的{{0}}变为{one + 1}年的{{1}}（{{2}}）。", [*totals, whole]),
            Sentence(f"- {names[a]}：{{0}}（{{1}}）", [change(a, plus=True), diff(a)]),
            Sentence(
                f"- {names[b]}{verb(b)}了{{0}}，从{{1}}到{{2}}。",
                [change(b, plus=False), level(b, one), level(b, one + 1)],
            ),
        ],
    }[language]
    chosen = rng.sample(texts, rng.randint(2, len(texts)))
    if rng.random() < 0.5:
        head = [label, str(one), str(one + 1), {"en": "Change", "de": "Veränderung", "zh": "变化"}[language]]
        chosen.append(
            _table(
                head, [(names[r], [level(r, one), level(r, one + 1), change(r, plus=True)]) for r in range(len(names))]
            )
        )
    return Case(0, steps, chosen)


def _grouped(rng: random.Random, language: str) -> Case:
    """Two dimensions: channel and quarter, printed as a series with two levels or as a wide table."""
    channels = rng.sample(["Web", "Store", "Phone", "Partner"], 3)
    year = rng.randint(2019, 2025)
    quarters = [f"Q{n}" for n in range(1, rng.randint(3, 5))]
    style = Style(rng, language)
    unit = ""
    state = random.Random(rng.random())

    def frame() -> pd.DataFrame:
        return pd.DataFrame(
            [(q, c, rng.randint(10_000, 400_000)) for q in quarters for c in channels],
            columns=["quarter", "channel", "sales"],
        )

    before, now = frame(), frame()

    def cells(data: pd.DataFrame, turn: int) -> list[CellRan]:
        wide = data.pivot_table(index="channel", columns="quarter", values="sales", aggfunc="sum")
        how = state.randrange(3)
        if how == 0:
            shown: dict[str, Any] = {"stdout": data.groupby(["quarter", "channel"])["sales"].sum().to_string() + "\n"}
        elif how == 1:
            shown = {"stdout": wide.to_string() + "\n"}
        else:
            shown = _printed(wide.reset_index(), state)
        return [_cell(1, turn, "Sales per quarter and channel", **shown)]

    steps: list[list[Step]] = [
        [
            _asked(f"Sales per channel and quarter of {year}, all countries", "1.0"),
            *cells(before, 1),
            Finished(report="…"),
        ],
        [_asked("Germany only", "2.0"), *cells(now, 2)],
    ]

    sold, sold_before = (
        {(row.quarter, row.channel): int(row.sales) for row in data.itertuples()} for data in (now, before)
    )

    def amount(q: str, c: str) -> Slot:
        rivals = [sold[q, other] for other in channels if other != c] + [
            sold[other, c] for other in quarters if other != q
        ]
        return Slot(
            style.amount(sold[q, c], unit, "exact"),
            {
                "row": style.amount(rng.choice(rivals), unit, "exact"),
                "earlier": style.amount(sold_before[q, c], unit, "exact"),
            },
        )

    def change(c: str, old: str, new: str) -> Slot:
        a, b = sold[old, c], sold[new, c]
        return Slot(
            style.percent((b / a - 1) * 100, plus=True),
            {"sign": style.percent((1 - b / a) * 100, plus=True), "base": style.percent((b - a) / b * 100, plus=True)},
        )

    q1, q2 = quarters[-2], quarters[-1]
    c1, c2, c3 = channels
    whole = sum(sold[q2, c] for c in channels)
    share = Slot(
        style.percent(sold[q2, c2] / whole * 100),
        {"base": style.percent(sold[q2, c2] / (whole - sold[q2, c2]) * 100)},
    )
    total = Slot(style.amount(whole, unit, "exact"), {})
    texts = {
        "en": [
            Sentence(
                f"{c1} went from {{0}} in {q1} to {{1}} in {q2} ({{2}}).",
                [amount(q1, c1), amount(q2, c1), change(c1, q1, q2)],
            ),
            Sentence(f"In {q2}, {c2} sold {{0}} and {c3} {{1}}.", [amount(q2, c2), amount(q2, c3)]),
            Sentence(f"{c2} made {{0}} of all sales in {q2}.", [share]),
            Sentence(f"All channels together sold {{0}} in {q2}.", [total]),
        ],
        "de": [
            Sentence(
                f"{c1} ging von {{0}} in {q1} auf {{1}} in {q2} ({{2}}).",
                [amount(q1, c1), amount(q2, c1), change(c1, q1, q2)],
            ),
            Sentence(f"In {q2} verkaufte {c2} {{0}} und {c3} {{1}}.", [amount(q2, c2), amount(q2, c3)]),
            Sentence(f"Alle Kanäle zusammen kamen in {q2} auf {{0}}.", [total]),
        ],
        "zh": [
            Sentence(
                f"{c1}从{q1}的{{0}}变为{q2}的{{1}}（{{2}}）。", [amount(q1, c1), amount(q2, c1), change(c1, q1, q2)]
            ),
            Sentence(f"{q2}：{c2}为{{0}}，{c3}为{{1}}。", [amount(q2, c2), amount(q2, c3)]),
        ],
    }[language]
    chosen = rng.sample(texts, rng.randint(2, len(texts)))
    if rng.random() < 0.5:
        chosen.append(_table(["Channel", *quarters], [(c, [amount(q, c) for q in quarters]) for c in channels]))
    return Case(0, steps, chosen)
