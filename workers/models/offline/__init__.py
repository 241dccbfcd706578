"""The built-in offline analyst: a rule-based Model without network.

    reading (messages → what happened) → columns, intent (question → what is wanted) → cells (code) ⇄ repair → report

`OfflineAnalyst` keeps nothing between calls: everything it knows is in the messages of the request.
"""

from workers.models.offline.analyst import OfflineAnalyst

__all__ = ["OfflineAnalyst"]
