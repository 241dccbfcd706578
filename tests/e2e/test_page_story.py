"""What a team has learned, from the question to the schedule that stops itself, in the browser.

A thread gets a vote and becomes a playbook, another person's question follows it, its code is run again each week,
posts what changed, and stops when the data no longer fit. The whole product runs; only the model is replaced by a
script.

A week is not waited for: the due time of the schedule is set to now, in the Store.

`SCREENSHOTS=FOLDER` keeps the pictures of docs/memory.md and docs/threads.md.
"""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from page_kit import browser, page_at, scroll_to
from playwright.sync_api import Browser, Locator, Page, expect

from tryout.stack.stack import running

pytestmark = pytest.mark.browser
__all__ = ["browser"]

CHANNEL = "C0SALES001"
WEEKS = {
    "sales_2026-11-16.csv": "region,units\nnorth,120\nsouth,100\nwest,30\n",
    "sales_2026-11-23.csv": "region,units\nnorth,150\nsouth,100\nwest,40\n",
    "sales_2026-11-30.csv": "region,pieces\nnorth,160\nsouth,90\nwest,40\n",
}
FIRST, SECOND, THIRD = WEEKS
READ = f'import pandas as pd\nsales = pd.read_csv("{FIRST}")\nprint("rows", len(sales))'
SUM = 'by_region = sales.groupby("region")["units"].sum()\nprint(by_region)\nprint("total units", by_region.sum())'


def run(code: str, title: str, when: str = "") -> dict[str, object]:
    return {"calls": [{"name": "run_python", "arguments": {"code": code, "title": title}}], "when": when}


def finish(report: str, when: str = "") -> dict[str, object]:
    return {"calls": [{"name": "finish", "arguments": {"report": report}}], "when": when}


def look(name: str) -> dict[str, object]:
    """What is done with a file that comes later: it is only looked at."""
    return run(f'print("looked at", open("{name}").readline())', "Look at the file", name)


SCRIPT = [
    [look(SECOND), look(THIRD), run(READ, "Read the sales")],
    [finish("Thanks, I keep the file.", "looked at"), run(SUM, "Add the units by region")],
    finish("North leads with **120 units** of 250 in all regions."),
]
DESK = {"width": 1280, "height": 1000}
PHONE = {"width": 400, "height": 860}


def snap(page: Page, name: str) -> None:
    if folder := os.environ.get("SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.mouse.move(0, 0)  # what is under the pointer looks different
        page.wait_for_function("() => document.getAnimations().every(each => each.playState !== 'running')")
        page.screenshot(path=str(Path(folder) / f"{name}.png"))


def ask(page: Page, text: str, file: Path | None = None) -> None:
    """Begin a thread in the channel, and open it."""
    composer = page.locator(".main .composer")
    composer.locator("textarea").fill(f"@threadbook {text}")
    if file is not None:
        composer.locator("input[type=file]").set_input_files(file)
        expect(composer.locator(".chip")).to_be_visible()
    composer.locator("textarea").press("Enter")
    root = page.locator(".main .message").filter(has_text=text)
    expect(root.locator(".reaction")).to_have_count(1)
    root.locator(".replies").click()


def become(page: Page, name: str) -> None:
    people = page.locator(".viewer select")
    names = people.locator("option").all_inner_texts()
    people.select_option(label=next(each for each in names if each.startswith(name)))


def make_due(database: Path) -> None:
    """The next due time of every schedule that is at work is now."""
    with closing(sqlite3.connect(database, timeout=30)) as store:
        now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
        store.execute("UPDATE schedules SET next_at = ? WHERE state = 'active'", (now,))
        store.commit()


def last(thread: Locator, text: str) -> Locator:
    """The message of the thread with this text, scrolled to."""
    found = thread.locator(".message").filter(has_text=text).last
    expect(found).to_be_visible()
    scroll_to(found)
    return found


@pytest.mark.timeout(900)
def test_a_thread_becomes_a_playbook_then_a_weekly_report_that_drift_stops(browser: Browser, tmp_path: Path) -> None:
    for name, content in WEEKS.items():
        (tmp_path / name).write_text(content)
    (tmp_path / "script.json").write_text(json.dumps(SCRIPT))
    environment = {"THREADBOOK_MODEL": f"scripted:{tmp_path}/script.json"}
    home, files = tmp_path / "home", tmp_path
    with (
        running(home, lambda _: None, environment=environment) as stack,
        page_at(browser, f"{stack.url}/{CHANNEL}", viewport=DESK) as page,
    ):
        thread = page.locator("aside.thread")
        ask(page, "Which region sold the most units?", files / FIRST)
        expect(thread.get_by_role("button", name="Keep as playbook")).to_be_visible()
        anas = page.url
        thread.get_by_role("button", name="👍").click()
        expect(thread.locator(".b-context").filter(has_text="1 ·").last).to_be_visible()
        thread.get_by_role("button", name="Keep as playbook").click()
        thread.get_by_role("button", name="Approve").click()
        expect(thread.get_by_text("approved the playbook")).to_be_visible()
        last(thread, "approved the playbook")
        snap(page, "story_approved")

        page.goto(f"{stack.url}/{CHANNEL}")
        become(page, "Ben")
        expect(page.locator(".main .hint")).to_contain_text("Ben")
        ask(page, "most units sold: which region, please?", files / FIRST)
        expect(thread.get_by_text("playbook “Which region sold the most units”").first).to_be_visible()
        expect(thread.get_by_role("button", name="Keep as playbook")).to_be_visible()
        snap(page, "story_followed")

        page.goto(f"{stack.url}/{CHANNEL}")
        become(page, "Ana")
        expect(page.locator(".main .hint")).to_contain_text("Ana")
        page.goto(anas)
        words = thread.locator(".composer textarea")
        words.fill("every Monday 9:00 run this again")
        words.press("Enter")
        expect(last(thread, "Scheduled by ana")).to_contain_text("called sales_*-*-*.csv")

        page.goto(f"{stack.url}/{CHANNEL}")
        ask(page, "Here is the file of the week", files / SECOND)
        expect(thread.get_by_text("I keep the file").first).to_be_visible()
        page.goto(anas)
        make_due(home / "threadbook.db")
        changed = last(thread, "120 → 150")
        expect(changed).to_contain_text("250 → 290")
        expect(changed).to_contain_text(SECOND)
        snap(page, "story_change")

        page.goto(f"{stack.url}/home")
        expect(page.get_by_role("button", name="Pause")).to_be_visible()
        page.get_by_role("button", name="Pause").click()
        expect(page.get_by_role("button", name="Resume")).to_be_visible()
        make_due(home / "threadbook.db")  # paused: no run comes of it
        page.get_by_role("button", name="Resume").click()
        expect(page.get_by_role("button", name="Pause")).to_be_visible()
        scroll_to(page.get_by_role("button", name="Pause"))
        snap(page, "home_schedules")

        page.goto(f"{stack.url}/{CHANNEL}")
        ask(page, "Here is the next file of the week", files / THIRD)
        expect(thread.get_by_text("I keep the file").first).to_be_visible()
        page.goto(anas)
        expect(thread.get_by_text("resumed “every Monday")).to_be_visible()
        make_due(home / "threadbook.db")
        stopped = last(thread, "the data differ from those")
        expect(stopped).to_contain_text(f"{THIRD}: no column 'units' (new: 'pieces')")
        expect(stopped).not_to_contain_text("160")
        snap(page, "story_drift")
        page.emulate_media(color_scheme="dark")
        page.set_viewport_size(PHONE)  # type: ignore[arg-type]
        last(thread, "the data differ from those")
        snap(page, "story_drift_phone_dark")

        page.emulate_media(color_scheme="light")
        page.set_viewport_size(DESK)  # type: ignore[arg-type]
        page.goto(f"{stack.url}/home")
        expect(page.get_by_text("no column 'units'").first).to_be_visible()
        expect(page.get_by_role("button", name="Pause")).to_have_count(0)
        page.get_by_role("button", name="Find threads").click()
        window = page.locator("form.view")
        expect(window.get_by_role("button", name="Pin for me")).to_have_count(4)
        window.get_by_label("Words in questions").fill("units region")
        window.get_by_role("button", name="Search").click()
        expect(window.get_by_role("button", name="Pin for me")).to_have_count(2)
        window.get_by_role("button", name="Pin for me").first.click()  # Ana's own thread: she wrote there last
        expect(window.get_by_role("button", name="Unpin")).to_have_count(1)
        snap(page, "threads_window")
        window.get_by_role("combobox").first.select_option(label="Where I wrote")
        expect(window.get_by_role("button", name="Pin for me")).to_have_count(0)
        expect(window.get_by_role("button", name="Unpin")).to_have_count(1)
        page.emulate_media(color_scheme="dark")
        page.set_viewport_size(PHONE)  # type: ignore[arg-type]
        snap(page, "threads_window_phone_dark")
        window.get_by_role("button", name="Close").last.click()
        expect(window).to_have_count(0)
        expect(page.get_by_text("Pinned by you")).to_be_visible()
        scroll_to(page.get_by_text("Pinned by you"))
        snap(page, "home_pinned_phone_dark")
