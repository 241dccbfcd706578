"""What there is to say about a session, in English, and so that others can say it in another language.

A sentence is made from a code and values (`said`), and remembers them: it is a plain string wherever one is wanted,
and `notices_of` gives back what it was made from. A value may itself be something said ("because ...").
"""

from __future__ import annotations

from collections.abc import Mapping

from executor.values import Notice

SENTENCES: Mapping[str, str] = {
    # how a cell was ended
    "after_time": "the {what} was stopped after {seconds:g} s.",
    "after_time_in_line": "the {what} was stopped after {seconds:g} s in line {line}: `{source}`.",
    "on_request": "the {what} was stopped on request.",
    "on_request_in_line": "the {what} was stopped on request in line {line}: `{source}`.",
    "had_to_be_killed": "It had to be killed.",
    "not_started": "the {process} process of this thread could not be started: {why}.",
    "over_limit": "the {what} was stopped: {why}.",
    "ended": "the thread's {process} process ended during the {what}: {why}.",
    "host_died": "the session host stopped while this cell ran: what it did is unknown.",
    "not_run": "the command was not run: {why}.",
    "between_cells": "since the last cell, the thread's Python process was stopped: {why}.",
    # limits that a cell met as an error of its own
    "memory_error": "the cell needed more memory than its {limit:,} MB.",
    "disk_full": "the cell's files needed more than their {limit:,} MB, or were more than {files:,}.",
    "file_too_large": "the cell wrote a file of more than {limit:,} MB.",
    "too_many_open": "the cell had more than {limit:,} files open at once.",
    "too_many_processes": "the cell started more than {limit:,} processes.",
    "some_out_of_memory": (
        "The cell's processes used more than {limit:,} MB of memory together: the system ended some of them."
    ),
    # what became of the variables
    "all_kept": "All variables are kept.",
    "as_before": "The variables are as they were before this cell.",
    "all_lost": "The variables of this session are lost.",
    "not_kept": "Not kept: {names}.",
    "changes_not_kept": "Not kept: the changes of the last cell ({why}).",
    "several_changes_not_kept": "Not kept: the changes of the last {count} cells ({why}).",
    "changes_uncertain": (
        "The session ended before its variables were kept: what the last cell changed in them may be missing."
    ),
    "several_changes_uncertain": (
        "The session ended before its variables were kept: what the last {count} cells changed in them may be missing."
    ),
    "files_not_placed": "Could not be put into the working folder: {names}. They are kept.",
    "some_not_restored": "Could not be brought back: {names}.",
    "not_restored": (
        "This thread's variables could not be brought back: {why}. Its files are in place; "
        "running its cells again, in order, makes the variables anew."
    ),
    "shell_as_before": "The shell's variables, functions and folder are as they were before this command.",
    "shell_anew": "The shell starts anew: {why}.",
    "shell_not_restored": "The shell's variables, functions and folder could not be brought back: {why}.",
    "shell_changes_not_kept": "Not kept: what the last command changed in the shell ({why}).",
    "shell_background": "The shell was started anew: what ran in its background has ended.",
    # why
    "memory": "it used more memory than it may",
    "used_memory": "it used more than its {limit:,} MB of memory",
    "used_processes": "it started more than {limit:,} processes",
    "used_disk": "its files were larger than the {limit:,} MB that they may take",
    "used_files": "it made more than {limit:,} files",
    "killed": "it was killed, by itself or because the machine's memory ran out",
    "crashed": "it crashed ({signal})",
    "left": "it left with exit code {status}",
    "protocol": "it broke the protocol ({error})",
    "closed": "it closed its connection",
    "deaf": "it did not stop when asked to",
    "zygote_ended": "its zygote ended",
    "no_process": "no process could be made ({error})",
    "slow_to_keep": "its variables took too long to keep",
    "slow_to_restore": "putting them back took too long",
    "tampered": "what was kept of the variables has been tampered with",
    "other_versions": "the variables were kept by other versions of Python or its libraries",
    "unreadable": "what was kept of the variables cannot be read",
    "part_missing": "a part of what was kept of the variables is missing",
    "fatal": "putting them back ended the process",
}
"""Code → English. `core/phrases.yaml` has the same codes, in every language, for people in a thread."""


class Said(str):
    """English words, and the codes and values that they were made from."""

    __slots__ = ("notices",)
    notices: tuple[Notice, ...]


def said(code: str, /, **values: str | float) -> Said:
    """The sentence or clause `code`. Raises KeyError for an unknown code or a missing value."""
    words = Said(SENTENCES[code].format_map(values))
    kept = {
        name: value.notices[0] if isinstance(value, Said) and len(value.notices) == 1 else value
        for name, value in values.items()
    }
    words.notices = (Notice(code, {n: str(v) if isinstance(v, str) else v for n, v in kept.items()}),)
    return words


def together(*parts: str | None) -> str | None:
    """Several sentences in a row, None when there is none."""
    wanted = [part for part in parts if part]
    if not wanted:
        return None
    words = Said(" ".join(part.strip() for part in wanted))
    words.notices = tuple(notice for part in wanted for notice in notices_of(part))
    return words


def notices_of(words: str | None) -> tuple[Notice, ...]:
    """What the words were made from; words of anybody else are a notice of their own, with the code "text"."""
    if words is None:
        return ()
    return words.notices if isinstance(words, Said) else (Notice("text", {"text": words}),)
