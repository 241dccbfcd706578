"""OAuth: a page where a person consents, codes that count once, tokens, and the end of an installation."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from playground.errors import SlackError
from playground.grants import Grants
from playground.hub import Playground

CODE_TTL_S = 600.0
TOKEN_TTL_S = 43_200
NOT_USED_HERE = {"mpim:history", "mpim:read"}
"""Scopes that may be asked for although this workspace has no group messages."""

_PAGE = Markup("""<!doctype html><html lang="en"><meta charset="utf-8"><title>Install {app}</title>
<link rel="stylesheet" href="/static/page.css"><main>
<h1>{app} would like to be installed in {team}</h1><p>It asks for:</p><ul>{scopes}</ul>
<form method="post"><button name="answer" value="allow">Allow</button>
<button name="answer" value="cancel">Cancel</button></form></main></html>""")


async def consent(request: Request) -> Response:
    """GET shows the page; POST is the person's answer, and leads back to the app."""
    hub: Playground = request.app.state.hub
    options, given = hub.options, request.query_params
    back = given.get("redirect_uri") or options.redirect_url
    if not options.client_id or given.get("client_id") != options.client_id:
        return PlainTextResponse("invalid_client_id", 400)
    if not options.redirect_url or back != options.redirect_url:
        return PlainTextResponse("bad_redirect_uri", 400)
    asked = tuple(scope for scope in given.get("scope", "").split(",") if scope)
    if unknown := set(asked) - set(options.scopes) - NOT_USED_HERE:
        return PlainTextResponse(f"invalid_scope: {', '.join(sorted(unknown))}", 400)
    if request.method == "GET":
        app, team = hub.space.bot.name, hub.space.team_name
        items = Markup("").join(Markup("<li><code>{}</code></li>").format(scope) for scope in asked)
        page = _PAGE.format(app=escape(app), team=escape(team), scopes=items)
        own = urlsplit(back)
        # The form leads back to the app, which is another origin.
        policy = f"default-src 'none'; style-src 'self'; form-action 'self' {own.scheme}://{own.netloc}"
        return HTMLResponse(page, headers={"Content-Security-Policy": policy, "Cache-Control": "no-store"})
    form = await request.form()
    answer: dict[str, str] = {"error": "access_denied"}
    if form.get("answer") == "allow":
        code = secrets.token_urlsafe(24)
        hub.grants.codes[code] = (hub.time.now(), given.get("redirect_uri", ""))
        answer = {"code": code}
    answer["state"] = given.get("state", "")
    return RedirectResponse(f"{back}?{urlencode(answer)}", 302)


def access(hub: Playground, given: Mapping[str, Any], basic: tuple[str, str]) -> dict[str, Any]:
    """oauth.v2.access: a code, or a refresh token, for a token. Raises SlackError."""
    options, grants = hub.options, hub.grants
    client, secret = basic if basic[0] else (str(given.get("client_id", "")), str(given.get("client_secret", "")))
    if not options.client_id or client != options.client_id:
        raise SlackError("invalid_client_id")
    if not secrets.compare_digest(secret.encode(), options.client_secret.encode()):
        raise SlackError("bad_client_secret")
    if given.get("grant_type") == "refresh_token":
        refresh = str(given.get("refresh_token", ""))
        if refresh not in grants.refreshes:
            raise SlackError("invalid_refresh_token")
        grants.refreshes.remove(refresh)
        return {"token_type": "bot", **_token(hub)}
    at, redirect_uri = grants.codes.pop(str(given.get("code", "")), (0.0, ""))
    if not at or hub.time.now() - at > CODE_TTL_S:
        raise SlackError("invalid_code")
    if redirect_uri != str(given.get("redirect_uri") or ""):
        raise SlackError("bad_redirect_uri")
    people = [each for each in hub.space.users.values() if not each.is_bot]
    return {
        "app_id": hub.space.app_id,
        "authed_user": {"id": people[0].id},
        "scope": ",".join(options.scopes),
        "token_type": "bot",
        "bot_user_id": hub.space.bot.id,
        "team": {"id": hub.space.team_id, "name": hub.space.team_name},
        "enterprise": None,
        "is_enterprise_install": False,
        **_token(hub),
    }


def uninstall(hub: Playground) -> None:
    """Somebody uninstalls the app: no token counts any more, and the app is told by both events."""
    tokens, hub.grants = hub.grants.tokens, Grants()
    hub.emit("tokens_revoked", {"type": "tokens_revoked", "tokens": {"bot": [hub.space.bot.id] if tokens else []}})
    hub.emit("app_uninstalled", {"type": "app_uninstalled"})


def _token(hub: Playground) -> dict[str, Any]:
    rotates = hub.options.rotates_tokens
    token = f"{'xoxe.xoxb-1' if rotates else 'xoxb'}-{secrets.token_urlsafe(24)}"
    hub.grants.tokens.add(token)
    if not rotates:
        return {"access_token": token}
    refresh = f"xoxe-1-{secrets.token_urlsafe(24)}"
    hub.grants.refreshes.add(refresh)
    return {"access_token": token, "refresh_token": refresh, "expires_in": TOKEN_TTL_S}
