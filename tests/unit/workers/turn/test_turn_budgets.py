"""What budgets allow: the tightest one counts, and the next call is reckoned before it is made."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from turn_kit import ASKED, REPLIED, message, write_turn

from core.rows import Spent
from core.settings import Settings, load_settings
from core.steps import Asked, Replied, Resumed, Step, Usage
from core.store import Store
from core.values import Lease
from workers.agent.turn import Allowance
from workers.turn.budgets import allowance, spent_of

PRICE = "[prices.'gpt-x']\ninput = 2\ncached = 1\noutput = 10\n"
QUESTION = Asked(user="U1", author="Ana", text="what sold best?", ts="1.0")
THREAD = message().thread.id


def replied(prompt: int, completion: int, cost: int | None = None) -> Replied:
    usage = Usage(prompt_tokens=prompt, completion_tokens=completion)
    return Replied(purpose="act", usage=usage, model="gpt-x", cost_micros=cost)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(f"sqlite:///{tmp_path}/store.db")
    opened.migrate()
    yield opened
    opened.close()


def decided(tmp_path: Path, team: str) -> Settings:
    (tmp_path / "threadbook.toml").write_text(team)
    return load_settings({"OPENAI_MODEL": "gpt-x"}, tmp_path)


def allowed(settings: Settings, store: Store, *steps: Step, thread_id: str = THREAD) -> Allowance | None:
    return allowance(settings, store, thread_id, "gpt-x", (QUESTION, *steps))


def test_without_a_budget_nothing_is_bounded(tmp_path: Path, store: Store) -> None:
    assert allowed(decided(tmp_path, PRICE), store, replied(10**9, 10**9)) is None


def test_a_first_call_is_reckoned_before_anything_was_counted(tmp_path: Path, store: Store) -> None:
    assert allowed(decided(tmp_path, "[budget]\nturn_tokens = 5000\n"), store) == Allowance(0, "turn")
    assert allowed(decided(tmp_path, "[budget]\nturn_tokens = 14000\n"), store) == Allowance(2, "turn")


def test_the_next_call_is_the_last_one_with_its_reply_and_an_output_behind_it(tmp_path: Path, store: Store) -> None:
    settings = decided(tmp_path, "[budget]\nturn_tokens = 40000\n[limits]\noutput_to_model_chars = 4000\n")
    # 10,000 are spent; the next takes 8,000 + 2,000 + 1,000 for the prompt and 2,000 for the reply
    assert allowed(settings, store, replied(8_000, 2_000)) == Allowance(30_000 // 13_000, "turn")


def test_money_is_counted_with_the_models_price(tmp_path: Path, store: Store) -> None:
    settings = decided(tmp_path, PRICE + "[budget]\nturn_cost = 0.1\n[limits]\noutput_to_model_chars = 4000\n")
    # 0.04 are spent; the next call costs 11,000 × 2 + 2,000 × 10 millionths
    assert allowed(settings, store, replied(8_000, 2_000, 40_000)) == Allowance(60_000 // 42_000, "turn")


def test_the_tightest_budget_is_named(tmp_path: Path, store: Store) -> None:
    turn = write_turn(store, [ASKED], "running")
    lease = Lease(thread_id=turn.thread_id, token=store.raise_fence(turn.thread_id), owner="test")
    store.append_step(lease, turn.id, REPLIED, spent=Spent(prompt_tokens=50_000), user="U1")
    limits = {"turn_tokens": 10**6, "thread_tokens": 200_000, "person_day_tokens": 150_000, "day_tokens": 100_000}
    for scope, name in (("day", "day_tokens"), ("person", "person_day_tokens"), ("thread", "thread_tokens")):
        team = "[budget]\n" + "\n".join(f"{key} = {value}" for key, value in limits.items())
        found = allowed(decided(tmp_path, team), store)
        assert found is not None
        assert found.scope == scope
        del limits[name]


def test_another_person_and_another_thread_have_budgets_of_their_own(tmp_path: Path, store: Store) -> None:
    turn = write_turn(store, [ASKED], "running")
    lease = Lease(thread_id=turn.thread_id, token=store.raise_fence(turn.thread_id), owner="test")
    store.append_step(lease, turn.id, REPLIED, spent=Spent(prompt_tokens=50_000), user="U2")
    settings = decided(tmp_path, "[budget]\nperson_day_tokens = 50000\nthread_tokens = 50000\n")
    assert allowed(settings, store) == Allowance(0, "thread")
    elsewhere = allowed(settings, store, thread_id="T1:C1:200.0")
    assert elsewhere is not None
    assert elsewhere.calls > 0


def test_a_turn_that_is_continued_keeps_to_the_budget_of_who_continues_it(tmp_path: Path, store: Store) -> None:
    turn = write_turn(store, [ASKED], "running")
    lease = Lease(thread_id=turn.thread_id, token=store.raise_fence(turn.thread_id), owner="test")
    store.append_step(lease, turn.id, REPLIED, spent=Spent(prompt_tokens=50_000), user="U2")
    settings = decided(tmp_path, "[budget]\nperson_day_tokens = 50000\n")
    resumed = [Resumed(user=user, author="", text="continue", ts="2.0") for user in ("U2", "U3")]
    assert allowed(settings, store, resumed[0]) == Allowance(0, "person")
    another = allowed(settings, store, *resumed)
    assert another is not None
    assert another.calls > 0


def test_a_call_that_was_not_counted_or_has_no_price_has_no_cost(tmp_path: Path) -> None:
    settings = decided(tmp_path, PRICE)
    usage = Usage(prompt_tokens=1_000, cached_tokens=600, completion_tokens=10)
    assert spent_of(usage, "gpt-x", settings) == Spent(1_000, 600, 10, cost_micros=800 + 600 + 100)
    assert spent_of(usage, "another", settings).cost_micros is None
    assert spent_of(Usage(), "gpt-x", settings).cost_micros is None
