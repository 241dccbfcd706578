"""Functions that a team has accepted: each with its schema, tests that a broken one fails, and where it comes from.

`static.py` reads code before anything runs, `page.py` is the format of a function's folder, `shelf.py` reads and writes
the folders, `drafting.py` reads a model's reply, `proof.py` makes the program that tries a function in the sandbox and
reads what it gave, `importing.py` makes `from team import NAME` work in a cell. Nothing here runs a function.
"""
