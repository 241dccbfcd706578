"""Sends files at once, or only after a person's yes if `[approvals] files` of the channel says so.

Waiting files are a step, so they are not lost with a process. The turn goes on and ends without waiting for them.
Charts are part of an answer, as its text is, and never wait.
"""

from __future__ import annotations

import mimetypes
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from core.blobs import Blobs
from core.errors import BlobMissing, OursToFix
from core.held_files import Held, held_files
from core.slack.views.held_files import held_message, settled_message
from core.slack.writing.uploads import Upload
from core.steps import FilesHeld, HeldFile, Step
from core.telemetry import get_logger
from core.values import Language, Lease, StoredFile, ThreadKey
from workers.delivery.table_rows import table_rows
from workers.turn.context import TurnContext
from workers.turn.open_turn import OpenTurn

log = get_logger(__name__)

Turns = Sequence[Sequence[Step]]


def must_wait(context: TurnContext, thread_id: str) -> bool:
    """Whether files of this thread wait for a yes."""
    return context.settings.approvals_in(ThreadKey.parse(thread_id).channel).files == "always"


def asked_about(turns: Turns, key: str) -> Held | None:
    """The last question about the files of this upload; None when nobody was asked."""
    return next((each for each in reversed(held_files(turns)) if each.held.key == key), None)


def held(
    context: TurnContext, thread: ThreadKey, turns: Turns, key: str, files: Sequence[StoredFile], *, comment: str = ""
) -> FilesHeld:
    """The step that has these files wait. Its id follows from the steps before it. Raises BlobsUnreachable."""
    policy = context.settings.approvals_in(thread.channel)
    return FilesHeld(
        id=f"files:{len(held_files(turns)) + 1}",
        key=key,
        files=tuple(_with_rows(context.blobs, file) for file in files),
        comment=comment,
        until=time.time() + policy.hours * 3_600,
        hours=policy.hours,
        people=policy.people,
    )


def share_files(turn: OpenTurn, slot: str, files: Sequence[StoredFile]) -> None:
    """Post files of an open turn, or ask whether they may go. Safe to do again."""
    if (step := hold_files(turn, slot, files)) is None:
        turn.show.files(slot, files)
    else:
        show_held(turn.context, turn.lease, Held(step), turn.language)


def hold_files(turn: OpenTurn, slot: str, files: Sequence[StoredFile]) -> FilesHeld | None:
    """The step that has these files of an open turn wait, stored; None when they may go, or went, or are none."""
    key = turn.show.key_of(slot)
    if (before := asked_about(turn.turns, key)) is not None:
        return before.held
    if not any(file.size for file in files) or not must_wait(turn.context, turn.thread_id):
        return None
    if turn.context.store.outbox_get(key) is not None:  # they went before the policy came
        return None
    step = held(turn.context, ThreadKey.parse(turn.thread_id), turn.turns, key, files)
    turn.append(step)
    return step


def share_upload(turn: OpenTurn, key: str, upload: Upload, comment: str) -> None:
    """Post one file of an open turn, or ask whether it may go. Safe to do again. Raises SlackFailed, SlackUnreachable,
    BlobsUnreachable."""
    context = turn.context
    before = asked_about(turn.turns, key)
    if before is None and not must_wait(context, turn.thread_id):
        context.slack.upload(turn.lease, ThreadKey.parse(turn.thread_id), key, [upload], comment)
        return
    step = (
        before.held
        if before
        else held(
            context, ThreadKey.parse(turn.thread_id), turn.turns, key, stored(context.blobs, [upload]), comment=comment
        )
    )
    if before is None:
        turn.append(step)
    show_held(context, turn.lease, Held(step), turn.language)


def show_held(context: TurnContext, lease: Lease, question: Held, language: Language) -> None:
    """Post the message that asks about files, once."""
    thread = ThreadKey.parse(lease.thread_id)
    message = held_message(question, thread, language)
    context.slack.post_once(lease, thread, _message_key(lease, question.held), message.text, message.blocks)


def redraw(context: TurnContext, lease: Lease, question: Held, language: Language) -> None:
    """Draw the message that asks about files again."""
    row = context.store.outbox_get(_message_key(lease, question.held))
    if row is None or not row.ts:
        return
    thread = ThreadKey.parse(lease.thread_id)
    message = held_message(question, thread, language) if question.is_open else settled_message(question, language)
    try:
        context.slack.update(lease, thread, row.ts, message.text, message.blocks)
    except OursToFix as error:
        log.warning("files_question_not_redrawn", error=error)


def stored(blobs: Blobs, uploads: Sequence[Upload]) -> list[StoredFile]:
    """These files, kept in the file store. Raises BlobsUnreachable."""
    return [
        StoredFile(
            name=upload.name,
            mimetype=mimetypes.guess_type(upload.name)[0] or "application/octet-stream",
            size=upload.size,
            sha256=blobs.put(upload.data),
        )
        for upload in uploads
    ]


def _with_rows(blobs: Blobs, file: StoredFile) -> HeldFile:
    rows = None
    if file.name.rpartition(".")[2].casefold() in ("csv", "tsv", "tab", "xlsx"):
        with tempfile.TemporaryDirectory(prefix="threadbook-") as folder:
            copy = Path(folder) / "file"
            try:
                blobs.fetch(file.sha256, copy)
            except BlobMissing:
                rows = None
            else:
                rows = table_rows(file.name, copy)
    return HeldFile(name=file.name, mimetype=file.mimetype, size=file.size, sha256=file.sha256, rows=rows)


def _message_key(lease: Lease, step: FilesHeld) -> str:
    return f"{lease.thread_id}/{step.id}"
