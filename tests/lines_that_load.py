"""Runs the lines of Python that load a file, as its description gives them."""

from __future__ import annotations

import gc
import gzip
import io
import json
import sqlite3
import tempfile
import warnings
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import mammoth
import openpyxl
import pandas as pd
import pdfplumber
import pptx
import pyreadstat
import xlwt

from core.steps import FileAbstract, FileProblem

MODULES = {
    "pd": pd, "Path": Path, "json": json, "sqlite3": sqlite3, "duckdb": duckdb, "zipfile": zipfile, "gzip": gzip,
    "io": io, "tempfile": tempfile, "pyreadstat": pyreadstat, "pdfplumber": pdfplumber, "mammoth": mammoth,
    "pptx": pptx,
}  # fmt: skip


def loaded(line: str) -> Any:
    """What a line loads. It leaves its file to the collector, so that runs here; it walks what is left only once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        found = eval(line, dict(MODULES))
        gc.collect()
        gc.freeze()
    return found


def sole(described: tuple[list[FileAbstract], list[FileProblem]]) -> FileAbstract:
    """The only file of an answer, which has no problem."""
    (abstract,), problems = described
    assert not problems
    return abstract


def save_sheet(path: Path, rows: Sequence[Sequence[object]]) -> None:
    """A workbook with one sheet of these rows; the ending of the path says whether it is a new or an old one."""
    if path.suffix == ".xlsx":
        book = openpyxl.Workbook()
        for row in rows:
            book.worksheets[0].append(row)
        book.save(path)
        return
    old = xlwt.Workbook()
    sheet = old.add_sheet("A")
    for place, row in enumerate(rows):
        for column, value in enumerate(row):
            sheet.write(place, column, value)
    old.save(str(path))
