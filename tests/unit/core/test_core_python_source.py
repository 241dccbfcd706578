"""Python is read without running it, by many threads at once."""

from __future__ import annotations

import ast
import os
import warnings

import pytest
from restless import STATEMENTS, read_by_many

from core import python_source


def test_threads_may_read_python_at_the_same_time() -> None:
    """With `ast.parse` itself some of these calls raise SystemError on CPython 3.11."""
    assert read_by_many(lambda code: len(python_source.parsed(code).body)) == {STATEMENTS}


def test_a_process_that_is_forked_while_a_thread_reads_can_read() -> None:
    with python_source._alone:  # as if that thread held it
        child = os.fork()
        if child == 0:
            os._exit(int(python_source.literal("[7]")[0]))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_a_literal_is_read_as_python_does() -> None:
    text = " {'a': (1, -2.5, None), 'b': {True}}"
    assert python_source.literal(text) == ast.literal_eval(text)


@pytest.mark.parametrize(
    ("text", "error"), [("f(1)", ValueError), ("(1", SyntaxError), ("\0", (SyntaxError, ValueError))]
)
def test_what_is_no_literal_raises_what_python_raises(text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        python_source.literal(text)


def test_a_wrong_escape_in_a_text_warns_nobody() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert python_source.parsed(r"'\d'").body
