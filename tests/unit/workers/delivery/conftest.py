"""Golden files: the whole visible output, compared; UPDATE_GOLDEN=1 writes them again."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parents[3] / "golden"


@pytest.fixture
def golden() -> Callable[[str, object], None]:
    """Compare a value with tests/golden/<name>: text as it is, anything else as JSON."""

    def compare(name: str, value: object) -> None:
        path = GOLDEN / name
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1) + "\n"
        if os.environ.get("UPDATE_GOLDEN"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.read_text(encoding="utf-8") == text

    return compare
