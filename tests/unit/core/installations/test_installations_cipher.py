"""Tokens at rest."""

from __future__ import annotations

import pytest
from cryptography.fernet import Fernet

from core.errors import SettingsError
from core.installations.cipher import BotTokens, TokenCipher, Undecipherable

OLD, NEW = Fernet.generate_key().decode(), Fernet.generate_key().decode()
TOKENS = BotTokens("xoxb-ana-secret", "xoxe-1-refresh")


def test_a_token_is_read_back_and_stands_nowhere_in_its_secret() -> None:
    cipher = TokenCipher(OLD)
    secret = cipher.encrypt("E1", "T1", TOKENS)
    assert "xoxb" not in secret
    assert "xoxb" not in repr(TOKENS)
    assert cipher.decrypt("E1", "T1", secret) == TOKENS


@pytest.mark.parametrize("ids", [("E1", "T2"), ("E2", "T1"), ("", "T1"), ("E1", "")])
def test_a_secret_that_was_moved_to_another_workspace_is_refused(ids: tuple[str, str]) -> None:
    cipher = TokenCipher(OLD)
    with pytest.raises(Undecipherable, match="another workspace"):
        cipher.decrypt(*ids, cipher.encrypt("E1", "T1", TOKENS))


def test_a_key_is_exchanged_without_losing_a_token() -> None:
    before = TokenCipher(OLD).encrypt("", "T1", TOKENS)
    both = TokenCipher(f"{NEW}, {OLD}")
    assert both.decrypt("", "T1", before) == TOKENS
    after = both.rotate(before)
    assert TokenCipher(NEW).decrypt("", "T1", after) == TOKENS
    with pytest.raises(Undecipherable, match="THREADBOOK_TOKEN_KEYS"):
        TokenCipher(OLD).decrypt("", "T1", after)


def test_a_secret_of_an_unknown_key_is_not_rotated() -> None:
    with pytest.raises(Undecipherable):
        TokenCipher(NEW).rotate(TokenCipher(OLD).encrypt("", "T1", TOKENS))


KEYS = {"empty": "", "blank": " , ", "no key": "not-a-key", "one key": f"{OLD},hunter2"}


@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS)
def test_keys_that_are_none_are_refused_without_quoting_them(keys: str) -> None:
    with pytest.raises(SettingsError, match="Make a key") as refused:
        TokenCipher(keys)
    assert "hunter2" not in str(refused.value)
    assert OLD not in str(refused.value)
