"""How people name rows, units and periods in a sentence, as a model behind an endpoint wrote it, in six languages.

Each true report has a twin with a wrong figure, which is still found.
"""

from __future__ import annotations

import pytest
from provenance_kit import shown, states

from core.steps import CellRan

COMPLAINTS = """\
                               commentaires  part des commentaires %
Livraison (délai, colis)                 86                     23.6
Produit non conforme ou abîmé            51                     14.0
Prix                                     50                     13.7
Mitigé (bof, qualité moyenne)            46                     12.6"""
PLATFORMS = "            p\nAndroid 0.001\niOS     0.038\nWeb     0.477"
LABEL = "Promoteurs avec commentaire, part de plaintes nettes %: 63.5 détracteurs, part de plaintes nettes %: 51.8"
REVENUE = """\
Net revenue (gross minus returns), k EUR
          2023 k EUR  2024 k EUR  change k EUR  change %
Region
EMEA         50139.4     53169.8        3030.4       6.0
Americas     36634.6     37794.8        1160.2       3.2
Total        86774.0     90964.6        4190.6       4.8"""
INTERVAL = "全部用户转化率: 对照组 7.61 %, 实验组 9.16 %, 差值 1.55 个百分点, 95%区间 0.40 至 2.69 个百分点, p = 0.0082"
ONE_ROW = "      差值 个百分点  下限 个百分点  上限 个百分点\n全部用户     1.55      0.4     2.69"
TIERS = """\
                  closed  within SLA  within SLA, closed only %  open past SLA
Both tiers P1      184.0       149.0                       81.0           12.0
           P2      347.0       280.0                       80.7           23.0
Tier 1     P1-P3   452.0       375.0                       83.0           31.0
Tier 2     P1-P3   226.0       186.0                       82.3           15.0"""
MONTHS = """\
Within SLA by month opened, %
tier     Tier 1  Tier 2
month
2024-08    77.6    82.2
2024-09    77.2    73.8
2024-10    78.1    76.1"""
FAILED = """\
            requests  errors  rate_pct
day
2025-09-17       161      14      8.70
2025-09-18       179      22     12.29
2025-09-24       148       2      1.35"""
LATENCY = "page       p95_ms_median  calls\n/checkout         1390.5   1200\n/cart              410.2   3100"
CLICKS = """\
EUR je Klick
         Online-Shop  Marketplace  Partner
2026-03        0.481        1.702    1.111
2026-04        1.704        1.596    1.812"""
RISK = """\
 account_id plan / channel  MRR USD  days active  risk 2025Q1 %
        182    Basic / ads     19.0          135          37.74
        623     Team / ads     29.0          146          36.97"""
DUE = "     EUR  EUR %\n31-60    120   31.47\n>90      240   49.43\nGesamt   360   53.16"
WIDE = "           客户数 变化（%）\nSchweiz    119   12.0\nPolen       88    7.5"
ORDERS = "         2025  2026\nSchweiz   172   192\nPolen     310   290\nItalien   120   145"


@pytest.mark.parametrize(
    ("output", "true", "wrong"),
    [
        (COMPLAINTS, "La première plainte porte sur la livraison (86 commentaires, soit 23,6 %), devant le prix (50).",
         "La première plainte porte sur la livraison (51 commentaires, soit 23,6 %), devant le prix (50)."),
        (COMPLAINTS, "S'y ajoutent 46 avis mitigés (« Prix correct, qualité moyenne »).",
         "S'y ajoutent 51 avis mitigés (« Prix correct, qualité moyenne »)."),
        (PLATFORMS, "La caída es clara en Android (p = 0,001) y menos segura en iOS (p = 0,038).",
         "La caída es clara en Android (p = 0,001) y menos segura en iOS (p = 0,477)."),
        (LABEL, "Les promoteurs se plaignent plus souvent (63,5 % de plaintes nettes).",
         "Les promoteurs se plaignent plus souvent (65,3 % de plaintes nettes)."),
        (REVENUE, "Net revenue rose 4.8 % in 2024, from 86,774.0 to 90,964.6 k EUR.",
         "Net revenue rose 4.8 % in 2024, from 50,139.4 to 90,964.6 EUR."),
        (INTERVAL, "差值 1.55 个百分点（95%区间 0.40 至 2.69 个百分点）。",
         "差值 1.55 个百分点（95%区间 0.80 至 2.69 个百分点）。"),
        (ONE_ROW, "95%区间的下限 0.40 个百分点，上限 2.69 个百分点。", "95%区间的下限 0.40 元，上限 2.69 元。"),
        (TIERS, "The tiers are close: 83.0 % in Tier 1 and 82.3 % in Tier 2. Tier 1 has 31 open past SLA.",
         "The tiers are close: 82.3 % in Tier 1 and 83.0 % in Tier 2. Tier 1 has 31 open past SLA."),
        (MONTHS, "## August to October 2024\n\nTier 1 stayed between 77.2 % and 78.1 %.",
         "## August 2024\n\nTier 1 stayed at 77.2 %."),
        (DUE, "Gut die Hälfte (53,16 %) des Betrags wurde nicht gemahnt.",
         "Gut die Hälfte (53,61 %) des Betrags wurde nicht gemahnt."),
        (RISK, "By risk Basic / ads leads with 37.74 %.", "By risk Basic / ads leads with 36.97 %."),
        (WIDE, "瑞士（Schweiz）增幅最大（+12.0 %）。", "瑞士（Schweiz）增幅最大（+7.5 %）。"),
        (CLICKS,
         "Zwischen 0,481 EUR je Klick (Online-Shop, März 2026) und 1,596 EUR je Klick (Marketplace, April 2026).",
         "Zwischen 0,481 EUR je Klick (Marketplace, April 2026) und 1,596 EUR je Klick (Online-Shop, März 2026)."),
        (FAILED, "8.70 % failed on 17 September (14 errors), and 12.29 % on 18 September (22 errors).",
         "12.29 % failed on 17 September (14 errors), and 8.70 % on 18 September (22 errors)."),
        (FAILED, "On 17 and 18 September 8.70 % and 12.29 % failed.",
         "On 17 and 18 September 8.70 % and 13.29 % failed."),
        ("pente de la note par absence, points: -0.479", "C'est 0,48 point de moins par absence.",
         "C'est 0,48 point de plus par absence."),
        ("horas de retraso frente a los demás: -3.04", "Tarda 3,04 horas menos que los demás.",
         "Tarda 3,04 horas más que los demás."),
        ("ward A and others: rates % 13.04 7.15\ncount 12 40", "A 13.04 %, against 7.15 % in the others.",
         "A 13.04 %, against 7.51 % in the others."),
        ("raw gap mean % (women below men) 5.17 EUR 3191", "Women earn 5.17 % less (3,191 €).",
         "Women earn 5.71 % less (3,191 €)."),
        ("Support: overtime mean h 11.1 others 6.32\nFinance  11.1\nSupport  14.2\nSales     7.0",
         "Support has a mean overtime of 11.1 h.", "Support has a mean overtime of 12.1 h."),
        (LATENCY, "/checkout has a p95 of 1,390.5 ms.", "/checkout has a p95 of 1,390.5 s."),
        ("TV ROAS 1.23\nnon-TV ROAS 3.775", "Without TV it is 3.78 € per €.", "Without TV it is 3.87 € per €."),
        (ORDERS, "In Schweiz orders rose from 172 to 192; the franc lost value against the average of 2025.",
         "In Schweiz orders rose from 310 to 192; the franc lost value against the average of 2025."),
        ("days overdue min, max: -30 665\nrows: 412 12", "Invoices are up to 665 days overdue.",
         "Invoices are up to 656 days overdue."),
        ("wrong imports 03.2026: 59 orders", "En mars 2026, 59 commandes.", "En mai 2026, 59 commandes."),
    ],
)  # fmt: skip
def test_a_true_figure_is_found_and_its_wrong_twin_is_not(output: str, true: str, wrong: str) -> None:
    assert "unsourced" not in states(true, output).values(), states(true, output)
    assert "unsourced" in states(wrong, output).values(), states(wrong, output)


def test_a_warmer_place_is_not_the_first_of_two_names_in_order() -> None:
    output = "倉庫B - 倉庫A の差(℃): {'7月': 1.51}\n倉庫A 最大変化 1.5 ℃\n倉庫B 最高 30.4 ℃"
    found = states("倉庫Bは倉庫Aより 1.5 ℃高く、最高は 30.4 ℃です。", output)
    assert found == {"1.5": "sourced", "30.4": "sourced"}


def test_days_behind_their_month_are_no_figures() -> None:
    output = "rows 4030\nlast 2024-07-28 23:50"
    assert "31" not in states("記録は7月28日までで、29日から31日のデータはありません。", output)
    assert states("欠測は31日間です。", output) == {"31": "unsourced"}


def test_a_limit_that_the_question_gave_is_found_beside_an_equal_count() -> None:
    output = "      low  open\nTier   11     8\nDesk   40     9\n     P1  SLA h  met\nP1  137      8   92\n"
    report = "| Tier | priority | SLA h |\n|---|---|---|\n| Tier | P1 | 8 |\n"
    assert states(report, output, question="Are we within SLA (P1 8h, P2 24h)?") == {"8": "given"}


QUERY = (
    "query('''select count(*) from orders where day between date '2026-08-03' and date '2026-10-31' "
    "and age > interval '90 days' and state not in (80, '99') ''', source='erp')"
)


def queried(**fields: object) -> CellRan:
    return shown("active 1636", code=QUERY, **fields)


def test_the_days_and_spans_of_a_statement_are_given() -> None:
    report = "截至2026年10月31日的90天内（8月3日至10月31日）共 1636 个。"
    assert states(report, queried()) == {
        "2026年10月31日": "given", "90天": "given", "8月3日": "given", "10月31日": "given", "1636": "sourced",
    }  # fmt: skip
    assert states("Valid: not 80, 99 or 98.", queried()) == {"80": "given", "99": "given", "98": "unsourced"}
    assert states("Until 30 October 2026 there were 1,636.", queried())["30 October 2026"] == "unsourced"


def test_a_limit_that_an_error_named_is_given() -> None:
    error = "Traceback\nRequestRefused: The result has more than the 50,000 rows that the source allows."
    ran = queried(status="error", error=error)
    assert states("The source gives at most 50,000 rows at once, not 60,000.", ran) == {
        "50,000": "given", "60,000": "unsourced",
    }  # fmt: skip


def test_a_label_and_a_date_at_one_place_are_sorted() -> None:
    output = (
        "        2024-03  2024-04\nA             12       15\nB             13       17\n"
        "2024 03: 12 pieces\n2024 04: 15 pieces\n"
    )
    assert "unsourced" not in states("In 2024-03 A had 12.", output).values()
