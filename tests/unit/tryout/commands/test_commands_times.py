"""Times and periods behind an option: what cannot be read is answered with what is accepted."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from typer.testing import CliRunner

import threadbook
from tryout.commands.times import days, moment


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-11-30", datetime(2026, 11, 30, tzinfo=UTC)),
        ("2026-11-30T09:00", datetime(2026, 11, 30, 9, tzinfo=UTC)),
        ("2026-11-30 09:00:30", datetime(2026, 11, 30, 9, 0, 30, tzinfo=UTC)),
        ("2026-11-30T09:00Z", datetime(2026, 11, 30, 9, tzinfo=UTC)),
        ("2026-11-30T09:00+02:00", datetime(2026, 11, 30, 7, tzinfo=UTC)),
    ],
)
def test_a_date_or_a_time_is_read_in_utc_unless_it_has_an_offset(text: str, at: datetime) -> None:
    assert moment(text) == at


ODD = [
    "yesterday",
    "7d",
    "",
    "2026",
    "20261130",
    "1764489600",
    "2026-13-01",
    "2026-11-31",
    "30.11.2026",
    "0001-01-01T00:00+14:00",
]


@pytest.mark.parametrize("text", ODD)
@pytest.mark.parametrize("command", [["audit", "--since"], ["threads", "--since"], ["export", "--from"]])
def test_what_is_no_date_is_answered_with_what_is_accepted(command: list[str], text: str) -> None:
    done = CliRunner().invoke(threadbook.app, [*command, text], env={"COLUMNS": "200"})
    assert done.exit_code == 2
    assert "It takes a date such as 2026-11-30" in done.output
    assert "Input should be" not in done.output


@pytest.mark.parametrize("text", ["soon", "0", "-3", "7d", "1.5", "99999999999", ""])
def test_what_is_no_number_of_days_is_answered_with_what_is_accepted(text: str) -> None:
    with pytest.raises(ValueError, match="a number of days from 1 to 36500, such as 90"):
        days(text)
    done = CliRunner().invoke(threadbook.app, ["playbooks", "report", f"--days={text}"], env={"COLUMNS": "200"})
    assert done.exit_code == 2
    assert "It takes a number of days" in done.output
    assert days("90") == 90
