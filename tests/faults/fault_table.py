"""docs/reliability.md: what happened to each row when the tests ran last. `UPDATE_RELIABILITY=1` writes it."""

from __future__ import annotations

import os
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
_ROW = re.compile(r"^\| (?P<fault>[^|]+) \| (?P<moment>[^|]+) \| (?P<result>[^|]+) \| (?P<seconds>[^|]+) \|$")
_BEGIN, _END = "<!-- rows -->", "<!-- end of rows -->"
_SOAK, _SOAK_END = "<!-- soak -->", "<!-- end of soak -->"


class Table:
    """The rows of this run; those that did not run keep what they were."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], tuple[str, str]] = {}

    def note(self, fault: str, moment: str, result: str, seconds: float | None) -> None:
        """One row; `seconds` from the part being back (or the fault, where nobody had to help) to the answer."""
        self._rows[fault, moment] = (result, "–" if seconds is None else f"{seconds:.0f}")

    def write(self) -> None:
        """Put the rows into the page, if that is wanted."""
        if not self._rows or not os.environ.get("UPDATE_RELIABILITY"):
            return
        head, _, rest = PAGE.read_text(encoding="utf-8").partition(_BEGIN)
        old, _, tail = rest.partition(_END)
        rows = {
            (match["fault"], match["moment"]): (match["result"], match["seconds"])
            for line in old.splitlines()
            if (match := _ROW.match(line)) and match["fault"] not in ("fault", "---")
        }
        rows |= self._rows
        lines = ["| fault | moment | result | seconds |", "| --- | --- | --- | --- |"]
        lines += [
            f"| {fault} | {moment} | {result} | {seconds} |" for (fault, moment), (result, seconds) in rows.items()
        ]
        body = "\n".join(lines)
        PAGE.write_text(f"{head}{_BEGIN}\n{body}\n{_END}{tail}", encoding="utf-8")


def write_soak(line: str) -> None:
    """Put the outcome of a soak into the page, if that is wanted."""
    if os.environ.get("UPDATE_RELIABILITY"):
        head, _, rest = PAGE.read_text(encoding="utf-8").partition(_SOAK)
        _, _, tail = rest.partition(_SOAK_END)
        PAGE.write_text(f"{head}{_SOAK}\n{line}\n{_SOAK_END}{tail}", encoding="utf-8")
