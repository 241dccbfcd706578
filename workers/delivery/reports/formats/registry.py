"""The same report in the formats that people ask for. Pure: a report's input in, files out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from core.formats import Format
from workers.delivery.reports.formats.csv_files import csv_files
from workers.delivery.reports.formats.excel import excel
from workers.delivery.reports.formats.pdf import pdf
from workers.delivery.reports.formats.slides import slides
from workers.delivery.reports.values import ReportFile, ReportInput

PDF: Final = ("report.pdf", "application/pdf")
_OFFICE: Final = "application/vnd.openxmlformats-officedocument"
_ONE_FILE: Final[dict[Format, tuple[str, str, Callable[[ReportInput], bytes]]]] = {
    "slides": ("report.pptx", f"{_OFFICE}.presentationml.presentation", slides),
    "pdf": (*PDF, pdf),
    "excel": ("tables.xlsx", f"{_OFFICE}.spreadsheetml.sheet", excel),
}


def files_in(name: Format, given: ReportInput) -> list[ReportFile]:
    """The report in this format; no file when it has nothing that the format could hold."""
    if name == "csv":
        return csv_files(given)
    file, mimetype, made = _ONE_FILE[name]
    data = made(given)
    return [ReportFile(file, mimetype, data)] if data else []
