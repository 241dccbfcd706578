"""A turn under its lease: its steps in memory, in sync with the Store, and the interface for all other modules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import takewhile

from core.authorization import Authorizer
from core.rows import Spent, StoredMessage
from core.steps import Briefed, LeaseGone, Step
from core.values import Language, Lease, ThreadKey
from workers.agent.about_steps import chosen_model
from workers.agent.thread.effective_steps import effective_steps
from workers.agent.turn import AgentLimits, Environment, SourceNote, Told, ToolServerNote, Turn
from workers.delivery.deliver import Delivery
from workers.delivery.progress import ProgressView, TurnState, progress_of
from workers.models.base import Model
from workers.turn.access.messages import permitted_mail
from workers.turn.access.sources import allowed_sources, people_of, question_of
from workers.turn.access.tools import allowed_servers
from workers.turn.budgets import allowance, cost_bound
from workers.turn.context import TurnContext
from workers.turn.limits import environment_of
from workers.turn.selected import Selected
from workers.turn.telling import told_in

_BY_RULES = "offline-analyst"
"""The model that has no second way: its rules would give the same code again."""
IsLost = Callable[[], bool]
"""Whether the lease is known to be lost."""


class OpenTurn:
    """One turn that is being worked on. A step is stored before it is in `steps`."""

    def __init__(self, context: TurnContext, lease: Lease, selected: Selected, is_lost: IsLost) -> None:
        self.context = context
        self.lease = lease
        row = self.row = selected.row
        state = selected.state
        self.steps: list[Step] = list(state.steps.get(row.id, ()))
        past = takewhile(lambda turn_id: turn_id != row.id, state.steps)
        self.earlier: tuple[tuple[Step, ...], ...] = tuple(state.steps[turn_id] for turn_id in past)
        self.node_id = state.node_id
        self.is_exported = state.is_exported
        self.has_unshown_files = state.unshown > 0
        self._had_files = state.has_files
        self._is_stored = not selected.is_new
        self._brings_node = False
        self._mail: Sequence[StoredMessage] | None = selected.mail
        self.show = Delivery(
            slack=context.slack,
            store=context.store,
            blobs=context.blobs,
            lease=lease,
            turn=row,
            interval_s=context.settings.slack.progress_interval_s,
            view=self._progress,
            resumed=bool(self.steps),
            is_talk=state.is_talk,
        )
        self._is_lost = is_lost
        self._told: tuple[int, Told] | None = None
        """With the number of steps for which it was found out."""
        self.preferred = selected.preferred
        """What holds for a new turn by people's choice, until its first steps are stored."""
        self._has_no_mail = False
        self.rests_without_mail = False
        """Whether the thread had no unread mail as this turn came to rest."""
        self._wrote = False
        self._sources: tuple[tuple[frozenset[str], str], tuple[SourceNote, ...]] | None = None
        """With the people and the question for whom it was found out."""
        self._tools: tuple[frozenset[str], tuple[ToolServerNote, ...]] | None = None
        """With the people for whom it was found out."""

    def _progress(self, state: TurnState) -> ProgressView:
        currency = self.context.settings.budget.currency
        return progress_of(self.steps, self.language, state, currency=currency, told=self.told)

    @property
    def told(self) -> Told:
        """What everybody in the thread may read of the outputs and the code of its cells, as of the last step."""
        if self._told is None or self._told[0] != len(self.steps):
            context = self.context
            access = Authorizer(context.settings, context.store, context.slack)
            self._told = (len(self.steps), told_in(context.settings, access, self.thread_id, self.turns))
        return self._told[1]

    @property
    def thread_id(self) -> str:
        """The thread that the turn belongs to."""
        return self.lease.thread_id

    @property
    def language(self) -> Language:
        """The language that people get sentences in."""
        return self.row.language

    @property
    def turns(self) -> tuple[Sequence[Step], ...]:
        """The steps of the thread's turns, this one last, as they are stored."""
        return (*self.earlier, self.steps)

    def effective(self) -> tuple[list[tuple[Step, ...]], tuple[Step, ...]]:
        """The steps that still count: those of the earlier turns, and those of this one."""
        *earlier, steps = effective_steps(self.turns)
        return earlier, steps

    def append(self, *steps: Step) -> None:
        """Store these steps, all or none, and remember them. Raises LeaseLost."""
        if len(steps) == 1 and self._is_stored:
            added = self.context.store.append_step(self.lease, self.row.id, steps[0])
            self._has_no_mail = not added.has_mail
            self.steps.extend(steps)
        else:
            self.take([], steps)

    def append_reply(self, step: Step, *then: Step, spent: Spent | None = None, user: str = "") -> None:
        """Store the outcome of a model call, what it took, and the steps that follow from it. Raises LeaseLost.

        The steps that follow are left out when somebody has written meanwhile: they are to be decided again.
        """
        added = self.context.store.append_step(self.lease, self.row.id, step, then=then, spent=spent, user=user)
        self._has_no_mail = not added.has_mail
        self._wrote = True
        self.steps.extend((step, *then)[: added.count])

    def wrote_just_now(self) -> bool:
        """Whether a reply was stored a moment ago, and with it the lease was checked. True once per reply."""
        wrote, self._wrote = self._wrote, False
        return wrote

    def take(self, mail: Sequence[StoredMessage], steps: Sequence[Step], *, as_read: bool = False) -> None:
        """Mark messages as read by this turn and store the steps that they became, all or none. Raises LeaseLost.

        With `as_read` it raises MailChanged when people have deleted or changed one of them since.
        """
        ids = [message.id for message in mail]
        opens = None if self._is_stored else self.row
        node_id = self.node_id if self._brings_node else None
        read = mail if as_read else ()
        self.context.store.take_mail(self.lease, self.row.id, ids, steps, opens=opens, node_id=node_id, as_read=read)
        self._is_stored, self._brings_node = True, False
        self.steps.extend(steps)

    def store_row(self) -> None:
        """See that the turn is in the Store: others look for it there while it does something that takes time."""
        if not self._is_stored:
            # With the node: a worker that dies before that is known would let the next one purge the session as new.
            self.take([], [])

    def store_node(self, node_id: str, *, is_first: bool) -> None:
        """Note that this node has the thread's session; for a thread `is_first` here, together with its first steps."""
        self.node_id = node_id
        if is_first and not self._is_stored:
            self._brings_node = True
        else:
            self.context.store.set_thread_node(self.lease, node_id)

    def known_mail(self) -> Sequence[StoredMessage] | None:
        """The mail for which the turn was chosen, once; None when it has to be read."""
        mail, self._mail = self._mail, None
        return mail

    @property
    def has_files(self) -> bool:
        """Whether the thread may have files that a new session needs."""
        return self._had_files or any(isinstance(step, Briefed) and step.files for step in self.steps)

    def had_no_mail_just_now(self) -> bool:
        """Whether the last step was stored a moment ago, and the thread had no unread mail then. True once per step."""
        known, self._has_no_mail = self._has_no_mail, False
        if not known:
            self._wrote = False  # reading the mail may take long
        return known

    def view(self) -> Turn:
        """The turn as `decide` sees it."""
        context, limits = self.context, self.context.settings.limits
        earlier, steps = self.effective()
        if self._is_lost():
            steps = (*steps, LeaseGone())
        model = self.model
        channel = ThreadKey.parse(self.thread_id).channel
        return Turn(
            id=self.row.id,
            language=self.language,
            steps=steps,
            earlier=tuple(past for past in earlier if past),
            limits=AgentLimits(
                max_cells=limits.max_cells,
                max_model_calls=limits.max_model_calls,
                output_chars=limits.output_to_model_chars,
                files_chars=limits.files_chars,
                context_chars=limits.context_chars,
                hold_unsourced=context.settings.report.unsourced == "hold",
                second_route=context.settings.check.second_route if model.name != _BY_RULES else "off",
            ),
            allowance=allowance(context.settings, context.store, self.thread_id, model.name, self.steps),
            second_calls=self._second_calls(),
            environment=self.environment,
            prompts=context.prompts,
            native_tools=model.native_tools,
            sees=model.sees and not context.settings.privacy_in(channel).redact,
            approvals=context.settings.approvals_in(channel).ask,
            costs=cost_bound(context.settings, channel, model.name, self.second_model.name),
            told=self.told,
            sections=context.settings.report_sections(channel) if model.name != _BY_RULES else (),
        )

    def _second_calls(self) -> int | None:
        """The number of calls that the budgets allow another model for a second way; None if it is the usual model."""
        context, name = self.context, self.second_model.name
        if name == self.model.name or context.settings.check.second_route == "off":
            return None
        allowed = allowance(context.settings, context.store, self.thread_id, name, self.steps)
        return None if allowed is None else allowed.calls

    @property
    def model(self) -> Model:
        """The model that this turn asks."""
        return self.context.model_named(chosen_model(self.steps))

    @property
    def second_model(self) -> Model:
        """The model that writes a second way to the figures of this turn's report."""
        return self.context.second or self.model

    @property
    def environment(self) -> Environment:
        """The place where the cells of this thread run."""
        made = environment_of(self.context.environment, self.context.settings, self.thread_id)
        channel = ThreadKey.parse(self.thread_id).channel
        waits = self.context.settings.approvals_in(channel).files == "always"
        known = self.context.settings.sources if self.context.broker else ()
        withheld = len(known) - len(self.sources)
        return replace(made, sources=self.sources, withheld=withheld, tools=self.tools, files_wait=waits)

    @property
    def sources(self) -> tuple[SourceNote, ...]:
        """The data sources that cells of this turn may ask; looked at again when somebody adds something."""
        asked = (people_of(self.steps), question_of(self.steps))
        if self._sources is None or self._sources[0] != asked:
            self._sources = (asked, allowed_sources(self.context, self.thread_id, self.steps))
        return self._sources[1]

    @property
    def tools(self) -> tuple[ToolServerNote, ...]:
        """The servers of tools that cells of this turn may call; looked at again when somebody else joins."""
        people = people_of(self.steps)
        if self._tools is None or self._tools[0] != people:
            self._tools = (people, allowed_servers(self.context, self.thread_id, self.steps))
        return self._tools[1]

    def stop_asked(self) -> bool:
        """Whether a person asked for a stop that is not read yet."""
        if not self.context.stops.asked(self.thread_id):
            return False
        permitted_mail(self.context, self.lease, lambda: self.steps)  # a stop of somebody who may not is taken out
        return self.context.store.stop_asked(self.thread_id)

    def is_unwanted(self) -> bool:
        """Whether the model's reply is no longer needed: a stop was requested, or another worker goes on.

        A cell is not stopped by a lost lease: the worker that goes on attaches to it.
        """
        return self._is_lost() or self.stop_asked()
