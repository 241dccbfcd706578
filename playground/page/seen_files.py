"""Which files a person may open on the page: their own, and those of what they may read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from playground.workspace import File, Json, Message, User, Workspace

PictureOf = Callable[[Json], File | None]


def may_open(space: Workspace, file: File, viewer: User, picture_of: PictureOf) -> bool:
    """Whether this person uploaded the file, or may read a message, a modal or a home that shows it.

    `picture_of` gives the file that an image block shows.
    """
    if file.user == viewer.id:
        return True
    read = list(_messages(space, viewer))
    if any(file.id in message.files for message in read):
        return True
    views = [each for each in (*space.views.values(), *space.homes.values()) if each.user == viewer.id and each.open]
    shown = [*(message.blocks for message in read), *(view.payload for view in views)]
    return any(picture_of(image) is file for image in _images(shown))


def _messages(space: Workspace, viewer: User) -> Iterator[Message]:
    for channel in space.channels.values():
        if channel.is_seen_by(viewer):
            yield from (each for each in channel.messages.values() if each.only_for in ("", viewer.id))


def _images(shown: Any) -> Iterator[Json]:
    """All blocks and elements in `shown` that name a picture."""
    if isinstance(shown, dict):
        if "slack_file" in shown or "image_url" in shown:
            yield shown
        shown = list(shown.values())
    if isinstance(shown, list):
        for each in shown:
            yield from _images(each)
