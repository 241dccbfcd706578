"""An endpoint whose replies a person writes into a folder: our own client asks it."""

from __future__ import annotations

import importlib.util
import json
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest
from patience import PATIENCE_S, eventually

from workers.agent.replies.tools import TOOLS
from workers.models.base import ModelReply, ModelRequest
from workers.models.openai_model import OpenAIModel

REQUEST = ModelRequest(({"role": "user", "content": "How many?"},), TOOLS)


@pytest.fixture(scope="module")
def by_hand() -> ModuleType:
    path = Path(__file__).parents[3] / "scripts" / "model_by_hand.py"
    spec = importlib.util.spec_from_file_location("model_by_hand_script", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def model(by_hand: ModuleType, tmp_path: Path) -> Iterator[OpenAIModel]:
    with by_hand.serve(tmp_path, 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        with OpenAIModel(api_key="none", base_url=url, model="by-hand", timeout_s=PATIENCE_S) as one:
            yield one
        server.shutdown()


def asked(model: OpenAIModel, folder: Path, number: int, reply: dict[str, object]) -> ModelReply:
    """What comes back once this reply was written for the request with this number."""
    with ThreadPoolExecutor(1) as pool:
        waiting: Future[ModelReply] = pool.submit(model.complete, REQUEST, lambda _: None)
        eventually((folder / f"{number:03d}.request.json").exists, "the request")
        (folder / "draft").write_text(json.dumps(reply), encoding="utf-8")
        (folder / "draft").rename(folder / f"{number:03d}.reply.json")
        return waiting.result(PATIENCE_S)


def test_a_request_waits_for_the_reply_of_its_number(model: OpenAIModel, tmp_path: Path) -> None:
    assert asked(model, tmp_path, 1, {"content": "Twelve, 十二."}).text == "Twelve, 十二."
    call = {"name": "run_python", "arguments": {"code": "len(df)", "title": "Rows"}}
    (told,) = asked(model, tmp_path, 2, {"tool_calls": [call]}).calls
    assert (told.name, json.loads(told.arguments)) == ("run_python", call["arguments"])
    request = json.loads((tmp_path / "002.request.json").read_text(encoding="utf-8"))
    assert request["messages"] == [{"role": "user", "content": "How many?"}]
    assert "run_python" in [tool["function"]["name"] for tool in request["tools"]]


def test_numbers_go_on_where_the_folder_ends(by_hand: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "007.request.json").write_text("{}")
    with by_hand.serve(tmp_path, 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        with OpenAIModel(api_key="none", base_url=url, model="by-hand", timeout_s=PATIENCE_S) as one:
            assert asked(one, tmp_path, 8, {"content": "Eight."}).text == "Eight."
        server.shutdown()
