"""The words that tell what a number means: units, scales, directions, totals. In English, German and Chinese.

A word list is a rule of thumb: what it does not know is not judged.
"""

# ruff: noqa: SIM905 - a list of words reads best as one line
from __future__ import annotations

import re
from functools import lru_cache

_TOKEN = re.compile(r"[a-z0-9\u00b2\u00df-\u024f]+|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]", re.IGNORECASE)
_CAMEL = re.compile(r"(?<=[a-z]{2})(?=[A-Z])")
"""Where a word in a name ends: churnRate has two. iOS, eBay and pH are one."""

Key = tuple[str, ...]
"""A label as its words, folded: "churn_rate" → ("churn", "rate"). A Chinese character is a word."""

CURRENCIES = {
    "$": "usd", "us$": "usd", "usd": "usd", "dollar": "usd", "dollars": "usd", "美元": "usd",
    "€": "eur", "eur": "eur", "euro": "eur", "euros": "eur", "欧元": "eur",
    "£": "gbp", "gbp": "gbp", "¥": "cny", "￥": "cny", "元": "cny", "cny": "cny", "rmb": "cny", "人民币": "cny",
    "jpy": "jpy", "yen": "jpy", "chf": "chf", "₹": "inr", "inr": "inr", "₩": "krw", "krw": "krw",
}  # fmt: skip
SCALES = {
    "k": 1e3, "t": 1e3, "tsd": 1e3, "thousand": 1e3, "thousands": 1e3, "tausend": 1e3, "千": 1e3, "mil": 1e3,
    "milliers": 1e3,
    "m": 1e6, "mio": 1e6, "mn": 1e6, "mm": 1e6, "million": 1e6, "millions": 1e6, "millionen": 1e6, "百万": 1e6,
    "b": 1e9, "bn": 1e9, "mrd": 1e9, "billion": 1e9, "billions": 1e9, "milliarden": 1e9, "十亿": 1e9,
    "万": 1e4, "亿": 1e8, "萬": 1e4, "億": 1e8, "兆": 1e12, "lakh": 1e5, "lakhs": 1e5, "crore": 1e7, "crores": 1e7,
    "milliarde": 1e9, "milliard": 1e9, "milliards": 1e9, "md": 1e9, "mds": 1e9, "millón": 1e6, "millones": 1e6,
    "mil millones": 1e9, "tn": 1e12, "trn": 1e12, "trillion": 1e12, "trillions": 1e12, "billionen": 1e12,
    "billón": 1e12, "billones": 1e12,
}  # fmt: skip
UNITS = {
    unit: kind
    for kind, units in {
        "mass": "g kg t lb lbs oz mg tons tonnes",
        "length": "mm cm m km mi ft miles meters metres",
        "time": "ms s sec secs seconds second min mins minutes minute minuten h hr hrs hours hour stunden days day "
        "tage sekunden heures heure secondes seconde horas hora minutos minuto segundos segundo 時間 "
        "weeks week wochen months month monate years year jahre 秒 分钟 小时 天 周 个月 年",
        "temperature": "°c °f °k",
        "energy": "wh Wh kwh kWh MWh GWh TWh",
        "power": "kw kW MW GW",
        "data": "kb kB KB mb MB gb GB tb TB",
    }.items()
    for unit in units.split()
}
"""Units that exclude each other when both sides name one of the same kind."""
STEPS = {
    unit: (kind, 10.0**power)
    for kind, units in {
        "energy": {"wh": 0, "kwh": 3, "mwh": 6, "gwh": 9, "twh": 12},
        "power": {"kw": 3, "mw": 6, "gw": 9},
        "mass": {"mg": -3, "g": 0, "kg": 3, "t": 6},
        "length": {"mm": -3, "cm": -2, "m": 0, "km": 3},
        "data": {"b": 0, "kb": 3, "mb": 6, "gb": 9, "tb": 12},
    }.items()
    for unit, power in units.items()
} | {unit: ("time", size) for unit, size in {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3_600.0, "d": 86_400.0}.items()}
"""The units that one amount may be told in, each with its size: 4,240 kWh are 4.24 MWh."""
SAME_UNIT = {
    "sec": "s", "secs": "s", "seconds": "s", "second": "s", "秒": "s",
    "mins": "min", "minutes": "min", "minute": "min", "minuten": "min", "分钟": "min",
    "hr": "h", "hrs": "h", "hours": "h", "hour": "h", "stunden": "h", "小时": "h",
    "sekunden": "s", "secondes": "s", "seconde": "s", "segundos": "s", "segundo": "s", "minutos": "min",
    "minuto": "min", "heures": "h", "heure": "h", "horas": "h", "hora": "h", "時間": "h",
    "day": "d", "days": "d", "tage": "d", "天": "d", "week": "w", "weeks": "w", "wochen": "w", "周": "w",
    "month": "mo", "months": "mo", "monate": "mo", "个月": "mo", "year": "a", "years": "a", "jahre": "a", "年": "a",
    "lbs": "lb", "tons": "t", "tonnes": "t", "miles": "mi", "meters": "m", "metres": "m",
}  # fmt: skip

PERCENT_WORDS = frozenset(
    "percent percentage pct prozent perc share rate ratio growth change margin anteil quote return returns proportion "
    "discount disc rabatt remise descuento "
    "fraction conversion churn retention yoy mom cagr wachstum veränderung rendite missing r2 率 比 占".split()
)
"""Words of a label or a title that let a bare number stand for a percentage."""
STATISTICS = frozenset(
    "count mean std min max median sum total rows row columns n avg average variance var mode minimum maximum number "
    "nunique unique missing nan null outliers outlier size length all r r2 p z t se rmse mae mse aic bic anzahl summe "
    "mittel mittelwert gesamt insgesamt zeilen 合计 总计 平均 overall q1 q3 iqr skew kurtosis top freq".split()
)
"""Words that name a figure, not a thing: a list of such figures has no rows to be mixed up."""
CHANGE_WORDS = frozenset(
    "diff difference delta change changes growth increase gain yoy mom variance abweichung veränderung differenz "
    "wachstum 变化 增长 变 增".split()
)
_UP_TO_VERB = r"[\s\u2060*]++[\d.,\u00a0\u202f]*\d[^\d;!?]{0,16}"
"""A figure, its unit, and what stands before the last part of a verb: "nahm um 1.559 EUR ab"."""
DOWN = re.compile(
    r"\b(?:f[ae]ll(?:s|en|ing)?|decreas\w*|declin\w*|dropp?\w*|los[te]s?|los(?:ing|s(?:es)?)|"
    r"shr[aiu]nk\w*|sank|reduc\w*|sav(?:e[sd]?|ings?)|spar\w*|erspar\w*|gespart|économi\w*|ahorr\w*|"
    r"costs?(?=[\s\u2060]+\d)|down|low[e]rs?|less|fewer|below|under|short\w*|deficit|minus|negative|weaker|"
    r"contract\w*|behind|cut|worse\w*|"
    r"slipp\w*|slid\w*|slump\w*|gesunken|sank\w*|sinkt|fiel\w*|fällt|gefallen|rückgang|zurück\w*|schrumpf\w*|"
    r"verlor\w*|verlier\w*|verlust\w*|büß\w*|verringer\w*|reduzier\w*|abgenommen|régress\w*|rédui\w*|"
    r"décr(?:[uû]|o[iî]\w*)|descend(?:ió|ieron|ido)|desciend\w*|descensos?|retroced\w*|decrec\w*|baiss\w*|"
    r"diminu\w*|recul\w*|chut\w*|inférieur\w*|perd\w*|pierd\w*|"
    r"(?<!au )moins|(?<!al )(?<!lo )(?<!o )menos|darunter|"
    r"baj[aóo]\w*|disminu\w*|ca[eyí]\w*|reduj\w*|weniger|niedriger|minus|"
    r"unter\w*|gesenkt|abnahme|nahm\w* ab)\b|"
    rf"\bn(?:ahm|ahmen|immt|ehmen)[\s\u2060]+um\b{_UP_TO_VERB}\bab\b|"
    r"減|下がっ|跌|回落|(?<!至)(?<!不)少了|低く|少なく|安く|下回|落ち|低(?=\d)|少(?=\d)|低下|下落|下降|减少|下滑|降低|下跌|亏损|低于|少于|降|缩短|缩减|节省|节约",
    re.IGNORECASE,
)
FALL = re.compile(
    r"\b(?:f[ae]ll(?:s|en|ing)?|decreas\w*|declin\w*|dropp?\w*|shr[aiu]nk\w*|sank|sunk|(?<!broken )(?<!break )down|"
    r"slipp\w*|slid\w*|slump\w*|"
    r"gesunken|sank\w*|sinkt|sinken|fiel(?:en)?|fällt|gefallen|rückgang|zurück(?:gegangen|geht|ging)?|"
    r"schrumpf\w*|verringer\w*|reduzier\w*|"
    r"abnahme|abgenommen|baiss\w*|diminu\w*|recul\w*|chut\w*|régress\w*|rédui\w*|décr(?:[uû]|o[iî]\w*)|"
    r"baj[aóo]\w*|disminu\w*|ca[eyí]\w*|reduj\w*|descend(?:ió|ieron|ido)|desciend\w*|descensos?|retroced\w*|"
    r"decrec\w*)\b|"
    rf"\bn(?:ahm|ahmen|immt|ehmen)[\s\u2060]+um\b{_UP_TO_VERB}\bab\b|"
    r"減少|減った|減り|下がっ|低下|落ち|下落|下降|减少|下滑|降低|下跌|跌了|回落|少了",
    re.IGNORECASE,
)
"""Words that say that something became less, not that it is less than something else."""
RISE = re.compile(
    r"\b(?:rose|risen|rises?|rising|gr[eo]w(?:n|s|ing|th)?|increas\w*|gain(?:ed|s)?|climbed|up|"
    r"gestiegen|stieg\w*|steigt|gewachsen|wuchs\w*|wachsen\w*|wächst|wachstum|zuwachs|zugenommen|zulegt\w*|"
    r"augment\w*|hausse|progress\w*|cro[iî]\w*|crû|grimp\w*|"
    r"aument\w*|sub(?:ió|ieron|ido|e|en)|crec\w*|increment(?:ó|aron|ado|os?))\b|"
    r"増加|増え|上がっ|上昇|伸び|成長|增长|增加|上升|上涨|涨",
    re.IGNORECASE,
)
"""Words that say that something became more, not that it is more than something else."""
NEGATION = re.compile(
    r"\b(?:not|no|non|never|without|none|neither|hardly|barely|kaum|apenas|nicht|kein\w*|nie|ohne|nein|"
    r"pas|jamais|sans|ne|aucune?|ningun\w*|nunca|sin)\b|n['’]t\b|\bn['’]|[不未没無无非否]|ない|ませ",
    re.IGNORECASE,
)
"""Words that say that something is not so."""
OF_LESS = re.compile(
    r"\b(?:loss(?:es)?|deficits?|costs?|debts?|expens\w*|spend\w*|liabilit\w+|arrears|times?|durations?|"
    r"gaps?|shortfall|backlog|delays?|verlust\w*|defizit\w*|kosten|schulden|"
    r"lücke|rückstand|pertes?|déficits?|coûts?|dettes?|écart|retards?|pérdidas?|costes?|costos?|deudas?|brecha|"
    r"retrasos?|ausgaben|aufw[aä]nd\w*|verbindlichkeiten|zahlungsrückstände|\w*(?:dauer|zeit)|dépenses?|durées?|"
    r"gastos?|duraci[oó]n\w*|tiempos?|arriérés?)\b|支出|费用|负债|欠款|时长|时间|時間|期間|経費|"
    r"亏损|赤字|成本|债务|缺口|差距|延误|損失|費用|コスト|負債|遅れ",
    re.IGNORECASE,
)
"""Things whose fall is a gain elsewhere."""
UP = re.compile(
    r"\b(?:r[io]s[en]\w*|rises?|rising|gr[eo]w(?:n|s|ing|th)?|increas\w*|gain\w*|up|climb\w*|jump\w*|"
    r"surg\w*|more|higher|"
    r"above|over|improv\w*|add(?:ed|s)|lifts?|lifted|plus|ahead|gestiegen|stieg\w*|steigt|steiger\w*|"
    r"gewachsen|wuchs\w*|wächst|wachstum|zuwachs|zugenommen|nahm\w* zu|legt\w*|mehr|höher|über\w*|"
    r"darüber|"
    r"augment\w*|hausse|progress\w*|cro[iî]\w*|supérieur\w*|aument\w*|sub[eióa]\w*|crec\w*|superior\w*|"
    r"erhöh\w*|anstieg\w*|vergrößer\w*|crû|grimp\w*|increment(?:ó|aron|ado|os?)|alza)\b|"
    rf"\bn(?:ahm|ahmen|immt|ehmen)[\s\u2060]+um\b{_UP_TO_VERB}\bzu\b|増|上がっ|伸び|涨|多了(?=[\s\d约近])|提升|上昇|高く|より多く|"
    r"上回|高(?=\d)|"
    r"增长|增加|上升|提高|上涨|高于|多于|升",
    re.IGNORECASE,
)
LEVEL_BEFORE = re.compile(
    r"(?:\b(?:to|at|auf|bei|from|von|vom|aus|of)\b|至|到|从|为)\W{0,4}(?:[a-z]{1,9}\W{0,3})?$", re.IGNORECASE
)
"""What stands before a level ("fell to 58"), in contrast to a change ("fell by 6")."""
CHANGE = re.compile(
    r"\bagainst\b|\btoo (?:much|many|little|few)\b|exceed\w*|overs(?:pen|hoo)\w*|chang\w*|differ\w*|"
    r"longer|shorter|faster|slower|larger|smaller|bigger|cheaper|dearer|länger|kürzer|größer|kleiner|schneller|"
    r"langsamer|teurer|billiger|günstiger|gap|lead|range|spread|versus|\bvs\b|compar\w*|relativ\w*|lift|than\b|"
    r"gegenüber|ggü|verglichen|"
    r"ahead of|\blieg\w*\b[^;]{0,25}\bvor\b|devant|derrière|delante de|detrás de|领先|落后|"
    r"veränder\w*|unterschied|abstand|spanne|span\b|hinter|écart|différence|par rapport|(?:de )?(?:plus|moins) que|"
    r"diferencia|(?:más|menos) que|frente a|より|比べ|超出|超支|节省|结余|变化|相差|差距|差|相比|同比|环比|比|较",
    re.IGNORECASE,
)
TOTAL = re.compile(
    r"\b(?:total\w*|sum|sums|together|combined|overall|in all|altogether|all|whole|zusammen|insgesamt|gesamt\w*|summe|"
    r"alle[rn]?|en tout|ensemble|en conjunto)\b|合計|全体|合计|总|一共|共",
    re.IGNORECASE,
)
RATIO = re.compile(
    r"\btimes\b|\bratio\b|\d\s*[x×](?![a-z])|\bfold\b|\bper\b|\beach\b|\baverage|\bmean\b|"
    r"\bon average\b|\bje\b|\bpro\b|"
    r"\bmal\b|-fach|\bschnitt|\bmittel|\bpar\b|\bchacun|\bmoyenne|\bfois\b|\bpor\b|\bcada\b|\bpromedio|\bmedia\b|"
    r"\bveces\b|あたり|倍|平均|每",
    re.IGNORECASE,
)
TIMES = re.compile(r"\btimes\b|[x×](?![a-z])|\bfold\b|\bmal\b|-?fach|\bfois\b|\bveces\b|倍", re.IGNORECASE)
POINTS = re.compile(r"\b(?:percentage points?|pp|ppt|p\.p\.|prozentpunkt\w*|points)\b|百分点", re.IGNORECASE)
BASE_CUE = re.compile(
    r"\b(?:from|than|against|vs\.?|versus|compared (?:to|with)|relative to|over|above|below|ahead of|behind|vor|hinter|"
    r"devant|derrière|delante de|detrás de|gegenüber|"
    r"ggü\.?|als|von|vom|"
    r"zum vorjahr|on|que|par rapport|frente a)\b|より|从|由|比|较|相比|领先|落后",
    re.IGNORECASE,
)
BACK = re.compile(
    r"\b(?:earlier|previous\w*|before|last time|(?:whole|entire|full) (?:file|data\w*|table|period)|"
    r"so far|prior|still|unchanged|first answer|above answer|again|vorher\w*|"
    r"zuvor|bisher\w*|früher\w*|vorige\w*|vorherige\w*|letzte antwort|weiterhin|unverändert)\b|之前|此前|"
    r"先前|前回|上次|上一轮|整个|全部数据|仍",
    re.IGNORECASE,
)
"""Words with which a report refers to an earlier turn."""
_BEFORE_FIGURE = r"\s*\W?\s*$"
ABOUT = re.compile(
    r"(?:\b(?:about|around|roughly|approximately|approx\.?|some|just|rund|etwa|ca\.?|circa|ungefähr|environ|"
    r"à peu près|autour de|unos|unas|alrededor de|aproximadamente|aprox\.?|en torno a|cerca de)|"
    rf"[~≈∼]|约|大约|約|およそ){_BEFORE_FIGURE}",
    re.IGNORECASE,
)
"""Words before a figure that the real one is near, on either side."""
OVER = re.compile(
    rf"(?:\b(?:over|more than|gut|über|mehr als|plus d[e’']|más de)|超过|逾){_BEFORE_FIGURE}", re.IGNORECASE
)
"""Words before a figure that the real one is above."""
NEARLY = re.compile(rf"(?:\b(?:nearly|almost|knapp|fast|près d[e’']|presque|casi)|近){_BEFORE_FIGURE}", re.IGNORECASE)
"""Words before a figure that the real one is a little below."""
UNDER = re.compile(
    rf"(?:\b(?:under|below|less than|weniger als|moins d[e’']|menos de)|<|不到){_BEFORE_FIGURE}", re.IGNORECASE
)
"""Words before a figure that the real one is below, however far."""
MAGNITUDE = re.compile(
    r"\b(?:loss\w*|lost|deficit|overspen\w*|over\w*|shortfall|decline|drop|decrease|reduction|"
    r"verlust\w*|minus|rückgang|"
    r"unter\w*|über\w*|exceed\w*)\b|亏|降|减|跌|负|超",
    re.IGNORECASE,
)
"""Words that stand for the minus of a number that is written without one."""
NOT_IN_PROSE = frozenset(
    "yes no true false none nan other others all a i in on an and or of the to by is it at as us am an im der die das "
    "und es on off new old date day month year week total name id value index".split()
)
"""Labels that are too common as words: they bind in table rows only."""
_REST = r"rest|remain\w*|others?|übrig\w*|restlich\w*"
_REST_OF_EAST_ASIA = "其余|其他|剩"
OTHER_ROWS = re.compile(
    rf"\b(?:{_REST}|besides|except|without|ander\w*|außer|ohne)\b|{_REST_OF_EAST_ASIA}|除", re.IGNORECASE
)
"""Words with which a sentence names one row but speaks of the others."""
LEFT_OVER = re.compile(
    rf"\b(?:{_REST}|miss(?:es|ed|ing)?|wrong(?:ly)?|fail(?:s|ed)?|not|anderen?|nicht|falsch|verfehlt"
    rf"|autres?|restante?s?|manqu\w+|otr[ao]s|falla\w*)\b|{_REST_OF_EAST_ASIA}|漏|未|残り|逃",
    re.IGNORECASE,
)
"""Words for the part that another figure of the sentence leaves: "59 % are found, so 41 % are missed"."""
TAKEN_AWAY = re.compile(
    r"\b(?:remov\w+|dropp\w+|exclud\w+|delet\w+|discard\w+|without|remain\w*|left|leav\w+|ohne|entfern\w+|bleib\w+"
    r"|sans|exclu\w+|retir\w+|rest\w+|sin|elimin\w+|qued\w+)\b|去掉|删除|去除|剔除|剩|除外|除いて|削除|残",
    re.IGNORECASE,
)
"""Words for rows that are no longer there: "without the 37 duplicates 10,445 rows remain"."""


@lru_cache(maxsize=4_096)
def key_of(text: str) -> Key:
    """The words of a label, folded and without a plural s."""
    spaced = _CAMEL.sub(" ", text) if any(map(str.isupper, text)) else text
    return tuple(stem(match) for match in _TOKEN.findall(spaced.casefold()))


def stem(word: str) -> str:
    """A word without the s of its plural."""
    return word[:-1] if len(word) > 3 and word[-1] == "s" and word[-2] != "s" else word


def tokens(text: str) -> list[tuple[int, int, str]]:
    """The words of a text with their places: (start, end, folded word)."""
    return [(match.start(), match.end(), stem(match[0].casefold())) for match in _TOKEN.finditer(text)]


@lru_cache(maxsize=64)
def _answers(text: str) -> dict[int, bool]:
    return {}


def says(cue: re.Pattern[str], text: str) -> bool:
    """Whether one of these words is in a text. The answer is kept: each figure and step of a sentence asks again.

    `cue` is one of our lists. It is known by its id, because the hash of a pattern is computed over its whole code.
    """
    answers = _answers(text)
    if id(cue) not in answers:
        answers[id(cue)] = cue.search(text) is not None
    return answers[id(cue)]


@lru_cache(maxsize=64)
def words_in(text: str) -> frozenset[str]:
    """The words of a text, folded. A sentence is asked for its words once for each of its figures."""
    return frozenset(word for _, _, word in tokens(text))


def has_word(key: Key, known: frozenset[str]) -> bool:
    """Whether a label holds one of these words; a Chinese one may stand anywhere in it."""
    if not known.isdisjoint(key):
        return True
    joined = "".join(key)
    return not joined.isascii() and any(word in joined for word in known if not word.isascii())


def half_said(name: Key, words: frozenset[str]) -> bool:
    """Whether at least half of the words of a name are among these."""
    return sum(word in words for word in name) * 2 >= len(name)


GOOD = frozenset(
    map(
        stem,
        "revenue sales sale profit margin income orders turnover earnings umsatz gewinn ertrag ventas ingresos "
        "beneficio ventes bénéfice ca chiffre".split(),
    )
)
"""Measures of which more is better, without a doubt."""
CJK_GOOD = re.compile(r"销售额|收入|利润|营收|销量|売上|利益")
