"""What a thread took from elsewhere: conversations of other tools, and other threads."""

from __future__ import annotations

from typing import Any, Literal

from core.values import Value


class Imported(Value):
    """All that stands behind this was a conversation of another tool, taken from a file by `threadbook import`.

    Or it was put together of pieces of threads by `threadbook threads compose`: then `groups`, `people`, `sources`
    and `servers` are those of these threads, so that their rules go on counting.

    `place` says where in the file. Conversations of one `group` have the same beginning, or came from one thread.
    `thread`, `turn` and `votes` stand in files that `threadbook export` wrote. `tools` are those that the model had
    there, None where the file has none. `startup` is a script of that tool; nothing runs it here.
    """

    kind: Literal["imported"] = "imported"
    file: str
    format: Literal["jsonl", "model_programmer_0", "model_programmer_1", "composed"]
    place: str
    group: str
    thread: str = ""
    turn: int = 1
    votes: int = 0
    tools: tuple[dict[str, Any], ...] | None = None
    parallel_tool_calls: bool | None = None
    startup: str = ""
    groups: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    user: str
    author: str


class Said(Value):
    """A message of an imported conversation, as Chat Completions has it (`workers/memory/imports/messages.py`).

    `type` is what ModelProgrammer says of it. `source` is the hash of the message that it was made from, `before` the
    text of that one.
    """

    kind: Literal["said"] = "said"
    message: dict[str, Any]
    type: Literal["raw", "formatted", "manual", "terminal", "edit", "unknown"] = "unknown"
    source: str = ""
    before: str = ""

    @property
    def who(self) -> str:
        """The role, and the name if there is one: "user terminal"."""
        return " ".join(filter(None, (str(self.message.get("role") or ""), str(self.message.get("name") or ""))))

    @property
    def text(self) -> str:
        """What it says, and the calls of tools that it makes."""
        content, calls = self.message.get("content"), self.message.get("tool_calls")
        parts = content if isinstance(content, list) else [{"text": content}]
        texts = [part.get("text") for part in parts if isinstance(part, dict)]
        for call in calls if isinstance(calls, list) else ():
            function = call.get("function") if isinstance(call, dict) else None
            texts += [f"{function.get('name')}: {function.get('arguments')}"] if isinstance(function, dict) else []
        return "\n".join(text for text in texts if isinstance(text, str) and text)


class LoadedCell(Value):
    """The code of a cell of another thread."""

    title: str
    code: str


class LoadedMessage(Value):
    """A message of an imported conversation: its author (a role, perhaps with a name) and its text."""

    who: str
    text: str


class Loaded(Value):
    """A person loaded the thread `source` here: its questions, the code of its cells, and its last report. For an
    imported conversation, `said` are its last messages.

    `state` is the hash of what it said then, `cells` are its last ones, `more` counts those before. `sources` are the
    data sources of which it holds rows, `servers` those whose tools gave it answers. Its files came with it in a
    `Briefed`.
    """

    kind: Literal["loaded"] = "loaded"
    source: str
    link: str
    state: str
    questions: tuple[str, ...] = ()
    cells: tuple[LoadedCell, ...] = ()
    more: int = 0
    report: str = ""
    sources: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    said: tuple[LoadedMessage, ...] = ()
    user: str
    author: str
    ts: str
