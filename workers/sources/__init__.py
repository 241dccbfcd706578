"""Named data sources: a database, or a folder of files, that a thread may ask and never change.

Two walls stand between a statement and the data, and each must hold alone: the guard lets only known parts of SQL
through (`guard/`), and each driver has the database itself refuse to write (`drivers/`). `query.py` puts them together.
"""
