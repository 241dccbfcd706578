"""From a finished turn to what people get: messages within Slack's limits, and files that stand on their own. Pure."""

from __future__ import annotations

from workers.delivery.reports.render import badge_block, render_report, with_badge
from workers.delivery.reports.values import Report, ReportFile, ReportInput, report_input

__all__ = ["Report", "ReportFile", "ReportInput", "badge_block", "render_report", "report_input", "with_badge"]
