"""The describing cell in a real session: same answer, nothing left behind."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import pptx
import pytest
from office_files import binary_workbook, cells_of, document, table

from executor.client import SessionClient
from executor.launch import running_host
from workers.profiling.file_profiles import describe_code, read_abstracts

pytestmark = pytest.mark.process

LEFT_BEHIND = """
    import gc, sys
    print(sorted(name for name in globals() if not name.startswith("__")))
    ours = [name for name in sys.modules if "threadbook" in name and not name.startswith("__editable__")]
    print([name for name in ours if name.partition(".")[0] != "threadbook_tools"])
"""


@pytest.fixture(scope="module")
def sessions() -> Iterator[SessionClient]:
    with running_host() as client:
        yield client


def test_a_session_describes_its_files_and_keeps_its_variables(sessions: SessionClient, tmp_path: Path) -> None:
    (tmp_path / "销售.csv").write_bytes("日期;金额\n2023-01-01;1,5\n2023-01-02;2,5\n".encode("gb18030"))
    (tmp_path / "broken.xlsx").write_bytes(b"a,b\n1,2\n")
    paths = [sessions.put("T:C:1", file.name, file) for file in sorted(tmp_path.iterdir())]
    sessions.run("T:C:1", "before", "kept = 1")
    result = sessions.run("T:C:1", "files", describe_code(paths))
    assert result.status == "ok", result.error
    assert not result.artifacts
    (abstract,), (problem,) = read_abstracts(result, "zh", paths)
    assert abstract.encoding == "gb18030"
    assert problem.why.startswith("文件名以 .xlsx 结尾")
    loaded = sessions.run("T:C:1", "load", f"import pandas as pd\n{abstract.read_hint}['金额'].sum()")
    assert loaded.result is not None
    assert "4.0" in loaded.result.text
    after = sessions.run("T:C:1", "after", inspect.cleandoc(LEFT_BEHIND))
    assert after.stdout.splitlines()[-2:] == ["['gc', 'kept', 'pd', 'sys']", "[]"]


def test_the_lines_for_office_files_work_in_a_session(sessions: SessionClient, tmp_path: Path) -> None:
    (tmp_path / "a.docx").write_bytes(document(table([["units", "n"], ["3", "1"], ["4", "2"]])))
    (tmp_path / "b.xlsb").write_bytes(binary_workbook(A=cells_of([["units"], [3], [4]])))
    deck = pptx.Presentation()
    cells = deck.slides.add_slide(deck.slide_layouts[6]).shapes.add_table(3, 2, 0, 0, 9, 9).table
    for place, text in enumerate(("units", "n", "3", "1", "4", "2")):
        cells.cell(place // 2, place % 2).text = text
    deck.save(str(tmp_path / "c.pptx"))
    paths = [sessions.put("T:C:2", file.name, file) for file in sorted(tmp_path.iterdir())]
    abstracts, problems = read_abstracts(sessions.run("T:C:2", "files", describe_code(paths)), "en", paths)
    assert not problems
    lines = [abstract.tables[0].read for abstract in abstracts]
    total = " + ".join(f"sum(map(int, {line}['units']))" for line in lines)
    ran = sessions.run("T:C:2", "load", f"import io, mammoth, pptx\nimport pandas as pd\nprint({total})")
    assert ran.stdout.strip() == "21", ran.error
