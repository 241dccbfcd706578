"""What a model answered, read as an action: tool calls, plans, changes of a report, the judge's verdict. Pure."""
