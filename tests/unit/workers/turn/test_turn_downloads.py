"""The rules for fetching files out of Slack, against a transport that answers what the test says."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import httpx
import pytest

from core.errors import FileUnreachable, SlackUnreachable, UsersMove
from core.phrases import say
from core.slack.fake import FakeSlack
from core.values import FileRef
from workers.turn.downloads import Downloader, look_up_with

CSV = b"region,amount\nNorth,12\n"
LOGIN_PAGE = httpx.Response(200, html="<!DOCTYPE html><title>Sign in</title>")


def a_file(**changes: object) -> FileRef:
    known = {
        "id": "F1",
        "name": "sales.csv",
        "mimetype": "text/csv",
        "size": len(CSV),
        "url": "https://files.slack.com/x/sales.csv",
    }
    return FileRef.model_validate({**known, **changes})


def unasked(file_id: str) -> FileRef:
    raise AssertionError(f"files.info was asked for {file_id}")


class Wire:
    """What the servers answer by address, and which requests arrived with the token."""

    def __init__(self, answers: dict[str, httpx.Response | Callable[[], httpx.Response]]) -> None:
        self.answers = answers
        self.asked: list[str] = []
        self.with_token: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        url = str(request.url)
        self.asked.append(url)
        if request.headers.get("authorization") == "Bearer xoxb-secret":
            self.with_token.append(url)
        answer = self.answers[url]
        return answer() if callable(answer) else answer


def fetch(
    wire: Wire, file: FileRef, to: Path, *, hosts: tuple[str, ...] = (), max_bytes: int = 1000, look_up=unasked
) -> FileRef:
    with Downloader(
        lambda: "xoxb-secret", hosts=hosts, max_bytes=max_bytes, look_up=look_up, transport=httpx.MockTransport(wire)
    ) as downloader:
        return downloader.fetch(file, to)


def refusal(wire: Wire, file: FileRef, to: Path, **options: object) -> UsersMove:
    with pytest.raises(UsersMove) as caught:
        fetch(wire, file, to, **options)
    return caught.value


def redirect(to: str) -> httpx.Response:
    return httpx.Response(302, headers={"location": to})


def test_a_file_is_written_whole_and_asked_for_with_the_token(tmp_path: Path) -> None:
    wire = Wire(
        {"https://files.slack.com/x/sales.csv": httpx.Response(200, content=CSV, headers={"content-type": "text/csv"})}
    )
    got = fetch(wire, a_file(), tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == CSV
    assert got.size == len(CSV)
    assert wire.with_token == ["https://files.slack.com/x/sales.csv"]


def test_a_login_page_instead_of_the_file_names_the_missing_scope(tmp_path: Path) -> None:
    error = refusal(Wire({a_file().url: LOGIN_PAGE}), a_file(), tmp_path / "out")
    assert "files:read" in say(error.key, "en", **error.variables)
    assert not (tmp_path / "out").exists()


def test_an_html_file_that_a_person_uploaded_is_taken(tmp_path: Path) -> None:
    page = b"<!DOCTYPE html><table></table>"
    file = a_file(name="page.html", mimetype="text/html", size=len(page))
    fetch(
        Wire({file.url: httpx.Response(200, content=page, headers={"content-type": "text/html"})}),
        file,
        tmp_path / "out",
    )
    assert (tmp_path / "out").read_bytes() == page


def test_redirects_inside_slack_are_followed_with_the_token(tmp_path: Path) -> None:
    wire = Wire(
        {
            a_file().url: redirect("https://cdn.slack-edge.com/y"),
            "https://cdn.slack-edge.com/y": httpx.Response(200, content=CSV),
        }
    )
    fetch(wire, a_file(), tmp_path / "out")
    assert wire.with_token == [a_file().url, "https://cdn.slack-edge.com/y"]


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example/steal",
        "http://files.slack.com/plain",
        "https://slack.com.evil.example/",
        "https://notslack.com/",
        "file:///etc/passwd",
    ],
)
def test_the_token_and_the_request_never_leave_for_another_host(tmp_path: Path, target: str) -> None:
    wire = Wire({a_file().url: redirect(target)})
    assert refusal(wire, a_file(), tmp_path / "out").key == "file_host_not_allowed"
    assert wire.asked == [a_file().url]


@pytest.mark.parametrize("url", [" https://files.slack.com/x", "\x1fhttps://files.slack.com/x"])
def test_whoever_sends_the_request_reads_the_address(tmp_path: Path, url: str) -> None:
    """urlsplit drops the blank and sees Slack; the client sees an address without a scheme or a host."""
    wire = Wire({})
    with pytest.raises(UsersMove):
        fetch(wire, a_file(url=url), tmp_path / "out")
    assert wire.asked == []


def test_a_host_that_was_named_with_its_port_is_one_however_the_port_is_written(tmp_path: Path) -> None:
    for url in ("http://files.local:80/x", "http://FILES.local/x"):
        wire = Wire({"http://files.local/x": httpx.Response(200, content=CSV)})
        fetch(wire, a_file(url=url), tmp_path / "out", hosts=("files.local:80",))
        assert (tmp_path / "out").read_bytes() == CSV


@pytest.mark.parametrize("target", ["https://[bad", "https://files.slack.com/\x01"])
def test_an_address_that_is_none_fails_that_file_only(tmp_path: Path, target: str) -> None:
    first = a_file().url
    wire = Wire({first: lambda: httpx.Response(302, headers={"location": target})})
    with pytest.raises(UsersMove) as refused:
        fetch(wire, a_file(), tmp_path / "a")
    assert refused.value.key == "file_download_failed"


def test_a_file_that_lives_elsewhere_is_not_asked_for(tmp_path: Path) -> None:
    wire = Wire({})
    assert (
        refusal(wire, a_file(url="https://drive.example/doc", mode="external"), tmp_path / "out").key == "file_external"
    )
    assert wire.asked == []


def test_a_host_of_the_settings_may_speak_plain_http(tmp_path: Path) -> None:
    file = a_file(url="http://127.0.0.1:8765/files-pri/x")
    fetch(Wire({file.url: httpx.Response(200, content=CSV)}), file, tmp_path / "out", hosts=("127.0.0.1:8765",))
    assert (tmp_path / "out").read_bytes() == CSV


def test_more_than_three_hops_are_refused(tmp_path: Path) -> None:
    wire = Wire({f"https://files.slack.com/{n}": redirect(f"/{n + 1}") for n in range(9)})
    error = refusal(wire, a_file(url="https://files.slack.com/0"), tmp_path / "out")
    assert error.key == "file_download_failed"
    assert wire.asked == [f"https://files.slack.com/{n}" for n in range(4)] * 2


def test_a_file_over_the_cap_is_not_even_asked_for(tmp_path: Path) -> None:
    wire = Wire({})
    assert refusal(wire, a_file(size=2_000_000), tmp_path / "out").key == "file_too_large"
    assert wire.asked == []


def test_a_server_that_sends_more_than_announced_is_stopped_at_the_cap(tmp_path: Path) -> None:
    wire = Wire({a_file().url: httpx.Response(200, content=b"x" * 5000)})
    assert refusal(wire, a_file(size=10), tmp_path / "out").key == "file_too_large"


def test_a_file_that_arrives_short_is_fetched_once_more(tmp_path: Path) -> None:
    answers = iter([httpx.Response(200, content=CSV[:5]), httpx.Response(200, content=CSV)])
    fetch(Wire({a_file().url: lambda: next(answers)}), a_file(), tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == CSV


@pytest.mark.parametrize(
    ("answer", "key"),
    [
        (httpx.Response(404), "file_vanished"),
        (httpx.Response(410), "file_vanished"),
        (httpx.Response(403), "file_login_page"),
        (httpx.Response(400), "file_download_failed"),
        (httpx.Response(200, content=CSV[:5]), "file_download_failed"),
    ],
)
def test_each_failure_has_its_own_sentence_in_both_languages(tmp_path: Path, answer: httpx.Response, key: str) -> None:
    error = refusal(Wire({a_file().url: lambda: answer}), a_file(), tmp_path / "out")
    assert error.key == key
    assert say(error.key, "en", **error.variables) != say(error.key, "zh", **error.variables)


def down() -> httpx.Response:
    raise httpx.ConnectError("refused")


def cut_off() -> httpx.Response:
    raise httpx.RemoteProtocolError("peer closed connection without sending complete message body")


@pytest.mark.parametrize(
    "answer", [down, cut_off, *(partial(httpx.Response, status) for status in (408, 425, 429, 500, 502, 503, 504))]
)
def test_what_may_pass_is_no_final_word_and_names_the_file(
    tmp_path: Path, answer: Callable[[], httpx.Response]
) -> None:
    with pytest.raises(FileUnreachable) as caught:
        fetch(Wire({a_file().url: answer}), a_file(), tmp_path / "out")
    assert caught.value.name == "sales.csv"


def test_what_passed_by_the_second_try_is_forgotten(tmp_path: Path) -> None:
    answers = iter([httpx.Response(503), httpx.Response(200, content=CSV)])
    assert fetch(Wire({a_file().url: lambda: next(answers)}), a_file(), tmp_path / "out").size == len(CSV)


def test_a_look_up_that_cannot_be_made_now_is_not_taken_for_a_refusal(tmp_path: Path) -> None:
    def away(file_id: str) -> FileRef:
        raise SlackUnreachable("files.info got no reply")

    with pytest.raises(FileUnreachable):
        fetch(Wire({}), a_file(url=""), tmp_path / "out", look_up=away)


@pytest.mark.parametrize("kind", ["drop_call", "http_error", "ratelimited"])
def test_a_slack_that_does_not_answer_a_look_up_is_away(kind: str) -> None:
    slack = FakeSlack()
    slack.fault("files.info", kind, times=1_000)  # type: ignore[arg-type]
    with pytest.raises(SlackUnreachable):
        look_up_with(slack.client())("F1")


@pytest.mark.parametrize(
    ("error", "key"),
    [("file_not_found", "file_no_access"), ("access_denied", "file_no_access"), ("file_deleted", "file_vanished")],
)
def test_a_look_up_that_slack_refuses_is_the_owners_move(error: str, key: str) -> None:
    slack = FakeSlack()
    slack.fault("files.info", "error", error=error)
    with pytest.raises(UsersMove) as refused:
        look_up_with(slack.client())("F1")
    assert refused.value.key == key


@pytest.mark.parametrize("announced", [{"url": ""}, {"url": "", "mode": "file_access"}])
def test_a_file_announced_without_its_address_is_looked_up(tmp_path: Path, announced: dict[str, str]) -> None:
    wire = Wire({a_file().url: httpx.Response(200, content=CSV)})
    assert fetch(wire, a_file(**announced), tmp_path / "out", look_up=lambda file_id: a_file(id=file_id)).id == "F1"


def test_a_deleted_file_is_said_to_be_gone(tmp_path: Path) -> None:
    assert refusal(Wire({}), a_file(mode="tombstone", url=""), tmp_path / "out").key == "file_vanished"


@pytest.mark.parametrize(
    ("mode", "said"),
    [("hidden_by_limit", "file_hidden"), ("external", "file_external"), ("tombstone", "file_vanished")],
)
@pytest.mark.parametrize("announced", ["file_access", "hidden_by_limit"])
def test_why_slack_gives_no_bytes_is_said_as_slack_tells_it_now(
    tmp_path: Path, mode: str, said: str, announced: str
) -> None:
    url = "https://drive.example/doc" if mode == "external" else ""
    wire, now = Wire({}), a_file(mode=mode, url=url)
    refused = refusal(wire, a_file(mode=announced, url=""), tmp_path / "out", look_up=lambda file_id: now)
    assert refused.key == said
    assert wire.asked == []


@pytest.mark.parametrize(
    "given",
    [
        {"name": "Plan", "mode": "quip", "mimetype": "application/vnd.slack-docs"},
        {"name": "Plan", "mimetype": "application/vnd.slack-docs"},
        {"name": "list", "mode": "list", "mimetype": "application/vnd.slack-list", "size": 0},
    ],
)
def test_a_canvas_or_a_list_is_no_lack_of_a_permission(tmp_path: Path, given: dict[str, object]) -> None:
    page = httpx.Response(200, html="<h1>Plan</h1>")
    wire = Wire({a_file().url: page})
    assert refusal(wire, a_file(**given), tmp_path / "out").key == "file_canvas"
    by_id = a_file(mode="file_access", url="")
    refused = refusal(wire, by_id, tmp_path / "out", look_up=lambda file_id: a_file(**given))
    assert refused.key == "file_canvas"
    assert wire.asked == []
