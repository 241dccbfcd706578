"""Whatever a file holds, it is described or refused with a reason; and a line that is given to load it does load it."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from workers.profiling.inside.bounds import Bounds
from workers.profiling.inside.cell import describe

anything = settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
extensions = st.sampled_from(["csv", "tsv", "txt", "json", "jsonl", "xlsx", "parquet", "md", "html", "dat", ""])
small = st.builds(
    Bounds, whole=st.sampled_from([50, 16_000_000]), head=st.just(40), block=st.just(30), rows=st.sampled_from([1, 50])
)


def told(data: bytes, extension: str, bounds: Bounds) -> dict[str, object]:
    """The answer for a file with this content, checked for its shape."""
    name = f"file.{extension}" if extension else "file"
    Path(name).write_bytes(data)
    answer = describe(name, bounds)
    assert ("about" in answer) != ("problem" in answer)
    json.dumps(answer, ensure_ascii=False)
    return answer


def load(hint: str) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(hint, {"pd": pd, "Path": Path, "json": json})


@pytest.fixture(autouse=True)
def _in_a_folder(folder: Path) -> None:
    """Each test writes into its own folder."""


@given(st.binary(max_size=400), extensions, small)
@anything
def test_any_bytes_are_described_or_refused(data: bytes, extension: str, bounds: Bounds) -> None:
    told(data, extension, bounds)


@given(st.text(alphabet="ab1,;\t|\"'\n .-é0", max_size=300), st.sampled_from(["csv", "tsv", "txt", "md"]), small)
@anything
def test_any_text_is_described_and_its_hint_loads_it(text: str, extension: str, bounds: Bounds) -> None:
    answer = told(text.encode(), extension, bounds)
    if "about" in answer:
        load(answer["about"]["read_hint"])  # type: ignore[index]


cells = st.text(alphabet='abc,;"\n 1é日.%', max_size=8)
rows = st.integers(1, 6).flatmap(lambda n: st.lists(st.lists(cells, min_size=n, max_size=n), min_size=1, max_size=15))


@given(rows, st.sampled_from([",", ";", "\t", "|"]), st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "gb18030"]))
@anything
def test_any_table_written_as_csv_is_loaded_by_its_hint(rows: list[list[str]], separator: str, encoding: str) -> None:
    frame = pd.DataFrame(rows[1:], columns=[f"name {n}" for n in range(len(rows[0]))])
    answer = told(frame.to_csv(index=False, sep=separator).encode(encoding), "csv", Bounds())
    loaded = load(answer["about"]["read_hint"])  # type: ignore[index]
    if len(rows[0]) > 1 and isinstance(loaded, pd.DataFrame):
        assert list(loaded.columns) == list(frame.columns)


values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(values, st.sampled_from(["json", "jsonl"]))
@example({"": [{}]}, "json")
@example({"2024": [{"1": 2}]}, "json")
@anything
def test_any_json_is_described_and_its_hint_loads_it(value: object, extension: str) -> None:
    answer = told(json.dumps(value).encode(), extension, Bounds())
    if "about" in answer:
        load(answer["about"]["read_hint"])  # type: ignore[index]
