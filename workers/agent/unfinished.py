"""The text when a turn stops without an answer, and the lines below an incomplete report."""

from __future__ import annotations

from typing import Literal

from core.phrases import say
from workers.agent import guards
from workers.agent.turn import Turn

Stop = Literal[
    "stuck_on_error",
    "stuck_on_code",
    "nonsense_replies",
    "data_not_read",
    "out_of_cells",
    "out_of_replies",
    "out_of_budget",
]


def stopped_text(turn: Turn, reason: Stop, count: int, question: str = "") -> str:
    """What happened, what did not work, what is known so far, and what people can do next, as Markdown.

    `count` belongs to the reason: how many errors, replies, cells or model calls. `question` is what
    the model still wanted to know. Figures of a model that did not read the data are not repeated.
    """
    language = turn.language
    scope = turn.allowance.scope if turn.allowance else ""
    values = {"scope": scope} if reason == "out_of_budget" else {"count": count}
    head = [say("unfinished_head", language), say(f"unfinished_{reason}", language, **values)]
    paragraphs = ["\n".join(head)]
    if failed := guards.failed_so_far(turn.steps, turn.told):
        lines = [say("unfinished_failed_line", language, **item) for item in failed]
        paragraphs.append("\n".join([say("unfinished_failed", language), *lines]))
    if known := [] if reason == "data_not_read" else guards.known_so_far(turn.steps, turn.told):
        lines = [say("unfinished_known_line", language, **item) for item in known]
        paragraphs.append("\n".join([say("unfinished_known", language), *lines]))
    else:
        paragraphs.append(say("unfinished_nothing_known", language))
    if question:
        paragraphs.append(say("unfinished_question", language, question=question))
    if reason == "out_of_budget":
        paragraphs.append(say("unfinished_next_budget", language, scope=scope))
    else:
        paragraphs.append(say("unfinished_next", language))
    return "\n\n".join(paragraphs)


def with_note(report: str, note: Literal["unchecked", "incomplete"], reason: str, turn: Turn) -> str:
    """The report, with a line below it: what the final check missed (`reason`, "" when it gave none)."""
    line = say(f"report_{note}", turn.language, reason=reason)
    return f"{report}\n\n{line}"


def with_budget_note(turn: Turn, report: str) -> str:
    """The report, with a line below it when a budget ended the turn."""
    if turn.allowance is None or not guards.is_short_of_budget(turn):
        return report
    line = say("report_short_of_budget", turn.language, scope=turn.allowance.scope)
    return f"{report}\n\n{line}"


def with_message_note(turn: Turn, report: str, unread: str) -> str:
    """The report, with a line below it when it does not know a message. `unread` is who wrote that, "" for nobody."""
    return f"{report}\n\n{say('report_before_message', turn.language, author=unread)}" if unread else report
