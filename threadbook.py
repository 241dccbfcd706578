"""The `threadbook` command: wires the processes and the ways to try them out."""

# Each command imports only what it starts: `threadbook bot` must not load pandas, nor `threadbook run` Slack.
# ruff: noqa: PLC0415

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from core.errors import OursToFix, SettingsError

app = typer.Typer(
    help="A Slack thread as a shared, live notebook with an analyst in it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Files = Annotated[
    list[Path] | None, typer.Option("--file", "-f", help="A file to attach; may be given several times.", exists=True)
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]


@app.command()
def bot(
    http: Annotated[bool, typer.Option("--http", help="Take signed requests instead of Socket Mode.")] = False,
    host: Annotated[str, typer.Option(help="With --http: IPv4 address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="With --http: port; Slack posts to /slack/events.", min=0, max=65_535)
    ] = 3000,
) -> None:
    """Listen to Slack: store each message, wake its thread."""
    import bot as bot_room
    from core.settings import load_settings

    bot_room.main(load_settings(), (host, port) if http else None)


@app.command()
def worker() -> None:
    """The worker service of this host: session host, RQ workers, janitor."""
    from core.settings import load_settings
    from workers import supervisor

    supervisor.main(load_settings())


@app.command()
def playground(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.")] = 8765,
) -> None:
    """A local Slack: Web API, Socket Mode and a web page."""
    import playground as local_slack

    local_slack.serve(host, port)


@app.command()
def up(port: Annotated[int, typer.Option(help="Port of the page; 0 takes a free one.")] = 8765) -> None:
    """Start everything here, ask a sample question, print the thread, stay up until Ctrl-C (`make run`)."""
    from tryout import demo

    _exit(demo.stay_up(port))


@app.command()
def demo() -> None:
    """One sample question and one follow-up; exit code 0 only if all of it arrived (`make demo`)."""
    from tryout import demo as demo_room

    _exit(demo_room.run_once())


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="What to ask.")],
    file: Files = None,
    follow_up: Annotated[list[str] | None, typer.Option("--follow-up", help="A further message in the thread.")] = None,
    interactive: Annotated[
        bool, typer.Option("--interactive", "-i", help="Go on asking at a prompt afterwards.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Ask without Slack's servers: the real bot, queue, worker and sandbox, with embedded services."""
    from tryout import ask as ask_room

    _exit(ask_room.run(question, file or [], follow_up or [], interactive=interactive, as_json=as_json))


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
    from core.settings import load_settings
    from executor import launch
    from executor.wire import limits_from

    outcome = launch.run_files(files, limits_from(load_settings().session_limits()))
    if as_json:
        print(json.dumps(outcome, ensure_ascii=False))
    else:
        from tryout import show

        show.cells(outcome)
    _exit(0 if all(cell["status"] == "ok" for cell in outcome["cells"]) else 1)


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """What works on this host, with a one-line fix for what does not; exit code 1 if something is missing."""
    from core.settings import load_settings
    from tryout import doctor as doctor_room

    _exit(doctor_room.run(load_settings(), as_json=as_json))


@app.command()
def status(as_json: AsJson = False) -> None:
    """What goes on now: running turns, threads that wait for a person, queues, hosts, sessions on this host."""
    from core.settings import load_settings
    from tryout import status as status_room

    _exit(status_room.run(load_settings(), as_json=as_json))


@app.command()
def replay(
    turn: Annotated[str, typer.Argument(help="A turn's id, a thread's id, or a link to a message in Slack.")],
    as_json: AsJson = False,
) -> None:
    """A turn's steps as they happened, with their times; of a thread, all its turns."""
    from core.settings import load_settings
    from tryout import replay as replay_room

    _exit(replay_room.run(load_settings(), turn, as_json=as_json))


def _exit(code: int) -> NoReturn:
    raise typer.Exit(code)


def main() -> None:
    """The console entry. SIGTERM ends a command the way Ctrl-C does, so that every `with` block is left in order."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        app()
    except SettingsError as error:
        print(f"threadbook: a setting is wrong.\n{error}", file=sys.stderr)
        sys.exit(2)
    except OursToFix as error:
        print(f"threadbook: {str(error).splitlines()[0]}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
