"""Splits a report: the part that the thread shows, and the part behind its button “How it was done”."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

from core.slack.markdown import source_lines, top_headings

_UNSPACED_METHOD: Final = "方法|步骤|分析过程|手順|手法"
_UNSPACED_LIMITS: Final = "局限|限制|数据清洗|制約|限界|注意点|データの整形"
_METHOD: Final = re.compile(
    r"\b(?:methods?|methodology|approach|how (?:i|we) (?!would|should|could|might)|how it was|steps taken)\b"
    r"|\b(?:methodik|methode|vorgehen|méthode|método|metodología)\b"
    rf"|{_UNSPACED_METHOD}",
    re.IGNORECASE,
)
_LIMITS: Final = re.compile(
    r"\b(?:limits?|limitations?|caveats?|(?:data )?cleaning|repairs?|einschränkungen|grenzen|datenbereinigung|limites|"
    rf"limitations|nettoyage|límites|limitaciones|limpieza)\b|{_UNSPACED_LIMITS}",
    re.IGNORECASE,
)
_SENTENCE: Final = re.compile(
    r"\W*(?:how (?:i|we)|how it was (?:done|computed|calculated|counted|measured|made|found|built|checked))\b",
    re.IGNORECASE,
)
_AFTER: Final = re.compile(r"\s*(?:[:：;；(（]|\s[-–—]\s).*", re.DOTALL)
"""What explains a heading behind its words, as in "Method: weighted means"."""
_BESIDE: Final = frozenset(
    """
    a about additional an analysis analyses and assumption assumptions calculation calculations computation data
    dataset file files for general how important in its key known main my note notes of on open or other our
    possible quality remarks report run scope steps source sources statistical taken the these this to used
    analyse angaben annahmen auswertung bei bekannte berechnung dabei daten datengrundlage datenqualität der des die
    dieser diese dieses hinweise laufs mögliche methodische quellen und vorbehalte wichtige zu zum zur
    au aux avertissements calcul ces cet cette connues d de des du données et hypothèses l la le les notes qualité
    remarques réserves statistique sur
    advertencias al análisis calidad cálculo con datos del el en este esta estos estadístico fuentes las los notas
    para reservas sobre supuestos y
    """.split()  # noqa: SIM905 - words are read more easily as words
)
"""What else a heading may say beside its method or limits."""
_UNSPACED: Final = re.compile(
    rf"{_UNSPACED_METHOD}|{_UNSPACED_LIMITS}"
    r"|本次|本报告|已知|注意事项|前提|假设|说明|数据|质量|来源|口径|分析|计算|统计|研究|处理|过程|性|与|和|及|的"
    r"|今回|について|および|データ|集計|検証|計算|の|と|や"
)
"""The same, and the words for method and limits, of languages that set no blanks between words."""
_NOTE: Final = re.compile(r"_[^_].*_\s*\Z")
_WORD: Final = re.compile(r"[^\W\d_]+")


def tells_method(title: str) -> bool:
    """Whether a heading announces how the answer was found, and nothing else."""
    return _is_about(_METHOD, title)


def _is_about(topic: re.Pattern[str], title: str) -> bool:
    """Whether a heading is about this alone. "Revenue by payment method" is not: its section answers."""
    head = _AFTER.sub("", title)
    if topic.search(head) is None:
        return False
    known = (_BESIDE.__contains__, _METHOD.fullmatch, _LIMITS.fullmatch, lambda word: not _UNSPACED.sub("", word))
    words = _WORD.findall(head.casefold())
    return _SENTENCE.match(head) is not None or all(any(is_known(word) for is_known in known) for word in words)


def folded(report: str, sections: Collection[str] = ()) -> tuple[str, str]:
    """The report without its parts on method, cleaning and limits, and those parts. Together they are all of it.

    A report that would have nothing left is shown whole, and so is one with a fixed layout: its team wants those
    `sections` in the thread. Our notes at the end of a report, each a line in italics, stay with what the thread shows.
    """
    if sections:
        return report, ""
    lines = source_lines(report)
    shown, folds = list[str](), list[str]()
    hidden_level, notes = 0, _notes_at(lines)
    heads = {line: (level, title) for line, level, title in top_headings(report)}
    for number, line in enumerate(lines):
        if number in heads:
            level, title = heads[number]
            if hidden_level == 0 or level <= hidden_level:
                hidden_level = level if tells_method(title) or _is_about(_LIMITS, title) else 0
        (folds if hidden_level and number < notes else shown).append(line)
    return ("".join(shown), "".join(folds)) if "".join(shown).strip() else (report, "")


def _notes_at(lines: Sequence[str]) -> int:
    """The number of the line from which there are only notes, such as what the marks of a table mean."""
    first = len(lines)
    for number in range(len(lines) - 1, 0, -1):
        if _NOTE.match(lines[number]) and not lines[number - 1].strip():
            first = number
        elif lines[number].strip():
            break
    return first
