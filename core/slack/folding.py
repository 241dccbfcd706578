"""Splits a report: the part that the thread shows, and the part behind its button “How it was done”."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from core.slack.markdown import source_lines, top_headings

METHOD: Final = re.compile(
    r"\b(?:methods?|methodology|approach|how i|how it was|steps taken)\b"
    r"|\b(?:methodik|methode|vorgehen|méthode|método|metodología)\b"
    r"|方法|步骤|分析过程|手順|手法",
    re.IGNORECASE,
)
_LIMITS: Final = re.compile(
    r"\b(?:limits?|limitations?|caveats?|(?:data )?cleaning|repairs?|einschränkungen|grenzen|datenbereinigung|limites|"
    r"limitations|nettoyage|límites|limitaciones|limpieza)\b|局限|限制|数据清洗|制約|注意点|データの整形",
    re.IGNORECASE,
)


def folded(report: str, sections: Collection[str] = ()) -> tuple[str, str]:
    """The report without its parts on method, cleaning and limits, and those parts. Together they are all of it.

    A report that would have nothing left is shown whole, and so is one with a fixed layout: its team wants those
    `sections` in the thread.
    """
    if sections:
        return report, ""
    lines = source_lines(report)
    shown, folds = list[str](), list[str]()
    hidden_level = 0
    heads = {line: (level, title) for line, level, title in top_headings(report)}
    for number, line in enumerate(lines):
        if number in heads:
            level, title = heads[number]
            if hidden_level == 0 or level <= hidden_level:
                hidden_level = level if METHOD.search(title) or _LIMITS.search(title) else 0
        (folds if hidden_level else shown).append(line)
    return ("".join(shown), "".join(folds)) if "".join(shown).strip() else (report, "")
