"""What people type becomes Slack's text; what anybody writes becomes harmless HTML."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from playground.clock import Clock
from playground.page.text import markdown, mrkdwn, plain
from playground.people_say import rich_text, slack_text
from playground.pictures import picture_size
from playground.workspace import Workspace

SPACE = Workspace(Clock())
TAGS = {
    *("p", "br", "hr", "strong", "em", "s", "code", "pre", "blockquote", "ul", "ol", "li", "a", "span", "svg", "use"),
    *("div", "table", "thead", "tbody", "tr", "th", "td", "h1", "h2", "h3", "h4", "h5", "h6"),
}
ATTRIBUTES = {"tabindex", "href", "target", "rel", "class", "data-user", "role", "aria-label", "start", "title"}


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("a < b & c > d", "a &lt; b &amp; c &gt; d"),
        ("@Threadbook hello", "<@U0THREADBK> hello"),
        ("@threadbook, hello", "<@U0THREADBK>, hello"),
        ("@陈晨 你好", "<@U0CHEN0001> 你好"),
        ("<@U0THREADBK> hello", "<@U0THREADBK> hello"),
        ("mail me@ana.example", "mail me@ana.example"),
        ("@nobody", "@nobody"),
        ("see https://a.example/x?a=1&b=2.", "see <https://a.example/x?a=1&amp;b=2>."),
        ("<https://a.example|label>", "<https://a.example|label>"),
        ("<script>", "&lt;script&gt;"),
    ],
)
def test_typed_text_arrives_as_slack_sends_it(typed: str, text: str) -> None:
    assert slack_text(SPACE, typed) == text


def test_a_client_sends_rich_text_beside_the_text() -> None:
    (block,) = rich_text("<@U0THREADBK> look &lt;here&gt;\n```x = 1```")
    section, code = block["elements"]
    assert section["elements"] == [
        {"type": "user", "user_id": "U0THREADBK"},
        {"type": "text", "text": " look <here>\n"},
    ]
    assert code == {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": "x = 1"}]}


def shown(text: str) -> Markup:
    return mrkdwn(text, lambda user_id: SPACE.users[user_id].real_name if user_id in SPACE.users else user_id, str)


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("*bold* _it_ ~no~ `code`", "<strong>bold</strong> <em>it</em> <s>no</s> <code>code</code>"),
        ("2 * 3 * 4 and snake_case_name", "2 * 3 * 4 and snake_case_name"),
        ("`*not bold*`", "<code>*not bold*</code>"),
        ("```a < b\n*c*```", '<pre tabindex="0">a &lt; b\n*c*</pre>'),
        ("<@U0ANA00001>", '<span class="mention" data-user="U0ANA00001">@Ana Souza</span>'),
        (
            "<https://a.example/?a=1&amp;b=2|go>",
            '<a href="https://a.example/?a=1&amp;b=2" target="_blank" rel="noopener noreferrer">go</a>',
        ),
        ("<javascript:alert(1)|go>", "go"),
        ("&gt; quoted\nnot", "<blockquote>quoted</blockquote>not"),
        ("a\nb", "a<br>b"),
        ("<b>&lt;i&gt;", "b&lt;i&gt;"),
        (":no_such_emoji:", ":no_such_emoji:"),
    ],
)
def test_mrkdwn_becomes_html(text: str, html: str) -> None:
    assert shown(text) == html


def test_an_emoji_name_and_its_character_look_alike() -> None:
    assert shown(":eyes:") == shown("👀") == plain(":eyes:")


def test_markdown_tables_align_by_class() -> None:
    html = markdown("| a | b |\n|:--|--:|\n| 1 | 2 |")
    assert '<td class="align-right">2</td>' in html
    assert "style" not in html


def test_markdown_keeps_raw_html_and_script_links_as_text() -> None:
    html = markdown("<b>x</b> [a](javascript:alert(1)) ![p](https://a.example/p.png)")
    assert "<b>" not in html
    assert 'href="javascript' not in html
    assert "<img" not in html


class _Inventory(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links |= {value or "" for name, value in attrs if name == "href"}


hostile = st.lists(
    st.sampled_from(
        [
            *"<>&\"'`*_~:|@#!()[]\\/= \n\x00abn1",
            "javascript:",
            "https://",
            "onload=",
            "<script>",
            "```",
            "👀",
            "&lt;",
            ":eyes:",
        ]
    ),
    max_size=60,
).map("".join)


@given(hostile)
def test_no_text_brings_a_tag_an_attribute_or_a_link_of_its_own(text: str) -> None:
    for html in (shown(text), markdown(text), plain(text)):
        seen = _Inventory()
        seen.feed(str(html))
        assert seen.tags <= TAGS
        assert seen.attributes <= ATTRIBUTES
        assert all(link.startswith(("http", "HTTP", "mailto:", "#e-", "/")) or ":" not in link for link in seen.links)


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x02\x80\x00\x00\x01\x40", (640, 320)),
        (b"GIF89a\x80\x02\x40\x01", (640, 320)),
        (b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x11\x08\x01\x40\x02\x80", (640, 320)),
        (b"\x89PNG\r\n\x1a\n", (0, 0)),
        (b"\xff\xd8\xff\xe0\x00\x00", (0, 0)),
        (b"a,b\n", (0, 0)),
    ],
)
def test_the_size_of_a_picture_is_read_from_its_first_bytes(data: bytes, size: tuple[int, int]) -> None:
    assert picture_size(data) == size
