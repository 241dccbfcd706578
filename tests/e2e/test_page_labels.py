"""People judge answers on a page of their own: a vote with a reason, an example, a correction, and the export of them.

`SCREENSHOTS=FOLDER` keeps a picture of the page as it is on a desk, on a phone, and on a phone in the dark.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from page_kit import browser, page_at
from playwright.sync_api import Browser, Page, expect

from tryout.commands import export
from tryout.stack.stack import Stack, running

pytestmark = pytest.mark.browser
__all__ = ["browser"]

NARROW = {"width": 390, "height": 844}
SALES = "region,units\nnorth,120\nsouth,100\nwest,30\n"
CODE = 'import pandas as pd\nsales = pd.read_csv("sales.csv")\nprint(sales.groupby("region")["units"].sum())'
REPORT = (
    "**North leads** with 120 units, then South with 100.\n\n| region | units |\n| --- | --- |\n"
    "| north | 120 |\n| south | 100 |\n| west | 30 |"
)
SCRIPT = [
    {"calls": [{"name": "run_python", "arguments": {"code": CODE, "title": "Add the units by region"}}]},
    {"calls": [{"name": "finish", "arguments": {"report": REPORT}}]},
]


def snap(page: Page, name: str) -> None:
    if folder := os.environ.get("SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=str(Path(folder) / f"{name}.png"))


def ask(page: Page, text: str, file: Path) -> None:
    composer = page.locator(".main .composer")
    composer.locator("textarea").fill(f"@threadbook {text}")
    composer.locator("input[type=file]").set_input_files(file)
    expect(composer.locator(".chip")).to_be_visible()
    composer.locator("textarea").press("Enter")
    root = page.locator(".main .message").filter(has_text=text)
    expect(root.locator(".reaction")).to_have_count(1)
    root.locator(".replies").click()
    expect(page.locator("aside.thread").locator(".markdown").first).to_be_visible()
    expect(page.locator("aside.thread").get_by_role("button", name="Keep as playbook")).to_be_visible()


def become_ben(page: Page) -> None:
    people = page.locator(".viewer select")
    names = people.locator("option").all_inner_texts()
    people.select_option(label=next(name for name in names if name.startswith("Ben")))


def exported(stack: Stack, folder: Path, kind: export.Format, only: export.Only = "") -> list[str]:
    """What `threadbook export` writes of these threads, in both splits."""
    out = folder / f"{kind}{only}.jsonl"
    assert export.run(stack.settings, kind, only=only, out=out) == 0
    return [line for path in (out, out.with_suffix(".test.jsonl")) for line in path.read_text("utf-8").splitlines()]


def test_answers_are_rated_corrected_and_marked_on_their_page_and_the_export_has_it(
    browser: Browser, tmp_path: Path
) -> None:
    (tmp_path / "sales.csv").write_text(SALES)
    (tmp_path / "script.json").write_text(json.dumps(SCRIPT))
    environment = {"THREADBOOK_MODEL": f"scripted:{tmp_path}/script.json"}
    with (
        running(tmp_path / "home", lambda _: None, environment=environment) as stack,
        page_at(browser, f"{stack.url}/C0SALES001", viewport={"width": 1280, "height": 900}) as page,
    ):
        ask(page, "Which region sold the most units?", tmp_path / "sales.csv")
        page.goto(f"{stack.url}/C0SALES001")
        ask(page, "How many units did we sell in all?", tmp_path / "sales.csv")

        page.get_by_role("link", name="Answers to judge").click()
        become_ben(page)
        expect(page.get_by_role("heading", name="Answers", exact=True)).to_be_visible()
        best = page.get_by_role("article", name="Which region sold the most units?")
        total = page.get_by_role("article", name="How many units did we sell in all?")
        expect(best.locator("table")).to_be_visible()
        expect(total).to_contain_text("120 units")

        total.get_by_placeholder("Why? (optional)").fill("not by month")
        total.get_by_role("button", name="Wrong").click()
        expect(total.get_by_role("button", name="Wrong")).to_have_attribute("aria-pressed", "true")
        expect(total.locator(".label-signs")).to_contain_text("1")
        expect(page.get_by_role("link", name="Judged")).to_contain_text("1")

        best.get_by_role("button", name="Example").click()
        expect(best.locator(".label-signs")).to_contain_text("Example")
        best.get_by_role("button", name="Right").click()
        best.get_by_text("Correct the answer").click()
        field = best.get_by_label("What it should have said")
        field.fill(REPORT.replace("then South with 100", "then South with 100 (83 % of North)"))
        snap(page, "answers")
        best.get_by_role("button", name="Keep the correction").click()
        expect(best.locator(".label-signs")).to_contain_text("orrect")

        page.goto(f"{stack.url}/labels?show=judged")
        for _ in range(60):
            if best.get_by_text("Corrected by").count():
                break
            page.wait_for_timeout(500)
            page.reload()
        expect(best).to_contain_text("83 % of North")
        best.locator("summary").filter(has_text="What it said at first").click()
        page.emulate_media(color_scheme="dark")
        snap(page, "answers_judged_dark")
        page.set_viewport_size(NARROW)  # type: ignore[arg-type]
        assert page.evaluate("document.documentElement.scrollWidth") == NARROW["width"]
        page.wait_for_timeout(500)  # the sidebar slides away
        snap(page, "answers_phone_dark")
        page.emulate_media(color_scheme="light")
        snap(page, "answers_phone")

        (example,) = exported(stack, tmp_path, "sft", "examples")
        assert "83 % of North" in example
        (pair,) = (json.loads(line) for line in exported(stack, tmp_path, "preferences"))
        assert pair["kind"] == "edit"
        assert "83 % of North" in json.dumps(pair["chosen"])
        assert "83 % of North" not in json.dumps(pair["rejected"])
        (approved,) = exported(stack, tmp_path, "sft", "approved")
        assert "Which region sold" in approved
