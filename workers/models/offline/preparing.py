"""The two cells that come before any analysis: load and look, then clean into `df`."""

from __future__ import annotations

from workers.models.offline import cells
from workers.models.offline import columns as cols
from workers.models.offline.thread import Thread
from workers.models.offline.values import Cell, Column, Fixes, Join, Table


def variables(join: Join) -> dict[str, Table]:
    """The tables by the Python name that they are loaded under: `raw` for a single one."""
    if len(join.tables) == 1:
        return {"raw": join.base}
    named: dict[str, Table] = {}
    for table in join.tables:
        named[cells.variable(table.name, tuple(named))] = table
    return named


def load_cell(thread: Thread, join: Join, fixes: Fixes) -> Cell:
    """Reads every table that is used and looks at it."""
    tables = [
        {
            "name": table.name,
            "variable": name,
            "read": cells.read_line(table, **_changes(table, fixes)),
            "categories": cells.categories_of(table.columns)[:12],
        }
        for name, table in variables(join).items()
    ]
    files = list(dict.fromkeys(table.path for table in join.tables))
    return cells.cell("load", "load", thread.language, {"files": ", ".join(files[:4]), "tables": tables})


def _changes(table: Table, fixes: Fixes) -> dict[str, object]:
    """What earlier errors taught about reading this file."""
    changes: dict[str, object] = {}
    if encoding := fixes.value("encoding", table.path):
        changes["encoding"] = encoding
    if ("separator", table.path) in fixes:
        changes |= {"sep": None, "engine": "python"}
    if ("bad_lines", table.path) in fixes:
        changes["on_bad_lines"] = "skip"
    return changes


def clean_cell(thread: Thread, join: Join, fixes: Fixes) -> Cell:
    """Makes `df` from the loaded tables. Converts as simply as possible; what that fails on is repaired by fixes."""
    named = variables(join)
    raw = [column for column in join.columns if column.raw]
    numbers = [column for column in raw if column.kind == "number"]
    dates = [column for column in raw if column.kind == "date"]
    categories = cells.categories_of(join.columns)
    needed: list[str] = []
    steps = _joining(join, named, fixes)
    steps.append("rows_read = len(df)")
    if categories:
        needed.append("one_spelling")
        steps += [
            "respelled = {}",
            f"for column in {cells.py(categories)}:",
            "    spelled = one_spelling(df[column])",
            "    respelled[column] = int((spelled.notna() & (spelled.astype(str) != df[column].astype(str))).sum())",
            "    df[column] = spelled",
            'tell("respelled", columns={column: count for column, count in respelled.items() if count})',
        ]
    for column in numbers:
        steps += _conversion(column, ("number", column.name) in fixes, "to_number", ".astype(float)", needed)
    for column in dates:
        steps += _conversion(column, ("date", column.name) in fixes, "to_dates", None, needed)
    steps += [*_dropping_copies(join), *_amounts(join, needed), *_marking_refunds(thread, join)]
    date = cols.default_date(join.columns)
    values = {
        "needed": list(dict.fromkeys(needed)),
        "steps": steps,
        "date": date.name if date else None,
        "used": [column.name for column in join.columns[:60]],
        "categories": categories[:12],
    }
    return cells.cell("clean", "clean", thread.language, values)


def _joining(join: Join, named: dict[str, Table], fixes: Fixes) -> list[str]:
    names = list(named)
    if len(names) == 1:
        return ["df = raw.copy()"]
    if join.key is None:
        parts = ", ".join(f"{cells.py(table.name)}: {name}" for name, table in named.items())
        return [
            f'df = pd.concat({{{parts}}}, names=["source"]).reset_index(level="source").reset_index(drop=True)',
            f'tell("stacked", tables={len(names)}, rows=len(df))',
        ]
    key = cells.py(join.key)
    lines = [f"df = {names[0]}.copy()"]
    seen = {column.name for column in join.base.columns}
    base_key = join.base.column(join.key)
    one_to_one = base_key is not None and base_key.unique == join.base.rows
    for name, table in list(named.items())[1:]:
        repeated = [column.name for column in table.columns if column.name in seen and column.name != join.key]
        seen |= {column.name for column in table.columns}
        part = f"{name}.drop(columns={cells.py(repeated)})" if repeated else name
        if ("merge", join.key) in fixes:
            part += f".drop_duplicates({key})"
        validate = "one_to_one" if one_to_one and ("merge", join.key) not in fixes else "many_to_one"
        lines.append(f'df = df.merge({part}, on={key}, how="left", validate="{validate}")')
    unmatched = ", ".join(
        f"{cells.py(table.name)}: int((~df[{key}].isin({name}[{key}])).sum())"
        for name, table in list(named.items())[1:]
    )
    return [
        *lines,
        f'tell("joined", key={key}, tables={len(names)}, rows=len(df), columns=df.shape[1], unmatched={{{unmatched}}})',
    ]


def _dropping_copies(join: Join) -> list[str]:
    """Equal rows are one row entered twice where rows carry a number, or where many columns and a date agree."""
    ids = [column.name for column in join.base.columns if column.kind == "id"]
    dated = len(join.columns) >= 6 and any(column.kind == "date" for column in join.columns)
    if not ids and not dated:
        return []
    lines = [
        "copies = copies_of(df)",
        "df = df[~copies].copy()",
        'tell("copies", removed=int(copies.sum()))',
    ]
    if ids and join.key is None:
        own = cells.py(ids[0])
        lines.append(f'tell("ids", column={own}, repeated=int(df[{own}].dropna().duplicated().sum()))')
    return lines


def _conversion(column: Column, fixed: bool, function: str, method: str | None, needed: list[str]) -> list[str]:
    name = cells.py(column.name)
    if fixed:
        needed.append(function)
        return [
            f'before = df[{name}].astype(str).str.strip().replace(["", "nan", "None"], np.nan)',
            f"df[{name}] = {function}(df[{name}])",
            f"lost = before[df[{name}].isna() & before.notna()]",
            f'tell("converted", column={name}, unreadable=len(lost), examples=lost.unique()[:3].tolist())',
        ]
    if method:
        return [f"df[{name}] = df[{name}]{method}"]
    return [f"df[{name}] = pd.to_datetime(df[{name}])"]


def _amounts(join: Join, needed: list[str]) -> list[str]:
    """Amounts that are quantity times price: computed when there is no such column, filled in where it is blank."""
    found = cols.factors(join.columns)
    if found is None:
        return []
    quantity, price = (cells.py(column.name) for column in found)
    if join.derived:
        name = cells.py(join.derived[0].name)
        return [
            f"df[{name}] = df[{quantity}] * df[{price}]",
            f'tell("derived", column={name}, one={quantity}, other={price})',
        ]
    total = cols.default_measure(join.columns)
    if total is None or total in found or not cols.is_money(total) or not total.missing:
        return []
    needed.append("fill_product")
    return [f"df = fill_product(df, {cells.py(total.name)}, {quantity}, {price})"]


def _marking_refunds(thread: Thread, join: Join) -> list[str]:
    measure = cols.default_measure(join.columns)
    if thread.refunds is None or measure is None:
        return []
    amount = cells.py(measure.name)
    marks = f"df[{cells.py(thread.refunds.column)}]"
    told = join.column(thread.refunds.column)
    if told and told.kind == "flag":  # may be numbers or booleans
        marks += ".astype(str).str.strip()"
    marked = f'df["is_refund"] = {marks}.isin({cells.py(thread.refunds.values)})'
    refunded = f'refunded = df.loc[df["is_refund"], {amount}]'
    if not thread.refunds.own_rows:
        return [
            marked,
            refunded,
            "on_orders = bool((refunded > 0).mean() > 0.5)  # not amounts that were paid back",
            "total = round(float(refunded.abs().sum()) * (1 if on_orders else -1), 2)",
            'tell("refunds", count=len(refunded), total=total, flipped=False, on_orders=on_orders)',
        ]
    return [
        marked,
        refunded,
        f'others = df.loc[~df["is_refund"], {amount}]',
        "flipped = bool((refunded > 0).mean() > 0.5 and (others > 0).mean() > 0.5)",
        "if flipped:  # refunds written without a minus sign",
        f'    df.loc[df["is_refund"], {amount}] = -refunded',
        'tell("refunds", count=len(refunded), total=round(float(-refunded.abs().sum()), 2), flipped=flipped)',
    ]
