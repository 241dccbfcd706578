"""A placeholder stands for the same value in the whole thread, and only the sandbox gets the value back."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from core.steps import Asked, Masked, Replied, dump_step, load_step
from workers.privacy.masking import Masker, masked_in, restored

ANA, BEN, CARD = "ana@example.org", "ben@example.org", "4111111111111111"
ALL = ("email", "phone", "iban", "card", "id")


def masked(text: str, given: dict[str, str] | None = None, known: tuple[str, ...] = ()) -> str:
    return Masker(ALL, given or {}, known).text(text)  # type: ignore[arg-type]


def test_values_get_numbers_in_the_order_in_which_they_come_by_kind() -> None:
    assert masked(f"{BEN}, {ANA}, {CARD}, {BEN}") == "<email_1>, <email_2>, <card_1>, <email_1>"


def test_what_was_shown_before_keeps_its_placeholder() -> None:
    replied = Replied(purpose="act", masked=(Masked(placeholder="<email_1>", value=ANA),))
    given = masked_in([[load_step(dump_step(replied))], [Asked(user="U", author="A", text="x", ts="1")]])
    masker = Masker(ALL, given)  # type: ignore[arg-type]
    assert masker.text(f"{BEN} and {ANA}") == "<email_2> and <email_1>"
    assert masker.new == [Masked(placeholder="<email_2>", value=BEN)]


def test_a_kind_that_is_off_now_and_on_again_goes_on_counting() -> None:
    given = {"<email_7>": ANA, "<card_1>": CARD}
    assert Masker(("email",), given).text(f"{BEN} {CARD}") == f"<email_8> {CARD}"


def test_arguments_of_calls_stay_json_whatever_escapes_they_have() -> None:
    code = f"print(1)\n{'x'} = '{ANA}'\n"
    for ascii_only in (True, False):
        arguments = json.dumps({"code": code, "title": "Prüfung"}, ensure_ascii=ascii_only)
        call = {"id": "c", "type": "function", "function": {"name": "run_python", "arguments": arguments}}
        (message,) = Masker(ALL, {}).messages([{"role": "assistant", "content": "", "tool_calls": [call]}])  # type: ignore[arg-type]
        told = json.loads(message["tool_calls"][0]["function"]["arguments"])
        assert told == {"code": code.replace(ANA, "<email_1>"), "title": "Prüfung"}


def test_arguments_that_are_broken_json_are_masked_as_text() -> None:
    call = {"id": "c", "function": {"name": "run_python", "arguments": '{"code": "\\n' + ANA}}
    (message,) = Masker(ALL, {}).messages([{"role": "assistant", "content": None, "tool_calls": [call]}])  # type: ignore[arg-type]
    assert ANA not in json.dumps(message)


def test_lists_of_parts_are_masked_too() -> None:
    (message,) = Masker(ALL, {}).messages([{"role": "user", "content": [{"type": "text", "text": ANA}]}])  # type: ignore[arg-type]
    assert message["content"] == [{"type": "text", "text": "<email_1>"}]


def test_half_a_value_at_a_cut_is_masked_when_the_thread_holds_the_whole() -> None:
    known = (f"{ANA}, {CARD}",)
    assert masked("ana@exa… and more", known=known) == "<email_1>… and more"
    assert masked("card 41111111...", known=known) == "card <card_1>..."
    assert masked("a\n[… 9 characters left out here; print less, or a summary …]\nmple.org, b", known=known).endswith(
        "…]\n<email_1>, b"
    )
    assert masked("card 411\n[… 9 characters", known=known) == "card 411\n[… 9 characters"
    assert masked("bananas… are fine", known=known) == "bananas… are fine"


def test_an_address_that_was_cut_is_masked_although_nobody_knows_the_whole() -> None:
    assert masked("to carla@exam… or carla@exam...") == "to <email_1>… or <email_1>..."


def test_code_gets_its_values_back_and_nothing_else() -> None:
    values = {"<email_1>": ANA, "<card_1>": CARD}
    assert restored("df[df.m == '<email_1>'] ; df.c == <card_1>", values) == f"df[df.m == '{ANA}'] ; df.c == {CARD}"
    assert restored("'<email_2>' '<b>' email_1 <EMAIL_1>", values) == "'<email_2>' '<b>' email_1 <EMAIL_1>"


def test_a_value_cannot_break_out_of_the_quotes_around_it() -> None:
    """Code is made of text that strangers wrote: no kind of value may hold a quote, a backslash or a line break."""
    for hostile in ("a'b@example.org", 'a"b@example.org', "a\\b@example.org", "a\nb@example.org", "a{b}@example.org"):
        masker = Masker(ALL, {})  # type: ignore[arg-type]
        masker.text(f"'{hostile}'")
        assert all(not set(new.value) & set("'\"\\\n\r{}`$") for new in masker.new)


@given(st.text(max_size=200), st.lists(st.sampled_from([ANA, BEN, CARD, "+49 30 1234567"]), max_size=5))
def test_what_is_masked_and_put_back_is_what_it_was(text: str, values: list[str]) -> None:
    whole = text + " " + " ; ".join(values)
    masker = Masker(ALL, {})  # type: ignore[arg-type]
    hidden = masker.text(whole)
    assert all(value not in hidden for value in values)
    assert restored(hidden, {new.placeholder: new.value for new in masker.new}) == whole


def test_a_thread_with_many_values_and_many_cuts_is_masked() -> None:
    known = tuple(f"person{n}@example.org" for n in range(20_000))
    text = "\n".join(f"person{n}@exam… x" for n in range(0, 20_000, 10))
    assert "exam" not in masked(text, known=(" ".join(known),))


def test_the_value_does_not_print() -> None:
    assert ANA not in repr(Masked(placeholder="<email_1>", value=ANA))


def test_the_id_of_a_result_stays_that_of_its_call() -> None:
    call = {"id": CARD, "type": "function", "function": {"name": "f", "arguments": "{}"}}
    given = [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": CARD, "content": CARD},
    ]
    asked, result = Masker(ALL, {}).messages(given)  # type: ignore[arg-type]
    assert asked["tool_calls"][0]["id"] == result["tool_call_id"] == CARD
    assert result["content"] == "<card_1>"
