"""The windows behind the menu of a message have whole titles in every language."""

from __future__ import annotations

from typing import get_args

import pytest

from core.interactions import AskForm, ContextForm, MenuForm, RateForm, SpeakForm
from core.slack.blocks import broken_view
from core.slack.views import menu as drawn
from core.values import Language

THREAD, TS = "T1:C1:100.000001", "100.000002"


@pytest.mark.parametrize("language", get_args(Language))
def test_no_title_and_no_button_of_a_window_is_cut(language: Language) -> None:
    views = [
        drawn.menu_view(MenuForm(thread=THREAD, ts=TS), ["analyse", "ask", "help"], language),
        drawn.ask_view(AskForm(thread=THREAD, ts=TS), language),
        drawn.edit_view(ContextForm(thread=THREAD, ts=TS), "words", language),
        drawn.rate_view(RateForm(thread=THREAD, ts=TS), language, is_example=False),
        drawn.speak_view(SpeakForm(thread=THREAD), language),
    ]
    for view in views:
        assert view is not None
        assert broken_view(view) == []
        assert [view[part]["text"] for part in ("title", "submit", "close") if "…" in view[part]["text"]] == []
