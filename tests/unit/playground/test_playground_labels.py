"""The page on which people judge the app's answers: lists, forms, and what becomes of a judgement."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from playground.app import create_app
from playground.labels import PER_PAGE, listed
from playground.options import Options
from playground.server import _server

Json = dict[str, Any]


class App:
    """An app with these answers. It keeps what it is told, and refuses with `why`."""

    def __init__(self) -> None:
        self.given: list[Json] = []
        self.told: list[tuple[str, ...]] = []
        self.asked: list[str] = []
        self.missing = self.why = ""

    def answers(self, team: str, user: str) -> tuple[Sequence[Json], str]:
        self.asked.append(user)
        return self.given, self.missing

    def label(self, team: str, user: str, answer: str, do: str, text: str) -> str:
        self.told.append((user, answer, do, text))
        return self.why


@pytest.fixture
def app() -> App:
    return App()


@pytest.fixture
def door(app: App, tmp_path: Path) -> Iterator[TestClient]:
    options = Options(share_delay_s=0.0, retry_delays_s=())
    with TestClient(create_app("http://testserver", tmp_path, options=options, labels=app)) as client:
        yield client


def answer(number: int, **more: Any) -> Json:
    about = {"id": f"T:C:1.{number}/t1", "channel": "C0SALES001", "thread_ts": f"1.{number}"}
    return {**about, "question": f"question {number}?", "report": f"It is **{number}**.", **more}


def titles(html: str) -> list[str]:
    return re.findall(r'<article class="label-card" id="[^"]*" aria-label="([^"]*)"', html)


def test_the_first_list_holds_what_the_person_has_not_judged_and_the_tabs_count_all(door: TestClient, app: App) -> None:
    app.given = [answer(1), answer(2, mine="up", up=1), answer(3, examples=1), answer(4, original="x", editor="Ana")]
    html = door.get("/labels").text
    assert titles(html) == ["question 1?", "question 3?"]
    assert re.findall(r"(To judge|Judged|Examples|All) <span>(\d)", html) == [
        ("To judge", "2"), ("Judged", "2"), ("Examples", "1"), ("All", "4")
    ]  # fmt: skip
    assert titles(door.get("/labels?show=examples").text) == ["question 3?"]
    assert "Corrected by Ana" in door.get("/labels?show=judged").text


def test_a_judgement_goes_to_the_app_as_the_person_who_looks_and_its_answer_stays_in_the_list(
    door: TestClient, app: App
) -> None:
    app.given = [answer(1), answer(2)]
    ben = next(each for each in door.app.hub.space.users.values() if each.name == "ben")  # type: ignore[attr-defined]
    door.cookies.set("viewer", ben.id)
    form = {"answer": app.given[0]["id"], "do": "down", "text": "not the\r\nlast month", "show": "new", "page": "0"}
    sent = door.post("/labels", data=form, follow_redirects=False)
    assert app.told == [(ben.id, app.given[0]["id"], "down", "not the\nlast month")]
    app.given[0] |= {"mine": "down", "down": 1, "reason": "not the last month"}
    html = door.get(sent.headers["location"]).text
    assert titles(html) == ["question 1?", "question 2?"]
    assert 'value="down" aria-pressed="true"' in html
    assert titles(door.get("/labels").text) == ["question 2?"]
    assert set(app.asked) == {ben.id}


def test_what_was_not_kept_is_said_above_the_list(door: TestClient, app: App) -> None:
    app.given, app.why = [answer(1, can_fix=True)], "You <may> not."
    refused = door.post("/labels", data={"answer": app.given[0]["id"], "do": "fix", "text": "x"})
    assert refused.status_code == 400
    assert "You &lt;may&gt; not." in refused.text
    app.missing = "The answers cannot be read now."
    assert app.missing in door.get("/labels").text


def test_what_an_app_gives_is_escaped_and_only_what_can_be_corrected_has_a_field(door: TestClient, app: App) -> None:
    app.given = [answer(1, report="<script>alert(1)</script>", author="<b>"), answer(2, can_fix=True)]
    html = door.get("/labels").text
    assert "<script>alert" not in html
    assert "<b>" not in html
    assert html.count("<textarea") == 1


def test_a_list_has_pages_and_any_number_leads_to_one_of_them(door: TestClient, app: App) -> None:
    app.given = [answer(number) for number in range(PER_PAGE + 1)]
    assert len(titles(door.get("/labels").text)) == PER_PAGE
    for page in ("1", "9", "99999"):
        assert titles(door.get(f"/labels?page={page}").text) == [f"question {PER_PAGE}?"]
    assert len(titles(door.get("/labels?page=-1&show=nothing").text)) == PER_PAGE
    assert listed([], "new", 3).page == 0


def test_without_an_app_there_is_no_page_and_no_way_to_it(tmp_path: Path) -> None:
    with TestClient(create_app("http://testserver", tmp_path)) as client:
        assert client.get("/labels").status_code == 404
        assert client.post("/labels", data={"do": "up"}).status_code == 404
        assert "/labels" not in client.get("/C0SALES001").text


def test_a_foreign_web_page_judges_nothing(door: TestClient, app: App) -> None:
    refused = door.post("/labels", data={"do": "up"}, headers={"origin": "http://elsewhere.example"})
    assert (refused.status_code, app.told) == (403, [])


@pytest.mark.parametrize(("host", "is_told"), [("127.0.0.1", True), ("0.0.0.0", False)])
def test_the_apps_answers_are_offered_to_this_machine_alone(app: App, host: str, is_told: bool) -> None:
    with _server(host, 0, None, None, labels=app) as (server, _, _):
        assert (server.hub.labels is not None) == is_told
