"""The tools process with real servers over stdio: one that keeps to the protocol, and one that does what it likes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from annotated_types import Le
from mcp_servers import INJECTION
from mcp_servers import TOKEN as SECRET
from patience import PATIENCE_S, eventually
from tools_world import SCRIPT, served, table

from core.settings import load_settings
from core.team_settings import McpSettings
from executor.frames import encode
from workers.tools import errors
from workers.tools.client import ToolsClient
from workers.tools.requests import ABOUT_CHARS, LIMIT, Answered, Request

pytestmark = pytest.mark.process

Client = tuple[ToolsClient, Path]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("tools")
    good = table("tickets", folder, "search close whoami fails quotes gone", more='env = ["TICKETS_TOKEN"]\n')
    hostile = table("hostile", folder, "huge injects hangs dies babbles floods", kind="hostile")
    garbage = table("garbage", folder, "any", kind="garbage")
    unset = table("unset", folder, "any", more='env = ["UNSET_TOKEN"]\n')
    nowhere = '[mcp.nowhere]\nurl = "http://127.0.0.1:9/mcp"\ntools = ["any"]\n'
    (folder / "threadbook.toml").write_text(good + hostile + garbage + unset + nowhere, encoding="utf-8")
    settings = load_settings({"THREADBOOK_HOME": str(folder)}, folder)
    with served(settings, TICKETS_TOKEN=SECRET, OTHER_TOKEN="never given") as made:
        yield made, folder


def call(client: Client, server: str, tool: str, seconds: float = PATIENCE_S, **arguments: Any) -> Any:
    request = Request(do="call", server=server, tool=tool, arguments=arguments, seconds=seconds)
    return client[0].call(request, threading.Event()).value


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_tool_gives_its_answer_as_data(client: Client) -> None:
    assert call(client, "tickets", "search", customer="Ana") == {
        "tickets": [{"id": 7, "customer": "Ana", "hours": 3.5}]
    }
    assert call(client, "tickets", "close", ticket=7) == "closed 7"


def test_the_tools_that_are_told_are_those_that_the_team_allows_and_the_server_has(client: Client) -> None:
    told = client[0].tools("tickets")
    assert [tool.name for tool in told] == ["search", "close", "whoami", "fails", "quotes"]
    assert told[0].arguments == ('customer: string, optional, default ""', "most: integer, optional, default 10")
    assert told[1].arguments == ("ticket: integer",)


def test_a_tool_that_is_not_allowed_is_not_called(client: Client) -> None:
    with pytest.raises(errors.Refused, match="not allowed"):
        call(client, "tickets", "hidden")
    with pytest.raises(errors.Refused, match="has no tool gone"):
        call(client, "tickets", "gone")
    with pytest.raises(errors.Refused, match="no server other"):
        call(client, "other", "search")


def test_a_server_gets_its_own_secret_alone_and_cannot_say_it_back(client: Client) -> None:
    said = call(client, "tickets", "whoami")
    assert said == "{'TICKETS_TOKEN': '•••'}"


def test_a_failure_that_is_cut_shows_no_part_of_a_secret(client: Client) -> None:
    with pytest.raises(errors.ToolFailed) as caught:
        call(client, "tickets", "quotes")
    assert "xxx" in str(caught.value)
    assert SECRET[:6] not in str(caught.value)


@pytest.mark.parametrize("letter", ["x", "я", "中", "😀"])
def test_the_largest_answer_fits_into_a_frame_in_any_script(letter: str) -> None:
    most = max(one.le for one in McpSettings.model_fields["max_kb"].metadata if isinstance(one, Le))
    answer = Answered(value=letter * (most * 1024 // len(letter.encode())))
    assert len(encode({"answered": answer.model_dump()})) <= LIMIT


def test_what_a_server_says_of_a_failure_is_one_short_line(client: Client) -> None:
    with pytest.raises(errors.ToolFailed) as failed:
        call(client, "tickets", "search", most="many")
    assert "\n" not in str(failed.value)


def test_a_description_is_cut_to_one_short_line(client: Client) -> None:
    (huge, *_) = client[0].tools("hostile")
    assert len(huge.about) <= ABOUT_CHARS
    assert "\n" not in huge.about


def test_an_answer_above_the_limit_is_refused_whole(client: Client) -> None:
    with pytest.raises(errors.LimitReached, match="at most 1,024 KB"):
        call(client, "hostile", "huge", kb=2_000)


def test_an_instruction_in_an_answer_is_only_text(client: Client) -> None:
    assert call(client, "hostile", "injects") == INJECTION


@pytest.mark.parametrize("tool", ["dies", "babbles"])
def test_a_server_that_dies_or_speaks_no_json_is_away(client: Client, tool: str) -> None:
    with pytest.raises(errors.ToolAway):
        call(client, "hostile", tool)
    assert call(client, "hostile", "injects") == INJECTION, "the next call has a server of its own"


def test_a_server_that_never_answers_is_ended_with_its_call(client: Client) -> None:
    with pytest.raises(errors.ToolAway, match="in time"):
        call(client, "hostile", "hangs", seconds=5)
    eventually(lambda: not alive(int((client[1] / "pid").read_text())), "the end of the server")


def test_a_call_that_is_stopped_ends_its_server(client: Client) -> None:
    stop = threading.Event()
    pid = client[1] / "pid"
    pid.unlink(missing_ok=True)

    def stop_when_it_runs() -> None:
        eventually(pid.exists, "the call")
        stop.set()

    threading.Thread(target=stop_when_it_runs).start()
    request = Request(do="call", server="hostile", tool="hangs", seconds=PATIENCE_S)
    with pytest.raises(errors.Cancelled):
        client[0].call(request, stop)
    eventually(lambda: not alive(int(pid.read_text())), "the end of the server")


def test_a_line_without_an_end_is_not_read_for_ever(client: Client) -> None:
    with pytest.raises((errors.ToolAway, errors.LimitReached)):
        call(client, "hostile", "floods", seconds=4)


@pytest.mark.parametrize("server", ["garbage", "nowhere"])
def test_what_is_no_server_of_tools_is_away(client: Client, server: str) -> None:
    with pytest.raises(errors.ToolAway):
        call(client, server, "any", seconds=4)
    assert client[0].known_tools("nowhere") == ()


def test_a_server_whose_secret_is_not_set_is_not_started(client: Client) -> None:
    with pytest.raises(errors.ToolAway, match="not set up whole"):
        call(client, "unset", "any")


def test_a_server_over_http_gets_the_token(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, SCRIPT, "web", str(tmp_path)]) as web:
        try:
            eventually((tmp_path / "port").exists, "the server's port")
            url = f"http://127.0.0.1:{(tmp_path / 'port').read_text()}/mcp"
            tables = [f'[mcp.{name}]\nurl = "{url}"\ntools = ["close"]\n' for name in ("tickets", "stranger")]
            (tmp_path / "threadbook.toml").write_text(f'{tables[1]}{tables[0]}token_env = "TICKETS_TOKEN"\n')
            with served(load_settings({"THREADBOOK_HOME": str(tmp_path)}, tmp_path), TICKETS_TOKEN=SECRET) as made:
                assert call((made, tmp_path), "tickets", "close", ticket=8) == "closed 8"
                with pytest.raises(errors.ToolError) as refused:
                    call((made, tmp_path), "stranger", "close", ticket=9)
        finally:
            web.terminate()
    assert SECRET not in str(refused.value)
    assert (tmp_path / "closed.txt").read_text() == "8\n"


def test_without_the_process_a_call_is_a_sentence(tmp_path: Path) -> None:
    nobody = ToolsClient(tmp_path / "none.sock", back_s=0.1)
    with pytest.raises(errors.ToolAway, match="does not answer"):
        nobody.call(Request(do="call", server="a", tool="b"), threading.Event())


def test_nobody_else_can_open_the_socket(client: Client) -> None:
    assert os.stat(client[1] / "tools.sock").st_mode & 0o077 == 0
