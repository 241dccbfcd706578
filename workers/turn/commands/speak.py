"""speak: a person writes the analyst's next message, or its next cell, in its place."""

from __future__ import annotations

import json
from collections.abc import Sequence

from core.commands.stepping_in import Speech
from core.steps import Replied, Step, ToolCall
from workers.agent.replies.tools import FINISH, RUN_PYTHON, title_of
from workers.turn.commands.thread import CommandThread


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """The reply as the model would have given it, with the name of the person who did."""
    command, speech = thread.command, Speech.decode(thread.command.text)
    if speech is None:
        return ()
    given = (
        {"report": speech.text} if speech.what == "message" else {"code": speech.text, "title": title_of(speech.text)}
    )
    tool = FINISH if speech.what == "message" else RUN_PYTHON
    call = ToolCall(id=f"by-{command.ts}", name=tool, arguments=json.dumps(given, ensure_ascii=False))
    return (Replied(purpose="act", calls=(call,), user=command.user, author=command.author or command.user),)
