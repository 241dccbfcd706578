"""Which languages are offered follows from the table and from what lies where the walls show it."""

from __future__ import annotations

import os
from pathlib import Path

from workers.builder.requirements.languages import LANGUAGES
from workers.builder.sandbox.toolchains import Toolchain, offered, toolchains


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_every_language_whose_toolchain_is_shown_is_offered_and_no_other() -> None:
    usable = tuple(Toolchain(one.name, one.tool, f"/usr/bin/{one.tool}", shown=True) for one in LANGUAGES)
    assert set(offered(usable)) == {one.name for one in LANGUAGES if one.runs or not one.tool}
    assert offered((Toolchain("rust", "rustc", "/home/ana/.cargo/bin/rustc"),)) == ("html",)


def test_a_toolchain_counts_where_it_lies_and_not_where_a_link_to_it_does(tmp_path: Path) -> None:
    """The link of /usr/bin would be shown, and lead nowhere."""
    hidden = program(tmp_path / "home" / "rustc")
    program(tmp_path / "usr" / "gcc")
    (tmp_path / "usr" / "rustc").symlink_to(hidden)
    found = {
        one.language: one
        for one in toolchains(folders=[str(tmp_path / "usr")], search=os.fspath(tmp_path / "usr"))
        if one.path
    }
    assert (found["c"].shown, found["rust"].shown) == (True, False)
    assert found["rust"].path == str(tmp_path / "usr" / "rustc")


def test_a_folder_that_an_admin_has_named_is_shown_and_comes_first(tmp_path: Path) -> None:
    program(tmp_path / "usr" / "rustc")
    own = program(tmp_path / "rust" / "bin" / "rustc")
    folders = {"folders": [str(tmp_path / "usr")], "search": os.fspath(tmp_path / "usr")}
    found = {one.language: one for one in toolchains(**folders, own=[tmp_path / "rust"])}
    assert (found["rust"].path, found["rust"].shown) == (str(own), True)
