"""A DuckDB file behind its driver: several threads may ask it at once."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from pydantic import SecretStr

from core.team_settings import SourceSettings
from workers.sources.drivers.base import Driver
from workers.sources.errors import SourceError
from workers.sources.opening import named_source, open_source
from workers.sources.values import Limits

LIMITS = Limits(10, 1 << 20, 10)


def test_a_file_is_opened_again_while_it_is_open_and_stays_locked(tmp_path: Path) -> None:
    file = tmp_path / "shop.duckdb"
    with closing(duckdb.connect(str(file))) as made:
        made.execute("CREATE TABLE orders AS SELECT 1 AS id")
    source = named_source("shop", SourceSettings(url_env="SHOP_URL"), SecretStr(f"duckdb:///{file}"))

    def rows(driver: Driver, sql: str) -> list[dict[str, object]]:
        with driver.run(sql, LIMITS) as result:
            return [row for batch in result.batches for row in batch.to_pylist()]

    with closing(open_source(source)) as one, closing(open_source(source)) as other:
        for driver in (one, other, one):
            assert rows(driver, "SELECT id FROM orders") == [{"id": 1}]
            with pytest.raises(SourceError):
                rows(driver, f"SELECT * FROM read_text('{__file__}')")
