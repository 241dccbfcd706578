"""The environment of the session host and its zygote."""

from __future__ import annotations

import os
from pathlib import Path

_KEPT = ("PATH", "LANG", "TZ", "LD_LIBRARY_PATH")
"""What is handed on from this process's environment. Everything else stays out: a secret in the environment block of
an exec'ed process can be read by whatever runs there, even after os.environ.clear()."""


def clean_environment(folder: Path) -> dict[str, str]:
    """The environment for the host and its zygote.

    Of this process's environment it has only the places of programs. Private files are in `folder`.
    """
    package_root = str(Path(__file__).resolve().parent.parent)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return {name: os.environ[name] for name in _KEPT if name in os.environ} | {
        "HOME": str(folder),
        "PYTHONPATH": package_root,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUTF8": "1",
        "MPLBACKEND": "Agg",
        "MPLCONFIGDIR": str(folder),
        # a thread in the zygote would be lost in its forks, with the locks it holds
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "NUMEXPR_NUM_THREADS": "1",
        "JE_ARROW_MALLOC_CONF": "background_thread:false",
        # glibc reserves 64 MB of addresses for each thread's heap, up to eight heaps per core. The limit on memory
        # counts addresses, so that a cell of a few threads could not start another one (mallopt(3), M_ARENA_MAX).
        "MALLOC_ARENA_MAX": "2",
        # joblib would start programs for its workers, which no subprocess may: with this it uses threads, or none
        "JOBLIB_MULTIPROCESSING": "0",
        "LOKY_MAX_CPU_COUNT": str(os.cpu_count() or 1),
        "USER": "analyst",
    }
