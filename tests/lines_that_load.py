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
from pathlib import Path
from typing import Any

import duckdb
import mammoth
import pandas as pd
import pdfplumber
import pptx
import pyreadstat

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
