"""The allow-list over SQL: pure functions from a statement to the text that may be sent, or to a refusal.

Whatever is not named in `nodes.py` and `functions.py` is refused, so a new feature of a database is refused until
somebody has looked at it.
"""
