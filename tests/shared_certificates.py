"""The list of certificate authorities is read once. Each client of httpx reads it, also one that talks to 127.0.0.1."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import httpx
import pytest
from httpx._transports import default


@contextmanager
def used() -> Iterator[None]:
    """Inside the block clients of httpx that ask for nothing special share what they trust."""
    make = httpx.create_ssl_context

    @cache
    def shared(trust_env: bool, file: str | None, folder: str | None) -> ssl.SSLContext:
        return make(trust_env=trust_env)

    def sharing(verify: ssl.SSLContext | bool = True, cert: None = None, trust_env: bool = True) -> ssl.SSLContext:
        if verify is not True or cert is not None:
            return make(verify, cert, trust_env)
        return shared(trust_env, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(default, "create_ssl_context", sharing)
        yield
