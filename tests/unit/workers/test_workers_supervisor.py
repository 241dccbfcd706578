"""What the worker service refuses before it takes work."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.settings import Settings, load_settings
from workers.supervisor import CannotStart, refuse_weak_sandbox

REAL = "https://slack.com/api/"
LOCAL = "http://127.0.0.1:8765/api/"


def settings(folder: Path, slack: str, minimum: str) -> Settings:
    (folder / "threadbook.toml").write_text(f'[sandbox]\nminimum = "{minimum}"\n')
    return load_settings({"SLACK_API_URL": slack}, cwd=folder)


@pytest.mark.parametrize(("level", "minimum"), [("none", "strong"), ("reduced", "strong"), ("none", "reduced")])
def test_a_sandbox_below_the_minimum_is_refused_on_real_slack_alone(tmp_path: Path, level: str, minimum: str) -> None:
    with pytest.raises(CannotStart, match=f"{level}.*{minimum}"):
        refuse_weak_sandbox(level, settings(tmp_path, REAL, minimum))
    refuse_weak_sandbox(level, settings(tmp_path, LOCAL, minimum))


@pytest.mark.parametrize(("level", "minimum"), [("strong", "strong"), ("strong", "none"), ("reduced", "reduced")])
def test_a_sandbox_that_is_good_enough_is_taken(tmp_path: Path, level: str, minimum: str) -> None:
    refuse_weak_sandbox(level, settings(tmp_path, REAL, minimum))
