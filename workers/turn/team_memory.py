"""The part of the team's memory that a turn may read, chosen when a message arrives. It becomes a step of the turn."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from core.errors import SlackUnreachable
from core.steps import Asked, Briefed, FunctionNote, FunctionUsed, PlaybookNote, Recalled, Replied, Step
from core.team_folder.spaces import Spaces, space_of
from core.telemetry import get_logger
from core.values import Language, ThreadKey
from workers.memory.functions.importing import imports_team, named_in
from workers.memory.team import TeamMemory, memory_of
from workers.turn.access.sources import question_of
from workers.turn.context import TurnContext
from workers.turn.source_tables import tables_now

log = get_logger(__name__)

FUNCTIONS_SHARE = 0.3
"""What the list of functions may have beside the entries, as a part of their budget."""
OFFLINE = "offline-analyst"
"""The model that reads no prompt, so no playbook."""


def spaces_in(context: TurnContext, thread_id: str) -> Spaces:
    """The spaces that a thread reads. A channel counts as one with outsiders where Slack does not say who is in it."""
    thread, memory = ThreadKey.parse(thread_id), memory_of(context.settings)
    if not memory.has_for_everyone:
        return memory.spaces(thread.channel, outsiders=True)
    own = {thread.team, *context.settings.access.own_teams}
    try:
        outsiders = context.slack.outsiders_in(thread.channel, own) != "none"
    except SlackUnreachable:
        outsiders = True
    return memory.spaces(thread.channel, outsiders=outsiders)


def recalled_for(
    context: TurnContext,
    thread_id: str,
    turns: Sequence[Sequence[Step]],
    new: Sequence[Step],
    language: Language = "en",
) -> Recalled | None:
    """What the words among `new` steps of the last turn need of what the team has learned, and it has not read yet.

    Where data has drifted from a playbook, that is said in the turn's language: people are asked about it.
    """
    memory, before = memory_of(context.settings), turns[-1]
    if not any(isinstance(step, Asked) and step.text.strip() for step in new):
        return None
    read = [step for each in turns for step in each if isinstance(step, Recalled)]
    gone, withheld = _gone(memory, read), _withheld(context, thread_id, read)
    if not memory.has_any(ThreadKey.parse(thread_id).channel):
        return Recalled(gone=gone, withheld=withheld) if gone or withheld else None
    spaces, question = spaces_in(context, thread_id), question_of([*before, *new])
    found = None
    if memory.prompt_chars:
        found = memory.documents.recall(spaces, question, memory.prompt_chars)
    found = found or Recalled()
    known = {
        (note.place, note.title, note.text)
        for step in before
        if isinstance(step, Recalled)
        for note in step.notes
        if note.title not in (*gone, *withheld)  # the model does not read any more what stood above
    }
    notes = tuple(note for note in found.notes if (note.place, note.title, note.text) not in known)
    steps = [*(step for each in turns[:-1] for step in each), *before, *new]
    is_new = context.model.name != OFFLINE and not any(isinstance(step, Replied) for step in before)
    book = _playbook(context, thread_id, spaces, question, steps, (*before, *new), language) if is_new else None
    functions = _functions(memory, spaces, question, before) if context.model.name != OFFLINE else ()
    if not (notes or gone or withheld or book is not None or functions):
        return None
    log.info(
        "memory_recalled",
        notes=len(notes),
        clashes=len(found.clashes),
        playbook=book.file if book else "",
        functions=len(functions),
        gone=len(gone),
        withheld=len(withheld),
    )
    clashes, more = (found.clashes, found.more) if notes else ((), 0)
    return Recalled(
        notes=notes, clashes=clashes, playbook=book, functions=functions, gone=gone, withheld=withheld, more=more
    )


def _gone(memory: TeamMemory, read: Sequence[Recalled]) -> tuple[str, ...]:
    """The titles of entries that a thread has read and not been told of, and that no longer stand on their page so."""
    known: set[tuple[str, str, str]] = set()
    for step in read:
        known = {each for each in known if each[1] not in (*step.gone, *step.withheld)}
        known |= {(note.place, note.title, note.text) for note in step.notes}
    spaces = sorted({space_of(place) for place, _, _ in known} - {""})
    there = {(note.file, note.entry.title, note.entry.text) for note in memory.documents.notes(spaces)}
    return tuple(sorted({title for _, title, _ in known - there}))


def _withheld(context: TurnContext, thread_id: str, read: Sequence[Recalled]) -> tuple[str, ...]:
    """What a thread has read of spaces that it may not read any more: guests may have come into its channel since.

    What two entries of one title said is withheld together.
    """
    known: dict[str, set[str]] = {}
    for step in read:
        for name in step.withheld:
            known.pop(name, None)
        files = [(note.title, note.place) for note in step.notes] + [(note.file, note.file) for note in step.functions]
        for name, file in [*files, *([(step.playbook.file, step.playbook.file)] if step.playbook else [])]:
            known.setdefault(name, set()).add(space_of(file))
    if not {space for spaces in known.values() for space in spaces} - {
        f"channels/{ThreadKey.parse(thread_id).channel}"
    }:
        return ()
    readable = {*spaces_in(context, thread_id).read}
    return tuple(sorted(name for name, spaces in known.items() if spaces - readable))


def functions_for(context: TurnContext, thread_id: str, code: str) -> tuple[FunctionUsed, ...] | None:
    """The team's functions that a cell imports, in their current version; None if it imports none, or if there are
    none."""
    shelf, memory = memory_of(context.settings).functions, memory_of(context.settings)
    if not imports_team(code) or not memory.has_any(ThreadKey.parse(thread_id).channel):
        return None
    usable = shelf.usable(spaces_in(context, thread_id).read)
    return named_in(code, usable) if usable else None


def _functions(memory: TeamMemory, spaces: Spaces, question: str, before: Sequence[Step]) -> tuple[FunctionNote, ...]:
    """The functions that a question may need and that the turn has not been told of."""
    told = {note.name for step in before if isinstance(step, Recalled) for note in step.functions}
    found = memory.functions.find(spaces.read, question, int(memory.prompt_chars * FUNCTIONS_SHARE))
    return tuple(note for note in found if note.name not in told)


def _playbook(  # noqa: PLR0917 - the thread, and what of it counts for what
    context: TurnContext,
    thread_id: str,
    spaces: Spaces,
    question: str,
    steps: Sequence[Step],
    turn: Sequence[Step],
    language: Language,
) -> PlaybookNote | None:
    """The playbook that a turn begins to follow. A thread that followed it before is at questions of its own."""
    files = [file for step in steps if isinstance(step, Briefed) for file in step.files]
    look_up = partial(tables_now, context, thread_id, turn)
    found = memory_of(context.settings).shelf.find(spaces.read, question, files, look_up, language)
    followed = {step.playbook.file for step in steps if isinstance(step, Recalled) and step.playbook is not None}
    return None if found is None or found.file in followed else found
