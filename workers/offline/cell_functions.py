"""Functions that the analyst's cells define for themselves.

This module is read as text and its functions are copied into cells, one by one, where they are needed; the product
never imports it. The first cell imports what this module imports, so a function may use that, and other functions here.
"""

# mypy: disallow-untyped-calls=False
from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable

import matplotlib.dates as mdates
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes


def tell(fact: str, digits: int = 4, **values: object) -> None:
    """Print a finding as one line of JSON, so that the report can quote it; with so many digits behind the point."""

    def plain(value: object) -> object:
        if isinstance(value, dict):
            return {name: plain(item) for name, item in value.items()}
        if isinstance(value, list):
            return [plain(item) for item in value]
        return round(value, digits) if isinstance(value, float) else value

    def simple(value: object) -> object:
        return plain(value.item()) if hasattr(value, "item") else str(value)

    print(f"{fact}: {json.dumps(plain(values), ensure_ascii=False, default=simple)}")


def to_number(column: pd.Series) -> pd.Series:
    """Numbers from text such as "$1,234.50", "(12.00)", "1.234,50 €", "12 pcs", "13.7K", "1,5 Mio", "3.5万".

    NaN where there is none, where a cell has another unit or currency than most, and where "1,5" stands among "1.5".
    """
    scales = {"k": 1e3, "tsd": 1e3, "thousand": 1e3, "m": 1e6, "mio": 1e6, "mn": 1e6, "mln": 1e6, "million": 1e6,
              "b": 1e9, "bn": 1e9, "mrd": 1e9, "billion": 1e9, "万": 1e4, "亿": 1e8}  # fmt: skip
    currencies = {"$": "usd", "us$": "usd", "€": "eur", "£": "gbp", "¥": "cny", "￥": "cny", "元": "cny", "rmb": "cny"}
    text = column.astype("string").str.strip().str.replace("[\u2212\u2013]", "-", regex=True)
    parts = text.str.extract(r"^(?P<sign>[^\d]{0,7}?)(?P<digits>\d[\d\s.,'\u00a0\u202f]*)(?P<rest>\D{0,16})$")
    negative = text.str.contains(r"^\(.*\)$|^\D*-\s*\D*\d|\d\s*-$", regex=True, na=False)
    behind = parts["rest"].str.replace(r"[\s.()-]+", " ", regex=True).str.strip()
    word = behind.str.extract(r"^(万|亿|[^\W\d_]+?)(?:s?(?:\s|$)|(?<=[万亿])|(?=[$€£¥￥]))", expand=False)
    scale = word.str.casefold().map(scales)
    short = word.isin(["m", "b", "B"])
    unsure = short & (not (scale.notna() & ~short).any())
    scale = scale.mask(unsure & ~parts["sign"].str.contains("[$€£¥￥]", na=False))  # metres, bytes
    bare = behind.str.replace(r"^(?:[万亿]|[^\W\d_]+)\s*", "", regex=True)
    unit: pd.Series = behind.mask(scale.notna(), bare)
    unit = (parts["sign"].str.replace(r"[\s(+-]", "", regex=True) + unit.str.strip()).str.casefold().replace(currencies)
    digits = parts["digits"].str.replace(r"[\s'\u00a0\u202f]", "", regex=True).str.rstrip(".,")
    by_comma = digits.str.contains(r",\d{1,2}$|\.\d{3},\d+$", regex=True, na=False)
    by_point = digits.str.contains(r"\.\d{1,2}$|,\d{3}\.\d+$", regex=True, na=False)
    if by_comma.sum() > by_point.sum():
        digits = digits.str.replace(".", "", regex=False).str.replace(",", ".", regex=False).mask(by_point)
    else:
        digits = digits.str.replace(",", "", regex=False).mask(by_comma)
    number = pd.to_numeric(digits, errors="coerce").astype(float) * scale.fillna(1).astype(float)
    usual = unit[(unit != "") & unit.notna()].mode()
    same = (unit == "") | (unit == usual[0]) if len(usual) else unit.notna()
    return number.mask(negative, -number).where(same.fillna(False))


def to_dates(column: pd.Series) -> pd.Series:
    """Dates written in several ways; 03/04/2023 is read as the other dates suggest. Print it when none of them does."""
    text = column.astype("string").str.strip().str.replace(r"[年月]", "-", regex=True)
    text = text.str.replace("日", "", regex=False)
    month_first = is_month_first(text)
    year_first = text.str.match(r"\d{4}", na=False)
    dates = pd.to_datetime(text.where(~year_first), format="mixed", dayfirst=not month_first, errors="coerce", utc=True)
    iso = pd.to_datetime(text.where(year_first), format="mixed", errors="coerce", utc=True)
    return dates.fillna(iso).dt.tz_localize(None)


def is_month_first(text: pd.Series) -> bool:
    """Whether the month stands before the day. A number above 12 decides. Else it is a guess, which is printed: the
    number that is always 1 is the day; dates stand in their order; the day comes first.
    """
    parts = text.str.extract(r"^(\d{1,2})([/.\-])(\d{1,2})\2(\d{2,4})\b").dropna()
    first, second = parts[0].astype(int), parts[2].astype(int)
    if (first > 12).any() or (second > 12).any():
        return bool((second > 12).sum() > (first > 12).sum())
    either = text[parts.index][first != second]
    if either.empty or (parts[1] == ".").all():  # with points, the day comes first wherever they are used
        return False
    if (first == 1).all() != (second == 1).all():
        month_first = bool((second == 1).all())
    else:
        years = parts[3].astype(int) * 10_000
        by_month, by_day = years + first * 100 + second, years + second * 100 + first
        month_first = bool(by_month.is_monotonic_increasing and not by_day.is_monotonic_increasing)
    example = either.iloc[0]
    read = pd.to_datetime(example, format="mixed", dayfirst=not month_first)
    tell("guessed_dates", column=str(text.name), example=str(example)[:20], read=str(read)[:10])
    return month_first


def one_spelling(column: pd.Series) -> pd.Series:
    """Spellings that differ only in case, outer blanks or doubled blanks become the most frequent one of them."""
    text = column.astype("string").str.strip().str.replace(r"\s+", " ", regex=True)
    text = text.mask(text == "")
    usual = text.groupby(text.str.casefold()).agg(lambda spellings: spellings.value_counts().index[0])
    spelled: pd.Series = text.str.casefold().map(usual).astype(object).where(text.notna(), np.nan)
    return spelled


def respell(table: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """The table with one spelling per value in these columns; print how many cells that changed."""
    spelled = table.assign(**{column: one_spelling(table[column]) for column in columns})
    changed = {c: (spelled[c].notna() & (spelled[c].astype(str) != table[c].astype(str))).sum() for c in columns}
    tell("respelled", columns={column: int(count) for column, count in changed.items() if count})
    return spelled


def drop_copies(table: pd.DataFrame, number: str | None) -> pd.DataFrame:
    """The table without rows that are equal to another; print how many, and how many others share a `number`."""
    copies = copies_of(table)
    tell("copies", removed=int(copies.sum()))
    if number:
        tell("ids", column=number, repeated=int(table.loc[~copies, number].dropna().duplicated().sum()))
    return table[~copies].copy()


def mark_refunds(table: pd.DataFrame, marked: pd.Series, amount: str, own_rows: bool) -> pd.DataFrame:
    """The table with a column `is_refund`, and refunds in rows of their own below zero; print how many and how much."""
    refunded, others = table.loc[marked, amount], table.loc[~marked, amount]
    paid = bool((refunded > 0).mean() > 0.5)
    flipped = own_rows and paid and bool((others > 0).mean() > 0.5)  # refunds written without a minus sign
    on_orders = paid and not own_rows  # the amounts of the orders, not what was paid back
    total = refunded.abs().sum() * (1 if on_orders else -1)
    tell("refunds", count=len(refunded), total=round(float(total), 2), flipped=flipped, on_orders=on_orders)
    net = table[amount].where(~marked, -table[amount]) if flipped else table[amount]
    return table.assign(is_refund=marked, **{amount: net})


def copies_of(table: pd.DataFrame) -> pd.Series:
    """Which rows are equal to an earlier row in every column."""
    try:
        return table.duplicated()
    except TypeError:  # lists or dicts in cells
        return table.astype(str).duplicated()


def look_at(name: str, table: pd.DataFrame, categories: list[str]) -> None:
    """Print a table's size, missing cells, exact copies, the values of its categories, and a doubtful header."""
    copies = int(copies_of(table).sum())
    missing = {column: int(count) for column, count in table.isna().sum().nlargest(20).items() if count}
    tell("table", name=name, rows=len(table), columns=table.shape[1], copies=copies, missing=missing)
    for column in categories:
        values = table[column].dropna().astype(str).str.strip().value_counts().index[:20]
        tell("values", column=column, values=[value[:40] for value in values])
    named = [str(column) for column in table.columns]
    unnamed = [column for column in named if re.match(r"Unnamed: \d", column) and table[column].notna().any()]
    numbers = [column for column in named if re.fullmatch(r"-?\d+(\.\d+)?", column) and not 1900 < float(column) < 2100]
    words = [
        str(table[column].iloc[0])
        for column in named
        if len(table) > 2
        and isinstance(table[column].iloc[0], str)
        and pd.isna(pd.to_numeric(table[column].iloc[:1], errors="coerce").iloc[0])
        and pd.to_numeric(table[column].iloc[1:], errors="coerce").notna().mean() >= 0.8
    ]
    blank = table.isna().all(axis=1)
    below = table[blank.shift(fill_value=False) & ~blank]  # what stands below an empty line may be another header
    again = [
        str(value)
        for column in table
        if pd.to_numeric(table[column], errors="coerce").notna().mean() >= 0.5
        for value in below[column][pd.to_numeric(below[column], errors="coerce").isna()].dropna()
    ]
    if again:
        tell("odd_header", why=", ".join(again[:6]))
    repeated = [column for column in named if (part := re.fullmatch(r"(.+)\.\d+", column)) and part[1] in named]
    for doubtful in (unnamed, numbers, words, repeated):
        if len(doubtful) >= 2 and len(doubtful) >= 0.25 * len(named):
            tell("odd_header", why=", ".join(doubtful[:6]))


def drop_totals(table: pd.DataFrame, labels: list[str], numbers: list[str], total: str) -> pd.DataFrame:
    """The table without rows that repeat the sum of other rows, by their label, blank label or place; print which.

    `total` is the pattern of a label that says so. A label of more words must be borne out by the sums.
    """
    text = table[labels].astype("string").apply(lambda column: column.str.strip().str.casefold())
    sole = rf"(?!(?!grand|sub|overall)\S+\s+\w)(?:{total})\s*:?"
    exact = text.apply(lambda column: column.str.fullmatch(sole, case=False).fillna(False)).astype(bool)
    near = text.apply(lambda column: column.str.contains(rf"(?<!\w)(?:{total})(?!\w)").fillna(False)).any(axis=1)
    blank = (text.isna() | (text == "")).all(axis=1)
    sure = exact.any(axis=1) & (exact | text.isna() | (text == "")).all(axis=1)
    values = table[numbers].fillna(0).to_numpy(float)
    ends = [place for place in (0, len(table) - 1) if len(table) > 4 and not text.iloc[place, 1:].notna().any()]
    whole_table = [p for p in ends if values[p].all() and np.isclose(values.sum(axis=0), 2 * values[p]).all()]
    sure |= np.isin(np.arange(len(table)), whole_table[:1])
    candidate = (exact.any(axis=1) | near | blank | sure).to_numpy(bool)
    above = np.cumsum(np.where(candidate[:, None], 0, values), axis=0)
    start, extra, found = np.zeros(len(numbers)), np.zeros(len(numbers)), []
    for place in np.flatnonzero(candidate):
        whole, own = above[place] + extra, values[place]
        alike = [np.isclose(own, part, rtol=1e-6, atol=0.011) & (own != 0) for part in (whole, whole - start)]
        repeats = alike[0][own != 0].all() and alike[0].any() if blank.iloc[place] else np.any(alike)
        if sure.iloc[place] or (repeats and place >= 2):
            found.append(place)
            start = whole
        else:
            extra = extra + own
    if found:
        names = [
            next((str(v) for v in table[labels].iloc[place] if pd.notna(v)), "(blank)")[:40] for place in found[:6]
        ]
        tell("totals", count=len(found), names=names)
    return table.drop(index=table.index[np.array(found, dtype=int)])


def bars(  # noqa: PLR0917 - short calls in cells
    names: list[str],
    values: pd.Series,
    title: str,
    x_label: str,
    y_label: str,
    axis_format: str | Callable[..., str],
    label_format: str | Callable[..., str],
    colors: str | list[str] = "#2563eb",
) -> Axes:
    """Draw horizontal bars, the first on top, each with its value at its end; returns the axes."""
    _, ax = plt.subplots(figsize=(9, max(2.6, 1.4 + 0.42 * len(values))))
    places = range(len(names))  # two long names may look alike when they are cut
    drawn = ax.barh(places, values[::-1], color=colors if isinstance(colors, str) else colors[::-1], height=0.65)
    ax.set_yticks(places, names[::-1])
    ax.bar_label(drawn, fmt=label_format, padding=4, fontsize=9)
    ax.set(title=title, xlabel=x_label, ylabel=y_label)
    ax.xaxis.set_major_formatter(axis_format)
    ax.grid(axis="y", visible=False)
    ax.margins(x=0.12)
    return ax


def histogram(values: pd.Series, title: str, x_label: str, axis_format: str, words: dict[str, str]) -> Axes:
    """Draw how values are spread, without the outer percent on each side: it would squeeze the rest into a few bars."""
    near = values[values.between(values.quantile(0.01), values.quantile(0.99))]
    near = near if near.nunique() > 1 else values
    _, ax = plt.subplots()
    ax.hist(near, bins=min(40, max(8, near.nunique())), color="#2563eb", edgecolor="white", linewidth=0.5)
    ax.set(title=title, xlabel=x_label, ylabel=words["rows"])
    ax.xaxis.set_major_formatter(written(axis_format, words))
    ax.yaxis.set_major_formatter(written("{x:,.0f}", words))
    ax.grid(axis="x", visible=False)
    return ax


def tell_moved(groups: dict[str, pd.Series]) -> None:
    """Print the groups whose mean one value moves by more than a fifth, and then the medians of all."""
    moved = False
    for name, values in groups.items():
        known = values.dropna().astype(float)
        if len(known) > 2:
            value = known.iloc[int((known - known.median()).abs().to_numpy().argmax())]
            without = (known.sum() - value) / (len(known) - 1)
            if abs(known.mean() - without) > 0.2 * abs(without):
                moved = True
                tell("moved", name=name, value=value, mean=known.mean(), without=without)
    for name, values in groups.items() if moved else []:
        tell("median", name=name, median=values.median())


def written(form: str, words: dict[str, str]) -> Callable[..., str]:
    """The function that writes a value, or one on an axis, by a format; between its digits stand the words' marks."""
    marks = str.maketrans(",.", words["marks"])

    def write(value: float, place: int | None = None) -> str:
        return form.format(value, x=value).translate(marks)

    return write


def fill(key: str, words: dict[str, str], **values: object) -> str:
    """One of the words with values in place of the names in braces."""
    text = words[key]
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value if isinstance(value, str) else written("{:,}", words)(value))
    return text


def dates_below(ax: Axes, words: dict[str, str]) -> None:
    """Write times below a chart, with the names of months in English and in figures in other languages."""
    locator = ax.xaxis.get_major_locator()
    if not words["dates"]:
        ax.xaxis.set_major_formatter(mdates.ConciseDateFormatter(locator))
        return
    year, month, day, whole = words["dates"].split("|")
    near = [year, month, day, "%H:%M", "%H:%M", "%S"]
    far = ["", year, month, whole, whole, whole]
    ax.xaxis.set_major_formatter(
        mdates.ConciseDateFormatter(locator, formats=near, zero_formats=["", *near[:-1]], offset_formats=far)
    )


def named(groups: pd.Series, words: dict[str, str]) -> pd.Series:
    """The groups as text; rows without one are a group, too."""
    text: pd.Series = groups.astype(object).where(groups.notna(), words["blank"]).astype(str)
    return text


def short(names: pd.Index) -> list[str]:
    """Names as they fit beside a chart."""
    return [name if len(name) <= 32 else name[:31] + "…" for name in names]


def name_of(period: pd.Period) -> str:
    """A period as text; a week is named by its first day."""
    return str(period).split("/")[0]


def by_period(dated: pd.DataFrame, date: str, frequency: str, aggregate: Callable[..., pd.Series]) -> pd.Series:
    """A measure for each period from the first to the last; a period without a row is no value, and not 0."""
    series = aggregate(dated.groupby(dated[date].dt.to_period(frequency)))
    return series.reindex(pd.period_range(series.index.min(), series.index.max(), freq=frequency))


def spacing(dates: pd.Series) -> str:
    """The shortest of D, W, M, Q and Y in which most dates follow each other step by step; Y when none is."""
    for frequency in "DWMQ":
        steps = np.diff(np.unique(pd.PeriodIndex(dates.dropna().dt.to_period(frequency)).asi8))
        if not len(steps) or (steps == 1).mean() >= 0.6:
            return frequency
    return "Y"


def covered(dates: pd.Series) -> tuple[pd.Timestamp, pd.Timestamp]:
    """The first and last day that dates speak for: the only date of a month, quarter or year stands for all of it."""
    days = dates.dropna().dt.normalize().drop_duplicates()
    for frequency, near in (("Y", 4), ("Q", 4), ("M", 4), ("W", 0)):
        periods = days.dt.to_period(frequency)
        offsets = (days - periods.dt.start_time).dt.days
        if len(days) > 1 and periods.is_unique and offsets.max() - offsets.min() <= near:
            return periods.min().start_time, periods.max().end_time.normalize()
    return days.min(), days.max()


def ends_early(dates: pd.Series, periods: pd.PeriodIndex) -> bool:
    """Whether the dates cover the last period only in part."""
    length = (periods[-1].end_time - periods[-1].start_time).days + 1
    return bool((periods[-1].end_time.normalize() - covered(dates)[1]).days > 0.15 * length)


def last_season(known: pd.Series, season: int, steps: int) -> np.ndarray:
    """The last season again, for so many steps, scaled by its growth against the season before."""
    latest, before = known.iloc[-season:], known.iloc[-2 * season : -season]
    growth = latest.mean() / before.mean() if len(known) >= 2 * season and before.mean() > 0 else 1.0
    return growth * np.resize(latest.to_numpy(), steps)


def shares_key(left: pd.DataFrame, right: pd.DataFrame, key: str) -> None:
    """Raise ValueError when most rows of a table find no partner in the other one: the key is none."""
    if left[key].isin(right[key]).mean() < 0.5:
        raise ValueError(f"the tables share hardly a value of {key!r}, so they cannot be joined by it")


def fill_product(table: pd.DataFrame, total: str, one: str, other: str) -> pd.DataFrame:
    """Fill blanks of `total` with one x other, if that is what the filled rows hold; print how many were filled."""
    product = table[one] * table[other]
    known = table[total].notna() & product.notna()
    close = np.isclose(product[known], table[total][known], rtol=0.005, atol=0.01)
    agreeing = float(close.mean()) if known.any() else 0.0
    blank = table[total].isna() & product.notna()
    if agreeing < 0.95 or not blank.any():
        return table
    tell("filled", column=total, one=one, other=other, count=blank.sum(), agreeing=agreeing)
    return table.assign(**{total: table[total].where(~blank, product)})


def bands(column: pd.Series, parts: int = 5, band: str = "{low} to {high}", marks: str = ",.") -> pd.Series:
    """A number cut into parts of about equal size, named "12 to 24", in their order; few values stay as they are.

    `band` is how the two ends stand together, `marks` what stands between thousands and before decimals.
    """

    def end(value: float) -> str:
        text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:,.4g}"
        return text.translate(str.maketrans(",.", marks))

    values = sorted(column.dropna().unique())
    edges = sorted(set(column.dropna().quantile(list(np.linspace(0, 1, parts + 1)))))
    if len(values) <= 12 or len(edges) < 3:
        banded: pd.Series = column.map(end, na_action="ignore").astype("category")
        return banded.cat.reorder_categories(list(dict.fromkeys(map(end, values))), ordered=True)
    names = [band.replace("{low}", end(low)).replace("{high}", end(high)) for low, high in itertools.pairwise(edges)]
    return pd.Series(pd.cut(column, edges, labels=names, include_lowest=True, ordered=len(set(names)) == len(names)))


def seek(table: pd.DataFrame, name: str, columns: list[str]) -> None:
    """Print the column that holds a name as a value, else as a word within at most twenty values; None for nowhere."""
    wanted = name.casefold()
    word = re.compile(rf"(?<![^\W\d_]){re.escape(wanted)}(?![^\W\d_])" if wanted.isascii() else re.escape(wanted))
    near: list[tuple[int, str, list[str]]] = []
    for column in columns:
        values = pd.Series(table[column].dropna().astype(str).unique(), dtype=object)
        plain = values.str.strip().str.casefold()
        same, within = values[plain == wanted].tolist(), values[plain.str.contains(word)].tolist()
        if same:
            near.append((0, column, same))
        elif 0 < len(within) <= 20:
            near.append((len(within), column, within))
    _, found, meant = min(near, default=(0, None, []), key=lambda hit: hit[0])
    tell("sought", name=name, column=found, values=meant)


def keep(rows: pd.DataFrame, met: pd.Series, column: str, said: str, steps: list[dict[str, object]]) -> pd.DataFrame:
    """The rows that meet a condition; `steps` notes how many, and if none, what the column holds instead."""
    left = rows[met]
    step: dict[str, object] = {"said": said, "column": column, "rows": len(left), "before": len(rows)}
    values = rows[column].dropna()
    if left.empty and len(values):
        if values.dtype.kind in "if":
            step |= {"low": float(values.min()), "high": float(values.max())}
        elif values.dtype.kind == "M":
            low, high = (str(end).removesuffix(" 00:00:00") for end in (values.min(), values.max()))
            step |= {"low": low, "high": high}
        else:
            step["values"] = [str(value)[:40] for value in values.astype(str).value_counts().index[:12]]
    steps.append(step)
    return left
