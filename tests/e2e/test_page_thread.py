"""A person in a browser and the whole product behind it: upload, mention, progress, chart, report, follow-up."""

from __future__ import annotations

from pathlib import Path

import pytest
from page_kit import browser, page_at
from playwright.sync_api import Browser, expect

from tryout.stack.stack import running

pytestmark = pytest.mark.browser
__all__ = ["browser"]


def test_a_person_uploads_a_table_mentions_the_bot_and_reads_chart_report_and_follow_up(
    browser: Browser, tmp_path: Path, examples: Path
) -> None:
    with running(tmp_path / "home", lambda _: None) as stack, page_at(browser, f"{stack.url}/C0SALES001") as page:
        composer = page.locator(".main .composer")
        composer.locator("textarea").fill("@threadbook How have our sales developed, and which regions drive them?")
        composer.locator("input[type=file]").set_input_files(examples / "sales" / "sales.csv")
        expect(composer.locator(".chip")).to_be_visible()
        composer.locator("textarea").press("Enter")

        root = page.locator(".main .message").filter(has_text="How have our sales developed")
        expect(root.locator(".reaction")).to_have_count(1)
        root.locator(".replies").click()
        thread = page.locator("aside.thread")
        expect(thread.locator(".task").first).to_be_visible()

        expect(thread.locator(".markdown").filter(has_text="$3,678,462").first).to_be_visible()
        chart = thread.locator(".files img").first
        page.wait_for_function("image => image.complete && image.naturalWidth > 0", arg=chart.element_handle())
        assert chart.evaluate("image => image.naturalWidth") >= 600
        expect(thread.locator(".file-name").filter(has_text="report.html")).to_be_visible()

        thread.locator("textarea").fill("and by region, only 2023?")
        thread.get_by_role("button", name="Send").click()
        expect(thread.locator(".files img[alt*='2023'], .files img").nth(1)).to_be_visible()
        expect(thread.locator(".body").filter(has_text="$495,861").first).to_be_visible()
