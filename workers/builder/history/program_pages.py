"""The two pages beside a program's code: README.md, and SECURITY.md in a fixed form."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from workers.builder.critics.verdicts import Verdict
from workers.builder.history.iterations import HANDED_OVER, Iteration
from workers.builder.packages.lock import Lock
from workers.builder.requirements.components import Plan
from workers.builder.requirements.requirement import Case, Requirement
from workers.builder.testing.case_script import BUILT, compiler

_STATES = {"passed": "All checks pass.", "failed": "**Some checks fail**, see below."}
_LONGEST_EXAMPLE = 80
_JUDGES_OF_SECURITY = ("security", "review")


def readme(requirement: Requirement, made: Plan, iteration: Iteration) -> str:
    """What the program is, how it is run, and how much of it is checked."""
    name = requirement.file.name
    lines = [f"# {name}", "", requirement.file.description, "", _state(iteration), ""]
    if run := how_to_run(made, (*requirement.tests.case, *iteration.cases)):
        lines += ["## Run it", "", *_shell(run)]
    if requirement.run.packages:
        lines += [f"It needs these packages: {', '.join(requirement.run.packages)}.", ""]
    if iteration.packages:
        lines += _packages(iteration.packages)
    if requirement.tests.case or iteration.cases:
        lines += ["Its tests:", "", *_shell(f"python tests/test_{name}.py")]
    lines += ["## What was asked, and what is known of it", ""]
    lines += _table(("requirement", "text", "state", "where"), _asked(iteration))
    lines += ["", "## Checks", ""]
    lines += _table(("component", "check", "state", "remarks"), _checks(iteration))
    if made.entry.language.not_run:
        lines += ["", f"It was not run here: {made.entry.language.not_run}."]
    lines += _broken_programs(iteration)
    if made.entry.entry and iteration.touched:
        used = ", ".join(f"`{_cell(one)}`" for one in iteration.touched)
        lines += ["", f"While it ran it tried to use: {used}."]
    lines += ["", _made_by(iteration)]
    return "\n".join(lines).replace("\n\n\n", "\n\n") + "\n"


def how_to_run(made: Plan, cases: Sequence[Case] = ()) -> str:
    """The command line that starts the program, with the arguments of a test of these that needs nothing else.

    "" for a language of which none is known.
    """
    entry = made.entry
    if entry.language.name == "sql":
        return f"sqlite3 DATABASE.db < {entry.main_file}"
    if entry.language.name == "html":
        return f"open {entry.main_file}"
    if words := compiler(entry.language.name, entry.main_file, made.files):
        making = " ".join("program" if word == BUILT else word for word in words)
        return f"{making} && ./program{_example(made, cases)}"
    if not entry.language.run:
        return ""
    return " ".join((*entry.language.run, entry.main_file)) + _example(made, cases)


def _example(made: Plan, cases: Sequence[Case]) -> str:
    """Arguments to try, with a space before them: those of the first test that gives nothing but arguments."""
    for case in cases:
        starts = case.component in ("", made.entry.name) and not (case.call or case.stdin)
        alone = not (case.files or case.environment or case.fakes) and case.expect.exit_code in (None, 0)
        shown = shlex.join(case.arguments)
        if starts and alone and 0 < len(shown) <= _LONGEST_EXAMPLE and shown.isprintable():
            return f" {shown}"
    return ""


def security_report(requirement: Requirement, iteration: Iteration) -> str:
    """A report of fixed form: what was looked for, by whom, and what was found."""
    found = list(_findings(iteration))
    lines = ["# Security report", "", _outcome(requirement, iteration), ""]
    lines += ["## Who looked", "", *_who_looked(iteration), ""]
    lines += ["## Findings", ""]
    lines += _table(("severity", "where", "rule", "finding", "state"), found) if found else ["None."]
    lines += ["", "## What it tried to use while it ran", ""]
    lines += [f"* {_cell(one)}" for one in iteration.touched] or [
        "Nothing beyond its own folder was seen. Only runs of Python are watched."
    ]
    lines += ["", "A report without findings is no proof that there are none."]
    return "\n".join(lines) + "\n"


# The parts of README.md


def _state(iteration: Iteration) -> str:
    state = _STATES.get(iteration.state, iteration.state)
    if not iteration.lacks_packages:
        return state
    if iteration.state == "passed":
        state = "All checks that could be made pass."
    needs = f"it needs {', '.join(iteration.missing)}, and {_cell(iteration.missing_why)}"
    return f"{state} **It was not run as it is meant**: {needs}."


def _packages(lock: Lock) -> list[str]:
    return [
        "It was run and tested with exactly the wheels of `requirements.txt`, which fit the kind of machine that "
        "built it:",
        "",
        *_shell("pip install --only-binary :all: --require-hashes -r requirements.txt"),
        *_table(
            ("package", "version", "licence"),
            ((one.name, one.version, _cell(one.licence) or "not named") for one in lock.packages),
        ),
        "",
    ]


def _asked(iteration: Iteration) -> Iterator[Sequence[str]]:
    for built in iteration.components:
        prefix = f"{built.name}." if len(iteration.components) > 1 else ""
        for row in built.coverage:
            yield f"{prefix}{row.id}", _cell(row.text), row.state, _cell(row.where or row.why)


def _checks(iteration: Iteration) -> Iterator[Sequence[str]]:
    for built in iteration.components:
        for verdict in built.verdicts:
            yield built.name, verdict.critic, verdict.state, _cell(_remark(verdict))


def _broken_programs(iteration: Iteration) -> list[str]:
    """How many broken programs the tests find, and which they do not."""
    mutation = iteration.mutation
    if not mutation.tried:
        return []
    found = f"The tests find {mutation.found} of {mutation.tried} broken programs."
    failing = [
        f"* left out: the test “{_cell(name)}”, which a model made of the words. The program fails it: one is wrong."
        for name in mutation.left_out
    ]
    return ["", found, *(f"* not found: {one}" for one in mutation.survivors), *failing]


def _made_by(iteration: Iteration) -> str:
    return (
        f"Built by Threadbook from `requirement.toml`, iteration {iteration.number}, with the model {iteration.model}; "
        f"programs ran in a sandbox of level “{iteration.sandbox}”. Change the requirement, not the code."
    )


def _remark(verdict: Verdict) -> str:
    counted = f"{verdict.good} of {verdict.total}" if verdict.total else ""
    first = verdict.findings[0] if verdict.findings else None
    said = f"{first.where}: {first.message}" if first else ""
    more = f"and {len(verdict.findings) - 1} more" if len(verdict.findings) > 1 else ""
    return "; ".join(filter(None, (counted, verdict.note, said, more)))


# The parts of SECURITY.md


def _outcome(requirement: Requirement, iteration: Iteration) -> str:
    severity = f"of severity {requirement.security.fail_on} or more"
    if iteration.state in HANDED_OVER and (unseen := iteration.not_looked_at):
        return f"**Not complete**: the security rules have not judged {', '.join(unseen)}."
    if iteration.state == "held back":
        folder = f"history/iter-{iteration.number}/files/"
        return f"**Held back**: a finding {severity} is open. The code is in `{folder}` and was not handed over."
    if iteration.state == "stopped":
        return "**Not complete**: the build stopped."
    return f"Nothing {severity} is open."


def _who_looked(iteration: Iteration) -> Iterator[str]:
    for built in iteration.components:
        for verdict in built.verdicts:
            if verdict.critic in _JUDGES_OF_SECURITY:
                note = f" ({verdict.note})" if verdict.note else ""
                yield f"* {built.name}, {verdict.critic}: {verdict.state}{note}"


def _findings(iteration: Iteration) -> Iterator[Sequence[str]]:
    for built in iteration.components:
        for verdict in built.verdicts:
            if verdict.critic in _JUDGES_OF_SECURITY:
                for one in verdict.findings:
                    held = "meant, by `[security] allow`" if one.allowed else "open"
                    yield one.severity, one.where, one.rule, _cell(one.message), held


# Markdown


def _shell(command: str) -> list[str]:
    return ["```sh", command, "```", ""]


def _table(header: Sequence[str], rows: Iterator[Sequence[str]] | Sequence[Sequence[str]]) -> list[str]:
    """A table whose cells are safe already."""
    return [f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows)]


def _cell(text: str) -> str:
    """A text in one cell of a Markdown table: one line, bounded, no markup of its own."""
    line = " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("`", "'")
    return line if len(line) <= 200 else line[:199] + "…"
