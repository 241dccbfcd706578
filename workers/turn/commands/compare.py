"""compare: this thread beside another one. Numbers that differ are said here; reports and code come as a file."""

from __future__ import annotations

from collections.abc import Sequence

from core.errors import SlackFailed
from core.phrases import say
from core.slack.writing.uploads import Upload
from core.steps import Step
from workers.agent.text import fenced_off
from workers.agent.thread.comparing import Compared, FigurePair, compare_threads
from workers.turn.commands.other_thread import NotShown, other_thread
from workers.turn.commands.thread import CommandThread

NAME = "comparison.md"
_SHOWN = 8


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Post the differences, or why they may not be shown here. Raises SlackUnreachable."""
    language, slack = thread.language, thread.context.slack
    try:
        other = other_thread(thread)
    except NotShown as error:
        thread.answer(error.text, done=False)
        return ()
    found = compare_threads(thread.turns, other.turns)
    differing = [pair for pair in found.figures if pair.differs]
    link = slack.link(other.key)
    same = len(found.figures) - len(differing)
    lines = [say("compare_head", language, link=link, count=len(differing), same=same)]
    lines += [
        say("compare_figure", language, name=pair.name, here=_number(pair.here), there=_number(pair.there))
        for pair in differing[:_SHOWN]
    ]
    if more := len(differing) - _SHOWN if len(differing) > _SHOWN else 0:
        lines.append(say("report_more", language, count=more))
    changed = [line[0] for line in found.diff.splitlines()[2:] if line[:1] in ("+", "-")]
    counts = {"added": changed.count("+"), "removed": changed.count("-")}
    lines.append(say("compare_code" if changed else "compare_same_code", language, **counts))
    key = f"{thread.lease.thread_id}/compare:{thread.command.ts}:file"
    data = _file(thread, found, slack.link(thread.key), link).encode("utf-8", "replace")
    steps: Sequence[Step] = ()
    try:
        steps = thread.share(key, [Upload(name=NAME, data=data, title=NAME)])
    except SlackFailed as error:
        lines.append(say("download_refused", language, why=error.error))
    thread.answer("\n".join(lines), links=[link])
    return steps


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.10g}"


def _file(thread: CommandThread, found: Compared, here: str, there: str) -> str:
    """Both reports, all figures, and the code as a diff, as Markdown."""
    language = thread.language
    names = (say("compare_here", language), say("compare_there", language))
    title, diff, no_report = (say(key, language) for key in ("compare_title", "compare_diff", "compare_no_report"))
    parts = [f"# {title}", f"- {names[0]}: {here}\n- {names[1]}: {there}"]
    if found.figures:
        name = say("compare_name", language)
        head = f"| | {name} | {names[0]} | {names[1]} |\n| --- | --- | ---: | ---: |"
        parts.append("\n".join([head, *map(_row, found.figures)]))
    for name, report in zip(names, found.reports, strict=True):
        parts.append(f"## {name}\n\n{report or no_report}")
    if found.diff:
        parts.append(f"## {diff}\n\n{fenced_off('diff', found.diff)}")
    return "\n\n".join(parts) + "\n"


def _row(pair: FigurePair) -> str:
    name = pair.name.replace("|", "\\|")
    return f"| {'≠' if pair.differs else ''} | {name} | {_number(pair.here)} | {_number(pair.there)} |"
