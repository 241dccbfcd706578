"""Every stored token under the newest key, so that an old key can be removed."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from core.installations.cipher import TokenCipher, Undecipherable
from core.installations.tokens import EXCHANGE_S
from core.store import Store


@dataclass
class Rotation:
    """How many tokens are under the newest key, and the workspaces whose tokens are not, with the reason."""

    done: int = 0
    busy: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


def rotate(store: Store, cipher: TokenCipher) -> Rotation:
    """Encrypt every token with the first key, while bots and workers go on. Raises StoreUnreachable.

    A token that is just being exchanged is left alone: what its exchange stores must find the secret that it began
    with, or Slack's new refresh token would be lost.
    """
    outcome = Rotation()
    for listed in store.installations():
        enterprise, team = listed.enterprise, listed.team
        name = team or enterprise
        if not store.claim_refresh(enterprise, team, datetime.now(UTC) + timedelta(seconds=EXCHANGE_S)):
            if store.installation(enterprise, team) is not None:
                outcome.busy.append(name)
            continue
        installed = store.installation(enterprise, team)
        if installed is None:
            continue  # uninstalled meanwhile
        try:
            secret = cipher.rotate(installed.secret)
        except Undecipherable as error:
            outcome.failed[name] = str(error)
            continue
        if store.replace_secret(installed, secret, installed.expires_at):
            outcome.done += 1
        else:
            outcome.busy.append(name)
    return outcome
