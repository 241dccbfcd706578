"""A thread becomes a program in the browser: a requirement file, changed by a second person, built, changed, rebuilt.

The product behind is the whole one, with real walls around the program; a script answers for the model.
`SCREENSHOTS=FOLDER` keeps the pictures of docs/programs.md.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path

import httpx
import pytest
from builder_kit import FENCE, FINE, code, covered, reply
from page_kit import browser, page_at, scroll_to
from playwright.sync_api import Browser, Page, expect
from wheel_kit import wheel

from tryout.stack.stack import running

pytestmark = pytest.mark.browser
__all__ = ["browser"]

DRAFT = '''[file]
name = "invoices"
language = "python"
description = "Counts the invoices of each month."

[project]
requirements = """
Print one line for each month of the column date: the month, a colon, the number of invoices.
Without an argument print a usage text on standard error and end with exit code 2.
"""

[[tests.case]]
name = "two months"
arguments = ["in.csv"]
files = { "in.csv" = "date,status\\n2026-01-05,paid\\n2026-02-01,paid\\n2026-02-03,open\\n" }
covers = ["R1"]
expect = { stdout = "2026-01: 1\\n2026-02: 2\\n" }
'''
EXAMPLE = Path(__file__).parents[2] / "examples" / "programs" / "invoices.toml"
OPEN = "? Do cancelled invoices count?\n? Shall months without invoices be listed with 0?\n"
CANCELLED = "Leave out invoices whose status is cancelled.\n"
BENS = (
    DRAFT.replace("Without an argument", f"{CANCELLED}Without an argument")
    + """
[[tests.case]]
name = "a cancelled invoice does not count"
arguments = ["in.csv"]
files = { "in.csv" = "date,status\\n2026-01-05,paid\\n2026-01-09,cancelled\\n" }
covers = ["R2"]
expect = { stdout = "2026-01: 1\\n" }
"""
)
YEAR = "With a second argument print the months of that year alone.\n"
CHANGED = (
    BENS.replace("Without an argument", f"{YEAR}Without an argument")
    + """
[[tests.case]]
name = "one year"
arguments = ["in.csv", "2025"]
files = { "in.csv" = "date,status\\n2025-12-31,paid\\n2026-01-01,paid\\n" }
covers = ["R3"]
expect = { stdout = "2025-12: 1\\n" }
"""
)
PROGRAM = """import csv
import sys
from collections import Counter


def main(words):
    if not words:
        print("usage: invoices.py FILE.csv", file=sys.stderr)
        return 2
    with open(words[0], newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["status"] != "cancelled"]
    months = Counter(row["date"][:7] for row in rows)
    for month, count in sorted(months.items()):
        print(f"{month}: {count}")
    return 0


sys.exit(main(sys.argv[1:]))"""
WRONG = PROGRAM.replace(' if row["status"] != "cancelled"]', "]")
BY_YEAR = PROGRAM.replace(
    "    for month",
    """    if len(words) > 1:
        months = {month: count for month, count in months.items() if month.startswith(words[1])}
    for month""",
)


def file_of(text: str, questions: str = "") -> str:
    return f"{FENCE}toml\n{text}{FENCE}\n{questions}"


SCRIPT = {
    "replies": [
        [
            reply("# The file as it is", file_of(CHANGED)),
            reply("# A requirement file", file_of(DRAFT, OPEN)),
            reply("months of that year", code("invoices.py", BY_YEAR)),
            reply("is cancelled", code("invoices.py", WRONG)),
        ],
        [reply("a cancelled invoice does not count", code("invoices.py", PROGRAM))],
    ],
    "checks": [
        reply("# Requirements of", covered(*((f"R{number}", True, "invoices.py:8") for number in range(1, 5)))),
        reply("You review code", FINE),
    ],
}


def snap(page: Page, name: str) -> None:
    if folder := os.environ.get("SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.mouse.move(0, 0)  # what is under the pointer looks different
        page.wait_for_function("() => document.getAnimations().every(each => each.playState !== 'running')")
        page.screenshot(path=str(Path(folder) / f"{name}.png"))


def as_person(page: Page, name: str) -> None:
    people = page.locator(".viewer select")
    names = people.locator("option").all_inner_texts()
    people.select_option(label=next(each for each in names if each.startswith(name)))
    expect(page.locator(".main .hint")).to_contain_text(name)


def say(page: Page, text: str) -> None:
    thread = page.locator("aside.thread")
    thread.locator("textarea").fill(text)
    thread.get_by_role("button", name="Send").click()


def packed(url: str, page: Page) -> zipfile.ZipFile:
    """The newest zip in the thread."""
    link = page.locator("aside.thread a[href*='invoices.zip'], aside.thread a:has-text('invoices.zip')").last
    href = link.get_attribute("href") or ""
    content = httpx.get(href if href.startswith("http") else url + href, trust_env=False, follow_redirects=True).content
    return zipfile.ZipFile(io.BytesIO(content))


SHOUTS = DRAFT.replace(
    "[[tests.case]]",
    '[run]\npackages = ["wordtools"]\n\n[build]\nwithout = ["lint", "types", "coverage", "review"]\n\n[[tests.case]]',
)
WITH_PACKAGES = PROGRAM.replace("import sys\n", "import sys\n\nfrom wordtools import joined\n", 1).replace(
    'print(f"{month}: {count}")', "print(joined(month, count))"
)
WORDTOOLS = "from plainwords import SIGN\n\n\ndef joined(name, value):\n    return f'{name}{SIGN} {value}'\n"


def test_packages_of_a_program_are_shown_to_a_person_and_installed_by_a_yes(browser: Browser, tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    wheel(shelf, "wordtools", "2.3.1", files={"wordtools.py": WORDTOOLS}, needs=("plainwords",))
    wheel(shelf, "plainwords", "0.9", files={"plainwords.py": "SIGN = ':'\n"}, licence="")
    script = {
        "replies": [[reply("# A requirement file", file_of(DRAFT)), reply("", code("invoices.py", WITH_PACKAGES))]]
    }
    (tmp_path / "script.json").write_text(json.dumps(script))
    environment = {
        "THREADBOOK_MODEL": f"scripted:{tmp_path}/script.json",
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(shelf),
    }
    with (
        running(tmp_path / "home", lambda _: None, environment=environment) as stack,
        page_at(browser, f"{stack.url}/C0SALES001", viewport={"width": 1000, "height": 640}) as page,
    ):
        thread = page.locator("aside.thread")
        said = thread.locator(".body")
        composer = page.locator(".main .composer textarea")
        composer.fill("@threadbook build: a tool that counts the invoices of each month in a CSV")
        composer.press("Enter")
        page.locator(".main .message").filter(has_text="counts the invoices").locator(".replies").click()
        thread.get_by_role("button", name="Read and change").click()
        modal = page.locator("dialog, .modal").first
        modal.locator("textarea").first.fill(SHOUTS)
        modal.get_by_role("button", name="Save this version").click()
        expect(said.filter(has_text="version 2 by").first).to_be_visible()
        thread.get_by_role("button", name="Build").last.click()

        install = thread.get_by_role("button", name="Install and build")
        expect(install).to_be_visible()
        expect(said.filter(has_text="wordtools 2.3.1, ").first).to_be_visible()
        expect(said.filter(has_text="plainwords 0.9, ").first).to_contain_text("its metadata names no licence")
        assert not list((tmp_path / "home").rglob("wordtools.py")), "nothing is unpacked before the yes"
        scroll_to(install)
        snap(page, "program_packages")
        install.click()
        expect(said.filter(has_text="Tests: 1 of 1 pass").first).to_be_visible()
        with packed(stack.url, page) as archive:
            listed = archive.read("invoices/requirements.txt").decode()
            assert "wordtools==2.3.1" in listed
            assert listed.count("--hash=sha256:") == 2


def test_two_people_write_a_requirement_file_and_get_a_program_which_a_change_rebuilds(
    browser: Browser, tmp_path: Path
) -> None:
    (tmp_path / "script.json").write_text(json.dumps(SCRIPT))
    environment = {"THREADBOOK_MODEL": f"scripted:{tmp_path}/script.json"}
    with (
        running(tmp_path / "home", lambda _: None, environment=environment) as stack,
        page_at(browser, f"{stack.url}/C0SALES001", viewport={"width": 1000, "height": 640}) as page,
    ):
        thread = page.locator("aside.thread")
        composer = page.locator(".main .composer textarea")
        composer.fill("@threadbook build: a tool that counts the invoices of each month in a CSV")
        composer.press("Enter")
        page.locator(".main .message").filter(has_text="counts the invoices").locator(".replies").click()
        said = thread.locator(".body")
        expect(said.filter(has_text="version 1 by").first).to_be_visible()
        expect(said.filter(has_text="Do cancelled invoices count?").first).to_be_visible()
        place = page.url

        # a second person answers the question in the file
        page.goto(f"{stack.url}/C0SALES001")
        as_person(page, "Ben")
        page.goto(place)
        thread.get_by_role("button", name="Read and change").click()
        modal = page.locator("dialog, .modal").first
        modal.locator("textarea").first.fill(BENS)
        snap(page, "program_form")
        modal.get_by_role("button", name="Save this version").click()
        expect(said.filter(has_text="version 2 by").first).to_be_visible()

        page.goto(f"{stack.url}/C0SALES001")
        as_person(page, "Ana")
        page.goto(place)
        thread.get_by_role("button", name="Build").last.click()
        expect(said.filter(has_text="Tests: 2 of 2 pass").first).to_be_visible()
        expect(said.filter(has_text="Security: no finding").first).to_be_visible()
        with packed(stack.url, page) as archive:
            assert archive.read("invoices/invoices.py").decode() == PROGRAM + "\n"
            assert "a cancelled invoice does not count" in archive.read("invoices/tests/test_invoices.py").decode()
        snap(page, "program_built")
        assert EXAMPLE.read_text("utf-8").endswith(CHANGED), "the example is what this thread writes"

        say(page, "change: it also takes a year")
        expect(said.filter(has_text="version 3 by").first).to_be_visible()
        expect(thread.get_by_text("With a second argument").first).to_be_visible()
        page.set_viewport_size({"width": 390, "height": 720})
        expect(thread.get_by_role("button", name="Build")).to_be_visible()
        scroll_to(thread.get_by_role("button", name="Build"))
        snap(page, "program_change_phone")
        thread.get_by_role("button", name="Build").last.click()
        expect(said.filter(has_text="Tests: 3 of 3 pass").first).to_be_visible()
        with packed(stack.url, page) as archive:
            assert archive.read("invoices/invoices.py").decode() == BY_YEAR + "\n"
            assert {"invoices/history/iter-1/iteration.json", "invoices/history/iter-2/changes.diff"} <= set(
                archive.namelist()
            )
        expect(thread.get_by_role("button", name="Build")).to_have_count(0)
    # the same thread on a phone
