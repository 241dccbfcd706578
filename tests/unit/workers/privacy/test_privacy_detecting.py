"""Personal values are found by their pattern and their check digits; near misses are left alone."""

# ruff: noqa: E501  a corpus is read line by line

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.privacy.detecting import find

KINDS = ("email", "phone", "iban", "card", "id")

POSITIVES = {
    "email": [
        "ana@example.org", "ana.souza+sales@mail.example.co.uk", "O_Brien-2@x1.de", "jörg@müller.example", "陈晨@例子.中国",
        "%user@host.io", "A@B.CO", "first.last@sub.domain.museum",
        "anna.huber@firma.at", "post@uni-wien.ac.at", "ana＠example.org", "ａｎａ＠ｅｘａｍｐｌｅ．ｏｒｇ",
    ],
    "phone": [
        "+49 30 1234567", "+4915112345678", "+1 (212) 555-0123", "(212) 555-0123", "212-555-0123", "212.555.0123",
        "030 1234567", "0171-2345678", "089/12345678", "06 12 34 56 78", "020 7946 0958", "13812345678", "138-1234-5678",
        "+86 138 1234 5678", "0049 30 1234567", "+351 912 345 678", "+55 11 91234-5678", "(030) 1234567",
        "+33\u202f6\u202f12\u202f34\u202f56\u202f78", "+49‑30‑1234567", "＋８１ ９０ １２３４ ５６７８", "０９０－１２３４－５６７８",
    ],
    "iban": [
        "DE89370400440532013000", "DE89 3704 0044 0532 0130 00", "GB82 WEST 1234 5698 7654 32", "FR1420041010050500013M02606",
        "NO9386011117947", "CH93 0076 2011 6238 5295 7", "de89 3704 0044 0532 0130 00", "MT84MALT011000012345MTLCAST001S",
        "NL91-ABNA-0417-1643-00", "BR1800360305000010009795493C1", "DE89\u00a03704\u00a00044\u00a00532\u00a00130\u00a000",
    ],
    "card": [
        "4111111111111111", "4111 1111 1111 1111", "4111-1111-1111-1111", "5555555555554444", "378282246310005",
        "3782 822463 10005", "6011111111111117", "3530111333300000", "30569309025904", "2223003122003222",
        "6200000000000005", "4111\u00a01111\u00a01111\u00a01111", "4111\u202f1111\u202f1111\u202f1111", "４１１１１１１１１１１１１１１１",
    ],
    "id": [
        "123-45-6789", "11010519491231002X", "440524188001010014", "12345678Z", "X1234567L", "AB123456C", "AB 12 34 56 C",
        "756.9217.0769.85", "7569217076985", "2 55 08 14 168 025 38", "111.444.777-35", "RSSMRA85T10A562S",
    ],
}  # fmt: skip

NEAR_MISSES = [
    # mail
    "X@W.values", "X@W.at[0]", "@app.route", "user@localhost", "ana@@example.org", "a @ b.com", "price @ 3.50", "<@U0ANA00001>",
    # telephone numbers
    "2024-03-05", "01-02-2024", "2024-03-05 10:11:12", "1,234,567", "+12345678", "+1234567.5", "10.0.0.1", "192.168.100.200",
    "0.0712345678", "12813812345678", "1700000000", "1700000000000", "ISBN 978-3-16-148410-0", "00123", "1-2-3", "-212-555-01",
    "A212-555-0123", "05 2024 12", "999 999 999", "3.14159265358979",
    # IBANs
    "DE88370400440532013000", "DE8937040044053201300", "XX89370400440532013000", "DE89370400440532013000X", "SKU DE89 3704",
    # cards
    "4111111111111112", "0000000000000000", "1111111111111111", "1234567890123456", "0.4111111111111111", "id_4111111111111111",
    "9111111111111111", "4111111111111111.25",
    # national numbers
    "000-45-6789", "666-45-6789", "123-00-6789", "123-45-0000", "912-45-6789", "110105194912310021", "110105194913310020",
    "12345678A", "X1234567A", "GB123456C", "756.9217.0769.84", "111.444.777-36", "RSSMRA85T10A562T", "SN-123-45-6789-7",
]  # fmt: skip


@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "say {} now",
        "a,{},b",
        "5,{},7",
        '"{}"',
        "'{}'\n",
        "| {} |",
        "x={};",
        "{}.",
        "line\\n{}\\n",
        "['\\xa0{}\\xa0', 1]",
        "'\\u200b{}'",
    ],
)
def test_a_real_value_is_found_whole_wherever_it_stands(around: str) -> None:
    written = [(kind, value, around.format(value)) for kind, values in POSITIVES.items() for value in values]
    found = [(kind, value, found_in(text)) for kind, value, text in written]
    assert [each for each in found if each[2] != [each[:2]]] == []


@pytest.mark.parametrize(
    "card", ["4111 1111 1111 1111", "4111-1111-1111-1111", "4111111111111111", "3782 822463 10005"]
)
@pytest.mark.parametrize("around", ["{} 12/27", "{} 123", "7 {}", "no. 12 {} 08 27", "2026-01-02 {}"])
def test_a_card_number_is_found_beside_other_numbers(around: str, card: str) -> None:
    assert found_in(around.format(card)) == [("card", card)]


def found_in(text: str) -> list[tuple[str, str]]:
    return [(each.kind, text[each.start : each.end]) for each in find(text, KINDS)]  # type: ignore[arg-type]


def test_a_near_miss_is_left_alone() -> None:
    found = {text: found_in(f"say {text} now") for text in NEAR_MISSES}
    assert {text: values for text, values in found.items() if values} == {}


def test_only_the_kinds_that_are_wanted_are_found() -> None:
    text = "ana@example.org, 4111111111111111, +49 30 1234567"
    assert [found.kind for found in find(text, ("card",))] == ["card"]
    assert find(text, ()) == []


def test_numbers_that_analysts_print_are_hardly_ever_taken_for_personal_ones() -> None:
    """A frame of money, dates, counts and identifiers of other kinds."""
    lines = [
        f"{n:>6}  2024-{n % 12 + 1:02d}-{n % 28 + 1:02d}  {n * 7919.37:>16,.2f}  {n * 104729:>12}  A{n:05d}  {n / 7:.10f}  "
        f"{1_600_000_000 + n * 86_400}"
        for n in range(1, 1200)
    ]
    assert find("\n".join(lines), KINDS) == []  # type: ignore[arg-type]


@given(st.text(max_size=400) | st.text(alphabet="0123456789 -+().@aDE", max_size=400))
def test_any_text_is_read_and_no_two_values_overlap(text: str) -> None:
    found = find(text, KINDS)  # type: ignore[arg-type]
    assert all(one.end <= other.start for one, other in itertools.pairwise(found))


@pytest.mark.parametrize("text", ["1 " * 50_000, "a" * 100_000 + "@", "a.b-" * 25_000, "DE89 " * 20_000, "+1" * 50_000,
                                  "a@" + "b." * 50_000, "0" * 100_000, "(0" * 40_000])  # fmt: skip
def test_hostile_text_is_read_in_linear_time(text: str) -> None:
    """A pattern that backtracks would take hours: then the time-out of the suite ends it."""
    assert len(find(text, KINDS)) < len(text)  # type: ignore[arg-type]
