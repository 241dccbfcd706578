"""A wrong value is told with its place, what is allowed, and never with the value itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.errors import SettingsError
from core.setting_faults import FORMS
from core.settings import Settings, load_settings

SECONDS = "a number of seconds, without quotes and without a unit"
TEAM = [
    ('[limits]\ncell_timeout_s = "2m"', f"limits.cell_timeout_s: must be {SECONDS}"),
    ("[limits]\ncell_timeout_s = -1", "limits.cell_timeout_s: must be more than 0"),
    (
        "[limits]\nmemory_mb = 1.5",
        "limits.memory_mb: must be a whole number of MB, without quotes and without a unit",
    ),
    ("[limits]\nprocesses = 1", "limits.processes: must be at least 4"),
    ('[slack]\nrate_budgets = "some"', "slack.rate_budgets: must be 'auto', 'always' or 'never'"),
    ("[slack]\nfile_hosts = [1]", 'slack.file_hosts, entry 1: must be text in quotes, written as "…"'),
    ('[channels.C1]\nstrict_mention = "maybe"', "channels.C1.strict_mention: must be true or false, without quotes"),
    ('[schedules]\ndays_off = ["2026-13-01"]', "schedules.days_off, entry 1: must be a date, such as 2026-12-24"),
    ('[sandbox]\ntoolchains = ["opt"]', "sandbox.toolchains, entry 1: must be a full path, such as /opt/rust"),
    ('[mcp.x]\ncommand = ["x"]\ntools = []', "mcp.x.tools: must have at least 1 entry"),
    ('[models.x]\nmodel = ""', "models.x.model: must not be empty"),
    ('[models."a b"]\nmodel = "x"', "models.a b: must have 1 to 60 letters, digits, “.”, “_” or “-”"),
    ("[prices.x]\ninput = 1", "prices.x.output: is missing, and has no default"),
]


@pytest.mark.parametrize(("text", "told"), TEAM)
def test_a_wrong_value_is_told_with_its_file_and_what_is_allowed(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "threadbook.toml").write_text(text)
    with pytest.raises(SettingsError) as refused:
        load_settings({}, tmp_path)
    assert str(refused.value) == f"threadbook.toml: {told}."


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("THREADBOOK_BOT_HEALTH_PORT", "planted", "must be a whole number, without a unit"),
        ("THREADBOOK_BOT_HEALTH_PORT", "99999", "must be at most 65535"),
        ("THREADBOOK_CHECKPOINT_KEY", "planted", "must have at least 16 characters"),
        ("THREADBOOK_MODEL", "planted", "must be openai, offline or scripted:FILE.json"),
    ],
)
def test_a_wrong_variable_is_told_without_its_value(tmp_path: Path, name: str, value: str, told: str) -> None:
    with pytest.raises(SettingsError) as refused:
        load_settings({name: value}, tmp_path)
    assert str(refused.value) == f"{name}: {told}."


def patterns(schema: Any) -> Iterator[str]:
    """The patterns anywhere in a JSON schema."""
    if isinstance(schema, dict):
        yield from (schema["pattern"],) if isinstance(schema.get("pattern"), str) else ()
        yield from schema["patternProperties"] if isinstance(schema.get("patternProperties"), dict) else ()
    for inner in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from patterns(inner)


def test_every_pattern_of_a_setting_has_words() -> None:
    assert set(patterns(Settings.model_json_schema())) == set(FORMS)
