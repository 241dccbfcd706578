"""Runs notebooks to their end in a kernel of their own."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode
from patience import PATIENCE_S
from traitlets.config import Config


def run_notebook(book: NotebookNode, folder: Path) -> None:
    """Run all cells in `folder`; their outputs are in the notebook afterwards.

    The kernel listens on unix sockets. Jupyter takes TCP ports that were free a moment ago, and on a busy machine
    another process may have taken them. Socket paths must be short, so they are not below the test's folder.
    """
    with tempfile.TemporaryDirectory(prefix="nb-") as short, pytest.MonkeyPatch.context() as patch:
        for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR"):
            patch.setenv(name, short)
        sockets = Config({"KernelManager": {"transport": "ipc", "ip": f"{short}/k"}})
        NotebookClient(
            book,
            config=sockets,
            kernel_name="python3",
            resources={"metadata": {"path": str(folder)}},
            startup_timeout=PATIENCE_S,
            timeout=PATIENCE_S,
        ).execute()
