"""The first look at a data source: its tables by their first rows. All else is as with files."""

from __future__ import annotations

from workers.offline import cells
from workers.offline.lexicon import find, greets_only
from workers.offline.reading import facts_of
from workers.offline.thread import Thread, attempts
from workers.offline.values import Cell

SURVEY = "survey"
"""The stage that looks at a source."""
_TRIES = 2  # a source may be unavailable, or a person may have to say yes first


def source_cell(thread: Thread) -> Cell | str:
    """The cell that looks at the source which the thread is about, or the question which one it is; empty for none."""
    named = [name for name in thread.sources if find([name], thread.text)]
    if not named and (thread.join or greets_only(thread.text)):
        return ""
    if not named and len(thread.sources) > 1:
        return thread.say("talk", "which_source", sources=thread.sources)
    for source in (named or thread.sources)[:1]:
        seen = any(told.get("source") == source for told in facts_of(thread.cells).get("table", ()))
        if not seen and len(attempts(SURVEY, thread.since)) < _TRIES:
            return cells.cell(SURVEY, SURVEY, thread.language, {"source": source})
    return ""
