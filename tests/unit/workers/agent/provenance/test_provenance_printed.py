"""What models print and then tell, as a model behind an endpoint did it: titles, lines as long as rows, brackets."""

from __future__ import annotations

from provenance_kit import asked, first, shown, states, traced

from core.steps import Asked
from workers.agent.provenance import facts_of, trace

TABLES = """\
web Desks by region
            before      after    change  growth %  part of change %
region
West      80505.88   41818.20 -38687.68    -48.06             66.89
East      43965.60   30840.38 -13125.22    -29.85             22.69
(total)  233179.43  175337.42 -57842.01    -24.81            100.00
web by region
            before      after    change  growth %  part of change %
region
West     118808.52   81183.52 -37625.00    -31.67            100.99
East      66243.68   58963.55  -7280.13    -10.99             19.54
(total)  369667.93  332410.48 -37257.45    -10.08            100.00"""
PADDED = "\n".join(line.ljust(66) if line == "region" else line for line in TABLES.splitlines())


def test_two_tables_of_one_width_with_a_title_between_are_two() -> None:
    for text in (TABLES, PADDED):
        told = states("West's Desks fell from 80,505.88 to 41,818.20; East's web sales were 66,243.68 before.", text)
        assert set(told.values()) == {"sourced"}
        assert states("East's web sales were 118,808.52 before.", text)["118,808.52"] == "unsourced"


def test_a_heading_of_several_words_above_short_figures_is_one_heading() -> None:
    assert states("West is 66.89 % of the change.", TABLES)["66.89 %"] == "sourced"
    assert states("East is 66.89 % of the change.", TABLES)["66.89 %"] == "unsourced"


PENALTIES = """\
          Q1 late  Q1 penalty EUR  April late  April penalty EUR  April penalty before EUR
Carrier                                                                                   
TransAlp       58            2320          17                680                       800
Baltic         66            1320          12                240                       260"""


def test_headings_of_several_words_are_read_whole_where_some_have_digits() -> None:
    places = [first(f"TransAlp: {figure}.", PENALTIES).places[0].about for figure in ("58", "680 EUR", "800 EUR")]
    assert places == ["TransAlp · Q1 late", "TransAlp · April penalty EUR", "TransAlp · April penalty before EUR"]


def test_a_title_with_a_percent_sign_says_what_its_table_shows() -> None:
    table = "churn % by support\nservice        No   Yes\nDSL          39.8  28.9\nFiber optic  63.2  54.9"
    assert states("Fiber without support: 63.2 % churn.", table)["63.2 %"] == "sourced"
    no_title = table.replace("churn % by support", "customers by support, 4 % sampled")
    assert states("Fiber without support: 63.2 % churn.", no_title)["63.2 %"] == "unsourced"


def test_the_name_of_a_mapping_with_a_percent_sign_says_what_it_holds() -> None:
    months = "unresolved % by month {'2025-01': 3.71, '2025-02': 3.51, '2025-03': 4.76}"
    told = states("About equally many stay unresolved (3.51 % to 4.76 %).", months)
    assert set(told.values()) == {"sourced"}
    plain = months.replace("%", "days")
    assert states("Unresolved: 3.51 % to 4.76 %.", plain)["4.76 %"] == "unsourced"


RANKED = """\
                Rang_offen  Rang_Betrag  Rang_Tage_max  Rang_Tage_gew
Kunde                                                                
Kunde Fink               1            1              1              3
Kunde Gruber             9            9              3              1
Kunde Igel              10           10              4              9
Anteil der ersten drei am überfälligen Betrag % 41.4 | Summe 85820.71"""


def test_a_sentence_as_long_as_a_row_is_no_row() -> None:
    told = states("Die drei halten 41,4 % des Betrags, zusammen 85.820,71.", RANKED)
    assert set(told.values()) == {"sourced"}
    assert states("Kunde Igel ist auf Rang_Betrag 10, Kunde Fink auf 1.", RANKED)["10"] == "sourced"


CUSTOMERS = """\
                 n  overdue  days
Customer
Customer Fink   10  33373.2   174
Customer Young  12  23521.1   172
Customer Huber   6  13554.0   167
→ Customer Fink: 33373.2, Customer Huber: 13554.0"""


def test_names_that_all_begin_alike_are_read_whole() -> None:
    told = states(
        "The oldest are of Customer Fink (174 days), Customer Young (172) and Customer Huber (167).", CUSTOMERS
    )
    assert set(told.values()) == {"sourced"}
    assert states("Customer Fink's oldest is 172 days old.", CUSTOMERS)["172 days"] == "unsourced"
    assert states("Customer Huber has young debts: 13,554.0 in all.", CUSTOMERS)["13,554.0"] == "sourced"


def test_a_bracket_behind_a_figure_is_of_the_same_thing() -> None:
    table = "quarter  orders       eur\nQ1           30  80505.88\nQ2           18  41818.20"
    told = states("Desks: from 80,505.88 EUR (30 orders) in Q1 to 41,818.20 EUR (18 orders) in Q2.", table)
    assert set(told.values()) == {"sourced"}
    wrong = states("Desks: from 80,505.88 EUR (18 orders) in Q1 to 41,818.20 EUR (30 orders) in Q2.", table)
    assert wrong["18"] == wrong["30"] == "unsourced"


def test_in_a_bracket_a_figure_behind_against_is_of_the_other_one() -> None:
    line = "revenue per buyer {'A': {'size': 574, 'mean': 46.11}, 'B': {'size': 633, 'mean': 43.52}}"
    assert set(states("Buyers spend less with B (43.52 against 46.11).", line).values()) == {"sourced"}


def test_lines_that_begin_with_one_name_may_go_on() -> None:
    lines = "Tech: median % 65.5 | p95 % 82.6\nTech created per month: Jan-May 487.8 Jun-Sep 506.5"
    assert states("Tech got 487.8 tickets per month in Jan-May.", lines)["487.8"] == "sourced"
    assert states("Tech got 487.8 [=1:487.8] tickets per month in Jan-May.", lines)["487.8"] == "sourced"


def test_in_english_a_month_behind_a_full_stop_begins_a_sentence() -> None:
    lines = "quarter orders\nQ1 30\nQ2 18\nby month {'2025-03': 16, '2025-04': 7}"
    assert states("Q2 had 18. March was high with 16 orders.", lines) == {
        "Q2": "sourced",
        "18": "sourced",
        "16": "sourced",
    }
    assert states("On 18. March 2025 there were 16.", lines)["18. March 2025"] == "unsourced"


def test_a_loss_may_be_repeated_without_its_sign() -> None:
    table = "channel  change\nweb  -37625.0\npartner  -21991.5"
    report = "Partner lost 21,991.50 EUR. April was strong, so the quarter shows only 21,991.50 EUR of it."
    assert set(states(report, table).values()) == {"sourced"}
    assert states("The quarter shows 21,991.50 EUR of it.", table)["21,991.50 EUR"] == "unsourced"
    risen = "Partner lost 21,991.50 EUR. It rose by 21,991.50 EUR."
    assert states(risen, table)["21,991.50 EUR"] == "unsourced"


def test_points_below_one_are_found_in_a_column_of_points() -> None:
    table = "segment  diff pp      p\nFR         1.506  0.099\nUS         0.760  0.423"
    assert states("US is ahead by +0.760 pp.", table)["+0.760 pp"] == "sourced"
    assert states("US is ahead by +0.423 pp.", table)["+0.423 pp"] == "unsourced"


def test_a_bound_in_the_name_of_a_group_is_no_figure() -> None:
    table = "days      1-30     31-60\nFink   7531.74  10604.74\nHuber  19723.95  4206.95"
    assert states("Huber: 19,723.95 are only 1-30 days overdue.", table)["19,723.95"] == "sourced"
    assert "unsourced" not in states("Huber: 19,723.95 are only 1-30 days overdue.", table).values()
    assert states("Huber: 19,723.95 are only 1-35 days overdue.", table)["35 days"] == "unsourced"


REFUNDS = """\
shipped less refunds, EUR
             Q1       Q2    change
East    5179.89   591.00  -4588.89
West    9448.33  4521.46  -4926.87"""


def test_a_table_of_an_earlier_question_stands_if_the_sentence_names_its_title() -> None:
    now = REFUNDS.replace("less refunds", "only").replace("4521.46  -4926.87", "3973.69  -5474.64")
    earlier = (asked(), shown(REFUNDS))
    named = traced("After subtracting refunds, West's change was -4,926.87 EUR.", now, earlier=earlier)
    assert not named.unsourced
    nameless = traced("West's change was -4,926.87 EUR.", now, earlier=earlier)
    assert [one.reason for one in nameless.unsourced] == ["earlier"]


def test_the_bounds_of_a_difference_in_points_may_be_printed_as_fractions() -> None:
    printed = "difference           0.387332\ndifference low       0.369675\ndifference high      0.404619"
    report = "A difference of 38.7 percentage points (95 % interval 37.0 to 40.5)."
    assert "unsourced" not in states(report, printed).values()
    assert states(report.replace("40.5", "41.5"), printed)["41.5"] == "unsourced"
    assert states("A difference of 38.7 days (37.0 to 40.5).", printed)["37.0"] == "unsourced"


def test_a_value_that_is_printed_just_so_is_not_taken_for_a_rounded_one_of_another_row() -> None:
    printed = """\
           alone  without
service   0.6377   0.8094
contract  0.7568   0.8216
Spearman contract vs tenure -0.638"""
    assert states("Contracts are of new customers (Spearman with tenure -0.638).", printed)["-0.638"] == "sourced"
    assert states("Contract alone reaches 0.638.", printed)["0.638"] == "unsourced"


def test_a_month_between_the_first_and_the_last_day_of_the_data_is_known() -> None:
    printed = "300 rows, 2024-01-02 to 2025-10-27\nValencia 31071.66 47752.86"
    assert "unsourced" not in states("Valencia sold 31,071.66 in January to October 2024.", printed).values()
    assert states("Valencia sold 31,071.66 in November 2025.", printed)["November 2025"] == "unsourced"
    assert states("Valencia sold 31,071.66 in Q3 2023.", printed)["Q3 2023"] == "unsourced"


def test_few_digits_that_are_printed_just_so_beside_the_words_of_the_sentence_count() -> None:
    printed = """\
trial after signup | days between, median and p95 [0.59, 2.51, 5.55]
         rate before  rate after
desktop        0.561       0.589
mobile         0.572       0.402"""
    assert states("On mobile, trials follow signups by a median of 0.59 days.", printed)["0.59 days"] == "sourced"
    assert states("On mobile the rate is 0.59.", printed)["0.59"] == "unsourced"


UNITS = """\
             before    after   change  growth %  part of change %
Shoes        299.00   504.00   205.00     68.56             56.47
Clothes      281.00   346.00    65.00     23.13             43.53"""
EUROS = """\
             before    after   change  growth %  part of change %
Shoes        597.82   657.64    59.82     10.01            150.69
Clothes      508.58   488.45   -20.13     -3.96            -50.69"""


def test_a_change_beside_a_column_of_percentages_is_an_amount() -> None:
    assert states("Clothes fell by 20.13 EUR.", EUROS)["20.13 EUR"] == "sourced"
    assert states("Clothes fell by 20.13 %.", EUROS)["20.13 %"] == "unsourced"


def test_a_value_of_an_earlier_question_stands_beside_the_new_one() -> None:
    earlier = (asked(), shown(EUROS))
    both = "Shoes are 56.47 % of the change in units; in euros they weighed more (150.69 %)."
    assert not traced(both, UNITS, earlier=earlier).unsourced
    assert traced("Shoes are 150.69 % of the change.", UNITS, earlier=earlier).unsourced


def test_the_level_of_an_interval_is_no_unit_of_its_bounds() -> None:
    printed = """\
                   estimate  low 95 %  high 95 %
purchases missing      71.0      56.0       89.0
trials missing        311.0     261.0      370.0"""
    assert "unsourced" not in states("About 71 purchases are missing (95 % interval 56 to 89).", printed).values()
    assert states("About 89 % of purchases are missing.", printed)["89 %"] == "unsourced"


GAP = """\
by Gender
          n  mean_as_paid
Gender
F       508       57610.0
M       692       61512.0
gap men minus women
              gap GBP  gap % of men
mean_as_paid  3902.03          6.34
mean_full     4165.56          6.33
women against men, salary at full time
                             women GBP    low GBP  high GBP    p
+ level, department          -1185.332  -1746.089  -624.575  0.0
+ level, department, tenure  -1011.277  -1528.006  -494.549  0.0
→ left 1,011 GBP
terms
does it differ by C(level) p 0.803
does it differ by C(department) p 0.46
does it differ by tenure p 0.107"""


def test_a_title_below_a_table_is_no_row_of_it() -> None:
    assert states("The gap is 3,902.03 GBP as paid.", GAP)["3,902.03 GBP"] == "sourced"
    assert states("The gap is 4,165.56 GBP as paid.", GAP)["4,165.56 GBP"] == "sourced"


def test_a_name_of_one_letter_behind_a_count_is_no_scale() -> None:
    assert states("There are 508 F, 692 M.", GAP) == {"508": "sourced", "692": "sourced"}
    assert states("Revenue is 692 M.", "revenue 692000000") == {"692 M": "sourced"}


def test_the_bounds_behind_a_loss_may_go_without_their_signs_too() -> None:
    report = "At equal level, department and tenure 1,011 GBP are left (95 % interval 495 to 1,528 GBP)."
    assert "unsourced" not in states(report, GAP).values()
    other = states(report.replace("495 to 1,528", "625 to 1,746"), GAP)
    assert other["625"] == other["1,746 GBP"] == "unsourced"


def test_a_p_that_is_printed_as_zero_is_below_any_level() -> None:
    assert states("It is not chance (p below 0.001).", GAP)["0.001"] == "sourced"
    assert states("The rate is below 0.001.", GAP.replace(" p", " q"))["0.001"] == "unsourced"


def test_a_term_of_a_formula_is_known_by_the_name_of_its_column() -> None:
    told = states("Nothing differs by level (p = 0.803), department (p = 0.46) or tenure (p = 0.107).", GAP)
    assert set(told.values()) == {"sourced"}
    assert states("It does not differ by level (p = 0.46).", GAP)["0.46"] == "unsourced"


def test_the_second_of_two_figures_may_be_the_one_after() -> None:
    table = "          count   50%    95%\nafter    9935.0  89.0  242.0\nbefore  17352.0  90.0  242.5"
    assert set(states("Requests are as fast as before (90 ms and 89 ms).", table).values()) == {"sourced"}
    assert states("Before, a request took 89 ms.", table)["89 ms"] == "unsourced"


def test_a_part_of_a_fall_has_no_sign() -> None:
    table = """\
         before     after    change  part of change %
华南/手机  904800.0  569400.0 -335400.0             86.31
华北/平板  673200.0  617400.0  -55800.0             14.36
by month {'2026-02': 335400, '2026-08': 192400}"""
    told = states("主要原因是华南的手机：从8月起减少33.54万元，占全部下降的86.31 %。", table)
    assert told["33.54万元"] == told["86.31 %"] == "sourced"
    assert states("华北的平板占全部下降的86.31 %。", table)["86.31 %"] == "unsourced"


SOURCES = """\
step rates %
         signup of visit  purchase of trial  purchases
source
ads                32.40              22.61        246
organic            31.23              18.38        127
partner            39.64              23.44        120"""


def test_figures_in_a_bracket_are_of_the_names_before_it_in_their_order() -> None:
    told = "Ads bring most: 246 purchases, partner and organic about half of that each ({} and {})."
    assert set(states(told.format(120, 127), SOURCES).values()) == {"sourced"}
    wrong = states(told.format(127, 120), SOURCES)
    assert wrong["127"] == wrong["120"] == "unsourced"


def test_what_a_bracket_compares_with_is_not_what_the_figure_is_of() -> None:
    told = "**Where partner wins:** signup of visit {} (ads 32.40 %, organic 31.23 %)."
    assert set(states(told.format("39.64 %"), SOURCES).values()) == {"sourced"}
    assert states(told.format("23.44 %").replace("partner", "organic"), SOURCES)["23.44 %"] == "unsourced"


def test_the_day_of_the_question_is_known() -> None:
    steps = [Asked(user="U1", author="Ana", text="How many?", ts="1796005684.666616"), shown("orders 120")]
    facts = facts_of([steps])
    assert not trace("As of 30 November 2026 there are 120 orders.", facts).unsourced
    assert trace("As of 27 November 2026 there are 120 orders.", facts).unsourced


def test_a_title_above_two_rows_of_headings_counts() -> None:
    table = """\
mobile by source: trial of signup %
        size          mean
      after before  after before
ads     824    654  33.98  56.12
email   561    417  31.37  52.76"""
    assert states("On mobile: ads 56.12 % before.", table)["56.12 %"] == "sourced"


def test_a_quarter_that_outputs_show_without_its_year_is_known_with_it() -> None:
    table = "as of 2026-02-01\n      Q1     Q3\nIT  119.8  125.1\nHR   38.7   39.9"
    assert "unsourced" not in states("IT has 125.1 in Q3 2026.", table).values()
    assert states("IT has 125.1 in Q3 2024.", table)["Q3 2024"] == "unsourced"


def test_a_figure_behind_a_comma_of_chinese_text_is_read() -> None:
    lines = "京东 118.2\n抖音 71.5"
    assert states("客单价:京东最高,118.2元;抖音最低,71.5元。", lines) == {"118.2元": "sourced", "71.5元": "sourced"}
    assert states("客单价:京东最高,119.2元。", lines)["119.2元"] == "unsourced"


TWO_WORDS = """\
Évolution de la consommation (%) :
                2023 / 2022  2024 / 2023
tariff
Base                   -0.2         -4.6
Heures creuses         -0.3          3.2
Total                   1.7          2.8
Consommation par an (MWh) :
year                2023      2024
tariff
Base             53222.8   50762.7
Heures creuses   53858.3   55606.4
Total           107081.1  106369.1"""
AT_THE_RIGHT = """\
   quarter          tariff  meters    mwh
0  T1 2022            Base   14356  18090
1  T1 2022  Heures creuses    9795  18164
2  T1 2022            Vert    1360   1602"""
TWO_LEVELS = """\
           orders
North Web      11
      App      22
South Web      33
      App      44"""


def _about(report: str, output: str) -> str:
    return first(report, output).places[0].about


def test_a_row_label_of_two_words_is_one_label() -> None:
    assert _about("106 369,1 MWh au total en 2024.", TWO_WORDS) == "Total · 2024"
    assert _about("Heures creuses consomme 55 606,4 MWh en 2024.", TWO_WORDS) == "Heures creuses · 2024"
    assert _about("Heures creuses: 18,164 MWh in Q1 2022.", AT_THE_RIGHT) == "T1 2022 · Heures creuses · mwh"
    assert _about("Vert: 1,602 MWh in Q1 2022.", AT_THE_RIGHT) == "T1 2022 · Vert · mwh"


def test_two_levels_of_an_index_stay_two_labels() -> None:
    assert _about("South had 44 orders by App.", TWO_LEVELS).startswith("South · App")


def test_a_heading_of_two_years_is_one_heading() -> None:
    assert _about("Heures creuses augmente de 3,2 %.", TWO_WORDS) == "Heures creuses · 2024 / 2023"


YEARS_BELOW = """\
                   appointments  lost  mean_wait_days
department   year
Dermatologie 2022            94    34            25.2
             2023           110    29            31.1
             2024           131    27            38.5
Neurologie   2022            71    13            30.2
             2023            65     8            34.4
             2024            66    17            37.1"""
YEARS_BELOW = "\n".join(line.ljust(53) for line in YEARS_BELOW.splitlines())


def test_rows_below_the_first_of_an_index_keep_its_label_and_have_their_year() -> None:
    assert _about("Neurologie lost 17 in 2024.", YEARS_BELOW) == "Neurologie · 2024 · lost"
    assert set(states("Dermatologie lost 27 of 131 in 2024.", YEARS_BELOW).values()) == {"sourced"}
    assert (
        states("On the mean, Dermatologie waits longest in 2024 (37.1 days).", YEARS_BELOW)["37.1 days"] == "unsourced"
    )
    assert states("Neurologie waited 34.4 days in 2024.", YEARS_BELOW)["34.4 days"] == "unsourced"


def test_a_blank_label_above_numbers_that_do_not_count_on_names_no_row() -> None:
    table = "region  orders  lost\nNorth      131    27\n            66    17\nSouth       12     3"
    assert _about("North had 131 orders.", table) == "North · orders"
    assert "North" not in _about("66 orders had no region.", table)


GROUPED = """\
           customers           left           churn rate, %
cohort          2022 2023 2024 2022 2023 2024          2022  2023  2024
plan
Enterprise         6    5    3    2    2    0          33.3  40.0   0.0
Starter            6    8    2    6    1    0         100.0  12.5   0.0
Team               9    6    3    3    4    1          33.3  66.7  33.3"""
GROUPED = "\n".join(line.ljust(71) for line in GROUPED.splitlines())


def test_a_heading_above_a_group_of_columns_names_and_measures_each_of_them() -> None:
    assert _about("Starter had 8 customers in 2023.", GROUPED) == "Starter · customers · 2023"
    assert states("Starter: in 2023 only one of eight left (12.5 %).", GROUPED)["12.5 %"] == "sourced"
    assert states("Team lost 12.5 % in 2023.", GROUPED)["12.5 %"] == "unsourced"


def test_a_table_whose_title_ends_with_percent_shows_no_fractions() -> None:
    titled = "Cuota por trimestre (%)\n         T1    T2\nEste    0.4  12.5\nOeste  40.7  48.1"
    assert states("Este tiene el 0.4 % en T1.", titled)["0.4 %"] == "sourced"
    assert states("Este tiene el 40 % en T1.", titled)["40 %"] == "unsourced"


def test_a_title_in_points_gives_its_table_this_unit() -> None:
    titled = (
        "通过率同比变化(百分点):\nyear             2023  2024\nAcademy          -1.1   8.1\nVoluntary aided  -0.1   0.6"
    )
    assert states("Voluntary aided 2024年升0.6个百分点。", titled)["0.6个百分点"] == "sourced"
    assert states("Voluntary aided 2024年升8.1个百分点。", titled)["8.1个百分点"] == "unsourced"


def test_fractions_below_a_title_in_percent_may_be_told_in_percent() -> None:
    titled = "Anteil (%):\n        2023   2024\nNord   0.412  0.381\nSued   0.588  0.619"
    assert states("Nord hatte 2024 38,1 %.", titled)["38,1 %"] == "sourced"


BLOCKS = """\
Jahr 2022, je Abteilung:
            Termine  zum Vorjahr (%)  nicht erschienen (%)
HNO              61              NaN                  13.1
Neurologie       71              NaN                   5.6
Jahr 2023, je Abteilung:
            Termine  zum Vorjahr (%)  nicht erschienen (%)
HNO              59             -3.3                  18.6
Neurologie       65             -8.5                   3.1"""


def test_the_period_in_which_alone_titles_differ_is_one_of_the_rows_below() -> None:
    wrong = "In der Neurologie sprang die Quote der nicht erschienenen auf 5,6 % im Jahr 2023."
    assert states(wrong, BLOCKS)["5,6 %"] == "unsourced"
    assert states(wrong.replace("5,6", "3,1"), BLOCKS)["3,1 %"] == "sourced"
    assert states(wrong.replace("2023", "2022"), BLOCKS)["5,6 %"] == "sourced"


def test_the_period_of_a_title_contradicts_only_a_clause_that_names_another() -> None:
    report = "Das Bild von 2023 bleibt. In der HNO erschienen 13,1 % nicht."
    assert states(report, BLOCKS)["13,1 %"] == "sourced"


def test_a_column_without_values_labels_no_row() -> None:
    assert _about("Neurologie hatte 71 Termine.", BLOCKS) == "Neurologie · Termine"


QUARTERS = """\
     2022     2023
       Q1  Q2   Q1  Q2
A      10  20   30  40
B      11  21   31  41
C      12  22   32  42"""
QUARTERS = "\n".join(line.ljust(22) for line in QUARTERS.splitlines())


def test_a_quarter_below_its_year_is_one_period() -> None:
    assert _about("A had 40 in Q2 2023.", QUARTERS) == "A · Q2 2023"
    assert states("B had 41 in Q2 2022.", QUARTERS)["41"] == "unsourced"


def test_a_line_with_its_number_above_a_table_as_wide_is_no_row_of_it() -> None:
    heading = "       Weight kg  Pallets  Freight EUR"
    rows = "count    1180.00  1180.00      1171.00\nmax     14846.00    35.00      2388.37\n"
    out = f"delivered on/after 1 April (local): 28\n{heading}\n{rows}"
    said = states("28 were delivered on or after 1 April. The heaviest has 14,846 kg.", out)
    assert (said["28"], said["14,846 kg"]) == ("sourced", "sourced")
    assert first("27 were delivered on or after 1 April.", out).state == "unsourced"


def test_a_measure_that_another_figure_counts_is_not_that_of_a_figure_with_its_own_unit() -> None:
    heading = "id        Weight kg  Pallets  Freight EUR"
    out = f"{heading}\nSH100593      14846       35      2388.37\nSH100600      13207       31       872.22\n"
    out += "zero or negative: {'Weight kg': 0, 'Pallets': 0, 'Freight EUR': 0}\n"
    said = states("SH100593 is 14,846 kg on 35 pallets for 2,388.37 EUR.", out)
    assert said == {"14,846 kg": "sourced", "35": "sourced", "2,388.37 EUR": "sourced"}
    assert states("SH100593 is 13,207 kg on 35 pallets.", out)["13,207 kg"] == "unsourced"
