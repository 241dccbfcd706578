"""Who calls: token kinds and scopes."""

from __future__ import annotations

import secrets
from collections.abc import Collection

from playground.api.call import Method
from playground.errors import SlackError
from playground.options import Options


def authorise(method: Method, token: str, options: Options, granted: Collection[str] = ()) -> None:
    """Allows the call, or raises not_authed, invalid_auth, token_revoked, not_allowed_token_type, missing_scope."""
    if not token:
        raise SlackError("not_authed")
    kind = "bot" if is_bots(token, options, granted) else "app" if _same(token, options.app_token) else ""
    if not kind:
        raise SlackError("token_revoked" if options.client_id and token.startswith("xox") else "invalid_auth")
    if kind == "bot" and options.revoked:
        raise SlackError("token_revoked")
    if kind != method.caller:
        raise SlackError("not_allowed_token_type")
    if method.scope and method.caller == "bot" and method.scope not in options.scopes:
        raise SlackError("missing_scope", needed=method.scope, provided=",".join(options.scopes))


def is_bots(token: str, options: Options, granted: Collection[str]) -> bool:
    """Whether it is the bot's token: the one of the options or, with OAuth, one that was granted and still counts."""
    return token in granted if options.client_id else _same(token, options.bot_token)


def _same(one: str, other: str) -> bool:
    return secrets.compare_digest(one.encode(), other.encode())


def bearer(header: str) -> str:
    """The token of an Authorization header, empty when there is none."""
    scheme, _, token = header.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
