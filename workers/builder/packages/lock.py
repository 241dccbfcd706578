"""The packages of a program (`[run] packages`): found as wheels, locked by hash, unpacked once the lock is approved.

    resolve: pip, in its jail, downloads wheels → a lock (name, version, sha256, size, licence) → a person approves it
    install: pip downloads exactly these, by hash → a strict unpacker → a read-only folder, named by the lock's hash

The registry is that of pip's own configuration. Nothing of a package is imported or run out here (ADR 34).
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement as Specifier
from pydantic import ValidationError

from core.settings import environment_without_own
from core.team_settings import PackageSettings
from core.values import Value
from workers.builder.packages import pip_jail
from workers.builder.packages.wheels import (
    MOST_UNPACKED,
    LockedPackage,
    Unpacked,
    WheelRefused,
    canonical,
    locked,
    unpack,
)
from workers.builder.requirements.components import plan
from workers.builder.requirements.requirement import Requirement

KEPT = 30
"""Folders of packages that stay on a node; the longest unused ones go."""
_ROOT = Path(__file__).resolve().parents[3]
_FOLDER = "packages"
_LOOK_EVERY_S = 0.1
_SAID_CHARS, _SAID_LINES = 300, 3
_KEPT_NAMES = frozenset(
    ("PATH", "HOME", "USER", "LANG", "LC_ALL", "TMPDIR", "NETRC", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")
)
"""Environment variables that pip may know: its own, proxies and these."""


class NoPackages(Exception):
    """The packages cannot be had. The message is for a person: what is in the way, without a full stop."""


class Lock(Value):
    """Exactly these wheels, and what was asked for."""

    wanted: tuple[str, ...]
    packages: tuple[LockedPackage, ...]

    @property
    def digest(self) -> str:
        """A hash that is the same for the same wheels, however they were asked for."""
        named = sorted((one.name, one.version, one.file, one.sha256) for one in self.packages)
        return hashlib.sha256(json.dumps(named).encode()).hexdigest()

    @property
    def size(self) -> int:
        """Bytes of all wheels."""
        return sum(one.size for one in self.packages)

    def requirements(self) -> str:
        """The text of a `requirements.txt` that installs exactly these wheels (`pip install --require-hashes -r`)."""
        rows = (f"{one.name}=={one.version} \\\n    --hash=sha256:{one.sha256}\n" for one in self.packages)
        return "".join(rows)

    def rows(self) -> list[str]:
        """What a person approves, one line for each wheel."""
        return [
            f"{one.name} {one.version}, {_size(one.size)}, {one.licence or 'its metadata names no licence'}, "
            f"sha256 {one.sha256[:12]}…"
            for one in self.packages
        ]


@dataclass(frozen=True, slots=True)
class Packages:
    """What a build has of the packages that its program needs."""

    lock: Lock | None = None
    folder: Path | None = None
    """Where they lie, read-only; None when nothing was installed."""
    modules: tuple[str, ...] = ()
    """The names that they make importable."""
    left_out: tuple[str, ...] = ()
    """Files of the wheels that were not unpacked."""
    missing: tuple[str, ...] = ()
    """What the program needs and is not there."""
    why: str = ""
    """Why they are missing, as a sentence without a full stop."""


def needed(wanted: Iterable[str]) -> tuple[str, ...]:
    """The packages of `[run] packages` that sessions do not have. What sessions have needs no approval."""
    return tuple(one for one in wanted if not _is_there(Specifier(one)))


def gather(
    store: PackageStore, requirement: Requirement, before: Lock | None, approve: Callable[[Lock], bool]
) -> Packages:
    """The packages that a program needs, installed; or what is missing, and why.

    `before` is the lock of an earlier build, kept while the same is wanted. Nobody is asked for what was approved on
    this node before, to the byte, or is on the owner's list.
    """
    missing = needed(specifiers(requirement))
    if not missing:
        return Packages()
    if _has_stand_ins(requirement):
        return Packages(missing=missing, why="its tests have stand-ins, so nothing was installed")
    try:
        lock = before if before is not None and before.wanted == missing else store.resolve(missing)
        if found := store.installed(lock):
            return found
        if store.allows(lock) or approve(lock):
            return store.install(lock)
    except NoPackages as error:
        return Packages(missing=missing, why=str(error))
    return Packages(missing=missing, why="nobody approved that")


def specifiers(requirement: Requirement) -> tuple[str, ...]:
    """The Python packages that a requirement names; none for a program without Python."""
    is_python = any(one.language.name == "python" for one in plan(requirement).components)
    return requirement.run.packages if is_python else ()


def _has_stand_ins(requirement: Requirement) -> bool:
    """Whether no test needs a package, because each test brings stand-ins for what is imported."""
    tests = requirement.tests
    return bool(tests.case) and not tests.prose.strip() and all(case.fakes for case in tests.case)


class PackageStore:
    """The packages of a node, below its home."""

    def __init__(self, home: Path, settings: PackageSettings) -> None:
        self._folder = home / _FOLDER
        self._settings = settings

    def allows(self, lock: Lock) -> bool:
        """Whether the owner's list has all of them, so that nobody is asked."""
        allowed = {canonical(one) for one in self._settings.allowed}
        return all(one.name in allowed for one in lock.packages)

    def resolve(self, wanted: Sequence[str]) -> Lock:
        """The wheels of these packages and of all that they need. Installs nothing. Raises NoPackages."""
        with self._fetched([*wanted]) as wheels:
            found = [_locked(one) for one in wheels]
        if not found:
            raise NoPackages("pip found no wheels")
        return Lock(wanted=tuple(wanted), packages=tuple(found))

    def installed(self, lock: Lock) -> Packages | None:
        """The packages of a lock that lie here already; None when they do not."""
        folder, note = self._folder / lock.digest, self._folder / f"{lock.digest}.json"
        try:
            made = Unpacked.model_validate_json(note.read_bytes())
        except (OSError, ValidationError):
            return None
        if not folder.is_dir():
            return None
        os.utime(note)
        return Packages(lock, folder.resolve(), made.modules, made.left_out)

    def install(self, lock: Lock) -> Packages:
        """Download exactly the wheels of an approved lock and unpack them. Raises NoPackages."""
        if found := self.installed(lock):
            return found
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=self._folder) as fresh:
            names = Path(fresh) / "requirements.txt"
            names.write_text(lock.requirements(), encoding="utf-8")
            tree = Path(fresh) / "tree"
            tree.mkdir(mode=0o755)
            with self._fetched(["--require-hashes", "--no-deps", "-r", str(names)]) as wheels:
                made = _unpacked(lock, {one.name: one for one in wheels}, tree)
            self._keep(lock, tree, made)
        found = self.installed(lock)
        if found is None:
            raise NoPackages("what was unpacked is gone again")
        return found

    def _keep(self, lock: Lock, tree: Path, made: Unpacked) -> None:
        for folder, _, _ in os.walk(tree, topdown=False):
            Path(folder).chmod(0o555)
        target = self._folder / lock.digest
        tree.chmod(0o755)  # a folder that nobody may write cannot be moved
        with suppress(OSError):  # somebody else was faster: it is the same
            tree.rename(target)
        if tree.exists():
            _remove(tree)
        target.chmod(0o555)
        note = self._folder / f"{lock.digest}.json"
        note.write_text(made.model_dump_json(), encoding="utf-8")
        notes = sorted(self._folder.glob("*.json"), key=lambda one: one.stat().st_mtime, reverse=True)
        for old in notes[KEPT:]:
            old.unlink(missing_ok=True)
            _remove(self._folder / old.stem)

    @contextmanager
    def _fetched(self, arguments: list[str]) -> Iterator[list[Path]]:
        """The wheels that pip downloads for these arguments, while the block lasts. Raises NoPackages."""
        with tempfile.TemporaryDirectory(prefix="threadbook-packages-") as name:
            folder = Path(name).resolve()
            for each in ("wheels", "tmp"):
                (folder / each).mkdir()
            self._run_pip(folder, arguments)
            found = sorted((folder / "wheels").iterdir())
            if len(found) > self._settings.max_packages:
                text = f"they come down to {len(found)} packages, {self._settings.max_packages} is the most"
                raise NoPackages(f"{text} ([packages] max_packages)")
            if sum(one.stat().st_size for one in found) > self._most_bytes:
                raise self._too_large()
            if others := [one.name for one in found if one.suffix != ".whl" or not one.is_file() or one.is_symlink()]:
                raise NoPackages(f"{others[0][:80]} is no wheel")
            yield found

    def _run_pip(self, folder: Path, arguments: list[str]) -> None:
        options = ["download", "--only-binary", ":all:", "--no-cache-dir", "--no-input", "--progress-bar", "off"]
        options += ["--disable-pip-version-check", "--quiet", "--dest", str(folder / "wheels")]
        words = pip_jail.words(str(folder), self._most_bytes, int(self._settings.seconds) + 1, [*options, *arguments])
        with (folder / "said").open("wb") as said:
            process = subprocess.Popen(
                words,
                env=_environment(folder),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                cwd=folder,
                start_new_session=True,
            )
        try:
            self._wait(process, folder)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if process.returncode == pip_jail.NO_JAIL:
            raise NoPackages("this machine has no filter of system calls, so pip cannot be run in its jail")
        if process.returncode != 0:
            raise NoPackages(_why(folder / "said"))

    def _wait(self, process: subprocess.Popen[bytes], folder: Path) -> None:
        """Wait for pip, within its limits of time and size. Raises NoPackages."""
        until = time.monotonic() + self._settings.seconds
        while True:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_LOOK_EVERY_S)
                return
            if time.monotonic() > until:
                raise NoPackages(f"pip did not end within {self._settings.seconds:g} s ([packages] seconds)")
            if _bytes_below(folder) > 2 * self._most_bytes:  # pip holds a wheel twice while it moves it
                raise self._too_large()

    @property
    def _most_bytes(self) -> int:
        return self._settings.max_mb * 1_000_000

    def _too_large(self) -> NoPackages:
        return NoPackages(f"they are larger than {self._settings.max_mb} MB ([packages] max_mb)")


def _is_there(wanted: Specifier) -> bool:
    if wanted.extras:
        return False
    try:
        version = importlib.metadata.version(wanted.name)
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return False
    return wanted.specifier.contains(version, prereleases=True)


def _locked(wheel: Path) -> LockedPackage:
    try:
        return locked(wheel)
    except WheelRefused as error:
        raise NoPackages(str(error)) from None


def _unpacked(lock: Lock, wheels: dict[str, Path], tree: Path) -> Unpacked:
    """Unpack the wheels of a lock; what came of all of them."""
    modules, left_out, room = dict[str, None](), list[str](), MOST_UNPACKED
    for package in lock.packages:
        wheel = wheels.get(package.file)
        if wheel is None:
            raise NoPackages(f"{package.file}, which was approved, is not there any more")
        try:
            made, written = unpack(wheel, package, tree, room)
        except WheelRefused as error:
            raise NoPackages(str(error)) from None
        room -= written
        modules |= dict.fromkeys(made.modules)
        left_out += made.left_out
    return Unpacked(modules=tuple(modules), left_out=tuple(left_out))


def _environment(folder: Path) -> dict[str, str]:
    """What pip knows of this machine: its own configuration and how to reach the network; none of our secrets."""
    given = {
        name: value
        for name, value in environment_without_own().items()
        if name in _KEPT_NAMES or name.startswith(("PIP_", "XDG_CONFIG")) or name.lower().endswith("_proxy")
    }
    return given | {"TMPDIR": str(folder / "tmp"), "PYTHONPATH": str(_ROOT), "PYTHONDONTWRITEBYTECODE": "1"}


def _why(said: Path) -> str:
    """pip's own words, the errors of it, bounded."""
    lines = said.read_bytes()[-20_000:].decode(errors="replace").splitlines()
    errors = [" ".join(line.removeprefix("ERROR: ").split()) for line in lines if line.startswith("ERROR: ")]
    if any("No matching distribution" in line for line in errors):
        name = errors[-1].rpartition(" for ")[2][:80]
        return f"the configured registry has no wheel of {name} that fits this Python, and nothing else is installed"
    shown = " ".join((errors or lines or ["pip ended without a word"])[:_SAID_LINES])[:_SAID_CHARS]
    return "pip says: " + "".join(each if each.isprintable() else "?" for each in shown).rstrip(".")


def _bytes_below(folder: Path) -> int:
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(path, name)).st_size
    return total


def _remove(tree: Path) -> None:
    """Delete a folder whose folders nobody may write."""
    for folder, _, _ in os.walk(tree):
        with suppress(OSError):
            os.chmod(folder, 0o700)
    shutil.rmtree(tree, ignore_errors=True)


def _size(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 100_000 else f"{max(size / 1e3, 0.1):.1f} kB"
