"""Finds the parts of a source's URL that nobody may see."""

from __future__ import annotations

from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import SecretStr

SHORTEST = 3
"""A shorter part would also take pieces out of ordinary words."""


def secrets_of(url: SecretStr) -> set[str]:
    """The URL itself, its password and its host as they are written and as they are meant."""
    text = url.get_secret_value()
    found = {text}
    try:
        parts = urlsplit(text)
        found |= {parts.password or "", parts.hostname or "", parts.netloc.rpartition("@")[2]}
        for _, value in parse_qsl(parts.query):
            if "://" in value:  # an address among the options
                found |= {value, urlsplit(value).netloc, urlsplit(value).hostname or ""}
    except ValueError:
        found.add(text.partition("://")[2].partition("/")[0])
    found |= {unquote(part) for part in found}
    return {part for part in found if len(part) >= SHORTEST}
