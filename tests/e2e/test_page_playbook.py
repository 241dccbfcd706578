"""A thread becomes a playbook in the browser, and another person's question follows it, with the whole product behind.

`SCREENSHOTS=FOLDER` keeps a picture of each step.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from page_kit import browser, page_at
from playwright.sync_api import Browser, Page, expect

from tryout.stack.stack import running

pytestmark = pytest.mark.browser
__all__ = ["browser"]

SALES = "region,units\nnorth,120\nsouth,100\nwest,30\n"
READ = 'import pandas as pd\nsales = pd.read_csv("sales.csv")\nprint("rows", len(sales))'
SUM = 'by_region = sales.groupby("region")["units"].sum()\nprint(by_region)\nprint("total units", by_region.sum())'


def cell(code: str, title: str) -> dict[str, object]:
    return {"calls": [{"name": "run_python", "arguments": {"code": code, "title": title}}]}


def finish(report: str) -> dict[str, object]:
    return {"calls": [{"name": "finish", "arguments": {"report": report}}]}


SCRIPT = [
    cell(READ, "Read the sales"),
    cell(SUM, "Add the units by region"),
    finish("North leads with **120 units** of 250 in all regions."),
]


def snap(page: Page, name: str) -> None:
    if folder := os.environ.get("SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=True)


def ask(page: Page, text: str, file: Path) -> None:
    composer = page.locator(".main .composer")
    composer.locator("textarea").fill(f"@threadbook {text}")
    composer.locator("input[type=file]").set_input_files(file)
    expect(composer.locator(".chip")).to_be_visible()
    composer.locator("textarea").press("Enter")
    root = page.locator(".main .message").filter(has_text=text)
    expect(root.locator(".reaction")).to_have_count(1)
    root.locator(".replies").click()


def test_a_report_is_kept_as_a_playbook_and_the_next_question_follows_it(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "sales.csv").write_text(SALES)
    (tmp_path / "script.json").write_text(json.dumps(SCRIPT))
    environment = {"THREADBOOK_MODEL": f"scripted:{tmp_path}/script.json"}
    with (
        running(tmp_path / "home", lambda _: None, environment=environment) as stack,
        page_at(browser, f"{stack.url}/C0SALES001", viewport={"width": 1500, "height": 1500}) as page,
    ):
        thread = page.locator("aside.thread")
        ask(page, "Which region sold the most units?", tmp_path / "sales.csv")
        expect(thread.get_by_role("button", name="Keep as playbook")).to_be_visible()
        snap(page, "1-report")
        menu = thread.get_by_role("combobox", name="More")
        menu.select_option(label="Download all")
        expect(thread.get_by_text("analysis.zip").first).to_be_visible()
        expect(menu).to_have_value("")
        thread.get_by_role("button", name="Keep as playbook").click()
        expect(thread.locator(".body").filter(has_text="Reproduced").last).to_be_visible()
        approve = thread.get_by_role("button", name="Approve")
        expect(approve).to_be_visible()
        snap(page, "2-draft")
        thread.get_by_role("button", name="Read and change").click()
        expect(page.locator("dialog, .modal").first).to_be_visible()
        snap(page, "3-page")
        page.keyboard.press("Escape")
        page.goto(page.url)
        thread.get_by_role("button", name="Approve").click()
        expect(thread.get_by_text("approved the playbook")).to_be_visible()
        snap(page, "4-approved")
        (kept,) = (tmp_path / "home" / "memory" / "channels" / "C0SALES001" / "playbooks").glob("*.md")
        assert "def read_the_sales(*, sales_file='sales.csv'):" in kept.read_text("utf-8")

        page.goto(f"{stack.url}/C0SALES001")
        people = page.locator(".viewer select")
        names = people.locator("option").all_inner_texts()
        people.select_option(label=next(name for name in names if name.startswith("Ben")))
        expect(page.locator(".main .hint")).to_contain_text("Ben")
        ask(page, "most units sold: which region, please?", tmp_path / "sales.csv")
        expect(thread.get_by_text("playbook “Which region sold the most units”").first).to_be_visible()
        expect(thread.locator(".markdown").first).to_be_visible()
        snap(page, "5-followed")
        thread.get_by_role("button", name="Open").click()
        expect(page.get_by_text("def read_the_sales").first).to_be_visible()
        snap(page, "6-opened")
