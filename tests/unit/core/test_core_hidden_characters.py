"""Characters that nobody sees are shown as their numbers; text in any language stays as it is."""

from __future__ import annotations

import pytest

from core.hidden_characters import count_hidden, with_carriers_shown, with_hidden_shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u202eb", "a⟨U+202E⟩b"),
        ("\u2066x\u2069", "⟨U+2066⟩x⟨U+2069⟩"),
        ("user\u200bs", "user⟨U+200B⟩s"),
        ("x\u200dy", "x⟨U+200D⟩y"),
        ("\ufeffselect", "⟨U+FEFF⟩select"),
        ("so\u00adft", "so⟨U+00AD⟩ft"),
        ("a\u3164b", "a⟨U+3164⟩b"),
        ("a\ufe0fb", "a⟨U+FE0F⟩b"),
        ("a\U000e0041b", "a⟨U+E0041⟩b"),
        ("rm a\rls", "rm a⟨U+000D⟩ls"),
        ("a\x1b[2K", "a⟨U+001B⟩[2K"),
        ("a\u2028b", "a⟨U+2028⟩b"),
    ],
)
def test_what_nobody_sees_is_shown_as_its_number(text: str, shown: str) -> None:
    assert with_hidden_shown(text) == shown
    assert count_hidden(text) == shown.count("⟨")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "select *\n\tfrom t -- größer, naïve, 中文，かな、한국어, кириллица, ελληνικά, עברית, العربية, हिन्दी",
        "👩\u200d💻 ❤\ufe0f 1\ufe0f\u20e3 👍🏽 🏳\ufe0f\u200d🌈",
        "a b 「引用」 ≤ … – \u3000",
    ],
)
def test_text_that_people_see_stays(text: str) -> None:
    assert with_hidden_shown(text) == text
    assert count_hidden(text) == 0


def test_letters_that_only_a_model_reads_are_shown() -> None:
    order = "".join(chr(0xE0000 + ord(letter)) for letter in "go")
    assert with_carriers_shown(f"12{order}") == "12⟨U+E0067⟩⟨U+E006F⟩"
    assert with_carriers_shown("a\U000e0101\U000e0102\ufe01") == "a⟨U+E0101⟩⟨U+E0102⟩⟨U+FE01⟩"


@pytest.mark.parametrize(
    "text",
    [
        "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "葛\U000e0100城",
        "❤\ufe0f",
        "می\u200cخواهم",
        "12",
    ],
)
def test_flags_variants_of_letters_and_joiners_stay(text: str) -> None:
    assert with_carriers_shown(text) == text
