"""From messages to a briefing: their files are fetched, kept, put into the thread's workspace, and described in a cell.

The describing happens inside the sandbox: nothing that a person sent is parsed on the trusted side.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from pathlib import Path

from core.blobs import Blobs
from core.errors import BlobMissing, FileUnreachable, UsersMove
from core.installations.workspaces import Workspace
from core.phrases import say
from core.slack.writing.writer import SlackWriter
from core.steps import Briefed, FileAbstract, FileProblem
from core.store import Store, StoredMessage
from core.team_settings import RepositorySettings
from core.telemetry import get_logger
from core.values import REPOSITORY_MODE, FileRef, Language, Lease, StoredFile
from executor.client import SessionClient
from executor.values import CellResult
from workers.agent.pictures import IMAGES
from workers.profiling.file_profiles import describe_code, read_abstracts
from workers.profiling.inside.bounds import SMALLER
from workers.repositories.cloning import Cloner
from workers.turn.downloads import Downloader, look_up_with
from workers.turn.stop_check import StopCheck, stopped_by, unless_stopped

log = get_logger(__name__)

MAX_FILES = 20
"""Files that are read at once; the others are named and left out."""
MAX_NAMES = 10
DESCRIBE_TIMEOUT_S = 120.0


class ThreadFiles:
    """Brings the files of messages to the analyst. All of it may be done again after a crash, with the same outcome."""

    def __init__(
        self,
        *,
        store: Store,
        slack: SlackWriter,
        sessions: SessionClient,
        blobs: Blobs,
        downloader: Downloader,
        cloner: Cloner | None = None,
    ) -> None:
        """Without a `cloner` no repository is looked for in messages."""
        self._store = store
        self._slack = slack
        self._sessions = sessions
        self._blobs = blobs
        self._downloader = downloader
        self._cloner = cloner or Cloner(RepositorySettings())

    def for_workspace(self, workspace: Workspace) -> ThreadFiles:
        """The same for the files of another workspace."""
        other = copy(self)
        other._slack = workspace.slack
        other._downloader = self._downloader.for_workspace(workspace.token_of, look_up_with(workspace.client))
        other._cloner = self._cloner.without_private_hosts()
        return other

    def announced(self, mail: Sequence[StoredMessage]) -> tuple[FileRef, ...]:
        """The files and repositories of these messages, each once.

        Slack is asked where an event may have come without its files.
        """
        found: dict[str, FileRef] = {}
        for message in mail:
            files = message.files if message.files_known else self._slack.message_files(message.thread, message.ts)
            found |= {file.id: file for file in (*files, *self._cloner.named_in(message.text))}
        return tuple(found.values())

    def brief(
        self,
        lease: Lease,
        turn_id: str,
        files: Sequence[FileRef],
        language: Language,
        stop: StopCheck = lambda: False,
        *,
        is_late: Callable[[], bool] = lambda: False,
    ) -> Briefed | None:
        """Fetch, keep, place and describe these files; what could not be used is in it with its reason.

        None as soon as `stop` says that somebody wants it to stop. `turn_id` tells one try from another after that. A
        file that Slack does not give now raises FileUnreachable, until `is_late`: then it could not be used.
        """
        problems = _left_out(files[MAX_FILES:], language)
        digests: dict[str, str] = {}
        with tempfile.TemporaryDirectory(prefix="threadbook-") as folder:
            for number, file in enumerate(files[:MAX_FILES]):
                copy = Path(folder) / str(number)
                try:
                    got = unless_stopped(partial(self.fetch, file, copy), stop, name="download")
                    if got is None:
                        return None
                    kept = self._keep(lease, got, copy)
                    digests[self._sessions.put(lease.thread_id, got.name, copy)] = kept.sha256
                except UsersMove as error:
                    log.info("file_refused", file=file.id, reason=error.key)
                    problems.append(FileProblem(name=file.name, why=say(error.key, language, **error.variables)))
                except FileUnreachable:
                    if not is_late():
                        raise
                    log.warning("file_given_up", file=file.id)
                    problems.append(FileProblem(name=file.name, why=say("file_not_given", language)))
        paths = list(digests)  # the same file given twice is one file
        if not paths:
            return Briefed(problems=tuple(problems))
        # The same files are the same cell: after a crash its stored result comes back. Others are another cell.
        digest = hashlib.sha256("\0".join(paths).encode()).hexdigest()[:12]
        code = describe_code(paths)
        with stopped_by(stop, partial(self._sessions.interrupt, lease.thread_id)):
            result = self._sessions.run(
                lease.thread_id, f"{turn_id}:files:{digest}", code, timeout_s=DESCRIBE_TIMEOUT_S
            )
        if stop():
            return None
        abstracts, unreadable = read_abstracts(result, language, paths)
        # Contents are found by their digest. So it is never one that the sandbox names.
        described = tuple(
            each.model_copy(update={"sha256": digests[each.path], "smaller": self._smaller(each, result)})
            for each in abstracts
        )
        return Briefed(files=described, problems=(*problems, *unreadable))

    def _smaller(self, file: FileAbstract, result: CellResult) -> StoredFile | None:
        """The smaller copy of a picture that describing it made, kept; its digest is of the bytes that we have."""
        copies = [made for made in result.artifacts if made.name == file.path + SMALLER and made.kind == "file"]
        if file.format not in IMAGES or not copies or copies[0].mimetype != IMAGES["jpeg"]:
            return None
        (made,) = copies
        return StoredFile(
            name=made.name, mimetype=made.mimetype, size=made.size, sha256=self._blobs.put(Path(made.path))
        )

    def restore(self, thread_id: str) -> None:
        """Give a thread its inputs again before its session starts: this host may never have had them."""
        self.place(thread_id, self._store.thread_files(thread_id), restore=True)

    def place(self, thread_id: str, files: Sequence[StoredFile], *, restore: bool = False) -> list[str]:
        """Give a session these files, in the order they came, so that each gets the name it had: the names.

        Files that the host already has are not fetched again. A file that the file store has lost is left out. With
        `restore`, so is one that a cell has changed or removed.
        """
        names: list[str] = []
        held = self._sessions.held([file.sha256 for file in files]) if files else set()
        with tempfile.TemporaryDirectory(prefix="threadbook-") as folder:
            copy = Path(folder) / "file"
            for file in files:
                if file.sha256 in held:
                    names.append(self._sessions.put_held(thread_id, file.name, file.sha256, restore=restore))
                    continue
                try:
                    self._blobs.fetch(file.sha256, copy)
                except BlobMissing:
                    log.exception("file_lost", thread=thread_id, file=file.sha256)
                    continue
                names.append(self._sessions.put(thread_id, file.name, copy, restore=restore))
        return names

    def fetch(self, file: FileRef, copy: Path) -> FileRef:
        """Write a file's bytes to `copy`, and nowhere else. Raises UsersMove, FileUnreachable."""
        if file.mode == REPOSITORY_MODE:
            return self._cloner.fetch(file, copy)
        return self._downloader.fetch(file, copy)

    def _keep(self, lease: Lease, got: FileRef, copy: Path) -> StoredFile:
        """Keep a fetched file as one of the thread's."""
        kept = StoredFile(name=got.name, mimetype=got.mimetype, size=got.size, sha256=self._blobs.put(copy))
        self._store.add_thread_file(lease, kept)
        return kept


def _left_out(files: Sequence[FileRef], language: Language) -> list[FileProblem]:
    """The files beyond the first ones, as one problem."""
    if not files:
        return []
    names = [file.name for file in files[:MAX_NAMES]]
    if more := len(files) - len(names):
        names.append(say("report_more", language, count=more))
    return [FileProblem(name=", ".join(names), why=say("file_too_many", language, limit=MAX_FILES))]
