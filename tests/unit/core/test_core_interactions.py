"""What a button carries comes back as it was, and nothing else is taken for it."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.interactions import (
    INTERACTIONS,
    AgainButton,
    ApprovalButton,
    AskForm,
    ChannelsForm,
    ContextForm,
    DefaultsForm,
    EditForm,
    EntriesButton,
    EntryButton,
    EntryForm,
    FilesButton,
    HintForm,
    HomeButton,
    InstructionsForm,
    Interaction,
    LeaveButton,
    MemoryButton,
    MemoryForm,
    Menu,
    MenuForm,
    ModelButton,
    OptionButton,
    PageButton,
    PinButton,
    PlaybookButton,
    RateForm,
    ReasonForm,
    ReportButton,
    ScheduleButton,
    SettingsForm,
    SpeakForm,
    StepButton,
    StopButton,
    SuggestionButton,
    ThreadsButton,
    ThreadsForm,
    TourButton,
    VersionButton,
)

THREADS = st.from_regex(r"\A[A-Z0-9]{1,50}:[A-Z0-9]{1,50}:[0-9.]{1,40}\Z")
TS = st.from_regex(r"\A[0-9]{1,20}\.[0-9]{1,10}\Z")
BUILT = {
    StopButton: st.builds(StopButton, turn=st.from_regex(r"\A[\x21-\x7e]{1,300}\Z")),
    OptionButton: st.builds(
        OptionButton,
        turn=st.from_regex(r"\A[\x21-\x7e]{1,300}\Z"),
        call=st.text(max_size=200),
        n=st.integers(0, 999_999),
    ),
    **{
        form: st.builds(
            form, turn=st.from_regex(r"\A[\x21-\x7e]{1,300}\Z"), call=st.from_regex(r"\A[\x21-\x7e]{1,100}\Z")
        )
        for form in (ApprovalButton, EditForm, HintForm)
    },
    **{form: st.builds(form, thread=THREADS) for form in (LeaveButton, SpeakForm)},
    **{
        form: st.builds(form, thread=THREADS, ts=TS) for form in (MenuForm, AskForm, ContextForm, AgainButton, RateForm)
    },
    **{
        kind: st.builds(kind, thread=THREADS, proposal=st.from_regex(r"\A[\x21-\x7e]{1,100}\Z"))
        for kind in (MemoryButton, MemoryForm)
    },
    FilesButton: st.builds(FilesButton, thread=THREADS, held=st.from_regex(r"\A[\x21-\x7e]{1,100}\Z")),
    Menu: st.builds(Menu),
    VersionButton: st.builds(VersionButton, thread=THREADS, ts=TS, n=st.integers(0, 9_999)),
    ModelButton: st.builds(
        ModelButton, turn=st.from_regex(r"\A[\x21-\x7e]{1,300}\Z"), n=st.integers(0, 99), model=st.text(max_size=60)
    ),
    SuggestionButton: st.builds(
        SuggestionButton, thread=THREADS, n=st.integers(0, 9), question=st.text(min_size=1, max_size=500)
    ),
    **{
        kind: st.builds(kind, turn=st.from_regex(r"\A[\x21-\x7e]{1,300}\Z"))
        for kind in (ReportButton, PageButton, StepButton, ReasonForm, PlaybookButton)
    },
    **{kind: st.builds(kind) for kind in (HomeButton, TourButton, DefaultsForm, ChannelsForm, SettingsForm)},
    ScheduleButton: st.builds(ScheduleButton, thread=THREADS, schedule=st.text(min_size=1, max_size=300)),
    **{kind: st.builds(kind, channel=st.from_regex(r"\A[A-Z0-9]{0,50}\Z")) for kind in (ThreadsButton, ThreadsForm)},
    PinButton: st.builds(PinButton, thread=THREADS, row=st.integers(0, 99)),
    EntriesButton: st.builds(EntriesButton, space=st.sampled_from(["everyone", "projects/churn", "channels/C1"])),
    **{
        kind: st.builds(kind, file=st.text(min_size=1, max_size=300), key=st.from_regex(r"\A[0-9a-f]{16}\Z"))
        for kind in (EntryButton, EntryForm)
    },
    InstructionsForm: st.builds(InstructionsForm, channel=st.from_regex(r"\A[A-Z0-9]{1,50}\Z")),
}
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["turn", "call", "n", "x"]), inner),
)
ANY_PAYLOAD: st.SearchStrategy[Any] = (
    st.text(st.characters())
    | st.binary()
    | ANY_JSON
    | ANY_JSON.map(json.dumps)
    | st.sampled_from(["[" * 100_000, '{"turn":"a","call":"c","n":' + "9" * 5_000 + "}", "\ud800"])
)


def every_interaction() -> st.SearchStrategy[Interaction]:
    assert set(BUILT) == set(INTERACTIONS), "a new interaction needs its line in BUILT"
    return st.one_of(*BUILT.values())


@given(every_interaction())
def test_what_is_encoded_is_decoded(interaction: Interaction) -> None:
    assert type(interaction).decode(interaction.encode()) == interaction
    assert type(interaction).pattern().search(interaction.id)


@given(every_interaction())
def test_an_id_belongs_to_one_kind(interaction: Interaction) -> None:
    assert [kind for kind in INTERACTIONS if kind.pattern().search(interaction.id)] == [type(interaction)]


@given(ANY_PAYLOAD)
def test_bytes_of_a_stranger_never_raise(payload: object) -> None:
    for kind in INTERACTIONS:
        found = kind.decode(payload)
        assert found is None or isinstance(found, kind)


def test_the_registry_lists_every_kind_once() -> None:
    assert sorted(INTERACTIONS, key=repr) == sorted(Interaction.__subclasses__(), key=repr)
    assert not any(
        one.ID.startswith(f"{other.ID}:") or one.ID == other.ID for one, other in permutations(INTERACTIONS, 2)
    )


@pytest.mark.parametrize(
    ("interaction", "id_", "payload"),
    [
        (StopButton(turn="T1:C1:1.0/t2"), "stop", "T1:C1:1.0/t2"),
        (OptionButton(turn="T1:C1:1.0/t2", call="c-1", n=3), "answer:3", '{"turn":"T1:C1:1.0/t2","call":"c-1","n":3}'),
        (LeaveButton(thread="T1:C1:1.0"), "leave", '{"thread":"T1:C1:1.0"}'),
    ],
)
def test_released_ids_and_payloads_stay_as_they_are(interaction: Interaction, id_: str, payload: str) -> None:
    """Messages that were posted by older versions still stand in Slack."""
    assert (interaction.id, interaction.encode()) == (id_, payload)
