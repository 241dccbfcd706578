"""Text from a model or from data can neither notify people nor link to unknown addresses."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from core.slack import sanitize as sanitizing
from core.slack import web_addresses
from core.slack.sanitize import addresses, sanitize
from core.slack.text import without_pings
from tests.work import growth

PARSER = MarkdownIt("commonmark").enable("table")
SHOWN = re.compile(r"https?:/?/?\w|\bevil\.com", re.IGNORECASE)
PING = re.compile(r"<[!@#]|@(here|channel|everyone)\b", re.IGNORECASE)


def targets(markdown: str) -> list[str]:
    """Where the links and images of a text lead."""
    found: list[str] = []
    for token in PARSER.parse(markdown):
        for child in (token, *(token.children or ())):
            found += [str(value) for key, value in child.attrs.items() if key in ("href", "src")]
    return found


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("see [docs](http://evil.com/a)", "see docs (`http://evil.com/a`)"),
        ("![chart](http://evil.com/x.png)", "chart (`http://evil.com/x.png`)"),
        ("at http://evil.com.", "at `http://evil.com`."),
        ("at <http://evil.com>", "at `http://evil.com`"),
        ("at www.evil.com, now", "at `www.evil.com`, now"),
        ("[http://good.com](http://evil.com)", "`http://good.com` (`http://evil.com`)"),
        ("**[a](http://evil.com)**", "**a (`http://evil.com`)**"),
        ("`[a](http://evil.com)` stays code", "`[a](http://evil.com)` stays code"),
        ("| a |\n|---|\n| [x](http://e.com) |\n", "| a |\n|---|\n| x (`http://e.com`) |\n"),
        ("- [x](http://e.com)\n- y", "- x (`http://e.com`)\n- y"),
        ("> [x\n> y](http://e.com)", "> x y (`http://e.com`)"),
        ("see evil.com/p?d=secret.", "see `evil.com/p?d=secret`."),
        ("see secret.evil.com", "see `secret.evil.com`"),
        ("see http&#58;//evil.com/a", "see `http://evil.com/a`"),
        ("see http&colon;&sol;&#x2f;evil&period;com", "see `http://evil.com`"),
        ("see https\\://evil\\.com/a", "see `https://evil.com/a`"),
        ("see http:evil.com/a", "see `http:evil.com/a`"),
        ("see //evil.com/a", "see //`evil.com/a`"),
        ("see 10.1.2.3/a", "see `10.1.2.3/a`"),
        ("see evil。com/a", "see `evil。com/a`"),
        ("see ev\u00adil.com/a", "see `ev\u00adil.com/a`"),
        ("see beispiel.онлайн", "see `beispiel.онлайн`"),
        ("see evil.com:8080", "see `evil.com:8080`"),
        ("see “evil.com/p?d=secret” and »www.evil.com«", "see “`evil.com/p?d=secret`” and »`www.evil.com`«"),
        ("x=evil.com/a", "x=`evil.com/a`"),
        ("you@evil.com/a?d=1", "you@`evil.com/a?d=1`"),
    ],
)
def test_a_foreign_link_shows_its_label_and_its_address_as_code(text: str, shown: str) -> None:
    assert sanitize(text) == shown


def test_what_the_asker_wrote_stays_a_link() -> None:
    known = addresses("compare with https://example.com/data?id=1, please")
    text = "From [the page](https://example.com/data?id=1) and https://example.com/data?id=1 itself."
    assert known == {"https://example.com/data?id=1"}
    assert sanitize(text, known) == text


@pytest.mark.parametrize(
    "tag",
    [
        '<img src="//3627734734/x?d=4711">',
        "<img src=//intranet/x>",
        '<img srcset="//intranet/x 1x">',
        '<img src="/\\intranet/x">',
        '<img src="&#47;&sol;intranet/x">',
        '<img src="ht\ntps:intranet/x">',
        '<div>\n<img\nsrc="//intranet/x">\n</div>',
        '<div style="background: url(//intranet/x)">x</div>',
    ],
)
def test_no_tag_of_html_asks_a_host_without_a_dot(tag: str) -> None:
    shown = sanitize(f"Sales grew. {tag}\n\n{tag}")
    tokens = [each for token in PARSER.parse(shown) for each in (token, *(token.children or ()))]
    assert [token.content for token in tokens if token.type.startswith("html") and "intranet" in token.content] == []
    assert re.search(r"<(?!\u200b)(img|div)", shown) is None
    assert sanitize(shown) == shown


def test_a_tag_that_fetches_nothing_is_left_as_it_is() -> None:
    for text in ("a<br>b", "<b>3</b> / 4 // 5", "x <sub>i/j</sub> // y"):
        assert sanitize(text) == text


@pytest.mark.parametrize("ping", ["<!channel>", "<!here>", "<@U123>", "<!subteam^S1>", "<#C1>", "@here", "@Channel"])
def test_nothing_pings(ping: str) -> None:
    for text in (f"hello {ping}", f"`{ping}`", f"```\n{ping}\n```", f"| {ping} |\n|---|\n| {ping} |", f"- {ping}"):
        safe = sanitize(text)
        assert not PING.search(safe)
        assert safe.replace("\u200b", "") == text
        assert without_pings(safe) == safe


def test_ordinary_text_is_left_as_it_is() -> None:
    text = "# Findings\n\nRevenue rose **10 %** (a < b), mail @anna.\n\n```python\nx = [1](2)\n```\n\n1. one\n2. two\n"
    assert sanitize(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "anna@example.com wrote data/sales.csv, analysis.py, report.md and out/charts.png",
        "3.5m/yr, 10.5/kg, v1.2.3, 2024.01.02/03, 12:30, 1.5–2.5 %, A/B, and/or, e.g./i.e., U.S./UK, etc.",
        "frame.groupby, plt.show, self.x, a.b.c, R&D; x &lt; y &amp; z, C:\\data",
        "比率为 3.5%。第二句。",
        "有一个没有运行完。结论来自其他单元。第三句/第四句。",
        "Ratio: 0.5. Next one... then",
    ],
)
def test_what_only_looks_like_an_address_is_left_as_it_is(text: str) -> None:
    assert sanitize(text) == text


pieces = st.sampled_from(
    [
        "[a](http://evil.com)",
        "[a][r]",
        "\n\n[r]: http://evil.com\n\n",
        "![i](https://evil.com/i.png 't')",
        "<https://evil.com>",
        "https://evil.com/x",
        "www.evil.com",
        "<a href='http://evil.com'>x</a>",
        "<!channel>",
        "<@U1>",
        "@here",
        "`",
        "```\n",
        "*",
        "> ",
        "- ",
        "\n",
        "\n\n",
        "|",
        "\n|---|---|\n",
        "[",
        "](",
        ")",
        "\\",
        "text",
        "   ",
        "&lt;",
        "<http://evil.com|label>",
        "http&#58;//evil.com",
        "evil.com/p?d=1",
        "evil&period;com/p",
        "http\\://evil.com",
        "&#x2e;com/",
        "evil",
    ]
)


@given(st.lists(pieces, max_size=25).map("".join))
@settings(max_examples=400)
def test_no_combination_of_marks_links_or_pings(text: str) -> None:
    safe = sanitize(text)
    assert not PING.search(safe)
    for target in targets(safe):
        assert not re.match(r"(https?|ftp|mailto)://?\w", target), (safe, target)


@given(st.lists(pieces, max_size=25).map("".join))
@settings(max_examples=400)
def test_no_combination_shows_an_address_outside_code(text: str) -> None:
    """Whoever shows the text links what looks like an address in it, once entities and escapes are undone."""
    for token in PARSER.parse(sanitize(text)):
        for child in token.children or ():
            if child.type == "text":
                assert not SHOWN.search(child.content), child.content


@given(st.lists(pieces, max_size=25).map("".join))
@settings(max_examples=200)
def test_sanitizing_twice_is_safe_too(text: str) -> None:
    assert not PING.search(sanitize(sanitize(text)))


parts = st.one_of(
    pieces,
    st.sampled_from("._-/:@#?!…。．․⒈¹²½ªſKéß\u00a0\u00ad\u200b\u2060&;w1*`~ \0"),
    st.sampled_from(
        ["www", "com", "de", "txt", "1.2.3.4", "127", "http", "HTTPS:", "mailto:", "httpſ:", "xn--a", "日本"]
    ),
)


@given(st.lists(parts, max_size=12).map("".join))
@settings(max_examples=1_500)
def test_a_quick_look_passes_only_what_the_whole_way_leaves_as_it_is(text: str) -> None:
    if sanitizing.is_plain(text):
        assert sanitizing._sanitized(text, frozenset()) == text


@given(st.lists(parts, max_size=12).map("".join))
@settings(max_examples=1_500)
def test_a_quick_look_misses_no_address(text: str) -> None:
    shown, _places = web_addresses._read(text)
    found = [web_addresses._address_in(shown[start:end]) for start, end in web_addresses._words(shown)]
    assert web_addresses.may_hold_address(text) or not any(found)


@pytest.mark.parametrize("text", ["Sales grew by 1,234.56 €.", "| a | b |\n|---|---:|\n| 1.5 | 2 |", "Größe: **3**"])
def test_a_quick_look_is_enough_for_common_text(text: str) -> None:
    assert sanitizing.is_plain(text)


@pytest.mark.parametrize("piece", ["a,", "1&", "x.y@", "a.b=", "。1,", "/a", "a.b/"])
def test_the_work_for_a_long_word_without_addresses_grows_with_its_length(piece: str) -> None:
    assert growth(lambda size: list(web_addresses.find("\\" + piece * size)), 250) < 5
