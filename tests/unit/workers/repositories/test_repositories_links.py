"""Which links of a message are repositories."""

from __future__ import annotations

import pytest

from workers.repositories.links import archive_name, repositories_in

HOSTS = ("github.com", "git.example.com:8443")


@pytest.mark.parametrize(
    ("text", "urls"),
    [
        ("look at https://github.com/ana/shop", ["https://github.com/ana/shop"]),
        ("look at https://github.com/ana/shop, please.", ["https://github.com/ana/shop"]),
        ("(https://GitHub.com/ana/shop.git)", ["https://github.com/ana/shop.git"]),
        ("the code (https://github.com/ana/shop/)", ["https://github.com/ana/shop"]),
        ("https://git.example.com:8443/a/b/c.git", ["https://git.example.com:8443/a/b/c.git"]),
        ("https://elsewhere.org/a/b.git", ["https://elsewhere.org/a/b.git"]),  # is told that it is not allowed
        ("https://me:secret@github.com/ana/shop", ["https://github.com/ana/shop"]),
        ("https://github.com/ana/shop https://github.com/ana/shop", ["https://github.com/ana/shop"]),
        ("https://elsewhere.org/a/b", []),
        ("https://github.com/ana", []),
        ("https://github.com/ana/shop/issues/12", []),
        ("http://github.com/ana/shop.git", []),
        ("git@github.com:ana/shop.git ssh://github.com/a/b.git file:///etc/x.git", []),
        ("https://github.com/../etc/x.git", []),
        ("https://github.com/--upload-pack=x/y.git", []),
        ("https://github.com/a/.git", []),
    ],
)
def test_links_to_repositories_are_found(text: str, urls: list[str]) -> None:
    assert [file.url for file in repositories_in(text, HOSTS)] == urls


def test_without_an_allowed_host_no_link_counts() -> None:
    assert repositories_in("https://github.com/ana/shop.git", ()) == ()


def test_a_message_names_at_most_three() -> None:
    text = " ".join(f"https://github.com/ana/shop{number}" for number in range(9))
    assert len(repositories_in(text, HOSTS)) == 3


def test_a_repository_is_told_by_host_and_path_and_kept_by_its_name() -> None:
    (file,) = repositories_in("https://github.com/ana/shop.git", HOSTS)
    assert (file.name, archive_name(file), file.mode) == ("github.com/ana/shop", "shop.tar", "repository")
