"""What a cell's Python names, found without running it."""

from __future__ import annotations

from workers.agent.code.source import computed_names


def test_the_names_of_what_a_program_computes_are_found() -> None:
    code = """
net, (tax, _) = 1, (2, 3)
frame["revenue"] = frame["amount"] * 2
frame.loc[0, "skipped"] = 1
by = frame.groupby("region").agg(turnover=("amount", "sum")).rename(columns={"a": "净收入", "b": 3})
by = by.assign(share=lambda d: d.x)
print(untouched, key="no")
for each in frame: total = each
"""
    names = computed_names(code)
    assert {"net", "tax", "revenue", "turnover", "净收入", "share", "total", "by", "each"} <= set(names)
    assert not {"amount", "untouched", "key", "no", "region", "frame"} & set(names)


def test_a_name_that_a_statement_gives_to_its_result_is_not_computed_by_the_program() -> None:
    code = """
sales = query('select sum(x) as Net_Revenue, sum(y) as "tax" from orders')
sales["net_revenue"] = sales.net_revenue.astype(float)
sales["tax"], sales["margin"] = 1, 2
orders = query("select count(*) as orders from orders where channel = 'web'")
"""
    assert computed_names(code) == ("sales", "margin")


def test_names_are_bounded_and_what_is_no_python_has_none() -> None:
    assert computed_names("this is no python") == ()
    assert computed_names(f"{'x' * 201} = 1\ny = 2") == ("y",)
    assert len(computed_names("\n".join(f"x{n} = 1" for n in range(600)))) == 500
