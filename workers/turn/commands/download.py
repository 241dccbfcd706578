"""download: the thread's hand-over as one zip, once for each report."""

from __future__ import annotations

from collections.abc import Sequence

from core.errors import SlackFailed
from core.phrases import say
from core.slack.text import escape
from core.slack.writing.uploads import Upload
from core.steps import Step
from workers.agent.about_steps import cells, data_held
from workers.turn.access.messages import held_back
from workers.turn.commands.thread import CommandThread
from workers.turn.handover import handover, last_report
from workers.turn.privacy import as_people_see, privacy_in

NAME = "analysis.zip"


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Post a zip with everything up to the last report. If it was posted before, only the thread is told.

    It shows rows as the cells did, also after a reset: it is for who may ask the sources.
    """
    store, lease, command = thread.context.store, thread.lease, thread.command
    turns = store.thread_steps(lease.thread_id)
    last = last_report(turns)
    if not last or (turn := store.turn(last)) is None:
        thread.answer(say("nothing_to_download", thread.language))
        return ()
    key = f"{last}:handover"
    known = store.outbox_get(key)
    if known is not None and known.status == "sent" and known.created_at.timestamp() < float(command.ts):
        thread.answer(say("download_known", thread.language))
        return ()
    place = list(turns).index(last) + 1
    upto, later = list(turns.values())[:place], list(turns.values())[place:]
    if refusal := held_back(thread.context, thread.key, command.user, command.author, data_held(upto)):
        thread.answer(refusal, done=False)
        return ()
    seen = as_people_see(upto, privacy_in(thread.context, lease.thread_id))
    data = handover(thread.context, upto, seen, turn.language, model=turn.model)
    told = [say("download_here", turn.language)]
    if any(cells(steps) for steps in later):
        told.append(say("download_not_later", turn.language))
    comment = escape("\n".join(told))
    try:
        steps = thread.share(key, [Upload(name=NAME, data=data, title=NAME)], comment)
    except SlackFailed as error:
        thread.answer(say("download_refused", thread.language, why=error.error), done=False)
        return ()
    thread.sign(done=True)
    return steps
