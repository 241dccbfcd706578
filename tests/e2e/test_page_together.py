"""People hold the pen in the browser: a plan and a stage that two of them approve, code of one's own, a shell command
and files that wait, a message that is left out, a direct message. The product behind is the whole one; a script answers
for the model.

`SCREENSHOTS=FOLDER` keeps the pictures of docs/working-together.md.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from page_kit import browser, page_at, scroll_to
from playwright.sync_api import Browser, Page, expect

from tryout.stack.stack import running

pytestmark = pytest.mark.browser
__all__ = ["browser"]

SALES = "region,units\nnorth,120\nsouth,100\nwest,30\n"
TEAM = """
[sandbox]
bash = true

[channels.C0SALES001.approvals]
ask = "plan"
people = 2

[channels.C0CHURN001.approvals]
files = "always"

[access]
approve = ["members"]
"""
READ = 'import pandas as pd\nsales = pd.read_csv("sales.csv")\nprint("rows", len(sales))'
SUM = 'by_region = sales.groupby("region")["units"].sum()\nprint(by_region)'


def call(name: str, **arguments: str) -> dict[str, object]:
    return {"calls": [{"name": name, "arguments": arguments}]}


PLAN = call("finish", report="1. Read the file — how many rows\n2. Compare the regions — the one that leads")
STAGED = [
    PLAN,
    call("run_python", code=READ, title="Read the file"),
    call("finish", report="The file has **3 rows**, one per region."),
    call("run_python", code=SUM, title="Add up by region"),
    call("finish", report="**North** leads with 120 units."),
]
SHELL = [
    call("run_bash", command="wc -l < sales.csv", title="Count the lines without reading the file"),
    call("run_python", code=READ, title="Read the file"),
    call("finish", report="The file has **3 rows** and a header."),
]


STRICT = """
[sources.shop]
url_env = "SHOP_URL"
strict = true
"""
TWICE = (
    "units += 250\n"
    'frame = query("select region, sum(amount) as total from orders group by region order by total desc")\n'
    "print(frame)\nprint('units', units)"
)
STATEMENT = [
    call("run_python", code=f"{READ}\nunits = int(sales['units'].sum())", title="Read the file"),
    call("run_python", code=TWICE, title="Compare the regions"),
    call("finish", report="**South** sold most: 32 of 500 units in all."),
]
WRITE = f"{READ}\n" + 'sales.sort_values("units").to_csv("by_units.csv", index=False)'
TABLE = [
    call("run_python", code=WRITE, title="Sort and write the table"),
    call("finish", report="The table has **3 rows**, sorted by units."),
]
ANSWERS = [
    call("run_python", code=READ, title="Read the file"),
    call("finish", report="The file has **3 rows**, one per region."),
]


def snap(page: Page, name: str) -> None:
    if folder := os.environ.get("SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.mouse.move(0, 0)  # what is under the pointer looks different
        page.wait_for_function("() => document.getAnimations().every(each => each.playState !== 'running')")
        page.screenshot(path=str(Path(folder) / f"{name}.png"))


@contextmanager
def talk(
    browser: Browser,
    folder: Path,
    script: Sequence[object],
    channel: str,
    team: str = TEAM,
    more: Mapping[str, str] | None = None,
) -> Iterator[Page]:
    """The channel in the browser, with a team's settings, a script and further variables behind."""
    (folder / "script.json").write_text(json.dumps(script))
    (folder / "sales.csv").write_text(SALES)
    (folder / "threadbook.toml").write_text(team)
    environment = {
        "THREADBOOK_MODEL": f"scripted:{folder}/script.json",
        "THREADBOOK_CONFIG": f"{folder}/threadbook.toml",
        **(more or {}),
    }
    with (
        running(folder / "home", lambda _: None, environment=environment) as stack,
        page_at(browser, f"{stack.url}/{channel}", viewport={"width": 1000, "height": 720}) as page,
    ):
        yield page


def ask(page: Page, text: str, file: Path) -> None:
    composer = page.locator(".main .composer")
    composer.locator("textarea").fill(f"@threadbook {text}")
    composer.locator("input[type=file]").set_input_files(file)
    expect(composer.locator(".chip")).to_be_visible()
    composer.locator("textarea").press("Enter")
    page.locator(".main .message").filter(has_text=text).locator(".replies").click()


def say(page: Page, text: str) -> None:
    thread = page.locator("aside.thread")
    thread.locator("textarea").fill(text)
    thread.get_by_role("button", name="Send").click()


def as_person(page: Page, name: str) -> None:
    """Look at the same thread as somebody else."""
    place = page.url
    page.goto(place.rpartition("/")[0])
    people = page.locator(".viewer select")
    names = people.locator("option").all_inner_texts()
    people.select_option(label=next(each for each in names if each.startswith(name)))
    expect(page.locator(".main .hint")).to_contain_text(name)
    page.goto(place)


def press(page: Page, name: str) -> None:
    page.locator("aside.thread").get_by_role("button", name=name, exact=True).last.click()


def both_press(page: Page, name: str) -> None:
    """Ana says yes, then Ben."""
    press(page, name)
    expect(page.locator("aside.thread").get_by_text("more person has to").last).to_be_visible()
    as_person(page, "Ben")
    press(page, name)
    as_person(page, "Ana")


def test_two_people_approve_a_plan_and_its_stages_and_take_the_pen_in_between(browser: Browser, tmp_path: Path) -> None:
    with talk(browser, tmp_path, STAGED, "C0SALES001") as page:
        thread = page.locator("aside.thread")
        ask(page, "Which region sells most?", tmp_path / "sales.csv")
        expect(thread.get_by_role("button", name="Go", exact=True)).to_be_visible()
        snap(page, "plan")
        press(page, "Change")
        form = page.locator(".view")
        form.locator("textarea").first.fill("1. Read the file — its rows\n2. Compare the regions — the leader by units")
        form.get_by_role("button", name="Change and ask again").click()
        expect(thread.get_by_text("Only a yes to this new text counts").last).to_be_visible()
        expect(thread.get_by_text("The question is below, with the new text").last).to_be_visible()
        expect(thread.get_by_role("button", name="Go", exact=True)).to_have_count(1)
        snap(page, "changed_by_one_of_two")
        as_person(page, "Ben")
        press(page, "Go")
        as_person(page, "Ana")
        expect(thread.get_by_text("gave the last yes").last).to_be_visible()
        expect(thread.get_by_role("button", name="Approve", exact=True)).to_be_visible()
        page.set_viewport_size({"width": 390, "height": 720})
        page.emulate_media(color_scheme="dark")
        scroll_to(thread.get_by_role("button", name="Approve", exact=True))
        snap(page, "stage_phone_dark")
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": 1000, "height": 720})
        both_press(page, "Approve")
        expect(thread.get_by_text("leads with 120 units").first).to_be_visible()
        both_press(page, "Approve")
        expect(thread.get_by_text("Approved by").first).to_be_visible()

        say(page, "run\n```\nprint('the west alone:', by_region['west'])\n```")
        expect(thread.get_by_text("the west alone: 30").last).to_be_visible()
        scroll_to(thread.get_by_text("the west alone: 30").last)
        snap(page, "own_code")


def test_a_shell_command_waits_in_the_thread_and_runs_after_a_press(browser: Browser, tmp_path: Path) -> None:
    with talk(browser, tmp_path, SHELL, "C0GENERAL1") as page:
        thread = page.locator("aside.thread")
        ask(page, "How many lines has the file?", tmp_path / "sales.csv")
        expect(thread.get_by_text("wc -l < sales.csv").first).to_be_visible()
        snap(page, "shell")
        press(page, "Run")
        expect(thread.get_by_text("and a header").first).to_be_visible()
        expect(thread.get_by_text("let it run").first).to_be_visible()


def test_a_statement_waits_in_the_thread_and_its_cell_runs_again_after_a_press(
    browser: Browser, tmp_path: Path
) -> None:
    """The script has each cell once: nobody asks the model between the press and the answer."""
    with closing(sqlite3.connect(tmp_path / "shop.db")) as file:
        file.execute("CREATE TABLE orders (region text, amount int)")
        file.executemany("INSERT INTO orders VALUES (?, ?)", [("North", 10), ("South", 32)])
        file.commit()
    shop = {"SHOP_URL": f"sqlite:///{tmp_path}/shop.db"}
    with talk(browser, tmp_path, STATEMENT, "C0GENERAL1", STRICT, shop) as page:
        thread = page.locator("aside.thread")
        ask(page, "Which region sold most, and how many units are there?", tmp_path / "sales.csv")
        expect(thread.get_by_text("May this query run").first).to_be_visible()
        scroll_to(thread.get_by_role("button", name="Run the query", exact=True))
        snap(page, "statement_waits")
        press(page, "Run the query")
        expect(thread.get_by_text("of 500 units in all").first).to_be_visible()
        expect(thread.get_by_text("Asked for a yes")).to_have_count(0)
        snap(page, "statement_ran")
        page.set_viewport_size({"width": 390, "height": 720})
        page.emulate_media(color_scheme="dark")
        snap(page, "statement_ran_phone_dark")


def test_files_wait_in_the_thread_and_go_after_a_press(browser: Browser, tmp_path: Path) -> None:
    with talk(browser, tmp_path, TABLE, "C0CHURN001") as page:
        thread = page.locator("aside.thread")
        ask(page, "Sort the regions by units, as a CSV", tmp_path / "sales.csv")
        expect(thread.get_by_text("by_units.csv · 41 B")).to_be_visible()  # the card names the file too, folded
        expect(thread.get_by_text("sorted by units").first).to_be_visible()
        expect(thread.locator(".file").filter(has_text="by_units.csv")).to_have_count(0)
        scroll_to(thread.get_by_role("button", name="Send all", exact=True))
        snap(page, "files_wait")
        press(page, "Send all")
        expect(thread.get_by_text("sent them").first).to_be_visible()
        expect(thread.locator(".file").filter(has_text="by_units.csv").first).to_be_visible()


def test_a_message_is_left_out_of_what_the_analyst_reads(browser: Browser, tmp_path: Path) -> None:
    with talk(browser, tmp_path, ANSWERS, "C0GENERAL1") as page:
        thread = page.locator("aside.thread")
        ask(page, "How many rows has the file?", tmp_path / "sales.csv")
        expect(thread.get_by_text("one per region").first).to_be_visible()
        say(page, "note: the west is counted twice")
        message = thread.locator(".message").filter(has_text="the west is counted twice")
        expect(message.locator(".reaction")).to_be_visible()
        message.hover()
        message.locator(".shortcut").click()
        form = page.locator(".view")
        expect(form).to_be_visible()
        form.locator("select, input[type=radio]").first.wait_for()
        choose(page, "Leave out of the context")
        snap(page, "leave_out")
        form.get_by_role("button", name="Continue").click()
        expect(message.locator("[data-reaction=no_entry_sign]")).to_be_visible()
        page.set_viewport_size({"width": 390, "height": 720})
        page.emulate_media(color_scheme="dark")
        scroll_to(message)
        snap(page, "left_out_phone_dark")


def choose(page: Page, label: str) -> None:
    """Choose an option of the form that is open."""
    form = page.locator(".view")
    if form.locator("select").count():
        form.locator("select").first.select_option(label=label)
    else:
        form.get_by_label(label).check()


def test_a_direct_message_is_a_conversation_with_prompts_that_fit_the_data(browser: Browser, tmp_path: Path) -> None:
    with talk(browser, tmp_path, ANSWERS, "C0GENERAL1") as page:
        page.locator(".rooms ul").nth(1).locator("a").first.click()
        expect(page.locator(".main .composer textarea")).to_be_visible()
        composer = page.locator(".main .composer")
        composer.locator("textarea").fill("How many rows has the file?")
        composer.locator("input[type=file]").set_input_files(tmp_path / "sales.csv")
        expect(composer.locator(".chip")).to_be_visible()
        composer.locator("textarea").press("Enter")
        page.locator(".main .message").filter(has_text="How many rows").locator(".replies").first.click()
        thread = page.locator("aside.thread")
        expect(thread.get_by_text("one per region").first).to_be_visible()
        expect(thread.locator(".prompt").first).to_be_visible()
        snap(page, "direct_message")
