"""Services that a test needs and a machine may lack."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def missing(service: str, reason: str) -> NoReturn:
    """Reports a missing service: the test is skipped with the reason at home, and fails in CI."""
    message = f"{service} is missing: {reason}"
    if os.environ.get("CI", "").lower() in ("1", "true"):
        pytest.fail(message)
    pytest.skip(message)
