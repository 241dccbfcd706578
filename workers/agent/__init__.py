"""The analyst's loop without I/O: steps so far in, next action out. No Slack, Redis, database, model client or
clock."""
