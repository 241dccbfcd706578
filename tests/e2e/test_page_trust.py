"""Where figures come from, in the browser: marks, a report that waits, the badge, a second way.

The product behind is the whole one, the cells really run; a script answers for the model. `SCREENSHOTS=FOLDER` keeps
the pictures of docs/trust.md.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from page_kit import browser, page_at, scroll_to
from playwright.sync_api import Browser, Page, expect

from tryout.stack.stack import Stack, running

pytestmark = pytest.mark.browser
__all__ = ["browser"]

SALES = "region,units,revenue_eur\nnorth,120,2400\nsouth,100,1900\nwest,30,660\n"
READ = 'import pandas as pd\nsales = pd.read_csv("sales.csv").set_index("region")\n'
PLOT = "import matplotlib.pyplot as plt\nplt.bar(sales.index, {values})\nplt.ylabel('units')\nplt.title('Units')\n"
STRICT = '[report]\nunsourced = "hold"\n\n[check]\nsecond_route = "headline"\n'


def call(name: str, **arguments: str) -> dict[str, object]:
    return {"calls": [{"name": name, "arguments": arguments}]}


def story(question: str, code: str, shown: str, report: str) -> dict[str, str]:
    """One thread: what is asked, what the cell does, a word of its output, what the report says."""
    return {"question": question, "code": READ + code, "shown": shown, "report": report}


LEADS = story(
    "Which region leads? The target is 130 units.", 'print(sales["units"])\nprint("regions that lead: 1")', "that lead",
    "**North** leads with **120 units**, 20 % more than South (100).\n\n"
    "All regions together sold 250 units. The target of 130 was reached nowhere.",
)  # fmt: skip
CHURN = story(
    "How many customers left?", 'print(sales["units"])\nprint("customers: not in the file")', "not in the file",
    "North sold 120 units. Customer churn was 7.4 %.",
)  # fmt: skip
ROW = story(
    "How did the south do?", 'print(sales["units"])\nprint("south: one row")', "south: one row",
    "South sold 120 units.",
)  # fmt: skip
UNIT = story(
    "What did the north earn?", 'print(sales["revenue_eur"])\nprint("north: one sum")', "north: one sum",
    "North earned $2,400.",
)  # fmt: skip
CHART = story(
    "Show me the units as a chart",
    'print(sales["units"])\nprint("drawn by hand")\n' + PLOT.format(values="[150, 100, 30]"),
    "drawn by hand", "North sold 120 units.",
)  # fmt: skip
LUCK = story(
    "Simulate next month", "import random\nprint('units of north:', sales.units['north'])\nprint('one draw for each')\n"
    + PLOT.format(values="[random.randint(50, 150) for _ in range(3)]"), "one draw", "North sold 120 units this month.",
)  # fmt: skip
STALE = story(
    "How much in all?", 'print("total units", sales["units"].sum())', "total units 250", "The total units were 250.",
)  # fmt: skip
LATER = story(
    "only north and south please", 'print("total units", sales["units"][:2].sum())', "total units 220",
    "The total units were 250.",
)  # fmt: skip
SECOND = story(
    "How much did we earn?", 'print("total revenue_eur", sales["revenue_eur"].sum())', "total revenue_eur",
    "The total revenue was **4,960 €**.",
)  # fmt: skip
ROUTE = {
    "text": "Only the regions north and south count as ours.\n```python\nimport pandas as pd\n"
    "rows = pd.read_csv('sales.csv')\nours = rows[rows.region != 'west']\n"
    "answers = {'total revenue': int(ours.revenue_eur.sum())}\n```"
}


def script(*turns: list[dict[str, str]]) -> dict[str, object]:
    """Replies for threads that run beside each other: each finds its own by what was said last."""
    told = []
    for stories in turns:
        cells = [{"when": s["question"], **call("run_python", code=s["code"], title="Look it up")} for s in stories]
        reports = [{"when": s["shown"], **call("finish", report=s["report"])} for s in stories]
        again = [{"when": s["report"][-20:], **call("finish", report=s["report"])} for s in stories]
        told.append([cells, reports, again, again])
    return {"turns": told, "routes": [ROUTE, ROUTE]}


@contextmanager
def talk(browser: Browser, folder: Path, played: dict[str, object], team: str = "") -> Iterator[tuple[Stack, Page]]:
    (folder / "script.json").write_text(json.dumps(played))
    (folder / "sales.csv").write_text(SALES)
    (folder / "threadbook.toml").write_text(team)
    environment = {
        "THREADBOOK_MODEL": f"scripted:{folder}/script.json",
        "THREADBOOK_CONFIG": f"{folder}/threadbook.toml",
    }
    with (
        running(folder / "home", lambda _: None, environment=environment) as stack,
        page_at(browser, f"{stack.url}/C0SALES001", viewport={"width": 1000, "height": 560}) as page,
    ):
        yield stack, page


def ask(page: Page, told: dict[str, str], folder: Path) -> None:
    page.goto(page.url.split("/C0")[0] + "/C0SALES001")
    composer = page.locator(".main .composer")
    composer.locator("textarea").fill(f"@threadbook {told['question']}")
    composer.locator("input[type=file]").set_input_files(folder / "sales.csv")
    expect(composer.locator(".chip")).to_be_visible()
    composer.locator("textarea").press("Enter")
    page.locator(".main .message").filter(has_text=told["question"]).locator(".replies").click()


def say(page: Page, text: str) -> None:
    thread = page.locator("aside.thread")
    thread.locator("textarea").fill(text)
    thread.get_by_role("button", name="Send").click()


def sees(page: Page, text: str, name: str) -> None:
    """The thread says this, and here is its picture."""
    found = page.locator("aside.thread").get_by_text(text).last
    expect(found).to_be_visible()
    scroll_to(found)
    snap(page, name)


def snap(page: Page, name: str, place: str = "aside.thread") -> None:
    if folder := os.environ.get("SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.mouse.move(0, 0)  # what is under the pointer looks different
        page.wait_for_function("() => document.getAnimations().every(each => each.playState !== 'running')")
        page.locator(place).last.screenshot(path=str(Path(folder) / f"trust_{name}.png"))


def test_what_no_cell_computed_is_marked_with_its_reason(browser: Browser, tmp_path: Path) -> None:
    first = [LEADS, CHURN, ROW, UNIT, CHART, LUCK, STALE]
    with talk(browser, tmp_path, script(first, [LATER])) as (_, page):
        ask(page, LEADS, tmp_path)
        sees(page, "Reproduced in", "reproduced")
        ask(page, CHURN, tmp_path)
        sees(page, "not computed here", "unsourced")
        ask(page, ROW, tmp_path)
        sees(page, "not computed here", "row")
        ask(page, UNIT, tmp_path)
        sees(page, "not computed here", "unit")
        ask(page, CHART, tmp_path)
        sees(page, "a chart of this answer shows another value", "chart")
        ask(page, STALE, tmp_path)
        expect(page.locator("aside.thread").get_by_text("Reproduced in").last).to_be_visible()
        say(page, LATER["question"])
        sees(page, "not computed here", "earlier")
        ask(page, LUCK, tmp_path)
        sees(page, "Not reproduced", "not_reproduced")


def test_a_report_waits_for_a_person_and_a_second_way_disagrees(browser: Browser, tmp_path: Path) -> None:
    with talk(browser, tmp_path, script([CHURN, SECOND]), STRICT) as (_, page):
        ask(page, CHURN, tmp_path)
        expect(page.locator("aside.thread").get_by_role("button", name="Do not post it")).to_be_visible()
        snap(page, "held")
        ask(page, SECOND, tmp_path)
        sees(page, "A second way", "second")
