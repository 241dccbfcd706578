"""The person who runs a command on a node: `may` needs this, and the audit records it."""

from __future__ import annotations

import os
import pwd
import sys
from collections.abc import Mapping
from contextlib import suppress

from sqlalchemy.exc import SQLAlchemyError

from core.access import Person, Resource, may
from core.actions import Action
from core.errors import OursToFix
from core.settings import Settings
from core.store import ADDRESS_ADVICE, Store, StoreDamaged


def operator(settings: Settings) -> str:
    """The name of whoever runs this process, as the audit has it: "cli:NAME@NODE"."""
    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container may have no name for it
        name = f"uid {os.getuid()}"
    return f"cli:{name}@{settings.node_id}"


def permitted(
    settings: Settings, store: Store, action: Action, resource: str, details: Mapping[str, int | str] | None = None
) -> bool:
    """Whether the operator may; either answer is written into the audit. Says on stderr why not."""
    allowed = allows(settings, store, action, resource, details)
    if not allowed:
        print(f"threadbook: {not_allowed(action)}", file=sys.stderr)
    return allowed


def allows(
    settings: Settings, store: Store, action: Action, resource: str, details: Mapping[str, int | str] | None = None
) -> bool:
    """Whether the operator may; either answer is written into the audit, and nothing is said.

    Raises StoreTooNew before anything is read or written that a newer version keeps elsewhere: a purge would leave it.
    """
    store.check_schema()
    actor = operator(settings)
    allowed = bool(may(Person(actor, "operator"), action, Resource(resource, settings.access_rules())))
    store.audit(actor, action.value, resource, "done" if allowed else "refused", details=details)
    return allowed


def not_allowed(action: Action) -> str:
    """Why an operator may not do this, in a sentence."""
    return f"[access] in threadbook.toml allows no operator to {action.value}."


NOTHING_YET = (
    "Nothing is stored yet: start `make run`, or `threadbook bot` and `threadbook worker`, and ask a question."
)


def why_unreadable(store: Store, error: Exception) -> str:
    """Why a command found nothing in the Store, in a sentence: nothing was ever stored there, or it is unavailable."""
    with suppress(SQLAlchemyError):
        if store.is_new():
            return NOTHING_YET
    if isinstance(error, StoreDamaged):
        return str(error)
    # Errors of ours quote no row and no password; others might.
    reason = (str(error).splitlines() or [""])[0][:200] if isinstance(error, OursToFix) else ""
    advice = getattr(error, "advice", ADDRESS_ADVICE)
    return f"The Store cannot be read: {reason or type(error).__name__}. {advice}"
