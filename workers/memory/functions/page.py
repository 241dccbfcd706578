"""A function's folder: `module.py`, `schema.json`, `tests.py` and, once people accepted it, `provenance.yaml`.

A function can be imported only as it was accepted: `provenance.yaml` has the hashes of the other files. After a change
by hand, its tests have to run again ("retest NAME").
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import yaml

from core.steps import FunctionDraft, FunctionNote
from workers.agent.text import clip, one_line
from workers.memory.functions.static import faults, signature_of

MODULE, SCHEMA, TESTS, PROVENANCE = "module.py", "schema.json", "tests.py", "provenance.yaml"
FILES: Final = (MODULE, SCHEMA, TESTS, PROVENANCE)
NEEDED: Final = (MODULE, SCHEMA, TESTS)
LONGEST_FILE: Final = 32_000
"""Bytes of each file."""
DESCRIPTION_CHARS: Final = 300
_SCHEMA_CHARS = 8_000


@dataclass(frozen=True)
class TeamFunction:
    """A function as its folder has it. `file` is the folder's path below the memory's."""

    file: str
    draft: FunctionDraft
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def version(self) -> int:
        """Its version, from 1; 0 where nothing says so."""
        version = self.provenance.get("version")
        return version if isinstance(version, int) and 0 < version < 100_000 else 0

    @cached_property
    def is_as_accepted(self) -> bool:
        """Whether its files are those that people accepted."""
        return self.version > 0 and self.provenance.get("sha256") == hashes(self.draft)

    @cached_property
    def note(self) -> FunctionNote:
        """It as a question reads it: one line each, whatever stands in the folder."""
        about = schema_of(self.draft)
        return FunctionNote(
            file=self.file,
            name=self.draft.name,
            version=self.version,
            signature=one_line(signature_of(self.draft.name, self.draft.code), DESCRIPTION_CHARS),
            description=one_line(str(about.get("description") or ""), DESCRIPTION_CHARS),
            when=one_line(str(about.get("when") or ""), DESCRIPTION_CHARS),
        )


def read_function(file: str, texts: Mapping[str, str]) -> TeamFunction | None:
    """The function whose folder holds these files; None where one is missing. Never raises, runs nothing."""
    if any(name not in texts for name in NEEDED):
        return None
    draft = FunctionDraft(
        name=file.rpartition("/")[2], schema_text=texts[SCHEMA], code=texts[MODULE], tests=texts[TESTS]
    )
    try:
        provenance = yaml.safe_load(texts.get(PROVENANCE, ""))
    except (yaml.YAMLError, ValueError, RecursionError):
        provenance = None
    return TeamFunction(file, draft, provenance if isinstance(provenance, dict) else {})


def files_of(draft: FunctionDraft, provenance: Mapping[str, Any]) -> dict[str, str]:
    """The files of a function's folder."""
    return {
        MODULE: draft.code.rstrip() + "\n",
        SCHEMA: draft.schema_text.rstrip() + "\n",
        TESTS: draft.tests.rstrip() + "\n",
        PROVENANCE: yaml.safe_dump(dict(provenance), allow_unicode=True, sort_keys=False, width=110),
    }


def hashes(draft: FunctionDraft) -> dict[str, str]:
    """What tells whether a file was changed: the sha256 of each, without blank ends."""
    parts = {MODULE: draft.code, SCHEMA: draft.schema_text, TESTS: draft.tests}
    return {name: hashlib.sha256(text.rstrip().encode()).hexdigest() for name, text in parts.items()}


def schema_of(draft: FunctionDraft) -> dict[str, Any]:
    """What the schema says; {} when it is no JSON object. Never raises."""
    if len(draft.schema_text) > _SCHEMA_CHARS:
        return {}
    try:
        found = json.loads(draft.schema_text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def draft_faults(draft: FunctionDraft) -> list[str]:
    """What is wrong with a draft, as far as its text tells. Empty when it may be tried."""
    about = schema_of(draft)
    if not about:
        return [f"{SCHEMA} is no JSON object of at most {_SCHEMA_CHARS:,} characters."]
    return [clip(each, DESCRIPTION_CHARS) for each in faults(draft.name, about, draft.code, draft.tests)]


def lint(function: TeamFunction) -> list[str]:
    """What is wrong or odd about a function's folder."""
    found = draft_faults(function.draft)
    if not found and function.version and not function.is_as_accepted:
        changed = [name for name, sha in hashes(function.draft).items() if _accepted(function).get(name) != sha]
        found.append(f"{', '.join(changed)} changed since its tests were run: say `retest {function.draft.name}`.")
    return found


def _accepted(function: TeamFunction) -> Mapping[str, Any]:
    given = function.provenance.get("sha256")
    return given if isinstance(given, dict) else {}
