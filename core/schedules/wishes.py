"""Finds messages that want a schedule and do not say all of it: “Mondays at 9”, “run this again every Monday”. Pure.

`words.py` reads no order in such a message, and a model cannot schedule. So the thread says what to write.
A message counts only if it has nothing else in it: “run this again for every region” is a question.
"""

from __future__ import annotations

import re

from core.schedules.clock import without_dots
from core.schedules.narrowing import WEEKS
from core.schedules.words import read_schedule

_MOST_CHARS = 120
_DAY = "|".join(sorted((name for week in WEEKS.values() for name in week), key=len, reverse=True))
_GERMAN_DAY = "|".join(WEEKS["de"])
_ENGLISH_DAY = "|".join(WEEKS["en"])
_EVERY = r"(?:every|each|jede[nrs]?|cada|todos los|todas las|chaque|tous les|toutes les)"
_DAY_JA = "(?:[月火水木金土日](?:曜日?)?)"
_DAY_ZH = "(?:(?:周|星期|礼拜)[一二三四五六日天])"
_JOINED = r"(?:\s*,\s*|\s+(?:and|und|y|et)\s+)"
_ON_A_DAY = re.compile(
    rf"\b{_EVERY} (?:{_DAY})s?(?:{_JOINED}(?:{_DAY})s?)*\b"
    rf"|每个?{_DAY_ZH}(?:[、和,，]?(?:周|星期)?[一二三四五六日天])*|毎週\s*{_DAY_JA}(?:[、と・]\s*{_DAY_JA})*"
)
"""Days that are named so count even without a time of day."""
_REPEATING = re.compile(
    rf"\b(?:on )?(?:{_ENGLISH_DAY})s(?:{_JOINED}(?:{_ENGLISH_DAY})s)*\b|\b(?:{_GERMAN_DAY})s\b"
    rf"|\b(?:los|el) (?:{'|'.join(WEEKS['es'])})s?\b|\bles? (?:{'|'.join(WEEKS['fr'])})s?\b"
    rf"|\b{_EVERY} (?:day|week|month|weekday|work(?:ing )?day|morning|evening|afternoon|night)s?\b"
    r"|\bjede[nrs]? (?:tag|woche|monat|werktag|arbeitstag|morgen|abend)\b"
    r"|\b(?:cada|tod[oa]s l[oa]s) (?:días?|semanas?|mes(?:es)?|mañanas?|noches?|tardes?)(?: laborables?)?\b"
    r"|\b(?:chaque|tous les|toutes les) (?:jours?|semaines?|mois|matins?|soirs?)(?: ouvr(?:és?|ables?))?\b"
    r"|\b(?:daily|weekly|monthly|weekdays|täglich|wöchentlich|monatlich|werktags|a diario|diariamente|semanalmente"
    r"|mensualmente|quotidiennement)\b"
    r"|每个?(?:工作日|天|日|周|星期|月(?:\d{1,2}[日号])?|早|晚)|毎(?:日|週|月(?:\d{1,2}日)?|朝|晩)|平日"
)
_CLOCK = re.compile(
    r"(?:\b(?:at|around|um|gegen|a las?|à|vers)\s+)?\b\d{1,2}(?:[:：.h]\d{2})?"
    r"\s*(?:am|pm|uhr|heures?|horas?|h|o['’]clock)?"
    r"(?![\d%])(?:\s*[点时時](?:半|\d{1,2}分?)?)?|\b(?:at )?(?:noon|midnight)\b|\bmittags\b|\bmidi\b|\bmediodía\b|正午"
)
_PART_OF_DAY = re.compile(
    r"\b(?:in the |on )?(?:mornings?|evenings?|afternoons?|nights?)\b|\b(?:morgens|abends|früh|nachmittags|am morgen)\b"
    r"|\b(?:por|de) la (?:mañana|tarde|noche)\b|\b(?:le|du) (?:matin|soir)\b|早上|上午|下午|晚上|中午|清晨"
    r"|午前|午後|朝|夜"
)
_IT = r"(?:this|it|that|the|same|das|dies(?:e[ns]?)?|den|die|esto|este|el|lo|ceci|cela|ça|ce|le)"
_REPORT = (
    r"(?:report|analysis|bericht|auswertung|analyse|informe|análisis|rapport|chart|code|query|numbers?|figures?|thing)"
)
_WHAT = rf"(?:(?:me|us|mir|uns|nous|moi)\b[\s-]*)?{_IT}\b(?:\s+(?:same\s+)?{_REPORT}\b)?"
_VERB = re.compile(
    rf"\b(?:re-?run|run|repeat|refresh|redo|do|send|post|update)\s+{_WHAT}"
    rf"|\bschedule(?:\s+{_WHAT})?(?:\s+for\b)?|\bremind (?:me|us)\b"
    rf"|\b(?:führen?|schicken?|sende[n]?|poste[n]?|aktualisieren?|wiederholen?|plane[n]?|lass(?:en)?)\s+(?:sie\s+)?{_WHAT}"
    r"|\b(?:ausführen|schicken|senden|posten|aktualisieren|wiederholen|planen)\b"
    r"|\b(?:noch ?ein ?mal|erneut|wieder) (?:ausführen|laufen|berechnen|erstellen)\b"
    rf"|\b(?:ejecut|repit|repet|actuali[zc]|program|env[ií]|mand|public)(?:ar?|[aeoi]r?|ame|alo|elo)?\s+{_WHAT}"
    r"|\b(?:ejecut|repit|repet|actuali[zc])\w*(?=\s+(?:de nuevo|otra vez))"
    rf"|\b(?:exécut|répèt|programm|planifi|envo[iy]|publi|actualis)(?:e[rz]?)?[\s-]+{_WHAT}"
    rf"|\b(?:relanc|réexécut|recalcul)(?:e[rz]?)?(?:\s+{_WHAT})?\b"
    r"|(?:重新|再次?)?(?:运行|执行|跑|发送?|更新|安排)(?:这个|这份|它)?(?:报告|分析)?(?:一[次遍下])?"
    r"|(?:もう一度|再度?)?\s*(?:実行|計算|作成|送信|投稿|更新)|スケジュール"
)
_FILLER = re.compile(
    r"\b(?:please|can|could|would|will|you|i|we|want|need|like|to|again|automatically|thanks?|now|always|just|also"
    r"|with the new data|from now on|here|by itself"
    r"|bitte|kannst|können|könntest|könnten|du|sie|mir|uns|automatisch|noch ?ein ?mal|nochmals?|wieder|erneut|aus|danke"
    r"|das|diesen bericht|laufen|ab jetzt|immer|um|am"
    r"|por favor|puedes?|podrías?|quiero|que|automáticamente|de nuevo|otra vez|gracias"
    r"|s['’]il (?:te|vous) pla[iî]t|peux-tu|pouvez-vous|automatiquement|à nouveau|merci|de|encore une fois)\b"
    r"|请|帮我|麻烦|能|可以|自动|给我|把|都|一下|一次|吗|吧|这个|这份|它|报告|分析|的"
    r"|これ|この|レポート|分析|自動(?:的に|で)?|もう一度|して|ください|お願いします|[をにはのもとで]"
)


def wishes_schedule(text: str) -> bool:
    """Whether a text says only that something is to run again and again, but not so that it can be scheduled.

    Days or times alone count where a person names a day of the week (“every Monday”) or a time of day (“daily at 9”).
    """
    plain = " ".join(text.split())
    if not plain or len(plain) > _MOST_CHARS or read_schedule(text) is not None:
        return False
    said = without_dots(plain.casefold())
    rest, days = _ON_A_DAY.subn(" ", said)
    rest, repeating = _REPEATING.subn(" ", rest)
    if not days and not repeating:
        return False
    rest, verbs = _VERB.subn(" ", rest)
    rest, clocks = _CLOCK.subn(" ", rest)
    rest = _FILLER.sub(" ", _PART_OF_DAY.sub(" ", rest))
    if re.search(r"\w", rest):
        return False
    return bool(verbs) or (not plain.endswith(("?", "？")) and bool(days or clocks))
