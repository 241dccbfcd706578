"""What the zygote imports and warms once, so that every subprocess starts with it.

Each library is optional: a host may lack it.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.metadata
import importlib.util
import io
import os
import platform
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import CodeType
from typing import Any

from executor import linux
from executor.inside import setup
from executor.inside.compact import code_of, code_of_a_fork, fill_holes, gather, watching_code
from executor.inside.data_checks import watch_pandas
from executor.inside.figures import prepare_matplotlib
from executor.inside.variable_pickles import LAYOUT
from executor.inside.warm_session import run_as_session
from executor.sandbox import allowed, calls, cgroup, landlock, limits, namespaces, privileges, root, seccomp, steps

_LIBRARIES = ("numpy", "pandas", "pyarrow", "matplotlib", "matplotlib.pyplot", "sqlalchemy", "cloudpickle")
_TOOLS = "threadbook_tools"
"""A library for cells that comes with us. A session finds it because it was imported here: its folder is on no path."""
_IN_PICKLES = ("numpy", "pandas", "pyarrow", "cloudpickle", "sklearn", "statsmodels")
"""Libraries whose objects are kept between processes: another version may not understand them."""
_CJK_FONT = "NotoSansCJKsc-Regular.otf"
"""Chinese, Japanese and Korean glyphs; shipped inside the `mplfonts` wheel, whose own set-up code is not used."""
_ROUNDS = 8  # after so many calls CPython has specialised a function's bytecode; later it is only read
_IMPORTS = "import pandas as pd, matplotlib.pyplot as plt"
_TABLE = """
import io
import pandas as pd, matplotlib.pyplot as plt
frame = pd.read_csv(io.StringIO("key,value,day\\na,1,2024-01-01\\nb,2.5,2024-01-02\\na,3,2024-01-03\\n"))
frame["day"] = pd.to_datetime(frame["day"])
total = frame.groupby("key")["value"].sum().sort_values(ascending=False).to_dict()
text = str(frame.head()), pd.Series([1, 2]).sum(), plt.get_fignums()
frame.groupby("key").agg({"value": ["sum", "mean"]})
made = pd.DataFrame({"key": ["a", "b"], "value": [1, 2]})
"""
_CELLS = (("x = 1", "print(x)\nx"), (f"{_IMPORTS}\nprint(pd.Series([1, 2]).sum(), plt.get_fignums())",), (_TABLE,))
"""What cells often begin with: those of any session first, then the rarer."""
_WALLS = (setup, cgroup, linux, steps, namespaces, root, calls, privileges, limits, landlock, seccomp, allowed)
"""What every session runs once, and the warm-up cannot."""


def warm(
    *, counted: bool = False, own_root: bool = True, libraries: bool = True, listed: bool = False
) -> dict[str, str]:
    """Import the data libraries, set their defaults, use each once, and leave this process single-threaded.

    `counted`, `own_root` and `listed` are those of the sandbox's filters. Without `libraries` none is imported. Returns
    the versions that what is kept of variables depends on.
    """
    loaded = {name: module for name in _LIBRARIES if libraries and (module := _import(name)) is not None}
    if "pandas" in loaded:
        _set_options(loaded["pandas"])
        watch_pandas()
        _import(_TOOLS)
    if "matplotlib.pyplot" in loaded:
        prepare_matplotlib(_fonts())
        _warm_figure(loaded["matplotlib.pyplot"])
    if seccomp.available():
        seccomp.compiled(execute=False, counted=counted, own_root=own_root, ids=None)
        if listed:
            allowed.compiled()
    found = versions()
    _warm_code(_CELLS if {"pandas", "matplotlib.pyplot"} <= set(loaded) else _CELLS[:1])
    require_single_thread()
    gc.collect()
    fill_holes()
    gc.freeze()
    return found


def versions() -> dict[str, str]:
    """Python's own, those of the libraries whose objects are kept, and how we put them together."""
    found = {"python": ".".join(platform.python_version_tuple()[:2]), "layout": LAYOUT}
    for name in _IN_PICKLES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version("scikit-learn" if name == "sklearn" else name)
    return found


def require_single_thread() -> None:
    """Raise RuntimeError when this process has threads: a fork would copy their locks but not them."""
    patience = 40  # matplotlib's font search leaves a timer thread that needs a moment to end
    while (threads := len(os.listdir("/proc/self/task"))) > 1 and patience:
        time.sleep(0.05)
        patience -= 1
    if threads > 1:
        raise RuntimeError(f"the zygote has {threads} threads; a library started them on import")


def _import(name: str) -> Any:
    with contextlib.suppress(ImportError):
        return importlib.import_module(name)
    return None


def _fonts() -> list[str]:
    spec = importlib.util.find_spec("mplfonts")
    path = Path(spec.origin).parent / "fonts" / _CJK_FONT if spec is not None and spec.origin else None
    return [str(path)] if path is not None and path.is_file() else []


def _set_options(pandas: Any) -> None:
    for option, value in (
        ("display.width", 160),
        ("display.max_columns", 30),
        ("display.max_colwidth", 80),
        ("display.max_rows", 60),
        ("display.min_rows", 20),
        ("io.excel.xlsx.reader", "openpyxl"),  # calamine holds all of a sheet's empty cells
        ("io.excel.xlsx.writer", "openpyxl"),  # pandas prefers XlsxWriter, whose sheets cannot be written cell by cell
    ):
        pandas.set_option(option, value)


def _warm_code(groups: Sequence[Sequence[str]]) -> None:
    """Run cells as a session would, and put together, group by group, the code that ran."""
    gather(code_of_a_fork() | code_of(_WALLS))
    gathered: set[CodeType] = set()
    for cells in groups:
        with watching_code() as ran:
            run_as_session(cells)
        gather(ran - gathered)
        gathered |= ran
    sys._clear_type_cache()  # CPython's, of attributes: who puts an entry in the place of another writes to both names
    for _ in range(_ROUNDS):
        for cells in groups:
            run_as_session(cells)


def _warm_figure(plt: Any) -> None:
    figure, axes = plt.subplots()
    axes.plot([1, 2, 3], [3, 1, 2], label="warm")
    axes.set_title("Warm 暖")
    axes.legend()
    figure.savefig(io.BytesIO(), format="png")
    plt.close(figure)
    # matplotlib empties this cache in every fork; left to the subprocesses, each would copy 1.7 MB to free it
    opened: Any = getattr(importlib.import_module("matplotlib.font_manager"), "_get_font", None)
    if hasattr(opened, "cache_clear"):
        opened.cache_clear()
