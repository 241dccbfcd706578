"""The analyst's loop without I/O. Input: the steps so far; output: the next action. No Slack, Redis, database, model
client or clock."""
