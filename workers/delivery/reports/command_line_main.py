"""An analysis as a program: reads its arguments, runs `analysis.py` on the files that they name, keeps what it makes.

Needs the standard library alone: the `main.py` of a program that was made from a thread is this text, with the three
lists below filled in. `python main.py --help` says what it takes.
"""

from __future__ import annotations

import argparse
import os
import runpy
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ABOUT: dict[str, str] = {}
"""What the program answers, in words for a person: {"question", "out"}."""
INPUTS: list[dict[str, Any]] = []
"""The files that the analysis reads: the name it knows one by, the argument, what must be in it, and its columns."""
OPTIONS: list[dict[str, Any]] = []
"""The values that differ from one use to the next: name, type, value, meaning."""
TYPES = {"str": str, "int": int, "float": float}
HEAD_BYTES = 65_536
"""The names of columns stand in so much of a text file."""


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """What the command line says. Ends the program with a usage text when it is wrong."""
    parser = argparse.ArgumentParser(
        prog="main.py", description=_plain(ABOUT["question"]), formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for one in INPUTS:
        parser.add_argument(one["argument"], metavar=_plain(one["name"]), help=_plain(one["about"]))
    for one in OPTIONS:
        meaning = _plain(f"{one['meaning']} ({one['value']})")
        flag = f"--{one['name'].replace('_', '-')}"
        parser.add_argument(flag, dest=one["name"], type=TYPES[one["type"]], default=one["value"], help=meaning)
    parser.add_argument("--out", dest="out_", metavar="FOLDER", default="out", help=_plain(ABOUT["out"]))
    told = parser.parse_args(given)
    for one in INPUTS:
        path = Path(getattr(told, one["argument"]))
        if not path.is_file():
            parser.error(f"{path} is no file")
        if path.suffix.lower() != Path(one["name"]).suffix.lower():
            parser.error(f"{path}: the analysis reads a {Path(one['name']).suffix or 'file without an ending'} here")
    return told


class Steps:
    """What `analysis.py` calls beside its own code."""

    def __init__(self) -> None:
        self.number = 0

    def step(self, number: int, title: str) -> None:
        """Begin a step: its heading is printed."""
        self.number = number
        print(f"# {number}. {title}", flush=True)

    def show(self, value: object) -> None:
        """Print the value of a step; a table is written as CSV too."""
        pandas: Any = sys.modules.get("pandas")
        frame: Any = value if pandas is not None and isinstance(value, pandas.DataFrame) else None
        if pandas is not None and isinstance(value, pandas.Series):
            frame = value.to_frame(value.name if value.name is not None else "value")
        if frame is None:
            if value is not None:
                print(repr(value))
            return
        frame.to_csv(f"step-{self.number}.csv", index=type(frame.index).__name__ != "RangeIndex")
        with pandas.option_context("display.width", 200, "display.max_columns", 50, "display.max_rows", 100):
            print(value)

    def charts(self, *names: str) -> None:
        """Save the charts that a step left open under these names, and close them."""
        plotting: Any = sys.modules.get("matplotlib.pyplot")
        for place, number in enumerate(plotting.get_fignums() if plotting else ()):
            name = names[place] if place < len(names) else f"step-{self.number}-{place + 1}.png"
            plotting.figure(number).savefig(name, dpi=150, bbox_inches="tight")
        if plotting:
            plotting.close("all")


def main(given: Sequence[str] | None = None) -> int:
    """Run the analysis in a folder of its own, with the files under the names that it knows."""
    told = arguments(given)
    analysis = Path(__file__).resolve().parent / "analysis.py"
    out, before, steps = Path(told.out_).resolve(), Path.cwd(), Steps()
    files = {one["name"]: Path(getattr(told, one["argument"])).resolve() for one in INPUTS}
    known = {"step": steps.step, "show": steps.show, "charts": steps.charts}
    known |= {one["name"]: getattr(told, one["name"]) for one in OPTIONS}
    with tempfile.TemporaryDirectory(prefix="analysis-") as folder:
        try:
            for name, path in files.items():
                target = Path(folder) / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
            os.chdir(folder)
            runpy.run_path(str(analysis), init_globals=known)
        except Exception as error:
            lacking = "".join(_lacking(told, files))
            if not lacking:
                raise
            what = f"{type(error).__name__}: {error}"
            print(f"main.py: {lacking}It stopped in step {steps.number} ({what}).", file=sys.stderr)
            return 1
        finally:
            os.chdir(before)
            _keep(Path(folder), out, set(files))
    return 0


def _lacking(told: argparse.Namespace, files: Mapping[str, Path]) -> Iterator[str]:
    """The columns that the analysis needs and that a text file does not name at its head, a sentence for each file."""
    for one in INPUTS:
        path = files[one["name"]]
        if path.suffix.lower() not in (".csv", ".tsv", ".txt"):
            continue
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
        texts = [head.decode(encoding, "replace") for encoding in ("utf-8", "cp1252", "utf-16")]
        columns = [str(column).strip() for column in one["columns"]]
        if lacking := [column for column in columns if not any(column in text for text in texts)]:
            needed = f"The analysis needs {', '.join(columns)}"
            yield f"{getattr(told, one['argument'])} has no column {', '.join(lacking)}. {needed}. "


def _keep(folder: Path, out: Path, inputs: set[str]) -> None:
    """Copy what the analysis has made."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_file() and not path.is_symlink() and name.as_posix() not in inputs:
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, out / name)


def _plain(text: str) -> str:
    """A text of the thread as argparse takes it: a percent sign would begin a field."""
    return text.replace("%", "%%")


if __name__ == "__main__":
    sys.exit(main())
