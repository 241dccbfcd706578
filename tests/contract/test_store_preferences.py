"""What people chose is kept by workspace and subject, on SQLite and on Postgres alike."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from core.store import Store


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    opened = Store(store_url)
    opened.migrate()
    yield opened
    opened.close()


def test_choices_are_kept_by_workspace_and_subject(store: Store) -> None:
    store.save_preferences("T1", "U1", {"language": "zh", "staged": True}, "U1")
    store.save_preferences("T1", "C1", {"instructions": "in k\x00 EUR"}, "U2")
    store.save_preferences("T2", "U1", {"language": "en"}, "U1")
    found = store.preferences("T1", ["", "U1", "C1", "U9"])
    assert found == {"U1": {"language": "zh", "staged": True}, "C1": {"instructions": "in k\ufffd EUR"}}
    assert store.preferences("T2", ["U1"]) == {"U1": {"language": "en"}}
    assert store.preferences("T3", ["U1"]) == {}


def test_a_change_says_what_really_changed_and_none_takes_a_choice_back(store: Store) -> None:
    assert store.save_preferences("T1", "", {"approvals.ask": "risky"}, "U1") == {"approvals.ask": (None, "risky")}
    assert store.save_preferences("T1", "", {"approvals.ask": "risky"}, "U1") == {}
    changed = store.save_preferences("T1", "", {"approvals.ask": None, "budget.day_tokens": "9"}, "U2")
    assert changed == {"approvals.ask": ("risky", None), "budget.day_tokens": (None, "9")}
    assert store.preferences("T1", [""]) == {"": {"budget.day_tokens": "9"}}


def test_people_who_change_different_things_at_once_all_count(store: Store) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: store.save_preferences("T1", "", {f"name{n}": str(n)}, "U1"), range(12)))
    assert store.preferences("T1", [""]) == {"": {f"name{n}": str(n) for n in range(12)}}


def test_what_a_person_chose_can_be_forgotten(store: Store) -> None:
    for team in ("T1", "T2"):
        store.save_preferences(team, "U1", {"language": "zh"}, "U1")
    store.save_preferences("T1", "U2", {"language": "zh"}, "U2")
    assert store.forget_preferences("U1") == 2
    assert store.preferences("T1", ["U1", "U2"]) == {"U2": {"language": "zh"}}
