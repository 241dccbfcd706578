"""What everybody in a thread may read of what its cells did: on the card, and in the end of a turn without an answer.

The card is for all who read the channel. "Show steps" has the whole, for whoever may have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from core.authorization import Authorizer
from core.errors import SlackUnreachable
from core.settings import Settings
from core.steps import Step
from core.thread_cells import Held
from core.values import ThreadKey
from workers.agent.about_steps import data_held
from workers.agent.turn import Told
from workers.privacy.masking import hidden, values_of


def told_in(settings: Settings, access: Authorizer, thread_id: str, turns: Sequence[Sequence[Step]]) -> Told:
    """What may be told of outputs and code to everybody in the thread of these turns.

    Nothing, if the thread holds data that not everybody there may have. Personal values stand as placeholders, if the
    team wants them in reports.
    """
    thread, held = ThreadKey.parse(thread_id), data_held(turns)
    if any(held) and not _all_may_have(access, thread, held):
        return _nothing
    return with_placeholders(settings, thread, turns)


def with_placeholders(settings: Settings, thread: ThreadKey, turns: Sequence[Sequence[Step]]) -> Told:
    """What may be told of personal values in the thread of these turns: placeholders, if the team wants them in
    reports."""
    privacy = settings.privacy_in(thread.channel)
    if not privacy.redact or privacy.reports == "values":
        return str
    return partial(hidden, kinds=privacy.redact, given=values_of(turns))


def _all_may_have(access: Authorizer, thread: ThreadKey, held: Held) -> bool:
    try:
        return access.all_may_have(thread, held)
    except SlackUnreachable:
        return False


def _nothing(_text: str) -> str:
    return ""
