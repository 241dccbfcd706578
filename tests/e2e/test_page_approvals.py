"""Code that waits for a yes in the browser: edited, run, rejected; and what the app's home shows of it and takes.

The product behind is the whole one, the cells really run; a script answers for the model. `SCREENSHOTS=FOLDER` keeps
the pictures of docs/working-together.md.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from page_kit import browser
from playwright.sync_api import Browser, expect
from test_page_together import ask, call, press, snap, talk

pytestmark = pytest.mark.browser
__all__ = ["browser"]

EVERY = """
[access]
settings = ["members"]

[channels.C0SALES001.approvals]
ask = "every cell"
"""
READ = 'import pandas as pd\nsales = pd.read_csv("sales.csv")\nprint("rows", len(sales))'
DROP = 'sales = sales[sales["units"] > 1000]\nprint("left over", len(sales))'
WAITING = [
    call("run_python", code=READ, title="Read the file"),
    call("run_python", code=DROP, title="Keep the large regions"),
    call("finish", report="No region sold more than 1,000 units."),
]
DESK, PHONE = {"width": 1000, "height": 720}, {"width": 390, "height": 844}


def test_code_is_edited_and_run_and_the_next_is_rejected(browser: Browser, tmp_path: Path) -> None:
    with talk(browser, tmp_path, WAITING, "C0SALES001", EVERY) as page:
        thread = page.locator("aside.thread")
        ask(page, "Which regions are large?", tmp_path / "sales.csv")
        expect(thread.get_by_role("button", name="Run", exact=True)).to_be_visible()
        snap(page, "approval")
        press(page, "Edit")
        form = page.locator("form.view")
        code = form.locator("textarea").first
        expect(code).to_have_value(READ)
        code.fill(READ.replace("print(", "print(('rows'"))
        form.get_by_role("button", name="Run this").click()
        expect(form.get_by_text("Line 3:")).to_be_visible()
        code.fill(READ + '\nprint("units of all", sales["units"].sum())')
        snap(page, "edit")
        form.get_by_role("button", name="Run this").click()
        expect(form).to_have_count(0)
        expect(thread.get_by_text("units of all 250").first).to_be_attached()

        anas = page.url
        page.goto(anas.split("/C0")[0] + "/home")
        home = page.locator(".home")
        expect(home.get_by_text("Waiting for a yes")).to_be_visible()
        expect(home.get_by_text("Keep the large regions").first).to_be_visible()
        snap(page, "home")
        page.goto(anas)
        expect(thread.get_by_text("Keep the large regions").last).to_be_visible()
        press(page, "Reject")
        expect(thread.get_by_text("so I stopped here").last).to_be_visible()
        expect(thread.get_by_role("button", name="Run", exact=True)).to_have_count(0)
        expect(thread.get_by_text("left over")).to_have_count(1)  # as code that did not run, never as output
        snap(page, "rejected")


def test_what_a_person_chooses_at_home_holds_for_the_next_answer(browser: Browser, tmp_path: Path) -> None:
    answers = [call("finish", report="Guten Tag."), call("finish", report="Guten Tag.")]
    with talk(browser, tmp_path, answers, "C0GENERAL1", EVERY) as page:
        page.goto(page.url.split("/C0")[0] + "/home")
        home = page.locator(".home")
        expect(home.get_by_text("You have not asked anything yet.")).to_be_visible()
        home.get_by_role("button", name="My defaults").click()
        form = page.locator("form.view")
        form.locator("select").first.select_option(label="Deutsch")
        form.locator("textarea").first.fill("Amounts in thousands of euros.")
        snap(page, "defaults")
        form.get_by_role("button", name="Save").click()
        expect(form).to_have_count(0)
        expect(home.get_by_text("Amounts in thousands of euros.").first).to_be_visible()
        page.set_viewport_size(PHONE)  # type: ignore[arg-type]
        page.emulate_media(color_scheme="dark")
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        snap(page, "home_phone_dark")
        page.emulate_media(color_scheme="light")
        page.set_viewport_size(DESK)  # type: ignore[arg-type]
        home.get_by_role("button", name="Richtlinien und Budgets").click()  # the page speaks German now
        expect(page.locator("form.view")).to_be_visible()
        snap(page, "policies")
