"""The sample data of the tour: a small table that comes with the product, for those who want to try it without any."""

from __future__ import annotations

from importlib import resources
from typing import Final

from core.values import FileRef

MODE: Final = "sample"
"""The mode of a file that comes with the product. Slack's own files never have it (`core/slack/reading/files.py`)."""


def sample() -> bytes:
    """The table, as CSV."""
    return resources.files("core").joinpath("tour.csv").read_bytes()


SAMPLE: Final = FileRef(
    id="THREADBOOK-SAMPLE", name="sample_orders.csv", mimetype="text/csv", size=len(sample()), mode=MODE
)
