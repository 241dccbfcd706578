"""cost: what the model calls of this thread took."""

from __future__ import annotations

from collections.abc import Sequence

from core.phrases import number, say, written
from core.rows import Spent, money
from core.steps import Replied, Step, total_spent
from core.store import start_of_day
from workers.agent.about_steps import asks_analyst
from workers.agent.stages import feedback_chars
from workers.agent.text import CHARS_PER_TOKEN
from workers.turn.commands.thread import CommandThread


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Post the usage of the last question, of the thread, and of this person today, with the budgets that are set."""
    context, command = thread.context, thread.command
    last = next((each for each in reversed(thread.turns) if asks_analyst(each)), ())
    store, budget = context.store, context.settings.budget
    team = context.settings.counted_team(thread.key.team)
    spent = {
        "turn": total_spent([step for step in last if isinstance(step, Replied) and not step.user]),
        "thread": store.spent(thread_id=thread.lease.thread_id),
        "person": store.spent(user=command.user, since=start_of_day(), team=team),
    }
    lines = [_line(thread, scope, each, budget.currency) for scope, each in spent.items()]
    if saved := sum(feedback_chars(steps) for steps in thread.turns) // CHARS_PER_TOKEN:
        lines.append(say("cost_saved", thread.language, tokens=number(saved, thread.language)))
    thread.answer("\n".join(lines))
    return ()


def _line(thread: CommandThread, scope: str, spent: Spent, currency: str) -> str:
    cost = "" if spent.cost_micros is None else f", {written(money(spent.cost_micros), thread.language)} {currency}"
    text = say(f"cost_{scope}", thread.language, author=thread.command.author)
    return say(
        "cost_line",
        thread.language,
        what=text,
        calls=spent.calls,
        tokens=number(spent.tokens, thread.language) if spent.tokens or not spent.calls else "",
        cost=cost,
    )
