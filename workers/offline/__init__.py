"""The built-in offline analyst: a rule-based Model without network.

    reading (steps → texts, tables, cells) → columns, intent (question → what is wanted) → cells ⇄ loading → report

`OfflineAnalyst` keeps nothing between calls: everything it knows is in the turn of the request. The code of its cells
comes from the functions in `templates/` and `cell_functions.py`, which are read as text.
"""

from workers.offline.analyst import OfflineAnalyst

__all__ = ["OfflineAnalyst"]
