"""What the analyst knows of a source before it asks: its catalogue, the team's data dictionary, metrics and values.

`folder.py` reads what the team wrote, `draft.py` writes a first version of it, `drift.py` compares it with the live
tables. `schema_index.py` chooses what of it is in a prompt. Nothing here holds a connection, except that
`samples.py` sends a few small statements through the guarded query path.
"""
