"""The describing cell in a real session: same answer, nothing left behind."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

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
