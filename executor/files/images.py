"""What a file is called by its kind: an ending says "image" only where the content's first bytes do, too."""

from __future__ import annotations

import mimetypes
import struct

HEAD_BYTES = 64
OTHER = "application/octet-stream"
_LONGEST_SIDE, _MOST_PIXELS = 32_768, 200_000_000  # what decodes to more is no chart, but a bomb


def mimetype_of(name: str, head: bytes) -> str:
    """From the name's ending, and for an image from its first bytes (`HEAD_BYTES` of them).

    An image of another kind than its name says, of no kind that is known, or with sides that no chart has is
    "application/octet-stream". So is SVG: it is a program.
    """
    guessed = mimetypes.guess_type(name)[0] or OTHER
    if guessed.startswith("image/") and guessed != _image(head):
        return OTHER
    return guessed


def _image(head: bytes) -> str | None:
    if head.startswith(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR") and len(head) >= 33:
        return "image/png" if _fits(*struct.unpack_from(">II", head, 16)) else None
    if head.startswith((b"GIF87a", b"GIF89a")) and len(head) >= 13:
        return "image/gif" if _fits(*struct.unpack_from("<HH", head, 6)) else None
    if head.startswith(b"BM") and len(head) >= 26:
        width, height = struct.unpack_from("<ii", head, 18)
        return "image/bmp" if _fits(width, abs(height)) else None
    if head.startswith(b"\xff\xd8\xff") and len(head) >= 20:
        return "image/jpeg"
    if head.startswith(b"RIFF") and head[8:15] == b"WEBPVP8":
        return "image/webp"
    return "image/tiff" if head.startswith((b"II*\0", b"MM\0*")) else None


def _fits(width: int, height: int) -> bool:
    return 0 < width <= _LONGEST_SIDE and 0 < height <= _LONGEST_SIDE and width * height <= _MOST_PIXELS
