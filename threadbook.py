"""The `threadbook` command: starts the processes, and the tools to try them out and to look into them."""

# Each command imports only what it starts: `threadbook bot` must not load pandas, nor `threadbook run` Slack.
# ruff: noqa: PLC0415

from __future__ import annotations

import errno
import gc
import json
import os
import signal
import sys
from datetime import datetime
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from core.errors import OursToFix, SettingsError

if TYPE_CHECKING:
    from core.settings import Settings

app = typer.Typer(
    help="A Slack thread as a shared, live notebook with an analyst in it.",
    epilog="Exit codes: 0 done · 1 it failed, or something is missing · 2 a wrong argument or setting · 130 Ctrl-C · "
    "143 SIGTERM; bot and worker, told to stop: 0",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

Files = Annotated[
    list[Path] | None,
    typer.Option("--file", "-f", help="A file to attach; can be repeated.", exists=True, dir_okay=False),
]
_COLLECT_AFTER = 50_000
"""New objects before Python looks for cycles. With its own 700, a fifth of the time of a start went into looking."""
_NOT_WRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EPIPE)
"""A disk is full or broken, a file may not grow, or nobody reads any more."""


def _moment(text: str) -> datetime:
    from tryout.commands.times import moment

    try:
        return moment(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _days(text: str) -> int:
    from tryout.commands.times import days

    try:
        return days(str(text))
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"threadbook {version('threadbook')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """A Slack thread as a shared, live notebook with an analyst in it."""
    gc.set_threshold(_COLLECT_AFTER)


@app.command()
def bot(
    http: Annotated[bool, typer.Option("--http", help="Take signed requests instead of Socket Mode.")] = False,
    host: Annotated[str, typer.Option(help="With --http: IPv4 address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="With --http: port; Slack posts to /slack/events.", min=0, max=65_535)
    ] = 3000,
) -> None:
    """Listen to Slack, store each message and wake its thread."""
    import bot as bot_room

    bot_room.main(_settings(), (host, port) if http else None)


@app.command()
def worker() -> None:
    """Run the worker service of this node: session host, RQ workers, janitor."""
    from workers.service import supervisor

    supervisor.main(_settings())


@app.command()
def playground(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.")] = 8765,
    sample: Annotated[
        list[str] | None, typer.Option(help="What an empty channel offers, as PATH,PATH=QUESTION; can be repeated.")
    ] = None,
    *,
    inside: Annotated[
        bool, typer.Option("--inside", help="Show in a thread's drawer what Threadbook does: cells, SQL, cost, jobs.")
    ] = False,
    labels: Annotated[bool, typer.Option("--labels", help="Show a page on which people judge the answers.")] = False,
) -> None:
    """Run a local Slack: Web API, Socket Mode and a web page."""
    import playground as local_slack

    try:
        samples = [local_slack.sample_from(each) for each in sample or ()]
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    reader = None
    if inside:
        from tryout.inside import Inside

        reader = Inside(_settings())
    labelling = None
    if labels:
        from tryout.labelling import Labelling

        labelling = Labelling(_settings())
    local_slack.serve(host, port, samples=samples, inside=reader, labels=labelling)


@app.command()
def up(port: Annotated[int, typer.Option(help="Port of the page; 0 takes a free one.")] = 8765) -> None:
    """Start everything here, ask a sample question, print the thread, and keep running until Ctrl-C (`make run`)."""
    from tryout import demo

    _exit(demo.stay_up(port))


@app.command()
def demo() -> None:
    """Ask a sample question and a follow-up; exit code 0 only if everything arrived (`make demo`)."""
    from tryout import demo as demo_room

    _exit(demo_room.run_once())


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="What to ask; `-` reads it from standard input.")],
    file: Files = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--dir", help="Attach every file of this folder, but not of its subfolders.", exists=True, file_okay=False
        ),
    ] = None,
    follow_up: Annotated[list[str] | None, typer.Option("--follow-up", help="A further message in the thread.")] = None,
    *,
    interactive: Annotated[
        bool, typer.Option("--interactive", "-i", help="Go on asking at a prompt afterwards.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Ask without Slack's servers: the real bot, queue, worker and sandbox, with embedded services.

    Piped or with `--json`, it prints the finished thread alone; progress goes to standard error.
    """
    from tryout.commands import ask as ask_room
    from tryout.commands import ask_input

    try:
        question = ask_input.question(question)
        files = [*(file or []), *(ask_input.files_in(folder) if folder else [])]
    except ask_input.BadInput as error:
        raise typer.BadParameter(str(error)) from None
    _exit(ask_room.run(question, files, follow_up or [], interactive=interactive, as_json=as_json))


@app.command("eval")
def evaluate(
    suite: Annotated[
        Path, typer.Argument(help="A file of questions, one JSON object per line.", exists=True, dir_okay=False)
    ],
    *,
    model: Annotated[
        str, typer.Option(help="A model's name, `offline`, or `scripted:FILE`; by default as in the settings.")
    ] = "",
    repeat: Annotated[int, typer.Option(help="How many times to ask each question.", min=1, max=100)] = 1,
    at_once: Annotated[int, typer.Option("--jobs", "-j", help="Questions at once, at most 8.", min=1, max=8)] = 1,
    out: Annotated[
        Path | None, typer.Option(help="Folder for results and transcripts; a run in this folder is continued.")
    ] = None,
    against: Annotated[Path | None, typer.Option(help="Results of another run to compare with.", exists=True)] = None,
    plain: Annotated[
        bool | None, typer.Option("--plain/--tags", help="Ask without the format; always so for `offline`.")
    ] = None,
    only: Annotated[list[str] | None, typer.Option(help="Only questions with this id or tag; can be repeated.")] = None,
    at_least: Annotated[float | None, typer.Option(help="Exit code 3 below this share.", min=0, max=1)] = None,
    judge_model: Annotated[str, typer.Option(help="Model that judges by rubrics; by default OPENAI_MODEL.")] = "",
    memory: Annotated[
        Path | None,
        typer.Option(help="Folder of a team's memory, like `[memory] folder`.", exists=True, file_okay=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Ask a suite of questions with known answers, and say how many are right (docs/eval.md)."""
    from tryout.evals import run as eval_room

    options = eval_room.Options(
        model=model,
        repeat=repeat,
        at_once=at_once,
        out=out,
        against=against,
        plain=plain,
        only=tuple(only or ()),
        at_least=at_least,
        judge_model=judge_model,
        memory=memory,
        as_json=as_json,
    )
    _exit(eval_room.run(_quiet(_settings()), suite, options))


@app.command()
def run(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Python files (and shell scripts, *.sh), run in order as cells of one session.",
            exists=True,
            dir_okay=False,
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Run files as successive cells of one fresh sandboxed session, with the limits of threadbook.toml."""
    from executor import launch
    from executor.wire import limits_from
    from workers.delivery.notices import in_words

    settings = _settings()
    outcome = launch.run_files(
        files,
        limits_from(settings.session_limits()),
        worded=lambda notices: in_words(notices, "en"),
        syscalls=settings.sandbox.syscalls,
    )
    if as_json:
        print(json.dumps(outcome, ensure_ascii=False))
    else:
        from tryout.commands import show

        show.cells(outcome)
    _exit(0 if all(cell["status"] == "ok" for cell in outcome["cells"]) else 1)


@app.command()
def build(
    file: Annotated[
        Path,
        typer.Argument(help="A requirement file (.toml); with --diff or --back, the program's folder.", exists=True),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder of the program; by default its name.", file_okay=False)
    ] = None,
    *,
    component: Annotated[str, typer.Option(help="Build this component again, even if nothing in it changed.")] = "",
    rounds: Annotated[int | None, typer.Option(help="How often a component may be repaired.", min=0, max=10)] = None,
    tests: Annotated[
        Path | None, typer.Option(help="Another file of tests; NAME.tests.toml is always read.", exists=True)
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted build.")] = False,
    recorded: Annotated[
        bool, typer.Option("--recorded", help="Use the answers in NAME.recorded.yaml instead of a model.")
    ] = False,
    yes_packages: Annotated[
        bool, typer.Option("--yes-packages", help="Approve the packages of [run] packages without a question.")
    ] = False,
    check: Annotated[bool, typer.Option("--check", help="Only read the file and list its requirements.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Show changes of the last build, and changes by hand.")] = False,
    back: Annotated[int, typer.Option(help="Make iteration N of the folder the newest one.", min=0)] = 0,
    as_json: AsJson = False,
) -> None:
    """Build a program from a requirement file: write, check, run in the sandbox, test (docs/programs.md)."""
    from tryout.commands import build as build_room

    if diff or back:
        _exit(build_room.back(file, back) if back else build_room.show_diff(file))
    if file.is_dir():
        raise typer.BadParameter(f"{file} is a folder; give its requirement file")
    if check:
        _exit(build_room.check(file))
    options = build_room.Options(
        out=out,
        component=component,
        rounds=rounds,
        resume=resume,
        as_json=as_json,
        recorded=recorded,
        tests=tests,
        yes_packages=yes_packages,
    )
    _exit(build_room.run(_quiet(_settings()), file, options))


@app.command()
def doctor(
    *,
    model: Annotated[bool, typer.Option("--model", help="Ask the model endpoint eleven questions instead.")] = False,
    attack: Annotated[bool, typer.Option("--attack", help="Attack a sandbox of this node instead.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what works on this node, with a one-line fix for what does not; exit code 1 if something is missing."""
    if attack:
        from tryout.commands import attack_check

        _exit(attack_check.run(_quiet(_settings()), as_json=as_json))
    if model:
        from tryout.commands import model_probes

        _exit(model_probes.run(_quiet(_settings()), as_json=as_json))
    from tryout.commands import doctor as doctor_room

    _exit(doctor_room.run(_settings(), as_json=as_json))


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(help="Folder to set up.", file_okay=False)] = Path(),
) -> None:
    """Set up a folder: ask five questions, test the tokens, write `.env` and `threadbook.toml`, then run `doctor`."""
    from tryout.commands import init as init_room

    _exit(init_room.run(folder))


@app.command()
def status(as_json: AsJson = False) -> None:
    """Show what is running: turns, threads that wait for a person, queues, nodes, sessions on this node."""
    from tryout.commands import status as status_room
    from tryout.stack import running_stack

    _exit(status_room.run(running_stack.instead_of(_settings()), as_json=as_json))


@app.command()
def replay(
    turn: Annotated[str, typer.Argument(help="A turn's id, a thread's id, or a link to a message in Slack.")],
    as_json: AsJson = False,
    outputs: Annotated[
        Path | None, typer.Option(help="Write the full text of long outputs into this folder.", show_default=False)
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write the page of the last report to this file instead.", show_default=False)
    ] = None,
    pdf: Annotated[
        Path | None, typer.Option(help="Print that page to this PDF. Needs Chromium.", show_default=False)
    ] = None,
) -> None:
    """Show the steps of a turn, or of all turns of a thread, with their times."""
    from tryout.commands import replay as replay_room
    from tryout.stack import running_stack

    settings = running_stack.instead_of(_settings())
    link = running_stack.as_link(turn)
    _exit(replay_room.run(settings, link, as_json=as_json, outputs=outputs, html=html, pdf=pdf))


@app.command()
def threads(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            help="Words; or `show THREAD`, `history THREAD`, `diff A B`, `compose PIECE …` (docs/threads.md)."
        ),
    ] = None,
    *,
    person: Annotated[str, typer.Option(help="Slack's id of a person: only threads in which they wrote.")] = "",
    channel: Annotated[str, typer.Option(help="Slack's id of a channel.")] = "",
    since: Annotated[
        datetime | None,
        typer.Option(help="Only threads in which somebody wrote since this date or time, UTC.", parser=_moment),
    ] = None,
    pinned: Annotated[bool, typer.Option("--pinned", help="Only threads that somebody pinned.")] = False,
    state: Annotated[
        str, typer.Option(help="Only threads that are running, waiting (for a person), done, failed or stopped.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Find threads, show what a thread said at any moment, and compare two states."""
    from tryout.commands import threads as threads_room
    from tryout.stack import running_stack

    wanted = threads_room.Filter(person, channel, since, pinned, state)
    settings = running_stack.instead_of(_settings())
    _exit(threads_room.run(settings, words or [], wanted, as_json=as_json))


@app.command()
def export(
    kind: Annotated[
        str, typer.Option("--format", help="sft, preferences, messages, openai-jsonl or sharegpt (docs/threads.md).")
    ] = "sft",
    since: Annotated[
        datetime | None, typer.Option("--from", help="Only threads since this date or time, UTC.", parser=_moment)
    ] = None,
    only: Annotated[
        str,
        typer.Option(
            help="`approved`: turns that people voted for or approved. `examples`: turns that people marked as an "
            "example."
        ),
    ] = "",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write this file, its test split and a card.", dir_okay=False)
    ] = None,
) -> None:
    """Write the threads as training data, in the formats that trainers load."""
    from tryout.commands import export as export_room
    from tryout.stack import running_stack

    if kind not in export_room.FORMATS:
        raise typer.BadParameter(f"--format takes {', '.join(export_room.FORMATS)}")
    chosen = next((each for each in export_room.ONLY if each == only), None)
    if chosen is None:
        raise typer.BadParameter("--only takes `approved` or `examples`")
    settings = running_stack.instead_of(_settings())
    _exit(export_room.run(settings, kind, since=since, only=chosen, out=out))


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="A JSONL file, or a database of ModelProgrammer.", dir_okay=False)],
    channel: Annotated[
        str, typer.Option(help="Slack's id of the channel whose people may find and load them, or TEAM/CHANNEL.")
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be imported.")] = False,
    as_json: AsJson = False,
) -> None:
    """Import conversations from other tools, with their times and their origin (docs/threads.md)."""
    from tryout.commands import imports as imports_room
    from tryout.stack import running_stack

    settings = running_stack.instead_of(_settings())
    _exit(imports_room.run(settings, file, channel=channel, dry_run=dry_run, as_json=as_json))


@app.command()
def mcp(workspace: OfWorkspace = "") -> None:
    """Serve other programs over MCP (ask, threads, playbooks) as the person of THREADBOOK_MCP_TOKEN (docs/mcp.md)."""
    from tryout.commands import mcp_server
    from tryout.stack import running_stack

    _exit(mcp_server.run(running_stack.instead_of(_settings()), workspace))


@app.command()
def schedules(as_json: AsJson = False) -> None:
    """List the scheduled reports: when they run, who owns them, and which of them stopped and why."""
    from tryout.commands import schedules as schedules_room
    from tryout.stack import running_stack

    _exit(schedules_room.run(running_stack.instead_of(_settings()), as_json=as_json))


@app.command()
def query(
    source: Annotated[str, typer.Argument(help="Name of a source in threadbook.toml.")],
    sql: Annotated[str, typer.Argument(help="One SELECT.")],
    *,
    as_json: AsJson = False,
    csv: Annotated[Path | None, typer.Option(help="Write the rows to this CSV file.")] = None,
    parquet: Annotated[Path | None, typer.Option(help="Write the rows to this Parquet file.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Print what would be sent, and send nothing.")] = False,
) -> None:
    """Send one read-only statement to a data source; exit code 0 only if all rows arrived."""
    from tryout.commands import sources as sources_room

    if sum((as_json, csv is not None, parquet is not None)) > 1:
        raise typer.BadParameter("give only one of --json, --csv and --parquet")
    output = sources_room.Output(as_json=as_json, csv=csv, parquet=parquet)
    _exit(sources_room.run_query(_quiet(_settings()), source, sql, output, explain=explain))


@app.command()
def sources(as_json: AsJson = False) -> None:
    """Check each data source: reachable, read-only (or the SQL that makes it so), tables seen, latency."""
    from tryout.commands import sources as sources_room

    _exit(sources_room.run_sources(_quiet(_settings()), as_json=as_json))


dictionary = typer.Typer(
    help="The data dictionary of a source: what its tables and columns mean.", no_args_is_help=True
)
app.add_typer(dictionary, name="dictionary")
SourceName = Annotated[str, typer.Argument(help="Name of a source in threadbook.toml.")]
Folder = Annotated[Path | None, typer.Option("--out", help="Folder of the dictionary, instead of the source's own.")]


@dictionary.command()
def draft(source: SourceName, out: Folder = None) -> None:
    """Write one file per table to review, from the catalogue and small samples; text that people wrote is kept."""
    from tryout.commands import dictionary as dictionary_room

    _exit(dictionary_room.run_draft(_settings(), source, out))


@dictionary.command()
def check(source: SourceName, out: Folder = None) -> None:
    """List the differences between the dictionary and the live tables; exit code 1 if there are any."""
    from tryout.commands import dictionary as dictionary_room

    _exit(dictionary_room.run_check(_settings(), source, out))


OfWorkspace = Annotated[
    str, typer.Option("--workspace", metavar="TEAM", help="With many workspaces: the id of the workspace.")
]


memory = typer.Typer(help="The team's memory: entries that people decided to keep.", no_args_is_help=True)
app.add_typer(memory, name="memory")


@memory.command("list")
def memory_list(
    words: Annotated[list[str] | None, typer.Argument(help="Only entries that fit these words.")] = None,
    channel: Annotated[str, typer.Option(help="Only what this channel reads: its id in Slack.")] = "",
    as_json: AsJson = False,
    workspace: OfWorkspace = "",
) -> None:
    """List the entries with their pages and who kept them; pages that cannot be read go to standard error."""
    from tryout.commands import memory as memory_room

    _exit(memory_room.run_list(_settings_of(workspace), " ".join(words or ()), channel, as_json=as_json))


@memory.command("add")
def memory_add(
    space: Annotated[str, typer.Argument(help="`everyone`, `projects/NAME` or `channels/ID`.")],
    text: Annotated[str, typer.Argument(help="The entry, as in a thread: “active customer = …”.")],
    workspace: OfWorkspace = "",
) -> None:
    """Add an entry; exit code 1 if there is already another entry about the same thing."""
    from tryout.commands import memory as memory_room

    _exit(memory_room.run_add(_quiet(_settings_of(workspace)), space, text, workspace))


@memory.command("forget")
def memory_forget(
    file: Annotated[str, typer.Argument(help="The entry's page, as `list` shows it.")],
    title: Annotated[str, typer.Argument(help="The entry's title.")],
    workspace: OfWorkspace = "",
) -> None:
    """Remove an entry from its page. Threads that used it keep their copy; `purge` deletes copies."""
    from tryout.commands import memory as memory_room

    _exit(memory_room.run_forget(_quiet(_settings_of(workspace)), file, title, workspace))


@memory.command("rename")
def memory_rename(
    file: Annotated[str, typer.Argument(help="The entry's page, as `list` shows it.")],
    title: Annotated[str, typer.Argument(help="The entry's title.")],
    new: Annotated[str, typer.Argument(help="The new title.")],
    workspace: OfWorkspace = "",
) -> None:
    """Give an entry another title; exit code 1 if another entry of the page already has this title."""
    from tryout.commands import memory as memory_room

    _exit(memory_room.run_rename(_quiet(_settings_of(workspace)), file, title, new, workspace))


@app.command()
def manifest(
    address: Annotated[
        str, typer.Option(help="The bot's address for Slack (https://…): HTTP mode. Without it: Socket Mode.")
    ] = "",
    many: Annotated[bool, typer.Option("--many", help="Many workspaces install the app by OAuth.")] = False,
) -> None:
    """Print the manifest to paste into Slack: api.slack.com/apps → Create New App → From a manifest."""
    from bot.connection.app_manifest import BadAddress, manifest_text

    try:
        print(manifest_text(address, many=many).rstrip())
    except BadAddress as error:
        print(f"threadbook manifest: {error}", file=sys.stderr)
        _exit(2)


installations = typer.Typer(help="Workspaces that have installed the app by OAuth.", no_args_is_help=True)
app.add_typer(installations, name="installations")


@installations.command("list")
def installations_list(as_json: AsJson = False) -> None:
    """List the workspaces and organisations, without their tokens."""
    from tryout.commands import installations as installations_room

    _exit(installations_room.run_list(_settings(), as_json=as_json))


@installations.command("rotate")
def installations_rotate() -> None:
    """Encrypt every stored token with the first key of THREADBOOK_TOKEN_KEYS."""
    from tryout.commands import installations as installations_room

    _exit(installations_room.run_rotate(_settings()))


playbooks = typer.Typer(help="How the team does its analyses: pages that questions follow.", no_args_is_help=True)
app.add_typer(playbooks, name="playbooks")


@playbooks.command("list")
def playbooks_list(as_json: AsJson = False, workspace: OfWorkspace = "") -> None:
    """List the playbooks with their owners, and when to use them."""
    from tryout.commands import playbooks as playbooks_room

    _exit(playbooks_room.run_list(_settings_of(workspace), as_json=as_json))


@playbooks.command("show")
def playbooks_show(
    file: Annotated[str, typer.Argument(help="The playbook's page, as `list` shows it.")],
    workspace: OfWorkspace = "",
) -> None:
    """Print the page of a playbook, and its errors."""
    from tryout.commands import playbooks as playbooks_room

    _exit(playbooks_room.run_show(_settings_of(workspace), file))


@playbooks.command("check")
def playbooks_check(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Pages to check; by default all pages of the memory folder.", exists=True),
    ] = None,
    workspace: OfWorkspace = "",
) -> None:
    """Check playbooks that people write; exit code 1 if one cannot be read or has errors."""
    from tryout.commands import playbooks as playbooks_room

    _exit(playbooks_room.run_check(_settings() if files else _settings_of(workspace), files or []))


@playbooks.command("report")
def playbooks_report(
    days: Annotated[
        int, typer.Option(help="Number of days without use after which a playbook counts as unused.", parser=_days)
    ] = 90,
    as_json: AsJson = False,
    workspace: OfWorkspace = "",
) -> None:
    """List playbooks that are unused, fail, no longer fit their data or are declined, with their votes."""
    from tryout.commands import playbooks as playbooks_room

    _exit(playbooks_room.run_report(_quiet(_settings_of(workspace)), days, workspace, as_json=as_json))


functions = typer.Typer(help="Tested functions that cells import: `from team import NAME`.", no_args_is_help=True)
app.add_typer(functions, name="functions")


@functions.command("list")
def functions_list(as_json: AsJson = False, workspace: OfWorkspace = "") -> None:
    """List the functions that the team has accepted, with their signatures."""
    from tryout.commands import functions as functions_room

    _exit(functions_room.run_list(_settings_of(workspace), as_json=as_json))


@functions.command("check")
def functions_check(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(metavar="DIR", exists=True, help="Folders to check; by default those of the team's memory."),
    ] = None,
    workspace: OfWorkspace = "",
) -> None:
    """Check functions without running them; exit code 1 if one breaks a rule or was changed after its test."""
    from tryout.commands import functions as functions_room

    _exit(functions_room.run_check(None if folders else _settings_of(workspace), folders or []))


def _settings_of(workspace: str) -> Settings:
    """The settings of one of many workspaces."""
    from tryout.commands.workspace import of_workspace

    return of_workspace(_settings(), workspace)


def _settings() -> Settings:
    """The settings. The mode of the home is corrected, because an older version made it readable by everybody."""
    from core.private import mend_mode
    from core.settings import load_settings

    settings = load_settings()
    mend_mode(settings.home)
    return settings


def _quiet(settings: Settings) -> Settings:
    """The same settings. From here on this process logs only warnings, on standard error."""
    import logging

    from core.telemetry import configure_logging

    configure_logging(settings, level=logging.WARNING)
    return settings


@app.command()
def purge(
    thread: Annotated[str, typer.Argument(help="A thread's id, or a link to a message in Slack.")] = "",
    person: Annotated[str, typer.Option(help="Slack's id of a person: all threads in which they wrote.")] = "",
    older_than: Annotated[str, typer.Option(help="Threads in which nothing happened for this time: 90d.")] = "",
    *,
    workspace: Annotated[
        str, typer.Option("--workspace", metavar="TEAM", help="With many workspaces: only what is of this one.")
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be deleted.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete threads for good: rows, files, sessions on every node. Messages in Slack stay there."""
    from tryout.commands import purge as purge_room
    from tryout.stack import running_stack

    settings, link = running_stack.instead_of(_settings()), running_stack.as_link(thread)
    _exit(
        purge_room.run(
            settings,
            thread=link,
            person=person,
            older_than=older_than,
            workspace=workspace,
            dry_run=dry_run,
            as_json=as_json,
        )
    )


@app.command()
def audit(
    since: Annotated[
        datetime | None, typer.Option(help="Only lines since this date or time, UTC.", parser=_moment)
    ] = None,
    thread: Annotated[str, typer.Option(help="Only lines about this thread.")] = "",
    person: Annotated[str, typer.Option(help="Only lines of this person: Slack's id, or cli:NAME@NODE.")] = "",
    as_json: AsJson = False,
) -> None:
    """Show who did what: refusals, resets, confirmations, replays, purges. Lines are only added, never changed."""
    from tryout.commands import audit as audit_room
    from tryout.stack import running_stack

    settings = running_stack.instead_of(_settings())
    _exit(audit_room.run(settings, since=since, thread=thread, person=person, as_json=as_json))


def _exit(code: int) -> NoReturn:
    raise typer.Exit(code)


def main() -> None:
    """The console entry. SIGTERM ends a command like Ctrl-C, so that every `with` block is left in order."""
    from core.private import make_private

    make_private()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that has no letter for “ still gets the rest
    try:
        try:
            app()
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()  # now: at the very end, Python could only complain of a full disk
    except SettingsError as error:
        print(f"threadbook: an argument or a setting is wrong.\n{error}", file=sys.stderr)
        sys.exit(2)
    except OursToFix as error:
        print(f"threadbook: {str(error).splitlines()[0]}", file=sys.stderr)
        sys.exit(1)
    except OSError as error:
        if error.errno not in _NOT_WRITTEN:
            raise
        if error.errno != errno.EPIPE:  # whoever reads no further knows that
            place = error.filename or "the output is not whole"
            print(f"threadbook: {place}: {error.strerror}.", file=sys.stderr)
        _drop_output()
        sys.exit(1)


def _drop_output() -> None:
    """Let Python end in peace: what it still holds back cannot be written, either."""
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


if __name__ == "__main__":
    main()
