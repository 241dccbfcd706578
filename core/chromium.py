"""Prints a page of ours as PDF by the Chromium that is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

from core.errors import ThreadbookError

_BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
_PRINT_S: Final = 120


_FONTS: Final = """\
<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <dir>{folder}</dir>
</fontconfig>
"""
_EASTERN: Final = ("NotoSansCJKsc-Regular.otf", "NotoSansMonoCJKsc-Regular.otf")
"""The fonts of charts that have Chinese, Japanese and Korean letters: a server seldom has any of its own."""


class NotPrinted(ThreadbookError):
    """Nothing was printed; the message says why."""


def browser() -> str | None:
    """The path of a Chromium, None when there is none."""
    return next((path for name in _BROWSERS if (path := shutil.which(name))), None)


def command(path: str, folder: Path, source: Path, printed: Path, *, walled: bool) -> list[str]:
    """What prints `source`: nothing is looked up in the network. `walled`: only inside Chromium's own sandbox."""
    options = ["--headless", "--disable-gpu", "--no-pdf-header-footer", "--disable-background-networking"]
    options += ["--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={folder}/profile"]
    options += [] if walled else ["--no-sandbox"]
    return [path, *options, f"--print-to-pdf={printed}", source.as_uri()]


def printed(page: bytes, *, walled: bool, limit_s: float = _PRINT_S) -> bytes:
    """The page as PDF. Raises NotPrinted.

    The browser gets a folder of its own and no variable of our environment, so it knows no secret. A page holds
    pictures that code of strangers drew: the service has it printed inside Chromium's sandbox or not at all (`walled`).
    """
    path = browser()
    if path is None:
        raise NotPrinted("No Chromium is installed.")
    with tempfile.TemporaryDirectory(prefix="threadbook-") as name:
        folder = Path(name)
        source, target = folder / "report.html", folder / "report.pdf"
        source.write_bytes(page)
        known = {"PATH": os.defpath, "HOME": name, "LANG": "C.UTF-8", "FONTCONFIG_FILE": str(_fonts(folder))}
        try:
            done = subprocess.run(
                command(path, folder, source, target, walled=walled),
                capture_output=True,
                timeout=limit_s,
                check=False,
                env=known,
                cwd=name,
            )
        except (subprocess.TimeoutExpired, OSError) as error:
            raise NotPrinted(f"{path} did not print: {type(error).__name__}.") from error
        if not target.exists():
            raise NotPrinted(f"{path} printed nothing (exit code {done.returncode}).")
        return target.read_bytes()


def _fonts(folder: Path) -> Path:
    """A list of fonts for the browser: those of the machine, and ours."""
    ours = folder / "fonts"
    ours.mkdir()
    spec = find_spec("mplfonts")
    for place in spec.submodule_search_locations or () if spec is not None else ():
        for font in (Path(place) / "fonts" / name for name in _EASTERN):
            if font.is_file():
                (ours / font.name).symlink_to(font)
    listed = folder / "fonts.conf"
    listed.write_text(_FONTS.format(folder=escape(str(ours))), encoding="utf-8")
    return listed
