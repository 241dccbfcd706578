"""A prefix of a bucket: its URL, the tables among its files, and the file system that reads nothing else."""

from __future__ import annotations

import uuid
from contextlib import suppress

import pytest
from fsspec.implementations.memory import MemoryFileSystem
from pydantic import SecretStr

from core.team_settings import SourceSettings
from workers.sources.drivers.bucket import OnlyBelow, place_of, tables_among
from workers.sources.errors import Misconfigured
from workers.sources.opening import named_source
from workers.sources.scrub import secrets_of
from workers.sources.values import Kind, Source

URL = "s3://KEY:se%2Fcret@my-bucket/web/2024/?endpoint=https://s3.internal:9000&region=eu-west-1"


def source(url: str) -> Source:
    return named_source("web", SourceSettings(url_env="X"), SecretStr(url))


def test_a_url_names_bucket_prefix_and_login() -> None:
    place = place_of(source(URL))
    assert (place.root, place.key, place.secret) == ("my-bucket/web/2024", "KEY", "se/cret")
    assert (place.endpoint, place.region) == ("https://s3.internal:9000", "eu-west-1")
    assert source(URL).kind is Kind.S3
    bare = place_of(source("s3://my-bucket"))
    assert (bare.root, bare.key, bare.endpoint) == ("my-bucket", None, None)
    assert "cret" not in repr(place)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("s3:///web", "names no bucket"),
        ("s3://my-bucket/../theirs", "names no bucket"),
        ("s3://my-bucket/%2e%2e/theirs", "names no bucket"),
        ("s3://my-bucket/web?endpiont=x", "endpiont"),
        ("s3://KEY@my-bucket/web", "both a key and a secret"),
    ],
)
def test_a_url_that_cannot_be_meant_is_refused(url: str, said: str) -> None:
    with pytest.raises(Misconfigured, match=said):
        place_of(source(url))


def test_the_address_among_the_options_is_as_secret_as_the_password() -> None:
    assert {"se/cret", "my-bucket", "s3.internal", "s3.internal:9000"} <= secrets_of(SecretStr(URL))


def test_each_file_and_each_folder_of_one_kind_is_a_table() -> None:
    files = [
        "Orders 2024.parquet",
        "odd[1].csv",
        "days/a/1.parquet",
        "days/2.parquet",
        "mixed/a.csv",
        "mixed/b.parquet",
    ]
    assert tables_among([*files, "_tmp/x.csv", ".hidden.csv", "readme.md", "days/readme.md"]) == {
        "orders_2024": ("read_parquet", "Orders 2024.parquet"),
        "odd_1_": ("read_csv", "odd[[]1[]].csv"),
        "days": ("read_parquet", "days/**/*.parquet"),
    }
    with pytest.raises(Misconfigured, match="both be the table a_b"):
        tables_among(["a b.csv", "a-b.csv"])


@pytest.fixture
def files() -> OnlyBelow:
    inner, bucket = MemoryFileSystem(), f"/{uuid.uuid4().hex}"
    for name in ("web/a.csv", "web/days/1.csv", "webcam/b.csv", "c.csv"):
        inner.pipe(f"{bucket}/{name}", b"id\n1\n")
    return OnlyBelow(_Slashless(inner), f"{bucket}/web".strip("/"))


class _Slashless:
    """A file system in memory that names files as S3's does: without a slash in front."""

    def __init__(self, inner: MemoryFileSystem) -> None:
        self._inner = inner

    def glob(self, path: str) -> list[str]:
        return [found.lstrip("/") for found in self._inner.glob(f"/{path}")]

    def find(self, path: str) -> list[str]:
        return [found.lstrip("/") for found in self._inner.find(f"/{path}")]

    def __getattr__(self, name: str) -> object:
        return lambda path: getattr(self._inner, name)(f"/{path}")


def test_files_below_the_root_are_read(files: OnlyBelow) -> None:
    assert files.files() == ["a.csv", "days/1.csv"]
    root = files._root
    assert files.open(f"s3://{root}/a.csv", "rb").read() == b"id\n1\n"
    assert files.glob(f"s3://{root}/**/*.csv") == [f"{root}/a.csv", f"{root}/days/1.csv"]
    assert files.info(f"{root}/a.csv")["size"] == 5


@pytest.mark.parametrize(
    "path", ["{0}cam/b.csv", "{0}/../c.csv", "{0}", "elsewhere/c.csv", "s3://{0}/days/../../c.csv"]
)
def test_nothing_else_is(files: OnlyBelow, path: str) -> None:
    for ask in (files.open, files.glob, files.info, files.exists, files.modified):
        with pytest.raises(PermissionError):
            ask(path.format(files._root))


def test_nothing_is_written(files: OnlyBelow) -> None:
    for mode in ("wb", "ab", "r+b"):
        with pytest.raises(PermissionError):
            files.open(f"{files._root}/a.csv", mode)
    for change in ("rm", "rm_file", "mkdir", "makedirs", "touch", "rmdir"):
        with suppress(Exception):
            getattr(files, change)(f"{files._root}/a.csv")
    with suppress(Exception):
        files.pipe(f"{files._root}/new.csv", b"id\n")
    assert files.files() == ["a.csv", "days/1.csv"]
    assert files.exists(f"{files._root}/a.csv")


def test_an_error_of_the_client_is_told_without_its_words(files: OnlyBelow) -> None:
    files._inner = type("Away", (), {"info": lambda self, path: 1 / 0})()
    with pytest.raises(OSError, match=r"cannot be read now \(ZeroDivisionError\)") as error:
        files.info(f"{files._root}/a.csv")
    assert error.value.__suppress_context__
