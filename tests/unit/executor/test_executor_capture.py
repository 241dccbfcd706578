"""Captured output: bounded, progress bars collapsed, nothing lost without a word."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from executor.output_capture import Capture


def capture(tmp_path: Path, limit: int = 1000, file_limit: int = 10_000) -> Capture:
    return Capture(limit, lambda: tmp_path / "whole.txt", file_limit)


def test_short_output_is_kept_as_it_is(tmp_path: Path) -> None:
    kept = capture(tmp_path)
    kept.feed(b"a\n\n  b")
    assert kept.finish() == "a\n\n  b"
    assert kept.close() is None


def test_long_output_keeps_its_head_and_its_tail_and_says_what_is_missing(tmp_path: Path) -> None:
    kept = capture(tmp_path)
    text = "".join(f"{number}\n" for number in range(2000))
    kept.feed(text.encode())
    shown = kept.finish()
    assert shown.startswith("0\n1\n")
    assert shown.endswith("1998\n1999\n")
    assert f"{len(text) - 1000:,} characters left out" in shown
    kept.close()


def test_long_output_without_a_disk_for_it_keeps_its_head_and_its_tail(tmp_path: Path) -> None:
    kept = Capture(1000, lambda: tmp_path / "missing" / "whole.txt", 10_000)
    for number in range(2000):
        kept.feed(f"{number}\n".encode())
    shown = kept.finish()
    assert (shown.startswith("0\n1\n"), shown.endswith("1998\n1999\n")) == (True, True)
    assert kept.close() is None


def test_the_whole_of_long_output_is_in_a_file_up_to_its_limit(tmp_path: Path) -> None:
    kept = capture(tmp_path, file_limit=5_000)
    text = "".join(f"{number}\n" for number in range(2000)).encode()
    for at in range(0, len(text), 777):
        kept.feed(text[at : at + 777])
    kept.finish()
    whole = kept.close()
    assert whole is not None
    assert whole.path.read_bytes() == text[:5_000]
    assert (whole.sha256, whole.size) == (hashlib.sha256(text[:5_000]).hexdigest(), 5_000)


def test_a_progress_bar_collapses_to_its_last_state(tmp_path: Path) -> None:
    kept = capture(tmp_path)
    seen = [kept.feed(f"\r{percent}%".encode()) for percent in range(100)]
    seen.append(kept.feed(b"\r100%\ndone\r\n"))
    assert kept.finish() == "100%\ndone\n"
    assert "".join(seen) == "100%\ndone\n"


def test_terminal_colours_are_taken_out(tmp_path: Path) -> None:
    kept = capture(tmp_path)
    kept.feed(b"\x1b[31mred\x1b[0m\n\x00\x07")
    assert kept.finish() == "red\n"


def test_bytes_that_are_no_text_are_shown_as_such(tmp_path: Path) -> None:
    kept = capture(tmp_path)
    kept.feed("é".encode()[:1])
    kept.feed("é".encode()[1:] + b"\xff\n")
    assert kept.finish() == "é\ufffd\n"


@given(st.lists(st.binary(max_size=200), max_size=30))
def test_memory_stays_within_the_limit_whatever_comes(chunks: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        kept = Capture(100, lambda: Path(folder) / "whole", 0)
        for chunk in chunks:
            kept.feed(chunk)
        assert len(kept.finish()) <= 100 + 60
        kept.close()
