"""Words that narrow repeating times in ways that nobody reads here. Pure. Texts are case-folded: “ß” is “ss”.

“Every Monday until June” must not run in July. An order with such words gets no schedule but a sentence that says how
to write one.
"""

from __future__ import annotations

import re

WEEKS = {
    "de": ("sonntag", "montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag"),
    "en": ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"),
    "es": ("domingo", "lunes", "martes", "miércoles", "jueves", "viernes", "sábado"),
    "fr": ("dimanche", "lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi"),
}
_DAY = rf"(?:{'|'.join(name for week in WEEKS.values() for name in week)})s?"
_MONTH = "(?:january|february|march|april|may|june|july|august|september|october|november|december)"
_SHORT_DAY = "(?:mon|tues?|wed|thu(?:rs?)?|fri|sat|sun)"
_COUNT = r"(?:\d+|two|three|four|five|six|seven|eight|nine|ten)"
_NARROWED = re.compile(
    r"\b(?:until|till)\b(?! (?:yesterday|today|now)\b)"
    r"|\b(?:except|excluding|starting|beginning|alternate|alternating|fortnight\w*|bi-?weekly)\b"
    rf"|\bbut (?:not )?(?:on |in )?(?:{_DAY}|{_MONTH})\b|\bbetween \d|\bfrom (?:now|tomorrow|next|\d|{_DAY}|{_MONTH})\b"
    r"|\b(?:odd|even)(?:-numbered)? (?:week|day|month)s?\b"
    rf"|\bfor (?:the )?(?:next |first )?{_COUNT} (?:days|weeks|months|times)\b"
    r"|\b(?:ausser|ausgenommen)\b|\bbis (?:zu[mr]?|ende|einschliesslich|nächste\w*|\d)|\bzwischen \d"
    r"|\bab (?:dem|nächste\w*|morgen|\d)|\b(?:un)?geraden? (?:kalender)?wochen?\b"
    r"|\b(?:excepto|salvo|a partir)\b|\bhasta (?!ayer\b|hoy\b)|\bentre (?:las?|los|el|les?|\d)\b|\bmenos (?:los|el)\b"
    r"|\b(?:sauf|hormis)\b|\bjusqu|\bà partir\b"
    r"|\b(?:but|no|not|without|ohne|sin|sans|hors) (?:(?:the|on|on the|am|an|les?|los) )?"
    r"(?:week-?ends?|wochenenden?|fin(?:es)? de semana)\b"
    r"|(?:周末|双休日)(?:除外|不|跳过|休息)|除了?(?:周末|双休日)"
    r"|直到|截止|从[今明下本]\S{0,4}(?:起|开始)|除了?[周星节每]|隔[天日周月]|[单双两]周"
    r"|以外|を除|まで|隔[日週月]"
    rf"|\b(?:in|during|throughout) {_MONTH}\b|(?<!of )(?<!for )(?<!from )\bthis (?:week|month|quarter|year)\b"
)
_REFUSED = re.compile(
    r"\b(?:not|cannot|never|no longer|stop|cancel)\b(?!-)|n['’]t\b|\bdont\b|\b(?:nicht|niemals|keine?n?)\b"
    r"|\b(?:ya no|nunca|no (?:l[oa]s? |me )?(?:ejecut|repit|repet|actuali)\w*)\b|\b(?:ne|jamais)\b|\bn['’](?=exécut)"
    r"|不要|不用|不再|停止|取消|(?<![分类性级特区差个])别|しない|やめ|中止"
)
"""“Don't run this again every Monday”, “every day, not on weekends”."""
_TWO_TIMES = re.compile(
    r"\d\s*(?:am|pm|uhr|h|点|時)?\s*(?:and|und|y|et|,|&|、|和|と)\s*(?:at |um |a las |à )?"
    r"\d{1,2}(?::\d{2}|\s*(?:am\b|pm\b|uhr\b|h\b|点|時))"
    r"|\bat \d{1,2} (?:and|&) (?:at )?\d{1,2}\b(?!\s*[a-z%])"
)
_OF_A_MONTH = re.compile(r"\b(?:last|first|second|third|fourth|end|middle|mid)\b")
_OF_A_WEEK = re.compile(rf"\b(?:{_DAY}|week-?(?:day|end)s?|work-?(?:day|week)s?|working)\b|werktag|工作日|平日|周末")
_SECOND_DAY_OF_A_MONTH = re.compile(
    r"\b\d{1,2}(?:st|nd|rd|th)\b(?! (?:quarter|week|half|hour|percentile|customer))|\b\d{1,2}er\b"
    r"|(?:\b(?:and|und|y|et|or|oder|o|ou)|[,&])\s+(?:(?:on the|on|the|am|el|le|día)\s+)?"
    r"\d{1,2}(?:\.(?!\d)|\b(?!\s*(?:[:.]\d|h\b|uhr|[ap]m\b|%|heures?)))"
    r"|\b\d{1,2}\.?\s+(?:and|und|y|et|or|oder|o|ou)(?=\s|$)|(?:[和、及与と]|以及)\s*\d{1,2}\s*[号日]"
    r"|\bthe \d{1,2}\b(?! (?:best|worst|top|largest|most|biggest))"
)
_NAMES_A_DAY = re.compile(
    rf"(?<!last )(?<!previous )(?<!letzten )(?<!pasado )\b{_DAY}\b(?!['’]s\b| dernier| pasado)"
    rf"|(?:\b(?:and|or|plus)\b|[&+/])\s*(?:on )?{_SHORT_DAY}\b|,\s*(?!mon\b){_SHORT_DAY}\b"
    r"|(?<!上)(?:周|星期|礼拜)[一二三四五六日天]|(?<!先週の)(?<!前の)[月火水木金土日]曜"
)
_MONTH = (
    "january|february|march|april|may|june|july|august|september|october|november|december"
    "|januar|februar|märz|mai|juni|juli|oktober|dezember"
    "|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre"
    "|janvier|février|mars|avril|juin|juillet|août|septembre|octobre|novembre|décembre"
)
_REPEATS = re.compile(
    rf"\b(?:every|each)\s+(?:\w+\s+){{0,2}}(?:days?|weeks?|months?|quarters?|years?|weekends?|minutes?|{_DAY})\b"
    rf"|\b(?:jede[nrsm]?|alle)\s+(?:\w+\s+){{0,2}}(?:tage?|wochen?|monate?|quartale?|jahre?|minuten|{_DAY})\b"
    rf"|\b(?:cada|tod[oa]s l[oa]s)\s+(?:\w+\s+){{0,2}}(?:días?|semanas?|mes(?:es)?|trimestres?|años?|minutos|{_DAY})\b"
    rf"|\b(?:chaque|tou(?:te)?s les)\s+(?:\w+\s+){{0,2}}(?:jours?|semaines?|mois|trimestres?|ans?|minutes|{_DAY})\b"
    rf"|\b(?:every|each|jede[nrsm]?|cada|todos los|chaque|tous les)\s+"
    rf"(?:\d{{1,2}}(?:st|nd|rd|th|\.|er)?\s+(?:of |de )?(?:{_MONTH})"
    rf"|(?:{_MONTH})\s+\d{{1,2}})\b"
    r"|每(?:隔|个|[一两二三]|\d+)*(?:天|日|周|星期|月|季|年|分钟)|隔[天日周月]|毎(?:日|週|月|年)|隔[日週月]"
)


def are_narrowed(said: str) -> bool:
    """Whether words behind a repeating time leave some or all of its times out, or add a second time of the day."""
    return bool(_NARROWED.search(said) or _REFUSED.search(said) or _TWO_TIMES.search(said))


def name_further_days(rest: str) -> bool:
    """Whether what stands beside the days that were read names another day of the week, or times that come again."""
    return bool(_NAMES_A_DAY.search(rest)) or repeat(rest)


def name_further_days_of_a_month(rest: str) -> bool:
    """Whether what stands beside the day of a month names another one: “the 1st and 15th”, “1号和15号”."""
    return bool(_SECOND_DAY_OF_A_MONTH.search(rest))


def names_a_part_of_a_month(said: str) -> bool:
    """Whether a day of each month is named otherwise than by its number: its last day, its first Monday."""
    return bool(_OF_A_MONTH.search(said) or _OF_A_WEEK.search(said))


def names_a_part_of_a_week(said: str) -> bool:
    """Whether days of the week are named."""
    return bool(_OF_A_WEEK.search(said))


def repeat(said: str) -> bool:
    """Whether a text names times that come again and again, also those that cannot be read: every other Monday."""
    return bool(_REPEATS.search(said))
