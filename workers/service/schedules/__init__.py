"""Scheduled reports: due ones are begun, their code runs in a clean room, and what changed is posted."""
