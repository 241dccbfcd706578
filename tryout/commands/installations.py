"""`threadbook installations`: which workspaces have installed the app, and their tokens under another key."""

from __future__ import annotations

import json
import sys
from contextlib import closing

from rich.console import Console
from rich.text import Text
from sqlalchemy.exc import SQLAlchemyError

from core.actions import Action
from core.errors import OursToFix
from core.installations.rotation import rotate
from core.installations.tokens import cipher_of
from core.settings import Settings
from core.store import Store
from core.store.installations import Installed
from tryout.commands.operator import operator, permitted, why_unreadable
from tryout.commands.show import printable
from workers.agent.text import one_line


def run_list(settings: Settings, *, as_json: bool = False) -> int:
    """Print them without their tokens; 1 when the operator may not see them."""
    with closing(Store(settings.database_url)) as store:
        try:
            if not permitted(settings, store, Action.STATUS, "installations"):
                return 1
            found = store.installations()
        except (OursToFix, SQLAlchemyError) as error:
            print(why_unreadable(store, error), file=sys.stderr)
            return 1
    if as_json:
        print(json.dumps([_document(each) for each in found], ensure_ascii=False))
        return 0
    console = Console(highlight=False, soft_wrap=True)
    for each in found:
        name = one_line(str(each.about.get("team_name") or each.about.get("enterprise_name") or ""), 80)
        place = each.team or f"{each.enterprise} (the whole organisation)"
        ends = f", token until {each.expires_at:%Y-%m-%d %H:%M} UTC" if each.expires_at else ""
        console.print(Text(printable(f"{place} {name} · since {each.installed_at:%Y-%m-%d}{ends}")))
    if not found:
        console.print(Text("No workspace has installed the app. The install page is /slack/install of the bot."))
    return 0


def run_rotate(settings: Settings) -> int:
    """Encrypt every token with the first key; 1 when one could not be."""
    with closing(Store(settings.database_url)) as store:
        try:
            outcome = rotate(store, cipher_of(settings))
            store.audit(operator(settings), "rotate", "installations", "done", details={"count": outcome.done})
        except SQLAlchemyError as error:
            print(why_unreadable(store, error), file=sys.stderr)
            return 1
    print(f"{outcome.done} {'token is' if outcome.done == 1 else 'tokens are'} encrypted with the first key now.")
    for team in outcome.busy:
        print(f"{team}: its token is just being exchanged. Run the command again in a minute.", file=sys.stderr)
    for team, why in outcome.failed.items():
        print(f"{team}: {why}.", file=sys.stderr)
    if outcome.busy or outcome.failed:
        print("Keep the old keys in THREADBOOK_TOKEN_KEYS until every token is done.", file=sys.stderr)
        return 1
    return 0


def _document(each: Installed) -> dict[str, object]:
    return {
        "team": each.team,
        "enterprise": each.enterprise,
        "name": each.about.get("team_name") or each.about.get("enterprise_name") or "",
        "installer": each.about.get("installer", ""),
        "installed_at": each.installed_at.isoformat(),
        "expires_at": each.expires_at.isoformat() if each.expires_at else None,
    }
