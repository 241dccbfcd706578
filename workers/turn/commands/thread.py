"""The thread as a command sees it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from core.authorization import Authorizer
from core.commands.registry import commands
from core.held_files import Held
from core.interactions import Reaction
from core.phrases import say
from core.slack.blocks import Block
from core.slack.text import escape
from core.slack.writing.uploads import Upload
from core.steps import Commanded, Step
from core.values import Language, Lease, ThreadKey
from workers.agent.about_steps import opens_turn
from workers.agent.turn import Told
from workers.turn.access.messages import permitted_mail
from workers.turn.context import TurnContext
from workers.turn.holding import asked_about, held, must_wait, show_held, stored
from workers.turn.open_turn import OpenTurn
from workers.turn.telling import told_in


@dataclass(slots=True)
class CommandThread:
    """`turns` are the steps of the thread's turns, the present one last; `command` is what a person said."""

    context: TurnContext
    lease: Lease
    turns: Sequence[Sequence[Step]]
    language: Language
    command: Commanded
    open_turn: OpenTurn | None = None
    """The turn that is open; None where the command is carried out without one."""
    is_done: bool = True
    """Whether the command did what it is for, as it was last told."""

    @property
    def key(self) -> ThreadKey:
        """Where the thread is in Slack."""
        return ThreadKey.parse(self.lease.thread_id)

    @property
    def opens_turn(self) -> bool:
        """Whether the present turn was opened by this command."""
        return bool(self.turns) and opens_turn(self.turns[-1], self.command)

    def told(self, turns: Sequence[Sequence[Step]]) -> Told:
        """What everybody in the thread may read of the outputs and the code of these turns."""
        context = self.context
        access = Authorizer(context.settings, context.store, context.slack)
        return told_in(context.settings, access, self.lease.thread_id, turns)

    def stop_asked(self) -> bool:
        """Whether somebody who may asked for a stop that is not read yet."""
        if not self.context.stops.asked(self.lease.thread_id):
            return False
        permitted_mail(self.context, self.lease, lambda: self.turns[-1])  # a stop of somebody who may not is taken out
        return self.context.store.stop_asked(self.lease.thread_id)

    def answer(
        self, text: str, blocks: list[Block] | None = None, *, done: bool = True, links: Collection[str] = ()
    ) -> None:
        """Post a sentence once and mark the command's message as dealt with. Data in the sentence is escaped here.

        With `blocks` it is their text for notifications. `done`: the command did what it is for. `links` are web
        addresses of ours in it.
        """
        key = f"{self.lease.thread_id}/{self.command.command}:{self.command.ts}"
        self.context.slack.post_once(self.lease, self.key, key, escape(text), blocks, known=links)
        self.sign(done=done)

    def share(self, key: str, uploads: Sequence[Upload], comment: str = "") -> Sequence[Step]:
        """Put files into the thread once, or ask whether they may go, where the channel wants that; then a step says
        so. `comment` is mrkdwn. Raises SlackFailed, SlackUnreachable, BlobsUnreachable."""
        context, before = self.context, asked_about(self.turns, key)
        if not must_wait(context, self.lease.thread_id) and (before is None or not before.is_open):
            context.slack.upload(self.lease, self.key, key, uploads, comment)
            return ()
        if before is not None and before.is_open:
            self.answer(say("files_wait", self.language))
            return ()
        step = held(context, self.key, self.turns, key, stored(context.blobs, uploads), comment=comment)
        show_held(context, self.lease, Held(step), self.language)
        return (step,)

    def sign(self, *, done: bool) -> None:
        """Mark the command's message as dealt with. What came by a form or a button has no message."""
        self.is_done = done
        if commands()[self.command.command].by_form or not self.command.text:
            return
        slack, ts = self.context.slack, self.command.ts
        slack.unreact(self.key, ts, Reaction.RECEIVED, lease=self.lease)
        slack.react(self.key, ts, Reaction.DONE if done else Reaction.FAILED, lease=self.lease)
