"""The answers that people judge on the playground's page, and the effect of a judgement.

A judgement works like the menu “Threadbook…” of a message: the same rights, the same rows, and a correction is the same
command for the worker. So `threadbook export` sees no difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from redis import RedisError
from sqlalchemy.exc import SQLAlchemyError

from bot.desks import Desk, Desks
from bot.message_handler import MessageHandler
from bot.pressed import now, pressed
from core.commands.registry import CONTEXT
from core.commands.stepping_in import EDIT_CHARS, ContextChange
from core.errors import ThreadbookError
from core.installations.workspaces import opened_workspaces
from core.queue import Wakes, connect_redis
from core.rows import TurnRow
from core.settings import Settings
from core.slack.views.reports import REASON_CHARS
from core.steps import Changed, Finished, Step, user_of
from core.store import Store
from core.values import ThreadKey
from workers.agent.thread.changes import REPORT
from workers.agent.thread.training import question_of

REDIS_TIMEOUT_S = 2.0
MOST_THREADS = 100
"""The threads that were written to last; each may take a call to Slack."""
RATINGS = ("up", "down", "example", "no_example")

Json = dict[str, Any]


class Labelling:
    """What the page of the playground asks (`playground/labels.py`). Safe to share between threads."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._store = Store(settings.database_url)
        self._redis = connect_redis(settings.redis_url, timeout_s=REDIS_TIMEOUT_S)
        self._workspaces = opened_workspaces(settings, self._store, self._redis)
        self._wakes = Wakes(self._redis, self._store)
        self._later = ThreadPoolExecutor(max_workers=2, thread_name_prefix="later")
        self._lookups = ThreadPoolExecutor(max_workers=2, thread_name_prefix="lookup")
        self._desks = Desks(self._store, self._handler, many=settings.many_workspaces)

    def answers(self, team: str, user: str) -> tuple[Sequence[Json], str]:
        """The answers that a person may see, the newest first, and why some are missing ("" when none are)."""
        try:
            return [each for thread in self._threads(team, user) for each in self._answers(thread, user)], ""
        except (SQLAlchemyError, RedisError, ThreadbookError) as error:
            return [], f"The answers cannot be read now, nothing of them is lost. Try again. ({_first_line(error)})"

    def label(self, team: str, user: str, answer: str, do: str, text: str) -> str:
        """Keep a judgement of an answer; returns why it was not kept, or ""."""
        try:
            thread_id, _, _ = answer.rpartition("/t")
            is_seen = bool(thread_id) and thread_id in self._threads(team, user, only=thread_id)
            found = {each["id"]: each for each in self._answers(thread_id, user)} if is_seen else {}
            if answer not in found:
                return "This answer is not stored any more, or you may not read its thread. Nothing was kept."
            if do == "fix":
                return self._fix(self._desks.of(team), ThreadKey.parse(thread_id), user, found[answer], text.strip())
            if do not in RATINGS or not self._desks.of(team).reports.rate(answer, team, user, do, text[:REASON_CHARS]):
                return "This answer cannot be judged so. Nothing was kept."
        except (SQLAlchemyError, RedisError, ThreadbookError) as error:
            return f"Nothing was kept, because it cannot be stored now. Try again. ({_first_line(error)})"
        return ""

    def close(self) -> None:
        """Finish what was begun, and close the connections."""
        self._later.shutdown(wait=True)
        self._lookups.shutdown(wait=True)
        self._redis.close()
        self._store.close()

    def _handler(self, team: str) -> MessageHandler:
        return MessageHandler(
            settings=self._settings.for_workspace(team),
            store=self._store,
            wakes=self._wakes,
            slack=self._workspaces.of(team).slack,
            later=self._later,
            lookups=self._lookups,
        )

    def _threads(self, team: str, user: str, *, only: str = "") -> list[str]:
        """The threads that the person may see; of `only` one, whether they may."""
        may_see = self._desks.of(team).handler.gate.sight.of(team, user)
        found = self._store.find_threads(team=team, channel=ThreadKey.parse(only).channel if only else "")
        wanted = [each for each in found if each.turns and only in ("", each.thread_id)][:MOST_THREADS]
        return [each.thread_id for each in wanted if may_see(each.thread_id)]

    def _answers(self, thread_id: str, user: str) -> Iterator[Json]:
        steps = self._store.thread_steps(thread_id)
        changes = [step for each in steps.values() for step in each if isinstance(step, Changed) and step.do == "edit"]
        for turn in reversed(self._store.turns(thread_id)):
            finished = next((step for step in reversed(steps[turn.id]) if isinstance(step, Finished)), None)
            if finished is not None and not finished.partial:
                edits = [change for change in changes if change.target == f"{REPORT}{turn.number}"]
                yield self._answer(turn, finished.report, edits, steps[turn.id], user)

    def _answer(self, turn: TurnRow, report: str, edits: Sequence[Changed], steps: Sequence[Step], user: str) -> Json:
        key, votes, examples = (
            ThreadKey.parse(turn.thread_id),
            self._store.votes(turn.id),
            self._store.examples(turn.id),
        )
        mine = next((vote for vote in votes if vote.user == user), None)
        row = self._store.outbox_get(f"{turn.id}:report:0")
        ts = row.ts if row is not None and row.ts else ""
        coming = self._coming(turn.thread_id).get(ts)
        asked = next((step for step in steps if user_of(step)), None)
        return {
            "id": turn.id,
            "channel": key.channel,
            "thread_ts": key.root_ts,
            "question": " ".join(question_of(steps).split()) or "…",
            "author": getattr(asked, "author", ""),
            "at": (turn.ended_at or turn.created_at).timestamp(),
            "report": coming or (edits[-1].text if edits else report),
            "original": report if edits else "",
            "editor": edits[-1].author if edits else "",
            "up": sum(vote.vote == "up" for vote in votes),
            "down": sum(vote.vote == "down" for vote in votes),
            "mine": mine.vote if mine else "",
            "reason": mine.reason if mine else "",
            "examples": len(examples),
            "is_example": user in examples,
            "can_fix": bool(ts),
            "is_waiting": coming is not None,
        }

    def _coming(self, thread_id: str) -> dict[str, str]:
        """Corrections that no worker has read yet, by the ts of their message."""
        changes = [ContextChange.decode(each.text) for each in self._store.unread(thread_id) if each.kind == CONTEXT]
        return {each.message: each.text for each in changes if each is not None and each.do == "edit"}

    def _fix(self, desk: Desk, key: ThreadKey, user: str, answer: Mapping[str, Any], text: str) -> str:
        """Have the worker put a person's text in the place of a report."""
        if not text or len(text) > EDIT_CHARS or text == answer["report"].strip():
            return f"Nothing was kept: write another text, of at most {EDIT_CHARS} characters."
        row = self._store.outbox_get(f"{answer['id']}:report:0")
        if row is None or not row.ts:
            return "Nothing was kept: this answer does not stand in Slack, so nobody would see that it was corrected."
        change = ContextChange(do="edit", message=row.ts, text=text)
        message = pressed(key, user, now(), text=change.encode(), kind=CONTEXT)
        if not desk.handler.gate.may(message):
            return "Nothing was kept: `context` of [access] does not let you correct answers here."
        desk.handler.take_decision(message)
        return ""


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0][:200] or type(error).__name__
