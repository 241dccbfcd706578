"""What a client of AWS reads from its own package is read once. Each new client would read it all again."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest
from aiobotocore.httpsession import AIOHTTPSession
from botocore.loaders import JSONFileLoader


@contextmanager
def used() -> Iterator[None]:
    """Inside the block clients share the descriptions of AWS's services, and what they trust without a certificate."""
    read, make = JSONFileLoader.load_file, AIOHTTPSession._build_verify_context

    @cache
    def described(path: str) -> Any:
        return read(JSONFileLoader(), path)

    @cache
    def trusted(file: str | None, folder: str | None) -> ssl.SSLContext:
        return make(AIOHTTPSession())

    def sharing(session: AIOHTTPSession) -> ssl.SSLContext:
        if session._verify is not True or session._cert_file:
            return make(session)
        return trusted(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(JSONFileLoader, "load_file", lambda _, path: described(path))
        patch.setattr(AIOHTTPSession, "_build_verify_context", sharing)
        yield
