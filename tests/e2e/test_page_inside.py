"""A developer opens the drawer of a thread and sees what went on behind the answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from page_kit import browser, page_at
from playwright.sync_api import Browser, expect

from tryout.stack.stack import running

pytestmark = pytest.mark.browser
__all__ = ["browser"]

NARROW = {"width": 390, "height": 844}


def test_the_drawer_shows_cells_calls_and_jobs_of_a_question_and_is_quiet_when_closed(
    browser: Browser, tmp_path: Path, examples: Path
) -> None:
    with running(tmp_path / "home", lambda _: None) as stack, page_at(browser, f"{stack.url}/C0SALES001") as page:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url) if "/fragments/inside/" in request.url else None)
        composer = page.locator(".main .composer")
        composer.locator("textarea").fill("@threadbook How have our sales developed, and which regions drive them?")
        composer.locator("input[type=file]").set_input_files(examples / "sales" / "sales.csv")
        expect(composer.locator(".chip")).to_be_visible()
        composer.locator("textarea").press("Enter")
        root = page.locator(".main .message").filter(has_text="How have our sales developed")
        root.locator(".replies").click()
        thread, drawer = page.locator("aside.thread"), page.locator("#inside")
        expect(thread.locator(".markdown").filter(has_text="$3,678,462").first).to_be_visible()
        expect(drawer).to_be_hidden()
        assert asked == []

        thread.get_by_role("button", name="What is going on", exact=True).click()
        expect(drawer.get_by_role("heading", name="What is going on")).to_be_focused()
        cells = drawer.locator("[data-key=Cells]")
        expect(cells.locator(".inside-row").filter(has_text="Clean the data").first).to_be_visible()
        expect(cells.locator(".inside-state.good").first).to_be_visible()
        expect(cells.locator("pre").first).to_be_visible()
        expect(drawer.locator("[data-key=Jobs]")).to_contain_text("ended")
        expect(drawer.locator("[data-key='Events to the app']")).to_contain_text("acknowledged")
        calls = drawer.locator("[data-key='Web API calls']")
        calls.locator("summary").press("Enter")
        expect(calls.locator(".inside-row").filter(has_text="chat.postMessage").first).to_be_visible()

        thread.locator("textarea").fill("and by region, only 2023?")
        thread.get_by_role("button", name="Send").click()
        expect(drawer.locator("[data-key=Jobs]")).to_contain_text("2 jobs have ended")
        expect(calls).to_have_attribute("open", "")  # what is opened stays open while rows come

        page.set_viewport_size(NARROW)  # type: ignore[arg-type]
        assert page.evaluate("document.documentElement.scrollWidth") == NARROW["width"]
        page.keyboard.press("Escape")
        expect(drawer).to_be_hidden()
        button = thread.get_by_role("button", name="What is going on", exact=True)
        expect(button).to_be_focused()
        expect(button).to_have_attribute("aria-expanded", "false")
        expect(thread).to_be_visible()
