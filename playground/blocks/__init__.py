"""Block Kit checks as strict as Slack's: what a block may hold, and the words of the refusal."""

from playground.blocks.check import check_blocks, check_view
from playground.blocks.fill import filled

__all__ = ["check_blocks", "check_view", "filled"]
