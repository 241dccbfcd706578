"""`threadbook eval` asks what is not answered yet, keeps each answer at once, and says how it went by its exit code."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from core.settings import Settings, load_settings
from tryout.evals import run as eval_room
from tryout.evals.asking import Job, Manner
from tryout.evals.results import Result
from tryout.evals.rubric import read_grade
from tryout.evals.run import Options, model_environment, run
from tryout.stack.processes import ProcessDied

LINES = [
    {"id": name, "question": f"{name}?", "files": ["t.csv"], "answers": {"x": 1}, "tags": [name]} for name in "abc"
]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings({}, tmp_path)


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_text("x\n1\n")
    path = tmp_path / "suite.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in LINES))
    return path


@dataclass
class Asking:
    """In place of the stack: the names of what was asked, and after how many the worker ends."""

    names: list[str] = field(default_factory=list)
    ends_after: int = 10_000

    def ask_all(self, jobs: Sequence[Job], manner: Manner, say: Any) -> Iterator[Result]:
        for job in jobs:
            if len(self.names) >= self.ends_after:
                raise ProcessDied("the worker ended")
            self.names.append(f"{job.question.id}#{job.repeat}")
            yield Result(
                id=job.question.id,
                repeat=job.repeat,
                outcome="wrong" if job.question.id == "b" else "right",
                sha=job.question.sha,
                data=job.data,
                style="plain" if manner.plain else "tags",
            )


@pytest.fixture
def asking(monkeypatch: pytest.MonkeyPatch) -> Asking:
    made = Asking()
    monkeypatch.setattr(eval_room, "ask_all", made.ask_all)
    return made


def test_each_question_is_asked_and_its_result_is_kept(
    settings: Settings, suite: Path, asking: Asking, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = Options(model="offline", repeat=2, out=tmp_path / "out", as_json=True)
    assert run(settings, suite, options) == 0
    assert asking.names == ["a#1", "b#1", "c#1", "a#2", "b#2", "c#2"]
    shown = json.loads(capsys.readouterr().out)
    assert shown["summary"]["outcomes"] == {"right": 4, "wrong": 2}
    assert (shown["model"], shown["style"], len(shown["results"])) == ("offline", "plain", 6)


def test_an_interrupted_run_goes_on_where_it_ended(
    settings: Settings, suite: Path, asking: Asking, tmp_path: Path
) -> None:
    options = Options(model="offline", out=tmp_path / "out")
    asking.ends_after = 2
    assert run(settings, suite, options) == 1
    asking.ends_after = 10_000
    assert run(settings, suite, options) == 0
    assert asking.names == ["a#1", "b#1", "c#1"]
    assert run(settings, suite, options) == 0
    assert len(asking.names) == 3


def test_a_question_or_a_file_that_changed_is_asked_again(
    settings: Settings, suite: Path, asking: Asking, tmp_path: Path
) -> None:
    options = Options(model="offline", out=tmp_path / "out")
    run(settings, suite, options)
    suite.write_text(suite.read_text().replace("b?", "really b?"))
    run(settings, suite, options)
    assert asking.names[3:] == ["b#1"]
    (tmp_path / "t.csv").write_text("x\n2\n")
    run(settings, suite, options)
    assert asking.names[4:] == ["a#1", "b#1", "c#1"]


def test_asking_in_another_way_asks_again(settings: Settings, suite: Path, asking: Asking, tmp_path: Path) -> None:
    options = Options(model="offline", out=tmp_path / "out")
    run(settings, suite, options)
    run(settings, suite, replace(options, plain=False))
    assert len(asking.names) == 6


def test_questions_are_chosen_by_id_or_tag(settings: Settings, suite: Path, asking: Asking, tmp_path: Path) -> None:
    assert run(settings, suite, Options(model="offline", out=tmp_path / "out", only=("c",))) == 0
    assert asking.names == ["c#1"]
    assert run(settings, suite, Options(model="offline", out=tmp_path / "out", only=("z",))) == 2


def test_two_runs_are_compared_pair_by_pair(
    settings: Settings, suite: Path, asking: Asking, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text(
        "\n".join(Result(id=name, outcome="right" if name == "b" else "wrong").model_dump_json() for name in "abc")
    )
    options = Options(model="offline", out=tmp_path / "out", against=other, as_json=True)
    assert run(settings, suite, options) == 0
    compared = json.loads(capsys.readouterr().out)["compared"]
    assert (compared["pairs"], compared["only_first"], compared["only_second"]) == (3, ["b#1"], ["a#1", "c#1"])


def test_too_few_right_answers_have_an_exit_code_of_their_own(
    settings: Settings, suite: Path, asking: Asking, tmp_path: Path
) -> None:
    assert run(settings, suite, Options(model="offline", out=tmp_path / "out", at_least=0.9)) == 3
    assert run(settings, suite, Options(model="offline", out=tmp_path / "out", at_least=0.6)) == 0


def test_a_bad_suite_or_a_model_without_a_key_is_refused(
    settings: Settings, suite: Path, asking: Asking, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(settings, suite, Options(model="gpt-x", out=tmp_path / "out")) == 2
    assert "OPENAI_API_KEY" in capsys.readouterr().err
    suite.write_text("{")
    assert run(settings, suite, Options(model="offline", out=tmp_path / "out")) == 2
    assert asking.names == []


def test_the_model_of_the_settings_counts_unless_another_is_named(tmp_path: Path) -> None:
    with_key = load_settings({"OPENAI_API_KEY": "k", "OPENAI_MODEL": "m1"}, tmp_path)
    assert model_environment(with_key, "") == ({}, "m1")
    assert model_environment(with_key, "m2") == ({"THREADBOOK_MODEL": "openai", "OPENAI_MODEL": "m2"}, "m2")
    assert model_environment(with_key, "offline") == ({"THREADBOOK_MODEL": "offline"}, "offline")
    assert model_environment(load_settings({}, tmp_path), "") == ({}, "offline")


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        ('{"met": [true, true], "why": ""}', "right"),
        ('```json\n{"met": [true, false], "why": "no caveat"}\n```', "wrong"),
        ('{"met": [true]}', "error"),
        ('{"met": "yes"}', "error"),
        ('{"met": [1, 1]}', "error"),
        ("both are met", "error"),
        ("", "error"),
    ],
)
def test_a_grade_counts_only_when_it_judges_every_criterion(reply: str, outcome: str) -> None:
    assert read_grade(reply, 2).outcome == outcome


def test_what_a_team_has_learned_is_part_of_what_was_asked(
    settings: Settings, suite: Path, asking: Asking, tmp_path: Path
) -> None:
    memory = tmp_path / "memory" / "everyone" / "playbooks"
    memory.mkdir(parents=True)
    page = memory / "churn.md"
    page.write_text("---\nplaybook: Churn\n---\n")
    options = Options(model="offline", out=tmp_path / "out", memory=tmp_path / "memory")
    for _ in range(2):
        assert run(settings, suite, options) == 0
    assert len(asking.names) == len(LINES), "the same questions with the same playbooks are not asked again"
    page.write_text("---\nplaybook: Refunds\n---\n")
    assert run(settings, suite, options) == 0
    assert len(asking.names) == 2 * len(LINES)


def test_two_folders_of_what_a_team_has_learned_are_refused(
    settings: Settings, suite: Path, asking: Asking, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = settings.memory.model_copy(update={"folder": "elsewhere"})
    both = settings.model_copy(update={"memory": memory})
    assert run(both, suite, Options(model="offline", out=tmp_path / "out", memory=tmp_path)) == 2
    assert "[memory] folder" in capsys.readouterr().err
    assert asking.names == []
