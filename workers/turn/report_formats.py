"""A report in a format that somebody asks for, from the Store and its files."""

from __future__ import annotations

from core.chromium import NotPrinted, browser, printed
from core.formats import Format
from core.telemetry import get_logger
from workers.delivery.reports import ReportFile, ReportInput
from workers.delivery.reports.formats.registry import PDF, files_in
from workers.delivery.reports.page import page

log = get_logger(__name__)

_PRINT_S = 60
"""Seconds that a page may take to be printed."""


def in_format(name: Format, given: ReportInput) -> list[ReportFile]:
    """The report in this format; no file when it has nothing for it.

    A PDF is the report's page, printed by Chromium where one is installed and its own sandbox starts; else fpdf2 lays
    it out.
    """
    if name == "pdf" and browser() is not None:
        try:
            return [ReportFile(*PDF, printed(page(given).encode(), walled=True, limit_s=_PRINT_S))]
        except NotPrinted as error:
            log.info("page_not_printed", error=error)
    return files_in(name, given)
