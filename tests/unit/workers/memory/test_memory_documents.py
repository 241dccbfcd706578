"""What a question needs of the team's pages: within the budget, of the channel's spaces alone, clashes named."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.team_folder.entries import Note
from core.team_folder.folder import NotWritten, TeamFolder
from core.team_folder.pages import Entry
from core.team_folder.spaces import Spaces
from workers.memory.documents import Documents, clash
from workers.memory.remembering import Draft

OWN = Spaces("channels/C1", ("projects/churn", "everyone"))


@pytest.fixture
def documents(tmp_path: Path) -> Documents:
    return Documents(TeamFolder(tmp_path))


def write(documents: Documents, file: str, text: str) -> None:
    path = documents.folder.root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def titles(documents: Documents, question: str, budget: int = 6_000, spaces: Spaces = OWN) -> list[str]:
    found = documents.recall(spaces, question, budget)
    return [note.title for note in found.notes] if found else []


def test_definitions_come_by_relevance_and_conventions_always(documents: Documents) -> None:
    write(
        documents, "channels/C1/definitions.md", "## active customer\nOrdered lately.\n\n## fiscal year\nFrom July.\n"
    )
    write(documents, "everyone/conventions.md", "## Money\nAmounts are net of VAT.\n")
    assert titles(documents, "How many active customers are there?") == ["active customer", "Money"]
    assert titles(documents, "plot the sales of this fiscal year") == ["fiscal year", "Money"]


def test_chinese_questions_find_chinese_entries(documents: Documents) -> None:
    write(documents, "channels/C1/definitions.md", "## 活跃客户\n最近90天内下过单的客户。\n\n## 财年\n从七月开始。\n")
    assert titles(documents, "三月份活跃客户有多少？") == ["活跃客户"]


def test_the_budget_holds(documents: Documents) -> None:
    entries = "\n".join(f"## churn rule {n}\n{'churn ' * 60}\n" for n in range(50))
    write(documents, "channels/C1/definitions.md", entries)
    found = documents.recall(OWN, "what is churn?", 3_000)
    assert found is not None
    assert 0 < sum(len(note.text) + len(note.title) for note in found.notes) <= 3_000


def test_the_budget_holds_for_a_term_with_many_meanings_too(documents: Documents) -> None:
    meanings = "\n".join(f"## churn\nMeaning {n}. {'Ordered once. ' * 60}\n" for n in range(30))
    write(documents, "channels/C1/definitions.md", meanings)
    found = documents.recall(OWN, "what is churn?", 3_000)
    assert found is not None
    assert found.clashes == ("churn",)
    assert len(found.notes) > 1
    assert sum(len(note.text) + len(note.title) for note in found.notes) <= 2 * 3_000


def test_nothing_of_another_channel_is_ever_found(documents: Documents) -> None:
    write(documents, "channels/C2/definitions.md", "## active customer\nThe secret of C2.\n")
    write(documents, "projects/other/definitions.md", "## active customer\nThe secret of a project.\n")
    assert documents.recall(OWN, "active customer", 6_000) is None
    assert documents.find(OWN.read, "active customer") == []
    assert documents.about(OWN.read, "") == []


def test_a_link_into_another_channels_folder_is_not_followed(documents: Documents) -> None:
    write(documents, "channels/C2/definitions.md", "## active customer\nThe secret of C2.\n")
    (documents.folder.root / "channels/C1").mkdir(parents=True)
    (documents.folder.root / "channels/C1/definitions.md").symlink_to(
        documents.folder.root / "channels/C2/definitions.md"
    )
    assert documents.recall(OWN, "active customer", 6_000) is None


def test_two_meanings_of_a_term_clash_and_both_are_told(documents: Documents) -> None:
    write(documents, "channels/C1/definitions.md", "## Active customer\nOrdered in 90 days.\n")
    write(documents, "everyone/glossary.md", "## active customer\nOrdered in 30 days.\n")
    found = documents.recall(OWN, "How many active customers?", 6_000)
    assert found is not None
    assert found.clashes == ("Active customer",)
    assert {note.text for note in found.notes} == {"Ordered in 90 days.", "Ordered in 30 days."}


def test_an_entry_that_stands_instead_of_another_does_not_clash_with_it(documents: Documents) -> None:
    own = "## active customer\nOrdered in 90 days.\n\n_Kept by Ana on 2026-11-22; instead of everyone/definitions.md_\n"
    write(documents, "channels/C1/definitions.md", own)
    write(documents, "everyone/definitions.md", "## active customer\nOrdered in 30 days.\n")
    found = documents.recall(OWN, "How many active customers?", 6_000)
    assert found is not None
    assert found.clashes == ()


def test_a_page_that_people_change_is_read_again(documents: Documents) -> None:
    write(documents, "channels/C1/definitions.md", "## churn\nOld.\n")
    assert titles(documents, "churn?") == ["churn"]
    write(documents, "channels/C1/definitions.md", "## attrition\nNew.\n")
    assert titles(documents, "churn?") == []
    assert titles(documents, "attrition?") == ["attrition"]


def test_a_page_that_cannot_be_read_costs_nothing_else(documents: Documents) -> None:
    write(documents, "channels/C1/definitions.md", "## churn\nLeft.\n")
    (documents.folder.root / "channels/C1/broken.md").write_bytes(b"\xff\xfe\x00")
    (documents.folder.root / "channels/C1/long.md").write_text("x" * 300_000)
    assert titles(documents, "churn?") == ["churn"]
    whys = [page.why for page in documents.folder.all_pages("channels/C1") if hasattr(page, "why")]
    assert whys == ["is not UTF-8 text", "is longer than 256 KB"]


def test_keeping_the_same_entry_twice_writes_it_once(documents: Documents) -> None:
    entry = Entry("churn", "No order in a year.", "Kept by Ana on 2026-11-22")
    documents.keep("channels/C1/definitions.md", entry)
    documents.keep("channels/C1/definitions.md", entry)
    text = documents.folder.text("channels/C1/definitions.md")
    assert text.startswith("# Definitions\n")
    assert text.count("## churn") == 1


def test_an_entry_with_code_and_headings_in_it_is_written_once_too(documents: Documents) -> None:
    entry = Entry("net", "# by hand\n```sql\nSELECT 1\n```", "Kept by Ana on 2026-11-22")
    documents.keep("channels/C1/definitions.md", entry)
    documents.keep("channels/C1/definitions.md", entry)
    assert documents.folder.text("channels/C1/definitions.md").count("## net") == 1
    assert documents.clashing(OWN, Draft("definitions.md", entry.title, entry.text)) == []


def test_an_entry_for_which_a_page_has_no_room_leaves_the_others_readable(documents: Documents) -> None:
    write(documents, "channels/C1/conventions.md", f"## money\nNet of VAT.\n\n## long\n{'x' * (255 * 1024)}\n")
    with pytest.raises(NotWritten, match="would be longer than 256 KB"):
        documents.keep("channels/C1/conventions.md", Entry("weeks", "y" * 2_000))
    assert "money" in titles(documents, "how much money?")


def test_a_page_from_an_editor_that_marks_its_beginning_reads_like_any_other(documents: Documents) -> None:
    write(documents, "channels/C1/definitions.md", "\ufeff## active customer\nOrdered lately.\n")
    assert titles(documents, "How many active customers are there?") == ["active customer"]


def test_the_last_forgotten_entry_takes_its_page_along(documents: Documents) -> None:
    documents.keep("channels/C1/definitions.md", Entry("churn", "No order."))
    (note,) = documents.notes(("channels/C1",))
    assert documents.forget(note)
    assert not (documents.folder.root / "channels/C1/definitions.md").exists()
    assert not documents.forget(note)


@pytest.mark.parametrize("file", ["../x.md", "channels/C1/../../x.md", "x.md", "channels/C1/x.txt", "/etc/x.md"])
def test_nothing_is_written_outside_of_a_space(documents: Documents, file: str) -> None:
    with pytest.raises(NotWritten):
        documents.keep(file, Entry("a", "b"))


def test_a_new_definition_finds_the_other_meanings_it_clashes_with(documents: Documents) -> None:
    write(documents, "everyone/definitions.md", "## churn\nNo order in a year.\n")
    (found,) = documents.clashing(OWN, Draft("definitions.md", "Churn", "No order in 90 days."))
    assert found.file == "everyone/definitions.md"
    assert documents.clashing(OWN, Draft("definitions.md", "churn", "No order in  a year.")) == []


def test_a_question_compares_an_entry_only_with_those_of_its_title(
    documents: Documents, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = "\n".join(f"## churn rule {n}\nChurn counts once.\n" for n in range(200))
    write(documents, "channels/C1/definitions.md", f"{entries}\n## Churn\nOrdered once.\n")
    write(documents, "everyone/definitions.md", "## “churn”\nLeft for good.\n")
    compared: list[tuple[str, str]] = []

    def compare(one: Note, other: Note) -> bool:
        compared.append((one.entry.title, other.entry.title))
        return clash(one, other)

    monkeypatch.setattr("workers.memory.documents.clash", compare)
    found = documents.recall(OWN, "what is churn?", 6_000)
    assert found is not None
    assert found.clashes == ("Churn",)
    assert len(compared) < 2 * len(entries.splitlines())
