"""Tokens under another key, while bots and workers go on."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from core.installations.cipher import BotTokens, TokenCipher
from core.installations.rotation import rotate
from core.store import Store
from core.store.installations import Installed

OLD, NEW, LOST = (Fernet.generate_key().decode() for _ in range(3))
AT = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(f"sqlite:///{tmp_path}/store.db")
    opened.migrate()
    for enterprise, team in (("", "T1"), ("E1", "T2"), ("E1", "")):
        secret = TokenCipher(OLD).encrypt(enterprise, team, BotTokens(f"xoxb-{team}", "xoxe-1"))
        opened.save_installation(Installed(enterprise, team, secret, AT, AT))
    yield opened
    opened.close()


def test_afterwards_the_old_key_is_not_needed(store: Store) -> None:
    outcome = rotate(store, TokenCipher(f"{NEW},{OLD}"))
    assert (outcome.done, outcome.busy, outcome.failed) == (3, [], {})
    for each in store.installations():
        assert TokenCipher(NEW).decrypt(each.enterprise, each.team, each.secret).token == f"xoxb-{each.team}"
        assert each.expires_at == AT


def test_it_may_be_run_again(store: Store) -> None:
    both = TokenCipher(f"{NEW},{OLD}")
    assert rotate(store, both).done == rotate(store, both).done == 3


def test_a_token_that_is_being_exchanged_is_left_alone_and_named(store: Store) -> None:
    before = store.installation("", "T1")
    assert before is not None
    assert store.claim_refresh("", "T1", datetime.now(UTC) + timedelta(minutes=1))
    outcome = rotate(store, TokenCipher(f"{NEW},{OLD}"))
    assert (outcome.done, outcome.busy) == (2, ["T1"])
    assert store.replace_secret(before, "what the exchange gave", AT), "the exchange finds what it began with"


def test_a_token_under_a_key_that_is_gone_is_named_and_the_others_are_done(store: Store) -> None:
    secret = TokenCipher(LOST).encrypt("", "T9", BotTokens("xoxb-9"))
    store.save_installation(Installed("", "T9", secret, AT))
    outcome = rotate(store, TokenCipher(f"{NEW},{OLD}"))
    assert outcome.done == 3
    assert "THREADBOOK_TOKEN_KEYS" in outcome.failed["T9"]
