"""load: another thread becomes part of what the analyst reads here: its questions, code, last report and files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core.phrases import say
from core.steps import Asked, Briefed, FileAbstract, Finished, Loaded, LoadedCell, LoadedMessage, Said, Step
from core.thread_cells import since_reset
from core.values import Language, StoredFile
from workers.agent.about_steps import cells
from workers.agent.code.program import program
from workers.agent.text import clip
from workers.agent.thread.effective_steps import effective_steps
from workers.agent.thread.states import last_state
from workers.privacy.masking import masked_in, restored
from workers.turn.commands.other_thread import NotShown, OtherThread, other_thread
from workers.turn.commands.thread import CommandThread

MOST_CELLS, MOST_QUESTIONS, MOST_FILES = 40, 20, 20
MOST_SAID, SAID_CHARS, MESSAGE_CHARS = 60, 30_000, 6_000
_SHOWN = 10
CODE_CHARS, REPORT_CHARS, QUESTION_CHARS = 30_000, 20_000, 2_000


def carry_out(thread: CommandThread) -> Sequence[Step]:
    """Put the files in place, and return the steps that the analyst reads; say why not where it may not.

    Raises SlackUnreachable, HostUnavailable, BlobsUnreachable.
    """
    command, language, context, lease = thread.command, thread.language, thread.context, thread.lease
    try:
        other = other_thread(thread)
    except NotShown as error:
        thread.answer(error.text, done=False)
        return ()
    link = other.key.root_ts if other.key.is_imported else context.slack.link(other.key)
    context.store.note_source(lease, other.key.id)
    files, renamed, left_out = _place_files(thread, other)
    loaded = _loaded(thread, other, link, renamed)
    if loaded.said:
        said = say("load_imported", language, name=link, count=len(loaded.said), author=command.author)
        thread.answer(said)
        return (loaded,)
    said = say(
        "load_done",
        language,
        link=link,
        cells=len(loaded.cells),
        files=", ".join(_with_old_name(file.path, renamed) for file in files) or "–",
        report=bool(loaded.report),
        author=command.author,
    )
    if left_out:
        names = ", ".join([*left_out[:_SHOWN], *_more(len(left_out) - _SHOWN, language)])
        said += "\n" + say("load_left_out", language, files=names)
    thread.answer(said, links=[link])
    return (loaded, *([Briefed(files=tuple(files))] if files else []))


def _loaded(thread: CommandThread, other: OtherThread, link: str, renamed: Mapping[str, str]) -> Loaded:
    """The part of the other thread that is read here. Its placeholders have no meaning here, so they are replaced by
    values. Code that names a file which has another name here says so."""
    values = masked_in(other.turns)
    turns = effective_steps(other.turns)
    steps = [step for each in turns for step in each]
    counted = [cell for each in since_reset(turns) for cell in cells(each)]
    ran = [part for part in program(counted) if part.code and not part.cell.left_out]
    kept: list[LoadedCell] = []
    room = CODE_CHARS
    for part in reversed(ran[-MOST_CELLS:]):
        code = _with_names(restored(part.code, values), renamed)
        room -= len(code)
        if room < 0:
            break
        kept.insert(0, LoadedCell(title=part.cell.title, code=code))
    reports = [step.report for step in steps if isinstance(step, Finished)]
    asked = [clip(step.text, QUESTION_CHARS) for step in steps if isinstance(step, Asked) and step.text.strip()]
    command, held = thread.command, other.held
    return Loaded(
        source=other.key.id,
        link=link,
        state=last_state(thread.context.store.timed_steps(other.key.id)),
        questions=tuple(asked[-MOST_QUESTIONS:]),
        cells=tuple(kept),
        more=len(ran) - len(kept),
        report=restored(clip(reports[-1], REPORT_CHARS), values) if reports else "",
        sources=held.sources,
        servers=held.servers,
        said=_said(steps),
        user=command.user,
        author=command.author,
        ts=command.ts,
    )


def _said(steps: Sequence[Step]) -> tuple[LoadedMessage, ...]:
    """The last messages of an imported conversation, as far as there is room."""
    kept: list[LoadedMessage] = []
    room = SAID_CHARS
    for step in [each for each in steps if isinstance(each, Said) and each.text.strip()][: -MOST_SAID - 1 : -1]:
        text = clip(step.text, MESSAGE_CHARS)
        if (room := room - len(text)) < 0:
            break
        kept.insert(0, LoadedMessage(who=step.who, text=text))
    return tuple(kept)


def _with_names(code: str, renamed: Mapping[str, str]) -> str:
    """A cell's code, behind a comment for each file in it that has another name here: a file of this thread has its
    old name."""
    lines = [f"# {old} of that thread is {new} here; {old} here is another file.\n" for old, new in renamed.items()]
    return "".join(line for line, old in zip(lines, renamed, strict=True) if old in code) + code


def _with_old_name(path: str, renamed: Mapping[str, str]) -> str:
    return next((f"{old} → {new}" for old, new in renamed.items() if new == path), path)


def _place_files(thread: CommandThread, other: OtherThread) -> tuple[list[FileAbstract], dict[str, str], list[str]]:
    """Give this thread the other one's newest inputs: their descriptions under the names that they get here, the new
    name of each that has another one here, and the names of those that did not come along."""
    context, lease = thread.context, thread.lease
    described = {
        file.sha256: file for steps in other.turns for step in steps if isinstance(step, Briefed) for file in step.files
    }
    inputs = context.store.thread_files(other.key.id)
    found: list[FileAbstract] = []
    renamed: dict[str, str] = {}
    left_out = [file.name for file in inputs[:-MOST_FILES]]
    for file in inputs[-MOST_FILES:]:
        names = context.files.place(lease.thread_id, [file])
        if names:
            context.store.add_thread_file(lease, file, copied_from=other.key.id)
            known = described.get(file.sha256)
            found.append(_described(known, file, names[0]))
            if (old := known.path if known is not None else file.name) != names[0]:
                renamed[old] = names[0]
        else:
            left_out.append(file.name)
    return found, renamed, left_out


def _more(count: int, language: Language) -> list[str]:
    return [say("report_more", language, count=count)] if count > 0 else []


def _described(known: FileAbstract | None, file: StoredFile, path: str) -> FileAbstract:
    if known is None:
        return FileAbstract(path=path, format="other", size=file.size, sha256=file.sha256)
    hint = known.read_hint.replace(known.path, path) if known.path else known.read_hint
    return known.model_copy(update={"path": path, "read_hint": hint})
