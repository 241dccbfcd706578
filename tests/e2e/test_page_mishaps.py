"""The page when something goes wrong: a slow network, a server that stops, double clicks, a keyboard alone."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from page_kit import browser, page_at
from patience import PATIENCE_S
from playwright.sync_api import Browser, Route, expect

from playground import Address, Options, running

pytestmark = pytest.mark.browser
__all__ = ["browser"]

SALES = "C0SALES001"


@pytest.fixture
def server() -> Iterator[Address]:
    with running(options=Options(ack_timeout_s=PATIENCE_S, trigger_ttl_s=PATIENCE_S)) as address:
        yield address


def asked(server: Address) -> str:
    """The ts of a message of Ana's in #sales."""
    with httpx.Client(base_url=f"{server.url}/control", trust_env=False, timeout=PATIENCE_S) as control:
        return str(control.post("/messages", json={"channel": SALES, "text": "How much?"}).json()["ts"])


def test_what_was_written_is_still_there_after_escape_and_after_a_reload(browser: Browser, server: Address) -> None:
    ts = asked(server)
    with page_at(browser, f"{server.url}/{SALES}/{ts}") as page:
        page.locator("aside textarea").fill("a long thought")
        page.locator("aside textarea").press("Escape")
        page.locator(".main .reply-here").click()
        expect(page.locator("aside textarea")).to_have_value("a long thought")
        page.reload()
        expect(page.locator("aside textarea")).to_have_value("a long thought")
        expect(page.locator(".main textarea")).to_have_value("")
        page.locator("aside textarea").press("Enter")
        expect(page.locator("aside .message").last).to_contain_text("a long thought")
        page.reload()
        expect(page.locator("aside textarea")).to_have_value("")


def test_what_is_written_while_a_message_is_on_its_way_is_kept(browser: Browser, server: Address) -> None:
    waiting: list[Route] = []
    with page_at(browser, f"{server.url}/{SALES}") as page:
        page.route("**/control/messages", lambda route: waiting.append(route))
        composer = page.locator(".main textarea")
        composer.fill("first")
        with page.expect_request("**/control/messages"):
            composer.press("Enter")
        composer.press_sequentially("second")
        waiting[0].continue_()
        expect(page.locator(".main .message")).to_contain_text("first")
        expect(page.locator(".main .composer")).not_to_have_class("composer busy")
        expect(composer).to_have_value("second")


def test_a_message_that_was_not_sent_comes_back_into_its_box(browser: Browser, server: Address) -> None:
    with page_at(browser, f"{server.url}/{SALES}", is_cut_off=True) as page:
        page.route("**/control/messages", lambda route: route.abort())
        page.locator(".main textarea").fill("first")
        page.locator(".main input[type=file]").set_input_files(
            {"name": "sales.csv", "mimeType": "text/csv", "buffer": b"a"}
        )
        page.locator(".main textarea").press("Enter")
        expect(page.locator(".toast")).to_contain_text("The playground does not answer.")
        expect(page.locator(".main textarea")).to_have_value("first")
        expect(page.locator(".main .chip")).to_contain_text("sales.csv")


def test_cells_that_are_pasted_from_a_spreadsheet_are_text(browser: Browser, server: Address) -> None:
    paste = """
    (box, hasText) => {
      const data = new DataTransfer();
      if (hasText) data.items.add("a\\tb", "text/plain");
      data.items.add(new File(["x"], "image.png", { type: "image/png" }));
      box.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
    }"""
    with page_at(browser, f"{server.url}/{SALES}") as page:
        box = page.locator(".main textarea")
        box.evaluate(f"box => ({paste})(box, true)")
        expect(page.locator(".main .chip")).to_have_count(0)
        box.evaluate(f"box => ({paste})(box, false)")
        expect(page.locator(".main .chip")).to_have_count(1)
