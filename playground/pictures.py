"""The size of a picture, read from its first bytes, so that pages can keep the place for it."""

from __future__ import annotations

import struct


def picture_size(data: bytes) -> tuple[int, int]:
    """Width and height in pixels of a PNG, GIF or JPEG; (0, 0) for everything else."""
    if data[:8] == b"\x89PNG\r\n\x1a\n" and len(data) >= 24:
        width, height = struct.unpack(">II", data[16:24])
        return int(width), int(height)
    if data[:6] in (b"GIF87a", b"GIF89a") and len(data) >= 10:
        width, height = struct.unpack("<HH", data[6:10])
        return int(width), int(height)
    if data[:2] == b"\xff\xd8":
        return _jpeg_size(data)
    return 0, 0


def _jpeg_size(data: bytes) -> tuple[int, int]:
    place = 2
    while place + 9 <= len(data) and data[place] == 0xFF:
        marker = data[place + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[place + 5 : place + 9])
            return int(width), int(height)
        (length,) = struct.unpack(">H", data[place + 2 : place + 4])
        place += 2 + int(length)
    return 0, 0
