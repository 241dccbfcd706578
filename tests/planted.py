"""Looks for a planted word in everything that the product keeps: files, tables, keys."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from redis import Redis
from sqlalchemy import MetaData, create_engine, select


def places(word: str, *, folders: tuple[Path, ...] = (), database: str = "", redis: Redis | None = None) -> list[str]:
    """Where the word stands: paths of files (also in their names), tables and keys."""
    found = [str(path) for folder in folders for path in _files(folder) if _holds(path, word)]
    found += [f"table {name}" for name, row in _rows(database) if word in repr(row)]
    found += [f"key {key!r}" for key, value in _keys(redis) if word in repr((key, value))]
    return sorted(set(found))


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def _holds(path: Path, word: str) -> bool:
    return word in path.name or word.encode() in path.read_bytes()


def _rows(database: str) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Every row of every table that the database has, also of those that we do not know."""
    if not database:
        return
    engine = create_engine(database)
    metadata = MetaData()
    metadata.reflect(engine)
    with engine.connect() as connection:
        for table in metadata.tables.values():
            for row in connection.execute(select(table)):
                yield table.name, tuple(row)
    engine.dispose()


def _keys(redis: Redis | None) -> Iterator[tuple[Any, Any]]:
    if redis is None:
        return
    read = {
        b"string": redis.get,
        b"hash": redis.hgetall,
        b"set": redis.smembers,
        b"list": lambda key: redis.lrange(key, 0, -1),
        b"zset": lambda key: redis.zrange(key, 0, -1, withscores=True),
    }
    for key in redis.scan_iter(count=1_000):
        yield key, read[redis.type(key)](key)
