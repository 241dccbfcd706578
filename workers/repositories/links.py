"""The git repositories that a message names. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator

from core.values import REPOSITORY_MODE, FileRef

MOST = 3
"""Repositories of one message; further ones are not looked at."""
_LINK = re.compile(r"https://(?:[^\s/@<>]*@)?([A-Za-z0-9.-]{1,253}(?::\d{1,5})?)/([A-Za-z0-9._~/-]{1,300})")
_PATH = re.compile(r"[A-Za-z0-9_~][A-Za-z0-9._~-]*(?:/[A-Za-z0-9_~][A-Za-z0-9._~-]*)*")


def repositories_in(text: str, hosts: Collection[str]) -> tuple[FileRef, ...]:
    """The repositories that a text names, as files that are yet to be fetched; none where no host is allowed.

    A link counts when it ends in ".git", or when it is OWNER/NAME at one of the `hosts`. A name or password in it is
    dropped.
    """
    if not hosts:
        return ()
    found = dict.fromkeys(_addresses(text, hosts))
    return tuple(_reference(*address) for address in list(found)[:MOST])


def archive_name(file: FileRef) -> str:
    """The name of a repository's archive in the working folder."""
    return f"{file.name.rpartition('/')[2]}.tar"


def _addresses(text: str, hosts: Collection[str]) -> Iterator[tuple[str, str]]:
    for match in _LINK.finditer(text):
        host, path = match[1].lower(), match[2].rstrip("/.")
        is_git = path.endswith(".git")
        name = path.removesuffix(".git")
        if _PATH.fullmatch(name) and (is_git or (host in hosts and name.count("/") == 1)):
            yield host, path


def _reference(host: str, path: str) -> FileRef:
    url = f"https://{host}/{path}"
    name = f"{host}/{path.removesuffix('.git')}"
    digest = hashlib.sha256(url.encode()).hexdigest()[:24]
    return FileRef(id=f"repository:{digest}", name=name, mimetype="application/x-tar", url=url, mode=REPOSITORY_MODE)
