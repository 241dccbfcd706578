"""Slack: the client and its budgets, blocks and text. What is read and written, and what people see, have rooms."""
