"""Chromium for tests of the page: the browser, and a page that must end without errors and without foreign requests."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from patience import PATIENCE_S
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect, sync_playwright
from services import missing

expect.set_options(timeout=PATIENCE_S * 1_000)

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's Chromium, headless."""
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if not found:
        missing("Chromium", "install it or name it in CHROMIUM")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=found, args=FLAGS, timeout=PATIENCE_S * 1_000)
        yield opened
        opened.close()


@contextmanager
def page_at(browser: Browser, url: str, *, is_cut_off: bool = False, **options: Any) -> Iterator[Page]:
    """A page that must end without an error in its console and without a request to anybody else.

    With `is_cut_off` the browser may report requests that reached nobody.
    """
    context: BrowserContext = browser.new_context(**options)
    page = context.new_page()
    page.set_default_timeout(PATIENCE_S * 1_000)
    troubles: list[str] = []
    page.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    foreign: list[str] = []
    page.on("request", lambda request: None if request.url.startswith(url[:21]) else foreign.append(request.url))
    try:
        page.goto(url)
        yield page
    finally:
        context.close()
    told = [each for each in troubles if not (is_cut_off and "net::ERR_" in each)]
    assert (told, foreign) == ([], [])


def scroll_to(found: Locator) -> None:
    """Scroll to something that may be drawn again at this moment: Playwright's own way fails then."""
    found.evaluate("each => each.scrollIntoView({block: 'center', behavior: 'instant'})")
