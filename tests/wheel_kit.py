"""Small wheels, made in a test: honest ones and hostile ones. No network and no build tool is needed for them."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

LINK = 0o120777 << 16


def wheel(
    folder: Path,
    name: str,
    version: str = "1.0",
    files: Mapping[str, str] | None = None,
    *,
    needs: tuple[str, ...] = (),
    licence: str = "MIT",
    raw: Mapping[str, str] | None = None,
    links: Mapping[str, str] | None = None,
) -> Path:
    """Write `NAME-VERSION-py3-none-any.whl`. `raw` are further entries under names that are taken as they are."""
    stem = f"{name.replace('-', '_')}-{version}"
    path = folder / f"{stem}-py3-none-any.whl"
    metadata = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"]
    metadata += [f"License: {licence}\n"] if licence else []
    metadata += [f"Requires-Dist: {one}\n" for one in needs]
    given = {f"{name.replace('-', '_')}/__init__.py": f"VERSION = {version!r}\n"} if files is None else dict(files)
    given |= {
        f"{stem}.dist-info/METADATA": "".join(metadata),
        f"{stem}.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{stem}.dist-info/RECORD": "",
        **(raw or {}),
    }
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, text in given.items():
            archive.writestr(zipfile.ZipInfo(entry), text)
        for entry, target in (links or {}).items():
            info = zipfile.ZipInfo(entry)
            info.external_attr = LINK
            archive.writestr(info, target)
    return path


SDIST_SETUP = "open({mark!r}, 'w').write('ran')\nfrom setuptools import setup\nsetup(name={name!r}, version='1.0')\n"


def sdist(folder: Path, name: str, mark: Path) -> Path:
    """A source package whose build script leaves a mark when it is run."""
    import io
    import tarfile

    path = folder / f"{name}-1.0.tar.gz"
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as archive:
        for entry, text in {
            "setup.py": SDIST_SETUP.format(mark=str(mark), name=name),
            "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        }.items():
            info = tarfile.TarInfo(f"{name}-1.0/{entry}")
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return path
