"""The team's list of modules: what a cell imports beside it is found in the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.agent.code.imports import BASE, listed, unlisted

ALLOWED = listed(["base", "pandas", "matplotlib", "os.path"])


def test_base_stands_for_its_modules_once() -> None:
    assert listed(["math", "base", "pandas"]) == ("math", *(name for name in BASE if name != "math"), "pandas")


@pytest.mark.parametrize(
    "code",
    [
        "import pandas as pd, math",
        "import matplotlib.pyplot as plt\nfrom matplotlib import ticker",
        "from os.path import join",
        "from os import path",
        "from team import churn_rate\nfrom threadbook_tools import trend\nfrom __future__ import annotations",
        "x = 1\ndef f():\n    from collections import Counter\n    return Counter()",
        "importlib = 'os'",
        "this is no Python",
        "__import__('math')",
    ],
)
def test_code_that_keeps_to_the_list_imports_nothing_else(code: str) -> None:
    assert unlisted(code, ALLOWED) == ()


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import os", ("os",)),
        ("import os, sys\nimport os", ("os", "sys")),
        ("import pandas_datareader", ("pandas_datareader",)),
        ("from subprocess import run", ("subprocess",)),
        ("from os import path, system", ("os",)),
        ("def f():\n    import socket", ("socket",)),
        ("from . import helper", (".",)),
        ("__import__('os')", ("os",)),
        ("import math\nm = __import__('o' + 's')", ("__import__",)),
        ("import importlib\nimportlib.import_module('os')", ("importlib", "os")),
        ("try:\n    import numpy\nexcept ImportError:\n    pass", ("numpy",)),
    ],
)
def test_what_the_list_does_not_name_is_found(code: str, found: tuple[str, ...]) -> None:
    assert unlisted(code, ALLOWED) == found


@given(st.text(max_size=60))
def test_no_text_makes_it_fail(text: str) -> None:
    unlisted(text, ALLOWED)
    unlisted(f"import {text}", ALLOWED)
