"""A cell's source becomes code: its statements, and its last expression apart."""

from __future__ import annotations

from typing import Any

import pytest
from restless import STATEMENTS, read_by_many

from executor.inside import compiling
from executor.inside.compiling import compile_cell


def run(code: str) -> tuple[dict[str, Any], Any]:
    """The names that a cell sets, and the value that it shows."""
    names: dict[str, Any] = {}
    compiled = compile_cell(code, "<cell 1>")
    exec(compiled.body, names)
    return names, eval(compiled.last, names) if compiled.last else None


def test_the_last_expression_is_shown_and_everything_before_it_is_run() -> None:
    names, shown = run("x = 1\nx + 1")
    assert (names["x"], shown) == (1, 2)


@pytest.mark.parametrize("code", ["", "x = 1", "x = 1; x + 1;", "# nothing", "if True:\n    3"])
def test_a_cell_that_ends_otherwise_shows_nothing(code: str) -> None:
    assert run(code)[1] is None


def test_a_future_import_holds_for_the_cells_after_it() -> None:
    future = compile_cell("from __future__ import annotations", "<cell 1>").future
    names: dict[str, Any] = {}
    exec(compile_cell("def f(x: nowhere): pass", "<cell 2>", future).body, names)
    assert names["f"].__annotations__ == {"x": "nowhere"}


@pytest.mark.parametrize("code", ["x = (", "return 1", "x = 1\n  y = 2"])
def test_what_is_no_python_raises_what_python_raises(code: str) -> None:
    with pytest.raises(SyntaxError) as found:
        compile_cell(code, "<cell 1>")
    assert found.value.filename == "<cell 1>"


def test_a_cell_compiles_while_other_threads_parse() -> None:
    """With `compile` alone some of these calls raise SystemError on CPython 3.11."""
    assert read_by_many(lambda code: len(compile_cell(code, "<cell 1>").tree.body)) == {STATEMENTS}


def test_an_error_that_says_nothing_about_the_code_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = iter([SystemError, SystemError])

    def compiled(*given: Any, **named: Any) -> Any:
        for error in errors:
            raise error
        return compile(*given, **named)

    monkeypatch.setattr(compiling, "compile", compiled, raising=False)
    assert run("x = 1\nx + 1")[1] == 2
