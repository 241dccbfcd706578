"""The words with which a report says that one thing is first or last, in six languages.

As in `words.py`, a list is a rule of thumb. A clause with a word that is in none of these lists is not judged.
"""

# ruff: noqa: SIM905 - a list of words reads best as one line
from __future__ import annotations

import re

from workers.agent.provenance.language.words import stem

_RANKS = {
    "level_up": r"\b(?:highest|höchste[nrsm]?|más (?:alt|elevad)[oa]s?|l[ea]s? plus (?:élevée?s?|haute?s?))\b|"
    r"最高(?!の)|最も高[いく]|(?:一番|いちばん)高[いく]",
    "level_down": r"\b(?:lowest|(?:niedrig|tief)ste[nrsm]?|más baj[oa]s?|"
    r"l[ea]s? (?:plus bas(?:se)?s?|moins élevée?s?))\b|"
    r"最低|最も低[いく]|(?:一番|いちばん)低[いく]",
    "size_up": r"\b(?:largest|biggest|greatest|(?<!at )most|grö(?:ß|ss)te[nrsm]?|meisten?|"
    r"(?:el|las?|los) mayor(?:es)?|"
    r"más grandes?|l[ea]s? plus (?:grande?s?|gros(?:se)?s?|importante?s?|d[e'’]))(?![\w-])|"
    r"最大|最多|最も(?:多|大き)[いく]|(?:一番|いちばん)(?:多|大き)[いく]",
    "size_down": r"\b(?:smallest|fewest|(?<!at )least|(?:klein|gering|wenig)ste[nrsm]?|(?:el|las?|los) menor(?:es)?|"
    r"más pequeñ[oa]s?|l[ea]s? (?:plus petite?s?|moins d[e'’]))(?![\w-])|"
    r"最小|最少|最も(?:少な|小さ)[いく]|(?:一番|いちばん)(?:少な|小さ)[いく]",
    "verb_up": r"\b(?:leads|led|führte?|lidera|lideró|encabeza|encabezó|mène|domine)(?! (?:to|zu)\b)\b",
    "verb_down": r"\btrails\b",
    "lead_down": r"\b(?:weakest|(?:ranks?|ranked|comes|came) last|in last place|schwächste[nrsm]?|schlusslicht|"
    r"an letzter stelle|más (?:débil|débiles|floj[oa]s?)|en último lugar|l[ea]s? plus faibles?|"
    r"en dernière position)\b|最弱|垫底|末位|倒数第一|最下位|最も弱[いく]",
    "lead_up": r"\b(?:strongest|leading|(?:is|was|comes|came) (?:out )?ahead|(?:ranks?|ranked|comes|came) first|"
    r"in first place|tops the (?:list|ranking|table)|top(?:-selling)?(?! ?(?:\d|two|three|five|ten\b))|"
    r"best[- ]sell(?:er|ing)|stärkste[nrsm]?|ganz vorne?|vorne?|an der spitze|spitzenreiter(?:in)?|auf platz eins|"
    r"más fuertes?|a la cabeza|en cabeza|en primer lugar|l[ea]s? plus forte?s?|en tête|en première position)(?![\w-])|"
    r"最强|领先|居首|领跑|排名第一|位居第一|位列第一|榜首|首位|トップ(?!\s*\d)|最も強[いく]",
    "best_up": r"\b(?:best(?![- ]sell)|beste[nrsm]?|(?:el|las?|los) mejor(?:es)?|l[ea]s? meilleure?s?)(?![\w-])|"
    r"最好|最佳",
    "best_down": r"\b(?:worst|schlechteste[nrsm]?|(?:el|las?|los) peor(?:es)?|l[ea]s? pires?)(?![\w-])|最差",
}
RANK = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in _RANKS.items()), re.IGNORECASE)
"""A word that ranks. `level` and `size` say which end they mean; `lead` and `verb` mean the good end, `best` too."""
COMPARED = re.compile(r"más \w+", re.IGNORECASE)
ARTICLE = re.compile(r"\b(?:el|la|los|las)\b", re.IGNORECASE)
"""Spanish tells "the highest" from "higher" by an article alone."""
RESTRICTS = re.compile(
    r"\b(?:among|amongst|within|inside|excluding|exclud\w+|except|without|apart|aside|unless|if|when|where|"
    r"only(?!\W+\d)|besides|remaining|rest|other|others|outside|ignoring|leaving|filter\w*|restrict\w*|limited|"
    r"(?:more|less|fewer) than|at (?:least|most)|(?:over|above|below|under) \d|tied|ties?|jointly|equal\w*|"
    r"mindestens|höchstens|(?:mehr|weniger) als|(?:über|ab) \d|unter|ohne|außer|ausgenommen|"
    r"abgesehen|nur(?!\W+\d)|innerhalb|wenn|falls|übrige[nrsm]?|andere[nrsm]?|gleichauf|"
    r"(?:más|menos) de|al menos|entre|dentro|sin|salvo|excepto|excluyendo|"
    r"sólo(?!\W+\d)|solo(?!\W+\d)|si|demás|empat\w+|"
    r"(?:plus|moins) de \d|au moins|parmi|sans|sauf|hors|hormis|excepté|seulement(?!\W+\d)|autres?|ex aequo)\b|"
    r"超过|至少|以上|以下|不到|不足|低于|高于|未満|除了|除|以外|之外|不含|不计|不包括|仅限|只看|其中|如果|其他|其余|并列|のうち|除く|除い|除き|のみ|だけ|以外|同率|もし|その他",
    re.IGNORECASE,
)
"""Says that not all rows are compared, or that several are equal."""

_EUROPEAN = """
the a an is was are were be has had have with at of in by for as and from on about around roughly approximately nearly
almost just only some over exactly total overall all that which also again still clearly narrowly far comes came goes
went belongs recorded reached posted made earned brought brings generated generates sold sells achieved shows showed saw
delivered contributed closed won held holds received handled booked placed takes took stands stood number
value amount figure level sum count result
der die das dem den des ein eine einem einer ist war sind waren hat hatte haben hatten mit bei von vom im am an auf für
und liegt lag liegen lagen kommt kam erreicht erreichte erzielt erzielte verzeichnet verzeichnete macht machte bringt
brachte verkauft verkaufte steht stand rund etwa ca circa knapp fast über genau nur insgesamt klar deutlich auch
weiterhin entfällt entfielen fällt fiel weist zeigt wurde wurden wert betrag anzahl zahl summe
el la los las un una es fue son tiene tuvo con de del en y a al número valor total registra registró alcanza alcanzó
logra logró está estuvo unos unas cerca casi solo sólo
le les l une est était sont avait ont avec du d au aux et nombre valeur montant enregistre atteint réalise affiche
environ près presque seulement c qui
"""
_KINDS = """
month quarter year week day weekday region area store shop branch product item article category segment customer client
buyer user person employee rep seller salesperson agent team department division channel country city state market group
class type plan supplier vendor brand site station source campaign company performer contributor
monat quartal jahr woche tag wochentag gebiet filiale laden geschäft produkt artikel kategorie kunde kundin verkäufer
verkäuferin mitarbeiter abteilung kanal land stadt markt gruppe klasse typ tarif lieferant marke standort
mes trimestre año semana día región zona tienda producto categoría cliente vendedor vendedora equipo departamento canal
país ciudad mercado grupo
mois année semaine jour région zone magasin boutique produit catégorie vendeur vendeuse équipe département pays ville
marché groupe
"""
FUNCTION = frozenset(map(stem, _EUROPEAN.split()))
"""Words that narrow nothing."""
KINDS = frozenset(map(stem, _KINDS.split()))
"""Words for what rows are of: "the weakest month"."""
OPENS = re.compile(
    r"\s*(?:(?:of|with|among|for|in|at|from|above|over|under|by|after|before|since|until|during|to|behind|on|per|given|"
    r"von|mit|bei|für|im|unter|über|ab|nach|vor|seit|während|auf|aus|an|am|zum|zur|hinter|"
    r"de|del|con|para|en|entre|desde|tras|a|sobre|por|parmi|pour|avec|dans|chez|depuis|après|sur|à|au|aux)\b|"
    r"[在从对于以当按])",
    re.IGNORECASE,
)
"""Opens a part of a sentence that may narrow what the rest says."""
WITHIN = re.compile(r"[中里内时后で]\s*$")
"""Ends such a part in Chinese and Japanese."""
FOLLOWED = re.compile(
    r"\s*(?:followed by|ahead of|gefolgt von|seguid[oa]s? (?:de|por)|suivie?s? (?:de|par))", re.IGNORECASE
)
INTRO = frozenset(
    map(
        stem,
        "key main finding findings highlight highlights summary takeaway takeaways overview point points insight "
        "insights short brief ergebnis ergebnisse überblick wichtigste wichtigsten zusammenfassung kurz erkenntnisse "
        "punkte resumen hallazgos principales resultados puntos clave résumé résultats principaux points clés".split(),
    )
)
CJK_INTRO = re.compile(r"要点|结论|主要发现|总结|概览|结果|摘要|まとめ|結果|概要|結論")
"""Words above a list that narrow nothing."""
COPULA = re.compile(
    r"\b(?:is|was|are|were|comes|came|goes|went|belongs|ist|war|sind|waren|hat|hatte|liegt|lag|kommt|kam|"
    r"entfällt|entfielen|fällt|fiel|es|fue|son|est|était|sont)\b|:|：|是|为|為|は|が",
    re.IGNORECASE,
)
"""Stands between "the weakest month" and the name of the month."""
BEFORE_NAME = re.compile(
    r"\b(?:in|im|at|bei|beim|for|für|of|en|au|aux|chez|pour|para|de|del|du|von|vom)"
    r"(?: (?:the|der|dem|den|das|el|la|los|las|le|les))?\s*$",
    re.IGNORECASE,
)
"""Stands before a name that may only be where something was: "in March the highest order was 120"."""
CJK_FUNCTION = re.compile(
    r"达到|大约|总计|合计|一共|共计|拥有|录得|实现|[的是为為达在于以约共了有和]|"
    r"でした|です|ます|である|であり|だった|および|およそ|合計|[がのはでにとも、だてし約]|"
    r"地区|区域|大区|门店|店铺|产品|商品|品类|类别|月份|季度|年份|城市|客户|渠道|部门|员工|国家|省份|团队|"
    r"地域|店舗|製品|四半期|都市|顧客|支店|[月年国]|[件个笔人名辆台单次家点個台円元]"
)
"""Chinese and Japanese words that narrow nothing, and words for what rows are of."""

NUMBER_OF = re.compile(
    r"\s*(?:(?:number|amount|count|anzahl|zahl|nombre|número|cantidad)\s+(?:of|an|von|der|de)\s+|d['’]|"
    r"(?:war|ist|lag|liegt|waren|sind|lagen)\s+(?:der|die|das)\s+)?",
    re.IGNORECASE,
)
"""Between a word that ranks and its measure: "the highest number of orders", "am höchsten war der Umsatz"."""
PREDICATE = re.compile(r"\s*(?:[，。、；,;（(]|的?[是为為达]|[のはでと]|$|[\s\d])")
"""Behind a Chinese or Japanese word that ranks what was said before it, not the noun that follows."""

_BAD = """
cost expense churn delay error defect loss complaint return refund cancel bounce latenc duration wait debt risk fail
incident downtime missing bug ticket rmse mae mape std deviation variance absen accident emission overdue backlog
unemploy mortal death deficit discount spend time hour minute second day late age price
kosten ausgabe verlust fehler verspät dauer zeit beschwerde reklam retoure storno rückgabe ausfall abwander kündig
krank mangel mängel rabatt schuld preis
coste gasto pérdida retraso duración queja devoluc demora tiempo precio abandono
coût perte retard erreur durée délai plainte retour dépense prix
"""
BAD = tuple(_BAD.split())
"""Beginnings of names of measures of which less may be better."""
CJK_BAD = re.compile(
    r"成本|费用|流失|延误|延迟|错误|退货|投诉|亏损|时长|时间|天数|故障|缺陷|支出|价格|"
    r"費用|損失|遅|返品|苦情|解約|離脱|時間|経費|コスト|価格"
)
RANKED = frozenset("rank ranking position place rang platz rango puesto 排名 名次 順位 index id percentile".split())
"""Columns that hold places themselves: the highest is 1."""
CUT = frozenset("top head first largest biggest highest sample excerpt beste größte auszug erste 前".split())
"""Words above a table that may hold only some of the rows."""
ASIDE = frozenset(
    map(
        stem,
        "other others rest unknown none nan na null blank misc unassigned undefined sonstige sonstiges übrige "
        "unbekannt otros otras resto desconocido autre autres reste inconnu average mean median total all sum overall "
        "gesamt insgesamt durchschnitt summe ensemble world eu".split(),
    )
)
CJK_ASIDE = re.compile(r"其他|其它|其余|未知|合计|总计|小计|平均|全体|その他|不明|合計|全国|全社")
"""Rows that a report does not rank among the others."""
