"""A prefix of an S3 bucket with Parquet and CSV files: each file is a table, so is each folder of files of one kind.

The walls, beside those of every DuckDB: the engine gets no extension that speaks HTTP. It reads through a file system
of ours, which has the credentials, opens keys below the prefix and nothing else, and cannot write.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import duckdb
from fsspec import AbstractFileSystem

from workers.sources.drivers.duck import CONFIG, LockedDuckDB, lock
from workers.sources.drivers.file_views import create_view, found_unlike
from workers.sources.drivers.folder import MOST_TABLES, READERS, table_name
from workers.sources.errors import Misconfigured, SourceAway, SourceError
from workers.sources.values import Source

OPTIONS = {"endpoint", "region"}
MOST_FILES = 50_000
FILES_BY_NAME = 100
"""Files of a prefix that are all looked into for columns and types, each with a request or two to the bucket."""
CONNECT_S, READ_S, TRIES = 5, 20, 2


@dataclass(frozen=True, repr=False)
class Place:
    """What a URL `s3://KEY:SECRET@bucket/prefix?endpoint=https://…&region=…` says. `root` is `bucket/prefix`."""

    root: str
    key: str | None
    secret: str | None
    endpoint: str | None
    region: str | None


def place_of(source: Source) -> Place:
    """Read the URL. Without a key the AWS client looks for one itself. Raises Misconfigured."""
    try:
        parts = urlsplit(source.url.get_secret_value())
        bucket = parts.netloc.rpartition("@")[2]
        options = dict(parse_qsl(parts.query, strict_parsing=True)) if parts.query else {}
    except ValueError:
        raise Misconfigured(f"The URL of {source.name} is no URL of S3.") from None
    path = [part for part in unquote(parts.path).split("/") if part]
    if not re.fullmatch(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", bucket) or {".", ".."} & set(path):
        raise Misconfigured(f"The URL of {source.name} names no bucket. Write s3://KEY:SECRET@bucket/prefix.")
    if unknown := sorted(set(options) - OPTIONS):
        raise Misconfigured(f"The URL of {source.name} has options that are not known: {', '.join(unknown)}.")
    if (parts.username is None) != (parts.password is None):
        raise Misconfigured(f"The URL of {source.name} needs both a key and a secret, or neither.")
    return Place(
        "/".join([bucket, *path]),
        unquote(parts.username) if parts.username else None,
        unquote(parts.password) if parts.password else None,
        options.get("endpoint"),
        options.get("region"),
    )


class OnlyBelow(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """Reads what lies below a root of another file system. Nothing else can be named, and nothing be written."""

    protocol = "s3"
    cachable = False

    def __init__(self, inner: AbstractFileSystem, root: str) -> None:
        super().__init__()
        self._inner = inner
        self._root = root

    def glob(self, path: str, maxdepth: int | None = None, **_: Any) -> list[str]:
        """The files that a pattern below the root means."""
        return [found for found in self._ask(self._inner.glob, self._below(path)) if self._is_below(found)]

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """What is known of one file."""
        found: dict[str, Any] = self._ask(self._inner.info, self._below(path))
        return found

    def exists(self, path: str, **_: Any) -> bool:
        """Whether there is such a file."""
        return bool(self._ask(self._inner.exists, self._below(path)))

    def modified(self, path: str) -> Any:
        """When a file was changed."""
        return self._ask(self._inner.modified, self._below(path))

    def files(self) -> list[str]:
        """The files below the root, relative to it, in order."""
        found = self._ask(self._inner.find, self._root)
        return sorted(each.removeprefix(f"{self._root}/") for each in found if self._is_below(each))

    def open(self, path: str, mode: str = "rb", *_: Any, **__: Any) -> Any:
        """A file below the root, to be read."""
        if mode != "rb":
            raise PermissionError("this file system only reads")
        return self._ask(self._inner.open, self._below(path))

    def _below(self, path: str) -> str:
        plain = path.removeprefix("s3://").strip("/")
        if not self._is_below(plain):
            raise PermissionError("this lies outside of the source")
        return plain

    def _is_below(self, path: str) -> bool:
        return path.startswith(f"{self._root}/") and ".." not in path.split("/")

    def _ask(self, call: Any, path: str) -> Any:
        try:
            return call(path)
        except FileNotFoundError:
            raise FileNotFoundError("a file of the source is gone") from None
        except Exception as error:  # the client's own errors name the address, the bucket and the key
            raise OSError(f"the bucket cannot be read now ({type(error).__name__})") from None


def open_bucket(source: Source) -> LockedDuckDB:
    """Open a prefix. Raises Misconfigured when it holds nothing that can be read, SourceAway when S3 is unavailable."""
    place = place_of(source)
    files = OnlyBelow(_client(source, place), place.root)
    try:
        names = files.files()
    except OSError:
        raise SourceAway(f"{source.name} cannot be reached: the bucket does not answer, or refuses the key.") from None
    if len(names) > MOST_FILES:
        raise Misconfigured(f"The prefix of {source.name} has more than {MOST_FILES:,} files. Name a longer one.")
    found = tables_among(names)
    if not found:
        raise Misconfigured(f"The prefix of {source.name} holds no .parquet, .csv or .tsv file.")
    connection = duckdb.connect(":memory:", config=CONFIG)
    try:
        connection.register_filesystem(files)
        for name, (reader, path) in found.items():
            _view(connection, source, name, reader, f"s3://{place.root}/{path}", by_name=len(names) <= FILES_BY_NAME)
        lock(connection, [f"s3://{place.root}/"])
    except BaseException:
        connection.close()
        raise
    return LockedDuckDB(connection, [f"s3://{place.root}", place.root], found_unlike)


def tables_among(files: Iterable[str]) -> dict[str, tuple[str, str]]:
    """The tables of files, by name, each with DuckDB's reader and the path or pattern of its files.

    Paths are relative and have `/` between their parts. Raises Misconfigured when two would have one name.
    """
    kinds: dict[tuple[str, bool], set[str]] = {}
    for file in files:
        first, slash, _ = file.partition("/")
        suffix = next((known for known in READERS if file.endswith(known)), "")
        if suffix and not first.startswith((".", "_")):
            kinds.setdefault((first, bool(slash)), set()).add(suffix)
    found: dict[str, tuple[str, str]] = {}
    for (first, is_folder), suffixes in sorted(kinds.items())[:MOST_TABLES]:
        if len(suffixes) != 1:
            continue
        suffix = next(iter(suffixes))
        name = table_name(first if is_folder else first.removesuffix(suffix))
        if name in found:
            raise Misconfigured(f"Two files of the prefix would both be the table {name}. Rename one of them.")
        path = re.sub(r"([*?\[\]])", r"[\1]", first)
        found[name] = (READERS[suffix], f"{path}/**/*{suffix}" if is_folder else path)
    return found


def _view(
    connection: duckdb.DuckDBPyConnection, source: Source, name: str, reader: str, path: str, *, by_name: bool
) -> None:
    try:
        create_view(connection, name, reader, path, by_name=by_name)
    except duckdb.IOException:
        raise SourceAway(f"{source.name} cannot be read now: the bucket does not answer.") from None
    except (duckdb.Error, OSError) as error:
        kind: type[SourceError] = SourceAway if isinstance(error, OSError) else Misconfigured
        raise kind(
            f"The table {name} of {source.name} cannot be read: a file of it is damaged or unlike the others."
        ) from None


def _client(source: Source, place: Place) -> AbstractFileSystem:
    try:
        from s3fs import S3FileSystem  # type: ignore[import-untyped]  # noqa: PLC0415  an extra
    except ImportError:
        raise Misconfigured(
            f"{source.name} needs a package that is not installed: pip install 'threadbook[s3]'"
        ) from None
    return S3FileSystem(
        key=place.key,
        secret=place.secret,
        endpoint_url=place.endpoint,
        client_kwargs={"region_name": place.region} if place.region else {},
        config_kwargs={"connect_timeout": CONNECT_S, "read_timeout": READ_S, "retries": {"total_max_attempts": TRIES}},
        use_listings_cache=False,
        skip_instance_cache=True,
    )
