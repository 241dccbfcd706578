"""Reading a model's reply: native tool calls, or text in the fenced form (for models without tools).

The fenced form has one action per reply, the first one: a ```python block runs, <finish>…</finish> is the report,
<ask>…</ask> is a question with its options as list items. Text after the first action is dropped: weak models invent
the output there, and an invented output must not enter the memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice

from core.steps import OUR_CALLS, Replied, ToolCall
from workers.agent.code.source import compiles
from workers.agent.replies.intents import Intent, Malformed, Reading, Report, RunPython
from workers.agent.replies.loose_json import Unreadable, read_json
from workers.agent.replies.plans import planned
from workers.agent.replies.tools import (
    ASK_USER,
    FINISH,
    RUN_PYTHON,
    TITLE_CHARS,
    known_name,
    read_arguments,
    read_call,
    run_python,
    single_calls,
    tool_of_arguments,
)
from workers.agent.text import clean, one_line, without_thoughts

_FENCE = re.compile(r"^[ \t]*+(?P<fence>```++|~~~++)[ \t]*+(?P<word>[\w+-]*+)[^\n`]*+\n", re.MULTILINE)
_CODE_TAG = re.compile(
    r"<(code|execute|run_python|tool_code)>[ \t]*\n(?P<code>.*?)(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE
)
_PYTHON_TAG = re.compile(r"<\|python_tag\|>(?P<code>.*)\Z", re.DOTALL)
_FINISH_TAG = re.compile(
    r"<(finish|final_answer|final|report)>(?P<report>.*?)(?P<end></\1>|(?=<\1>)|\Z)", re.DOTALL | re.IGNORECASE
)
_FINISH_LINE = re.compile(
    r"^[#* \t]*(?:final answer|final report|最终答案|最终回答)\**\s*[:：]\**(?P<report>.*)\Z",
    re.DOTALL | re.IGNORECASE | re.MULTILINE,
)
_ASK_TAG = re.compile(r"<(ask|ask_user|question)>(?P<question>.*?)(?:</\1>|(?=<\1>)|\Z)", re.DOTALL | re.IGNORECASE)
_CALL_TAG = re.compile(r"<(?:tool_call|function_call)>(?P<call>.*?)(?:</(?:tool_call|function_call)>|\Z)", re.DOTALL)
_CALL_MARK = re.compile(
    r"<(?:tool|function)_calls?>|<function=|<invoke name=|\[TOOL_CALLS\]|<[|｜](?:tool|channel|message|call)",
    re.IGNORECASE,
)
"""The marks of calls in the forms of several models, as a server leaves them in the text when it does not know them."""
_WORD = re.compile(r"\w")
_LIST_ITEM = re.compile(r"^[ \t]*(?:[-*•]|\d{1,2}[.)])[ \t]+(\S.*)$", re.MULTILINE)
_PLAN_TAG = re.compile(r"<plan>(?P<plan>.*?)(?:</plan>|\Z)", re.DOTALL | re.IGNORECASE)
_STEP_NUMBER = re.compile(
    r"\A(?:step|schritt|paso|étape|ステップ|步骤|第)\s*(?P<number>\d{1,2})\s*步?\s*[:.：—–-]\s*", re.IGNORECASE
)
_ANNOUNCES = re.compile(
    r"(?:^|[.!?:]\s+)(?:(?:ok|okay|now|next|first|then|so|great)[,.!]?\s+)*"
    r"(?:let me(?! know)|let's|i(?:'ll| will| am going to|'m going to)(?! (?:be|wait)\b))"
    r"|(?:^|[.!?:]\s+)(?:(?:ok|gut|also|jetzt|nun|zuerst|zunächst|dann|als nächstes)[,.!]?\s+)*"
    r"(?:ich (?:werde|lade|lese|öffne|prüfe|berechne|schaue|sehe mir)"
    r"|(?:werde|lade|lese|öffne|prüfe|berechne|schaue|sehe) ich|lass(?:t|en sie)? (?:uns|mich))\b"
    r"|(?:^|[.!?:]\s+)(?:(?:ok|bien|ahora|primero|luego|d['’]abord|maintenant|ensuite)[,.!]?\s+)*"
    r"(?:voy a|vamos a|déjame|permíteme|je vais|laissez?-moi|commençons)\b"
    r"|(?:読み込み|確認し|計算し|分析し|調べ|見てみ)ま(?:す|しょう)[。！]?\s*\Z"
    r"|(?:^|[。！？，；]\s*)(?:好的?[，,。]?)?(?:现在|首先)?[，,]?(?:接下来|下一步|让我|我(?:来|将|先|这就|现在|需要先))",
    re.IGNORECASE | re.MULTILINE,
)
_QUESTION_CHARS = 300
_MAX_FENCES = 20
_PYTHON_WORDS = {"python", "py", "python3", "ipython", "tool_code"}


def read_reply(reply: Replied, number: int) -> Reading:
    """Reads a reply. `number` is the reply's place in the turn; ids that are made here follow from it. Never raises.

    Calls are read as calls and text as text, whatever the model's mode is now: a thread may have changed its model.
    """
    return _read(reply.text, reply.calls, reply.finish, number)


@lru_cache(maxsize=1_024)  # each decision of a turn reads its replies again, and a process has many turns
def _read(said: str, asked: tuple[ToolCall, ...], end: str, number: int) -> Reading:
    text = clean(without_thoughts(said)).strip()
    if asked:
        seen: set[str] = set()
        intents: list[Intent] = []
        calls = [single for call in asked for single in single_calls(call)]
        for place, call in enumerate(calls, start=1):
            call_id = call.id or f"call-{number}-{place}"
            if call_id.startswith(OUR_CALLS):
                call_id = f"call-{call_id}"
            while call_id in seen:
                call_id += f"-{place}"
            seen.add(call_id)
            intents.append(read_call(call, call_id))
        return Reading(text, tuple(intents), as_calls=True)
    return _read_text(text, f"reply-{number}", cut=end == "length")


@dataclass(frozen=True, slots=True)
class _Found:
    """An action in a text: where it starts, where the reply is cut behind it, and what it means.

    `in_a_sentence` is true for a tag with words before it on its line. Perhaps it is only spoken of ("the report comes
    in `<finish>` later"), so it counts when the reply has no other action.
    """

    start: int
    end: int
    intent: Intent
    in_a_sentence: bool = False


def _read_text(text: str, call_id: str, cut: bool) -> Reading:
    if not text:
        return Reading("", (Malformed(call_id, "cut_off" if cut else "empty_reply"),), as_calls=False)
    found = [
        *_finishes(text, call_id, cut),
        *_questions(text, call_id),
        *_calls(text, call_id),
        *_code(text, call_id, cut),
    ]
    if found:
        first = min(found, key=lambda action: (action.in_a_sentence, action.start))
        intent = _planned(first.intent, text[: first.start])
        return Reading(text[: first.end].rstrip(), (intent,), as_calls=False)
    if cut:
        return Reading(text, (Malformed(call_id, "cut_off"),), as_calls=False)
    if announces_more(text) or _PLAN_TAG.search(text) or _CALL_MARK.search(text):
        return Reading(text, (Malformed(call_id, "text_only"),), as_calls=False)
    if is_only_a_question(text):
        return Reading(text, (read_arguments(ASK_USER, call_id, {"question": text}),), as_calls=False)
    return Reading(text, (Report(call_id, text),), as_calls=False)


def _planned(intent: Intent, before: str) -> Intent:
    """A cell with the plan that stands before it. The number of its step stands before its title.

    In the plan's tag each item of the list is a step. Other lines say why the plan before does not hold.
    """
    if not isinstance(intent, RunPython):
        return intent
    if number := _STEP_NUMBER.match(intent.title):
        title = intent.title[number.end() :].strip() or intent.title
        intent = replace(intent, title=title, step=int(number["number"]))
    if (tag := _PLAN_TAG.search(before)) is None:
        return intent
    return planned(intent, tag["plan"], _LIST_ITEM.sub("", tag["plan"]), intent.step)


def announces_more(text: str) -> bool:
    """True when a text without an action announces the next step ("Let me load the file:"), so it is no answer.

    Only the last paragraph counts. Any other text is taken as a report and checked like every report: the data must
    have been read and the judge must agree. That costs one short call, the same as a reminder to use `finish`, and the
    model need not write the whole report twice.
    """
    last = text.rstrip().rsplit("\n\n", 1)[-1].strip()
    return last.endswith((":", "：", "...", "…")) or bool(_ANNOUNCES.search(last[-400:]))


def is_only_a_question(text: str) -> bool:
    """True for a short text that is only a question to the people. It waits for them, like ask_user."""
    short = len(text) <= _QUESTION_CHARS and "\n\n" not in text
    return short and text.endswith(("?", "？")) and not any(char.isdigit() for char in text)


def _finishes(text: str, call_id: str, cut: bool) -> Iterator[_Found]:
    for pattern in (_FINISH_TAG, _FINISH_LINE):
        for match in pattern.finditer(text):
            report = match["report"].strip()
            spoken_of = _in_a_sentence(match)
            if spoken_of and not _WORD.search(report):
                continue
            whole = not cut or bool(match.groupdict().get("end"))
            intent: Intent = Malformed(call_id, "empty_report", tool=FINISH)
            if not whole:
                intent = Malformed(call_id, "cut_off", FINISH, tool=FINISH)
            elif report:
                intent = Report(call_id, report)
            yield _Found(match.start(), match.end(), intent, spoken_of)


def _questions(text: str, call_id: str) -> Iterator[_Found]:
    for match in _ASK_TAG.finditer(text):
        body = match["question"].strip()
        question = _LIST_ITEM.sub("", body).strip() or body
        options = _LIST_ITEM.findall(body) if question != body else []
        intent = read_arguments(ASK_USER, call_id, {"question": question, "options": options})
        yield _Found(match.start(), match.end(), intent, _in_a_sentence(match))


def _in_a_sentence(tag: re.Match[str]) -> bool:
    line = tag.string.rfind("\n", 0, tag.start()) + 1
    return bool(tag.string[line : tag.start()].strip(" \t#*_>-:："))


def _calls(text: str, call_id: str) -> Iterator[_Found]:
    """A tool call written as text: <tool_call>{"name": …}</tool_call>, or a reply that is nothing but such an
    object."""
    match = _CALL_TAG.search(text)
    body = match["call"] if match else text if text[:1] == "{" or text.startswith("```json") else ""
    if not body:
        return
    try:
        value = read_json(body)
    except Unreadable:
        return
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, Mapping):
        return
    function = value["function"] if isinstance(value.get("function"), Mapping) else value
    tool = known_name(str(function.get("name") or function.get("tool") or function.get("function") or ""))
    arguments = next((function[key] for key in ("arguments", "parameters", "args", "input") if key in function), None)
    if tool is None and arguments is None:
        tool, arguments = tool_of_arguments(value), dict(value)
    if tool is not None and arguments is not None:
        start, end = (match.start(), match.end()) if match else (0, len(text))
        if isinstance(arguments, str) and arguments.lstrip()[:1] == "{":
            try:
                arguments = read_json(arguments)
            except Unreadable:
                return
        yield _Found(start, end, read_arguments(tool, call_id, arguments))


def _code(text: str, call_id: str, cut: bool) -> Iterator[_Found]:
    if tagged := _CODE_TAG.search(text) or _PYTHON_TAG.search(text):
        yield _Found(tagged.start(), tagged.end(), run_python(call_id, tagged["code"], _title(text[: tagged.start()])))
    position = 0
    for _ in range(_MAX_FENCES):
        if not (opening := _FENCE.search(text, position)):
            return
        word = opening["word"].lower()
        code, end, closed = _fenced(text, opening, is_python=not word or word in _PYTHON_WORDS)
        if word in _PYTHON_WORDS or (not word and code.strip() and compiles(code) and not code.strip().isidentifier()):
            if not closed and (cut or not compiles(code)):
                yield _Found(opening.start(), len(text), Malformed(call_id, "cut_off", RUN_PYTHON, tool=RUN_PYTHON))
            else:
                title = _first_comment(code) or _title(text[: opening.start()])
                yield _Found(opening.start(), end, run_python(call_id, code, title))
            return
        position = end


def _fenced(text: str, opening: re.Match[str], is_python: bool) -> tuple[str, int, bool]:
    """The content of a fence, where the fence ends, and whether it was closed.

    A line of backticks inside a Python string does not end the fence. The first possible end that leaves valid Python
    counts, else the very first one.
    """
    closing = re.compile(rf"^[ \t]*{re.escape(opening['fence'])}[ \t]*$", re.MULTILINE)
    ends = list(islice(closing.finditer(text, opening.end()), 5 if is_python else 1))
    if not ends:
        return text[opening.end() :], len(text), False
    end = ends[0]
    if is_python:
        end = next((end for end in ends if compiles(text[opening.end() : end.start()])), end)
    return text[opening.end() : end.start()], end.end(), True


def _first_comment(code: str) -> str:
    """The comment that a block begins with: the prompt asks for it. What stands before a block may be a whole plan."""
    first = next((line.strip() for line in code.splitlines() if line.strip()), "")
    return one_line(first.lstrip("#! "), TITLE_CHARS) if first.startswith("#") else ""


def _title(before: str) -> str:
    """The title of a block from the words before it: their last line."""
    lines = [line.strip(" #*:：") for line in before.splitlines() if line.strip(" #*:：")]
    return one_line(lines[-1], TITLE_CHARS) if lines else ""
