"""The dates that are written into code: they are the same ones in each run. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from workers.agent.code.source import tree

_DATE = r"(?:19|20)\d\d-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?"
_TIME = r"(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"
_WHOLE = re.compile(f"({_DATE}){_TIME}")
_QUOTED = re.compile(f"(['\"])({_DATE}){_TIME}\\1")
"""A date in the text of a statement or of a filter: `day >= '2026-11-01'`."""


def fixed_dates(codes: Iterable[str]) -> list[str]:
    """The dates and months that these cells name, each once, in order of time. Titles that hold one do not count."""
    found: set[str] = set()
    for code in codes:
        for node in ast.walk(tree(code) or ast.Module(body=[], type_ignores=[])):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                if whole := _WHOLE.fullmatch(node.value.strip()):
                    found.add(whole[1])
                found.update(quoted[2] for quoted in _QUOTED.finditer(node.value))
    return sorted(found)
