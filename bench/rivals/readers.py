"""Reads one SELECT into a pandas DataFrame with somebody else's driver, in an environment of its own.

`python readers.py NAME URL TIMES` reads SQL from stdin, does it once to warm up, and prints the seconds of each further
time as JSON. Connecting counts: our broker's pool is compared as it is, and the difference is milliseconds.
"""

from __future__ import annotations

import json
import sys
import time


def adbc(url: str, sql: str) -> int:
    from adbc_driver_postgresql import dbapi  # noqa: PLC0415  each rival loads only what is its own

    with dbapi.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute(sql)
        return len(cursor.fetch_arrow_table().to_pandas())


def connectorx(url: str, sql: str) -> int:
    import connectorx as driver  # noqa: PLC0415

    return len(driver.read_sql(url, sql))


def read_sql(url: str, sql: str) -> int:
    import pandas as pd  # noqa: PLC0415
    from sqlalchemy import create_engine  # noqa: PLC0415

    with create_engine(url.replace("postgresql://", "postgresql+psycopg://")).connect() as connection:
        return len(pd.read_sql(sql, connection))


def main() -> None:
    name, url, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
    read = {"adbc": adbc, "connectorx": connectorx, "read_sql": read_sql}[name]
    sql = sys.stdin.read()
    rows = read(url, sql)
    found = []
    for _ in range(times):
        began = time.perf_counter()
        read(url, sql)
        found.append(time.perf_counter() - began)
    print(json.dumps({"rows": rows, "seconds": found}))


if __name__ == "__main__":
    main()
