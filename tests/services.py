"""Services that a test needs and a machine may lack."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def missing(service: str, reason: str) -> NoReturn:
    """A service that is not there: at home the test is skipped and says why, in CI it fails."""
    message = f"{service} is missing: {reason}"
    if os.environ.get("CI", "").lower() in ("1", "true"):
        pytest.fail(message)
    pytest.skip(message)
