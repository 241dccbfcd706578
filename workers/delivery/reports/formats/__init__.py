"""The same report in the formats that people ask for: `registry.py` knows them all.

Nothing is imported here: the libraries of the formats are a second of imports, and most of the commands write none.
"""
