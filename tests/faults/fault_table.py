"""docs/reliability.md: the result of each row in the last run of the tests. `UPDATE_RELIABILITY=1` writes it."""

from __future__ import annotations

import os
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
_ROW = re.compile(r"^\| (?P<fault>[^|]+) \| (?P<moment>[^|]+) \| (?P<result>[^|]+) \| (?P<seconds>[^|]+) \|$")
_BEGIN, _END = "<!-- rows -->", "<!-- end of rows -->"


class Table:
    """The rows of this run; rows that did not run stay as they are on the page."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], tuple[str, str]] = {}

    def note(self, fault: str, moment: str, result: str, seconds: float | None) -> None:
        """Add a row; `seconds` from the end of the fault (or from the fault, when nothing ended it) to the answer."""
        self._rows[fault, moment] = (result, "–" if seconds is None else f"{seconds:.0f}")

    def write(self) -> None:
        """Write the rows into the page, if UPDATE_RELIABILITY is set."""
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
        faults = list(dict.fromkeys(fault for fault, _ in rows))
        lines = ["| fault | moment | result | seconds |", "| --- | --- | --- | --- |"]
        lines += [
            f"| {fault} | {moment} | {result} | {seconds} |"
            for (fault, moment), (result, seconds) in sorted(rows.items(), key=lambda row: faults.index(row[0][0]))
        ]
        body = "\n".join(lines)
        PAGE.write_text(f"{head}{_BEGIN}\n{body}\n{_END}{tail}", encoding="utf-8")


def write_soak(line: str, name: str) -> None:
    """Write the result of a soak into its place on the page, if UPDATE_RELIABILITY is set."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    if os.environ.get("UPDATE_RELIABILITY"):
        head, _, rest = PAGE.read_text(encoding="utf-8").partition(begin)
        _, _, tail = rest.partition(end)
        PAGE.write_text(f"{head}{begin}\n{line}\n{end}{tail}", encoding="utf-8")
