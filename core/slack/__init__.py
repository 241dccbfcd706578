"""Slack, written to and read from: the client and its budgets, the reader, the writer, uploads, blocks and text."""
