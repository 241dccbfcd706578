"""Puts files of the file store into a thread: tables made safe on the way out, each upload once, refusals told."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from core.blobs import Blobs
from core.errors import BlobMissing, SlackFailed
from core.phrases import say
from core.slack.text import escape
from core.slack.writing.uploads import NEVER_OFFERED, PROXY_PAGE, Upload
from core.slack.writing.writer import SlackWriter
from core.telemetry import get_logger
from core.values import Language, Lease, StoredFile, ThreadKey
from workers.delivery.safe_tables import make_safe

log = get_logger(__name__)

_REFUSED_ALONE = frozenset(
    {"file_type_not_allowed", "file_upload_size_restricted", PROXY_PAGE, "http_403", "http_413", "http_415"}
)
"""Refusals of one file, for its kind or its size, by Slack or by a proxy. Slack may take the others."""
_REFUSED_FILES = {"missing_scope": "files_no_scope", "storage_limit_reached": "files_no_storage"}


class Copies(NamedTuple):
    """Files to upload, and the names of those that the file store has lost, in which formulas became text, which must
    not leave, and which are empty."""

    uploads: list[Upload]
    gone: list[str]
    inert: list[str]
    held: list[str]
    empty: list[str]


class Sharing:
    """Uploads into one thread. Safe to make again: the same key is never uploaded twice."""

    def __init__(
        self,
        slack: SlackWriter,
        blobs: Blobs,
        lease: Lease,
        language: Language,
        tell: Callable[[str, str], object] | None = None,
    ) -> None:
        """`tell` posts a sentence under an outbox key; without it the sentence is posted as it is."""
        self._slack = slack
        self._blobs = blobs
        self._lease = lease
        self._thread = ThreadKey.parse(lease.thread_id)
        self._language = language
        self._tell = tell or (lambda key, text: slack.post_once(lease, self._thread, key, text))

    def share(self, key: str, files: Sequence[StoredFile], comment: str = "") -> bool:
        """These files in one message; `comment` is mrkdwn. True when Slack has them, or there was nothing to send.

        Raises SlackUnreachable, BlobsUnreachable, LeaseLost.
        """
        with self.copies(key, files) as copies:
            return self.send(key, copies, comment)

    @contextmanager
    def copies(self, key: str, files: Sequence[StoredFile], *, early: bool = False) -> Iterator[Copies]:
        """Local copies of these files. With `early` Slack gets their bytes now: only where nobody may have begun the
        upload before."""
        with tempfile.TemporaryDirectory(prefix="threadbook-") as folder:
            found = Copies([], [], [], [], [])
            for number, file in enumerate(files):
                copy = Path(folder) / str(number)
                try:
                    self._blobs.fetch(file.sha256, copy)
                except BlobMissing:
                    found.gone.append(file.name)
                    continue
                if not copy.stat().st_size:
                    found.empty.append(file.name)
                    continue
                checked = make_safe(file.name, copy)
                if checked.held:
                    found.held.append(file.name)
                    continue
                found.uploads.append(Upload(name=file.name, data=copy, title=file.name))
                if checked.changed:
                    found.inert.append(file.name)
            if early:
                self._slack.prepare_upload(self._thread, key, found.uploads)
            try:
                yield found
            finally:
                self._slack.forget_upload(key)

    def send(self, key: str, copies: Copies, comment: str = "") -> bool:
        """Put copies into the thread, and tell what became of files that are not among them, or that were refused."""
        if copies.gone:
            if self._slack.has_files(self._lease, self._thread, key):
                return True
            log.error("files_lost", files=len(copies.gone))
            self._say(f"{key}:gone", "files_gone", copies.gone)
        if copies.inert or copies.held:
            log.info("tables_made_safe", inert=len(copies.inert), held=len(copies.held))
        told = (("files_inert", copies.inert), ("files_held", copies.held), ("files_empty", copies.empty))
        for phrase, names in told:
            if names:
                self._say(f"{key}:{phrase}", phrase, names)
        try:
            self._slack.upload(self._lease, self._thread, key, copies.uploads, comment)
        except SlackFailed as error:
            if error.error in _REFUSED_ALONE and len(copies.uploads) > 1:
                return self._send_each(key, copies.uploads, comment)
            log.exception("files_not_posted", files=len(copies.uploads))
            self._tell_refused(key, [file.name for file in copies.uploads], error.error)
            return False
        return True

    def _send_each(self, key: str, uploads: Sequence[Upload], comment: str) -> bool:
        """Each file in a message of its own, the comment with the first; True when Slack took one of them."""
        refused: dict[str, list[str]] = {}
        taken = 0
        for number, file in enumerate(uploads):
            try:
                self._slack.upload(self._lease, self._thread, f"{key}:{number}", [file], "" if taken else comment)
                taken += 1
            except SlackFailed as error:
                refused.setdefault(error.error, []).append(file.name)
        for why, names in refused.items():
            log.error("files_not_posted", files=len(names), error=why)
            self._tell_refused(f"{key}:{why}", names, why)
        return taken > 0

    def _tell_refused(self, key: str, names: Sequence[str], error: str) -> None:
        """Say why Slack did not take files; once per thread when it takes none at all."""
        if error in NEVER_OFFERED:
            text = say("files_not_offered", self._language, why=error)
            self._slack.post(self._lease, self._thread, f"{self._lease.thread_id}:files_not_offered", text)
            return
        self._say(f"{key}:refused", _REFUSED_FILES.get(error, "files_not_posted"), names, error)

    def _say(self, key: str, phrase: str, names: Sequence[str], why: str = "") -> None:
        more = {"why": why} if why else {}
        self._tell(key, escape(say(phrase, self._language, names=", ".join(names), **more)))
