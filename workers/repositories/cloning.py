"""Clones a repository that a person named, in a jail, and makes an archive of its newest commit.

Only git itself reads the repository here: no file is checked out, so no hook, filter, link or submodule can take
effect. The archive is opened inside the sandbox.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from core.errors import UsersMove
from core.team_settings import RepositorySettings
from core.telemetry import get_logger
from core.values import FileRef
from workers.repositories.addresses import address_of
from workers.repositories.jail import MISSING, Order
from workers.repositories.links import archive_name, repositories_in

log = get_logger(__name__)

_ROOT = Path(__file__).resolve().parents[2]
_HTTPS = 443
_GIT = (2, 37)
"""The first version with `http.curloptResolve`; an older one would look the host up again."""
_VERSION_S = 10
_JAILERS = {"PATH": os.defpath, "PYTHONPATH": str(_ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
"""The environment of the program that goes into the jail and becomes git there, with another one."""
_SAID, _SAID_BYTES = "said", 4_000
_SAFE = {
    "core.hooksPath": "/dev/null",
    "core.attributesFile": "/dev/null",
    "core.fsmonitor": "false",
    "credential.helper": "",
    "fetch.unpackLimit": "1",
    "gc.auto": "0",
    "http.followRedirects": "false",
    "http.proxy": "",
    "http.lowSpeedLimit": "1000",
    "http.lowSpeedTime": "20",
    "http.sslVerify": "true",
    "protocol.allow": "never",
    "protocol.https.allow": "always",
    "submodule.recurse": "false",
    "transfer.bundleURI": "false",
}
COMMIT_MARK = b"\nthreadbook commit\n"
"""As `threadbook_tools.bundles` looks for it, which brings libraries along that have no place in a worker."""
_MOST_COMMIT = 64_000
_ALL_FILES = "* -export-ignore -export-subst -text -ident -filter -working-tree-encoding\n"
"""Else a repository could say which of its files an archive has, and what stands in them."""


class Cloner:
    """Finds and fetches the repositories of messages, by the rules of `[repositories]`."""

    def __init__(self, settings: RepositorySettings) -> None:
        self._settings = settings

    def without_private_hosts(self) -> Cloner:
        """One for workspaces that are not the operator's own: it reaches no host of the operator's network."""
        return Cloner(self._settings.model_copy(update={"private_hosts": ()}))

    def named_in(self, text: str) -> tuple[FileRef, ...]:
        """The repositories that a message names."""
        return repositories_in(text, (*self._settings.hosts, *self._settings.private_hosts))

    def fetch(self, file: FileRef, to: Path) -> FileRef:
        """Write an archive of the repository's newest commit to `to`; returns it with its name and size.

        Raises UsersMove with the reason when that is not allowed or cannot be done.
        """
        parts = urlsplit(file.url)
        host, port = parts.hostname or "", parts.port or _HTTPS
        named = host if parts.port is None else f"{host}:{port}"
        is_private = named in self._settings.private_hosts
        if parts.scheme != "https" or not (is_private or named in self._settings.hosts):
            raise UsersMove("repository_host_not_allowed", host=named or "?")
        address = address_of(host, port, may_be_private=is_private)
        git = _git()
        with tempfile.TemporaryDirectory(prefix="threadbook-git-") as folder:
            self._clone(git, Path(folder), file.url, (host, port, address))
            size = self._archive(git, Path(folder), to)
        log.info("repository_cloned", host=named, size=size)
        return file.model_copy(update={"name": archive_name(file), "size": size})

    def _clone(self, git: str, folder: Path, url: str, place: tuple[str, int, str]) -> None:
        host, port, address = place
        shown = f"[{address}]" if ":" in address else address
        own = {"http.curloptResolve": f"{host}:{port}:{shown}"}
        if self._ca_file:
            own["http.sslCAInfo"] = self._ca_file
        words = ["clone", "--quiet", "--bare", "--depth", "1", "--no-tags", "--single-branch", "--template=", "--", url]
        ended = self._run(git, [*words, "repository.git"], folder, own=own, ports=(port,))
        if ended != 0:
            raise self._too_large() if _was_full(folder) else UsersMove("repository_not_given", host=host)

    def _archive(self, git: str, folder: Path, to: Path) -> int:
        """Write the archive; returns its size."""
        repository = folder / "repository.git"
        (repository / "info").mkdir(exist_ok=True)
        (repository / "info" / "attributes").write_text(_ALL_FILES, encoding="utf-8")
        made = folder / "archive.tar"
        words = ["--git-dir=repository.git", "archive", "--format=tar", f"--output={made.name}", "HEAD"]
        ended = self._run(git, words, folder)
        size = made.stat().st_size if made.exists() else 0
        if ended != 0 and _was_full(folder):
            raise self._too_large()
        if ended != 0:
            known = ["--git-dir=repository.git", "rev-parse", "--quiet", "--verify", "HEAD^{commit}"]
            has_commit = self._run(git, known, folder) == 0
            raise UsersMove("repository_not_packed" if has_commit else "repository_empty")
        self._add_commit(git, folder, made)
        size = made.stat().st_size
        shutil.move(made, to)
        return size

    def _add_commit(self, git: str, folder: Path, made: Path) -> None:
        """Put the commit behind the archive's end, where a reader of archives does not look: a bundle needs it."""
        said = folder / "commit"
        words = ["--git-dir=repository.git", "cat-file", "commit", "HEAD"]
        if self._run(git, words, folder, output=said) == 0 and said.stat().st_size <= _MOST_COMMIT:
            with made.open("ab") as file:
                file.write(COMMIT_MARK + said.read_bytes())

    def _run(
        self,
        git: str,
        words: Sequence[str],
        folder: Path,
        *,
        own: dict[str, str] | None = None,
        ports: Sequence[int] = (),
        output: Path | None = None,
    ) -> int:
        """Run git in its jail; returns how it ended. What it prints goes into the file `output`, or nowhere."""
        options = [part for name, value in (_SAFE | (own or {})).items() for part in ("-c", f"{name}={value}")]
        order = Order(
            command=[git, *options, *words],
            environment=_environment(folder),
            folder=str(folder),
            file_bytes=self._most,
            seconds=int(self._settings.seconds) + 1,
            ports=ports,
            read=[self._ca_file] if self._ca_file else [],
        )
        with (folder / _SAID).open("wb") as said, (output or Path(os.devnull)).open("wb") as printed:
            process = subprocess.Popen(
                order.words(),
                env=_JAILERS,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=said,
                cwd=folder,
                start_new_session=True,
            )
        try:
            ended = process.wait(self._settings.seconds)
        except subprocess.TimeoutExpired as error:
            raise UsersMove("repository_slow", seconds=f"{self._settings.seconds:g}") from error
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if ended in MISSING:
            raise UsersMove("repository_no_jail", missing=MISSING[ended])
        return ended

    @property
    def _ca_file(self) -> str:
        return str(Path(self._settings.ca_file).resolve()) if self._settings.ca_file else ""

    @property
    def _most(self) -> int:
        return self._settings.max_mb * 1_000_000

    def _too_large(self) -> UsersMove:
        return UsersMove("repository_too_large", limit_mb=self._settings.max_mb)


@dataclass(frozen=True, slots=True)
class GitHere:
    """The system's git, as far as repositories that people name can be cloned with it."""

    path: str = ""
    """Empty where there is none."""
    version: str = ""
    new_enough: bool = False
    """Whether it keeps to an address that it is given."""
    jail: bool = False
    """Whether it runs in its jail on this machine."""
    lacks: str = ""
    """What the jail is made of and this machine lacks, where that is why it does not."""

    @property
    def usable(self) -> bool:
        """Whether links can be cloned here."""
        return self.new_enough and self.jail


def look_for_git() -> GitHere:
    """What there is of git here. Tries it in its jail, without a network."""
    found = _found()
    if not found.new_enough:
        return found
    with tempfile.TemporaryDirectory(prefix="threadbook-git-") as folder:
        order = Order([found.path, "version"], _environment(Path(folder)), folder, file_bytes=0, seconds=_VERSION_S)
        ran = subprocess.run(
            order.words(),
            env=_JAILERS,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_VERSION_S,
            check=False,
        )
    return replace(found, jail=ran.returncode == 0, lacks=MISSING.get(ran.returncode, ""))


def _found() -> GitHere:
    path = shutil.which("git", path=os.defpath)
    if path is None:
        return GitHere()
    said = subprocess.run([path, "version"], env={}, capture_output=True, text=True, timeout=_VERSION_S, check=False)
    version = re.match(r"git version ((\d+)\.(\d+)[.\d]{0,20})", said.stdout)
    if version is None:
        return GitHere(path)
    return GitHere(path, version[1].rstrip("."), (int(version[2]), int(version[3])) >= _GIT)


def _git() -> str:
    """The system's git. Raises UsersMove when there is none that keeps to an address that it is given."""
    found = _found()
    if not found.new_enough:
        raise UsersMove("repository_no_git")
    return found.path


def _was_full(folder: Path) -> bool:
    """Whether git says that it could not write a file as large as it wanted. Of what it says only that is read."""
    with (folder / _SAID).open("rb") as said:
        said.seek(max(said.seek(0, os.SEEK_END) - _SAID_BYTES, 0))
        return os.strerror(errno.EFBIG).encode() in said.read(_SAID_BYTES)


def _environment(folder: Path) -> dict[str, str]:
    """All that git knows of this machine: no settings of anybody, no agent, nobody to ask for a password."""
    return {
        "PATH": os.defpath,
        "HOME": str(folder),
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "/bin/false",
        "GIT_PROTOCOL_FROM_USER": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
    }
