"""The tools of the analyst: their JSON schemas, and how a call to one is read, whatever shape the model gave it."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping
from typing import Any

from core.steps import ToolCall
from workers.agent.code.source import compiles
from workers.agent.replies.intents import Intent, Malformed, Question, Report, RunBash, RunPython
from workers.agent.replies.loose_json import Unreadable, read_json
from workers.agent.replies.plans import planned
from workers.agent.text import clean, one_line

RUN_PYTHON, RUN_BASH, ASK_USER, FINISH = "run_python", "run_bash", "ask_user", "finish"
CHANGES_UNFIT = "changes_unfit"
"""Why changes to a report cannot be acted on, and the prompt that says so."""
TITLE_CHARS = 80
QUESTION_CHARS = 2_000
MAX_OPTIONS = 8
_MAX_PARALLEL = 16
OPTION_CHARS = 300
"""An option may be a whole question. An option that is longer than a button is shown above the buttons."""


def _tool(name: str, description: str, required: list[str], **properties: dict[str, Any]) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


TOOLS: tuple[dict[str, Any], ...] = (
    _tool(
        RUN_PYTHON,
        "Run Python in this thread's live session; see what it prints, its last expression, its error and figures. "
        "Variables, imports and files stay for the next call and for later questions in the thread.",
        ["code", "title"],
        code={
            "type": "string",
            "description": "Python source. Print only the figures that you need to see.",
        },
        title={
            "type": "string",
            "description": "What this cell will show, in a few words, in the language of the question.",
        },
        plan={
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"step": {"type": "string"}, "shows": {"type": "string"}},
                "required": ["step", "shows"],
                "additionalProperties": False,
            },
            "description": "With the first cell of a question that takes several: the steps to the answer and what "
            "each will show, in the language of the question. Again, with the steps that are left, when a result "
            "contradicts it.",
        },
        why={"type": "string", "description": "With a new plan: the result that contradicted the old one, in a line."},
        step={"type": "integer", "description": "The number of the plan's step that this cell does."},
    ),
    _tool(
        ASK_USER,
        "Ask the people in the thread when the question cannot be answered without them. Work pauses until they do.",
        ["question"],
        question={"type": "string", "description": "One clear question, in their language."},
        options={
            "type": "array",
            "items": {"type": "string"},
            "description": "Two to five answers to choose from, if it helps. Where the question is vague: three whole "
            "questions that people may have meant; pressing one asks it.",
        },
    ),
    _tool(
        FINISH,
        "Post the final report into the thread and end this turn. Call it alone, after the output of every cell.",
        [],
        report={
            "type": "string",
            "description": "The report in Markdown, the answer first, in the language of the question.",
        },
        changes={
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"old": {"type": "string"}, "new": {"type": "string"}},
                "required": ["old", "new"],
                "additionalProperties": False,
            },
            "description": "In place of report, once a report of this question came back: what to change in it. Each "
            "old is a passage that stands in it exactly once, letter for letter; new replaces it, and is empty to take "
            "it out. Everything else stays as it was; [] sends it as it was.",
        },
    ),
)

TOOLS_WITH_BASH: tuple[dict[str, Any], ...] = (
    TOOLS[0],
    _tool(
        RUN_BASH,
        "Run a command in this thread's shell, in the same working folder. A person has to approve each command first, "
        "so use it only for what Python cannot do. Variables, functions and the current folder stay for the next one.",
        ["command", "title"],
        command={"type": "string", "description": "Bash source. Programs of the system can be run; no network."},
        title={
            "type": "string",
            "description": "What the command does and why it is needed, in a few words, in the language of the "
            "question: the person who approves it reads this.",
        },
    ),
    *TOOLS[1:],
)
"""What is offered where the thread has a shell (`Environment.bash`)."""

_NAMES = {
    RUN_PYTHON: "python python3 py ipython jupyter notebook code run execute exec repl run_code run_cell runpython "
    "execute_code execute_python python_interpreter code_interpreter python_inter python_repl run_python_code "
    "container_exec",
    RUN_BASH: "bash shell sh terminal run_shell run_command runbash shell_command bash_command execute_bash "
    "execute_command",
    ASK_USER: "ask askuser ask_human ask_question question clarify request_input request_user_input user_input",
    FINISH: "final_answer finalanswer answer final done submit complete report final_report respond attempt_completion "
    "finish_report end",
}
_KNOWN = {alias: tool for tool, aliases in _NAMES.items() for alias in [tool, *aliases.split()]}
_PREFIXES = {"functions", "function", "tools", "tool", "default_api", "api", "namespace", "container", "assistant"}
"""What endpoints and models write before the name of a tool. Any other prefix is the name of another system."""

_CODE_KEYS = (
    "code",
    "python",
    "source",
    "script",
    "python_code",
    "cell",
    "command",
    "cmd",
    "input",
    "query",
    "content",
    "text",
)
_COMMAND_KEYS = ("command", "cmd", "bash", "shell", *_CODE_KEYS)
_REPORT_KEYS = (
    "report",
    "answer",
    "final_answer",
    "markdown",
    "text",
    "content",
    "message",
    "result",
    "summary",
    "output",
)
CHANGES = "changes"
_QUESTION_KEYS = ("question", "text", "message", "prompt", "query", "content")
_OPTION_KEYS = ("options", "choices", "answers", "suggestions")
_OPTION_TEXT_KEYS = ("label", "text", "value", "title", "name", "option")
_WRAPPERS = ("arguments", "parameters", "args", "kwargs", "params")

_LIST_MARK = re.compile(r"\A\s*[-*•]\s+")
"""The mark of a list item. Without a blank behind it, a hyphen is the minus of a number."""
_FENCES = ("```", "~~~")
_OPENING_FENCE = re.compile(r"\A\s*(?:```|~~~)[ \t]*+(?:python3?|py)?+[ \t]*+\n", re.IGNORECASE)


def known_name(name: str) -> str | None:
    """The tool of this name: its own, one that models invent for it, or one with a prefix or rubbish around it.

    A name that models invent counts only behind a prefix that they write: "tickets.complete" does not end a turn.
    """
    word = re.split(r"[^\w.:/-]", name.strip())[0]
    *before, word = re.split(r"[.:/]", word.lower().replace("-", "_"))
    return _KNOWN.get(word) if word in _NAMES or _PREFIXES.issuperset(before) else None


def tool_of_arguments(arguments: Mapping[str, Any]) -> str | None:
    """The tool that an object without a tool's name must mean, because one of its keys belongs to this tool alone."""
    keys = {"code": RUN_PYTHON, "report": FINISH, CHANGES: FINISH, "question": ASK_USER}
    return next((tool for key, tool in keys.items() if key in arguments), None)


def single_calls(call: ToolCall) -> list[ToolCall]:
    """The calls inside a call to "multi_tool_use.parallel", a tool that models invent. Any other call comes back
    unchanged."""
    if "multi_tool_use" not in call.name:
        return [call]
    try:
        uses = read_json(call.arguments)["tool_uses"]
        return [
            ToolCall(
                id=f"{call.id}-{place}",
                name=str(use["recipient_name"]),
                arguments=json.dumps(use.get("parameters") or use.get("arguments") or {}, ensure_ascii=False),
            )
            for place, use in enumerate(uses[:_MAX_PARALLEL], start=1)
        ] or [call]
    except (Unreadable, LookupError, TypeError, AttributeError):
        return [call]


def read_call(call: ToolCall, call_id: str) -> Intent:
    """What a native call means. An unreadable call comes back as Malformed, never as an exception."""
    tool, raw = known_name(call.name), clean(call.arguments)
    if tool is None:
        return Malformed(call_id, "unknown_tool", one_line(clean(call.name), 60), tool=call.name, raw=raw)
    try:
        arguments = _unwrapped(_read_arguments(raw, tool))
    except Unreadable as error:
        return Malformed(call_id, "cut_off" if error.cut else "bad_arguments", tool, tool=tool, raw=raw)
    return read_arguments(tool, call_id, arguments, called=one_line(clean(call.name), 60))


def _read_arguments(raw: str, tool: str) -> Any:
    """The arguments as JSON. A bare program or text is taken as it is."""
    if not raw.strip():
        return {}
    starts_like_json = raw.lstrip()[:1] in '{["'
    if tool == RUN_PYTHON and not starts_like_json and compiles(raw):
        return raw
    try:
        return read_json(raw)
    except Unreadable:
        if starts_like_json:
            raise
        return raw


def _unwrapped(value: Any) -> Any:
    """The arguments without the wrappings that models put around them: JSON in a string, a list of one, {"arguments":
    ...}."""
    for _ in range(4):
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        elif (
            isinstance(value, Mapping)
            and (inner := next((value[k] for k in _WRAPPERS if k in value), None)) is not None
        ):
            value = inner
        elif isinstance(value, str) and value.lstrip()[:1] == "{":
            try:
                value = json.loads(value, strict=False)
            except (ValueError, RecursionError):
                return value
        else:
            return value
    return value


def read_arguments(tool: str, call_id: str, value: Any, called: str = "") -> Intent:
    """The intent of a call to a known tool with parsed arguments of any shape."""
    if tool == RUN_BASH:
        return _run_bash(call_id, _text(value, _COMMAND_KEYS), _field(value, ("title",)), called or RUN_BASH)
    if tool == RUN_PYTHON:
        given = value if isinstance(value, Mapping) else {}
        ran = run_python(
            call_id, _text(value, _CODE_KEYS), _field(value, ("title",)), _field(value, ("language", "lang"))
        )
        return planned(ran, given.get("plan"), given.get("why"), given.get("step"))
    if tool == ASK_USER:
        return _question(call_id, value)
    if _changes(value) is not None:
        return Malformed(call_id, CHANGES_UNFIT, tool=FINISH, raw=json.dumps(value, ensure_ascii=False))
    report = _text(value, _REPORT_KEYS).strip()
    partial = isinstance(value, Mapping) and value.get("partial") is True
    return Report(call_id, report, partial) if report else Malformed(call_id, "empty_report", tool=FINISH)


def changes_of(raw: str, name: str = FINISH) -> list[Any] | None:
    """The changes to the last report in a call's arguments, as the model gave them; None if there are none.

    As long as nobody has made them in that report (`revisions.py`), such a call reads as Malformed.
    """
    if known_name(name) != FINISH or CHANGES not in raw:
        return None
    try:
        return _changes(_unwrapped(read_json(clean(raw))))
    except Unreadable:
        return None


def _changes(value: Any) -> list[Any] | None:
    if not isinstance(value, Mapping) or any(value.get(key) for key in _REPORT_KEYS):
        return None
    changes = value.get(CHANGES)
    if isinstance(changes, str):
        try:
            changes = read_json(changes)
        except Unreadable:
            return None
    return [changes] if isinstance(changes, Mapping) else changes if isinstance(changes, list) else None


def run_python(call_id: str, code: str, title: str = "", language: str = "python") -> Intent:
    """The intent to run this code, without fences and common indentation."""
    if language.strip().lower() not in ("", "python", "python3", "py", "ipython"):
        return Malformed(call_id, "wrong_language", one_line(language, 30), tool=RUN_PYTHON)
    code = textwrap.dedent(clean(_without_fence(code))).strip("\n").rstrip()
    if not code.strip():
        return Malformed(call_id, "empty_code", tool=RUN_PYTHON)
    return RunPython(call_id, code, one_line(clean(title), TITLE_CHARS) or title_of(code))


def _without_fence(code: str) -> str:
    opened = _OPENING_FENCE.match(code)
    if opened is None:
        return code
    inside = code[opened.end() :].rstrip()
    return inside[:-3].rstrip(" \t").removesuffix("\n") if inside.endswith(_FENCES) else inside


def _run_bash(call_id: str, command: str, title: str, called: str) -> Intent:
    command = clean(command).strip("\n").rstrip()
    if not command.strip():
        return Malformed(call_id, "empty_code", tool=RUN_BASH)
    return RunBash(call_id, command, one_line(clean(title), TITLE_CHARS) or title_of(command), called)


def title_of(code: str) -> str:
    """A title for code that came without one: its first comment, else its first line."""
    lines = [line.strip() for line in code.splitlines() if line.strip()]
    comment = next((line.lstrip("# ") for line in lines[:3] if line.startswith("#") and line.strip("# ")), "")
    return one_line(comment or next(iter(lines), ""), TITLE_CHARS)


def _question(call_id: str, value: Any) -> Intent:
    question = _text(value, _QUESTION_KEYS).strip()
    if not question:
        return Malformed(call_id, "empty_question", tool=ASK_USER)
    given = next((value[key] for key in _OPTION_KEYS if key in value), ()) if isinstance(value, Mapping) else ()
    return Question(call_id, question[:QUESTION_CHARS], read_options(given))


def read_options(given: Any) -> tuple[str, ...]:
    """Answers to choose from, as distinct lines, from a list, a list of objects, or one text.

    A text of several lines is split at its lines only: a whole question may have a comma.
    """
    if isinstance(given, str):
        given = given.splitlines() if "\n" in given.strip() else re.split(r";|,(?=\s)", given)
    if isinstance(given, Mapping):
        given = list(given.values())
    if not isinstance(given, list | tuple):
        return ()
    texts = [_text(option, _OPTION_TEXT_KEYS) if isinstance(option, Mapping) else str(option) for option in given[:50]]
    options = [one_line(_LIST_MARK.sub("", clean(text)).strip(" *•"), OPTION_CHARS) for text in texts]
    return tuple(dict.fromkeys(option for option in options if option))[:MAX_OPTIONS]


def _text(value: Any, keys: tuple[str, ...]) -> str:
    """The text among parsed arguments: the value itself, a list of lines, or the first of `keys` that holds
    something."""
    if isinstance(value, Mapping):
        found = next((value[key] for key in keys if value.get(key)), None)
        if found is None and len(value) == 1 and not value.keys() & {"title", *_OPTION_KEYS}:
            found = next(iter(value.values()))
        return "" if found is None or isinstance(found, Mapping) else _text(found, keys)
    if isinstance(value, list):
        return clean("\n".join(str(line) for line in value))
    return "" if value is None else clean(str(value))


def _field(value: Any, keys: tuple[str, ...]) -> str:
    found = next((value[key] for key in keys if key in value), "") if isinstance(value, Mapping) else ""
    return clean(found) if isinstance(found, str) else ""
