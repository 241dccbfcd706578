"""Figures that stand only in an entry of the team's memory. A report has to say so: nothing computed them here."""

from __future__ import annotations

import re

from core.steps import TeamNote

_DAY = re.compile(r" on (\d{4}-\d\d-\d\d)(?=;|\Z)")
"""The day in the line that says where an entry comes from. A name in this line has another end."""
_NAMED = re.compile(r"(?P<title>.*?)(?: \((?P<day>\d{4}-\d\d-\d\d)\))?\Z", re.DOTALL)
_QUOTES = "\"'“”„‟‘’«»‹›「」『』"
_SAYS_SO = re.compile(
    r"\b(?:from (?:the team['’]s )?memory|(?:wrote|written) down|remembered)\b"
    r"|\bteam['’]s (?:\w+ )?(?:memory|entry|entries|definitions?|conventions?|notes?|decisions?)\b"
    r"|\b(?:by|in|from|per) (?:the |our )?(?:definition|convention|glossary)\b"
    r"|\baus dem (?:Team-?)?Gedächtnis\b|\b(?:vom Team (?:notiert|festgehalten)|laut (?:Definition|Eintrag))\b"
    r"|\b(?:Definition|Konvention|Festlegung|Eintrag|Notiz|Gedächtnis)\w* des Teams\b"
    r"|\b(?:de (?:la )?memoria|anotad[oa] por el equipo|(?:definición|convención|entrada|nota)\w* del equipo)\b"
    r"|\b(?:de (?:la )?mémoire|notée? par l['’]équipe|(?:définition|convention|entrée|note) de l['’]équipe)\b"
    r"|チームの(?:記録|定義|メモ)|記録によ(?:る|れば)|团队(?:的)?(?:记录|定义|约定|记忆)|记忆中",
    re.IGNORECASE,
)
"""How a report says where a number is from, in each language of answers."""


def entry_named(note: TeamNote) -> str:
    """An entry by its title, with the day on which it was kept or last changed: "revenue of October (2026-11-02)"."""
    days = _DAY.findall(note.kept)
    return f"{note.title} ({days[-1]})" if days else note.title


def day_of(entry: str) -> str:
    """The day in the name of an entry; "" when nothing says it."""
    found = _NAMED.match(entry)
    return (found and found["day"]) or ""


def says_so(text: str, entry: str) -> bool:
    """Whether a text says that something in it is from the memory: in words, by the entry's title in quotation marks,
    or by its day."""
    if _SAYS_SO.search(text):
        return True
    found = _NAMED.match(entry)
    title, day = (found["title"], found["day"]) if found else (entry, None)
    titled = rf"[{_QUOTES}*_]\s?{re.escape(title.strip(_QUOTES))}\s?[{_QUOTES}*_]"
    return bool(day and day in text) or re.search(titled, text, re.IGNORECASE) is not None
