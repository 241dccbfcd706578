"""LibreOffice opens what leaves as slides and as a workbook, and shows something on each page."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE_S
from PIL import Image
from services import missing

from core.formats import Format
from workers.delivery.reports.formats.registry import files_in

sys.path.append(str(Path(__file__).parents[1] / "unit" / "workers" / "delivery"))
sys.path.append(str(Path(__file__).parents[1] / "unit" / "workers" / "delivery" / "reports" / "formats"))

from format_cases import FULL

pytestmark = pytest.mark.integration


@pytest.mark.parametrize(("name", "pages"), [("slides", 11), ("excel", 9)])
def test_every_page_opens_and_shows_something(tmp_path: Path, name: Format, pages: int) -> None:
    for program, package in (("soffice", "libreoffice-impress, libreoffice-calc"), ("pdftoppm", "poppler-utils")):
        if shutil.which(program) is None:
            missing(program, f"install the packages {package}")
    (file,) = files_in(name, FULL)
    (tmp_path / file.name).write_bytes(file.data)
    home = f"-env:UserInstallation=file://{tmp_path}/profile"
    office = ["soffice", home, "--headless", "--convert-to", "pdf", "--outdir", str(tmp_path), file.name]
    subprocess.run(office, cwd=tmp_path, check=True, capture_output=True, timeout=2 * PATIENCE_S)
    printed = next(tmp_path.glob("*.pdf"))
    subprocess.run(["pdftoppm", "-r", "30", "-png", printed.name, "page"], cwd=tmp_path, check=True, timeout=PATIENCE_S)
    pictures = [Image.open(path).convert("L").getextrema() for path in sorted(tmp_path.glob("page*.png"))]
    assert len(pictures) == pages
    assert all(darkest < 200 for darkest, _ in pictures)
