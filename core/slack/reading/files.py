"""Slack's file objects, read as untrusted data."""

from __future__ import annotations

from typing import Any

from core.tour import MODE
from core.values import REPOSITORY_MODE, FileRef

MAX_FILES = 200
"""Far more than Slack lets a person attach to one message. `workers/turn/files.py` reads fewer and names the rest."""

_OURS = (MODE, REPOSITORY_MODE)
"""Modes that no event may claim."""
_MAX_TEXT = 500
_MAX_URL = 4_000


def file_refs(files: Any) -> tuple[FileRef, ...]:
    """The files of a message or event. Items that are not file objects, or have no id, are left out; texts are cut."""
    if not isinstance(files, list):
        return ()
    return tuple(ref for item in files[:MAX_FILES] if (ref := file_ref(item)) is not None)


def file_ref(item: Any) -> FileRef | None:
    """One file object. Without a name (Slack Connect's check_file_info) the id stands in for it."""
    if not isinstance(item, dict) or not _text(item, "id"):
        return None
    size = item.get("size")
    first, second = ("title", "name") if item.get("mode") == "list" else ("name", "title")  # each list is named “list”
    return FileRef(
        id=_text(item, "id"),
        name=_text(item, first) or _text(item, second) or _text(item, "id"),
        mimetype=_text(item, "mimetype"),
        size=size if isinstance(size, int) and size > 0 else 0,
        url=_text(item, "url_private_download", _MAX_URL) or _text(item, "url_private", _MAX_URL),
        mode=mode if (mode := _text(item, "mode")) and mode not in _OURS else "hosted",
    )


def _text(item: dict[str, Any], key: str, limit: int = _MAX_TEXT) -> str:
    value = item.get(key)
    return value[:limit] if isinstance(value, str) else ""
