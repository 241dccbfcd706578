"""Questions on files whose tables each have a line of their own: the same answer as on a CSV, and a follow-up."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

SALES = pd.DataFrame({"region": ["North", "South", "North", "East"] * 5, "amount": [10.0, 20.5, 30.0, 4.0] * 5})


def a_zip(folder: Path) -> Path:
    with zipfile.ZipFile(folder / "all.zip", "w") as archive:
        archive.writestr("2025/sales.csv", SALES.to_csv(index=False, sep=";"))
    return folder / "all.zip"


def a_stata_file(folder: Path) -> Path:
    SALES.to_stata(folder / "sales.dta", write_index=False)
    return folder / "sales.dta"


def nested_json(folder: Path) -> Path:
    (folder / "sales.json").write_text(json.dumps({"data": {"sales": SALES.to_dict("records")}}))
    return folder / "sales.json"


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("write", [a_zip, a_stata_file, nested_json])
def test_a_table_with_its_own_line_is_analysed_and_asked_again(
    thread: Any, tmp_path: Path, write: Callable[[Path], Path]
) -> None:
    answer = thread.ask("total amount by region", write(tmp_path))
    assert "North leads by region with 200" in answer.report, answer.failures
    assert not answer.gave_up
    follow_up = thread.ask("and the average amount by region?")
    assert "20.5" in follow_up.report
    assert not any("look_at(" in ran.code for ran in follow_up.cells if "def look_at" not in ran.code), (
        "not loaded again"
    )
