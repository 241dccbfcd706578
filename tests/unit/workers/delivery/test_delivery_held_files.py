"""The message about files that wait for a yes, in its states, as Slack gets it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from core.held_files import Held
from core.slack.blocks import SlackMessage, broken_limits
from core.slack.views.held_files import MOST_FILES, held_message, settled_message, size_text
from core.steps import Agreed, FilesHeld, FilesSettled, HeldFile
from core.values import Language, ThreadKey

Golden = Callable[[str, object], None]
THREAD = ThreadKey("T1", "C1", "1.0")
BY_ANA = {"user": "U1", "author": "Ana", "ts": "2.0"}


def file(name: str, size: int, rows: int | None = None) -> HeldFile:
    return HeldFile(name=name, mimetype="text/csv", size=size, sha256="0" * 64, rows=rows)


def held(*files: HeldFile, people: int = 1) -> FilesHeld:
    given = files or (file("orders <all>.csv", 1_234_567, 40_000), file("report.html", 812))
    return FilesHeld(id="files:1", key="k", files=given, until=1.0, hours=24, people=people)


@pytest.mark.parametrize("language", ["en", "zh", "de", "es", "fr", "ja"])
def test_what_people_read(golden: Golden, language: Language) -> None:
    states = {outcome: FilesSettled(held="files:1", outcome=outcome, **BY_ANA) for outcome in ("sent", "kept")}
    states |= {outcome: FilesSettled(held="files:1", outcome=outcome, **BY_ANA) for outcome in ("expired", "gone")}
    agreed = Held(held(people=2), (Agreed(call_id="files:1", **BY_ANA),))
    messages = {
        "open": held_message(Held(held()), THREAD, language),
        "one of two": held_message(agreed, ThreadKey("T1", "D1", "1.0"), language),
        **{name: settled_message(Held(held(), settled=end), language) for name, end in states.items()},
        "asked again": settled_message(Held(held(), asked_again=True), language),
    }
    drawn = {name: {"text": each.text, "blocks": each.blocks} for name, each in messages.items()}
    golden(f"blocks/held_files_{language}.json", drawn)
    assert [name for name, each in messages.items() if broken_limits(each.blocks)] == []


def test_many_files_are_listed_up_to_a_bound() -> None:
    many = held(*(file(f"{n}.csv", 10, 1) for n in range(MOST_FILES + 3)))
    message: SlackMessage = held_message(Held(many), THREAD, "en")
    assert "… and 3 more." in message.text
    assert broken_limits(message.blocks) == []


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (999, "999 B"), (1_000, "1.0 KB"), (1_250_000, "1.2 MB"), (700_000_000, "700 MB")]
)
def test_sizes_read_as_people_say_them(size: int, text: str) -> None:
    assert size_text(size, "en") == text


def test_sizes_and_rows_are_written_as_the_language_writes_numbers() -> None:
    assert "1,2 MB · 40.000 Zeilen" in held_message(Held(held()), THREAD, "de").text
