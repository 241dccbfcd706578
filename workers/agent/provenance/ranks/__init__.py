"""Sentences that rank: the first, the last, the third. Each is held against the order of the rows."""
