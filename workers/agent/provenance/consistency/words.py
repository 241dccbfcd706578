"""Words of tables and sentences, in six languages: totals, parts, and measures that do not add up."""

from __future__ import annotations

import re

TOTAL_ROW = re.compile(
    r"(?:the |le |el |la )?(?:grand[- ]?total|total(?:s|e|es)?|totaux|sum|summe|gesamt(?:summe)?|insgesamt|"
    r"in all|all together|total g[ée]n[ée]ral|suma|somme|overall total|"
    r"合計|総計|计|总计|合计|總計|合計額|全体合計)",
    re.IGNORECASE,
)
"""The whole name of a row of totals."""
LIKE_TOTAL = re.compile(
    r"\b(?:(?:sub|grand|zwischen|sous-?)?[- ]?(?:total\w*|totaux|sum(?:me)?|gesamt\w*|insgesamt|subtotal\w*|"
    r"somme|suma|overall|all|alle|tous|toutes|todos|todas|ensemble|together|zusammen|combined|conjunto|both|beide))\b|"
    r"合計|総計|小計|全体|总|合计|小计|全部|共",
    re.IGNORECASE,
)
"""Words of rows that hold others."""
NO_ADDEND = re.compile(
    r"\b(?:averages?|avg|means?|medians?|min|max|minimum|maximum|std|range|change|diff\w*|delta|growth|of which|"
    r"thereof|incl\w*|including|davon|darunter|dont|y compris|de los cuales|de las cuales|incluid\w*|"
    r"durchschnitt\w*|mittel\w*|schnitt|veränderung|differenz|moyennes?|médianes?|écart|variation|promedio|media|"
    r"mediana|cambio|diferencia|variaci[oó]n|ratio|share|anteil|part|cuota|target|plan|budget|ziel|soll)\b|"
    r"平均|中央値|中位|うち|其中|变化|変化|差|增长|増減|目標|目标|予算|预算|[%％Δ]|^\W*(?:[-–—└├↳>·•…]|…)|^\s*\.\.\.",
    re.IGNORECASE,
)
"""Names of rows that are no part of a sum."""
OTHERS = re.compile(
    r"\b(?:others?|rest|remaining|all other|sonstige\w*|übrige\w*|andere\w*|autres?|reste|restantes?|otr[oa]s|resto)\b|"
    r"その他|其他|其余|残り",
    re.IGNORECASE,
)
"""The row that makes a table whole."""
PARTIAL = re.compile(
    r"\b(?:top|first|largest|biggest|highest|lowest|smallest|leading|most|selected|excerpts?|examples?|sample|main|"
    r"key|major|only|shown|without|excluding|excluded|excl|except|not (?:shown|listed|included)|at least|"
    r"größte\w*|wichtigste\w*|ausgewählte?\w*|auswahl|auszug|beispiel\w*|nur|höchste\w*|niedrigste\w*|ohne|"
    r"mindestens|stärkste\w*|"
    r"principales?|premi[eè]re?s?|plus (?:grand|gros|élevé)\w*|exemples?|extrait|seulement|sans|hors|au moins|"
    r"primer[oa]s?|mayores|mayor|selecci\w*|ejemplos?|solo|sólo|sin|excepto|al menos|"
    r"overlap\w*|several|multiple|more than one|twice|mehrfach|mehrere\w*|doppelt|plusieurs|varios|varias)\b|"
    r"上位|トップ|主な|抜粋|のみ|以外|除|重複|前\s?\d|最大|最高|主要|部分|仅|例|重复",
    re.IGNORECASE,
)
"""Words near a table that may be a part of something, or whose rows may overlap."""
NO_SUM = re.compile(
    r"\b(?:averages?|avg|mean|medians?|min|max|per|rates?|ratio|quote|quota|ranks?|rang|price|prices|index|score|rating|"
    r"unique|distinct|p\d\d|q[1-4]|quartile|std|sd|se|ci|corr\w*|share|percent\w*|pct|change|growth|"
    r"cumul\w*|kumul\w*|running|balance|stock|cap|age|"
    r"durchschnitt\w*|mittel\w*|ø|je|pro|preis\w*|anteil\w*|satz|schnitt|bestand|alter|veränderung|wachstum|"
    r"moyen\w*|taux|prix|part|par|âge|évolution|variation|cumulé\w*|solde|"
    r"promedio|media|mediana|tasa|precio|cuota|por|edad|variaci[oó]n|acumulad\w*|saldo|"
    r"n[or]?\.?|id|year|jahr|année|año|month|day)\b|[ø∅#]|/|"
    r"平均|中央値|中位|率|比|順位|排名|価格|单价|単価|価|均|累|占|年|ユニーク|去重",
    re.IGNORECASE,
)
"""Headings of columns that do not add up."""
