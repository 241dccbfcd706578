"""`threadbook playbooks`: lists, shows and checks playbooks, and reports how they were used."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from core.settings import Settings
from core.store import Store
from core.store.history import History, PlaybookUse
from core.team_folder.folder import NotWritten, Page, Unreadable
from core.values import ThreadKey
from tryout.commands.operator import why_unreadable
from tryout.commands.show import counted, printable
from workers.memory.playbooks.page import Playbook, PlaybookFault, lint, read_playbook
from workers.memory.playbooks.shelf import PLAYBOOKS
from workers.memory.team import memory_of

_REASONS = 3


@dataclass(frozen=True, slots=True)
class Standing:
    """What became of a playbook: how often it was followed, and what speaks against it."""

    file: str
    uses: int
    last: datetime | None
    signs: tuple[str, ...]
    votes: tuple[tuple[str, str], ...]


def run_list(settings: Settings, *, as_json: bool = False) -> int:
    """Print the playbooks; 1 when one cannot be read."""
    found, faults = _read(settings)
    if as_json:
        rows = [{"file": file, "name": book.name, "when": book.when, "owner": book.owner, "kept": book.kept}
                for file, book in found.items()]  # fmt: skip
        print(json.dumps(rows, ensure_ascii=False))
    else:
        for file, book in found.items():
            kept = " ".join(filter(None, (book.owner, book.kept)))
            print(printable(f"{file}: {book.name}{f' ({kept})' if kept else ''}"))
            print(printable(f"    {book.when}"))
        print(f"{counted(len(found), 'playbook')} in {settings.memory_folder}.")
    return _told(faults)


def run_show(settings: Settings, file: str) -> int:
    """Print a page; 1 when there is none, or when it is no playbook."""
    try:
        text = memory_of(settings).documents.folder.text(file)
    except NotWritten as error:
        return _told([str(error)])
    if not text:
        return _told([f"there is no page {file}. `threadbook playbooks list` shows them."])
    print("\n".join(map(printable, text.splitlines())))
    return _told(list(_faults(file, text)))


def run_check(settings: Settings, files: Sequence[Path]) -> int:
    """Print what is wrong or odd, a line each; 1 when anything is."""
    if files:
        faults = [fault for path in files for fault in _faults(str(path), path.read_text("utf-8", "replace"))]
        count = len(files)
    else:
        pages, faults = _pages(settings)
        faults += [fault for page in pages for fault in _faults(page.file, page.text)]
        count = len(pages)
    for fault in faults:
        print(printable(fault))
    print(f"{counted(count, 'playbook')}, {len(faults) or 'nothing'} to mend.")
    return 1 if faults else 0


def run_report(settings: Settings, days: int, workspace: str = "", *, as_json: bool = False) -> int:
    """Print what became of each playbook; 1 when the Store cannot be read. People move away what nobody needs.

    With a `workspace`, only its threads count: two workspaces may have a page of the same name.
    """
    found, _ = _read(settings)
    with closing(History(settings.database_url)) as history, closing(Store(settings.database_url)) as store:
        try:
            uses = history.playbook_uses()
        except SQLAlchemyError as error:
            print(why_unreadable(store, error), file=sys.stderr)
            return 1
    if workspace:
        uses = [use for use in uses if ThreadKey.parse(use.turn.thread_id).team == workspace]
    since = datetime.now(UTC) - timedelta(days=days)
    known = list(dict.fromkeys([*found, *(use.file for use in uses)]))
    standings = [standing(file, [use for use in uses if use.file == file], since, exists=file in found)
                 for file in known]  # fmt: skip
    if as_json:
        print(json.dumps([_json(each) for each in standings], ensure_ascii=False))
        return 0
    for each in standings:
        last = f", last on {each.last:%Y-%m-%d}" if each.last else ""
        votes = ", ".join(f"{sign} {sum(vote == name for vote, _ in each.votes)}"
                          for sign, name in (("👍", "up"), ("👎", "down")))  # fmt: skip
        print(printable(f"{each.file}: followed {each.uses} times{last}; {votes}"))
        for line in (*each.signs, *_reasons(each)):
            print(printable(f"    {line}"))
    print(f"{counted(len(standings), 'playbook')}, {sum(bool(each.signs) for each in standings)} to look at.")
    return 0


def standing(file: str, uses: Sequence[PlaybookUse], since: datetime, *, exists: bool = True) -> Standing:
    """What speaks against a playbook, by the turns that followed it."""
    last = max((use.turn.created_at for use in uses), default=None)
    failed = sum(use.turn.status in ("stopped", "failed") for use in uses)
    counts = {
        "failed": failed,
        "drifted": sum(bool(use.drift) for use in uses),
        "not wanted": sum(use.unwanted for use in uses),
        "corrected": sum(use.corrected for use in uses),
        "voted down": sum(any(vote == "down" for vote, _ in use.votes) for use in uses),
    }
    signs = [f"{what} in {count} of {len(uses)} threads" for what, count in counts.items() if count]
    signs += [f"drift: {line}" for line in dict.fromkeys(line for use in uses for line in use.drift)]
    if exists and (last is None or last < since):
        signs.append("unused" if last is None else f"unused since {last:%Y-%m-%d}")
    if not exists:
        signs.append("its page is gone")
    return Standing(file, len(uses), last, tuple(signs), tuple(vote for use in uses for vote in use.votes))


def _read(settings: Settings) -> tuple[dict[str, Playbook], list[str]]:
    pages, faults = _pages(settings)
    found: dict[str, Playbook] = {}
    for page in pages:
        try:
            found[page.file] = read_playbook(page.text)
        except PlaybookFault as error:
            faults.append(f"{page.file}:{error.line}: {error.message}")
    return found, faults


def _pages(settings: Settings) -> tuple[list[Page], list[str]]:
    folder = memory_of(settings).documents.folder
    all_pages = [page for space in folder.spaces() for page in folder.all_pages(space, PLAYBOOKS)]
    faults = [f"{page.file}: {page.why}." for page in all_pages if isinstance(page, Unreadable)]
    return [page for page in all_pages if isinstance(page, Page)], faults


def _faults(file: str, text: str) -> Iterator[str]:
    try:
        book = read_playbook(text)
    except PlaybookFault as error:
        yield f"{file}:{error.line}: {error.message}"
        return
    yield from (f"{file}:{line}: {sentence}" for line, sentence in lint(book))


def _reasons(each: Standing) -> list[str]:
    said = [f"{vote}: {reason}" for vote, reason in each.votes if reason]
    return said[-_REASONS:]


def _json(each: Standing) -> dict[str, object]:
    last = each.last.isoformat() if each.last else None
    return {"file": each.file, "uses": each.uses, "last": last, "signs": each.signs, "votes": each.votes}


def _told(faults: Sequence[str]) -> int:
    for fault in faults:
        print(printable(f"threadbook: {fault}"), file=sys.stderr)
    return 1 if faults else 0
