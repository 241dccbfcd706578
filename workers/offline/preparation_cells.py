"""The two cells that come before any analysis: load and look, then clean into `df`."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from workers.offline import cells
from workers.offline import columns as cols
from workers.offline.cells import Code, literal
from workers.offline.loading import read_line
from workers.offline.thread import Thread
from workers.offline.values import Cell, Column, Fixes, Join, Table, of_kind
from workers.profiling.inside.frames import TOTAL

_NUMERIC = ("int64", "float64", "bool")


def variables(join: Join) -> dict[str, Table]:
    """The tables by the Python name that they are loaded under: `raw` for a single one."""
    if len(join.tables) == 1:
        return {"raw": join.base}
    named: dict[str, Table] = {}
    for table in join.tables:
        named[_variable(table.name, named)] = table
    return named


def _variable(name: str, taken: Collection[str]) -> str:
    plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_").lower() or "table"
    ours = plain in ("df", "raw", "pd", "np", "plt", "re", "json", "work", "rows") or plain in cells.functions()
    plain = f"t_{plain}" if plain[0].isdigit() or ours else plain
    unique, number = plain, 2
    while unique in taken:
        unique, number = f"{plain}_{number}", number + 1
    return unique


def _categories(columns: Sequence[Column]) -> list[str]:
    """The columns whose values are listed and brought to one spelling."""
    texts = ("str", "object", "string", "category")
    return [column.name for column in of_kind(columns, "category", "flag") if column.dtype in texts]


_MODULES = (
    "bz2", "duckdb", "gzip", "io", "lzma", "mammoth", "pdfplumber", "pptx", "pyarrow.parquet", "pyreadstat", "sqlite3",
    "tempfile", "zipfile",
)  # fmt: skip
"""What lines that load a table may need beside pandas."""


def load_cell(thread: Thread, join: Join, fixes: Fixes) -> Cell:
    """Reads every table that is used and looks at it."""
    named = variables(join)
    reads = [f"{name} = {read_line(table, **_changes(table, fixes))}" for name, table in named.items()]
    looks = [
        f"look_at({literal(table.name)}, {name}, categories={literal(_categories(table.columns)[:12])})"
        for name, table in named.items()
    ]
    writes = [
        f'Path({literal(table.path)}).write_text({literal(table.content)}, encoding="utf-8")'
        for table in join.tables
        if table.content
    ]
    before = [
        *(
            f"import {module}"
            for module in _MODULES
            if any(re.search(rf"(?<![\w.]){module}\.", line) for line in reads)
        ),
        *(["from pathlib import Path", ""] if any("Path(" in line for line in [*writes, *reads]) else []),
        "style()",
        "",
        *writes,
        *reads,
        *looks,
        f"rows = {' + '.join(f'len({name})' for name in named)}",
        "",
    ]
    files = list(dict.fromkeys(table.path for table in join.tables))
    values = {"files": ", ".join(files[:4]), "first": Code(next(iter(named)))}
    return cells.cell("load", "load", thread.language, values, before=before)


def _changes(table: Table, fixes: Fixes) -> dict[str, object]:
    """What earlier errors taught about reading this file."""
    changes: dict[str, object] = {}
    if encodings := fixes.get(("encoding", table.path)):
        changes["encoding"] = encodings[-1]
    if ("separator", table.path) in fixes:
        changes |= {"sep": None, "engine": "python"}
    if ("bad_lines", table.path) in fixes:
        changes["on_bad_lines"] = "skip"
    return changes


def clean_cell(thread: Thread, join: Join, fixes: Fixes) -> Cell:
    """Makes `df` from the loaded tables. Converts as simply as possible; what that fails on is repaired by fixes."""
    named = variables(join)
    raw = [column for column in join.columns if column.raw]
    categories = _categories(join.columns)
    steps = _joining(join, named, fixes)
    steps.append("rows_read = len(df)")
    if categories:
        steps.append(f"df = respell(df, {literal(categories)})")
    for column in of_kind(raw, "number"):
        steps += _conversion(column, ("number", column.name) in fixes, "to_number", "{}.astype(float)")
    steps += _dropping_totals(join)
    for column in of_kind(raw, "date"):
        fixed = ("date", column.name) in fixes or cols.hides_its_order(column)
        steps += _conversion(column, fixed, "to_dates", "pd.to_datetime({})")
    steps += [*_dropping_copies(join), *_amounts(join), *_marking_refunds(thread, join)]
    date = cols.default_date(join.columns)
    values = {
        "date": date.name if date else None,
        "dates": join.names("date"),
        "used": [column.name for column in join.columns[:60]],
        "categories": categories[:12],
    }
    return cells.cell("clean", "clean", thread.language, values, before=steps)


def _joining(join: Join, named: dict[str, Table], fixes: Fixes) -> list[str]:
    (first, _), *others = named.items()
    if not others:
        return ["df = raw.copy()"]
    if join.key is None:
        parts = ", ".join(f"{literal(table.name)}: {name}" for name, table in named.items())
        return [
            f'df = pd.concat({{{parts}}}, names=["source"]).reset_index(level="source").reset_index(drop=True)',
            f'tell("stacked", tables={len(named)}, rows=len(df))',
        ]
    key = literal(join.key)
    lines = [f"df = {first}.copy()"]
    seen = {column.name for column in join.base.columns}
    base_key = join.base.column(join.key)
    one_to_one = base_key is not None and base_key.unique == join.base.rows
    for name, table in others:
        repeated = [column.name for column in table.columns if column.name in seen and column.name != join.key]
        seen |= {column.name for column in table.columns}
        part = f"{name}.drop(columns={literal(repeated)})" if repeated else name
        if ("merge", join.key) in fixes:
            part += f".drop_duplicates({key})"
        validate = "one_to_one" if one_to_one and ("merge", join.key) not in fixes else "many_to_one"
        lines.append(f"shares_key(df, {part.partition('.drop')[0]}, {key})")
        lines.append(f'df = df.merge({part}, on={key}, how="left", validate="{validate}")')
    unmatched = ", ".join(
        f"{literal(table.name)}: int((~df[{key}].isin({name}[{key}])).sum())" for name, table in others
    )
    return [
        *lines,
        f'tell("joined", key={key}, tables={len(named)}, rows=len(df), columns=df.shape[1], unmatched={{{unmatched}}})',
    ]


def _dropping_totals(join: Join) -> list[str]:
    """Rows of totals go before dates are read: "Total" may stand in the column of dates."""
    labels, numbers = of_kind(join.columns, "category", "text", "id", "date"), of_kind(join.columns, "number")
    text = [column.name for column in labels if column.dtype not in _NUMERIC]
    added = [column.name for column in numbers if column.dtype != cols.DERIVED and not cols.is_rate(column.name)]
    words = literal(rf"{TOTAL.pattern}|average|mean|durchschnitt|mittelwert|平均")
    return [f"df = drop_totals(df, {literal(text[:12])}, {literal(added[:30])}, {words})"] if text and added else []


def _dropping_copies(join: Join) -> list[str]:
    """Equal rows are one row entered twice where rows carry a number, or where many columns and a date agree."""
    ids = of_kind(join.base.columns, "id")
    if not ids and not (len(join.columns) >= 6 and join.names("date")):
        return []
    number = literal(ids[0].name) if ids and join.key is None else None
    return [f"df = drop_copies(df, {number})"]


def _conversion(column: Column, fixed: bool, function: str, simple: str) -> list[str]:
    """The lines that read a column as numbers or dates: `simple` code until it has failed, then our own function."""
    name = literal(column.name)
    if fixed:
        return [
            f'before = df[{name}].astype(str).str.strip().replace(["", "nan", "None"], np.nan)',
            f"df[{name}] = {function}(df[{name}])",
            f"lost = before[df[{name}].isna() & before.notna()]",
            f'tell("converted", column={name}, unreadable=len(lost), examples=lost.unique()[:3].tolist())',
        ]
    return [f"df[{name}] = {simple.format(f'df[{name}]')}"]


def _amounts(join: Join) -> list[str]:
    """Amounts that are quantity times price: computed when there is no such column, filled in where it is blank."""
    found = cols.factors(join.columns)
    if found is None:
        return []
    quantity, price = (literal(column.name) for column in found)
    if join.derived:
        name = literal(join.derived[0].name)
        return [
            f"df[{name}] = df[{quantity}] * df[{price}]",
            f'tell("derived", column={name}, one={quantity}, other={price})',
        ]
    total = cols.default_measure(join.columns)
    if total is None or total in found or not cols.is_money(total) or not total.missing:
        return []
    return [f"df = fill_product(df, {literal(total.name)}, {quantity}, {price})"]


def _marking_refunds(thread: Thread, join: Join) -> list[str]:
    measure = cols.default_measure(join.columns)
    if thread.refunds is None or measure is None:
        return []
    column, values = literal(thread.refunds.column), literal(thread.refunds.values)
    told = join.column(thread.refunds.column)
    text = ".astype(str).str.strip()" if told and told.kind == "flag" else ""  # may be numbers or booleans
    marked = f"df[{column}]{text}.isin({values})"
    return [f"df = mark_refunds(df, {marked}, {literal(measure.name)}, own_rows={thread.refunds.own_rows})"]
