"""The Web API: one table of methods, each a function of a call."""
