"""A project of source code in an archive. It can be explored, edited by patches and tested; the archive stays packed.

The archive stays as it is. All edits together are one unified diff beside it, `NAME.changes.patch`, which is read again
each time: so an edit is kept, moved and undone as the file that it is. If the repository was cloned from a link, there
is also `NAME.changes.bundle`, with the same edits as one commit.
"""

from __future__ import annotations

import fnmatch
import os
import re
import shlex
import sys
from collections.abc import Mapping
from typing import Any

from threadbook_tools.archives import Archive, is_lfs_pointer, read_archive
from threadbook_tools.bundles import NoBundle, NotCloned, bundle
from threadbook_tools.outlines import outline
from threadbook_tools.patches import PatchRefused, apply_patch, make_patch
from threadbook_tools.suites import Suite, has_python_tests, suites
from threadbook_tools.trials import NO_PROGRAMS, run_program, run_tests

_SHOWN_LINES = 400
_SHOWN_CHARS = 20_000
_TEST_CHARS = 8_000
_LINE = 300
_SEARCHED = 10_000
_REFUSED_START = "PermissionError: [Errno 1] Operation not permitted"
"""What a test ends with that starts a program in a cell."""
_ENDS = (".tar.gz", ".tar.bz2", ".tar.xz", ".tgz", ".tar", ".zip")


class Text(str):
    """A text that a notebook shows as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        """The text itself."""
        return str(self)


class Repository:
    """The source code in an archive (zip, tar, tar.gz) of the working folder.

    repo = Repository("shop.zip")
    repo.outline("src/*")                 # names, signatures, docstrings and sizes
    repo.search("def total")              # where a text stands
    repo.read("src/shop.py", 10, 60)      # lines 10 to 60, with their numbers
    repo.edit(diff)                       # a unified diff, applied strictly: it raises PatchRefused and says why
    repo.run_tests("tests/test_shop.py")  # in a copy, in a process of its own
    repo.changes()                        # all edits so far, which `git apply` takes

    Nothing is ever pushed: people apply `NAME.changes.patch` themselves, or fetch from `NAME.changes.bundle`, which a
    cloned repository has too.
    """

    def __init__(self, path: str) -> None:
        """`path` is that of the archive. Raises ValueError when it cannot be read."""
        self.path = path
        self._loaded: Archive | None = None
        self._archive()

    def __repr__(self) -> str:
        """How it is made."""
        return f"Repository({self.path!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        """A session keeps the path alone: the archive is read again."""
        return _again, (self.path,)

    @property
    def patch_path(self) -> str:
        """The file that holds all edits, in the working folder."""
        return self._beside("patch")

    @property
    def bundle_path(self) -> str:
        """The file that holds all edits as one commit, which `git fetch` takes; a cloned repository alone has it."""
        return self._beside("bundle")

    def files(self, pattern: str = "*") -> Text:
        """The files whose path fits a pattern such as "src/*.py", with their sizes."""
        found = self._fitting(pattern)
        return _bounded([f"{name} ({len(content):,} bytes)" for name, content in sorted(found.items())], "no such file")

    def outline(self, pattern: str = "*", chars: int = 12_000) -> Text:
        """Names, signatures, docstrings and sizes of the files that fit, in this many characters."""
        return Text(outline(self._fitting(pattern), min(chars, _SHOWN_CHARS)) or "no such file")

    def search(self, words: str, pattern: str = "*", *, regex: bool = False, most: int = 60) -> Text:
        """The lines that hold a text, in any case, or fit a regular expression: path, number, line."""
        wanted = re.compile(words if regex else re.escape(words), re.IGNORECASE)
        found = [
            f"{name}:{number}: {line.strip()[:_LINE]}"
            for name, content in sorted(self._fitting(pattern).items())
            if b"\0" not in content[:8_192]
            for number, line in enumerate(content.decode("utf-8", "replace").split("\n"), 1)
            if wanted.search(line[:_SEARCHED])
        ]
        more = [f"… {len(found) - most:,} more; narrow the pattern"] if len(found) > most else []
        return _bounded([*found[:most], *more], "not found")

    def read(self, path: str, first: int = 1, last: int | None = None) -> Text:
        """Lines of a file, from 1, with their numbers; at most 400 at once."""
        files = self.current()
        if path not in files:
            raise FileNotFoundError(f"there is no file {path} in {self.path}; files() lists them")
        try:
            lines = files[path].decode().split("\n")
        except UnicodeDecodeError:
            raise ValueError(f"{path} is no UTF-8 text ({len(files[path]):,} bytes)") from None
        if lines[-1] == "":
            lines.pop()
        first = max(first, 1)
        last = min(len(lines) if last is None else last, first + _SHOWN_LINES - 1, len(lines))
        shown = [f"{number:5} {lines[number - 1]}" for number in range(first, last + 1)]
        return _bounded([*shown, *([f"… {len(lines)} lines in all"] if last < len(lines) else [])], "no such lines")

    def edit(self, diff: str) -> Text:
        """Apply a unified diff: all of it or, with the reason, nothing. Returns what it changed.

        Raises PatchRefused when a line does not stand where the diff says, or a path leads outside.
        """
        now = self.current()
        changed = apply_patch(now, diff)
        after = {name: content for name, content in {**now, **changed}.items() if content is not None}
        patch = make_patch(self._archive().files, after)
        bundled, why_not = self._bundled(after) if patch else (b"", "")
        _replace(self.patch_path, patch.encode())
        _replace(self.bundle_path, bundled)
        words = [f"{_what(name, now, content)} {name}" for name, content in changed.items()]
        places = f"{self.patch_path}, and as one commit in {self.bundle_path}" if bundled else self.patch_path
        told = f"All changes so far are in {places}." if patch else "No change is left."
        if patch and (top := self._archive().top):
            told += f" Its paths begin inside the folder {top.rstrip('/')} of the archive: apply it there."
        return Text("\n".join([*words, told, *([f"There is no bundle: {why_not}."] if why_not else [])]))

    def changes(self) -> Text:
        """All edits so far as one unified diff; empty without any."""
        return Text(make_patch(self._archive().files, self.current()))

    def run_tests(self, *arguments: str, seconds: float = 90) -> Text:
        """Run the tests of the files as they are now: pytest's arguments, such as a path or "-k", "name".

        They run in a copy, in this sandbox: no network, no other programs. Without arguments the tests of other
        languages are run too, where a process may start programs (`tests_command`); what is not run is named with the
        reason. Returns the outcome, and what was printed last.
        """
        files = self.current()
        others = () if arguments else suites(files)
        told = [self._other_tests(one, seconds) for one in others]
        if told and not has_python_tests(files):
            return Text("\n".join(told))
        return Text("\n".join([self._python_tests(arguments, seconds), *told]))

    def _other_tests(self, suite: Suite, seconds: float) -> str:
        """Run one suite of another language; its outcome, or why it was not run."""
        if suite.why_not:
            return f"Not run: {suite.name}: {suite.why_not}."
        trial = run_program(self.current(), suite.words, seconds)
        if trial.exit_code == NO_PROGRAMS:
            why = "a cell starts no programs. Where there is run_bash, give it this line:"
            return f"Not run: {suite.shown}: {why}\n{self.tests_command()}"
        outcome = {None: f"stopped after {seconds:g} s", 0: "passed"}.get(
            trial.exit_code, f"failed with exit code {trial.exit_code}"
        )
        hint = suite.hint(trial.output) if trial.exit_code else suite.kept if trial.exit_code is None else ""
        return f"{suite.shown}: {outcome}{f': {hint}' if hint else ''}\n{_last(trial.output)}".rstrip()

    def _python_tests(self, arguments: tuple[str, ...], seconds: float) -> str:
        trial = run_tests(self.current(), arguments, seconds)
        outcome = {None: f"The tests were stopped after {seconds:g} s.", 0: "The tests passed."}.get(
            trial.exit_code, f"The tests failed ({trial.runner} ended with {trial.exit_code})."
        )
        if trial.exit_code == 5 and trial.runner == "pytest":
            outcome = "No test was found."
        output = trial.output.strip()
        shown = _last(output)
        needs_shell = trial.exit_code and _REFUSED_START in output
        hint = "\nSome tests start programs, which a cell may not. Where there is run_bash, give it this line:\n"
        return f"{outcome}\n{shown}{hint + self.tests_command(*arguments) if needs_shell else ''}"

    def tests_command(self, *arguments: str) -> Text:
        """The line that runs the same tests in the thread's shell, where they may start the system's programs.

        The shell is off unless an admin allows it, and a person approves each line. Its walls are those of a cell: no
        network, no other files, and no program of the working folder is executed.
        """
        code = f"from threadbook_tools import Repository; print({self!r}.run_tests(*{list(arguments)!r}))"
        here = sys.modules["threadbook_tools"].__file__ or ""
        words = [f"PYTHONPATH={os.path.dirname(os.path.dirname(here))}", sys.executable, "-c", code]
        return Text(f"env {shlex.join(words)}")

    def current(self) -> dict[str, bytes]:
        """Every file with the edits so far, by its path."""
        files = dict(self._archive().files)
        if not os.path.lexists(self.patch_path):
            return files
        with open(self.patch_path, encoding="utf-8", newline="") as file:
            patch = file.read()
        try:
            changed = apply_patch(files, patch)
        except PatchRefused as error:
            why = f"{self.patch_path} was changed by hand and does not fit {self.path}: {error}"
            raise PatchRefused(f"{why}. Remove the file to begin anew.") from None
        return {name: content for name, content in {**files, **changed}.items() if content is not None}

    def _bundled(self, after: Mapping[str, bytes]) -> tuple[bytes, str]:
        """The bundle; or nothing, and the reason where one could be expected."""
        archive = self._archive()
        if not archive.commit or not self.path.lower().endswith(".tar"):
            return b"", ""
        before = archive.files
        changed = {
            name: after.get(name) for name in before.keys() | after.keys() if before.get(name) != after.get(name)
        }
        try:
            return bundle(self.path, archive.commit, changed, archive.top), ""
        except NotCloned:
            return b"", ""
        except NoBundle as error:
            return b"", str(error)

    def _beside(self, end: str) -> str:
        name = os.path.basename(self.path)
        known = next((one for one in _ENDS if name.lower().endswith(one)), "")
        return f"{name[: len(name) - len(known)] or name}.changes.{end}"

    def _archive(self) -> Archive:
        if self._loaded is None:
            self._loaded = read_archive(self.path)
        return self._loaded

    def _fitting(self, pattern: str) -> Mapping[str, bytes]:
        files = self.current()
        return {name: content for name, content in files.items() if fnmatch.fnmatchcase(name, pattern)}


def described(path: str, chars: int) -> str:
    """An archive in this many characters: commit, files, what was left out, and the outline."""
    archive = read_archive(path)
    count = len(archive.files)
    head = f"{count:,} file{'' if count == 1 else 's'}, {sum(map(len, archive.files.values())):,} bytes"
    head += f", commit {archive.commit}" if archive.commit else ""
    lines = [head]
    if archive.left_out:
        some = "; ".join(f"{name}: {why}" for name, why in list(archive.left_out.items())[:5])
        lines.append(f"left out: {len(archive.left_out):,} ({some[:400]})")
    if pointers := [name for name, content in archive.files.items() if is_lfs_pointer(content)]:
        some = ", ".join(pointers[:5])[:400]
        lines.append(f"no content, only pointers of Git LFS: {len(pointers):,} ({some})")
    return "\n".join([*lines, outline(archive.files, chars - sum(map(len, lines)) - 2)])


def _last(output: str) -> str:
    text = output.strip()
    return text if len(text) <= _TEST_CHARS else "…" + text[-_TEST_CHARS:]


def _replace(path: str, content: bytes) -> None:
    """Write a file in one step; one without content is removed."""
    if content:
        fresh = f".{path}.new"
        with open(fresh, "wb") as file:
            file.write(content)
        os.replace(fresh, path)
    elif os.path.lexists(path):
        os.remove(path)


def _again(path: str) -> Repository:
    """A repository whose archive is read when it is used: it may not be in place yet when a session is restored."""
    found = Repository.__new__(Repository)
    found.path, found._loaded = path, None
    return found


def _what(name: str, before: Mapping[str, bytes], content: bytes | None) -> str:
    return "deleted" if content is None else "changed" if name in before else "made"


def _bounded(lines: list[str], nothing: str) -> Text:
    text = "\n".join(lines) or nothing
    return Text(text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "\n… cut here; ask for less at once")
