"""What a clean room runs, what it compares, and the reasons that it finds."""

from __future__ import annotations

from typing import Any

import pytest

from core.clean_room import CleanRoom
from core.phrases import say
from core.slack.views.report_badge import badge
from core.steps import (
    Approval,
    Asked,
    CellRan,
    ChartData,
    Decided,
    FigureSource,
    Finished,
    Forgot,
    Moved,
    Questioned,
    SeriesData,
    SourcePlace,
    StatementRan,
    TableData,
)
from core.values import StoredFile
from workers.agent.code.chance import draws, reads_clock, surely_draws
from workers.agent.report.rerun import compare, plan, rerun_step, rests_on_cells

ASKED = Asked(user="U1", author="Ana", text="how much?", ts="1.1")


def ran(cell_id: str, code: str, stdout: str = "", **more: Any) -> CellRan:
    given = {"title": f"Step {cell_id}", "status": "ok", "duration_s": 1.0, **more}
    return CellRan(call_id=f"call-{cell_id}", cell_id=cell_id, code=code, stdout=stdout, **given)


def figure(
    text: str, cell_id: str, value: float | None, *, what: str = "output", line: int = 1, about: str = ""
) -> Any:
    place = SourcePlace(what=what, cell_id=cell_id, line=line, about=about, number=value)
    return FigureSource(figure=text, state="sourced", places=(place,))


def done(*sources: FigureSource, report: str = "The total is 2,000.") -> Finished:
    return Finished(report=report, sources=sources)


def again(turns: list[tuple[Any, ...]], **now: CellRan) -> CleanRoom:
    """What is found when these cells ran otherwise; all others ran as before."""
    made = plan(turns)
    assert made is not None
    results = {
        part.cell.cell_id: rerun_step(part.cell, now.get(part.cell.cell_id, part.cell)) for _, part in made.parts
    }
    return compare(turns, made, results)


TOTAL = [
    ASKED,
    ran("a", "x = 2000"),
    ran("b", "y = 3"),
    ran("c", "print('total', x)", "total 2000\n"),
    done(figure("2,000", "c", 2000.0, about="total 2000")),
]


def test_only_what_the_figures_need_is_run() -> None:
    made = plan([tuple(TOTAL)])
    assert made is not None
    assert [(number, part.cell.cell_id) for number, part in made.parts] == [(1, "a"), (3, "c")]
    assert made.wanted == {"c"}
    assert made.expected_s == 2.0


def test_the_same_output_is_reproduced() -> None:
    found = again([tuple(TOTAL)])
    assert (found.state, found.cells, found.figures, found.differences) == ("reproduced", 2, 1, ())


def test_another_value_at_the_place_differs() -> None:
    found = again([tuple(TOTAL)], c=ran("c", "", "total 1999\n"))
    assert [(one.label, one.was, one.now, one.cell) for one in found.differences] == [("2,000", "2,000", "1,999", 3)]


def test_a_value_that_is_gone_differs() -> None:
    found = again([tuple(TOTAL)], c=ran("c", "", ""))
    assert [one.now for one in found.differences] == ["–"]


def test_other_text_around_the_value_is_no_difference() -> None:
    assert again([tuple(TOTAL)], c=ran("c", "", "total 2000 in 3.5 s\n")).state == "reproduced"


def test_a_report_that_rests_on_no_cell_has_no_plan() -> None:
    turns = [(ASKED, ran("a", "x = 1"), done())]
    assert plan(turns) is None
    assert not rests_on_cells(turns)
    assert plan([(ASKED,)]) is None


def test_cells_before_a_reset_are_not_run() -> None:
    before = (ASKED, ran("a", "x = 2000"), Forgot(done=True, user="U1", author="Ana", text=""))
    made = plan([before, tuple(TOTAL[2:])])
    assert made is not None
    assert [part.cell.cell_id for _, part in made.parts] == ["c"]


def test_a_table_that_figures_come_from_is_compared_as_a_whole() -> None:
    def table(*rows: tuple[Any, ...]) -> TableData:
        return TableData(columns=("k", "v"), dtypes=("str", "int"), rows=rows, total_rows=len(rows), total_columns=2)

    turns = [
        (
            ASKED,
            ran("a", "t", tables=(table(("N", 1200), ("S", 800)),)),
            done(figure("1,200", "a", 1200.0, what="table", about="N v")),
        )
    ]
    assert again(turns).state == "reproduced"
    found = again(turns, a=ran("a", "t", tables=(table(("N", 1200), ("S", 801)),)))
    assert [one.what for one in found.differences] == ["table"]
    assert again(turns, a=ran("a", "t", tables=(table(("N", 1200.0000000001), ("S", 800)),))).state == "reproduced"


def test_charts_are_compared_by_their_points_whatever_their_pictures_are_called() -> None:
    def chart(name: str, *values: float) -> ChartData:
        points = tuple(zip("ab", values, strict=False))
        series = SeriesData(kind="bar", name="v", points=points, total_points=len(values))
        return ChartData(figure=name, title="Sales", x="k", y="v", series=(series,))

    source = figure("1,200", "a", 1200.0, what="chart", line=0, about="chart-2.png: v a")
    turns = [(ASKED, ran("a", "plot()", charts=(chart("chart-2.png", 1200, 800),)), done(source))]
    found = again(turns, a=ran("a", "", charts=(chart("chart-1.png", 1200, 800),)))
    assert (found.state, found.charts, found.figures) == ("reproduced", 1, 1)
    found = again(turns, a=ran("a", "", charts=(chart("chart-1.png", 1200, 801),)))
    assert [(one.what, one.label, one.was, one.now) for one in found.differences] == [
        ("chart", "Sales", "b → 800", "b → 801")
    ]
    assert [one.what for one in again(turns, a=ran("a", "")).differences] == ["figure", "chart"]


def test_a_figure_without_a_number_is_traced_again() -> None:
    report = "It was on 2024-03-05."
    source = figure("2024-03-05", "a", None)
    turns = [(ASKED, ran("a", "print(day)", "day 2024-03-05\n"), done(source, report=report))]
    assert again(turns).state == "reproduced"
    assert again(turns, a=ran("a", "", "day 2024-03-06\n")).state == "differs"


EFFECTS = {
    "shell": [ran("a", "wc -l sales.csv > n.txt", language="bash"), ran("c", "print(open('n.txt').read())", "2000\n")],
    "network": [ran("a", "import requests\nx = requests.get(u)"), ran("c", "print(x)", "2000\n")],
    "process": [ran("a", "import subprocess\nx = subprocess.run(['ls'])"), ran("c", "print(x)", "2000\n")],
    "outside": [ran("a", "open('/srv/x', 'w').write('1')\nx = 2000"), ran("c", "print(x)", "2000\n")],
    "no_rows": [
        ran("a", "x = query('select 1')", statements=(StatementRan(source="s", sql="select 1", rows=1),)),
        ran("c", "print(x)", "2000\n"),
    ],
    "approved": [
        Questioned(
            call_id="approve:1", question="?", approval=Approval(what="python", title="", code="", call="call-a")
        ),
        Decided(call_id="approve:1", outcome="run"),
        ran("a", "x = 2000"),
        ran("c", "print(x)", "2000\n"),
    ],
}


@pytest.mark.parametrize("why", EFFECTS)
def test_a_cell_with_effects_and_what_rests_on_it_are_not_run(why: str) -> None:
    made = plan([(ASKED, *EFFECTS[why], done(figure("2,000", "c", 2000.0)))])
    assert made is not None
    assert (made.parts, made.unseen) == ((), {"c"})
    assert [(one.cell, one.why) for one in made.left_out] == [(1, why)]


def test_code_that_ran_on_a_yes_from_before_its_statement_is_no_less_approved() -> None:
    stopped = ran("a", "x = 2000", status="error", ended_by="question")
    sent = Questioned(
        call_id="approve:2", question="Send it?", approval=Approval(what="statement", title="s", code="SELECT 1")
    )
    yes = Decided(call_id="approve:2", outcome="run", user="U1", author="Ana", ts="3.0")
    steps = [*EFFECTS["approved"][:2], stopped, sent, yes, ran("b", "x = 2000"), ran("c", "print(x)", "2000\n")]
    made = plan([(ASKED, *steps, done(figure("2,000", "c", 2000.0)))])
    assert made is not None
    assert (made.parts, made.unseen) == ((), {"c"})
    assert {one.why for one in made.left_out} == {"approved"}


def test_what_a_failed_cell_showed_before_its_error_is_compared_and_the_rest_is_not() -> None:
    failed = {"status": "error", "error_name": "KeyError", "error_line": 3}
    code = "x = 2000\nprint('first', x)\nfor y in [3000]:\n    print('second', y)\n    d['a']"
    cells = [ran("a", code, "first 2000\nsecond 3000\n", **failed), ran("b", "print('third', x)", "third 2000\n")]
    figures = [figure("2,000", "a", 2000.0), figure("3,000", "a", 3000.0, line=2), figure("2,000", "b", 2000.0)]
    turns = [(ASKED, *cells, done(*figures))]
    found = again(turns, a=ran("a", "", "first 2000\n"))
    assert (found.state, found.figures, found.unseen, found.of_failed) == ("partly", 2, 1, True)
    assert "1 figure not checked because a cell that failed showed it" in badge(found, "en")


def test_a_cell_with_effects_that_nothing_needs_is_not_named() -> None:
    steps = [ran("z", "import requests\nz = requests.get(u)"), *TOTAL[1:]]
    made = plan([(ASKED, *steps)])
    assert made is not None
    assert (made.left_out, made.unseen) == ((), frozenset())


def failing(name: str, message: str) -> CellRan:
    return ran("c", "", status="error", error_name=name, error=f"Traceback\n{name}: {message}")


def test_what_a_stopped_cell_set_before_its_line_is_there_for_the_next_cell() -> None:
    stopped = {"status": "killed", "error_name": "KeyboardInterrupt", "error_line": 3}
    cells = [
        ran("a", "x = 2000\nfor y in range(10**9):\n    z = y", **stopped),
        ran("b", "print('total', x)", "total 2000\n"),
    ]
    turns = [(ASKED, *cells, done(figure("2,000", "b", 2000.0)))]
    made = plan(turns)
    assert made is not None
    assert [part.code for _, part in made.parts] == ["x = 2000", "print('total', x)"]
    found = again(turns, a=ran("a", "x = 2000"), b=ran("b", "print('total', x)", "total 2000\n"))
    assert (found.state, found.partly_run) == ("reproduced", (1,))


def test_the_reasons_of_a_cell_that_fails_now() -> None:
    show = ran("c", "print('total', x)", "total 2000\n")
    end = done(figure("2,000", "c", 2000.0))
    missing = failing("NameError", "name 'x' is not defined")
    failed = ran("a", "for x in [2000]:\n    1 / 0", status="error", error_name="ZeroDivisionError", error_line=2)
    undone = ran("a", "x = 2000", status="undone")

    def reason(*cells: CellRan, now: CellRan = missing) -> list[tuple[str, int, str]]:
        found = again([(ASKED, *cells, end)], c=now)
        return [(one.why, one.other, one.name) for one in found.differences]

    assert reason(failed, show) == [("failed_cell", 1, "x")]
    assert reason(undone, show) == [("undone_cell", 1, "x")]
    assert reason(show) == [("error", 0, "x")]
    gone = failing("FileNotFoundError", "[Errno 2] No such file or directory: 'rates.csv'")
    read = ran("c", "print('total', open('rates.csv').read())", "total 2000\n")
    assert reason(read, now=gone) == [("file_gone", 0, "rates.csv")]
    wrote = ran("a", "open('rates.csv', 'w').write('2000')", status="undone")
    assert reason(wrote, read, now=gone) == [("undone_cell", 1, "rates.csv")]


def test_a_session_that_was_moved_without_its_variables_is_a_reason() -> None:
    moved = Moved(node="n2", came=True, lost=("x",))
    found = again([(moved, *TOTAL)], c=ran("c", "", "total 1\n"))
    assert [one.why for one in found.differences] == ["restart"]


def test_names_that_several_cells_set_are_a_reason() -> None:
    steps = [ASKED, ran("a", "x = 1"), ran("b", "x = x + 1999"), *TOTAL[3:]]
    assert [one.why for one in again([tuple(steps)], c=ran("c", "", "total 1\n")).differences] == ["order"]
    assert [one.why for one in again([tuple(TOTAL)], c=ran("c", "", "total 1\n")).differences] == ["unknown"]


def test_text_files_are_compared_and_others_are_not() -> None:
    def file(name: str, digit: str) -> StoredFile:
        return StoredFile(name=name, mimetype="text/csv", size=1, sha256=digit * 64)

    turns = [(ASKED, ran("a", "save()", files=(file("a.csv", "1"), file("b.xlsx", "2"))), done())]
    found = again(turns, a=ran("a", "", files=(file("a.csv", "1"), file("b.xlsx", "3"))))
    assert (found.state, found.files) == ("reproduced", 1)
    assert [one.label for one in again(turns, a=ran("a", "", files=(file("a.csv", "4"),))).differences] == ["a.csv"]


DRAWS = {
    "import numpy as np\nnp.random.rand()": True,
    "import numpy as np\nnp.random.seed(1)\nnp.random.rand()": False,
    "import numpy as np\nnp.random.seed()\nnp.random.rand()": True,
    "import numpy as np\nnp.random.default_rng()": True,
    "import numpy as np\nnp.random.default_rng(3)": False,
    "import numpy as np\nnp.random.default_rng(seed=3)": False,
    "from numpy.random import default_rng\ndefault_rng()": True,
    "import random\nrandom.choice([1, 2])": True,
    "import random\nrandom.seed(2)\nrandom.choice([1, 2])": False,
    "import random\nrandom.Random(4).random()": False,
    "df.sample(3)": True,
    "df.sample(3, random_state=1)": False,
    "df.sample(3, random_state=None)": True,
    "from sklearn.model_selection import train_test_split\ntrain_test_split(x)": True,
    "from sklearn.cluster import KMeans\nKMeans(3, random_state=0)": False,
    "import uuid\nuuid.uuid4()": True,
    "x = 1": False,
    "not python (": False,
}


@pytest.mark.parametrize("code", DRAWS)
def test_draws_without_a_seed_are_found(code: str) -> None:
    assert draws([code]) == DRAWS[code]


def test_a_seed_of_another_cell_counts() -> None:
    assert not draws(["import numpy as np\nnp.random.seed(1)", "np.random.rand()"])


SURELY = {
    "import numpy as np\nnp.random.rand()": True,
    "from numpy.random import normal\nnormal(size=3)": True,
    "import numpy as np\nnp.random.default_rng().normal()": True,
    "import numpy as np\nnp.random.default_rng(1).normal()": False,
    "import numpy as np\nnp.random.seed(1)\nnp.random.rand()": False,
    "import random\nrandom.choice([1, 2])": True,
    "import random\nrandom.seed(2)\nrandom.choice([1, 2])": False,
    "import random\nrandom.seed()\nrandom.choice([1, 2])": True,
    "import random\nrandom.Random(4).sample([1, 2], 1)": False,
    "import random\nrng = random.Random(4)\nrng.sample([1, 2], k=1)": False,
    "import random\nrandom = random.Random(4)\nrandom.choice([1, 2])": False,
    "from random import Random\nrandom = Random(4)\nrandom.choice([1, 2])": False,
    "import pandas as pd\ndf = pd.read_csv('a.csv')\ndf.sample(3)": True,
    "import pandas as pd\ndf = pd.read_csv('a.csv')\ndf.sample(n=3)": True,
    "import pandas as pd\ndf = pd.read_csv('a.csv')\ndf.sample(3, random_state=1)": False,
    "import pandas as pd\ndf = pd.read_csv('a.csv')\ndf = Model(seed=1)\ndf.sample(3)": False,
    "import pandas as pd\ndf = pd.read_csv('a.csv')\ndf.sample(3, **options)": False,
    "import pandas as pd\nimport numpy as np\nnp.random.seed(1)\ndf = pd.read_csv('a.csv')\ndf.sample(3)": False,
    "part.sample(frac=0.1)": True,
    "part.sample(frac=0.1, random_state=0)": False,
    "part.sample(frac=0.1, seed=0)": False,
    "mixture.sample(100)": False,
    "def sample(n):\n    return n\nsample(3)": False,
    "def shuffle(n):\n    return n\nshuffle(3)": False,
    "from sklearn.model_selection import train_test_split\ntrain_test_split(x)": True,
    "from sklearn.model_selection import train_test_split\ntrain_test_split(x, shuffle=False)": False,
    "from sklearn.cluster import KMeans\nKMeans(3, random_state=0)": False,
    "from sklearn.tree import DecisionTreeClassifier\nDecisionTreeClassifier()": False,
    "import numpy as np\ndef never():\n    return np.random.rand()": False,
    "import numpy as np\ndef often():\n    return np.random.rand()\nprint(often())": True,
    "def f(random):\n    return random.choice([1])\nimport random\nf(1)": False,
    "import uuid\nuuid.uuid4()": False,
    "import time\ntime.time()": False,
    "not python (": False,
}


@pytest.mark.parametrize("code", SURELY)
def test_only_draws_that_are_certain_are_told_of(code: str) -> None:
    assert surely_draws([code]) == SURELY[code]


CLOCKS = {
    "import time\ntime.time()": True,
    "from datetime import datetime\ndatetime.now()": True,
    "import datetime\ndatetime.date.today()": True,
    "import pandas as pd\npd.Timestamp.now()": True,
    "import pandas as pd\npd.to_datetime('today')": True,
    "import pandas as pd\npd.to_datetime('2024-01-01')": False,
    "import time\ntime.sleep(1)": False,
}


@pytest.mark.parametrize("code", CLOCKS)
def test_looks_at_the_clock_are_found(code: str) -> None:
    assert reads_clock([code]) == CLOCKS[code]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_outcome_has_words(language: Any) -> None:
    for reason in ("waiting", "effects", "too_long", "memory", "interrupted", "stopped", "host", "failed"):
        assert badge(CleanRoom(state="unchecked", reason=reason), language)
    for why in ("shell", "process", "network", "outside", "approved", "no_rows"):
        assert say(f"clean_left_{why}", language)
    outcome = {"what": "figure", "label": "2,000", "cell": 3, "was": "1", "now": "2"}
    whys = (
        "random",
        "time",
        "failed_cell",
        "undone_cell",
        "file_gone",
        "left_out",
        "restart",
        "error",
        "order",
        "unknown",
    )
    for why in whys:
        made = CleanRoom.model_validate({"state": "differs", "differences": [{**outcome, "why": why}] * 5})
        assert "2,000" in badge(made, language)
        assert len(badge(made, language)) < 1_500
