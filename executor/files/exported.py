"""A thread's session as one host exports it and another imports it: kept variables, files, names of cells.

The variables stay the opaque, signed bytes that `executor/state/checkpoints.py` keeps. Whoever carries them cannot read
them, or change them unnoticed. A host takes only what was signed with its own key for this very thread.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from executor.files.home import Home, ThreadHome
from executor.frames import Message, ProtocolError
from executor.wire import content_name, mapping, sequence, text, texts

_MANY_FILES, _MANY_CELLS, _MANY_NAMES = 20_000, 100_000, 2_000


@dataclass(frozen=True, slots=True)
class ExportedSession:
    """`state` is None when no variables are kept, `unsaved_cells` names the cells whose changes of them are not in it.

    `replaced` names what people gave and cells changed or removed: name and sha256 of each.
    `paths` says where on this host each content lies, by its sha256.
    """

    state: Message | None
    files: list[Message]
    cells: list[str]
    unsaved_cells: list[str] = field(default_factory=list)
    paths: dict[str, Path] = field(default_factory=dict)
    replaced: list[tuple[str, str]] = field(default_factory=list)

    @property
    def contents(self) -> list[str]:
        """The sha256 of everything that has to come along: parts of variables, and files."""
        return list(dict.fromkeys([*self.parts, *(text(file, "sha256", 64) for file in self.files)]))

    @property
    def parts(self) -> list[str]:
        """The sha256 of the parts of variables that are too large for `state`."""
        parts = [] if self.state is None else sequence(mapping(self.state, "body"), "parts", 1_000)
        return list(dict.fromkeys(text(part, "sha256", 64) for part in parts if "data" not in part))

    @property
    def lost(self) -> list[str]:
        """The names of variables that could not be kept."""
        if self.state is None:
            return []
        names = sequence(mapping(self.state, "body"), "lost", _MANY_NAMES) if "lost" in self.state["body"] else []
        return [str(one[0]) for one in names if isinstance(one, list | tuple) and one]

    def to_json(self) -> bytes:
        """Without the paths, which mean nothing elsewhere. The same session gives the same bytes."""
        return json.dumps(self.to_message(), sort_keys=True, separators=(",", ":")).encode()

    def to_message(self) -> Message:
        """As `import` carries it, without the paths."""
        message = {"state": self.state, "files": self.files, "cells": self.cells, "unsettled": self.unsaved_cells}
        return message | ({"replaced": [list(one) for one in self.replaced]} if self.replaced else {})

    @classmethod
    def from_json(cls, data: bytes) -> ExportedSession:
        """What `to_json` wrote. Raises ValueError or ProtocolError for anything else."""
        return exported_session_from(json.loads(data))


def exported_session_from(data: Mapping[str, Any]) -> ExportedSession:
    """An ExportedSession from JSON."""
    return ExportedSession(
        state=None if data.get("state") is None else dict(mapping(data, "state")),
        files=[dict(file) for file in sequence(data, "files", _MANY_FILES)],
        cells=list(texts(data, "cells", 500, _MANY_CELLS)),
        unsaved_cells=list(texts(data, "unsettled", 500, _MANY_CELLS)) if "unsettled" in data else [],
        paths={sha256: Path(text(data["paths"], sha256, 4_096)) for sha256 in data.get("paths") or {}},
        replaced=[_replaced_from(one) for one in sequence(data, "replaced", _MANY_FILES)] if "replaced" in data else [],
    )


def _replaced_from(item: object) -> tuple[str, str]:
    if not isinstance(item, list) or len(item) != 2 or not all(isinstance(each, str) for each in item):
        raise ProtocolError("what was replaced is a name and a content")
    return item[0], content_name({"sha256": item[1]})


def export_message(thread: ThreadHome, home: Home, state: Message | None, parts: Mapping[str, Path]) -> Message:
    """What `export` answers: the session of a thread whose variables are kept as `state` and, by sha256, `parts`."""
    paths = {file.sha256: home.path_of(file.sha256) for file in thread.files.by_name.values()} | dict(parts)
    session = ExportedSession(
        state=state,
        files=[asdict(file) for file in thread.files.by_name.values()],
        cells=thread.cell_ids,
        unsaved_cells=thread.unsaved_cells,
        replaced=sorted(thread.files.replaced),
    )
    return session.to_message() | {"paths": {sha256: str(path) for sha256, path in paths.items()}}
