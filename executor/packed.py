"""A thread's session on its way to another host: its kept variables, its files, the names of its cells.

The variables stay the opaque, signed bytes that checkpoints.py keeps: whoever carries them cannot read or change them
unnoticed, and a host takes only what was signed with its own key for this very thread.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from executor.frames import Message
from executor.wire import mapping, sequence, text, texts

_MANY_FILES, _MANY_CELLS = 20_000, 100_000


@dataclass(frozen=True, slots=True)
class Packed:
    """`state` is None when no variables are kept, `unsettled` names the cells whose changes of them are not in it.

    `paths` says where on this host each content lies, by its sha256.
    """

    state: Message | None
    files: list[Message]
    cells: list[str]
    unsettled: list[str] = field(default_factory=list)
    paths: dict[str, Path] = field(default_factory=dict)

    @property
    def contents(self) -> list[str]:
        """The sha256 of everything that has to come along."""
        parts = [] if self.state is None else sequence(mapping(self.state, "body"), "parts", 1_000)
        large = [text(part, "sha256", 64) for part in parts if "data" not in part]
        return list(dict.fromkeys([*large, *(text(file, "sha256", 64) for file in self.files)]))

    def to_json(self) -> bytes:
        """Without the paths, which mean nothing elsewhere. The same session gives the same bytes."""
        return json.dumps(self.to_message(), sort_keys=True, separators=(",", ":")).encode()

    def to_message(self) -> Message:
        """As `unpack` carries it, without the paths."""
        return {"state": self.state, "files": self.files, "cells": self.cells, "unsettled": self.unsettled}

    @classmethod
    def from_json(cls, data: bytes) -> Packed:
        """What `to_json` wrote. Raises ValueError or ProtocolError for anything else."""
        return packed_from(json.loads(data))


def packed_from(data: Mapping[str, Any]) -> Packed:
    """A Packed from JSON."""
    return Packed(
        state=None if data.get("state") is None else dict(mapping(data, "state")),
        files=[dict(file) for file in sequence(data, "files", _MANY_FILES)],
        cells=list(texts(data, "cells", 500, _MANY_CELLS)),
        unsettled=list(texts(data, "unsettled", 500, _MANY_CELLS)) if "unsettled" in data else [],
        paths={sha256: Path(text(data["paths"], sha256, 4_096)) for sha256 in data.get("paths") or {}},
    )
