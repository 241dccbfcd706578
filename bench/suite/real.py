"""Real tables, which scikit-learn and statsmodels ship. They are written as CSV files with a header of one line."""

from __future__ import annotations

import csv
from collections.abc import Callable
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from sklearn import datasets as sklearn_data

Row = dict[str, Any]


def _statsmodels(name: str, file: str | None = None) -> list[Row]:
    path = resources.files("statsmodels.datasets") / name / f"{file or name}.csv"
    with path.open(encoding="utf-8-sig", newline="") as lines:
        return [{key.strip(): _number(value) for key, value in row.items()} for row in csv.DictReader(lines)]


def _sklearn(load: Callable[..., Any], target: str) -> list[Row]:
    bunch = load()
    names = [str(name) for name in bunch.feature_names]
    classes = list(getattr(bunch, "target_names", []))
    rows = []
    for values, answer in zip(bunch.data.tolist(), bunch.target.tolist(), strict=True):
        told = str(classes[answer]) if classes else answer
        rows.append({**dict(zip(names, values, strict=True)), target: told})
    return rows


def _linnerud() -> list[Row]:
    bunch = sklearn_data.load_linnerud()
    names = [*bunch.feature_names, *bunch.target_names]
    rows = zip(bunch.data.tolist(), bunch.target.tolist(), strict=True)
    return [dict(zip(names, [*first, *second], strict=True)) for first, second in rows]


def _number(text: str) -> Any:
    try:
        value = float(text)
    except ValueError:
        return text.strip() or None
    return int(value) if value.is_integer() and "." not in text else value


_LOADERS: dict[str, Callable[[], list[Row]]] = {
    "iris.csv": lambda: _sklearn(sklearn_data.load_iris, "species"),
    "wine.csv": lambda: _sklearn(sklearn_data.load_wine, "cultivar"),
    "breast_cancer.csv": lambda: _sklearn(sklearn_data.load_breast_cancer, "diagnosis"),
    "linnerud.csv": _linnerud,
    "longley.csv": lambda: _statsmodels("longley"),
    "macrodata.csv": lambda: _statsmodels("macrodata"),
    "stackloss.csv": lambda: _statsmodels("stackloss"),
    "grunfeld.csv": lambda: _statsmodels("grunfeld"),
    "sunspots.csv": lambda: _statsmodels("sunspots"),
    "nile.csv": lambda: _statsmodels("nile"),
    "fair.csv": lambda: _statsmodels("fair"),
}
NAMES = tuple(_LOADERS)


@cache
def rows(name: str) -> list[Row]:
    """The rows of a real table."""
    return _LOADERS[name]()


def write(path: Path) -> None:
    """Write a real table under its own name."""
    made = rows(path.name)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(made[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(made)
