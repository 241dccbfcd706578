"""A file that is compressed alone, such as orders.csv.gz. Its line of Python reads it as it is."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import tempfile
from collections.abc import Callable
from typing import Any

from .bounds import Bounds
from .kinds import Unusable
from .packed import ARCHIVES, BY_NAME, of_a_part, placed, unpack_or_part

_MODULES: dict[str, Any] = {"gz": gzip, "bz2": bz2, "xz": lzma}
"""The module of Python that opens a file with this ending."""
_BY_PANDAS = ("pd.read_csv(", "pd.read_json(")
"""Functions that unpack by themselves a file whose name ends so."""


def compressed(path: str, bounds: Bounds, describe: Callable[[str, Bounds], dict[str, Any]]) -> dict[str, Any]:
    """What `describe` says of the unpacked file. Raises Unusable for an archive in it and for too many bytes."""
    name, _, ending = os.path.basename(path).rpartition(".")
    stem, inner = os.path.splitext(name)
    module, refused = _MODULES[ending.lower()], Unusable("unsupported", extension=f"{inner.lstrip('.')}.{ending}")
    if inner.lower().lstrip(".") in ARCHIVES:
        raise refused
    with tempfile.TemporaryDirectory(prefix="unpacked-") as folder:
        copy = os.path.join(folder, f"{stem[:100]}{inner}")
        _, is_part = unpack_or_part(lambda: module.open(path), copy, bounds.packed, bounds)
        described = of_a_part(describe(copy, bounds)) if is_part else describe(copy, bounds)
    if described["format"] in BY_NAME:
        raise refused
    place = f"{module.__name__}.open({path!r})"
    for told, key in ((described, "read_hint"), *((table, "read") for table in described.get("tables", ()))):
        line = str(told.get(key, ""))
        told[key] = placed(line, copy, repr(path) if line.startswith(_BY_PANDAS) and ending.islower() else place)
    return described
