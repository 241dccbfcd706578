"""`threadbook mcp`: Threadbook as a server of tools (MCP) for other programs, over standard input and output.

The program that starts it has the token of one person. Each tool does only what that person may do in Slack: `may`
checks every call. A question goes into the direct message with the person, and the running stack answers it there.
"""

from __future__ import annotations

import hashlib
import hmac
import time
import uuid
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field
from redis import RedisError

from bot.finding import Sight, candidates
from core.access import Verdict
from core.actions import Action
from core.authorization import Authorizer
from core.errors import SettingsError, SlackFailed, SlackUnreachable
from core.installations.workspaces import opened_workspaces
from core.phrases import say
from core.queue import Wakes, connect_redis
from core.settings import Settings
from core.slack.text import clip, escape
from core.slack.writing.writer import SlackWriter
from core.steps import GaveUp, open_question
from core.store import Store
from core.store.full_text import words_in
from core.team_folder.spaces import EVERYONE
from core.telemetry import configure_logging
from core.values import IncomingMessage, ThreadKey
from tryout.commands.workspace import of_workspace
from workers.memory.playbooks.matching import Candidate
from workers.memory.team import memory_of

LOOK_S = 0.5
QUESTION_CHARS, SHOWN_CHARS = 20_000, 300
MOST_THREADS = 20


class NotAllowed(ToolError):
    """The person may not do this, or nobody can say now whether they may. The text says why."""


def run(settings: Settings, workspace: str = "") -> int:
    """Serve until standard input ends. Raises SettingsError when the token is nobody's there, NotInstalled."""
    own = of_workspace(settings, workspace)
    if settings.slack_bot_token is None and not workspace:
        raise SettingsError("SLACK_BOT_TOKEN must be set: the person's rights are looked up in Slack.")
    user = person_of(settings, workspace)
    configure_logging(settings)
    with closing(Store(settings.database_url)) as store, closing(connect_redis(settings.redis_url)) as redis:
        there = opened_workspaces(settings, store, redis).of(workspace)
        team = workspace or str(there.client.auth_test()["team_id"])
        doors = Doors(own, store, there.slack, Wakes(redis, store), team, user)
        server_of(doors).run("stdio")
    return 0


def person_of(settings: Settings, workspace: str = "") -> str:
    """Slack's id of the person whose token THREADBOOK_MCP_TOKEN is, there. Raises SettingsError.

    With many workspaces a token is valid for one, because the same id may be another person elsewhere.
    """
    if settings.mcp_token is None:
        raise SettingsError("THREADBOOK_MCP_TOKEN must be set: it says for whom `threadbook mcp` works (docs/mcp.md).")
    digest = hashlib.sha256(settings.mcp_token.get_secret_value().encode()).hexdigest()
    found = ""
    for line in settings.mcp_server.tokens:
        whose, _, known = line.partition(" sha256:")
        team, _, user = whose.rpartition("/")
        if hmac.compare_digest(known, digest) and team == workspace:
            found = user
    if not found:
        raise SettingsError("THREADBOOK_MCP_TOKEN is nobody's: its hash is not in `tokens` under [mcp_server].")
    return found


@dataclass(frozen=True, slots=True)
class Doors:
    """What the tools do for one person. `pause` is called between two looks at a turn."""

    settings: Settings
    store: Store
    slack: SlackWriter
    wakes: Wakes
    team: str
    user: str
    pause: Callable[[], object] = lambda: time.sleep(LOOK_S)

    @property
    def _access(self) -> Authorizer:
        return Authorizer(self.settings, self.store, self.slack)

    def ask(self, question: str) -> str:
        """Put a question into the direct message with the person; returns the report, or what became of it."""
        if not question.strip():
            raise NotAllowed("The question is empty.")
        try:
            channel = self.slack.direct_message(self.user)
            self._require(Action.ASK, channel)
            shown = escape(clip(" ".join(question.split()), SHOWN_CHARS))
            text = say("mcp_asked", self.slack.user_language(self.user), question=shown)
            place = ThreadKey(self.team, channel, "")
            self.store.note_thread(place)
            thread = self.slack.begin_privately(None, place, self.user, f"mcp:{uuid.uuid4().hex}", text)
        except (SlackFailed, SlackUnreachable):
            raise NotAllowed("Slack does not answer, so nothing was asked. Try again later.") from None
        recorded = self.store.record_message(self._message(thread, question[:QUESTION_CHARS]))
        with suppress(RedisError):  # the janitor wakes it later
            self.wakes.wake(thread.id, recorded=recorded)
        return self._answer(thread)

    def _answer(self, thread: ThreadKey) -> str:
        """Wait until the turn rests, and say its outcome."""
        ends_at = time.monotonic() + self.settings.mcp_server.wait_s
        while True:
            turns = self.store.turns(thread.id)
            if turns and turns[-1].status != "running":
                break
            if time.monotonic() > ends_at:
                return f"The question is not answered yet. The answer comes in Slack: {self.slack.link(thread)}"
            self.pause()
        turn = turns[-1]
        if (report := self.store.report(turn.id)) is not None:
            return report.markdown
        steps = self.store.steps(turn.id)
        if turn.status == "waiting" and (asked := open_question(steps)) is not None:
            options = "".join(f"\n- {option}" for option in asked.options)
            where = self.slack.link(thread)
            return f"The analyst asks, and waits for an answer in Slack ({where}):\n{asked.question}{options}"
        gave_up = next((step.text for step in reversed(steps) if isinstance(step, GaveUp)), "")
        return gave_up or f"The question ended without a report ({turn.status})."

    def threads(self, words: str) -> list[dict[str, Any]]:
        """The threads that the person may see with these words, the newest first. Raises NotAllowed.

        With an embedding model, those that mean the same are among them.
        """
        if not words_in(words):
            raise NotAllowed("Give words to look for.")
        may_see = Sight(self.settings, self.store, self.slack, self._access).of(self.team, self.user)
        shown: list[dict[str, Any]] = []
        try:
            for found in candidates(self.settings, self.store, words, team=self.team):
                if len(shown) < MOST_THREADS and may_see(found.thread_id):
                    shown.append(
                        {
                            "question": found.description or found.question,
                            "author": found.author,
                            "last": f"{found.last_at:%Y-%m-%d %H:%M}",
                            "turns": found.turns,
                            "link": self.slack.link(ThreadKey.parse(found.thread_id)),
                            "found_by": list(found.by),
                        }
                    )
        except SlackUnreachable:
            raise NotAllowed("Slack does not answer, so nobody can say what may be seen. Try again later.") from None
        self._note(Action.LOOK, "threads", Verdict())
        return shown

    def playbooks(self, name: str = "") -> list[dict[str, str]]:
        """The playbooks that the person may read; with a name that one with its text. Raises NotAllowed."""
        try:
            self._require(Action.LOOK, self.slack.direct_message(self.user))
            found = {candidate.file: candidate for space in self._spaces() for candidate in self._in(space)}
        except (SlackFailed, SlackUnreachable):
            raise NotAllowed("Slack does not answer, so nobody can say what may be read. Try again later.") from None
        if not name:
            return [{"name": one.playbook.name, "when": one.playbook.when} for one in found.values()]
        wanted = [one for one in found.values() if one.playbook.name.casefold() == name.strip().casefold()]
        if not wanted:
            raise NotAllowed("There is no playbook of this name that may be read. Leave the name out to list them.")
        return [{"name": one.playbook.name, "when": one.playbook.when, "text": one.text} for one in wanted]

    def _in(self, space: str) -> tuple[Candidate, ...]:
        return tuple(memory_of(self.settings).shelf.index((space,)).candidates)

    def _spaces(self) -> list[str]:
        """The folders of the team's memory that the person may read: by the channels that read them."""
        own = {self.team, *self.settings.access.own_teams}
        spaces = [EVERYONE] if self.slack.standing(self.user, own) in ("member", "admin") else []
        of = {f"projects/{name}": channels for name, channels in self.settings.project_channels.items()}
        folder = self.settings.memory_folder / "channels"
        of |= {f"channels/{each.name}": (each.name,) for each in (sorted(folder.iterdir()) if folder.is_dir() else ())}
        for space, channels in of.items():
            if any(self.slack.may_read(channel, self.user, own) for channel in channels):
                spaces.append(space)
        return spaces

    def _require(self, action: Action, channel: str) -> None:
        """Raise NotAllowed unless `may` allows the person this. Either answer is written into the audit."""
        verdict = self._access.may(self._message(ThreadKey(self.team, channel, ""), ""), action)
        self._note(action, channel, verdict)
        if not verdict:
            author = self.slack.user_name(self.user)
            raise NotAllowed(say(verdict.phrase, self.slack.user_language(self.user), author=author))

    def _note(self, action: Action, resource: str, verdict: Verdict) -> None:
        outcome = "done" if verdict else "refused"
        self.store.audit(self.user, action.value, resource, outcome, details={"by": "mcp"})

    def _message(self, thread: ThreadKey, text: str) -> IncomingMessage:
        return IncomingMessage(
            team=thread.team,
            channel=thread.channel,
            channel_type="im",
            ts=thread.root_ts,
            root_ts=thread.root_ts,
            user=self.user,
            text=text,
            mention=True,
        )


def server_of(doors: Doors) -> MCPServer:
    """The server with its three tools."""
    server = MCPServer(
        "threadbook", instructions="Asks a team's data analyst, and finds what it has worked out before."
    )

    @server.tool()
    def ask(question: Annotated[str, Field(max_length=QUESTION_CHARS, description="In plain words.")]) -> str:
        """Ask the analyst a question on the team's data. It may take minutes. Returns the report in Markdown."""
        return doors.ask(question)

    @server.tool()
    def threads(
        words: Annotated[str, Field(max_length=500, description="All of them must stand in the thread.")],
    ) -> list[dict[str, Any]]:
        """Search the threads in which the analyst answered before. Returns their questions with links."""
        return doors.threads(words)

    @server.tool()
    def playbooks(
        name: Annotated[str, Field(max_length=300, description="Empty: list them all.")] = "",
    ) -> list[dict[str, str]]:
        """List the team's proven procedures; with a name, read that one."""
        return doors.playbooks(name)

    return server
