"""Is there code, in the files that were asked for, and can it be read?"""

from __future__ import annotations

import re
from typing import Literal

from workers.agent.code.source import compiles
from workers.builder.critics.subject import Subject
from workers.builder.critics.tools import Tools
from workers.builder.critics.verdicts import Finding, Verdict, failed, finding, passed
from workers.builder.requirements.languages import Language
from workers.builder.sandbox.walls import Job, Walls
from workers.builder.testing.cases import compile_errors, native

MOST_CHARS = 200_000
COMPILE_S = 120.0
_LINE = re.compile(r"(?:line |:)(\d+)")


class FormatCritic:
    """Every file is there and parses."""

    name: Literal["format"] = "format"

    def __init__(self, walls: Walls, tools: Tools) -> None:
        self._walls = walls
        self._tools = tools

    def judge(self, subject: Subject) -> Verdict:
        """Parses with the language's own parser, inside the walls."""
        found = [
            finding(
                f"The reply has no file `{path}`. It needs a block of code with the line `File: {path}` before it.",
                "high",
                file=path,
                rule="missing",
            )
            for path in subject.component.files
            if not subject.own.get(path, "").strip()
        ]
        if found:
            return failed(self.name, found, note="the reply was cut off" if subject.cut_off else "")
        language, notes = subject.component.language, []
        compiled = subject.component.entry and bool(language.compile) and not self._tools.missing(language)
        for path, text in subject.own.items():
            if len(text) > MOST_CHARS:
                found.append(finding(f"{path} is longer than {MOST_CHARS:,} characters.", "high", file=path))
            elif compiled:
                continue
            elif not language.parse:
                notes.append(f"no parser is known for {language.name}")
            elif not self._tools.has(language.parse[0]):
                notes.append(self._tools.why_not(language.parse[0]))
            else:
                found += self._parsed(path, text, language, subject)
        found += self._not_compiled(subject) if compiled and not found else []
        note = "; ".join(dict.fromkeys(notes))
        return failed(self.name, found, note=note) if found else passed(self.name, note)

    def _parsed(self, path: str, text: str, language: Language, subject: Subject) -> list[Finding]:
        if language.name == "python" and compiles(text):
            return []
        files = subject.files if language.compile else {path: text}  # a compiler reads what a file includes, too
        ran = self._walls.run(Job((*language.parse, path), files=files, tool=True))
        if ran.status == "ok" and ran.exit_code == 0:
            return []
        said = [line for line in (ran.stderr or ran.stdout).strip().splitlines() if line.strip()]
        place = next(
            (match for line in said if path in line and (match := _LINE.search(line.partition(path)[2]))), None
        )
        words = said[-1] if language.name in ("python", "html") else " ".join(said[:2])
        cut = " The reply was cut off: write less, or the same more briefly." if subject.cut_off else ""
        words = f"The code cannot be read as {language.name}: {words or ran.why}.{cut}"
        return [finding(words, "high", file=path, line=int(place[1]) if place else 0, rule="syntax")]

    def _not_compiled(self, subject: Subject) -> list[Finding]:
        """What the compiler says of the whole program."""
        prepare, _, more = native(subject.component, subject.files)
        job = Job(prepare, files={**subject.files, **more}, timeout_s=COMPILE_S, tool=True)
        ran = self._walls.run(job)
        if ran.status == "ok" and ran.exit_code == 0:
            return []
        said = compile_errors(ran)
        places = (
            (path, match[1])
            for line in said
            for path in subject.files
            if path in line and (match := _LINE.search(line.partition(path)[2]))
        )
        path, line = next(places, (subject.component.main_file, "0"))
        cut = " The reply was cut off: write less, or the same more briefly." if subject.cut_off else ""
        text = f"The program does not compile: {' '.join(said)}.{cut}"
        return [finding(text, "high", file=path, line=int(line), rule="compile")]


def reads_as(language: Language, text: str) -> bool:
    """Whether a text may be a whole file of the language, judged without a tool."""
    return compiles(text) if language.name == "python" else text.count("```") % 2 == 0
