"""The built-in offline analyst: a rule-based Model without network.

    reading (steps → texts, tables, cells) → thread (tables → one frame, what is known) with joining and columns
    → intent (question → what is wanted) → tasks (its analyses) → preparation_cells, analysis_cells ⇄ loading (repairs)
    → sections, notes → report

`OfflineAnalyst` keeps nothing between calls: everything it knows is in the turn of the request. The code of its cells
comes from the functions in `templates/` and `cell_functions.py`, which are read as text.
"""

from workers.offline.analyst import OfflineAnalyst

__all__ = ["OfflineAnalyst"]
