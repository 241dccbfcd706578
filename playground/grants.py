"""What was granted to the app by OAuth in this workspace."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Grants:
    """Codes on their way, with when they were given and the address that was asked for; tokens that count."""

    codes: dict[str, tuple[float, str]] = field(default_factory=dict)
    tokens: set[str] = field(default_factory=set)
    refreshes: set[str] = field(default_factory=set)
