"""The scheme of a source's URL tells its kind; a URL that cannot be used is refused without being quoted."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from core.team_settings import SourceSettings
from workers.sources.errors import Misconfigured
from workers.sources.opening import SCHEMES, named_source

SETTINGS = SourceSettings(url_env="SHOP_URL")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_scheme_tells_the_kind(scheme: str) -> None:
    assert named_source("shop", SETTINGS, SecretStr(f"{scheme}://somewhere/shop")).kind is SCHEMES[scheme]


@pytest.mark.parametrize("url", ["gopher://ana:hunter2@host/shop", "hunter2", "oracle://ana:hunter2@host/shop"])
def test_a_url_that_cannot_be_asked_is_refused_and_not_quoted(url: str) -> None:
    with pytest.raises(Misconfigured) as refused:
        named_source("shop", SETTINGS, SecretStr(url))
    assert "hunter2" not in str(refused.value)
