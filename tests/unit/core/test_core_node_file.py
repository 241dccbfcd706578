"""The file by which a home folder knows its node: it goes with the folder, and a copy of it is told from it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from core.node_file import node_file, read_node_file, write_node_file


def test_a_home_knows_its_name_and_its_last_instance(tmp_path: Path) -> None:
    write_node_file(tmp_path, "first", "i1")
    write_node_file(tmp_path, "second", "i2")
    found = read_node_file(tmp_path)
    assert found is not None
    assert (found.name, found.instance, found.is_original) == ("second", "i2", True)
    assert [path.name for path in tmp_path.iterdir()] == ["node.json"]


def test_a_copied_home_has_the_name_and_is_no_original(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    write_node_file(tmp_path / "one", "first", "i1")
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    found = read_node_file(tmp_path / "two")
    assert found is not None
    assert (found.name, found.is_original) == ("first", False)


@pytest.mark.parametrize(
    "text", ["", "[]", "{", "null", '{"name": 1, "instance": "i", "place": []}', '{"name": "n"}', "\xff"]
)
def test_what_is_no_such_file_is_as_if_it_were_not_there(tmp_path: Path, text: str) -> None:
    assert read_node_file(tmp_path) is None
    node_file(tmp_path).write_text(text, encoding="latin-1")
    assert read_node_file(tmp_path) is None


def test_a_name_that_no_node_could_have_is_not_taken(tmp_path: Path) -> None:
    for name in ("", "n" * 101):
        write_node_file(tmp_path, name, "i1")
        assert read_node_file(tmp_path) is None
