"""Large variables beside a cell: what it cannot have changed is not looked at, and no change is missed."""

from __future__ import annotations

import ast
import sys
import textwrap
import types
from typing import Any

import numpy as np
import pytest

from executor.inside import pickler, variable_pickles
from executor.inside.variable_names import names_in, reached_names
from executor.inside.variable_pickles import Keeper

MAKE = """
import functools, sys as system, threading, weakref
import numpy as np
import pandas as pd

class Box:
    def __init__(self, held): self.held = held
    def set(self): big[0] = 9
class Weak(dict): pass
big = np.zeros(1_000)
frame = pd.DataFrame({"a": np.zeros(1_000), "b": np.zeros(1_000)})
texts = pd.DataFrame({"t": ["x"] * 1_000})
many = [[0] for _ in range(600)]
objects = np.empty(1_000, dtype=object)
objects[:] = 0
objects[0] = many
view, strided, flat, shown = big[:10], big.reshape(-1, 10)[:, 0], big.flat, memoryview(big)
first = many[0]
box, boxes = Box(big), {"k": [Box(big)]}
weak = weakref.ref(big)
fill, part = big.fill, functools.partial(np.copyto, big)
column = frame["a"]
number, words = 1, ["few"]
def own(): big[0] = 9
def outer():
    def inner(): big[0] = 9
    inner()
def closing(array):
    def change(): array[0] = 9
    return change
closed = closing(big)
def later(array):
    array[0] = 9
    yield
waiting = later(big)
def defaulted(array=big): array[0] = 9
wrapped = functools.lru_cache(own)
blocks = frame._mgr.blocks
other = np.ones(1_000)
other_view = other[:5]
"""
CHANGES = [
    "big[0] = 9",
    "view[0] = 9",
    "strided[0] = 9",
    "flat[0] = 9",
    "shown[0] = 9.0",
    "view.base[0] = 9",
    "kept = view; kept[0] = 9; del kept, view",
    "first.append(9)",
    "objects[0][0].append(9)",
    "box.held[0] = 9",
    "boxes['k'][0].held[0] = 9",
    "weak()[0] = 9",
    "fill(9)",
    "part(np.ones(1_000))",
    "own()",
    "outer()",
    "closed()",
    "next(waiting)",
    "defaulted()",
    "wrapped()",
    "Box(1).set()",
    "box.set()",
    "frame.iloc[0, 0] = 9",
    "frame['c'] = 9",
    "frame.columns = ['z', 'b']",
    "blocks[0].values.flat[0] = 9",
    "many.append([1])",
    "texts.iloc[0, 0] = 'y'",
    "globals()['big'][0] = 9",
    "exec('big[0] = 9')",
    "own.__globals__['big'][0] = 9",
    "system._getframe().f_globals['big'][0] = 9",
    "getattr(own, '__glob' + 'als__')['big'][0] = 9",
    "thread = threading.Thread(target=own); thread.start(); thread.join(); del thread",
    "big = big + 1",
    "del big",
]


LARGE = ("big", "frame", "texts", "many", "objects", "other")
APART = ("big", "frame", "texts", "other")
"""Those that are kept apart. The others hold objects that have two names."""


class Notebook:
    """Cells in a namespace, and what the host would have kept of it."""

    def __init__(self) -> None:
        self.namespace: dict[str, Any] = sys.modules["__main__"].__dict__
        self.keeper = Keeper(self.namespace, 1 << 30)
        self.parts: dict[str, bytes] = {}
        self.order: list[dict[str, Any]] = []

    def run(self, code: str) -> set[str]:
        """Run a cell and keep what it left. Returns the parts that were sent."""
        mentioned = reached_names(names_in(ast.parse(code)).used, self.namespace)
        self.keeper.expect(mentioned)
        exec(code, self.namespace)
        keys, changed, _ = self.keeper.save(mentioned)
        sent = {part.key: b"".join(part.pieces) for part in changed}
        self.parts = {key: (self.parts | sent)[key] for key in keys}
        self.order = [part for part in self.order if part["key"] in keys and part["key"] not in sent]
        self.order += [{"key": part.key, "size": part.size, "checksum": part.checksum} for part in changed]
        return set(sent)

    def restored(self) -> dict[str, Any]:
        """The variables as another process gets them."""
        namespace: dict[str, Any] = {"__name__": "__main__"}
        found = {key: memoryview(bytearray(data)) for key, data in self.parts.items()}
        Keeper(namespace, 1 << 30).load(self.order, found)
        return namespace


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The keys of large variables that were looked at. 4 KB are large here, and too large to always be looked at."""
    monkeypatch.setitem(sys.modules, "__main__", types.ModuleType("__main__"))  # the runner's has no file either
    monkeypatch.setattr(pickler, "_LARGE_BYTES", 4 << 10)
    monkeypatch.setattr(pickler, "_LARGE_ITEMS", 500)
    monkeypatch.setattr(variable_pickles, "_ALWAYS_LOOK_BYTES", 0)
    threads = variable_pickles._threads
    ours = threads() - 1
    monkeypatch.setattr(variable_pickles, "_threads", lambda: threads() - ours)
    seen: list[str] = []
    plain = Keeper._dump_large

    def dump_large(keeper: Keeper, key: str, value: object) -> Any:
        seen.append(key)
        return plain(keeper, key, value)

    monkeypatch.setattr(Keeper, "_dump_large", dump_large)
    return seen


def same(left: dict[str, Any], right: dict[str, Any]) -> list[str]:
    """The large variables that differ."""
    return [name for name in LARGE if not is_same(left.get(name), right.get(name))]


def is_same(left: Any, right: Any) -> bool:
    if hasattr(left, "equals"):
        return bool(left.equals(right))
    if not hasattr(left, "tolist"):
        return bool(left == right)
    return hasattr(right, "tolist") and left.dtype == right.dtype and bool(np.array_equal(left, right))


@pytest.mark.usefixtures("looked")
@pytest.mark.parametrize("change", CHANGES)
def test_no_change_of_a_large_variable_is_missed_by_whatever_way_it_comes(change: str) -> None:
    notebook = Notebook()
    notebook.run(MAKE)
    notebook.run("number")
    notebook.run(change)
    assert same(notebook.namespace, notebook.restored()) == []


@pytest.mark.parametrize(
    "cell", ["number = 2", "words.append('more')", "x = np.arange(3).sum()", "print(pd.NA, len(words))"]
)
def test_a_cell_that_cannot_reach_large_variables_has_none_of_them_looked_at(cell: str, looked: list[str]) -> None:
    notebook = Notebook()
    notebook.run(MAKE)
    looked.clear()
    notebook.run(cell)
    assert not {notebook.keeper._keys[id(notebook.namespace[name])] for name in APART} & set(looked)


def test_a_view_has_only_its_own_array_looked_at(looked: list[str]) -> None:
    notebook = Notebook()
    notebook.run("import numpy as np\none, two = np.zeros(1_000), np.zeros(1_000)\nview = one[:3]")
    looked.clear()
    assert notebook.run("view[0] = 1") == set(looked)
    assert len(looked) == 1


@pytest.mark.parametrize(("rest", "most"), [("", 100_000), ("; whole = big", 900_000)], ids=["no name", "a name"])
def test_small_parts_of_a_large_array_without_a_name_do_not_bring_all_of_it(rest: str, most: int) -> None:
    notebook = Notebook()
    notebook.run(f"import numpy as np\nbig = np.zeros(100_000)\none, two = big[:10], big[5:15]{rest}\ndel big")
    assert sum(notebook.keeper._sizes.values()) < most
    restored = notebook.restored()
    assert np.shares_memory(restored["one"], restored["two"]) is bool(rest)


@pytest.mark.parametrize(("seconds", "parts"), [(60.0, 1), (-1.0, 3)], ids=["in time", "too late"])
def test_containers_that_take_too_long_to_compare_are_kept_as_they_are(
    looked: list[str], monkeypatch: pytest.MonkeyPatch, seconds: float, parts: int
) -> None:
    monkeypatch.setattr(variable_pickles, "_SHARED_S", seconds)
    notebook = Notebook()
    notebook.run("records = [[n] for n in range(600)]\nindex = {n: one for n, one in enumerate(records)}")
    assert len(notebook.parts) == parts
    restored = notebook.restored()
    assert (restored["records"], restored["index"]) == ([[n] for n in range(600)], {n: [n] for n in range(600)})
    assert (restored["records"][7] is restored["index"][7]) is (parts == 1)


def test_what_a_thread_may_have_changed_is_looked_at(looked: list[str]) -> None:
    notebook = Notebook()
    notebook.run(
        "import threading\nimport numpy as np\nbig = np.zeros(1_000)\ngo, done = threading.Event(), threading.Event()"
    )
    notebook.run(
        textwrap.dedent(
            """
            def work():
                go.wait(60)
                big[0] = 9
            thread = threading.Thread(target=work, daemon=True)
            thread.start()
            """
        )
    )
    thread = notebook.namespace["thread"]
    notebook.namespace["go"].set()
    thread.join()
    looked.clear()
    notebook.run("1")
    assert len(looked) == 1


def test_what_could_not_be_kept_at_the_end_of_its_cell_is_kept_at_the_next(
    looked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook = Notebook()
    notebook.run("import numpy as np\nbig = np.zeros(1_000)\nnumber = 1")
    notebook.run("number")
    plain = Keeper._dump
    monkeypatch.setattr(Keeper, "_dump", lambda *_, **__: (_ for _ in ()).throw(MemoryError))
    with pytest.raises(MemoryError):
        notebook.run("big[0] = 9")
    monkeypatch.setattr(Keeper, "_dump", plain)
    looked.clear()
    notebook.run("number")
    assert len(looked) == 1
    assert notebook.restored()["big"][0] == 9
