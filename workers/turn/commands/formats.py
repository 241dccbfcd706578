"""slides, pdf, excel, csv: the report in this format, once for each report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from core.errors import SlackFailed
from core.formats import Format, is_format
from core.phrases import say
from core.slack.text import escape
from core.slack.writing.uploads import Upload
from core.steps import Finished, Step
from workers.agent.about_steps import data_held
from workers.turn.access.messages import held_back
from workers.turn.commands.thread import CommandThread
from workers.turn.handover import last_report, report_of
from workers.turn.privacy import as_people_see, privacy_in
from workers.turn.report_formats import in_format


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Post the files. A press on a button names the report's turn; words mean the last one.

    They show rows as the report's cells did, also after a reset: they are for who may ask the sources.
    """
    store, lease, command = thread.context.store, thread.lease, thread.command
    turns = store.thread_steps(lease.thread_id)
    meant = command.text if _has_report(turns, command.text) else last_report(turns)
    if not is_format(command.command) or not meant or (turn := store.turn(meant)) is None:
        thread.answer(say("nothing_to_download", thread.language))
        return ()
    name: Format = command.command
    key = f"{meant}:as_{name}"
    known = store.outbox_get(key)
    if known is not None and known.status == "sent" and known.created_at.timestamp() < float(command.ts):
        label = say(f"report_button_{name}", thread.language)
        thread.answer(say("format_known", thread.language, name=label))
        return ()
    upto = list(turns.values())[: list(turns).index(meant) + 1]
    if refusal := held_back(thread.context, thread.key, command.user, command.author, data_held(upto)):
        thread.answer(refusal, done=False)
        return ()
    seen = as_people_see(upto, privacy_in(thread.context, lease.thread_id))
    given = report_of(thread.context, upto, seen, turn.language, model=turn.model)
    files = in_format(name, replace(given, clean_room=store.clean_room(turn.id)))
    if not files:
        thread.answer(say("format_no_table", thread.language), done=False)
        return ()
    uploads = [Upload(name=file.name, data=file.data, title=file.name) for file in files]
    try:
        told = [say(f"format_{name}_here", turn.language), *(file.note for file in files if file.note)]
        steps = thread.share(key, uploads, escape("\n".join(told)))
    except SlackFailed as error:
        names = ", ".join(file.name for file in files)
        thread.answer(say("format_refused", thread.language, name=names, why=error.error), done=False)
        return ()
    if command.text != meant:  # a press has no message to put a sign on
        thread.sign(done=True)
    return steps


def _has_report(turns: Mapping[str, Sequence[Step]], turn_id: str) -> bool:
    return any(isinstance(step, Finished) for step in turns.get(turn_id, ()))
