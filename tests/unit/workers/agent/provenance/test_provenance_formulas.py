"""A formula behind a figure: each of its numbers is looked up, and it is computed anew. No wrong figure passes."""

from __future__ import annotations

import random

import pytest
from provenance_kit import first, shown, states, traced

from workers.agent.provenance.formulas.syntax import Amount, compute, read_formula, read_operand, written
from workers.agent.provenance.formulas.tokens import find_tokens, without_tokens

TABLE = (
    "region  units  revenue_eur\nNorth     120       2400.5\nSouth     100       1890.0\nWest       30        660.0\n"
)
RATES = "conversion\ncontrol    0.0415\nvariant    0.0463\n"


@pytest.mark.parametrize(
    ("report", "arithmetic"),
    [
        ("North sold 20 % [=(1:120-1:100)/1:100*100] more than South.", "(120 − 100) / 100 × 100 = 20"),
        ("North earned 20.00 € [=1:2400.5/1:120] per unit.", "2,400.5 / 120 = 20.004167"),
        ("All earned **4,950.50 €** [=sum(1:2400.5, 1:1890.0, 1:660.0)].", "sum(2,400.5, 1,890, 660) = 4,950.5"),
        ("On average a region sold 83.3 [=mean(1:120,1:100,1:30)].", "mean(120, 100, 30) = 83.333333"),
        ("South and West are 52 % [=(1:100+1:30)/(1:120+1:100+1:30)] of all.", "(100 + 30) / (120 + 100 + 30) = 0.52"),
        ("South sold 20 [=1:100−1:120] fewer than North.", "100 − 120 = -20"),
        ("Each of 12 months brings 200.04 € [=1:2400.5 ÷ 12] in the North.", "2,400.5 / 12 = 200.041667"),
        ("The goal of 130 is 10 [=q:130-cell 1:120] above the North.", "130 − 120 = 10"),
    ],
)
def test_a_figure_follows_by_the_formula_behind_it(report: str, arithmetic: str) -> None:
    found = next(one for one in traced(report, TABLE, question="Did we sell 130?").figures if one.state == "derived")
    assert (found.how, found.arithmetic.replace("−20", "-20")) == ("formula", arithmetic)
    assert all(place.cell == 1 for place in found.places if place.what == "output")


@pytest.mark.parametrize(
    "report",
    [
        "North sold 20 % [=(1:120-1:99)/1:100*100] more than South.",  # no cell shows 99
        "North sold 20 % [=(2:120-1:100)/1:100*100] more than South.",  # not in that cell
        "North sold 21 % [=(1:120-1:100)/1:100*100] more than South.",  # it gives another value
        "North lost -20 % [=(1:120-1:100)/1:100*100] against South.",  # another sign
        "North rose by 17 % [=(1:100-1:120)/1:120*100].",  # it fell, by that formula
        "West alone earned 22.67 € [=(1:2400.5+1:1890.0)/(1:120+1:100)+1:120*0] per unit.",  # a free number
        "West grew by 20 % [=(1:120-1:100)/1:100*100].",  # only other rows than the one it names
        "North earned 1.2 € [=1:120/1:100] per unit.",  # no amount of money comes out
        "North earned 20.00 $ [=1:2400.5/1:120] per unit.",  # another currency
        "It is 7 % [=7] of it.",  # no number of a cell
        "It is 7 % [=7*1/100] of it.",
        "It is 120 % [=1:120**1] of it.",
        "It is 120 % [=1:120 if 1 else 2] of it.",
        "It is 120 % [=__import__('os').system('true')+1:120] of it.",
        "It is 120 % [=(lambda: 1:120)()] of it.",
        "It is 120 % [=1:120/(1:100-1:100)] of it.",
    ],
)
def test_a_formula_that_does_not_hold_leaves_its_figure_unsourced(report: str) -> None:
    found = [one for one in traced(report, TABLE).figures if one.state == "unsourced"]
    assert [one.reason for one in found] == ["tag"]
    assert "[=" not in traced(report, TABLE).report


@pytest.mark.parametrize(
    "formula",
    [
        "15/1:21*100",
        "15*100/1:21",
        "-15/1:21*-100",
        "1/1:21*15*100",
        "100/1:21*15",
        "sum(7, 8)/1:21*100",
        "(1:10+5)/1:21*100",
        "max(1:1, 15)/1:21*100",
        "12/7*1:21",
    ],
)
def test_a_count_without_a_cell_gives_no_figure(formula: str) -> None:
    lost = "lost in all: 21\nof them early: 10\nof them late: 1\n"
    found = next(one for one in traced(f"Of them 71.4 % [={formula}] left.", lost).figures if one.text == "71.4 %")
    assert (found.state, found.fault) == ("unsourced", "unread")


@pytest.mark.parametrize(
    ("figure", "formula"),
    [
        ("84", "4*1:21"),
        ("36", "1:21/7*12"),
        ("5.25", "1:21*15/60"),
        ("17.4", "365/1:21"),
        ("79", "100-1:21"),
        ("52.4 %", "(1-1:10/1:21)*100"),
    ],
)
def test_a_count_without_a_cell_may_multiply_or_divide_what_a_cell_shows(figure: str, formula: str) -> None:
    lost = "lost in all: 21\nof them early: 10\nof them late: 1\n"
    assert states(f"It is {figure} [={formula}] by this count.", lost)[figure] == "derived"


@pytest.mark.parametrize("formula", ["24/1:36*100", "24/1:36", "24*100/1:36", "100/1:36*24", "(1-24/1:36-1)*-100"])
def test_a_unit_of_time_without_a_cell_gives_no_share(formula: str) -> None:
    found = next(iter(traced(f"Of them 66.7 % [={formula}] left.", "lost in all: 36\n").figures))
    assert (found.state, found.fault) == ("unsourced", "unit")


def test_the_model_is_told_what_its_formula_gives() -> None:
    found = first("North sold 21 % [=(1:120-1:100)/1:100*100] more than South.", TABLE)
    assert found.near[0] == "(120 − 100) / 100 × 100 = 20"


def test_fractions_and_points_follow_by_a_formula() -> None:
    better = "0.48 percentage points [=(1:0.0463-1:0.0415)*100]"
    report = f"The variant is {better} better, 11.6 % [=1:0.0463/1:0.0415-1] by itself."
    assert set(states(report, RATES).values()) == {"derived"}


def test_a_number_written_with_its_scale_and_one_that_looks_like_a_year_are_found() -> None:
    out = "North: revenue 1.2 M, pieces 1900\nSouth: revenue 0.8 M, pieces 1950\n"
    report = "North sold 50 pieces [=1:1950-1:1900] fewer, and took 400,000 [=1:1.2-1:0.8] more."
    assert set(states(report, out).values()) == {"derived"}


def test_a_line_of_print_with_one_blank_between_its_figures_shows_each_of_them() -> None:
    out = "North 120 400\nSouth 100 380\nWest 30 660\n"
    assert set(states("West sold 30 and earned 660, North 120 and 400.", out).values()) == {"sourced"}


def test_an_earlier_figure_of_the_same_value_is_bound_to_the_row_that_the_sentence_names() -> None:
    out = "region  units  planned\nNorth     120      100\nSouth     100      120\n"
    found = first("South stays 17 % [=(1:120-1:100)/1:120] below its plan.", out)
    assert {place.about.split()[0] for place in found.places} == {"South"}


def test_formulas_in_the_cells_of_a_table_are_checked_and_taken_out() -> None:
    report = (
        "| region | share |\n|---|---|\n"
        "| North | 48 % [=1:120/(1:120+1:100+1:30)*100] |\n| South | 45 % [=1:100/(1:120+1:100+1:30)*100] |\n"
    )
    assert states(report, TABLE) == {"48 %": "derived", "45 %": "unsourced"}
    assert "=" not in traced(report, TABLE).report


@pytest.mark.parametrize("seed", range(60))
def test_a_random_figure_does_not_pass_by_a_formula_of_other_numbers(seed: int) -> None:
    """The value is computed, so only the figure that the formula gives passes."""
    dice = random.Random(seed)
    a, b = dice.sample(dice.choice((("120", "100", "30"), ("2400.5", "1890.0", "660.0"))), 2)
    true = float(a) / float(b) * 100
    wrong = true * dice.choice((0.9, 0.97, 1.04, 1.2))
    formula = f"[=1:{a}/1:{b}*100]"
    said = states(f"It is {true:.2f} % {formula}.", TABLE), states(f"It is {wrong:.2f} % {formula}.", TABLE)
    assert (list(said[0].values()), list(said[1].values())) == (["derived"], ["unsourced"])


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("解約は15社 [=2:15] で、", "解約は15社で、"),
        ("約1.8倍[=2:5/2:3]になった", "約1.8倍になった"),
        ("共 15 [=2:15] 家", "共 15 家"),
        ("It is 15 [=2:15] in all", "It is 15 in all"),
    ],
)
def test_a_token_leaves_no_blank_between_letters_that_have_none(written: str, read: str) -> None:
    report, tokens = find_tokens(written)
    assert (report, len(tokens)) == (read, 1)
    assert without_tokens(written)[0] == read


@pytest.mark.parametrize("hostile", ["(" * 1_000 + "1:1", "1:1" + "+1" * 590, "-" * 1_000 + "1:1", "1:1e308*1:1e308"])
def test_a_formula_of_any_shape_is_read_within_bounds(hostile: str) -> None:
    report, tokens = find_tokens(f"It is 5 [={hostile}] here.")
    assert "[=" not in report
    assert len(tokens) == 1
    formula = tokens[0].formula
    assert formula is None or compute(formula, [Amount(1e308, 0)] * len(formula.operands)) is None


def test_an_operand_and_a_formula_are_told_apart() -> None:
    assert read_operand(" cell 2: 1,482,310.40 ") is not None
    assert read_operand("2:1+2:3") is None
    formula = read_formula("-abs(2:-1.5) * 100")
    assert formula is not None
    assert compute(formula, [Amount(-1.5, 1)]) == Amount(-150.0, 1)
    assert written(formula, ["(−1.5)"]) == "- abs((−1.5)) × 100".replace("- abs", "− abs").lstrip()


def test_a_formula_may_use_cells_of_earlier_turns() -> None:
    cells = (shown(TABLE), shown("region  units\nNorth     150\nSouth     100\n", number=2))
    assert states("North rose by 25 % [=(2:150-1:120)/1:120*100].", *cells)["25 %"] == "derived"


def test_a_number_without_its_sign_may_stand_for_a_negative_one() -> None:
    out = "site  diff\nAix   -86850\nBonn  -226540\nall   -313390\n"
    report = (
        "Bonn brings 72.3 % [=1:226540/1:313390*100] of the saving. Aix saves 27.7 % [=1:-86850/1:-313390*100] of it."
    )
    assert set(states(report, out).values()) == {"derived"}


@pytest.mark.parametrize("token", ["[=q:4.2-1:3.9011]", "[=q:4200000-1:3901100]", "[=(q:4.2-1:3901100)]"])
def test_a_number_with_its_scale_may_be_written_with_or_without_it(token: str) -> None:
    report = f"We are 0.3 million {token} short."
    assert "derived" in states(report, "sales 3.9011 M\n", question="Did we reach 4.2 million?").values()


def test_a_formula_in_the_figures_own_scale_holds() -> None:
    assert states("That is 299 k EUR [=(q:4200000-1:3901068)/1000] short.", "sales EUR 3901068\n",
                  question="Did we reach 4.2 million EUR?")["299 k EUR"] == "derived"  # fmt: skip


def test_a_number_with_more_digits_than_the_cell_shows_is_not_in_the_cell() -> None:
    assert first("It is 70 [=1:279*1:0.25].", "missing 279\nabove 0\n").fault == "number"


@pytest.mark.parametrize(
    ("report", "figure"),
    [
        ("North and South are most (220 of 250) [=1:120+1:100].", "220"),
        ("North sells 4 times as much as the 30 of West [=1:120/1:30].", "4"),
        ("North sold 120, 20 % more than South with 100 [=(1:120/1:100-1)*100].", "20 %"),
    ],
)
def test_a_token_behind_a_clause_is_of_the_figure_that_it_fits(report: str, figure: str) -> None:
    out = f"{TABLE}all       250       4950.5\n"
    assert states(report, out)[figure] == "derived"
    assert "unsourced" not in states(report, out).values()


@pytest.mark.parametrize(
    ("report", "fault"),
    [
        ("It is 20 % [=about a fifth] more.", "unread"),
        ("North sold 20 % [=(1:120-1:99)/1:99*100] more.", "number"),
        ("North sold 25 % [=(1:120-1:100)/1:100*100] more than South.", "value"),
        ("North earned 20.00 $ [=1:2400.5/1:120] per unit.", "unit"),
        ("North rose by 17 % [=(1:100-1:120)/1:120*100].", "sign"),
        ("West grew by 20 % [=(1:120-1:100)/1:100*100].", "row"),
    ],
)
def test_the_model_is_told_what_is_wrong_with_its_token(report: str, fault: str) -> None:
    found = next(one for one in traced(report, TABLE).figures if one.reason == "tag")
    assert found.fault == fault


@pytest.mark.parametrize(
    ("token", "state"),
    [("[=(1:7+1:8)/1:21*100]", "derived"), ("[=(1:7+1:8)/1:22*100]", "unsourced")],
)
def test_a_part_of_a_total_is_of_the_rows_that_its_sentence_names(token: str, state: str) -> None:
    lost = "plan         lost  MRR\nStarter         7   310\nTeam            8  1058\nBusiness        2   200\n"
    lost += "Enterprise      4  3560\nTotal          21  5128\n"
    report = (
        f"Enterprise matters for money: 15 of 21 (71.4 % {token}) had Starter or Team, but 3,560 were Enterprise's."
    )
    assert states(report, lost)["71.4 %"] == state


def test_a_part_of_a_total_of_a_row_that_nobody_names_is_not_right() -> None:
    lost = "plan         lost  MRR\nStarter         7   310\nTeam            8  1058\nTotal          15  1368\n"
    assert states("Starter had 53.3 % [=1:8/1:15*100] of them.", lost)["53.3 %"] == "unsourced"


def test_a_semicolon_without_a_blank_ends_a_clause_in_chinese() -> None:
    effects = (
        "school          effect\nCastle Academy    1.57\nFairview Girls    0.99\n"
        "Brook Lane        0.88\n(total)           3.00\n"
    )
    report = (
        "Castle Academy 一所就贡献1.57个百分点,约占全区变化的52 % [=1:1.57/1:3.00*100];Fairview Girls 贡献0.99个百分点,"
        "Brook Lane 贡献0.88个百分点。"
    )
    assert states(report, effects)["52 %"] == "derived"


def test_more_than_two_counts_beside_one_number_prove_nothing() -> None:
    output = "region  units\nNorth    5292\n"
    assert states("North would have 7,056 [=1:5292/3*4].", output) == {"7,056": "derived"}
    assert states("North would have 10,164 [=1:5292*11*11/7/9].", output) == {"10,164": "unsourced"}
    assert states("North would have 10,584 [=1:5292/12*12+1:5292*3/3].", output) == {"10,584": "derived"}
