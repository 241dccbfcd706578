"""An archive of source code has an outline in place of tables; other archives are what they were."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from core.steps import FileAbstract, FileProblem
from tests.unit.workers.profiling.test_abstracts_more_kinds import sole
from workers.agent.prompt.briefing import file_block

Describe = Callable[..., tuple[list[FileAbstract], list[FileProblem]]]
CODE = {"shop-1/pyproject.toml": b"", "shop-1/shop.py": b'def total(items):\n    """The sum."""\n'}


def tarred(path: Path, files: dict[str, bytes], mode: str = "w:gz") -> None:
    with tarfile.open(path, mode) as tar:  # type: ignore[call-overload]
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))


@pytest.mark.parametrize("name", ["shop.zip", "shop.tar", "shop.tar.gz", "SHOP.TGZ"])
def test_source_code_is_outlined(name: str, describe: Describe, folder: Path) -> None:
    if name.endswith("zip"):
        with zipfile.ZipFile(folder / name, "w") as archive:
            for path, content in CODE.items():
                archive.writestr(path, content)
    else:
        tarred(folder / name, CODE, "w" if name.endswith(".tar") else "w:gz")
    abstract = sole(describe(name))
    assert (abstract.format, abstract.read_hint) == ("repository", f"Repository({name!r})")
    assert abstract.text == (
        "2 files, 37 bytes\npyproject.toml (0 lines)\nshop.py (2 lines)\n  1: def total(items)  # The sum."
    )
    assert [path.name for path in folder.iterdir()] == [name], "nothing is unpacked beside it"


def test_a_large_project_is_told_in_bounds_and_the_model_gets_more_of_it_than_of_a_document(
    describe: Describe, folder: Path
) -> None:
    files = {f"shop/part{number}/module.py": CODE["shop-1/shop.py"] * 5 for number in range(150)}
    tarred(folder / "big.tar", files, "w")
    abstract = sole(describe("big.tar"))
    assert 4_000 < len(abstract.text) <= 7_500
    assert "part149/module.py (10 lines)" in abstract.text
    assert len(file_block(abstract, 16_000)) > 4_000
    assert len(file_block(abstract, 1_000)) <= 1_000


def test_a_zip_with_a_script_beside_tables_stays_one_of_tables(describe: Describe, folder: Path) -> None:
    with zipfile.ZipFile(folder / "data.zip", "w") as archive:
        archive.writestr("a.csv", "n\n1\n2\n")
        archive.writestr("load.py", "import pandas\n")
    assert sole(describe("data.zip")).format == "zip"


@pytest.mark.parametrize(
    ("files", "why"), [({"a.csv": b"n\n1\n"}, ".tar"), ({}, "holds no file"), ({"a.py": b"x"}, "cannot be read")]
)
def test_other_tars_are_refused_with_the_reason(
    files: dict[str, bytes], why: str, describe: Describe, folder: Path
) -> None:
    tarred(folder / "a.tar.gz", files)
    if "read" in why:
        (folder / "a.tar.gz").write_bytes((folder / "a.tar.gz").read_bytes()[:40])
    (problem,) = describe("a.tar.gz")[1]
    assert why in problem.why
