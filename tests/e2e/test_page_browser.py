"""The playground's page in the system's Chromium, with a real Bolt app behind it."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
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
    with running(options=Options(share_delay_s=0.05, ack_timeout_s=PATIENCE_S, trigger_ttl_s=PATIENCE_S)) as address:
        yield address


@pytest.fixture
def client(server: Address) -> WebClient:
    return WebClient(server.bot_token, base_url=server.api_url)


@pytest.fixture
def people(server: Address) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"{server.url}/control", trust_env=False, timeout=PATIENCE_S) as control:
        yield control


@contextmanager
def bolt(server: Address, app: App) -> Iterator[None]:
    with connected(app, server.app_token):
        yield


def png(width: int, height: int) -> bytes:
    """A plain picture of this size."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    rows = b"".join(b"\x00" + bytes((90, 75, 214)) * width for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def text(words: str) -> dict[str, str]:
    return {"type": "plain_text", "text": words}


def analyst(client: WebClient, chart: bytes) -> App:
    """A small app that answers a mention the way Threadbook does: sign, status, card with a button, chart, report."""
    app = App(client=client)

    @app.event("app_mention")
    def mentioned(event: dict[str, Any], client: WebClient) -> None:
        place = {"channel": event["channel"], "thread_ts": event["ts"]}
        client.reactions_add(channel=event["channel"], timestamp=event["ts"], name="eyes")
        client.assistant_threads_setStatus(
            channel_id=event["channel"], thread_ts=event["ts"], status="is reading sales.csv …"
        )
        button = {"type": "button", "action_id": "go", "value": "1", "text": text("Draw it")}
        task = {"type": "task_card", "task_id": "1", "title": "Read sales.csv", "status": "in_progress"}
        card = [{"type": "plan", "title": "Working", "tasks": [task]}, {"type": "actions", "elements": [button]}]
        client.chat_postMessage(**place, text="Working", blocks=card)

    @app.action("go")
    def pressed(ack: Any, body: dict[str, Any], client: WebClient) -> None:
        ack()
        message = body["message"]
        place = {"channel": body["channel"]["id"], "thread_ts": message["thread_ts"]}
        task = {"type": "task_card", "task_id": "1", "title": "Read sales.csv", "status": "complete"}
        plan = [{"type": "plan", "title": "Done", "tasks": [task]}]
        client.chat_update(channel=place["channel"], ts=message["ts"], text="Done", blocks=plan)
        client.files_upload_v2(**place, content=chart, filename="revenue.png", title="Revenue by month")
        report = "## Revenue doubled\n\n| Region | Share |\n|:--|--:|\n| EMEA | 58 % |\n"
        client.chat_postMessage(**place, text="Revenue doubled", blocks=[{"type": "markdown", "text": report}])

    app.event("message")(lambda: None)
    return app


def test_a_question_with_a_file_becomes_progress_a_chart_and_a_report(
    browser: Browser, server: Address, client: WebClient, tmp_path: Path
) -> None:
    sales = tmp_path / "sales.csv"
    sales.write_text("region,amount\nEMEA,1\n")
    with bolt(server, analyst(client, png(640, 320))), page_at(browser, f"{server.url}/{SALES}") as page:
        composer = page.locator(".main .composer")
        composer.locator("textarea").press_sequentially("@thr")
        expect(composer.locator(".people li:visible")).to_have_count(1)
        composer.locator("textarea").press("Enter")
        composer.locator("textarea").press_sequentially("how did revenue develop?")
        composer.locator("input[type=file]").set_input_files(sales)
        expect(composer.locator(".chip")).to_have_text(re.compile("sales.csv"))
        composer.locator("textarea").press("Enter")

        root = page.locator(".main .message").filter(has_text="how did revenue develop?")
        expect(root.locator(".mention")).to_have_text("@Threadbook")
        expect(root.locator(".file-name")).to_have_text("sales.csv")
        expect(root.locator(".reaction")).to_have_count(1)
        root.locator(".replies").click()

        thread = page.locator("aside.thread")
        expect(thread.locator(".task.in_progress .task-title")).to_have_text("Read sales.csv")
        thread.get_by_role("button", name="Draw it").click()
        expect(thread.locator(".task.complete")).to_have_count(1)
        expect(thread.get_by_role("button", name="Draw it")).to_have_count(0)
        expect(thread.locator(".markdown h2")).to_have_text("Revenue doubled")
        expect(thread.locator(".markdown td.align-right")).to_have_text("58 %")
        chart = thread.locator(".files img")
        expect(chart).to_be_visible()
        page.wait_for_function("image => image.complete", arg=chart.element_handle())
        assert chart.evaluate("image => [image.naturalWidth, image.naturalHeight]") == [640, 320]

        thread.locator("textarea").fill("and by region?")
        thread.get_by_role("button", name="Send").click()
        expect(thread.locator(".message").last).to_contain_text("and by region?")
        expect(root.locator(".replies .count")).to_have_text("4 replies")


def test_the_status_comes_and_goes_without_a_reload(
    browser: Browser, server: Address, client: WebClient, people: httpx.Client
) -> None:
    root = people.post("/messages", json={"channel": "#sales", "text": "go"}).json()["ts"]
    with page_at(browser, f"{server.url}/{SALES}/{root}") as page:
        status = page.locator("aside.thread .status")
        expect(status).to_be_hidden()
        client.assistant_threads_setStatus(channel_id=SALES, thread_ts=root, status="is checking …")
        expect(status).to_have_text(re.compile("Threadbook is checking …"))
        client.chat_postMessage(channel=SALES, thread_ts=root, text="Checked.")
        expect(status).to_be_hidden()
        expect(page.locator("aside.thread .message").last).to_contain_text("Checked.")


def test_messages_are_edited_and_deleted_before_ones_eyes(
    browser: Browser, server: Address, people: httpx.Client
) -> None:
    with page_at(browser, f"{server.url}/{SALES}") as page:
        ts = people.post("/messages", json={"channel": "#sales", "user": "ben", "text": "frist"}).json()["ts"]
        message = page.locator(".main .message")
        expect(message).to_contain_text("frist")
        people.patch(f"/messages/{SALES}/{ts}", json={"text": "first"})
        expect(message).to_contain_text("first")
        expect(message.locator(".edited")).to_be_visible()
        people.delete(f"/messages/{SALES}/{ts}")
        expect(message).to_have_count(0)


def test_a_message_elsewhere_raises_the_unread_mark_and_reading_clears_it(
    browser: Browser, server: Address, people: httpx.Client
) -> None:
    with page_at(browser, f"{server.url}/{SALES}") as page:
        row = page.locator('.rooms a[data-channel="C0CHURN001"]')
        expect(row.locator(".badge")).to_be_hidden()
        people.post("/messages", json={"channel": "#churn", "user": "maya", "text": "psst"})
        expect(row.locator(".badge")).to_have_text("1")
        row.click()
        expect(page.locator(".main .message")).to_contain_text("psst")
        expect(page.locator('.rooms a[data-channel="C0CHURN001"] .badge')).to_be_hidden()


def test_the_code_of_a_task_stays_open_while_the_plan_is_redrawn(
    browser: Browser, server: Address, client: WebClient
) -> None:
    def plan(status: str) -> list[dict[str, Any]]:
        code = {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": "df.describe()"}]}
        details = {"type": "rich_text", "elements": [code]}
        task = {"type": "task_card", "task_id": "1", "title": "Look", "status": status, "details": details}
        return [{"type": "plan", "title": "Working", "tasks": [task]}]

    ts = client.chat_postMessage(channel=SALES, text="Working", blocks=plan("in_progress"))["ts"]
    with page_at(browser, f"{server.url}/{SALES}") as page:
        code = page.get_by_text("df.describe()")
        expect(code).to_be_hidden()
        page.get_by_text("Look").click()
        expect(code).to_be_visible()
        client.chat_update(channel=SALES, ts=ts, text="Working", blocks=plan("complete"))
        expect(page.locator(".task.complete")).to_have_count(1)
        expect(code).to_be_visible()


def test_nothing_that_people_or_the_app_write_becomes_markup(
    browser: Browser, server: Address, client: WebClient, people: httpx.Client
) -> None:
    evil = (
        '<img src=x onerror="document.title=1"><script>document.title=2</script> <https://a.example/"onmouseover="x|go>'
    )
    people.post("/messages", json={"channel": "#sales", "text": evil})
    cell = {"type": "raw_text", "text": evil}
    blocks = [
        {"type": "markdown", "text": f"{evil}\n\n[a](javascript:alert(1)) ![b](https://evil.example/b.png)"},
        {"type": "section", "text": {"type": "mrkdwn", "text": evil}},
        {"type": "table", "rows": [[cell]]},
        {"type": "image", "image_url": "https://evil.example/a.png", "alt_text": evil},
    ]
    client.chat_postMessage(channel=SALES, text=evil, blocks=blocks)
    client.files_upload_v2(channel=SALES, content=b"<script>1</script>", filename="<b>.html", title=evil)
    with page_at(browser, f"{server.url}/{SALES}") as page:
        expect(page.locator(".main .file-name")).to_have_text(evil)
        assert page.locator(".body img, .body script, [onerror], [onmouseover]").count() == 0
        assert page.locator('.body a[href^="javascript"]').count() == 0
        assert page.title() == "#sales · Playground"


def test_a_modal_shows_its_errors_and_closes_when_the_app_is_content(
    browser: Browser, server: Address, client: WebClient
) -> None:
    app = App(client=client)
    app.event("message")(lambda: None)
    field = {"type": "plain_text_input", "action_id": "code", "multiline": True, "initial_value": "print(1"}
    view = {
        "type": "modal",
        "callback_id": "edited",
        "title": text("Edit code"),
        "submit": text("Run"),
        "blocks": [{"type": "input", "block_id": "b", "label": text("Code"), "element": field}],
    }
    app.action("edit")(lambda ack, body, client: (ack(), client.views_open(trigger_id=body["trigger_id"], view=view)))

    @app.view("edited")
    def submitted(ack: Any, view: dict[str, Any], client: WebClient) -> None:
        code = view["state"]["values"]["b"]["code"]["value"]
        if code.count("(") != code.count(")"):
            ack(response_action="errors", errors={"b": "Line 1: '(' was never closed"})
            return
        ack()
        client.chat_postMessage(channel=SALES, text=f"Running {code}")

    button = {"type": "button", "action_id": "edit", "text": text("Edit")}
    client.chat_postMessage(channel=SALES, text="?", blocks=[{"type": "actions", "elements": [button]}])
    with bolt(server, app), page_at(browser, f"{server.url}/{SALES}") as page:
        page.get_by_role("button", name="Edit").click()
        modal = page.locator("#modal")
        expect(modal).to_be_visible()
        modal.get_by_role("button", name="Run").click()
        expect(modal.locator(".input-error")).to_have_text("Line 1: '(' was never closed")
        modal.locator("textarea").fill("print(1)")
        modal.get_by_role("button", name="Run").click()
        expect(modal).to_be_hidden()
        expect(page.locator(".main .message").last).to_contain_text("Running print(1)")


def test_at_400_pixels_the_thread_takes_the_page_and_gives_it_back(
    browser: Browser, server: Address, people: httpx.Client
) -> None:
    root = people.post("/messages", json={"channel": "#sales", "text": "narrow"}).json()["ts"]
    people.post("/messages", json={"channel": "#sales", "text": "below", "thread_ts": root})
    with page_at(browser, f"{server.url}/{SALES}", viewport={"width": 400, "height": 800}) as page:
        page.locator(".replies").click()
        expect(page.locator("aside.thread")).to_be_visible()
        expect(page.locator("main.main")).to_be_hidden()
        assert page.evaluate("document.documentElement.scrollWidth") == 400
        page.get_by_role("link", name="Back to the channel").click()
        expect(page.locator("main.main")).to_be_visible()
        page.get_by_role("button", name="Channels").click()
        expect(page.locator(".sidebar")).to_be_in_viewport()
        assert page.evaluate("document.documentElement.scrollWidth") == 400


def test_a_table_that_is_too_wide_says_so_until_its_last_column_is_in_sight(
    browser: Browser, server: Address, client: WebClient
) -> None:
    rows = [[{"type": "raw_text", "text": f"column {n}"} for n in range(14)] for _ in range(3)]
    client.chat_postMessage(channel=SALES, text="wide", blocks=[{"type": "table", "rows": rows}])
    with page_at(browser, f"{server.url}/{SALES}", viewport={"width": 400, "height": 800}) as page:
        place = page.locator(".scroll").last
        expect(place).to_have_class(re.compile(r"\bhides\b"))
        place.evaluate("it => { it.scrollLeft = it.scrollWidth; }")
        expect(place).not_to_have_class(re.compile(r"\bhides\b"))
        assert page.evaluate("document.documentElement.scrollWidth") == 400


def test_a_thread_opens_at_the_head_of_its_answer(
    browser: Browser, server: Address, client: WebClient, people: httpx.Client
) -> None:
    asked = people.post("/messages", json={"channel": SALES, "text": "How much?"}).json()
    place = {"channel": SALES, "thread_ts": asked["ts"]}
    client.chat_postMessage(**place, text="Working")
    client.files_upload_v2(**place, content="a,b", filename="a.csv")
    client.chat_postMessage(**place, text="The answer begins here")
    client.chat_postMessage(**place, text="\n".join(f"line {number}" for number in range(80)))
    with page_at(browser, f"{server.url}/{SALES}/{asked['ts']}") as page:
        expect(page.locator(".thread .message", has_text="The answer begins here")).to_be_in_viewport()
        expect(page.locator(".thread .file")).not_to_be_in_viewport()
        people.post("/messages", json={**place, "text": "Thank you"})
        expect(page.locator(".thread .message", has_text="Thank you")).to_be_in_viewport()


def test_a_reply_that_comes_while_its_thread_is_being_opened_is_shown(
    browser: Browser, server: Address, client: WebClient, people: httpx.Client
) -> None:
    asked = people.post("/messages", json={"channel": SALES, "text": "How much?"}).json()
    place = {"channel": SALES, "thread_ts": asked["ts"]}
    client.chat_postMessage(**place, text="Working")
    with page_at(browser, f"{server.url}/{SALES}") as page:

        def late(route: Route) -> None:
            found = route.fetch()
            client.chat_postMessage(**place, text="It is 60.")
            expect(page.locator(".main .replies")).to_contain_text("2 replies")  # so the page has been told of it
            route.fulfill(response=found)

        page.route("**/fragments/thread/**", late)
        page.locator(".main .replies").click()
        expect(page.locator("aside.thread .message").last).to_contain_text("It is 60.")
        expect(page.locator("aside.thread .message")).to_have_count(3)


def test_a_channel_without_the_bot_offers_to_invite_it(browser: Browser, server: Address) -> None:
    with page_at(browser, f"{server.url}/{SALES}") as page:
        page.get_by_role("link", name="random").click()
        expect(page.locator(".intro")).to_contain_text("Invite @Threadbook before you ask")
        page.get_by_role("button", name="Invite Threadbook").click()
        expect(page.get_by_role("button", name="Invite Threadbook")).to_have_count(0)
        expect(page.locator(".intro")).to_contain_text("Mention @Threadbook")


def test_one_may_post_as_somebody_else(browser: Browser, server: Address) -> None:
    with page_at(browser, f"{server.url}/{SALES}") as page:
        page.locator(".viewer select").select_option(label="陈晨")
        expect(page.locator(".main .hint")).to_have_text("as 陈晨")
        page.locator(".main textarea").fill("你好")
        page.locator(".main textarea").press("Enter")
        expect(page.locator(".main .message .author")).to_have_text("陈晨")


def test_the_home_tab_tells_the_app_and_shows_what_it_publishes(
    browser: Browser, server: Address, client: WebClient
) -> None:
    app = App(client=client)
    section = {"type": "section", "text": {"type": "mrkdwn", "text": "Your *three* notebooks"}}

    @app.event("app_home_opened")
    def opened(event: dict[str, Any], client: WebClient) -> None:
        client.views_publish(user_id=event["user"], view={"type": "home", "blocks": [section]})

    with bolt(server, app), page_at(browser, f"{server.url}/home") as page:
        expect(page.locator(".home strong")).to_have_text("three")
