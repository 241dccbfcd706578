"""build: a requirement file for a program, from a .toml that comes along or drafted from what the thread says.

It is posted with its buttons. Nothing is built before somebody presses "Build" (`building.py`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from core.commands.registry import BUILD, argument_of
from core.errors import FileUnreachable, SlackFailed, UsersMove
from core.phrases import say
from core.rows import money
from core.slack.views.memory import proposal_message
from core.slack.writing.uploads import Upload
from core.steps import Asked, FileAbstract, Finished, Proposed, Step
from core.telemetry import get_logger
from core.values import FileRef, Language
from workers.agent.guards import REQUIREMENT_FILE
from workers.agent.prompt.briefing import file_blocks
from workers.agent.prompt.messages import LANGUAGES
from workers.agent.text import clip, one_line, quoted
from workers.agent.thread.effective_steps import effective_steps
from workers.agent.turn import CostBound, files_of
from workers.builder.requirements.components import plan
from workers.builder.requirements.drafting import NoDraft, drafted, lowered_guards
from workers.builder.requirements.requirement import MAX_CHARS, Requirement, RequirementWrong, read, unknown_languages
from workers.builder.sandbox.toolchains import offered, toolchains
from workers.models.base import ModelError, ModelRequest
from workers.turn.budgets import BuildCost, cost_bound, expensive_build
from workers.turn.build_model import BuildModel
from workers.turn.commands.thread import CommandThread
from workers.turn.mail.inbox import file_waited

log = get_logger(__name__)

OFFLINE = "offline-analyst"
_DISCUSSION = 12_000
_FILES_CHARS = 6_000
_REPLY_CHARS = 20_000
_MOST_SHOWN = 12
_FILE_BYTES = MAX_CHARS * 4


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Post the requirement file; say why not where there is none to be had."""
    language, command = thread.language, thread.command
    files = thread.context.slack.message_files(thread.key, command.ts)
    given = next((file for file in files if file.name.lower().endswith(REQUIREMENT_FILE)), None)
    if given is not None:
        text = _fetched(thread, given)
        return () if text is None else _given(thread, given.name, text)
    wanted = argument_of(BUILD, command.text)
    if not wanted and (earlier := _of_thread(thread)) is not None:
        return _given(thread, *earlier)
    if thread.open_turn is None or thread.open_turn.model.name == OFFLINE:
        thread.answer(say("build_no_model", language), done=False)
        return ()
    discussion = _discussion(thread)
    if not wanted and not discussion:
        thread.answer(say("build_nothing_said", language), done=False)
        return ()
    variables = {"discussion": _quoted(discussion), "wanted": _quoted(wanted), "current": "", "change": ""}
    try:
        made = drafted(asking(thread, variables))
    except NoDraft as error:
        thread.answer(say("build_no_draft", language, why=sentence_of(error)), done=False)
        return ()
    except ModelError as error:
        thread.answer(say("build_no_call", language, why=str(error)), done=False)
        return ()
    return post(thread, first(thread, made.text, made.requirement, made.questions))


def _given(thread: CommandThread, name: str, text: str) -> Sequence[Step]:
    """Post a requirement file that a person gave; its faults where it has some."""
    try:
        requirement = read(text, name)
    except RequirementWrong as error:
        problems = told_problems(error)
        thread.answer(say("build_wrong_file", thread.language, file=name, problems=problems), done=False)
        return ()
    return post(thread, first(thread, text, requirement, ()))


def _of_thread(thread: CommandThread) -> tuple[str, str] | None:
    """The name and the text of the newest requirement file that people gave the analyst; None where there is none.

    Raises BlobsUnreachable.
    """
    found = [file for file in _thread_files(thread) if file.path.casefold().endswith(REQUIREMENT_FILE)]
    if not found:
        return None
    newest = found[-1]
    content = thread.context.blobs.get(newest.sha256)[:_FILE_BYTES]
    return Path(newest.path).name, content.decode("utf-8", errors="replace")


def asking(
    thread: CommandThread, variables: Mapping[str, str], questions: Sequence[str] = ()
) -> Callable[[str, str], str]:
    """A function that asks the model for a draft, with the errors of the previous one. Calls raise ModelError.

    `questions` are those that the file to be changed left open.
    """
    turn = thread.open_turn
    assert turn is not None  # noqa: S101 - both commands open a turn
    model = BuildModel(turn, thread.language)

    def ask(problem: str, before: str) -> str:
        prompt = thread.context.prompts.render(
            "build_draft",
            **variables,
            questions=[one_line(one, 240) for one in questions],
            files=_files(thread),
            language_name=LANGUAGES[thread.language],
            languages=offered(toolchains(own=thread.context.settings.toolchains)),
            problem=problem,
            before=quoted(clip(before, _REPLY_CHARS)) if before else "",
        )
        messages = ({"role": "user", "content": prompt},)
        return model.complete(ModelRequest(messages), lambda _: None).text

    return ask


def first(thread: CommandThread, text: str, requirement: Requirement, questions: Sequence[str]) -> Proposed:
    """The first version of a requirement file."""
    command, name = thread.command, requirement.file.name
    return Proposed(
        what="program",
        id=f"program:{command.ts}",
        file=f"{name}.toml",
        title=name,
        text=text,
        about=about(text, thread.language, questions),
        questions=tuple(questions),
        version=1,
        user=command.user,
        author=command.author,
        ts=command.ts,
    )


def post(thread: CommandThread, proposed: Proposed) -> Sequence[Step]:
    """Post a version: the file itself, and the message with its buttons."""
    lease, slack = thread.lease, thread.context.slack
    proposed = with_estimate(thread, proposed)
    upload_version(thread, proposed)
    message = proposal_message(proposed, lease.thread_id, thread.language)
    slack.post(lease, thread.key, f"{lease.thread_id}/{proposed.id}", message.text, message.blocks)
    thread.sign(done=True)
    return (proposed,)


def with_estimate(thread: CommandThread, proposed: Proposed) -> Proposed:
    """The proposal. Where building it is estimated above the channel's bound, what people read of it says so first."""
    if (cost := build_cost(thread, proposed)) is None:
        return proposed
    bound, language = _bound(thread), thread.language
    line = say(
        "build_estimate",
        language,
        cost=money(cost.micros),
        above=money(bound.above_micros if bound else 0),
        currency=thread.context.settings.budget.currency,
        calls=cost.calls,
        prompt=f"{cost.prompt_tokens:,}",
        reply=f"{cost.reply_tokens:,}",
    )
    return proposed.model_copy(update={"about": f"{line}\n\n{proposed.about}"})


def build_cost(thread: CommandThread, proposed: Proposed) -> BuildCost | None:
    """What building a proposal may cost, where that is above the channel's bound; None for a file with faults too."""
    try:
        requirement = read(proposed.text, proposed.file)
    except RequirementWrong:
        return None
    steps = (step for turn in thread.turns for step in turn)
    return expensive_build(_bound(thread), requirement.build.max_calls, len(proposed.text), steps)


def _bound(thread: CommandThread) -> CostBound | None:
    name = thread.open_turn.model.name if thread.open_turn is not None else thread.context.model.name
    return cost_bound(thread.context.settings, thread.key.channel, name, name)


def upload_version(thread: CommandThread, proposed: Proposed) -> None:
    """Put a version of the file into the thread. Without it the form still shows the whole."""
    upload = Upload(name=proposed.file, data=proposed.text.encode(), title=f"{proposed.file} v{proposed.version}")
    key = f"{thread.lease.thread_id}/{proposed.id}:file:{proposed.version}"
    try:
        thread.context.slack.upload(thread.lease, thread.key, key, [upload], "")
    except SlackFailed as error:
        log.warning("requirement_not_posted", error=error.error)


def about(text: str, language: Language, questions: Sequence[str] = ()) -> str:
    """What people read of a requirement file before they open it."""
    try:
        requirement = read(text)
    except RequirementWrong as error:
        return "\n".join([say("build_problems", language), told_problems(error)])
    parts = [requirement.file.description]
    numbered = [(one.name, row) for one in plan(requirement).components for row in one.numbered]
    several = len(requirement.component) > 1
    rows = [f"{f'{name}.' if several else ''}{row.id} {one_line(row.text, 160)}" for name, row in numbered]
    more = [say("report_more", language, count=len(rows) - _MOST_SHOWN)] if len(rows) > _MOST_SHOWN else []
    parts.append("\n".join([say("build_requirements", language), *rows[:_MOST_SHOWN], *more]))
    if unknown := unknown_languages(requirement):
        parts.append(say("build_unknown_language", language, languages=one_line(", ".join(unknown), 100)))
    if guards := lowered_guards(requirement):
        parts.append(say("build_lowered", language, what=", ".join(guards)))
    if questions:
        asked = [f"{n}. {one_line(one, 240)}" for n, one in enumerate(questions, start=1)]
        parts.append("\n".join([say("build_questions", language), *asked, say("build_answer_how", language)]))
    return "\n\n".join(filter(None, parts))


def told_problems(error: RequirementWrong) -> str:
    """The faults of a file with line and column, a line each."""
    return "\n".join(f"{error.name}:{one_line(str(problem), 300)}" for problem in error.problems[:_MOST_SHOWN])


def _files(thread: CommandThread) -> list[str]:
    """The descriptions of the thread's files, as the analyst reads them. Of equal names the newest counts."""
    found = {file.path: file for file in _thread_files(thread)}
    return file_blocks(tuple(found.values()), _FILES_CHARS)


def _thread_files(thread: CommandThread) -> tuple[FileAbstract, ...]:
    """The files that people gave in the thread, oldest first."""
    return tuple(files_of(step for steps in effective_steps(thread.turns) for step in steps))


def _fetched(thread: CommandThread, file: FileRef) -> str | None:
    """The text of a file of the message. None if it could not be fetched; then the thread was told.

    Raises FileUnreachable while a file that Slack does not give now is waited for.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="threadbook-") as folder:
            copy = Path(folder) / "file"
            thread.context.files.fetch(file, copy)
            return copy.read_bytes()[:_FILE_BYTES].decode("utf-8", errors="replace")
    except UsersMove as error:
        why = say(error.key, thread.language, **error.variables)
    except FileUnreachable:
        if thread.open_turn is None or not file_waited(thread.open_turn):
            raise
        log.warning("file_given_up", file=file.id)
        why = say("file_not_given", thread.language)
    thread.answer(say("build_file_unread", thread.language, file=file.name, why=why), done=False)
    return None


def _discussion(thread: CommandThread) -> str:
    """What was said and reported in the thread, the last of it."""
    lines: list[str] = []
    for step in (step for steps in effective_steps(thread.turns) for step in steps):
        if isinstance(step, Asked) and not step.left_out and step.text.strip():
            lines.append(f"{step.author or step.user}: {step.text.strip()}")
        elif isinstance(step, Finished):
            lines.append(f"report: {step.report.strip()}")
    return "\n".join(lines)[-_DISCUSSION:]


def _quoted(text: str) -> str:
    return quoted(text) if text.strip() else ""


def sentence_of(error: Exception) -> str:
    """What an error says, as one bounded sentence."""
    return clip(one_line(str(error), 400).rstrip(".") + ".", 400)
