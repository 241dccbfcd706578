"""The files that wait for a yes are listed by the names that they have."""

from __future__ import annotations

from core.slack.views.held_files import files_text
from core.steps import FilesHeld, HeldFile


def test_a_name_with_letters_that_are_turned_round_shows_them() -> None:
    file = HeldFile(name="report\u202evsc.exe", mimetype="", size=10, sha256="0" * 64)
    held = FilesHeld(id="files:1", key="k", files=(file,), until=0.0, hours=1.0)
    assert "report⟨U+202E⟩vsc.exe" in files_text(held, "en")
