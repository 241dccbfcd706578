"""The page of a playbook: a YAML header, then stages with what each must show and its code. docs/memory.md shows one.

Reading never runs anything. A page that breaks the format is refused with its line; a page that is odd is accepted, and
`lint` says what is odd.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml

from core import python_source
from workers.agent.text import plain_letters

LONGEST_PAGE: Final = 60_000
"""Characters of a page. The form in Slack takes as many, and so does a prompt."""
MOST_STAGES: Final = 30
_HEADER = re.compile(r"\A---[ \t]*\n(.*?\n)---[ \t]*(?:\n|\Z)", re.DOTALL)
_TYPES = re.compile(r"^( +)types:.*\n(?:\1 +\S.*\n)*", re.MULTILINE)
_STAGE = re.compile(r"^##[ \t]+(?:\d+[.)][ \t]*)?(.+?)[ \t#]*$")
_SHOWS = re.compile(r"\A(?:shows|展示)[:：]\s*(.+)", re.IGNORECASE | re.DOTALL)
_FENCE = re.compile(r"\A(`{3,}|~{3,})[ \t]*(\w*)[ \t]*\Z")
_NAME = re.compile(r"[a-z][a-z0-9-]{0,79}")
_KEYS: Final = frozenset(
    {"playbook", "when", "words", "inputs", "parameters", "checks", "owner", "approved", "kept", "thread", "proof"}
)
_INPUT_KEYS: Final = frozenset({"file", "source", "table", "columns", "types"})
_PARAMETER_KEYS: Final = frozenset({"name", "type", "value", "meaning"})


class PlaybookFault(Exception):
    """A page is no playbook. `line` counts from 1, 0 is the page as a whole."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(f"line {line}: {message}" if line else message)
        self.line, self.message = line, message


@dataclass(frozen=True, slots=True)
class Input:
    """What a playbook reads: a file (its name, perhaps with `*`) or a table of a source, and the columns that it
    needs."""

    file: str = ""
    source: str = ""
    table: str = ""
    columns: tuple[str, ...] = ()
    types: tuple[tuple[str, str], ...] = ()
    """The columns of the table and their types when the playbook was kept: what drift is told by."""

    @property
    def label(self) -> str:
        """The input as people read it."""
        return self.file or f"{self.source}.{self.table}"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value that differs from one use to the next; `value` is the one of the thread that it comes from."""

    name: str
    type: str
    value: str | int | float | bool
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class PlaybookStage:
    """One stage: its title, what it must show, its code; `line` is that of its heading."""

    title: str
    shows: str
    code: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class Playbook:
    """A page that was read."""

    name: str
    when: str
    stages: tuple[PlaybookStage, ...]
    words: tuple[str, ...] = ()
    inputs: tuple[Input, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    checks: tuple[str, ...] = ()
    owner: str = ""
    approved: tuple[str, ...] = ()
    kept: str = ""
    thread: str = ""
    proof: str = ""


def read_playbook(text: str) -> Playbook:
    """The playbook that a page holds. Raises PlaybookFault."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if len(text) > LONGEST_PAGE:
        raise PlaybookFault(0, f"is longer than {LONGEST_PAGE:,} characters.")
    found = _HEADER.match(text)
    if found is None:
        raise PlaybookFault(1, "begins with no header: write `---`, YAML lines, `---`.")
    header = _header(found[1])
    if unknown := sorted(set(header) - _KEYS):
        raise PlaybookFault(1, f"unknown name {unknown[0]!r} in the header. Names: {', '.join(sorted(_KEYS))}.")
    name, when = _text(header, "playbook"), _text(header, "when")
    if not name or not when:
        raise PlaybookFault(1, "the header needs `playbook:` (a name) and `when:` (the question that it answers).")
    stages = tuple(_stages(text[found.end() :], text.count("\n", 0, found.end())))
    if not stages:
        raise PlaybookFault(0, "has no stage: write `## 1. Title`, what it shows, and a block of Python.")
    if len(stages) > MOST_STAGES:
        raise PlaybookFault(stages[MOST_STAGES].line, f"has more than {MOST_STAGES} stages.")
    return Playbook(
        name=name,
        when=when,
        stages=stages,
        words=_texts(header, "words"),
        inputs=tuple(_input(item) for item in _list(header, "inputs")),
        parameters=tuple(_parameter(item) for item in _list(header, "parameters")),
        checks=_texts(header, "checks"),
        owner=_text(header, "owner"),
        approved=_texts(header, "approved"),
        kept=_text(header, "kept"),
        thread=_text(header, "thread"),
        proof=_text(header, "proof"),
    )


def write_playbook(one: Playbook) -> str:
    """The page of a playbook. Reading it gives the same playbook."""
    header: dict[str, Any] = {"playbook": one.name, "when": one.when}
    header |= {"words": list(one.words)} if one.words else {}
    if one.inputs:
        header["inputs"] = [
            {key: list(value) if key == "columns" else dict(value) if key == "types" else value
             for key in ("file", "source", "table", "columns", "types") if (value := getattr(each, key))}
            for each in one.inputs
        ]  # fmt: skip
    if one.parameters:
        header["parameters"] = [
            {"name": each.name, "type": each.type, "value": each.value, "meaning": each.meaning}
            for each in one.parameters
        ]
    header |= {"checks": list(one.checks)} if one.checks else {}
    for key in ("owner", "approved", "kept", "thread", "proof"):
        value = getattr(one, key)
        if value:
            header[key] = list(value) if isinstance(value, tuple) else value
    yaml_text = yaml.safe_dump(header, sort_keys=False, allow_unicode=True, width=100)
    parts = [f"---\n{yaml_text}---\n\n# {one.name}\n"]
    for number, stage in enumerate(one.stages, start=1):
        parts.append(f"\n## {number}. {stage.title}\n")
        if stage.shows:
            parts.append(f"Shows: {stage.shows}\n")
        if stage.code:
            fence = "```" if "```" not in stage.code else "~~~~"
            parts.append(f"\n{fence}python\n{stage.code}\n{fence}\n")
    return "".join(parts)


def without_types(text: str) -> str:
    """A page without the types of its inputs' columns. They are for finding drift; the model is told what it found."""
    header = _HEADER.match(text)
    return text[: header.start(1)] + _TYPES.sub("", header[1]) + text[header.end(1) :] if header else text


def lint(one: Playbook) -> list[tuple[int, str]]:
    """What is odd about a playbook: (line, sentence). An empty list when nothing is."""
    found: list[tuple[int, str]] = []
    functions: set[str] = set()
    for stage in one.stages:
        if not stage.code.strip():
            found.append((stage.line, f"stage “{stage.title}” has no block of Python."))
            continue
        if not stage.shows:
            found.append((stage.line, f"stage “{stage.title}” does not say what it shows: write `Shows: …`."))
        try:
            tree = python_source.parsed(stage.code)
        except (SyntaxError, ValueError, RecursionError) as error:
            why = f"{error.msg} in its line {error.lineno}" if isinstance(error, SyntaxError) else str(error)
            found.append((stage.line, f"the code of stage “{stage.title}” is no Python: {why}."))
            continue
        names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        found += [(stage.line, f"two stages define {name}().") for name in sorted(names & functions)]
        functions |= names
    code = "\n".join(stage.code for stage in one.stages)
    for parameter in one.parameters:
        if not parameter.name.isidentifier():
            found.append((1, f"the parameter {parameter.name!r} is no name of Python."))
        elif not re.search(rf"\b{re.escape(parameter.name)}\b", code):
            found.append((1, f"no stage uses the parameter {parameter.name}."))
    for each in one.inputs:
        if bool(each.file) == bool(each.source and each.table):
            found.append((1, "an input needs either `file:`, or `source:` and `table:`."))
        elif not each.columns:
            found.append((1, f"the input {each.label} lists no columns, so nobody can say whether it has drifted."))
    if not one.inputs:
        found.append((1, "lists no inputs, so it is found by its words alone."))
    if not one.owner:
        found.append((1, "has no owner."))
    return found


def file_name(name: str) -> str:
    """The name of a playbook's file, without its ending: small letters, digits and dashes."""
    slug = re.sub(r"[^a-z0-9]+", "-", plain_letters(name)).strip("-")[:60].strip("-")
    if not _NAME.fullmatch(slug):
        slug = f"playbook-{sum(name.encode()) % 10_000:04d}{'-' + slug if slug else ''}"
    return slug


def _header(text: str) -> dict[str, Any]:
    try:
        loaded = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise PlaybookFault(mark.line + 2 if mark else 1, "the header is no YAML.") from None
    except (ValueError, TypeError, AttributeError, RecursionError):  # a day that no month has
        raise PlaybookFault(1, "the header has a value that is none of its kind, such as a day 2026-02-30.") from None
    if not isinstance(loaded, dict) or not all(isinstance(key, str) for key in loaded):
        raise PlaybookFault(1, "the header is no list of names with values.")
    return loaded


def _stages(body: str, before: int) -> Iterator[PlaybookStage]:
    title, start, said, code = "", 0, list[str](), list[str]()
    fence = ""
    language = ""

    def made() -> PlaybookStage:
        words = " ".join(" ".join(said).split())
        shows = _SHOWS.match(words)
        return PlaybookStage(title, shows[1] if shows else words, "\n".join(code).strip("\n"), start)

    for number, line in enumerate(body.split("\n"), start=before + 1):
        mark = _FENCE.match(line.strip()) if line[:4].strip() else None
        if fence:
            if mark and mark[1].startswith(fence) and not mark[2]:
                fence = ""
            elif language in ("", "python", "py"):
                code.append(line)
            continue
        if mark:
            if not title:
                raise PlaybookFault(number, "code stands before the first stage (`## 1. Title`).")
            fence, language = mark[1], mark[2].lower()
            code += [""] if code else []
            continue
        if heading := _STAGE.match(line):
            if title:
                yield made()
            title, start, said, code = heading[1][:120], number, [], []
        elif title:
            said.append(line)
    if fence:
        raise PlaybookFault(before + len(body.split("\n")), "a block of code has no end.")
    if title:
        yield made()


def _text(header: Mapping[str, Any], key: str) -> str:
    value = header.get(key)
    if value is None:
        return ""
    if isinstance(value, dict | list):
        raise PlaybookFault(1, f"`{key}` must be a text.")
    return " ".join(str(value).split())[:1_000]


def _texts(header: Mapping[str, Any], key: str) -> tuple[str, ...]:
    return tuple(" ".join(str(item).split())[:500] for item in _list(header, key) if not isinstance(item, dict | list))


def _list(header: Mapping[str, Any], key: str) -> list[Any]:
    value = header.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise PlaybookFault(1, f"`{key}` must be a list.")
    if len(value) > 200:
        raise PlaybookFault(1, f"`{key}` has more than 200 items.")
    return value


def _input(item: object) -> Input:
    if not isinstance(item, dict) or set(item) - _INPUT_KEYS:
        raise PlaybookFault(1, f"an input has only {', '.join(sorted(_INPUT_KEYS))}.")
    types = item.get("types") or {}
    if not isinstance(types, dict):
        raise PlaybookFault(1, "the `types` of an input are columns with their types.")
    named = tuple((str(column), str(kind)) for column, kind in types.items())
    return Input(_text(item, "file"), _text(item, "source"), _text(item, "table"), _texts(item, "columns"), named)


def _parameter(item: object) -> Parameter:
    if not isinstance(item, dict) or set(item) - _PARAMETER_KEYS:
        raise PlaybookFault(1, f"a parameter has only {', '.join(sorted(_PARAMETER_KEYS))}.")
    value = item.get("value")
    if not isinstance(value, str | int | float | bool):
        value = "" if value is None else str(value)
    return Parameter(_text(item, "name"), _text(item, "type") or type(value).__name__, value, _text(item, "meaning"))
