"""From a finished turn to what people get: messages within Slack's limits, and files that stand on their own. Pure."""

from __future__ import annotations

from workers.delivery.reports.render import render_report
from workers.delivery.reports.values import Report, ReportFile, ReportInput, report_input

__all__ = ["Report", "ReportFile", "ReportInput", "render_report", "report_input"]
