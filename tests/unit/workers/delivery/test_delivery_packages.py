"""The question whether packages of a program may be installed, open and decided, as Slack gets it."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from core.slack.blocks import broken_limits
from core.slack.views.memory import proposal_message, settled_message
from core.steps import Proposed, Settled
from core.values import Language
from workers.builder.packages.lock import Lock
from workers.builder.packages.wheels import LockedPackage

Golden = Callable[[str, object], None]


def package(name: str, version: str, size: int, licence: str) -> LockedPackage:
    file = f"{name}-{version}-py3-none-any.whl"
    return LockedPackage(
        name=name, version=version, file=file, sha256="0123456789ab" * 5 + "cdef", size=size, licence=licence
    )


def asked(*packages: LockedPackage) -> Proposed:
    lock = Lock(wanted=tuple(one.name for one in packages), packages=packages)
    return Proposed(
        what="packages",
        id="packages:3.0",
        file="invoices.toml",
        title="invoices",
        text=lock.model_dump_json(),
        about="\n".join(lock.rows()),
        version=2,
        origin="program:2.0",
        user="U1",
        author="Ana",
        ts="3.0",
    )


@pytest.mark.parametrize("language", ["en", "zh", "de", "es", "fr", "ja"])
def test_what_people_read(golden: Golden, language: Language) -> None:
    question = asked(package("humanize", "4.17.0", 132_000, "MIT"), package("regex", "2026.11.15", 802_345, ""))
    ends = {
        outcome: Settled(proposal=question.id, outcome=outcome, user="U2", author="Ben <b>", ts="4.0")
        for outcome in ("kept", "dropped")
    }
    messages = {
        "open": proposal_message(question, "T1:C1:1.0", language),
        **{name: settled_message(question, end, language) for name, end in ends.items()},
    }
    drawn = {name: {"text": each.text, "blocks": each.blocks} for name, each in messages.items()}
    golden(f"blocks/packages_{language}.json", drawn)
    assert [name for name, each in messages.items() if broken_limits(each.blocks)] == []


def test_all_packages_are_shown_to_who_approves_them_or_cannot_be_approved() -> None:
    few = asked(
        *(package(f"name{number}", "2026.11.15", 802_345, "Apache-2.0 AND CNRI-Python") for number in range(40))
    )
    message = proposal_message(few, "T1:C1:1.0", "en")
    shown = json.dumps(message.blocks)
    assert [number for number in range(40) if f"name{number} 2026" not in shown] == []
    assert "Install and build" in shown
    many = asked(*(package(f"{'n' * 90}{number}", "1.0", 1, "x" * 60) for number in range(100)))
    assert "Install and build" not in json.dumps(proposal_message(many, "T1:C1:1.0", "en").blocks)


def test_many_packages_of_long_names_stay_within_the_limits_of_slack() -> None:
    many = asked(*(package(f"{'p' * 90}{number}", "1.0", 1, "x" * 60) for number in range(100)))
    assert broken_limits(proposal_message(many, "T1:C1:1.0", "en").blocks) == []
