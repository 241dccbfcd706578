"""Who calls: token kinds and scopes."""

from __future__ import annotations

import secrets

from playground.api.call import Method
from playground.errors import SlackError
from playground.options import Options


def authorise(method: Method, token: str, options: Options) -> None:
    """Allows the call, or raises not_authed, invalid_auth, token_revoked, not_allowed_token_type, missing_scope."""
    if not token:
        raise SlackError("not_authed")
    kinds = {"bot": options.bot_token, "app": options.app_token}
    kind = next((name for name, known in kinds.items() if secrets.compare_digest(token.encode(), known.encode())), "")
    if not kind:
        raise SlackError("invalid_auth")
    if kind == "bot" and options.revoked:
        raise SlackError("token_revoked")
    if kind != method.caller:
        raise SlackError("not_allowed_token_type")
    if method.scope and method.caller == "bot" and method.scope not in options.scopes:
        raise SlackError("missing_scope", needed=method.scope, provided=",".join(options.scopes))


def bearer(header: str) -> str:
    """The token of an Authorization header, empty when there is none."""
    scheme, _, token = header.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
