"""Workers that compile a clean checkout together write what pytest itself would write."""

from __future__ import annotations

from pathlib import Path

import pytest
from _pytest.assertion import rewrite
from compiled_once import compile_all


def test_pytest_takes_the_byte_code_of_a_test_file(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    path = tmp_path / "test_sample.py"
    path.write_text("def test_sample():\n    assert [1] == [2]\n", encoding="utf-8")
    compile_all([path], pytestconfig)
    (byte_code,) = tmp_path.glob("__pycache__/test_sample.*.pyc")
    code = rewrite._read_pyc(path, byte_code)
    assert code is not None
    assert "@pytest_ar" in code.co_names


def test_a_file_that_is_no_test_has_pythons_own_byte_code(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    (tmp_path / "sample.py").write_text("VALUE = 1\n", encoding="utf-8")
    compile_all([tmp_path / "sample.py"], pytestconfig)
    assert len(list(tmp_path.glob("__pycache__/sample.*.pyc"))) == 1


def test_byte_code_that_is_there_is_left_alone(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    path = tmp_path / "test_sample.py"
    path.write_text("", encoding="utf-8")
    compile_all([path], pytestconfig)
    (byte_code,) = tmp_path.glob("__pycache__/*.pyc")
    byte_code.write_bytes(b"as it was")
    compile_all([path], pytestconfig)
    assert byte_code.read_bytes() == b"as it was"
