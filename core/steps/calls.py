"""The ids of calls that no model has made: those of our own questions, and of code that people write."""

from __future__ import annotations

OWN_CALL = "own:"
"""The call ids of cells with a person's own code begin so; then comes the ts of the command."""

STARTUP_CALL = f"{OWN_CALL}startup:"
"""The call ids of cells with start-up code begin like this, when a new session runs it."""

RESET_CALL = "reset"
"""The call id of our own question whether a session is to be reset: no model has asked it."""

CONFIRM_CALL = "confirm:"
"""The call ids of our own questions whether a statement may run begin so; then comes what tells the statement."""

APPROVE_CALL = "approve:"
"""The call ids of our own questions whether a cell may run begin so; then comes their number in the turn."""

HOLD_CALL = "hold-"
"""The call ids of our own questions whether a report with unsourced figures is posted begin so; then comes the number
of its episode."""

OUR_CALLS = (RESET_CALL, CONFIRM_CALL, APPROVE_CALL, HOLD_CALL, OWN_CALL)
"""No call of a model has an id that begins like one of these: an answer to our question would be taken for its own."""
