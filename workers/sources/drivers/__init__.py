"""One module per kind of source. Each asks its database, lets the database itself refuse to write, and streams Arrow.

A driver holds the credentials, so it lives only in the process that asks the source.
"""
