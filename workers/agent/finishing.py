"""The end of a turn: a report that is checked and posted, or that is held back for a person; or else giving up. Pure.

the data was not read          → the model is told; in the end the turn gives up
off the channel's layout       → the model is told once, then we lay it out
figures that nothing backs     → the model is told; in the end they are marked, or a person decides
figures that contradict others → the model is told once, then the judge
the judge has not read it yet  → AskModel "check"
else                           → Finish
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from core.phrases import say
from core.second_route import SecondRoute
from core.steps import HOLD_CALL, Asked, Checked, Corrected, Decided, Questioned, Replied, option_of
from workers.agent import guards, stages
from workers.agent.actions import Action, AskHuman, AskModel, CorrectModel, Finish, GiveUp, RecordVerdict
from workers.agent.common_actions import correct
from workers.agent.prompt.messages import check_messages
from workers.agent.prompt.step_blocks import sanitize_name
from workers.agent.provenance import Contradiction, Provenance, Traced, contradicted, contradictions
from workers.agent.replies.intents import Question, Report
from workers.agent.replies.parse import read_reply
from workers.agent.replies.verdict import read_verdict
from workers.agent.report import layout
from workers.agent.report.second_route import second_route
from workers.agent.report.sourcing import marked, sources_of, told, trace_report
from workers.agent.staged_report import staged_report
from workers.agent.text import one_line
from workers.agent.turn import Episode, Turn, episodes
from workers.agent.unfinished import Stop, stopped_text, with_budget_note, with_message_note, with_note

_UNREADABLE_VERDICTS = 2
_SHOWN_FIGURES = 6
_QUESTION_CHARS = 600


def finish(turn: Turn, episode: Episode, report: Report) -> Action:
    """Lets a report through once the data was read, its figures were looked up and the judge agreed.

    The report then has the channel's layout: the model may correct the layout once, and the code does the rest.

    A report may be sent back `max_refusals` times: for figures that nothing backs or that contradict one another, or by
    the judge; and once more for unsourced figures that the model has not been told of. It never costs an answer:
    figures that stay unsourced are marked, and the judge counts as satisfied when its reply was unreadable twice or
    when no model call is left. `give_up` posts a report that was sent back when no better one follows.
    """
    paths = guards.unread_files(turn)
    if paths and not guards.only_declines(turn, report, paths):
        if guards.corrections(turn, guards.NO_DATA_READ) >= turn.limits.max_futile:
            return give_up(turn, "data_not_read", turn.limits.max_futile)
        return correct(turn, guards.NO_DATA_READ, report.call_id, paths=paths)
    if off := _off_layout(turn, report):
        return off
    report = _laid_out(turn, report)
    return being_checked(turn, episode, report) or _post(turn, episode, report)


def being_checked(turn: Turn, episode: Episode, report: Report) -> Action | None:
    """The next step of the check of a report, or of a stage's result: its figures, then the judge. None once it has
    passed, and when it may not be sent back any more."""
    for checked in (step for step in episode.steps if isinstance(step, Checked)):
        if checked.is_final:
            return None
        return correct(turn, "not_final", report.call_id, reason=checked.reason, native_tools=turn.native_tools)
    verdicts = [step for step in episode.steps if isinstance(step, Replied) and step.purpose == "check"]
    if verdicts and (verdict := read_verdict(verdicts[-1].text)):
        return RecordVerdict(verdict.is_final, verdict.reason)
    if len(verdicts) >= _UNREADABLE_VERDICTS:
        return RecordVerdict(True, "the judge's reply could not be read")
    provenance = trace_report(turn, report.text)
    if not verdicts and (sent_back := _figures_sent_back(turn, report, provenance)):
        return sent_back
    if len(guards.refusals(turn)) >= turn.limits.max_refusals or not guards.replies_left(turn):
        return None
    return AskModel("check", check_messages(turn, provenance.report, provenance.figures))


def as_checked(turn: Turn, episode: Episode, provenance: Provenance) -> str:
    """The report as people read it: with its marks, and with a line below it when the judge did not see this version
    after it had sent others back."""
    text = marked(provenance, turn.language)
    judged = any(isinstance(step, Checked) for step in episode.steps)
    refusals = guards.refusals(turn)
    return with_note(text, "unchecked", refusals[-1], turn) if refusals and not judged else text


def _figures_sent_back(turn: Turn, report: Report, provenance: Provenance) -> CorrectModel | None:
    """What the model is told of figures that nothing backs, and of those that other figures of the report contradict.
    None when there are none, or it may not mend them. It is told of a contradiction once."""
    left = turn.limits.max_refusals - guards.reports_sent_back(turn)
    unsourced = provenance.unsourced if left > 0 else _not_told(turn, provenance)
    if left < 0 or turn.limits.max_refusals <= 0:
        unsourced = ()
    found = _new_contradictions(turn, provenance) if left > 0 else []
    if not (unsourced or found) or not guards.replies_left(turn):
        return None
    figures = told(unsourced)
    more = len(unsourced) - len(figures)
    known = {"figures": figures, "more": more, "contradictions": contradicted(found)}
    return correct(turn, guards.UNSOURCED, report.call_id, **known, native_tools=turn.native_tools)


def _not_told(turn: Turn, provenance: Provenance) -> list[Traced]:
    """The unsourced figures that stood in no report of this turn, or of this stage, that was sent back for its
    figures."""
    known = {each.text for earlier in _sent_back(turn) for each in earlier.unsourced}
    return [each for each in provenance.unsourced if each.text not in known]


def _new_contradictions(turn: Turn, provenance: Provenance) -> list[Contradiction]:
    """The contradictions of a report that the model was not told of in this turn, or in this stage."""
    found = contradictions(provenance.report)
    known = {each for earlier in _sent_back(turn) for each in contradictions(earlier.report)} if found else set()
    return [each for each in found if each not in known]


def _sent_back(turn: Turn) -> list[Provenance]:
    """The reports of this turn, or of this stage, that were sent back for their figures."""
    found = []
    for episode in episodes(stages.since_decided(turn.steps))[1]:
        if any(isinstance(step, Corrected) and step.reason == guards.UNSOURCED for step in episode.steps):
            intent = read_reply(episode.reply, episode.number).intents[0]
            if isinstance(intent, Report):
                found.append(trace_report(turn, intent.text))
    return found


def _off_layout(turn: Turn, report: Report) -> CorrectModel | None:
    """What the model is told once when its report does not have the channel's layout."""
    if not layout.applies(turn, report.text, partial=report.partial):
        return None
    faults = layout.faults(report.text, turn.sections)
    if not faults or guards.corrections(turn, guards.LAYOUT) or not guards.replies_left(turn):
        return None
    found = {"missing": faults.missing, "invented": faults.invented}
    return correct(turn, guards.LAYOUT, report.call_id, sections=turn.sections, **found)


def _laid_out(turn: Turn, report: Report) -> Report:
    """The report in the channel's layout, whatever the model made of it."""
    if not layout.applies(turn, report.text, partial=report.partial):
        return report
    text = layout.laid_out(report.text, turn.sections, say("report_absent", turn.language))
    return replace(report, text=text, sections=turn.sections)


def _post(turn: Turn, episode: Episode, report: Report) -> Action:
    """Posts a report with marks behind the figures that nothing backs. If wanted, a second way to the figures comes
    first.

    With `hold_unsourced` a person decides first.
    """
    provenance = trace_report(turn, report.text)
    second = second_route(turn, episode, provenance)
    if second is not None and not isinstance(second, SecondRoute):
        return second
    if held := _held(turn, episode, provenance):
        return held
    text = as_checked(turn, episode, provenance)
    sources = sources_of(provenance, turn.language)
    text = with_message_note(turn, with_budget_note(turn, text), author_since(episode, report))
    return Finish(text, report.partial, sources, second=second, sections=report.sections)


def author_since(episode: Episode, intent: Question | Report) -> str:
    """Who wrote last since the model's reply, "" when nobody did. What decides on a question of ours is no news: a
    button pressed whether to post, or words to a plan or a result."""
    held = isinstance(intent, Report) and answer_of_hold(episode)
    decided = {step.ts for step in episode.steps if isinstance(step, Decided)}
    wrote = [step for step in episode.steps if isinstance(step, Asked) and step.ts not in decided]
    return sanitize_name(wrote[-1].author or wrote[-1].user) or "?" if len(wrote) > (1 if held else 0) else ""


def _held(turn: Turn, episode: Episode, provenance: Provenance) -> AskHuman | GiveUp | None:
    """With `hold_unsourced`: the question whether to post a report with figures that nothing backs, or the end of the
    turn after a no. None when the report may be posted."""
    if not (provenance.unsourced and turn.limits.hold_unsourced):
        return None
    answer = answer_of_hold(episode)
    if answer == say("hold_drop", turn.language):
        return GiveUp("held_back", say("hold_dropped", turn.language), "user")
    return None if answer else _hold(turn, episode, [figure.text for figure in provenance.unsourced])


def _hold(turn: Turn, episode: Episode, figures: Sequence[str]) -> AskHuman:
    shown = ", ".join(one_line(figure, 40) for figure in figures[:_SHOWN_FIGURES])
    question = say("hold_question", turn.language, count=len(figures), figures=shown)
    options = (say("hold_post", turn.language), say("hold_drop", turn.language))
    return AskHuman(f"{HOLD_CALL}{episode.number}", question, options)


def answer_of_hold(episode: Episode) -> str:
    """The option that a person chose when the report was last held back, "" for none or for other words."""
    held = [
        n for n, step in enumerate(episode.steps) if isinstance(step, Questioned) and step.call_id.startswith(HOLD_CALL)
    ]
    if not held or not isinstance(asked := episode.steps[held[-1]], Questioned):
        return ""
    answer = next((step.text for step in episode.steps[held[-1] :] if isinstance(step, Asked)), "")
    option = option_of(answer, asked)
    return "" if option is None else asked.options[option]


def give_up(turn: Turn, reason: Stop, count: int, question: str = "") -> GiveUp | Finish | AskHuman:
    """Stops with the last report that the judge sent back, marked as incomplete, or else with what is known."""
    if done := stages.results(turn.steps):
        note = say("stages_unfinished", turn.language, count=len(stages.plan_of(turn.steps) or ()))
        text, sources = staged_report(turn, done)
        return Finish(f"{text}\n\n{note}", partial=True, sources=sources)
    if reason != "data_not_read" and (refused := refused_report(turn)) is not None:
        return refused
    return GiveUp(reason, stopped_text(turn, reason, count, question))


def out_of_replies(turn: Turn, asked: Question | None = None) -> GiveUp | Finish | AskHuman:
    """The end when no model call is left. A question that the last one `asked` is told, because nobody would read the
    answer in this turn."""
    reason: Stop = "out_of_budget" if guards.is_short_of_budget(turn) else "out_of_replies"
    question = f"{asked.question} ({' / '.join(asked.options)})" if asked and asked.options else ""
    question = question or (asked.question if asked else "")
    return give_up(turn, reason, turn.limits.max_model_calls, one_line(question, _QUESTION_CHARS))


def refused_report(turn: Turn) -> Finish | AskHuman | GiveUp | None:
    """The turn's last report that was sent back, marked, with a line that says so. None when there is none.

    With `hold_unsourced` a person decides first, as on every report.
    """
    for episode in reversed(episodes(turn.steps)[1]):
        checked = next((step for step in episode.steps if isinstance(step, Checked)), None)
        reasons = (guards.UNSOURCED, guards.LAYOUT)
        sent_back = any(isinstance(step, Corrected) and step.reason in reasons for step in episode.steps)
        intent = read_reply(episode.reply, episode.number).intents[0]
        if (checked or sent_back) and isinstance(intent, Report):
            report = _laid_out(turn, intent)
            provenance = trace_report(turn, report.text)
            if turn.episode is not None and (held := _held(turn, turn.episode, provenance)):
                return held
            text = marked(provenance, turn.language)
            if checked:
                text = with_note(text, "incomplete", checked.reason, turn)
            return Finish(text, sources=sources_of(provenance, turn.language), sections=report.sections)
    return None
