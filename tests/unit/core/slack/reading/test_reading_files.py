"""File objects from Slack are untrusted."""

from __future__ import annotations

import pytest

from core.slack.reading.files import MAX_FILES, file_ref, file_refs
from core.tour import MODE
from core.values import REPOSITORY_MODE, FileRef

FULL = {
    "id": "F1",
    "name": "sales.csv",
    "mimetype": "text/csv",
    "size": 12,
    "mode": "hosted",
    "url_private": "https://files.slack.com/a",
    "url_private_download": "https://files.slack.com/download/a",
}


def test_the_download_address_is_preferred() -> None:
    assert file_ref(FULL) == FileRef(
        id="F1", name="sales.csv", mimetype="text/csv", size=12, url="https://files.slack.com/download/a"
    )
    assert file_refs([{**FULL, "url_private_download": None}])[0].url == "https://files.slack.com/a"


def test_a_shared_file_that_slack_only_names_keeps_its_id_and_mode() -> None:
    ref = file_ref({"id": "F2", "mode": "file_access", "file_access": "check_file_info"})
    assert ref == FileRef(id="F2", name="F2", mode="file_access")


@pytest.mark.parametrize("junk", [None, "F1", 3, {}, {"id": 3}, {"id": ""}, []])
def test_items_that_are_not_files_are_left_out(junk: object) -> None:
    assert file_ref(junk) is None
    assert file_refs(junk) == ()
    assert file_refs([junk, FULL]) == file_refs([FULL])


def test_wrong_types_are_left_out_and_long_texts_are_cut() -> None:
    ref = file_ref({"id": "F1", "name": "x" * 9_999, "size": "12", "mimetype": ["a"], "url_private": 5})
    assert ref is not None
    assert (len(ref.name), ref.size, ref.mimetype, ref.url) == (500, 0, "", "")


def test_the_number_of_files_is_limited() -> None:
    assert len(file_refs([{"id": f"F{number}"} for number in range(999)])) == MAX_FILES


@pytest.mark.parametrize("mode", [MODE, REPOSITORY_MODE])
def test_an_event_cannot_claim_a_mode_of_ours(mode: str) -> None:
    ref = file_ref({"id": "F1", "name": "a", "mode": mode, "url_private": "https://github.com/a/b"})
    assert ref is not None
    assert ref.mode == "hosted"


def test_a_list_of_slack_goes_by_its_title() -> None:
    given = {"id": "F1", "name": "list", "title": "Sprint Board", "mode": "list"}
    named = [file_ref({**given, **more}) for more in ({}, {"title": ""}, {"mode": "hosted"})]
    assert [ref.name for ref in named if ref] == ["Sprint Board", "list", "list"]
