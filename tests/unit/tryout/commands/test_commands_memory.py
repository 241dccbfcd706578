"""`threadbook memory` and `threadbook playbooks`, as whoever runs them sees it."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from core.rows import TurnRow
from core.settings import Settings, load_settings
from core.store import Store
from core.store.history import PlaybookUse
from core.values import TurnStatus
from tryout.commands import memory, playbooks

PAGE = """---
playbook: Monthly churn
when: How many customers left in a month?
inputs:
  - file: customers.csv
    columns: [customer_id, churned]
owner: Ana
---

## 1. Count who left
Shows: the number of customers

```python
print(1)
```
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    settings = load_settings({"THREADBOOK_HOME": str(tmp_path / "home")}, tmp_path)
    with closing(Store(settings.database_url)) as store:
        store.migrate()
    return settings


def write(settings: Settings, file: str, text: str) -> None:
    path = settings.memory_folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_an_entry_is_added_listed_and_forgotten(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    assert memory.run_add(settings, "everyone", "active customer = ordered in 90 days") == 0
    assert memory.run_add(settings, "everyone", "active customer = ordered in 30 days") == 1
    assert memory.run_list(settings, "active customers", "") == 0
    shown = capsys.readouterr()
    assert "everyone/definitions.md:3: active customer\n    ordered in 90 days\n    Kept by cli:" in shown.out
    assert "says something else" in shown.err
    assert memory.run_forget(settings, "everyone/definitions.md", "Active Customer") == 0
    assert memory.run_forget(settings, "everyone/definitions.md", "active customer") == 1
    assert memory.run_list(settings, "", "") == 0
    assert "0 entries" in capsys.readouterr().out


def test_an_entry_is_kept_before_the_first_question(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = load_settings({"THREADBOOK_HOME": str(tmp_path / "home")}, tmp_path)
    assert memory.run_add(settings, "everyone", "amounts are net of VAT") == 0
    assert memory.run_list(settings, "", "") == 0
    assert "amounts are net of VAT" in capsys.readouterr().out


def test_a_report_of_playbooks_before_the_first_question_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert playbooks.run_report(load_settings({"THREADBOOK_HOME": str(tmp_path / "home")}, tmp_path), 90) == 1
    assert "Nothing is stored yet" in capsys.readouterr().err


def test_an_entry_is_renamed_unless_another_one_has_the_title(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    page = "everyone/definitions.md"
    memory.run_add(settings, "everyone", "active customer = ordered in 90 days")
    memory.run_add(settings, "everyone", "GMV = all that was ordered")
    before = (settings.memory_folder / page).read_text("utf-8")
    assert memory.run_rename(settings, page, "active customer", "gmv") == 1
    assert memory.run_rename(settings, page, "active customer", " ") == 1
    assert memory.run_rename(settings, page, "nobody", "somebody") == 1
    assert (settings.memory_folder / page).read_text("utf-8") == before
    assert memory.run_rename(settings, page, "Active Customer", "active  client") == 0
    assert (settings.memory_folder / page).read_text("utf-8") == before.replace(
        "## active customer", "## active client"
    )
    assert "is now active client" in capsys.readouterr().out


def test_only_what_a_channel_reads_is_listed_for_it(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    write(settings, "channels/C1/definitions.md", "## a\nOne.\n")
    write(settings, "channels/C2/definitions.md", "## b\nTwo.\n")
    assert memory.run_list(settings, "", "C1") == 0
    shown = capsys.readouterr().out
    assert "One." in shown
    assert "Two." not in shown
    assert memory.run_list(settings, "", "../C2") == 1


def test_playbooks_are_listed_shown_and_checked(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    file = "everyone/playbooks/churn.md"
    write(settings, file, PAGE)
    assert playbooks.run_list(settings) == 0
    assert playbooks.run_show(settings, file) == 0
    assert playbooks.run_check(settings, []) == 0
    shown = capsys.readouterr().out
    assert f"{file}: Monthly churn (Ana)" in shown
    assert "1 playbook, nothing to mend." in shown
    write(settings, "everyone/playbooks/broken.md", PAGE.replace("when:", "wenn:"))
    write(settings, file, PAGE.replace("print(1)", "print(1"))
    assert playbooks.run_check(settings, []) == 1
    shown = capsys.readouterr().out
    assert "everyone/playbooks/broken.md:1: unknown name 'wenn'" in shown
    assert f"{file}:10: the code of stage “Count who left” is no Python: '(' was never closed in its line 1." in shown


def use(status: TurnStatus, *, drift: tuple[str, ...] = (), votes: tuple[tuple[str, str], ...] = ()) -> PlaybookUse:
    at = datetime.now(UTC)
    turn = TurnRow(
        id="t", thread_id="T:C:1.0", number=1, status=status, language="en", model="m", created_at=at, ended_at=at
    )
    return PlaybookUse(turn, "a.md", drift, False, False, votes)


def test_what_fails_drifts_is_voted_down_or_unused_is_said(settings: Settings) -> None:
    since = datetime.now(UTC) - timedelta(days=90)
    found = playbooks.standing(
        "a.md", [use("done"), use("stopped", drift=("x: gone",), votes=(("down", "wrong"),))], since
    )
    assert found.signs == (
        "failed in 1 of 2 threads",
        "drifted in 1 of 2 threads",
        "voted down in 1 of 2 threads",
        "drift: x: gone",
    )
    assert playbooks.standing("a.md", [], since).signs == ("unused",)
    assert playbooks.standing("a.md", [use("done")], since).signs == ()


def test_the_report_names_each_playbook(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    write(settings, "everyone/playbooks/churn.md", PAGE)
    assert playbooks.run_report(settings, 90) == 0
    assert "everyone/playbooks/churn.md: followed 0 times; 👍 0, 👎 0\n    unused" in capsys.readouterr().out
