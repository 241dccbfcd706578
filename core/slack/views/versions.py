"""The versions of a message, one at a time, with arrows between them."""

from __future__ import annotations

from collections.abc import Sequence

from core.interactions import VersionButton
from core.message_versions import MessageVersion
from core.phrases import say
from core.slack import blocks as kit
from core.slack.blocks import Block
from core.slack.text import clip, escape
from core.slack.views.modals import View, window
from core.values import Language

_CHUNK = 2_800
_MOST_CHARS = 25_000


def version_view(
    shown: VersionButton, versions: Sequence[MessageVersion], language: Language, *, is_author: bool
) -> View:
    """The version that the button names, with arrows to the ones beside it."""
    n = min(shown.n, len(versions) - 1)
    version = versions[n]
    head = say(
        "version_head",
        language,
        n=n + 1,
        of=len(versions),
        what=say(f"version_{version.what}", language),
        who=version.who or "Threadbook",
        at=f"{version.at:%Y-%m-%d %H:%M} UTC",
    )
    arrows = [
        kit.button(arrow, shown.model_copy(update={"n": other}))
        for arrow, other in (("◀", n - 1), ("▶", n + 1))
        if 0 <= other < len(versions)
    ]
    blocks = [kit.context(escape(head)), *_text(version, language, is_author=is_author)]
    return window(say("version_title", language), [*blocks, *([kit.actions(*arrows)] if arrows else [])], language)


def _text(version: MessageVersion, language: Language, *, is_author: bool) -> list[Block]:
    """The words as they are, unparsed."""
    if version.is_own and not is_author:
        return [kit.paragraph(say("version_hidden", language))]
    text = clip(version.text, _MOST_CHARS)
    return [kit.paragraph(text[start : start + _CHUNK]) for start in range(0, len(text), _CHUNK)]
