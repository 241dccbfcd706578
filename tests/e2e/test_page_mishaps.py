"""The page when something goes wrong: a slow network, a server that stops, double clicks, a keyboard alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from page_kit import browser, page_at
from patience import PATIENCE_S
from playwright.sync_api import Browser, Route, expect
from slack_bolt import App
from slack_sdk import WebClient

from bot.connection.socket_mode import connected
from playground import Address, Options, running

pytestmark = pytest.mark.browser
__all__ = ["browser"]

SALES = "C0SALES001"


@pytest.fixture
def server() -> Iterator[Address]:
    with running(options=Options(ack_timeout_s=PATIENCE_S, trigger_ttl_s=PATIENCE_S)) as address:
        yield address


@pytest.fixture
def client(server: Address) -> WebClient:
    return WebClient(server.bot_token, base_url=server.api_url)


def asked(server: Address) -> str:
    """The ts of a message of Ana's in #sales."""
    with httpx.Client(base_url=f"{server.url}/control", trust_env=False, timeout=PATIENCE_S) as control:
        return str(control.post("/messages", json={"channel": SALES, "text": "How much?"}).json()["ts"])


def text(words: str) -> dict[str, str]:
    return {"type": "plain_text", "text": words}


def buttons(*names: str) -> list[dict[str, Any]]:
    elements = [{"type": "button", "action_id": name.lower(), "value": "1", "text": text(name)} for name in names]
    return [{"type": "actions", "elements": elements}]


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

    def hold(route: Route) -> None:
        waiting.append(route)

    with page_at(browser, f"{server.url}/{SALES}") as page:
        page.route("**/control/messages", hold)
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


def why(client: WebClient) -> tuple[App, list[Any], list[Any]]:
    """An app that opens a modal with one field at a press of "Go", and what was pressed and submitted."""
    app, pressed, submitted = App(client=client), [], []
    field = {"type": "plain_text_input", "action_id": "why"}
    window = {
        "type": "modal",
        "callback_id": "window",
        "title": text("Reason"),
        "submit": text("Send"),
        "blocks": [{"type": "input", "block_id": "why", "label": text("Why"), "element": field}],
    }

    @app.action("go")
    def go(ack: Any, body: dict[str, Any], client: WebClient) -> None:
        pressed.append(body)
        client.views_open(trigger_id=body["trigger_id"], view=window)
        ack()

    @app.view("window")
    def submit(ack: Any, body: dict[str, Any]) -> None:
        submitted.append(body)
        ack()

    app.event("message")(lambda: None)
    return app, pressed, submitted


def test_two_presses_in_a_row_are_one(browser: Browser, server: Address, client: WebClient) -> None:
    ts = asked(server)
    app, pressed, submitted = why(client)
    client.chat_postMessage(channel=SALES, thread_ts=ts, text="Go?", blocks=buttons("Go"))
    with connected(app, server.app_token), page_at(browser, f"{server.url}/{SALES}/{ts}") as page:
        button = page.get_by_role("button", name="Go", exact=True)
        button.evaluate("button => { button.click(); button.click(); }")
        page.get_by_label("Why").fill("because")
        page.locator("form.view").evaluate("form => { form.requestSubmit(); form.requestSubmit(); }")
        expect(page.locator("form.view")).to_be_hidden()
        expect(button).not_to_have_class(re.compile("busy"))
    assert (len(pressed), len(submitted)) == (1, 1)


def test_a_modal_has_its_title_as_name_and_the_keyboard_in_its_first_field(
    browser: Browser, server: Address, client: WebClient
) -> None:
    ts = asked(server)
    client.chat_postMessage(channel=SALES, thread_ts=ts, text="Go?", blocks=buttons("Go"))
    with connected(why(client)[0], server.app_token), page_at(browser, f"{server.url}/{SALES}/{ts}") as page:
        page.get_by_role("button", name="Go", exact=True).click()
        expect(page.get_by_role("dialog", name="Reason").get_by_label("Why")).to_be_focused()


def test_the_keyboard_stays_where_it_is_while_a_message_is_redrawn(
    browser: Browser, server: Address, client: WebClient
) -> None:
    ts = asked(server)
    place = {"channel": SALES, "thread_ts": ts}
    card = client.chat_postMessage(**place, text="Working", blocks=buttons("Stop", "Show steps"))
    with page_at(browser, f"{server.url}/{SALES}/{ts}") as page:
        page.get_by_role("button", name="Show steps").focus()
        fresh = [{"type": "section", "text": text("2 of 3")}, *buttons("Stop", "Show steps")]
        client.chat_update(channel=SALES, ts=card["ts"], text="Working", blocks=fresh)
        expect(page.locator("aside")).to_contain_text("2 of 3")
        expect(page.get_by_role("button", name="Show steps")).to_be_focused()


def test_a_thread_that_closes_gives_the_keyboard_back_to_its_message(browser: Browser, server: Address) -> None:
    ts = asked(server)
    with page_at(browser, f"{server.url}/{SALES}") as page:
        page.locator(".main .reply-here").press("Enter")
        expect(page.locator("aside textarea")).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.locator(f"[id='main-{ts}']")).to_be_focused()


def test_a_page_whose_server_stops_says_so_and_goes_on_when_it_is_back(browser: Browser) -> None:
    with ExitStack() as pages:
        with running() as first:
            asked(first)
            page = pages.enter_context(page_at(browser, f"{first.url}/{SALES}", is_cut_off=True))
            expect(page.locator(".offline")).to_be_hidden()
            page.locator(".main textarea").fill("half a question")
        expect(page.locator(".offline")).to_contain_text("The playground does not answer.")
        page.locator(".main .reply-here").click()
        expect(page.locator(".toast")).to_contain_text("This thread was not opened")
        with running(port=first.port):
            expect(page.locator(".offline")).to_be_hidden()
            expect(page.locator(".main .message")).to_have_count(0)
            expect(page.locator(".main textarea")).to_have_value("half a question")


def test_a_modal_closes_also_while_the_server_is_gone(browser: Browser) -> None:
    with ExitStack() as pages:
        with running(options=Options(ack_timeout_s=PATIENCE_S, trigger_ttl_s=PATIENCE_S)) as server:
            client, ts = WebClient(server.bot_token, base_url=server.api_url), asked(server)
            client.chat_postMessage(channel=SALES, thread_ts=ts, text="Go?", blocks=buttons("Go"))
            page = pages.enter_context(page_at(browser, f"{server.url}/{SALES}/{ts}", is_cut_off=True))
            with connected(why(client)[0], server.app_token):
                page.get_by_role("button", name="Go", exact=True).click()
                expect(page.locator("form.view")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator("form.view")).to_be_hidden()


def test_a_printed_thread_is_whole(browser: Browser, server: Address, client: WebClient) -> None:
    ts = asked(server)
    for number in range(12):
        client.chat_postMessage(channel=SALES, thread_ts=ts, text=f"Part {number}\n" + "line\n" * 20)
    with page_at(browser, f"{server.url}/{SALES}/{ts}") as page:
        expect(page.locator("aside .message")).to_have_count(13)
        page.emulate_media(media="print")
        expect(page.locator(".sidebar")).to_be_hidden()
        expect(page.locator("aside .composer")).to_be_hidden()
        assert page.locator("aside .messages").evaluate("list => list.scrollHeight - list.clientHeight") == 0
        assert page.evaluate("document.documentElement.scrollHeight > 5 * innerHeight")


def test_on_a_phone_the_way_back_is_free_while_the_server_is_away(browser: Browser) -> None:
    phone = {"viewport": {"width": 390, "height": 844}}
    with ExitStack() as pages:
        with running() as first:
            ts = asked(first)
            url = f"{first.url}/{SALES}/{ts}"
            page = pages.enter_context(page_at(browser, url, is_cut_off=True, **phone))
            expect(page.locator("aside .back")).to_be_visible()
        expect(page.locator(".offline")).to_be_visible()
        bar, back = page.locator(".offline").bounding_box(), page.locator("aside .back").bounding_box()
        assert bar
        assert back
        assert bar["y"] + bar["height"] <= back["y"]
        composer = page.locator("aside .composer").bounding_box()
        assert composer
        assert composer["y"] + composer["height"] <= phone["viewport"]["height"]


def test_who_hears_the_page_is_told_whom_the_arrows_choose(browser: Browser, server: Address) -> None:
    with page_at(browser, f"{server.url}/{SALES}") as page:
        box = page.locator(".main textarea")
        box.press_sequentially("@")
        chosen = page.locator(".main .people [aria-selected=true]")
        expect(chosen).to_have_count(1)
        first = chosen.get_attribute("id") or ""
        expect(box).to_have_attribute("aria-activedescendant", first)
        box.press("ArrowDown")
        second = chosen.get_attribute("id") or ""
        assert second != first
        expect(box).to_have_attribute("aria-activedescendant", second)
        box.press("Escape")
        expect(page.locator(".main .people")).to_be_hidden()
        assert box.get_attribute("aria-activedescendant") is None
