"""The examples of programs are valid, say that their answers are recorded, and one of them is a helper of ours."""

from __future__ import annotations

from pathlib import Path

import pytest
from builder_kit import build

from tryout.commands.build import recorded_model
from workers.builder.requirements.components import plan
from workers.builder.requirements.requirement import read

ROOT = Path(__file__).parents[3]
PROGRAMS = ROOT / "examples" / "programs"
FILES = sorted(path for path in PROGRAMS.glob("*.toml") if not path.name.endswith(".tests.toml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_example_is_a_valid_requirement_with_a_schema_and_answers_that_say_what_they_are(path: Path) -> None:
    assert plan(read(path.read_text("utf-8"), path.name)).components
    recording = path.with_name(f"{path.stem}.recorded.yaml")
    assert recording.read_text("utf-8").startswith("# Answers that were written beforehand")
    assert recorded_model(recording).name == "recorded answers"
    beside = path.with_name(f"{path.stem}.tests.toml")
    if beside.exists():
        read(beside.read_text("utf-8"), beside.name, tests_only=True)
    for file in (path, *([beside] if beside.exists() else [])):
        assert file.read_text("utf-8").startswith("#:schema ../../docs/requirement.schema.json\n")


def test_a_helper_of_this_repository_is_what_its_requirement_file_builds(tmp_path: Path) -> None:
    path = PROGRAMS / "tokens.toml"
    handed = build(tmp_path, path.read_text("utf-8"), recorded_model(PROGRAMS / "tokens.recorded.yaml"), name=path.name)
    built = handed.iteration.components[0]
    assert handed.iteration.state == "passed"
    assert [row.state for row in built.coverage] == ["judged", "tested", "tested", "tested", "judged"]
    assert handed.iteration.mutation.found > handed.iteration.mutation.tried // 2
    ours = ROOT / "workers" / "sources" / "knowledge" / "tokens.py"
    assert (tmp_path / "tokens.py").read_text("utf-8") == ours.read_text("utf-8")
