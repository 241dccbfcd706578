"""What a cell did to its tables and charts is counted in the session, as codes and numbers; errors show variables."""

from __future__ import annotations

import pytest

from executor.frames import ProtocolError
from executor.said import CHECKS, checks_from
from executor.values import CellResult

pytestmark = pytest.mark.process

FRAME = """
import pandas as pd
df = pd.DataFrame({"Region": ["North", "South"] * 50, "Amount": ["1,204.50", "88"] * 50, "id": range(100)})
df["When"] = ["03/02/2024", "04/05/2024"] * 50
"""


def seen(result: CellResult) -> list[tuple[str, tuple[str, ...], tuple[int, ...]]]:
    assert result.status == "ok", result.error
    return [(check.code, check.names, check.numbers) for check in result.checks]


def test_rows_that_went_and_values_that_became_missing_are_counted(run) -> None:
    assert seen(run(FRAME)) == []
    assert seen(run('df["Amount"] = pd.to_numeric(df["Amount"], errors="coerce")')) == [
        ("not_numbers", ("Amount",), (50, 100))
    ]
    assert seen(run('clean = df.dropna(subset=["Amount"])')) == [("rows_lost", ("clean", "df"), (100, 50))]
    assert seen(run('df["id"] = df["id"].where(df["id"] > 9)')) == [("nan_made", ("df", "id"), (0, 10, 100))]
    assert seen(run("df = df[df.id > 60]")) == [("rows_lost", ("df", "df"), (100, 39))]


def test_a_series_whose_name_cannot_be_shown_is_not_named_by_a_place(run) -> None:
    run('import pandas as pd\nsales = pd.DataFrame({"shop": ["A", "B"], "5月": ["44.1", "closed"]})')
    assert seen(run('for month in ["5月"]:\n    sales[month] = pd.to_numeric(sales[month], errors="coerce")')) == [
        ("not_numbers", (), (1, 2)),
        ("nan_made", ("sales", "#2"), (0, 1, 2)),
    ]


def test_a_variable_of_a_loop_that_is_another_table_now_has_lost_nothing(run) -> None:
    run(f"{FRAME}\nfor part in (df.head(20), df):\n    pass")
    assert seen(run("for part in (df, df.head(20)):\n    pass")) == []
    assert seen(run("df = df.head(20)")) == [("rows_lost", ("df", "df"), (100, 20))]


def test_one_row_for_each_value_of_a_named_column_is_no_loss(run) -> None:
    run(FRAME)
    assert seen(run('first = df.drop_duplicates("Region")')) == []
    assert seen(run('first = df.sort_values("id").drop_duplicates(subset=["Region"])')) == []
    assert seen(run('twins = pd.concat([df[["Region"]]] * 2)\nleft = twins.drop_duplicates()')) == [
        ("rows_lost", ("left", "twins"), (200, 2))
    ]


def test_a_filter_that_leaves_nothing_is_told_and_one_that_leaves_a_part_is_not(run) -> None:
    run(FRAME)
    assert seen(run('north = df[df["Region"] == "north"]')) == [("empty_frame", ("north", "df"), (100,))]
    assert seen(run('few = df[df["id"] < 5]\ntop = df.head(3)\nsums = df.groupby("Region").id.sum()')) == []
    assert seen(run('df = df.groupby("Region", as_index=False).agg(n=("id", "sum"))')) == []


def test_a_join_that_repeats_or_misses_keys_is_told(run) -> None:
    run(FRAME)
    run('twice = pd.DataFrame({"id": [1, 1, 2], "w": 1})')
    run('texts = pd.DataFrame({"key": [f" {n}" for n in range(100)]})')
    assert seen(run('m = df.merge(twice, on="id", how="left")')) == [
        ("join_grew", ("id",), (100, 3, 101, 0, 1)),
        ("join_missed", ("id",), (100, 2, 2, 0, 100, 101)),
    ]
    code = 'k = pd.merge(df.assign(id=df.id.astype(str)), texts, left_on="id", right_on="key")'
    assert seen(run(code)) == [("join_missed", ("id",), (100, 0, 100, 0, 100, 0))]


def test_dates_that_can_be_read_in_two_orders_are_told_unless_the_code_says_which(run) -> None:
    run(FRAME)
    assert seen(run('a = pd.to_datetime(df["When"])')) == [("two_orders", ("When",), (100, 0, 0))]
    assert (
        seen(run('a = pd.to_datetime(df["When"], dayfirst=True)\nb = pd.to_datetime(df["When"], format="%d/%m/%Y")'))
        == []
    )
    assert seen(run('c = pd.to_datetime(pd.Series(["31/12/2024", "03/02/2024"]), dayfirst=True)')) == []
    assert seen(run('d = pd.to_datetime(pd.Series(["12/31/2024", "03/02/2024"]))')) == []


def test_dates_that_are_each_read_alone_are_told_where_another_row_has_the_day_first(run) -> None:
    dates = 'pd.Series(["03/04/2024", "25/04/2024"], name="day")'
    result = run(f'import pandas as pd\na = pd.to_datetime({dates}, format="mixed")\na.dt.month.tolist()')
    assert seen(result) == [("two_orders", ("day",), (1, 1, 0))]
    assert seen(run(f'b = pd.to_datetime({dates}, format="mixed", dayfirst=True)')) == []
    assert seen(run('c = pd.to_datetime(pd.Series(["03/04/2024", "04/25/2024"]), format="mixed")')) == []


def test_mixed_currencies_and_units_are_told_once(run) -> None:
    code = 'import pandas as pd\np = pd.DataFrame({"price": ["$5", "€6"], "net weight": ["5 kg", "3 lb"], "n": [1, 2]})'
    assert seen(run(code)) == [("mixed_currencies", ("p", "price"), (2,)), ("mixed_units", ("p", "#2"), (2,))]
    assert seen(run("q = p.assign(x=1)")) == []


def test_each_code_in_a_column_of_currencies_counts_also_one_without_a_sign_of_its_own(run) -> None:
    code = 'import pandas as pd\np = pd.DataFrame({"currency": ["EUR", "GBP", "SEK", "USD", "$", None]})'
    assert seen(run(code)) == [("mixed_currencies", ("p", "currency"), (4,))]


@pytest.mark.parametrize(
    "ending",
    [
        "",
        "\nfig.tight_layout()",
        "\nimport warnings\nwarnings.filterwarnings('ignore')",
        "\nimport warnings\nwarnings.filterwarnings('ignore')\nplt.savefig('own.png')\nplt.close()",
    ],
)
def test_letters_that_no_font_has_are_counted_whatever_the_code_does(run, ending: str) -> None:
    code = "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot([1, 2])\nax.set_title('{}')"
    result = run(code.format("𒀀𒀁 sales 销售额") + ending)
    assert seen(result) == [("glyphs", (), (2, 0x12000))]
    assert len(result.artifacts) == 1
    assert seen(run(code.format("sales 销售额"))) == []


def test_a_cell_that_looks_for_warnings_of_its_chart_still_gets_them(run) -> None:
    result = run(
        "import warnings, matplotlib.pyplot as plt\nplt.plot([1])\nplt.title('𒀀')\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n    plt.savefig('own.png')\n    warnings.warn('mine')\n"
        "print(sorted({str(each.message)[:11] for each in caught}))"
    )
    assert (result.stdout, result.stderr) == ("['Glyph 73728', 'mine']\n", "")
    assert seen(result) == [("glyphs", (), (1, 0x12000))]


def test_a_warning_of_pandas_still_names_the_cell_and_its_functions_are_pickled_by_name(run) -> None:
    result = run('import pandas as pd\npd.to_datetime(pd.Series(["1 Jan", "x"]), errors="coerce")')
    assert result.stderr.startswith("<cell ")
    again = run("from pandas import merge\nimport pickle\npickle.loads(pickle.dumps(merge)) is merge")
    assert again.result is not None
    assert again.result.text == "True"


def test_what_failed_shows_the_variables_of_its_line_and_the_nearest_column(run) -> None:
    run(FRAME)
    error = run('n = 3\nx = df["region"] * n').error
    assert error is not None
    first, second, third = error.variables.splitlines()
    assert first.startswith("df: DataFrame of 100 rows, columns 'Region' ")
    assert second == "n: int 3"
    assert third == "nearest to 'region': 'Region'"
    calls = run("class Odd:\n    def __repr__(self): raise SystemExit\nodd = Odd()\nodd + 1").error
    assert calls is not None
    assert calls.variables == "odd: Odd"


@pytest.mark.parametrize(
    "check",
    [
        {"code": "sentence", "names": [], "numbers": []},
        {"code": "rows_lost", "names": ["df", "df"], "numbers": [1]},
        {"code": "rows_lost", "names": ["df"], "numbers": [1, True]},
        "rows_lost",
    ],
)
def test_a_check_that_a_session_words_itself_ends_the_session(check: object) -> None:
    with pytest.raises(ProtocolError):
        checks_from({"checks": [check]})


def test_a_name_that_is_a_sentence_is_shown_as_a_question_mark() -> None:
    (check,) = checks_from({"checks": [{"code": "two_orders", "names": ["Now pay attention"], "numbers": [1, 2, 3]}]})
    assert check.names == ("?",)
    assert all(names <= 2 for names, _ in CHECKS.values())


def test_cells_import_the_attribution_tools_and_keep_what_they_give(run) -> None:
    code = (
        "import pandas as pd\nfrom threadbook_tools import ab_test_rates, decompose_change\n"
        "df = pd.DataFrame({'g': ['a', 'b'] * 2, 'y': [1, 1, 2, 2], 'v': [1, 2, 3, 5]})\n"
        "t = decompose_change(df, 'v', 'g', 'y', 1, 2)\nint(t.loc['(total)', 'change'])"
    )
    result = run(code)
    assert result.error is None, result.error
    assert result.result is not None
    assert result.result.text == "5"
    assert "rate a" in run("print(ab_test_rates(12, 100, 20, 100))").stdout
    assert (
        run("import threadbook_tools as tt, inspect\nprint(len(inspect.getsource(tt.trend)) > 500)").stdout == "True\n"
    )
