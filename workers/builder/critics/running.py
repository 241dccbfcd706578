"""Does it run, and do its tests pass? Both inside the walls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from workers.builder.critics.subject import Subject
from workers.builder.critics.tools import Tools
from workers.builder.critics.verdicts import Finding, Verdict, failed, finding, passed, skipped
from workers.builder.sandbox.walls import Job, Ran, Touched, Walls
from workers.builder.testing.case_script import module_of
from workers.builder.testing.cases import blamed, compile_errors, faults, job_of, native

_REFUSED = (
    "Operation not permitted",
    "PermissionError",
    "EPERM",
    "Could not resolve host",
    "getaddrinfo",
    "Temporary failure",
)
_BROKE = ("Traceback (most recent call last)", "panicked at ")
SHOWN = 400


class Seen:
    """What a program tried to touch while critics ran it, by component."""

    def __init__(self) -> None:
        self._touched: dict[str, list[Touched]] = {}

    def note(self, name: str, touched: Iterable[Touched]) -> None:
        """Add what a run has shown."""
        known = self._touched.setdefault(name, [])
        known += [one for one in touched if one not in known][: 100 - len(known)]

    def of(self, name: str) -> tuple[Touched, ...]:
        """All that was seen of a component."""
        return tuple(self._touched.get(name, ()))


class RunCritic:
    """Starts the program without arguments, or imports the module. A traceback is a failure, a usage text is none."""

    name: Literal["run"] = "run"

    def __init__(self, walls: Walls, tools: Tools, seen: Seen) -> None:
        self._walls = walls
        self._tools = tools
        self._seen = seen

    def judge(self, subject: Subject) -> Verdict:
        """Skipped, with the reason, for what cannot be run here."""
        component, language = subject.component, subject.component.language
        if not language.runs:
            return skipped(self.name, f"{language.name} is not run: {language.not_run}")
        if why := self._tools.missing(language):
            return skipped(self.name, why)
        runnable = [case for case in subject.cases if subject.can_run(case)]
        if subject.not_run and not (component.entry and runnable):
            return skipped(self.name, subject.not_run)
        if component.entry:
            if subject.cases:
                return passed(self.name, "the tests run it")
            ran = self._walls.run(self._start(subject))
        elif language.name == "python":
            words = ("python", "-c", f"import {module_of(component.main_file)}")
            ran = self._walls.run(
                Job(words, files=subject.files, timeout_s=subject.requirement.run.timeout_s, observed=True)
            )
        else:
            return skipped(self.name, "it is used by other components and not started by itself")
        self._seen.note(component.name, ran.touched)
        return self._verdict(subject, ran)

    def _start(self, subject: Subject) -> Job:
        language, path = subject.component.language, subject.component.main_file
        timeout_s, observed = subject.requirement.run.timeout_s, language.name == "python"
        if language.name == "sql":
            words, stdin = ("sqlite3", "-batch", "-bail", ":memory:"), f".read {path}\n"
            return Job(words, files=subject.files, stdin=stdin, timeout_s=timeout_s)
        prepare, start, more = native(subject.component, subject.files)
        if start:
            return Job(start, files={**subject.files, **more}, prepare=prepare, timeout_s=timeout_s)
        return Job((*language.run, path), files=subject.files, timeout_s=timeout_s, observed=observed)

    def _verdict(self, subject: Subject, ran: Ran) -> Verdict:
        path, line = blamed(ran, subject.plan)
        path = path or subject.component.main_file
        last = (ran.stderr.strip().splitlines() or [""])[-1][:SHOWN]
        if not ran.prepared:
            text = f"It does not compile: {' '.join(compile_errors(ran))}"
            return failed(self.name, [finding(text, "high", file=path, rule="compile")])
        if ran.status != "ok":
            return failed(self.name, [finding(f"Started without arguments, {ran.why}.", "high", file=path, rule="run")])
        if ran.exit_code == 0:
            return passed(self.name, "it ends with exit code 0")
        if needs_network(ran):
            return skipped(
                self.name, "it needs the network, which the walls do not let through; give [tests] fakes for it"
            )
        if missing := _missing_package(ran, subject):
            return skipped(self.name, f"the package {missing} is not installed here")
        broke = any(word in ran.stderr for word in _BROKE) or (ran.exit_code or 0) >= 126
        if broke or subject.component.language.name in ("sql",) or not subject.component.entry:
            text = f"Started without arguments, it breaks with exit code {ran.exit_code}: {last}"
            return failed(self.name, [finding(text, "high", file=path, line=line, rule="run")])
        return passed(self.name, f"it ends with exit code {ran.exit_code} and says: {last}" if last else "")


class TestsCritic:
    """Runs the tests of the requirement file."""

    __test__ = False
    name: Literal["tests"] = "tests"

    def __init__(self, walls: Walls, tools: Tools, seen: Seen) -> None:
        self._walls = walls
        self._tools = tools
        self._seen = seen

    def judge(self, subject: Subject) -> Verdict:
        """Every test that fails is a finding, with the place in the program if the error names one."""
        component, language = subject.component, subject.component.language
        if not subject.cases:
            return skipped(self.name, "there is no test of it")
        if not language.runs:
            return skipped(self.name, f"{language.name} is not run: {language.not_run}")
        if why := self._tools.missing(language):
            return skipped(self.name, why)
        runnable = [case for case in subject.cases if subject.can_run(case)]
        if not runnable:
            return skipped(self.name, subject.not_run)
        found, good = list[Finding](), 0
        for case in runnable:
            job = job_of(case, component, subject.files, subject.requirement.run, observed=True)
            ran = self._walls.run(job)
            self._seen.note(component.name, ran.touched)
            wrong = faults(case, ran, self._walls)
            good += not wrong
            if wrong:
                found.append(self._finding(subject, case.name, wrong, ran))
        if found:
            return failed(self.name, found, good=good, total=len(runnable))
        if len(runnable) < len(subject.cases):
            some = f"{good} of {len(subject.cases)} pass with stand-ins, the others were not run"
            return skipped(self.name, f"{some}: {subject.not_run}")
        return passed(self.name, good=good, total=good)

    def _finding(self, subject: Subject, name: str, wrong: list[str], ran: Ran) -> Finding:
        path, line = blamed(ran, subject.plan)
        more = " The walls let no program use the network: a test of it needs `fakes`." if needs_network(ran) else ""
        text = f"The test “{name}” fails: {'; '.join(wrong[:3])}.{more}"
        return finding(text, "high", file=path or subject.component.main_file, line=line, rule="test", about=name)


def needs_network(ran: Ran) -> bool:
    """Whether a run failed because there is no network inside the walls."""
    if not ran.exit_code or not any(word in ran.stderr for word in _REFUSED):
        return False
    return any(one.kind == "network" for one in ran.touched) or "resolve host" in ran.stderr or "socket" in ran.stderr


def _missing_package(ran: Ran, subject: Subject) -> str:
    last = (ran.stderr.strip().splitlines() or [""])[-1]
    name = last.partition("No module named '")[2].partition("'")[0].split(".")[0]
    return name if name and subject.is_meant(name) else ""
