"""The hand-over pack holds all of a thread's answer, and its one command runs the code again elsewhere."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from report_cases import CHART, LOAD, SHORT, SUMMED, case

from core.steps import CellRan, ChartData, SeriesData, TableData
from workers.delivery.reports import pack as pack_module
from workers.delivery.reports import render_report
from workers.delivery.reports.pack import PackInput, pack, requirements, requirements_of, safe_path

COUNT = CellRan(
    call_id="1",
    cell_id="c1",
    title="Count",
    code='rows = open("sales.csv").read().split()\nprint(len(rows))\nopen("count.txt", "w").write(str(len(rows)))',
    status="ok",
    stdout="3\n",
)


def given(**changes: object) -> PackInput:
    report = case("There are 3.", cells=(COUNT,), pictures={CHART.sha256: b"PNG"})
    return PackInput(report, render_report(report).files, **({"inputs": {"sales.csv": b"a b c"}} | changes))  # type: ignore[arg-type]


def names(data: bytes) -> list[str]:
    return zipfile.ZipFile(io.BytesIO(data)).namelist()


def test_the_pack_holds_report_code_charts_tables_data_and_how_to_run_it() -> None:
    table = TableData(columns=("n",), dtypes=("str",), rows=(("=cmd|x",),), total_rows=1, total_columns=1)
    summed = SUMMED.model_copy(update={"tables": (table,)})
    report = case(SHORT.report, cells=(LOAD, summed), pictures={CHART.sha256: b"PNG"})
    data = pack(
        PackInput(
            report, render_report(report).files, {"sales.csv": b"1"}, {"summary.csv": b"2"}, {"big.csv": "f" * 64}
        )
    )
    assert names(data) == [
        "README.md",
        "report.html",
        "report.md",
        "analysis.ipynb",
        "analysis.py",
        "requirements.txt",
        "Makefile",
        "work/.keep",
        "work/sales.csv",
        f"charts/{CHART.name}",
        "tables/cell-2.csv",
        "made/summary.csv",
    ]
    archive = zipfile.ZipFile(io.BytesIO(data))
    assert f"- big.csv (SHA-256 {'f' * 64})" in archive.read("README.md").decode()
    assert "'=cmd|x" in archive.read("tables/cell-2.csv").decode("utf-8-sig")


def test_charts_of_one_name_are_all_in_the_pack() -> None:
    second = CHART.model_copy(update={"sha256": "d" * 64})
    again = SUMMED.model_copy(update={"cell_id": "c9", "figures": (second, CHART)})
    report = case("See the chart.", cells=(SUMMED, again), pictures={CHART.sha256: b"first", second.sha256: b"second"})
    archive = zipfile.ZipFile(io.BytesIO(pack(PackInput(report, render_report(report).files))))
    charts = {name: archive.read(name) for name in archive.namelist() if name.startswith("charts/")}
    stem = f"charts/{CHART.name.removesuffix('.png')}"
    assert charts == {f"{stem}.png": b"first", f"{stem}-2.png": b"second"}


def test_the_data_of_each_chart_is_a_file_beside_its_picture() -> None:
    def series(name: str, *points: tuple[str, float], total: int = 0) -> SeriesData:
        return SeriesData(kind="bar", name=name, points=points, total_points=total or len(points))

    def drawn(*given: SeriesData, figure: str = CHART.name) -> ChartData:
        return ChartData(figure=figure, title="Units", x="region", y="units", series=given)

    first = drawn(series("2025", ("North", 3), ("=South", 3.5)), series("2026", ("North", 4), ("=South", 5)))
    second = drawn(series("2026", ("2026-01-01", 4), total=500))
    strange = drawn(series("", ("x", 1)), figure="../../x.png")
    cell = SUMMED.model_copy(update={"charts": (first, second, drawn(), strange)})
    report = case(SHORT.report, cells=(LOAD, cell), pictures={CHART.sha256: b"PNG"})
    archive = zipfile.ZipFile(io.BytesIO(pack(PackInput(report, render_report(report).files))))
    charts = [name for name in archive.namelist() if name.startswith("charts/")]
    stem = CHART.name.removesuffix(".png")
    assert charts == [f"charts/{CHART.name}", f"charts/{stem}.csv", f"charts/{stem}-2.csv", "charts/chart.csv"]
    said = archive.read(f"charts/{stem}.csv").decode("utf-8-sig")
    assert said.split() == ["region,2025,2026", "North,3,4", "'=South,3.5,5"]
    assert f"- `charts/{stem}-2.csv`: Kept: 1 of 500 points" in archive.read("README.md").decode()


def test_the_readme_of_the_pack_names_tables_that_are_not_whole() -> None:
    table = TableData(columns=("n",), dtypes=("str",), rows=(("x",),), total_rows=10_000, total_columns=40)
    report = case(SHORT.report, cells=(LOAD, SUMMED.model_copy(update={"tables": (table,)})))
    archive = zipfile.ZipFile(io.BytesIO(pack(PackInput(report, render_report(report).files))))
    told = "- `tables/cell-2.csv`: Shown: the first 1 of 10,000 rows, 1 of 40 columns."
    assert told in archive.read("README.md").decode()


def test_the_same_thread_gives_the_same_bytes() -> None:
    assert pack(given()) == pack(given())


def test_an_answer_without_code_brings_nothing_to_run() -> None:
    report = case("Hello.", cells=(), files=())
    assert names(pack(PackInput(report, render_report(report).files))) == ["README.md", "report.html", "report.md"]


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", "..\\x", "", "a\x00b", "C:\\x"])
def test_no_name_leads_out_of_the_pack(path: str) -> None:
    assert safe_path(path) == ""
    assert all(".." not in name and not name.startswith("/") for name in names(pack(given(inputs={path: b"x"}))))


def test_what_the_code_imports_is_pinned_to_what_it_ran_with() -> None:
    code = "import json\nimport pandas as pd\nfrom sklearn.linear_model import Ridge\nimport never_heard_of\n"
    report = case("x", cells=(COUNT.model_copy(update={"code": code + 'pd.read_excel("a.xlsx")'}),))
    packed = PackInput(
        report, render_report(report).files, packages=("pandas 2.2.3", "scikit-learn 1.5.0", "openpyxl 3.1.5")
    )
    *pinned, unknown = requirements(packed).splitlines()
    assert pinned == ["openpyxl==3.1.5", "pandas==2.2.3", "scikit-learn==1.5.0"]
    assert unknown == "# not installed where this ran: never-heard-of", "pip would install anybody's package"


def test_the_code_of_the_pack_runs_beside_its_data(tmp_path: Path) -> None:
    zipfile.ZipFile(io.BytesIO(pack(given()))).extractall(tmp_path)
    ran = subprocess.run(
        [sys.executable, "-I", "../analysis.py"], cwd=tmp_path / "work", capture_output=True, text=True, check=True
    )
    assert ran.stdout == "3\n"
    assert (tmp_path / "work" / "count.txt").read_text() == "3"


def test_what_is_installed_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []
    monkeypatch.setattr(pack_module, "packages_distributions", lambda: looked.append(1) or {"made_up": ["Made_Up"]})
    pack_module._distributions.cache_clear()
    try:
        for _ in range(2):
            assert requirements_of("import made_up", (), ("made-up 1.0",)) == "made-up==1.0\n"
    finally:
        pack_module._distributions.cache_clear()
    assert looked == [1]
