"""`threadbook build`: a requirement file becomes a program (docs/programs.md)."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import typer
import yaml
from pydantic import ValidationError
from rich.console import Console
from rich.text import Text

from core.errors import SettingsError
from core.settings import Settings
from core.steps import Usage
from executor.launch import running_host
from executor.values import Limits
from tryout.commands.show import printable
from workers.builder.build import Builder, CannotBuild
from workers.builder.build_state import Order
from workers.builder.history.handover import HandedOver, differences, go_back, hand_over, to_json
from workers.builder.history.iterations import HISTORY, History, Iteration
from workers.builder.history.iterations import read as read_file
from workers.builder.history.program_pages import how_to_run
from workers.builder.packages.lock import Lock, Packages, PackageStore, gather
from workers.builder.progress import Progress
from workers.builder.requirements.components import cases_of, covers_nothing, plan
from workers.builder.requirements.requirement import Requirement, RequirementWrong, read, warnings, with_tests
from workers.builder.sandbox.session_walls import SandboxWalls
from workers.builder.sandbox.walls import Walls, WallsGone
from workers.builder.trying_tests import failing_tests
from workers.models.base import Model
from workers.models.scripted import ScriptedModel
from workers.service.model_choice import opened_model
from workers.turn.budgets import spent_of
from workers.turn.prompts import load_prompts

_MARKS = {"kept": "=", "asked": "…", "version": "·", "rolled back": "↺", "component": "✓", "tests": "✓"}
_MOST_LEFT_OUT = 10
NO_MODEL = """no model is set, and the offline analyst writes no programs. Set OPENAI_API_KEY (and OPENAI_BASE_URL, \
OPENAI_MODEL) or THREADBOOK_MODEL=scripted:FILE.json. Where a file like {recorded} lies beside the requirement, \
its recorded answers are used."""


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    out: Path | None = None
    component: str = ""
    rounds: int | None = None
    resume: bool = False
    as_json: bool = False
    recorded: bool = False
    tests: Path | None = None
    yes_packages: bool = False


def check(path: Path) -> int:
    """Read a requirement file and say what is in it, or every fault with line and column. Exit code 0 or 2."""
    out = Console(highlight=False, soft_wrap=True)
    try:
        requirement, _ = _read(path, None)
    except RequirementWrong as error:
        return _wrong(error)
    made = plan(requirement)
    for one in made.components:
        tests = len(cases_of(one, made, requirement.tests.case))
        tested = f", {tests} {'test' if tests == 1 else 'tests'}" if tests else ""
        needs = f", uses {', '.join(one.depends_on)}" if one.depends_on else ""
        out.print(Text(f"{one.name} ({one.language.name}: {', '.join(one.files)}{needs}{tested})"))
        for row in one.numbered:
            out.print(Text(f"  {row.id}  {printable(' '.join(row.text.split()))[:160]}"))
    for warning in (*warnings(requirement), *covers_nothing(made, requirement.tests.case)):
        out.print(Text(f"! {printable(warning)}"))
    return 0


def run(settings: Settings, path: Path, options: Options) -> int:
    """Build a program. Exit code 0: all checks pass; 1: some do not, or it stopped; 2: the file cannot be used."""
    try:
        requirement, text = _read(path, options.tests)
    except RequirementWrong as error:
        return _wrong(error)
    folder = options.out or Path(requirement.file.name)
    if folder.exists() and any(folder.iterdir()) and not (folder / HISTORY).is_dir():
        return _refused(f"{folder} exists and was not made by `threadbook build`. Name another folder with -o.")
    told = Console(stderr=options.as_json, highlight=False, soft_wrap=True)
    for warning in (*warnings(requirement), *covers_nothing(plan(requirement), requirement.tests.case)):
        told.print(Text(f"! {printable(warning)}"))
    history = History(folder)
    if requirement.build.model:
        settings = settings.model_copy(update={"openai_model": requirement.build.model})
    if why := _no_answers(settings, path, recorded=options.recorded):  # before anybody is asked about packages
        return _refused(why)
    packages = _packages(settings, requirement, history, told, yes=options.yes_packages)
    shown = [packages.folder] if packages.folder else []
    limits = Limits(memory_mb=requirement.run.memory_mb, cell_grace_s=1.0, workspace_mb=256, spare_sessions=0)
    try:
        with (
            _model(settings, path, told, recorded=options.recorded) as model,
            running_host(
                limits=limits,
                bash=True,
                syscalls=settings.sandbox.syscalls,
                shown=shown,
                toolchains=settings.toolchains,
            ) as sessions,
            closing(SandboxWalls(sessions, packages=packages.folder)) as walls,
        ):
            builder = Builder(
                model=model,
                prompts=load_prompts(),
                walls=walls,
                history=history,
                tell=lambda one: _tell(told, one),
                cost_of=lambda usage: _cost(usage, model.name, settings),
            )
            order = Order(
                requirement, text, options.component, options.rounds, resume=options.resume, packages=packages
            )
            iteration = builder.build(order)
            handed = hand_over(history, iteration, requirement, text)
            broken = _broken_by_hand(walls, handed, requirement, folder)
    except CannotBuild as error:
        return _refused(str(error))
    except WallsGone as error:
        return _refused(f"the session host went away: {error}")
    if options.as_json:
        print(json.dumps(to_json(handed, folder), ensure_ascii=False))
    else:
        _report(told, handed, requirement, folder, settings)
    for name in broken:
        told.print(Text(f"✗ with the changes by hand the test “{printable(name)}” fails"))
    is_whole = iteration.state == "passed" and not iteration.lacks_packages
    return 0 if is_whole and not handed.conflicts and not broken else 1


def _packages(settings: Settings, requirement: Requirement, history: History, told: Console, *, yes: bool) -> Packages:
    """What the program needs, installed once somebody at the terminal, the owner's list or `--yes-packages` says so."""

    def approve(lock: Lock) -> bool:
        told.print(Text("The program needs packages that are not here:"))
        for row in lock.rows():
            told.print(Text(f"  {printable(row)}"))
        if yes:
            return True
        if not sys.stdin.isatty():
            told.print(Text("! Nobody can be asked here: --yes-packages approves them."))
            return False
        return typer.confirm("Install exactly these, for runs of programs inside the sandbox alone?", err=True)

    before = next((one.packages for one in reversed(history.all()) if one.packages), None)
    packages = gather(PackageStore(settings.home, settings.packages), requirement, before, approve)
    if packages.missing:
        told.print(Text(f"! not installed: {printable(', '.join(packages.missing))}: {printable(packages.why)}"))
    for name in packages.left_out[:_MOST_LEFT_OUT]:
        told.print(Text(f"! left out of the packages: {printable(name)}", style="dim"))
    return packages


def _broken_by_hand(walls: Walls, handed: HandedOver, requirement: Requirement, folder: Path) -> list[str]:
    """Tests that the program fails once changes by hand are in it again."""
    if not handed.edited or handed.iteration.state not in ("passed", "failed"):
        return []
    files = {path: read_file(folder, path) or "" for path in handed.iteration.files}
    return failing_tests(walls, requirement, handed.iteration, files)


def show_diff(folder: Path) -> int:
    """Print what the last build changed, and what was changed by hand since."""
    text = differences(History(folder))
    print(printable(text) if text else f"{folder} has no build that ended.")
    return 0 if text else 1


def back(folder: Path, number: int) -> int:
    """Make an earlier iteration the newest one."""
    try:
        iteration = go_back(History(folder), number)
    except RequirementWrong as error:
        return _wrong(error)
    except FileNotFoundError as error:
        return _refused(str(error))
    print(f"{folder} is as iteration {number} made it; this is iteration {iteration.number}.")
    print(f"Its requirement is {folder / 'requirement.toml'}: copy it over yours before the next build.")
    return 0


def _read(path: Path, tests: Path | None) -> tuple[Requirement, str]:
    """A requirement with the tests that lie beside it: named on the command line, in the file, or NAME.tests.toml."""
    text = path.read_text(encoding="utf-8", errors="replace")
    requirement = read(text, path.name)
    beside = path.with_name(f"{path.stem}.tests.toml")
    named = [path.parent / requirement.tests.file] if requirement.tests.file else []
    for file in dict.fromkeys([*([tests] if tests else []), *named, *([beside] if beside.is_file() else [])]):
        try:
            more = read(file.read_text(encoding="utf-8", errors="replace"), file.name, tests_only=True)
        except OSError as error:
            raise SettingsError(f"the tests in {file} cannot be read ({error.strerror})") from None
        requirement = with_tests(requirement, more)
    return requirement, text


def _no_answers(settings: Settings, path: Path, *, recorded: bool) -> str:
    """Why nobody would write the program; "" where a model or a recording does."""
    recording = path.with_name(f"{path.stem}.recorded.yaml")
    if recording.is_file() or not (recorded or settings.model_choice == "offline"):
        return ""
    return f"there is no recording {recording}" if recorded else NO_MODEL.format(recorded=recording.name)


@contextmanager
def _model(settings: Settings, path: Path, told: Console, *, recorded: bool) -> Iterator[Model]:
    """The model of this installation. Without a key: answers that were recorded for this very file, and says so."""
    recording = path.with_name(f"{path.stem}.recorded.yaml")
    if (recorded or settings.model_choice == "offline") and recording.is_file():
        told.print(Text(f"Recorded answers of {recording.name}: no model is asked.", style="yellow"))
        yield recorded_model(recording)
        return
    with opened_model(settings) as model:
        yield model


def recorded_model(path: Path) -> ScriptedModel:
    """The answers in a recording: a script of `workers/models/scripted.py`, as YAML. Raises SettingsError."""
    try:
        return ScriptedModel(**{"name": "recorded answers", **yaml.safe_load(path.read_text(encoding="utf-8"))})
    except (OSError, yaml.YAMLError, ValidationError, TypeError) as error:
        raise SettingsError(f"{path} is no recording ({type(error).__name__})") from None


def _tell(told: Console, one: Progress) -> None:
    if one.kind == "asked":
        return
    mark = _MARKS.get(one.kind, " ") if one.good or one.kind == "rolled back" else "✗"
    name = f"{one.component}: " if one.component else ""
    told.print(Text(f"{mark} {name}{printable(one.text)}"))


def _cost(usage: Usage, model: str, settings: Settings) -> int | None:
    return spent_of(usage, model, settings).cost_micros


def _report(told: Console, handed: HandedOver, requirement: Requirement, folder: Path, settings: Settings) -> None:
    iteration = handed.iteration
    told.print()
    for built in iteration.components:
        told.print(Text(f"{built.name}: {built.summary}"))
        rows = [f"{row.id} {row.state}" for row in built.coverage]
        told.print(Text(f"  requirements: {', '.join(rows)}" if rows else "  no requirements were judged"))
        for finding in (one for verdict in built.verdicts for one in verdict.findings):
            if finding.severity != "low":
                told.print(Text(f"  {finding.severity}: {finding.where}: {printable(finding.message)}"))
    for name, verdict in iteration.skipped_checks:
        told.print(Text(f"– not checked: {name}, {verdict.critic}: {printable(verdict.note)}", style="dim"))
    for path in handed.edited:
        told.print(Text(f"! {path} was changed by hand: the change is kept and was put in again"))
    for conflict in handed.conflicts:
        told.print(Text(f"! conflict with a change by hand, kept in by-hand.patch: {printable(conflict)}"))
    told.print(Text(_spent(iteration, settings), style="dim"))
    _ending(told, handed, requirement, folder)


def _spent(iteration: Iteration, settings: Settings) -> str:
    tokens = f"{iteration.prompt_tokens:,} + {iteration.completion_tokens:,} tokens"
    cost = iteration.cost_micros
    money = "" if cost is None else f", {cost / 1e6:.4f} {settings.budget.currency}"
    return f"{iteration.calls} calls of {iteration.model}, {tokens}{money}; sandbox: {iteration.sandbox}"


def _ending(told: Console, handed: HandedOver, requirement: Requirement, folder: Path) -> None:
    iteration, own = handed.iteration, History(folder).of(handed.iteration.number)
    match iteration.state:
        case "held back":
            told.print(Text(f"Held back for security: see {folder / 'SECURITY.md'}. The code is in {own / 'files'}."))
        case "stopped":
            told.print(Text(f"Stopped: {printable(iteration.why)}. What is done is kept; go on with --resume."))
        case _:
            made = plan(requirement)
            failed = " although some checks fail" if iteration.state == "failed" else ""
            told.print(Text(f"Code saved to {folder / made.entry.main_file}{failed}"))
            if made.entry.language.runs or made.entry.language.name == "html":
                told.print(Text(f"Run it: cd {folder} && {how_to_run(made)}"))


def _wrong(error: RequirementWrong) -> int:
    for problem in error.problems:
        print(f"{error.name}:{printable(str(problem))}", file=sys.stderr)
    return 2


def _refused(why: str) -> int:
    print(f"threadbook build: {printable(why)}", file=sys.stderr)
    return 2
