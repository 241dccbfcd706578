"""A page of entries is read and written without losing what people wrote around them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.team_folder.pages import Entry, entries_of, renamed, same_title, with_entry, without_entry
from core.team_folder.spaces import is_space, space_of, spaces_of
from workers.memory.remembering import draft_of

PAGE = """# Definitions

Ask Carla before you change these.

## active customer
A customer with an order in the last 90 days.

```sql
-- ## no heading
SELECT 1
```

_Kept by Ana on 2026-11-22; said by Ben in C1, message 100.1_

## GMV
Gross merchandise value.
"""


def test_each_heading_begins_an_entry_and_the_text_above_them_is_one_too() -> None:
    above, active, gmv = entries_of(PAGE, "definitions")
    assert (above.title, above.text) == ("Definitions", "Ask Carla before you change these.")
    assert active.title == "active customer"
    assert "SELECT 1" in active.text
    assert "_Kept" not in active.text
    assert active.kept == "Kept by Ana on 2026-11-22; said by Ben in C1, message 100.1"
    assert (gmv.title, gmv.text, gmv.kept) == ("GMV", "Gross merchandise value.", "")


@pytest.mark.parametrize("title", ["C#", "# of orders", "#", "C# ## and F#"])
def test_a_number_sign_in_a_title_is_read_again(title: str) -> None:
    (entry,) = entries_of(with_entry("", Entry(title, "x")), "")
    assert entry.title == title


def test_an_entry_is_replaced_in_its_place_and_nothing_else_changes() -> None:
    _, active, _ = entries_of(PAGE, "definitions")
    changed = with_entry(PAGE, Entry("active customer", "90 days, paid.", "Kept by Ben on 2026-12-01"), replaces=active)
    assert [entry.title for entry in entries_of(changed, "")] == ["Definitions", "active customer", "GMV"]
    assert "90 days, paid." in changed
    assert "SELECT 1" not in changed
    assert "Ask Carla" in changed


def test_a_forgotten_entry_takes_its_heading_and_its_last_line_along() -> None:
    _, active, _ = entries_of(PAGE, "definitions")
    rest = without_entry(PAGE, active)
    assert rest is not None
    assert [entry.title for entry in entries_of(rest, "")] == ["Definitions", "GMV"]
    assert "Kept by" not in rest


def test_an_entry_that_was_changed_meanwhile_is_not_removed() -> None:
    assert without_entry(PAGE, Entry("active customer", "something older", line=5)) is None


@given(
    st.text(max_size=200), st.text(alphabet=st.characters(blacklist_categories=["Cs", "Cc"]), min_size=1, max_size=40)
)
def test_what_somebody_says_stays_one_entry_whatever_is_in_it(text: str, title: str) -> None:
    written = with_entry(PAGE, Entry(title, text or "x", "Kept by Ana"))
    titles = [entry.title for entry in entries_of(written, "")]
    assert titles[:3] == ["Definitions", "active customer", "GMV"]
    assert len(titles) <= 4


@pytest.mark.parametrize(
    ("said", "file", "title", "text"),
    [
        ("active customer = ordered in 90 days", "definitions.md", "active customer", "ordered in 90 days"),
        (": “Active customer” means ordered in 90 days", "definitions.md", "Active customer", "ordered in 90 days"),
        ("that churn is defined as no order in a year", "definitions.md", "churn", "no order in a year"),
        ("GMV: gross merchandise value", "glossary.md", "GMV", "gross merchandise value"),
        ("we decided to leave out test shops", "decisions.md", "we decided to leave out test shops", None),
        ("that amounts are net of VAT", "conventions.md", "amounts are net of VAT", None),
        ("dass Beträge netto sind", "conventions.md", "Beträge netto sind", "Beträge netto sind"),
        ("活跃客户是指最近90天内下过单的客户", "definitions.md", "活跃客户", "最近90天内下过单的客户"),
        ("决定不统计测试门店", "decisions.md", "决定不统计测试门店", None),
        ("# of orders = orders that were paid", "definitions.md", "# of orders", "orders that were paid"),
        ("C# = the team of the C# client", "definitions.md", "C#", "the team of the C# client"),
        ("see https://wiki/x for the rest", "conventions.md", "see https://wiki/x for the rest", None),
        ("important: revenue is net of tax", "conventions.md", "revenue is net of tax", "revenue is net of tax"),
        ("that NOTE: churn means no order in a year", "definitions.md", "churn", "no order in a year"),
        ("wichtig: Umsatz ist netto", "conventions.md", "Umsatz ist netto", "Umsatz ist netto"),
        ("重要：金额不含税", "conventions.md", "金额不含税", "金额不含税"),
        ("important customers: those above 10,000 EUR", "glossary.md", "important customers", None),
    ],
)
def test_words_find_their_page_and_title(said: str, file: str, title: str, text: str | None) -> None:
    draft = draft_of(said)
    assert draft is not None
    assert (draft.file, draft.title) == (file, title)
    if text is not None:
        assert draft.text == text


@pytest.mark.parametrize(
    "said",
    [
        "the nightly load starts at 06:00",
        "日报在 06：00 更新",
        "the ratio is 3:1",
        "leave out orders with amount >= 1000",
        "leave out rows with total != net",
        "status => done",
        "orders.created_at::date is the day",
        r"C:\data holds the exports",
    ],
)
def test_a_time_a_comparison_or_a_path_is_not_cut_into_a_term_and_its_meaning(said: str) -> None:
    draft = draft_of(said)
    assert draft is not None
    assert (draft.file, draft.text) == ("conventions.md", said)


def test_nothing_said_is_no_entry() -> None:
    assert draft_of(" : ") is None


def test_titles_are_the_same_in_any_case_and_with_any_quotation_marks() -> None:
    assert same_title("“Active  Customer”", "active customer")
    assert not same_title("active customer", "active customers")


def test_a_channel_reads_its_own_folder_those_of_its_projects_and_everyones() -> None:
    projects = {"churn": ["C1", "C2"], "other": ["C9"]}
    assert spaces_of("C1", projects).read == ("channels/C1", "projects/churn", "everyone")
    assert spaces_of("C1", projects, outsiders=True).read == ("channels/C1", "projects/churn")
    assert spaces_of("C3", projects).read == ("channels/C3", "everyone")


@pytest.mark.parametrize("channel", ["", "../C2", "C1/../C2", "c1", "C1\n", "*"])
def test_an_id_that_is_none_of_slacks_names_no_folder(channel: str) -> None:
    with pytest.raises(ValueError, match="no id of a channel"):
        spaces_of(channel, {})
    assert not is_space(f"channels/{channel}")


def test_a_file_outside_of_the_spaces_is_in_none() -> None:
    assert space_of("channels/C1/definitions.md") == "channels/C1"
    assert space_of("everyone/conventions.md") == "everyone"
    assert space_of("channels/../C1/x.md") == ""
    assert space_of("x.md") == ""


def test_the_first_entry_of_a_page_without_a_title_is_found_like_any_other() -> None:
    page = "## amounts\nnet of VAT\n\n## weeks\nbegin on Monday\n"
    amounts, weeks = entries_of(page, "conventions")
    assert entries_of(without_entry(page, amounts) or "", "") == (Entry("weeks", "begin on Monday"),)
    assert without_entry("## amounts\nnet of VAT\n", amounts) == "\n"
    changed = with_entry(page, Entry("amounts", "gross"), replaces=amounts)
    assert [each.text for each in entries_of(changed, "")] == ["gross", "begin on Monday"]
    assert weeks.title == "weeks"


def test_a_new_heading_leaves_every_other_line_as_it_is() -> None:
    above, active, _ = entries_of(PAGE, "definitions")
    assert renamed(PAGE, active, "active\nclient") == PAGE.replace("## active customer", "## active client")
    assert renamed(PAGE, above, "x") is None
    assert renamed(PAGE, Entry("active customer", "another text"), "x") is None
