"""Scheduled reports: which are due, what came of a run, and what their thread is told."""
