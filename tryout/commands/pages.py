"""The page of a turn's report, written to a file as HTML or printed by Chromium as PDF."""

from __future__ import annotations

from pathlib import Path

from core.blobs import Blobs
from core.chromium import NotPrinted, browser, printed
from core.errors import BlobMissing, BlobsUnreachable, ThreadbookError
from core.store import Store, TurnRow

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
        pdf.write_bytes(_print(data))
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


def _print(page: bytes) -> bytes:
    if browser() is None:
        raise NoPage("No Chromium is installed. Use --html, open the page in a browser, and print it there.")
    try:
        # Inside a container Chromium's own sandbox seldom starts, and this is a person's own machine.
        return printed(page, walled=False)
    except NotPrinted as error:
        raise NoPage(str(error)) from error
