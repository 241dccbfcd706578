"""schedule: the code of the thread's last report is run again at the times that a person said."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime

from core.authorization import Authorizer
from core.days_off import days_off, is_known
from core.phrases import number, say
from core.schedule_times import BadTimes, least_gap, moment, next_time
from core.schedules.rhythms import rhythm
from core.schedules.values import Figure, ScheduleOrder
from core.schedules.words import ScheduleWords, read_schedule
from core.slack.text import clip, escape
from core.steps import CellRan, Finished, Step
from core.values import Language
from workers.agent.code.chance import surely_draws
from workers.agent.code.fixed_dates import fixed_dates
from workers.agent.report.rerun import Plan, plan, tools_of
from workers.agent.report.stated_figures import figures_now
from workers.agent.thread.effective_steps import effective_steps
from workers.schedules.drift import patterns_of
from workers.schedules.telling import figure_meant, is_comparable
from workers.turn.commands.thread import CommandThread

_SHOWN_TIMES = 3
_SHOWN_DATES = 6


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Store the schedule and say when it runs, on what, and what it tells; or say why not. Raises SlackUnreachable."""
    words = read_schedule(thread.command.text)
    if words is None or words.unread:
        unread = words.unread if words else "times"
        thread.answer(say(f"schedule_bad_{unread}", thread.language), done=False)
        return ()
    try:
        said = _scheduled(thread, words)
    except _Refused as error:
        thread.answer(say(error.key, thread.language, **error.given), done=False)
        return ()
    thread.answer(said)
    return ()


class _Refused(Exception):
    """It cannot be scheduled. `key` is the phrase for people, `given` its variables."""

    def __init__(self, key: str, **given: object) -> None:
        super().__init__(key)
        self.key, self.given = key, given


def _scheduled(thread: CommandThread, words: ScheduleWords) -> str:
    """Store it; returns what people are told. Raises _Refused, SlackUnreachable."""
    context, command, language = thread.context, thread.command, thread.language
    store, thread_id = context.store, thread.lease.thread_id
    if thread.open_turn is not None:
        raise _Refused("schedule_still_open")  # "this" would be the report before, which nobody means
    turn_id, turns = _reported(thread)
    made = _code(turns)
    sources = _sources(thread, made)
    zone = words.zone or context.slack.time_zone(command.user)
    following = _first_time(thread, words, zone)
    schedule_id = f"{thread_id}/s{command.ts}"
    is_stored = any(each.id == schedule_id for each in store.schedules(thread_id))  # by a worker that died behind it
    most = context.settings.schedules.per_person
    if not is_stored and store.count_schedules(command.user) >= most:
        raise _Refused("schedule_too_many", count=most)
    figures = _figures(turns, made)
    watched = _watched(words, figures)
    order = ScheduleOrder(
        cron=words.cron,
        zone=zone,
        language=language,
        threshold=words.threshold,
        pattern=words.pattern,
        inputs=tuple(store.thread_files(thread_id)),
        on_days_off=words.on_days_off,
    )
    store.add_schedule(
        thread.lease,
        turn_id,
        owner=command.user,
        said=command.text,
        order=order,
        next_at=following,
        shown=figures,
        schedule_id=schedule_id,
    )
    author = command.author or command.user
    return say(
        "schedule_made",
        language,
        author=author,
        times=rhythm(words.cron, language),
        zone="UTC" if zone == "Etc/UTC" else zone,
        next=_next_times(thread, words, zone, following),
        data=_data(thread, order, sources, author),
        telling=" ".join(
            filter(
                None,
                (
                    _telling(thread, words, watched),
                    _others(thread, schedule_id),
                    unseeded(made, language),
                    _fixed_dates(made, language),
                    _in_february(thread, words),
                    _on_days_off(thread, words),
                ),
            )
        ),
    )


def _code(turns: Sequence[Sequence[Step]]) -> Plan:
    """The code that will run: a new session can run all of it, and it has effects nowhere else. Raises _Refused."""
    made = plan(effective_steps(turns), asks_sources=True)
    if made is None or not made.parts:
        raise _Refused("schedule_no_code")
    if made.left_out:
        raise _Refused("schedule_effects", cells=", ".join(each.title for each in made.left_out))
    if tools := tools_of(made):
        raise _Refused("schedule_tools", tools=", ".join(tools))
    return made


def unseeded(made: Plan, language: Language) -> str:
    """That this code draws other random numbers in each run; "" unless that is certain."""
    return say("code_unseeded", language) if surely_draws([part.code for _, part in made.parts]) else ""


def _fixed_dates(made: Plan, language: Language) -> str:
    """That a run looks at the same dates as the report, whenever it takes place; "" for code without any."""
    dates = fixed_dates(part.code for _, part in made.parts)
    if not dates:
        return ""
    shown = [*dates[:_SHOWN_DATES], *(["…"] if len(dates) > _SHOWN_DATES else [])]
    return say("schedule_fixed_dates", language, dates=", ".join(shown))


def _sources(thread: CommandThread, made: Plan) -> list[str]:
    """The sources that the code asks. The rows of each run are asked for in the name of whoever schedules.

    Raises _Refused, SlackUnreachable.
    """
    context = thread.context
    sources = list(dict.fromkeys(one.source for _, part in made.parts for one in part.cell.statements))
    authorizer = Authorizer(context.settings, context.store, context.slack)
    for name in sources:
        if name in context.settings.sources and context.settings.sources[name].strict:
            raise _Refused("schedule_strict", source=name)
        verdict = authorizer.may_ask(name, thread.key, {thread.command.user})
        if not verdict:
            raise _Refused(verdict.phrase, source=name)
    return sources


def _first_time(thread: CommandThread, words: ScheduleWords, zone: str) -> datetime:
    """When it runs first. Raises _Refused for times that there are not, or that follow each other too closely."""
    limits, begun = thread.context.settings.schedules, datetime.now(UTC)
    rest = days_off(limits)
    if words.on_days_off and not rest:
        raise _Refused("schedule_no_holidays")
    if words.on_days_off and not is_known(limits.holidays):
        raise _Refused("schedule_bad_holidays", country=limits.holidays)
    try:
        following = next_time(words.cron, zone, begun, words.on_days_off, rest)
        if least_gap(words.cron, zone, begun).total_seconds() < limits.least_minutes * 60:
            raise _Refused("schedule_too_often", minutes=limits.least_minutes)
    except BadTimes as error:
        raise _Refused(error.key) from None
    return following


def _next_times(thread: CommandThread, words: ScheduleWords, zone: str, first: datetime) -> str:
    """The first runs: they tell whether the times are those that were meant."""
    rest = days_off(thread.context.settings.schedules)
    found = [first]
    with suppress(BadTimes):
        while len(found) < _SHOWN_TIMES:
            found.append(next_time(words.cron, zone, found[-1], words.on_days_off, rest))
    return ", ".join(moment(at, zone, thread.language) for at in found)


def _others(thread: CommandThread, schedule_id: str) -> str:
    """The schedules that the thread has already: two people may want the same report."""
    active = [each for each in thread.context.store.schedules(thread.lease.thread_id) if each.state == "active"]
    name = thread.context.slack.user_name
    others = [
        f"{escape(clip(each.said, 80))} ({escape(name(each.owner))})" for each in active if each.id != schedule_id
    ]
    return say("schedule_others", thread.language, others="; ".join(others)) if others else ""


def _reported(thread: CommandThread) -> tuple[str, list[Sequence[Step]]]:
    """The last turn with a report, and the thread up to it. Raises _Refused."""
    rows = thread.context.store.turns(thread.lease.thread_id)
    turns = list(thread.turns)
    for place in range(min(len(rows), len(turns)) - 1, -1, -1):
        if any(isinstance(step, Finished) and not step.partial for step in turns[place]):
            return rows[place].id, turns[: place + 1]
    raise _Refused("schedule_nothing")


def _figures(turns: Sequence[Sequence[Step]], made: Plan) -> list[Figure]:
    """The figures as the report has them."""
    effective = effective_steps(turns)
    ran = {step.cell_id: step for steps in effective for step in steps if isinstance(step, CellRan)}
    return figures_now(effective, made, ran)


def _watched(words: ScheduleWords, figures: Sequence[Figure]) -> Figure | None:
    """The figure that the limit is about, None without a limit. Raises _Refused."""
    if words.threshold is None:
        return None
    figure = figure_meant(words.threshold, figures)
    if figure is None:
        names = ", ".join(dict.fromkeys(each.words for each in figures[:8])) or "–"
        raise _Refused("schedule_no_figure", name=words.threshold.name, names=names)
    if not is_comparable(words.threshold, figure):
        raise _Refused("schedule_other_unit", name=figure.words, written=figure.written)
    return figure


def _data(thread: CommandThread, order: ScheduleOrder, sources: Sequence[str], author: str) -> str:
    parts = []
    if order.inputs:
        named = filter(None, patterns_of([each.name for each in order.inputs], order.pattern))
        patterns = ", ".join(f"`{each.replace('`', ' ')}`" for each in dict.fromkeys(named))  # "*" would make it bold
        parts.append(say("schedule_data_files", thread.language, patterns=patterns))
    if sources:
        parts.append(say("schedule_data_sources", thread.language, names=", ".join(sources), author=author))
    return "; ".join(parts) or say("schedule_data_none", thread.language)


def _telling(thread: CommandThread, words: ScheduleWords, watched: Figure | None) -> str:
    if words.threshold is None or watched is None:
        return say("schedule_tells_changes", thread.language)
    limit = number(words.threshold.limit, thread.language) + (" %" if words.threshold.percent else "")
    return say(
        "schedule_tells_crossing",
        thread.language,
        name=words.threshold.name or watched.words,
        limit=limit,
        figure=watched.words,
        written=watched.written,
    )


def _in_february(thread: CommandThread, words: ScheduleWords) -> str:
    """That a February without this day has no run; "" for days that each month has."""
    day = words.cron.split()[2]
    return say("schedule_short_months", thread.language, day=day) if day in ("29", "30") else ""


def _on_days_off(thread: CommandThread, words: ScheduleWords) -> str:
    """What becomes of a run on a day off, and who says which those are; "" when nobody asked for it."""
    if not words.on_days_off:
        return ""
    limits = thread.context.settings.schedules
    calendar = ", ".join(filter(None, (limits.holidays, "days_off" if limits.days_off else "")))
    phrase = "schedule_skips_days_off" if words.on_days_off == "skip" else "schedule_moves_days_off"
    return say(phrase, thread.language, calendar=calendar)
