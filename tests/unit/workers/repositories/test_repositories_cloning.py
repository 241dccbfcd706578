"""A repository comes from an allowed host over https, in bounds, and nothing in it acts on the way."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from git_server import GitServer, git, git_server

from core.errors import UsersMove
from core.team_settings import RepositorySettings
from core.values import FileRef
from executor.sandbox import landlock
from threadbook_tools import bundles
from threadbook_tools.archives import read_archive
from workers.repositories import addresses, cloning
from workers.repositories.addresses import address_of, is_public
from workers.repositories.cloning import Cloner
from workers.repositories.jail import Order

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(landlock.version() < 4, reason="this kernel has no Landlock that knows TCP"),
]

FILES = {"src/shop.py": b"def total():\n    pass\n", "tests/test_shop.py": b"def test_it(): pass\n"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[GitServer]:
    with git_server(tmp_path) as found:
        yield found


def cloner(server: GitServer, **changes: object) -> Cloner:
    known = {"private_hosts": (server.host,), "ca_file": str(server.trusted), "seconds": 60.0}
    return Cloner(RepositorySettings.model_validate({**known, **changes}))


def fetched(server: GitServer, name: str, to: Path, **changes: object) -> FileRef:
    found = cloner(server, **changes)
    (file,) = cloner(server).named_in(f"look at {server.url(name)} please")
    return found.fetch(file, to)


def refused(server: GitServer, name: str, to: Path, **changes: object) -> str:
    with pytest.raises(UsersMove) as error:
        fetched(server, name, to, **changes)
    assert not to.exists()
    return error.value.key


def test_the_newest_commit_comes_as_an_archive(server: GitServer, tmp_path: Path) -> None:
    tree = server.add("team/shop", FILES, links={"link": "/etc/passwd"})
    file = fetched(server, "team/shop", tmp_path / "got")
    archive = read_archive(str(tmp_path / "got"))
    assert (file.name, file.size) == ("shop.tar", (tmp_path / "got").stat().st_size)
    assert archive.files == FILES
    assert archive.left_out == {"link": "it is a link"}
    assert archive.commit == git(tree, "rev-parse", "HEAD")
    assert cloning.COMMIT_MARK == bundles.MARK
    behind = (tmp_path / "got").read_bytes().rpartition(bundles.MARK)[2]
    assert behind.decode().strip() == git(tree, "cat-file", "commit", "HEAD")


def test_a_repository_cannot_hide_files_or_write_into_them(server: GitServer, tmp_path: Path) -> None:
    attributes = {".gitattributes": b"tests/* export-ignore\n*.py export-subst\n", "v.py": b"$Format:%H$\n"}
    server.add("shop", {**FILES, **attributes})
    fetched(server, "shop", tmp_path / "got")
    assert read_archive(str(tmp_path / "got")).files == {**FILES, **attributes}


def test_submodules_stay_empty_and_nothing_else_is_asked_for(server: GitServer, tmp_path: Path) -> None:
    server.add("other", FILES)
    tree = server.add("shop", FILES)
    modules = f'[submodule "o"]\n\tpath = o\n\turl = {server.url("other")}\n'.encode()
    (tree / ".gitmodules").write_bytes(modules)
    commit = git(server.folder / "other.git", "rev-parse", "HEAD")
    git(tree, "update-index", "--add", "--cacheinfo", f"160000,{commit},o")
    git(tree, "add", ".gitmodules")
    git(tree, "commit", "-q", "-m", "with a submodule")
    fetched(server, "shop", tmp_path / "got")
    assert read_archive(str(tmp_path / "got")).files == {**FILES, ".gitmodules": modules}
    assert not [path for path in server.paths if "other" in path]


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"private_hosts": ()}, "repository_host_not_allowed"),
        ({"private_hosts": ("example.com",)}, "repository_host_not_allowed"),
        ({"private_hosts": ("127.0.0.1",)}, "repository_host_not_allowed"),
        ({"ca_file": ""}, "repository_not_given"),
    ],
)
def test_another_host_port_or_certificate_is_refused(
    settings: dict[str, object], why: str, server: GitServer, tmp_path: Path
) -> None:
    server.add("shop", FILES)
    assert refused(server, "shop", tmp_path / "got", **settings) == why
    assert server.paths == []


def test_a_host_that_leads_to_a_private_address_is_refused_before_anything_is_sent(
    server: GitServer, tmp_path: Path
) -> None:
    server.add("shop", FILES)
    assert refused(server, "shop", tmp_path / "got", hosts=(server.host,), private_hosts=()) == "repository_private"
    assert server.paths == []


def test_a_name_counts_with_the_address_that_was_looked_at(
    server: GitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name has no address that git could find by itself: it uses the one that was checked."""
    server.add("shop", FILES)
    port = int(server.host.partition(":")[2])
    looked_up = [(2, 1, 6, "", ("127.0.0.1", port))]
    monkeypatch.setattr(addresses.socket, "getaddrinfo", lambda *_, **__: looked_up)
    host = f"git.invalid:{port}"
    found = Cloner(RepositorySettings(private_hosts=(host,), ca_file=str(server.trusted)))
    (file,) = found.named_in(f"https://{host}/shop.git")
    with pytest.raises(UsersMove, match="repository_not_given"):  # the certificate is another host's
        found.fetch(file, tmp_path / "got")
    monkeypatch.setitem(cloning._SAFE, "http.sslVerify", "false")
    assert found.fetch(file, tmp_path / "got").name == "shop.tar"


def test_a_redirect_is_not_followed(server: GitServer, tmp_path: Path) -> None:
    server.add("shop", FILES)
    server.redirects["/moved.git"] = f"https://{server.host}/shop.git"
    assert refused(server, "moved", tmp_path / "got") == "repository_not_given"
    assert not [path for path in server.paths if path.startswith("/shop")]


def test_what_is_not_there_or_empty_is_said_so(server: GitServer, tmp_path: Path) -> None:
    assert refused(server, "nowhere", tmp_path / "got") == "repository_not_given"
    (server.folder / "empty.git").mkdir()
    git(server.folder / "empty.git", "init", "-q")
    assert refused(server, "empty", tmp_path / "got") == "repository_empty"


def test_a_repository_that_git_cannot_read_here_is_not_called_empty(
    server: GitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.add("shop", FILES)
    ran = Cloner._run

    def run(self: Cloner, git: str, words: Sequence[str], folder: Path, **others: Any) -> int:
        broken = [word if word != "HEAD" else "HEAD:nowhere" for word in words] if "archive" in words else words
        return ran(self, git, broken, folder, **others)

    monkeypatch.setattr(Cloner, "_run", run)
    assert refused(server, "shop", tmp_path / "got") == "repository_not_packed"


@pytest.mark.parametrize("content", [os.urandom(3_000_000), b"\0" * 3_000_000], ids=["packed", "unpacked"])
def test_a_large_repository_is_refused(content: bytes, server: GitServer, tmp_path: Path) -> None:
    server.add("shop", {"data": content})
    assert refused(server, "shop", tmp_path / "got", max_mb=1) == "repository_too_large"


def test_a_clone_that_takes_too_long_is_ended(server: GitServer, tmp_path: Path) -> None:
    server.add("shop", FILES)
    assert refused(server, "shop", tmp_path / "got", seconds=0.01) == "repository_slow"


LACKING = {"Landlock": "landlock.version = lambda: 0", "seccomp": "seccomp.available = lambda: False"}


@pytest.mark.parametrize("part", LACKING)
def test_without_a_jail_nothing_is_cloned_and_what_is_missing_is_said(
    server: GitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    """The jail itself runs, on a kernel that lacks one thing."""
    server.add("shop", FILES)
    code = f"from workers.repositories.jail import landlock, main, seccomp\n{LACKING[part]}\nmain()"
    words = Order.words
    monkeypatch.setattr(Order, "words", lambda order: [sys.executable, "-c", code, words(order)[-1]])
    with pytest.raises(UsersMove) as told:
        fetched(server, "shop", tmp_path / "got")
    assert (told.value.key, told.value.variables) == ("repository_no_jail", {"missing": part})
    assert cloning.look_for_git().lacks == part


def test_a_git_that_is_missing_or_too_old_is_not_used(
    server: GitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.add("shop", FILES)
    monkeypatch.setattr(cloning, "_GIT", (99, 0))
    assert refused(server, "shop", tmp_path / "got") == "repository_no_git"
    monkeypatch.setattr(cloning.shutil, "which", lambda *_, **__: None)
    assert refused(server, "shop", tmp_path / "got") == "repository_no_git"


def test_a_look_for_git_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    found = cloning.look_for_git()
    assert (found.usable, found.version.count(".") >= 1) == (True, True)
    with monkeypatch.context() as changed:
        changed.setattr(Order, "words", lambda _: [sys.executable, "-c", "raise SystemExit(97)"])
        assert (cloning.look_for_git().new_enough, cloning.look_for_git().usable) == (True, False)
    with monkeypatch.context() as changed:
        changed.setattr(cloning, "_GIT", (99, 0))
        assert (cloning.look_for_git().version, cloning.look_for_git().usable) == (found.version, False)
    monkeypatch.setattr(cloning.shutil, "which", lambda *_, **__: None)
    assert cloning.look_for_git() == cloning.GitHere()


# --- addresses


@pytest.mark.parametrize(
    ("address", "outcome"),
    [
        ("140.82.112.3", True),
        ("2606:4700::1", True),
        *((private, False) for private in ("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254")),
        *((private, False) for private in ("100.64.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255", "::1", "::")),
        *((private, False) for private in ("fe80::1", "fd00::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::")),
        *(
            (gateway, False)
            for gateway in ("64:ff9b:1::a00:1", "::10.0.0.1", "::ffff:0:10.0.0.1", "fec0::1", "5f00::1")
        ),
    ],
)
def test_only_addresses_of_the_internet_are_public(address: str, outcome: bool) -> None:
    assert is_public(address) is outcome


def test_one_private_address_among_several_is_enough_to_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [(2, 1, 6, "", ("140.82.112.3", 443)), (2, 1, 6, "", ("10.0.0.1", 443))]
    monkeypatch.setattr(addresses.socket, "getaddrinfo", lambda *_, **__: answers)
    with pytest.raises(UsersMove, match="repository_private"):
        address_of("example.com", 443, may_be_private=False)
    assert address_of("example.com", 443, may_be_private=True) == "140.82.112.3"


def test_a_host_without_an_address_is_said_so() -> None:
    with pytest.raises(UsersMove, match="repository_not_reached"):
        address_of("nowhere.invalid", 443, may_be_private=False)
