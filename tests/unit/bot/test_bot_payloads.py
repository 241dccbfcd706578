"""What Slack sends about presses and forms: read whole, or not at all."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.payloads import Press, Submitted, read_form, read_press

PRESS: dict[str, Any] = {
    "user": {"id": "U1"},
    "trigger_id": "1.2.abc",
    "container": {"channel_id": "C1", "message_ts": "1700000000.000100"},
    "actions": [{"value": "v", "action_ts": "1700000001.000200"}],
}

FORM: dict[str, Any] = {
    "user": {"id": "U1"},
    "view": {"id": "V1", "callback_id": "edit", "private_metadata": "m", "state": {"values": {}}},
}

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def test_a_press_is_read_whole() -> None:
    assert read_press(PRESS) == Press(
        value="v",
        user="U1",
        ts="1700000001.000200",
        channel="C1",
        shown="1700000000.000100",
        trigger="1.2.abc",
        view="",
        view_hash="",
    )


def test_a_press_in_a_modal_has_a_view_and_no_channel() -> None:
    press = read_press({**PRESS, "container": {"type": "view"}, "view": {"id": "V1", "hash": "h"}})
    assert press is not None
    assert (press.view, press.view_hash, press.channel, press.shown) == ("V1", "h", "", "")


def test_the_chosen_option_of_a_menu_is_its_value() -> None:
    press = read_press({**PRESS, "actions": [{"type": "overflow", "selected_option": {"value": "chosen"}}]})
    assert press is not None
    assert press.value == "chosen"


@pytest.mark.parametrize("missing", ["user", "actions"])
def test_a_press_of_nobody_or_on_nothing_is_none(missing: str) -> None:
    assert read_press({name: part for name, part in PRESS.items() if name != missing}) is None


@pytest.mark.parametrize("ts", ["", "soon", "1", "1700000000.000100/../x", "1" * 30 + ".0"])
def test_what_is_no_ts_reads_as_none_given(ts: str) -> None:
    press = read_press({**PRESS, "actions": [{"value": "v", "action_ts": ts}]})
    assert press is not None
    assert press.ts == ""


def test_an_id_of_odd_length_reads_as_none_given() -> None:
    press = read_press({**PRESS, "container": {"channel_id": "C" * 101, "message_ts": "1.0"}})
    assert press is not None
    assert press.channel == ""


def test_a_form_is_read_whole() -> None:
    assert read_form(FORM) == Submitted("edit", "m", "U1", "V1", FORM["view"])


@pytest.mark.parametrize("name", ["user", "trigger_id", "container", "actions", "view"])
@given(value=JSON)
def test_no_payload_makes_the_reader_fail(name: str, value: object) -> None:
    read_press({**PRESS, name: value})
    read_press({**PRESS, "actions": [{**PRESS["actions"][0], name: value}]})
    read_form({**FORM, name: value})
    read_form({**FORM, "view": {**FORM["view"], name: value}})
