"""The new run of a scheduled report: whether its data still fit the code, and what is told of it."""
