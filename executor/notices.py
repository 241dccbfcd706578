"""Codes for what the executor has to say about a session. It holds no sentences.

`core/phrases.yaml` has one sentence per code and language, under `notice_<code>`; a test compares the two. A value of
a notice may itself be a notice: the clause that says why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from executor.values import Notice

Notices = tuple[Notice, ...]
"""Sentences in the order in which they are read."""
_SHOWN = 6

CODES: Mapping[str, frozenset[str]] = {
    code: frozenset(values.split())
    for code, values in {
        # how a cell was ended
        "after_time": "what seconds",
        "after_time_in_line": "what seconds line source",
        "on_request": "what",
        "on_request_in_line": "what line source",
        "had_to_be_killed": "",
        "not_started": "process why",
        "over_limit": "what why",
        "ended": "process what why",
        "host_died": "",
        "result_refused": "error",
        "result_not_synced": "error",
        "not_run": "why",
        "between_cells": "why",
        # limits that a cell met as an error of its own
        "memory_error": "limit",
        "disk_full": "limit files",
        "file_too_large": "limit",
        "too_many_open": "limit",
        "too_many_processes": "limit",
        "no_more_threads": "limit",
        "some_out_of_memory": "limit",
        "call_refused": "",
        "calls_refused": "names",
        # what a subprocess says of itself (executor/said.py)
        "set_before_failure": "names more",
        "as_before_failure": "names more",
        "result_too_large": "",
        "background_output": "count",
        "shell_ended": "",
        "shell_ended_too_large": "",
        "late_output": "count",
        # what became of the variables
        "all_kept": "",
        "as_before": "",
        "all_lost": "",
        "not_kept": "names",
        "changes_not_kept": "why",
        "several_changes_not_kept": "count why",
        "changes_uncertain": "",
        "several_changes_uncertain": "count",
        "files_not_placed": "names",
        "files_older": "names",
        "files_list_damaged": "",
        "some_not_restored": "names",
        "not_restored": "why",
        "shell_as_before": "",
        "shell_anew": "why",
        "shell_not_restored": "why",
        "shell_changes_not_kept": "why",
        "shell_background": "",
        # why a subprocess ended
        "memory": "",
        "used_memory": "limit",
        "used_processes": "limit",
        "used_disk": "limit",
        "disk_refused": "error",
        "used_files": "limit",
        "killed": "",
        "crashed": "signal",
        "left": "status",
        "protocol": "error",
        "closed": "",
        "deaf": "",
        "zygote_ended": "",
        "python_ended": "",
        "no_process": "error",
        "setup_cut_off": "",
        "was_reset": "",
        "was_undone": "",
        "was_idle": "",
        "moved_away": "",
        "shutting_down": "",
        "slow_to_start": "",
        # why variables are not kept or not restored
        "slow_to_keep": "",
        "slow_to_restore": "",
        "tampered": "",
        "other_versions": "",
        "unreadable": "",
        "part_missing": "",
        "fatal": "",
        "too_large_to_keep": "",
        "shell_too_large": "",
        "error_of_kind": "kind",
        # why a file of a cell is not taken
        "file_link": "",
        "file_pipe": "",
        "file_socket": "",
        "file_device": "",
        "file_not_regular": "",
        "file_names": "count",
        "file_large": "size limit",
        "file_larger": "limit",  # in results of earlier releases
        "file_sparse": "",
        "file_name": "",
        "file_hidden": "",
        "file_name_of_deleted": "ending",
        "file_replaced": "",
        "file_unreadable": "error",
        "file_one_too_many": "limit",
        "files_large_together": "limit",
        "too_many_entries": "limit",
        "folder_too_deep": "limit",
        "folder_unreadable": "error",
        "more_refused": "count",
        "not_drawn": "kind",
        "too_many_figures": "",
        # why a command did not run
        "no_approver": "",
        "not_approved": "",
    }.items()
}
"""Code → the names of its values."""


def notice(code: str, /, **values: str | float | Notice) -> Notice:
    """A notice with a known code. Raises KeyError for an unknown code, ValueError for other values than it has."""
    if CODES[code] != values.keys():
        raise ValueError(f"the notice {code} has the values {sorted(CODES[code])}, not {sorted(values)}")
    return Notice(code, values)


def text_notice(text: str) -> Notice:
    """Free text that a client worded, or a subprocess whose set-up failed, before any cell."""
    return Notice("text", {"text": text})


def words_of(error: OSError) -> str:
    """What the machine says of its own refusal, without a path."""
    return error.strerror or type(error).__name__


def shortened_list(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"


def for_log(said: Notice) -> str:
    """A notice in one line for whoever reads logs: its own text, or its code with its values."""
    if said.code == "text":
        return str(said.values["text"])
    values = ", ".join(
        f"{name}={for_log(value) if isinstance(value, Notice) else value}" for name, value in said.values.items()
    )
    return f"{said.code} ({values})" if values else said.code
