"""A clean checkout is compiled once. Each worker of a run collects every test, so each would compile every file."""

from __future__ import annotations

import compileall
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from _pytest.assertion import rewrite

ROOT = Path(__file__).parents[1]
ROOMS = ("bot", "core", "executor", "playground", "prompts", "threadbook_tools", "tryout", "workers", "bench", "tests")


def compile_share(config: pytest.Config) -> None:
    """Compile this worker's share of the files before it collects; another worker compiles the next file meanwhile."""
    worker, count = os.environ.get("PYTEST_XDIST_WORKER"), int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if worker and not sys.dont_write_bytecode:
        paths = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
        compile_all(paths[int(worker.removeprefix("gw")) :: count], config)


def compile_all(paths: Sequence[Path], config: pytest.Config) -> None:
    """Write the byte code of files that have none. That of a test file has pytest's own assertions in it."""
    for path in paths:
        if not path.name.startswith("test_") and path.name != "conftest.py":
            compileall.compile_file(path, quiet=2)
            continue
        folder = rewrite.get_cache_dir(path)
        byte_code = folder / (path.stem + rewrite.PYC_TAIL)
        if not byte_code.exists():
            folder.mkdir(parents=True, exist_ok=True)
            source, code = rewrite._rewrite_test(path, config)
            rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, source, byte_code)
