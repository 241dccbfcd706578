"""The page of a turn's report, written to a file as HTML or printed by Chromium as PDF."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from core.blobs import Blobs
from core.errors import BlobMissing, BlobsUnreachable, ThreadbookError
from core.store import Store, TurnRow

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
_PRINT_S = 120
_PAGE = "report.html"


class NoPage(ThreadbookError):
    """The page cannot be written; the message says why and what to do."""


def write_page(store: Store, blobs: Blobs, turns: list[TurnRow], html: Path | None, pdf: Path | None) -> list[Path]:
    """Write the page of the last of these turns that has a report. Returns what was written. Raises NoPage."""
    data = _page_of(store, blobs, turns)
    written = []
    if html is not None:
        html.write_bytes(data)
        written.append(html)
    if pdf is not None:
        _print(data, pdf)
        written.append(pdf)
    return written


def _page_of(store: Store, blobs: Blobs, turns: list[TurnRow]) -> bytes:
    for turn in reversed(turns):
        report = store.report(turn.id)
        file = next((file for file in report.files if file.name == _PAGE), None) if report else None
        if file is None:
            continue
        try:
            return blobs.get(file.sha256)
        except (BlobMissing, BlobsUnreachable) as error:
            raise NoPage(f"{_PAGE} cannot be read from the file store: {type(error).__name__}.") from error
    raise NoPage("No report with a page is kept for this thread: it has no answer yet, or an earlier version wrote it.")


def _print(page: bytes, pdf: Path) -> None:
    browser = next((path for name in _BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        raise NoPage("No Chromium is installed. Use --html, open the page in a browser, and print it there.")
    with tempfile.TemporaryDirectory(prefix="threadbook-") as folder:
        source, printed = Path(folder) / _PAGE, Path(folder) / "report.pdf"
        source.write_bytes(page)
        # The page is our own and may load nothing; inside a container Chromium's own sandbox seldom starts.
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"]
        command += [f"--user-data-dir={folder}/profile", f"--print-to-pdf={printed}", source.as_uri()]
        try:
            done = subprocess.run(command, capture_output=True, timeout=_PRINT_S, check=False)
        except subprocess.TimeoutExpired as error:
            raise NoPage(f"{browser} did not print within {_PRINT_S} s.") from error
        if not printed.exists():
            raise NoPage(f"{browser} printed nothing (exit code {done.returncode}).")
        shutil.copyfile(printed, pdf)
