"""Whether the figures of a report fit one another: totals, rows of its tables, changes that a sentence tells. Pure."""
