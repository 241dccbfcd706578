"""What a question is taken for, and how a follow-up changes it; from words alone, without a cell."""

from __future__ import annotations

from typing import Any

import pytest

from workers.offline.intent import Known, understand
from workers.offline.values import Analysis, Column, Filter, Intent, Join, Table, Unclear, Unplaced

LEDGER = Join(
    Table(
        "sales",
        "sales.csv",
        "csv",
        (
            Column("order_id", "id", unique=5000),
            Column("order_date", "date"),
            Column("region", "category", unique=4, samples=("North", "South")),
            Column("product", "category", unique=10),
            Column("channel", "category", unique=3),
            Column("quantity", "number", "int64"),
            Column("unit_price", "number", "float64"),
            Column("amount", "number", raw=True, samples=("$12.00",)),
            Column("type", "category", unique=2, samples=("Sale", "Return")),
        ),
        rows=5000,
    )
)
KNOWN = Known({"region": ["North", "South", "East"], "channel": ["Online", "Store"], "type": ["Sale", "Return"]}, True)


def asked(text: str, previous: Intent | None = None, frame: Join = LEDGER) -> Intent:
    """The intent of a text that asks for one thing."""
    parts = understand(text, frame, [previous] if previous else [], KNOWN)
    assert not isinstance(parts, Unclear), parts
    assert len(parts) == 1, parts
    return parts[0]


def kinds(intent: Intent) -> list[tuple[str, tuple[str, ...]]]:
    return [(analysis.kind, analysis.by) for analysis in intent.analyses]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How did sales develop?", [("trend", ())]),
        ("sales per month by region", [("trend", ("region",))]),
        ("Which regions and products drive our sales?", [("breakdown", ("region",)), ("breakdown", ("product",))]),
        ("Which regions lead?", [("breakdown", ("region",))]),
        ("top 5 products", [("breakdown", ("product",))]),
        ("What is the total amount?", [("total", ())]),
        ("average price in the North", [("total", ())]),
        ("Is there anything odd?", [("distribution", ())]),
        ("How is quantity related to price?", [("correlate", ())]),
        ("Is there a significant difference in amount between channels?", [("compare", ("channel",))]),
        ("compare 2022 and 2023", [("breakdown", ("@year",))]),
        ("forecast next quarter", [("forecast", ())]),
        ("predict sales for the next 3 months", [("forecast", ())]),
        ("Can you predict the amount?", [("predict", ())]),
        ("Describe the data", [("profile", ())]),
        ("sales by weekday", [("breakdown", ("@weekday",))]),
        ("sales by day of the week", [("breakdown", ("@weekday",))]),
        ("sales per day of week", [("breakdown", ("@weekday",))]),
        ("why did sales drop in March?", [("change", ("region", "product", "channel"))]),
        ("which month was best?", [("trend", ())]),
        ("Is North better than South?", [("breakdown", ("region",))]),
        ("what share of orders is online?", [("breakdown", ("channel",))]),
        ("3月销售额为什么下降？", [("change", ("region", "product", "channel"))]),
        ("show the 3 largest orders", [("rows", ())]),
        ("哪笔订单金额最大？", [("rows", ())]),
        ("Which channel grew fastest?", [("trend", ("channel",))]),
        ("compare Q1 2023 with Q1 2024", [("breakdown", ("@quarters",))]),
        ("compare Feb 2024 with Jan 2024", [("breakdown", ("@months",))]),
        ("Which products are returned most?", [("breakdown", ("product",))]),
        ("每月销售额趋势如何？", [("trend", ())]),
        ("哪些地区贡献最大？", [("breakdown", ("region",))]),
        ("各渠道的平均单价", [("breakdown", ("channel",))]),
        ("预测未来三个月的销售额", [("forecast", ())]),
        ("数据概况", [("profile", ())]),
    ],
)
def test_a_question_is_taken_for_what_its_words_say(question: str, expected: list[Any]) -> None:
    assert kinds(asked(question)) == expected


@pytest.mark.parametrize(
    ("question", "column"),
    [
        ("How did revenue develop?", "amount"),
        ("How did turnover develop?", "amount"),
        ("How did the quantty develop?", "quantity"),
        ("unit price over time", "unit_price"),
        ("销量的趋势", "quantity"),
    ],
)
def test_columns_are_found_by_synonyms_and_near_spelling(question: str, column: str) -> None:
    assert asked(question).measure == column


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("sales in 2023", ("2023",)),
        ("sales in Q4 2023", ("2023Q4",)),
        ("sales in March 2023", ("2023-03",)),
        ("sales from 2022 to 2023", ("2022", "2023")),
        ("sales since 2023", (">=2023",)),
        ("2023年第二季度的销售额", ("2023Q2",)),
        ("2023年3月的销售额", ("2023-03",)),
    ],
)
def test_years_quarters_and_months_become_filters(text: str, values: tuple[str, ...]) -> None:
    assert asked(text).filters == (Filter("order_date", values),)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("sales in March", ("M03",)),
        ("3月的销售额", ("M03",)),
        ("sales since March", (">=M03",)),
        ("sales between March and June 2023", ("2023-03..2023-06",)),
        ("sales after 2023-03-05", (">2023-03-05",)),
        ("sales before June 2023", ("<2023-06",)),
        ("sales of the last 3 months", ("last:3M",)),
        ("最近三个月的销售额", ("last:3M",)),
        ("sales last year", ("Y-1",)),
        ("今年的销售额", ("Y-0",)),
    ],
)
def test_times_without_a_year_and_spans_of_time_become_filters_too(text: str, values: tuple[str, ...]) -> None:
    assert asked(text).filters == (Filter("order_date", values),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("how many orders above $1,000", Filter("amount", (">1000",))),
        ("amount of orders with quantity of at least 5", Filter("quantity", (">=5",))),
        ("销售额大于2000的订单有多少", Filter("amount", (">2000",))),
        ("数量5以上的销售额", Filter("quantity", (">=5",))),
    ],
)
def test_bounds_on_numbers_become_filters(text: str, expected: Filter) -> None:
    assert asked(text).filters == (expected,)


def test_a_value_of_a_category_becomes_a_filter_and_without_leaves_it_out() -> None:
    assert asked("sales in the North").filters == (Filter("region", ("North",)),)
    assert asked("sales without the North").filters == (Filter("region", ("North",), keep=False),)


@pytest.mark.parametrize(
    "text", ["orders by region", "which channel has the most orders?", "orders per month", "trend of online orders"]
)
def test_rows_that_are_asked_for_by_name_are_counted(text: str) -> None:
    assert asked(text).aggregate == "count"


def test_words_within_the_name_of_a_column_ask_for_nothing() -> None:
    columns = (Column("monthly_total", "number", "float64"), Column("city", "category"), Column("day", "date"))
    frame = Join(Table("bills", "bills.csv", "csv", columns, rows=100))
    intent = asked("average monthly total by city", None, frame)
    assert (intent.aggregate, intent.frequency, kinds(intent)) == ("mean", None, [("breakdown", ("city",))])


def test_prices_are_averaged_and_amounts_added_up_unless_the_question_says_so() -> None:
    assert asked("price by region").aggregate == "mean"
    assert asked("amount by region").aggregate == "sum"
    assert asked("average amount by region").aggregate == "mean"
    assert asked("how many orders by region").aggregate == "count"


class TestFollowUps:
    """Each changes one thing and keeps the rest."""

    first = asked("How did sales develop, and which regions drive them?")

    def test_only_a_year_filters_the_same_analyses(self) -> None:
        intent = asked("only 2023", self.first)
        assert intent.analyses == self.first.analyses
        assert intent.filters == (Filter("order_date", ("2023",)),)

    def test_by_another_column_breaks_down_by_it(self) -> None:
        assert kinds(asked("and by channel?", self.first)) == [("breakdown", ("channel",))]

    def test_by_a_column_splits_a_mere_trend(self) -> None:
        assert kinds(asked("by region", asked("How did sales develop?"))) == [("trend", ("region",))]

    def test_refunds_can_be_left_out_and_put_back(self) -> None:
        without = asked("now exclude refunds", self.first)
        assert without.no_refunds
        assert without.analyses == self.first.analyses
        assert not asked("include the refunds again", without).no_refunds

    def test_a_chart_type_changes_the_chart_alone(self) -> None:
        intent = asked("as a bar chart", self.first)
        assert (intent.chart, intent.analyses, intent.measure) == ("bar", self.first.analyses, self.first.measure)

    def test_another_rhythm_changes_the_trend(self) -> None:
        intent = asked("quarterly instead", self.first)
        assert (intent.frequency, kinds(intent)) == ("Q", [("trend", ())])

    def test_top_n_ranks(self) -> None:
        intent = asked("top 3 products", self.first)
        assert (intent.top, kinds(intent)) == (3, [("breakdown", ("product",))])

    def test_another_measure_keeps_the_analyses(self) -> None:
        intent = asked("what about quantity?", self.first)
        assert (intent.measure, intent.analyses) == ("quantity", self.first.analyses)

    def test_several_changes_come_together(self) -> None:
        intent = asked("by channel, only 2023, without refunds, as a bar chart", self.first)
        assert kinds(intent) == [("breakdown", ("channel",))]
        assert (intent.no_refunds, intent.chart, intent.filters) == (True, "bar", (Filter("order_date", ("2023",)),))

    def test_all_years_takes_the_filters_off(self) -> None:
        assert asked("now for all years", asked("only 2023", self.first)).filters == ()

    def test_a_question_of_its_own_starts_without_the_filters(self) -> None:
        filtered = asked("only 2023", self.first)
        assert asked("How many orders are there per channel?", filtered).filters == ()
        assert asked("Which products drive it?", filtered).filters == filtered.filters

    @pytest.mark.parametrize("text", ["is the difference significant?", "差异显著吗？", "is that just noise?"])
    def test_a_question_for_significance_compares_the_groups_of_before(self, text: str) -> None:
        assert kinds(asked(text, asked("sales by region"))) == [("compare", ("region",))]
        assert asked(text, asked("average price by channel")).measure == "unit_price"

    def test_a_question_with_its_own_measure_and_groups_starts_anew(self) -> None:
        assert asked("quantity by channel", asked("only 2023", self.first)).filters == ()

    def test_chinese_follow_ups_do_the_same(self) -> None:
        assert asked("只看2023年", self.first).filters == (Filter("order_date", ("2023",)),)
        assert asked("去掉退货", self.first).no_refunds
        assert kinds(asked("按渠道", self.first)) == [("breakdown", ("channel",))]
        assert asked("改成柱状图", self.first).chart == "bar"


def questions(text: str) -> list[str]:
    parts = understand(text, LEDGER, (), KNOWN)
    assert not isinstance(parts, Unclear)
    return [part.text for part in parts]


def test_every_question_of_a_message_is_a_part_of_its_own_unless_they_share_a_subject() -> None:
    several = (
        "What is the average price by channel, and how many orders came from the North? Which region leads in 2023?"
    )
    assert questions(several) == [
        "What is the average price by channel",
        "how many orders came from the North?",
        "Which region leads in 2023?",
    ]
    assert len(questions("各渠道的平均单价是多少？每月有多少订单？")) == 2
    assert len(questions("How did sales develop, and which regions drive them?")) == 1
    assert len(questions("by channel, only 2023, without refunds, as a bar chart")) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sales by region, only Atlantis", [Unplaced("Atlantis", named=True, demanded=True)]),
        ("average discount by region", [Unplaced("discount")]),
        ("只看华中的销售额", [Unplaced("华中", named=True, demanded=True)]),
        ("Could you please show me how our sales have developed over the last years?", []),
        ("请帮我看看我们每个月的销售额变化情况", []),
        ("We sell chairs to offices. Which region leads?", []),
    ],
)
def test_words_that_mean_nothing_in_the_data_are_kept_for_the_answer_to_name(text: str, expected: list[Any]) -> None:
    assert list(asked(text).unplaced) == expected


def test_a_word_that_fits_two_numbers_equally_is_asked_about() -> None:
    columns = (
        Column("list_price", "number", "float64"),
        Column("net_price", "number", "float64"),
        Column("city", "category"),
    )
    frame = Join(Table("prices", "prices.csv", "csv", columns, rows=100))
    unclear = understand("average price by city", frame, (), Known({}))
    assert unclear == Unclear("price", ("list_price", "net_price"))


def test_a_yes_no_column_is_what_causes_are_asked_of() -> None:
    columns = (
        Column("id", "id"),
        Column("contract", "category", unique=3),
        Column("tenure", "number", "int64"),
        Column("churn", "flag", samples=("Yes", "No")),
    )
    frame = Join(Table("customers", "customers.csv", "csv", columns, rows=100))
    intent = asked("What drives churn?", None, frame)
    assert (intent.target, intent.by_drivers, kinds(intent)) == ("churn", True, [("predict", ())])
    assert asked("and by tenure?", intent, frame).analyses == (Analysis("breakdown", ("~tenure",)),)


@pytest.mark.parametrize(
    "question",
    [
        "compare the average tenure of those who churn and those who stay",
        "what is the average tenure of churned customers?",
        "is there a difference in tenure between churners and the rest?",
    ],
)
def test_a_number_on_both_sides_of_a_yes_no_column_is_grouped_by_it(question: str) -> None:
    columns = (Column("tenure", "number", "int64"), Column("churn", "flag", samples=("Yes", "No")))
    frame = Join(Table("customers", "customers.csv", "csv", columns, rows=100))
    intent = asked(question, None, frame)
    assert (intent.measure, intent.target, kinds(intent)) == ("tenure", None, [("compare", ("churn",))])
    assert kinds(asked("churn by tenure", None, frame)) == [("breakdown", ("~tenure",))]


def test_what_no_rule_knows_is_marked_as_beyond() -> None:
    assert asked("What is the meaning of life?").beyond
    assert asked("Write a poem about the regions").beyond
