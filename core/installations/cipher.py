"""Tokens at rest: encrypted with the keys of THREADBOOK_TOKEN_KEYS.

The first key encrypts, each of them decrypts. So a key is exchanged by putting a new one in front, running
`threadbook installations rotate`, and removing the old one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from core.errors import OursToFix, SettingsError

HOW = 'python -c "from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())"'


class Undecipherable(OursToFix):
    """A stored token cannot be decrypted. Names the workspace, never the token."""


@dataclass(frozen=True, slots=True)
class BotTokens:
    """What Slack gave an installation: the token, and what a new one is got with if it expires."""

    token: str = field(repr=False)
    refresh: str = field(default="", repr=False)


class TokenCipher:
    """Encrypts the tokens of one installation. A token that was encrypted for another installation is refused."""

    def __init__(self, keys: str) -> None:
        """`keys` are Fernet keys with commas between them, the newest first. Raises SettingsError."""
        given = [key.strip() for key in keys.split(",") if key.strip()]
        try:
            self._fernet = MultiFernet([Fernet(key) for key in given])
        except (ValueError, TypeError):  # the message would say what the key looks like
            raise SettingsError(
                "THREADBOOK_TOKEN_KEYS must be one or several keys with commas between them, the newest first. "
                f"Make a key: {HOW}"
            ) from None

    def encrypt(self, enterprise: str, team: str, tokens: BotTokens) -> str:
        """The tokens as they are stored. They can only be read for the same ids."""
        given = {"of": [enterprise, team], "token": tokens.token, "refresh": tokens.refresh}
        return self._fernet.encrypt(json.dumps(given).encode()).decode()

    def decrypt(self, enterprise: str, team: str, secret: str) -> BotTokens:
        """The stored tokens of an installation. Raises Undecipherable."""
        name = team or enterprise
        try:
            found = json.loads(self._fernet.decrypt(secret))
        except InvalidToken:
            raise Undecipherable(
                f"the token of {name} was encrypted with a key that is not in THREADBOOK_TOKEN_KEYS: put that key "
                "back, or let the workspace install the app again"
            ) from None
        if found["of"] != [enterprise, team]:
            raise Undecipherable(f"the token that is stored for {name} belongs to another workspace")
        return BotTokens(found["token"], found["refresh"])

    def rotate(self, secret: str) -> str:
        """The same secret, encrypted with the first key. Raises Undecipherable."""
        try:
            return self._fernet.rotate(secret).decode()
        except InvalidToken:
            raise Undecipherable("a token was encrypted with a key that is not in THREADBOOK_TOKEN_KEYS") from None
