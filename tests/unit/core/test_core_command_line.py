"""What a person sees when a setting is wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE_S

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("name", "text", "nearest"),
    [("threadbook.toml", "[limits]\nmax_cell = 3\n", "max_cells"), (".env", "OPENAI_MODLE=x\n", "OPENAI_MODEL")],
)
def test_a_misspelt_setting_is_one_line_with_the_nearest_name(
    tmp_path: Path, name: str, text: str, nearest: str
) -> None:
    (tmp_path / name).write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "threadbook", "bot"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 2
    assert nearest in done.stderr
    assert "Traceback" not in done.stderr
