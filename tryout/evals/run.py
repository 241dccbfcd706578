"""`threadbook eval`: asks a suite, goes on where an earlier run ended, and says how many answers are right."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from core.errors import SettingsError, ThreadbookError
from core.settings import Settings
from tryout.commands.show import printable
from tryout.evals.asking import DESKS, Job, Manner, ask_all, jobs_of
from tryout.evals.results import Result, Summary, append_result, read_results, right_by_name, summary
from tryout.evals.statistics import Paired, paired
from tryout.evals.suite import Question, SuiteError, read_suite
from tryout.stack.processes import ProcessDied
from tryout.stack.redis_server import RedisNotStarted
from workers.models.base import Model
from workers.models.openai_model import OpenAIModel
from workers.turn.prompts import load_prompts

ALL_ASKED, NOT_ALL_ASKED, UNUSABLE, TOO_LOW = 0, 1, 2, 3
"""The exit codes, see `docs/eval.md`."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says."""

    model: str = ""
    repeat: int = 1
    at_once: int = 1
    out: Path | None = None
    against: Path | None = None
    plain: bool | None = None
    only: tuple[str, ...] = ()
    at_least: float | None = None
    judge_model: str = ""
    memory: Path | None = None
    as_json: bool = False


def run(settings: Settings, suite: Path, options: Options) -> int:
    """Ask what is not answered yet, print the outcome, return the exit code."""
    console = Console(stderr=options.as_json)
    try:
        questions = _chosen(suite, set(options.only))
        before = right_by_name(_read_other(options.against)) if options.against else None
        _refuse_two_memories(settings, options)
        environment, model = model_environment(settings, options.model)
    except (SuiteError, SettingsError) as error:
        print(f"threadbook eval: {error}", file=sys.stderr)
        return UNUSABLE
    plain = model == "offline" if options.plain is None else options.plain
    out = options.out or Path(f"eval-{suite.stem}-{_slug(model)}")
    out.mkdir(parents=True, exist_ok=True)
    results_file = out / "results.jsonl"
    jobs = jobs_of(questions, suite.parent, options.repeat, options.memory)
    kept = {r.name: r for r in read_results(results_file)}
    todo = [job for job in jobs if not _is_answered(job, kept.get(f"{job.question.id}#{job.repeat}"), plain=plain)]
    if len(todo) < len(jobs):
        console.print(f"{len(jobs) - len(todo)} of {len(jobs)} answers are in {results_file}; going on", style="dim")
    failure = ""
    with ExitStack() as stack:
        judge = _judge(stack, settings, options.judge_model)
        if judge is None and any(job.question.rubric for job in todo):
            console.print("questions with a rubric are skipped: no key for a judge", style="yellow")
        manner = Manner(
            folder=suite.parent,
            transcripts=out / "transcripts",
            model=model,
            plain=plain,
            prompts=load_prompts(),
            judge=judge,
            environment=environment,
            at_once=min(options.at_once, len(DESKS)),
            memory=options.memory,
        )
        try:
            _ask(todo, manner, results_file, console)
        except KeyboardInterrupt:
            failure = "interrupted; the same command goes on from here"
        except (ThreadbookError, ProcessDied, RedisNotStarted, TimeoutError) as error:
            failure = str(error)
    names = {f"{job.question.id}#{job.repeat}" for job in jobs}
    results = [result for result in read_results(results_file) if result.name in names]
    counted = summary(results)
    compared = paired(before, right_by_name(results)) if before is not None else None
    if options.as_json:
        print(json.dumps(_document(manner, results_file, results, counted, compared), ensure_ascii=False))
    else:
        _print(console, results, counted, compared, out=out, currency=settings.budget.currency)
    if failure:
        print(f"threadbook eval: {failure}", file=sys.stderr)
    if failure or len(results) < len(jobs) or counted.outcomes.get("error"):
        return NOT_ALL_ASKED
    return TOO_LOW if options.at_least is not None and counted.accuracy < options.at_least else ALL_ASKED


def _refuse_two_memories(settings: Settings, options: Options) -> None:
    if options.memory is not None and settings.memory.folder:
        raise SettingsError("--memory: threadbook.toml names a [memory] folder; leave one of the two out.")


def _chosen(suite: Path, wanted: set[str]) -> tuple[Question, ...]:
    """The questions with one of these ids or tags; all when none is wanted."""
    questions = read_suite(suite)
    chosen = tuple(each for each in questions if not wanted or each.id in wanted or wanted & set(each.tags))
    if not chosen:
        raise SuiteError(f"no question of {suite} has the id or tag {', '.join(sorted(wanted))}")
    return chosen


def model_environment(settings: Settings, model: str) -> tuple[Mapping[str, str], str]:
    """The variables that choose a model for the stack, and the model's name: of the settings when none is named."""
    if model == "offline" or model.startswith("scripted:"):
        name = model.replace("scripted:", f"scripted:{Path.cwd()}/", 1) if _is_relative_script(model) else model
        return {"THREADBOOK_MODEL": name}, model
    has_endpoint = settings.openai_api_key is not None or bool(settings.openai_base_url)
    if model:
        if not has_endpoint:
            raise SettingsError(f"--model {model} needs OPENAI_API_KEY or OPENAI_BASE_URL")
        return {"THREADBOOK_MODEL": "openai", "OPENAI_MODEL": model}, model
    if settings.model_choice in ("", "openai") and has_endpoint:
        return {}, settings.openai_model
    return {}, settings.model_choice or "offline"


def _is_relative_script(model: str) -> bool:
    return model.startswith("scripted:") and not Path(model.removeprefix("scripted:")).is_absolute()


def _slug(model: str) -> str:
    return re.sub(r"[^A-Za-z0-9.-]+", "-", Path(model).stem if model.startswith("scripted:") else model).strip("-.")


def _read_other(path: Path) -> Sequence[Result]:
    found = read_results(path / "results.jsonl" if path.is_dir() else path)
    if not found:
        raise SuiteError(f"{path} holds no results to compare with")
    return found


def _judge(stack: ExitStack, settings: Settings, model: str) -> Model | None:
    if settings.openai_api_key is None and not settings.openai_base_url:
        return None
    return stack.enter_context(
        OpenAIModel(
            api_key=settings.openai_api_key.get_secret_value() if settings.openai_api_key else "",
            base_url=settings.openai_base_url,
            model=model or settings.openai_model,
            timeout_s=settings.model.timeout_s,
            max_retries=settings.model.max_retries,
        )
    )


def _is_answered(job: Job, kept: Result | None, *, plain: bool) -> bool:
    """Whether an earlier run has this answer: of the same question and data, asked in the same way, without a fault."""
    style = "plain" if plain else "tags"
    return (
        kept is not None
        and (kept.sha, kept.data, kept.style) == (job.question.sha, job.data, style)
        and (kept.outcome not in ("error", "skipped"))
    )


def _ask(todo: Sequence[Job], manner: Manner, results_file: Path, console: Console) -> None:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    right = cost = 0.0
    done = 0
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as progress:
        bar = progress.add_task("asking", total=len(todo))
        for result in ask_all(todo, manner, lambda text: progress.update(bar, description=text)) if todo else ():
            append_result(results_file, result)
            done += 1
            right += result.outcome == "right"
            cost += result.cost or 0.0
            told = f"{right:.0f} of {done} right" + (f", cost {cost:.3f}" if cost else "")
            progress.update(bar, advance=1, description=told)


def _document(
    manner: Manner, results_file: Path, results: Sequence[Result], counted: Summary, compared: Paired | None
) -> dict[str, object]:
    """The JSON of the command; its shape is public (`docs/eval.md`)."""
    return {
        "model": manner.model,
        "style": "plain" if manner.plain else "tags",
        "results_file": str(results_file),
        "summary": asdict(counted),
        "compared": asdict(compared) if compared else None,
        "results": [result.model_dump(mode="json") for result in results],
    }


def _print(
    console: Console,
    results: Sequence[Result],
    counted: Summary,
    compared: Paired | None,
    *,
    out: Path,
    currency: str,
) -> None:
    table = Table("question", "outcome", "expected", "given", "why", title="Not right")
    for each in sorted(results, key=lambda result: result.name):
        if each.outcome != "right":
            cells = (each.name, each.outcome, _pairs(each.expected), _pairs(each.given), each.why[:80])
            table.add_row(*(printable(cell) for cell in cells))
    if table.row_count:
        console.print(table)
    console.print(
        f"right {counted.accuracy:.1%} of {counted.questions} questions "
        f"(95 % interval {counted.low:.1%} to {counted.high:.1%})",
        style="bold",
    )
    console.print("answers: " + ", ".join(f"{count} {name}" for name, count in sorted(counted.outcomes.items())))
    if counted.by_tag:
        console.print("by tag: " + ", ".join(f"{tag} {hit}/{n}" for tag, (hit, n) in counted.by_tag.items()))
    cost = "no price set" if counted.cost is None else f"{counted.cost:.4f} {currency}"
    tokens = f"{counted.prompt_tokens:,} + {counted.completion_tokens:,} tokens"
    console.print(f"{tokens}, cost: {cost}, {counted.seconds:.0f} s of turns; transcripts in {out / 'transcripts'}")
    if compared:
        console.print(
            f"against the other run, {compared.pairs} pairs: p = {compared.p:.3g} (McNemar, exact, two-sided)"
        )
        console.print(f"  only the other right ({len(compared.only_first)}): {', '.join(compared.only_first) or '–'}")
        console.print(f"  only this one right ({len(compared.only_second)}): {', '.join(compared.only_second) or '–'}")


def _pairs(values: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value[:40]}" for name, value in values.items())
