"""Functions that the analyst's cells define for themselves.

This module is read as text and its functions are copied into cells, one by one, where they are needed; the product
never imports it. Each function must therefore stand alone, given `itertools`, `json`, `np` (numpy) and `pd` (pandas).
"""

from __future__ import annotations

import itertools
import json
import re

import numpy as np
import pandas as pd


def tell(fact: str, **values: object) -> None:
    """Print a finding as one line of JSON, so that the report can quote it."""

    def plain(value: object) -> object:
        return value.item() if hasattr(value, "item") else str(value)

    print(f"{fact}: {json.dumps(values, ensure_ascii=False, default=plain)}")


def to_number(column: pd.Series) -> pd.Series:
    """Numbers from text such as "$1,234.50", "(12.00)", "1.234,50 €", "12 pcs", "3.5万"; NaN where there is none."""
    text = column.astype("string").str.strip().str.replace("[\u2212\u2013]", "-", regex=True)
    negative = text.str.contains(r"^\(.*\)$|^\D*-\s*\D*\d|\d\s*-$", regex=True, na=False)
    digits = text.str.extract(r"(\d[\d\s.,'\u00a0\u202f]*)", expand=False).str.replace(
        r"[\s'\u00a0\u202f]", "", regex=True
    )
    digits = digits.str.rstrip(".,")
    ends_in_comma = digits.str.contains(r",\d{1,2}$|\.\d{3},\d+$", regex=True, na=False).sum()
    ends_in_point = digits.str.contains(r"\.\d{1,2}$|,\d{3}\.\d+$", regex=True, na=False).sum()
    if ends_in_comma > ends_in_point:
        digits = digits.str.replace(".", "", regex=False).str.replace(",", ".", regex=False)
    else:
        digits = digits.str.replace(",", "", regex=False)
    number = pd.to_numeric(digits, errors="coerce").astype(float)
    number = number.mask(text.str.contains("万", na=False), number * 1e4)
    number = number.mask(text.str.contains("亿", na=False), number * 1e8)
    readable = text.str.fullmatch(r"\D{0,5}\d[\d\s.,'\u00a0\u202f]*\D{0,8}", na=False)
    return number.mask(negative, -number).where(readable)


def to_dates(column: pd.Series) -> pd.Series:
    """Dates written in several ways; 03/04/2023 is read as the other dates suggest, day first when none does."""
    text = (
        column.astype("string").str.strip().str.replace(r"[年月]", "-", regex=True).str.replace("日", "", regex=False)
    )
    parts = text.str.extract(r"^(\d{1,2})[/.\-](\d{1,2})[/.\-]\d{2,4}\b").astype(float)
    month_first = (parts[1] > 12).sum() > (parts[0] > 12).sum()
    year_first = text.str.match(r"\d{4}", na=False)
    dates = pd.to_datetime(text.where(~year_first), format="mixed", dayfirst=not month_first, errors="coerce", utc=True)
    iso = pd.to_datetime(text.where(year_first), format="mixed", errors="coerce", utc=True)
    return dates.fillna(iso).dt.tz_localize(None)


def one_spelling(column: pd.Series) -> pd.Series:
    """Spellings that differ only in case, outer blanks or doubled blanks become the most frequent one of them."""
    text = column.astype("string").str.strip().str.replace(r"\s+", " ", regex=True)
    text = text.mask(text == "")
    usual = text.groupby(text.str.casefold()).agg(lambda spellings: spellings.value_counts().index[0])
    spelled: pd.Series = text.str.casefold().map(usual).astype(object).where(text.notna(), np.nan)
    return spelled


def copies_of(table: pd.DataFrame) -> pd.Series:
    """Which rows are equal to an earlier row in every column."""
    try:
        return table.duplicated()
    except TypeError:  # lists or dicts in cells
        return table.astype(str).duplicated()


def look_at(name: str, table: pd.DataFrame, categories: list[str]) -> None:
    """Print a table's size, its missing cells, its exact copies, and the values of its categories."""
    copies = int(copies_of(table).sum())
    missing = {column: int(count) for column, count in table.isna().sum().nlargest(20).items() if count}
    tell("table", name=name, rows=len(table), columns=table.shape[1], copies=copies, missing=missing)
    for column in categories:
        values = table[column].dropna().astype(str).str.strip().value_counts().index[:20]
        tell("values", column=column, values=[value[:40] for value in values])


def fill_product(table: pd.DataFrame, total: str, one: str, other: str) -> pd.DataFrame:
    """Fill blanks of `total` with one x other, if that is what the filled rows hold; print how many were filled."""
    product = table[one] * table[other]
    known = table[total].notna() & product.notna()
    agreeing = (
        float(np.isclose(product[known], table[total][known], rtol=0.005, atol=0.01).mean()) if known.any() else 0.0
    )
    blank = table[total].isna() & product.notna()
    if agreeing < 0.95 or not blank.any():
        return table
    tell("filled", column=total, one=one, other=other, count=int(blank.sum()), agreeing=round(agreeing, 4))
    return table.assign(**{total: table[total].where(~blank, product)})


def bands(column: pd.Series, parts: int = 5) -> pd.Series:
    """A number cut into parts of about equal size, named "12 to 24", in their order; few values stay as they are."""

    def written(value: float) -> str:
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:,.4g}"

    values = sorted(column.dropna().unique())
    edges = sorted(set(column.dropna().quantile(list(np.linspace(0, 1, parts + 1)))))
    if len(values) <= 12 or len(edges) < 3:
        banded: pd.Series = column.map(written, na_action="ignore").astype("category")
        return banded.cat.reorder_categories(list(dict.fromkeys(map(written, values))), ordered=True)
    names = [f"{written(low)} to {written(high)}" for low, high in itertools.pairwise(edges)]
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
        if values.dtype.kind in "Mif":
            step |= {
                "low": str(values.min()).removesuffix(" 00:00:00"),
                "high": str(values.max()).removesuffix(" 00:00:00"),
            }
        else:
            step["values"] = [str(value)[:40] for value in values.astype(str).value_counts().index[:12]]
    steps.append(step)
    return left
