"""How a follow-up changes what was asked before: "by region", "only 2023", "is the difference significant?"."""

from __future__ import annotations

import re
from dataclasses import replace

from workers.offline.intent.fresh import default_breakdowns, merged, ranks_from_below, refers_back, usual
from workers.offline.intent.hearing import Heard
from workers.offline.lexicon import has, lexicon
from workers.offline.values import Analysis, AnalysisKind, Intent, Join

_WHOLE_QUESTION = re.compile(
    r"(?:how (?:many|much|did|do|does|have|has)|which|who|why|what(?! about| if))\b"
    r"|.*(?:哪|谁|为什么|为何|多少|是否)(?!.*呢)",
    re.I,
)
_WEAK = {"breakdown", "total", "profile"}


def is_whole_question(text: str) -> bool:
    """True for a text that asks with a question word of its own."""
    return bool(_WHOLE_QUESTION.match(text.strip()))


def followed(previous: Intent, heard: Heard, frame: Join) -> Intent | None:
    """The earlier intent with what the follow-up changes; None when the text is a question of its own."""
    if tested := _tested(previous, heard):
        return tested
    if heard.target and previous.measure and not previous.target and "compare" in heard.kinds and not heard.measures:
        sides = (Analysis("compare", (heard.target.name,)),)  # "what about churners against the rest?"
        filters = merged(previous.filters, heard.filters)
        return replace(previous, analyses=sides, filters=filters, chart=None, top=None, tested=heard.tested)
    named = heard.filters or heard.groups or heard.measures or heard.frequency or heard.chart or heard.top
    demanded = heard.aggregate or heard.refunds is not None or any(each.demanded for each in heard.unplaced)
    if _stands_alone(previous, heard) or not (named or demanded or has("reset", heard.text)):
        return None
    if previous.target and heard.measures:  # a yes-no question by a number: by bands of it
        banded = tuple(f"~{column.name}" for column in heard.measures)
        heard = replace(heard, groups=(*heard.groups, *banded), measures=())
    if heard.target:  # a yes-no column to group by
        heard = replace(heard, groups=(*heard.groups, heard.target.name), target=None)
    analyses = _analyses(previous, heard, frame)
    measure = heard.measures[0] if heard.measures else None
    kept = () if has("reset", heard.text) else tuple(f for f in previous.filters if f.column not in heard.groups)
    return replace(
        previous,
        analyses=analyses,
        measure=measure.name if measure else previous.measure,
        aggregate=heard.aggregate or (usual(measure) if measure else previous.aggregate),
        frequency=heard.frequency or previous.frequency,
        filters=merged(kept, heard.filters),
        top=heard.top or (None if heard.groups else previous.top),
        ascending=ranks_from_below(heard.text) or (previous.ascending and not heard.top),
        chart=heard.chart or (previous.chart if not heard.groups and not heard.frequency else None),
        no_refunds=previous.no_refunds if heard.refunds is None else heard.refunds,
        by_drivers=previous.by_drivers and analyses == previous.analyses,
        anomalies=False,
        beyond=False,
        tested=heard.tested,
        peak=heard.peak,
        focus="",
        assumed=measure is None and (heard.aggregate or previous.aggregate) != "count" and not previous.target,
        saved=False,
        widened=(),
        period=previous.period if any(each.kind == "change" for each in analyses) else "",
        lacks="",
    )


def _tested(previous: Intent, heard: Heard) -> Intent | None:
    """The groups of before, compared with a test: what "is the difference significant?" asks of them."""
    own = heard.groups or heard.measures or heard.target or heard.about_refunds or heard.dates
    if not heard.tested or own or set(heard.kinds) - {"compare", *_WEAK}:
        return None
    if previous.target:
        groups = _of_kind(previous, "breakdown")
        return replace(previous, analyses=groups, tested=True) if groups else None
    grouped = [each.by for each in _of_kind(previous, "breakdown", "compare", "trend", "change") if each.by]
    if not grouped and previous.date and "trend" in previous.kinds:
        grouped = [("@year",)]
    if not grouped:
        return None
    kind: AnalysisKind = "breakdown" if previous.aggregate == "count" or previous.measure is None else "compare"
    filters = merged(previous.filters, heard.filters)
    analyses = tuple(Analysis(kind, by) for by in dict.fromkeys(grouped))
    plain = replace(previous, chart=None, top=None, anomalies=False, peak=False, focus="", period="")
    return replace(plain, analyses=analyses, filters=filters, tested=True)


def _stands_alone(previous: Intent, heard: Heard) -> bool:
    """True when the text asks for something of its own, whatever was asked before."""
    strong = [kind for kind in heard.kinds if kind not in _WEAK]
    if heard.frequency and strong == ["trend"]:  # "monthly instead"
        strong = []
    unrelated = previous.kinds <= {"predict", "correlate", "profile"}
    by_target = heard.target and previous.analyses and not previous.target and has("asks_each", heard.text)
    return bool(
        strong
        or heard.lacks_date
        or heard.rows
        or (heard.target and not (by_target and not is_whole_question(heard.text)))
        or heard.about_refunds
        or "profile" in heard.kinds
        or heard.versus
        or len(heard.measures) > 1
        or (heard.measures and not heard.groups and "total" in heard.kinds)
        or (heard.measures and previous.target and heard.aggregate)
        or (heard.measures and heard.groups)
        or ((heard.measures or heard.aggregate) and unrelated and not previous.target)
        or (is_whole_question(heard.text) and not refers_back(heard.text))
    )


def _analyses(previous: Intent, heard: Heard, frame: Join) -> tuple[Analysis, ...]:
    kinds = previous.kinds
    if heard.groups:
        ranked = heard.top or heard.chart in ("bar", "pie") or is_whole_question(heard.text)
        over_time = previous.date and (heard.frequency or (kinds <= {"trend", "forecast"} and not ranked))
        compared = "compare" in kinds and not heard.top and not heard.chart
        kind: AnalysisKind = "compare" if compared else "trend" if over_time else "breakdown"
        return tuple(
            Analysis("breakdown" if group in lexicon()["parts_of_dates"] else kind, (group,)) for group in heard.groups
        )
    if heard.aggregate and kinds == {"distribution"}:
        return (Analysis("total"),)
    if heard.frequency and previous.date:
        return _of_kind(previous, "trend", "forecast") or (Analysis("trend"),)
    grouped = tuple(Analysis("breakdown", each.by) for each in previous.analyses if each.by)
    if heard.top or heard.chart == "pie":
        return tuple(dict.fromkeys(grouped)) or default_breakdowns(frame)[:1] or previous.analyses
    if heard.chart:  # a comparison drawn as bars is a breakdown of the means
        drawn = _of_kind(previous, "trend", "breakdown", "compare") or previous.analyses
        return tuple(replace(each, kind="breakdown") if each.kind == "compare" else each for each in drawn)
    return previous.analyses


def _of_kind(previous: Intent, *kinds: AnalysisKind) -> tuple[Analysis, ...]:
    return tuple(analysis for analysis in previous.analyses if analysis.kind in kinds)
