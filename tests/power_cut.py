"""A power cut, played: after the kill a folder becomes what was on the disk for sure.

`unsynced.c` is loaded into the processes and copies every file and every folder's names at each fsync. `cut` puts the
folder together again from these copies. What was written and not synced is gone, a new name whose folder was not synced
is gone, and a file that was removed without a sync of its folder is back.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from services import missing

_SOURCE = Path(__file__).with_name("unsynced.c")


class PowerCut:
    """For one folder. It must exist, and counts as synced as it is now."""

    def __init__(self, root: Path, work: Path) -> None:
        """`work` is a folder outside of it, which is made, for the copies."""
        work.mkdir()
        self._root = root.resolve()
        self._disk = work / "disk"
        self._library = work / "unsynced.so"
        self._disk.mkdir()
        if (compiler := shutil.which("cc") or shutil.which("gcc")) is None:
            missing("a C compiler", "there is no `cc` on the PATH")
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", self._library, _SOURCE, "-ldl"], check=True)
        self._sync_all()

    @property
    def environment(self) -> dict[str, str]:
        """For the processes that write there."""
        return {
            "LD_PRELOAD": str(self._library),
            "UNSYNCED_ROOT": str(self._root),
            "UNSYNCED_DISK": str(self._disk),
        }

    def cut(self) -> None:
        """Make the folder what was on the disk. Whoever writes there must have been killed."""
        for path in self._root.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        self._restore(self._root, _key(self._root))
        for path in self._disk.iterdir():
            path.unlink()
        self._sync_all()

    def _restore(self, folder: Path, key: str) -> None:
        names = self._disk / f"{key}.names"
        for entry in names.read_bytes().split(b"\0")[:-1] if names.exists() else ():
            about, _, name = entry.partition(b" ")
            kind, inner, path = about[:1], about[1:].decode(), folder / os.fsdecode(name)
            if kind == b"d":
                path.mkdir(mode=0o700)
                self._restore(path, inner)
                continue
            content = self._disk / inner
            path.write_bytes(content.read_bytes() if content.exists() else b"")  # its name was synced, it was not
            path.chmod(0o600)

    def _sync_all(self) -> None:
        """What is there now is on the disk."""
        paths = [path for path in (self._root, *self._root.rglob("*")) if path.is_dir() or path.is_file()]
        code = "import os, sys\nfor path in sys.argv[1:]: os.fsync(os.open(path, os.O_RDONLY))"
        environment = {**os.environ, **self.environment}
        subprocess.run([sys.executable, "-S", "-c", code, *paths], env=environment, check=True)


def _key(path: Path) -> str:
    """As in unsynced.c; Python does not tell a file's birth, `stat` does."""
    born = subprocess.run(["stat", "-c", "%i %.9W", path], capture_output=True, text=True, check=True).stdout
    inode, seconds = born.split()
    whole, _, nanos = seconds.partition(".")
    return f"{inode}-{whole}-{int(nanos)}"
