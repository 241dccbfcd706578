"""Headings that a team wants in every report, and how two ways of writing one are found equal."""

from __future__ import annotations

import re
import unicodedata

_NUMBER = re.compile(r"^\d{1,2}\s*[.)、．]\s*")
_MARKS = re.compile(r"[*_`#]+")


def heading_key(heading: str) -> str:
    """What two ways of writing one heading have in common: no case, number, mark or punctuation around it."""
    text = _NUMBER.sub("", _MARKS.sub("", unicodedata.normalize("NFKC", heading)).strip())
    return " ".join(re.sub(r"^\W+|\W+$", "", text).casefold().split())
