"""What a team decides: the tables of threadbook.toml, each key with its default and its meaning."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model, field_validator, model_validator

from core.actions import GROUPS_OF_PEOPLE, Action
from core.headings import heading_key

_MOST, _LONGEST_S = 2**31, 1e9
"""Nothing is counted so far, and nobody waits for thirty years. A session host would refuse to start with more."""
Positive = Annotated[int, Field(gt=0, lt=_MOST)]
Seconds = Annotated[float, Field(gt=0, lt=_LONGEST_S)]
FolderPath = Annotated[str, Field(pattern=r"^/[^/].*$", max_length=500)]
ModuleName = Annotated[str, Field(pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$", max_length=100)]


class Table(BaseModel):
    """A table of threadbook.toml."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class SessionLimits(Table):
    """`[channels.C0123456789.limits]`: what the cells of one channel may use; other settings as in `[limits]`."""

    cell_timeout_s: Seconds = Field(default=120.0, description="Wall time of one cell, in seconds.")
    cell_grace_s: Seconds = Field(
        default=5.0, description="Seconds between the interrupt and the kill of a cell that exceeded its time."
    )
    output_kb: Positive = Field(
        default=1_024,
        description="Text kept of each of a cell's two outputs, half from its beginning and half from its end, in KB.",
    )
    output_file_mb: Positive = Field(
        default=50, description="Longer output is kept completely as a file, up to this size, in MB."
    )
    memory_mb: Positive = Field(
        default=2_048, description="Memory of one thread's subprocess, over all its processes, in MB."
    )
    processes: Annotated[int, Field(ge=4, le=2**22)] = Field(
        default=64, description="Processes of one thread's subprocess."
    )
    descriptors: Annotated[int, Field(ge=224, le=2**20)] = Field(
        default=256, description="Open files of one process; some are the executor's own."
    )
    workspace_mb: Positive = Field(default=1_024, description="Size of one thread's working folder, in MB.")
    workspace_files: Annotated[int, Field(ge=10, lt=_MOST)] = Field(
        default=20_000, description="Files and folders in one thread's working folder."
    )
    artifact_mb: Positive = Field(default=100, description="Largest file that a cell may leave, in MB.")
    artifacts: Positive = Field(default=50, description="Files that one cell may leave.")
    artifacts_mb: Positive = Field(default=250, description="Size of all files that one cell leaves, in MB.")


class Limits(SessionLimits):
    """`[limits]`: limits of turns, cells and files."""

    max_cells: Positive = Field(
        default=20, description="Cells in one turn. Then the turn stops and says what is known."
    )
    max_model_calls: Positive = Field(default=40, description="Model calls in one turn, including those of judges.")
    silence_s: Annotated[float, Field(ge=0, lt=_LONGEST_S)] = Field(
        default=60.0,
        description="Seconds without output after which the model looks at a running cell, and the thread is asked "
        "whether to stop it; 0: never.",
    )
    file_max_mb: Positive = Field(default=250, description="Largest file that is taken from a message, in MB.")
    output_to_model_chars: Positive = Field(
        default=8_000, description="Characters of one output that the model gets, from its beginning and its end."
    )
    context_chars: Annotated[int, Field(ge=20_000)] = Field(
        default=160_000,
        description="Size of a whole prompt in characters, four for each estimated token. A token is four characters "
        "of English or code, or one character that is not ASCII. Older steps are shortened to fit. A "
        "prompt that is still far longer is not sent.",
    )
    files_chars: Positive = Field(
        default=16_000, description="Characters of the prompt that describe the files of one turn."
    )


_HOST = re.compile(r"[a-z0-9.-]+(:\d{1,5})?|\[[0-9a-f:]+\](:\d{1,5})?")


def _host(name: str) -> str:
    if _HOST.fullmatch(name.lower()):
        return name.lower()
    raise ValueError(f'{name!r} is no host: give its name alone, or "name:port"')


Hosts = tuple[Annotated[str, AfterValidator(_host)], ...]


class RepositorySettings(Table):
    """`[repositories]`: git repositories that people may name in a message (`docs/repositories.md`)."""

    hosts: Hosts = Field(
        default=(),
        description="Hosts that may be cloned from over https, as `host` or `host:port`; empty: none. A host with a "
        "private address is refused.",
    )
    private_hosts: Hosts = Field(
        default=(), description="Hosts in your own network that may be cloned from, although their address is private."
    )
    ca_file: str = Field(
        default="",
        description="Path of a file of certificates to trust instead of the system's, for hosts with their own "
        "certificates.",
    )
    max_mb: Positive = Field(default=100, description="Largest repository, packed or unpacked, in MB.")
    seconds: Seconds = Field(default=120.0, description="Longest time for a clone, in seconds.")


PackageName = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?$")]


class PackageSettings(Table):
    """`[packages]`: Python packages that a program may need (`docs/programs.md`)."""

    allowed: tuple[PackageName, ...] = Field(
        default=(),
        description="Names of packages that are installed for a program without asking a person. All packages of a "
        "program must be named, also their dependencies.",
    )
    max_packages: Positive = Field(default=40, description="Packages that one program may need in all.")
    max_mb: Positive = Field(default=200, description="Size of all wheels of one program together, in MB.")
    seconds: Seconds = Field(default=180.0, description="Longest time for one run of pip, in seconds.")


_MOST_SECTIONS = 12
_SECTION_CHARS = 80


def _sections(names: tuple[str, ...]) -> tuple[str, ...]:
    """The headings as they are written, without blanks around them."""
    stripped = tuple(name.strip() for name in names)
    if len(stripped) > _MOST_SECTIONS:
        raise ValueError(f"has {len(stripped)} headings, {_MOST_SECTIONS} is the most")
    keys = [heading_key(name) for name in stripped]
    for name, key in zip(stripped, keys, strict=True):
        if not key or len(name) > _SECTION_CHARS or not name.isprintable() or name.startswith("#"):
            raise ValueError(f"{name[:_SECTION_CHARS]!r} is no heading: a line of at most {_SECTION_CHARS} characters")
        if keys.count(key) > 1:
            raise ValueError(f"{name!r} is there twice")
    return stripped


class ChannelReport(Table):
    """`[channels.C0123456789.report]`: the layout of reports there; other settings as in `[report]`."""

    sections: Annotated[tuple[str, ...], AfterValidator(_sections)] = Field(
        default=(),
        description="Headings that every report has, in this order; empty: the analyst chooses. An empty section is "
        "marked as not answered. A report that people approved step by step has its stages instead.",
    )


class ReportSettings(ChannelReport):
    """`[report]`: the layout of reports, and the treatment of figures without a source."""

    unsourced: Literal["mark", "hold"] = Field(
        default="mark",
        description="`mark`: such figures are marked in the report. `hold`: a person in the thread decides first "
        "whether it is posted.",
    )
    clean_room: Literal["after", "before", "off"] = Field(
        default="after",
        description="When the code behind a report runs once more in a fresh session with the same inputs: right "
        "`after` the report is posted, or `before`. The outcome is shown under the report.",
    )
    clean_room_s: Seconds = Field(
        default=60.0,
        description="Longest time for this run, in seconds. A longer analysis does not run again, and the report says"
        " so.",
    )
    clean_room_rows_mb: Annotated[int, Field(ge=0)] = Field(
        default=64,
        description="Rows of data sources that are kept for this run, per question, in MB; 0: none, so cells that "
        "query a source do not run again.",
    )


class CheckSettings(Table):
    """`[check]`: a second way to the figures of a report. It knows the question and the data, but not the first way."""

    second_route: Literal["off", "headline", "always"] = Field(
        default="off",
        description="`headline`: the figures in the first lines of a report are computed a second time, from the "
        "question and the data alone. If they differ, both are shown. `always`: all figures of the "
        "report. This costs one or two model calls for each report.",
    )
    second_model: str = Field(
        default="",
        description="Model that writes the second way: a name of `[models]`, or of a model at the same endpoint; "
        "empty: the model of the turn.",
    )
    second_route_s: Seconds = Field(
        default=60.0, description="Longest time for the code of the second way, in seconds."
    )


class SandboxSettings(Table):
    """`[sandbox]`: the isolation that a service needs to start on real Slack, and what code may use."""

    minimum: Literal["strong", "reduced", "none"] = Field(
        default="strong", description="Weakest level to start a service with."
    )
    syscalls: Literal["deny", "allow"] = Field(
        default="deny",
        description="System calls that code may make. `deny`: all except a list of denied calls. `allow`: only a list"
        " of calls that libraries need; this is stricter.",
    )
    bash: bool = Field(
        default=False,
        description="A shell beside Python. Each command waits for a person's yes, whatever `[approvals] ask` says.",
    )
    toolchains: tuple[FolderPath, ...] = Field(
        default=(),
        description="Folders of compilers outside of the system's folders (`rustc --print sysroot`). Sessions may read "
        "them, and a shell may run programs there. A folder that a node does not have is ignored there.",
    )
    imports: tuple[ModuleName, ...] = Field(
        default=(),
        description="Modules that cells may import, with their submodules; `base`: eleven modules of the standard "
        "library. Empty: all installed modules. This is a rule of the team; the sandbox protects the machine.",
    )


class SlackSettings(Table):
    """`[slack]`: how the bot behaves in the workspace."""

    file_hosts: tuple[str, ...] = Field(
        default=(), description="Hosts that files may be downloaded from, in addition to Slack's own."
    )
    rate_budgets: Literal["auto", "always", "never"] = Field(
        default="auto",
        description="Keep to Slack's rate limits together with all bots and workers; `auto`: on real Slack only.",
    )
    progress_interval_s: Seconds = Field(
        default=2.0, description="Shortest time between two redraws of a progress card, in seconds."
    )


class ModelSettings(Table):
    """`[model]`: how the model is asked. THREADBOOK_MODEL and OPENAI_* choose the model."""

    mode: Literal["native", "fenced"] = Field(
        default="native", description="Native tool calls, or fenced code for models without."
    )
    sees: bool = Field(
        default=True,
        description="Whether charts and uploaded images are sent to it. An endpoint that refuses one gets no more of "
        "them.",
    )
    timeout_s: Seconds = Field(default=120.0, description="Longest wait for the model to say anything, in seconds.")
    max_retries: int = Field(default=3, ge=0, description="Further tries after a time-out, 429 or 5xx.")


class OfferedModelSettings(Table):
    """`[models.NAME]`: another model. People can choose it, also when the first one is unavailable."""

    model: str = Field(min_length=1, description="Model name that its endpoint knows.")
    base_url: str = Field(
        default="", description="Its endpoint, which speaks Chat Completions; empty: that of OPENAI_BASE_URL."
    )
    key_env: str = Field(
        default="OPENAI_API_KEY",
        min_length=1,
        description="Environment variable (or line of `.env`) that holds its key.",
    )
    mode: Literal["native", "fenced"] = Field(
        default="native", description="Native tool calls, or fenced code for models without."
    )
    sees: bool = Field(
        default=True,
        description="Whether charts and uploaded images are sent to it. An endpoint that refuses one gets no more of "
        "them.",
    )


class PriceSettings(Table):
    """`[prices."MODEL"]`: what a million tokens of a model cost, in the currency of `[budget]`."""

    input: Annotated[float, Field(ge=0)] = Field(description="A million tokens of the prompt.")
    cached: Annotated[float, Field(ge=0)] | None = Field(
        default=None,
        description="A million tokens of the prompt that the endpoint had cached; if not set, the price of `input`.",
    )
    output: Annotated[float, Field(ge=0)] = Field(description="A million tokens of the reply.")

    def micros(self, prompt_tokens: int, cached_tokens: int, completion_tokens: int) -> int:
        """The cost in millionths of the currency. `cached_tokens` are among `prompt_tokens`."""
        cached = min(cached_tokens, prompt_tokens)
        cached_price = self.input if self.cached is None else self.cached
        return round((prompt_tokens - cached) * self.input + cached * cached_price + completion_tokens * self.output)


Tokens = Annotated[int, Field(ge=0)]
Money = Annotated[float, Field(ge=0)]


class BudgetSettings(Table):
    """`[budget]`: limits for the model. At a limit, a turn ends with what it has; 0: no limit. Days are UTC days."""

    turn_tokens: Tokens = Field(default=0, description="Tokens of one turn, prompts and replies together.")
    turn_cost: Money = Field(default=0.0, description="Cost of one turn.")
    thread_tokens: Tokens = Field(default=0, description="Tokens of one thread.")
    thread_cost: Money = Field(default=0.0, description="Cost of one thread.")
    person_day_tokens: Tokens = Field(
        default=0,
        description="Tokens of one person's turns in a day. A turn is of who began it, or continued it last.",
    )
    person_day_cost: Money = Field(default=0.0, description="Cost of one person's turns in a day.")
    day_tokens: Tokens = Field(default=0, description="Tokens of everybody in a day.")
    day_cost: Money = Field(default=0.0, description="Cost of everybody in a day.")
    currency: str = Field(default="USD", max_length=10, description="Currency of the prices, as it is shown.")

    @property
    def costs(self) -> tuple[str, ...]:
        """The names of the limits in money that are set."""
        return tuple(name for name, limit in self if name.endswith("_cost") and limit)


class MemorySettings(Table):
    """`[memory]`: the team's memory, a folder of Markdown files that may be in git (`docs/memory.md`)."""

    folder: str = Field(
        default="",
        description="Folder of the team's memory; a relative path begins here. Empty: `memory` in the home folder. "
        "Several nodes need a shared folder.",
    )
    prompt_chars: Annotated[int, Field(ge=0)] = Field(
        default=6_000,
        description="Characters of a prompt for the team's memory, the most relevant entries first; 0: none.",
    )
    embedding_model: str = Field(
        default="",
        description="Embedding model that finds threads by their meaning (`docs/threads.md`); empty: threads are "
        "found by their words alone.",
    )
    embedding_url: str = Field(
        default="",
        pattern=r"^(https?://.+)?$",
        description="Its endpoint, which speaks OpenAI's `/v1/embeddings`; empty: that of OPENAI_BASE_URL.",
    )
    embedding_key_env: str = Field(
        default="OPENAI_API_KEY",
        min_length=1,
        description="Environment variable (or line of `.env`) that holds its key; only the worker reads it.",
    )
    embedding_least: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.3,
        description="Least similarity of a thread and the search words, as a cosine. Good values differ between "
        "models.",
    )


class ProjectSettings(Table):
    """`[projects.NAME]`: channels that read one folder of the team's memory together."""

    channels: tuple[str, ...] = Field(description="Channels (C…, G…, D…) that read `projects/NAME`.")


class RetentionSettings(Table):
    """`[retention]`: when threads are deleted for good without anybody asking."""

    days: Annotated[int, Field(ge=0)] = Field(
        default=0, description="Days after the last event in a thread; 0: threads are kept."
    )


class ExportSettings(Table):
    """`[export]`: the team's threads as training data (`threadbook export`)."""

    opted_out: tuple[str, ...] = Field(
        default=(),
        description="Slack ids of people who do not want this: threads in which they took part are left out.",
    )
    test_percent: Annotated[int, Field(ge=0, le=50)] = Field(
        default=10, description="Percent of the threads whose examples go into the test split."
    )
    licence: str = Field(default="", description="Text of the card on who may use the data.")


Country = Annotated[str, Field(pattern=r"^([A-Z]{2}(-[A-Z0-9]{1,3})?)?$")]
Dates = Annotated[tuple[date, ...], Field(max_length=1_000)]


class ScheduleSettings(Table):
    """`[schedules]`: scheduled reports (`docs/threads.md`)."""

    late_hours: Annotated[float, Field(gt=0)] = Field(
        default=12.0, description="A run that would begin more than this number of hours late is left out."
    )
    per_person: Positive = Field(default=20, description="Schedules that one person may own at a time.")
    least_minutes: Positive = Field(default=60, description="Least number of minutes between two runs of a schedule.")
    holidays: Country = Field(
        default="",
        description='Country whose public holidays are days off for schedules with "not on holidays": "DE", or a part'
        ' of a country, "DE-BY" (ISO 3166).',
    )
    days_off: Dates = Field(default=(), description="More days off, as dates: [2026-12-24, 2026-12-31].")


class WorkerSettings(Table):
    """`[workers]`: the worker service of one node."""

    count: Positive = Field(default=4, description="RQ workers on one node. Each uses its own processor.")
    turns: Positive = Field(
        default=50,
        description="Turns that one RQ worker runs at once. Most of them wait for a model or a cell.",
    )
    broker_mb: Annotated[int, Field(ge=512)] = Field(
        default=4_096,
        description="Memory of the broker of data sources with all its results, in MB. A result that would exceed it "
        "is refused.",
    )


NoLimit = Annotated[int, Field(ge=0)]


class FairnessSettings(Table):
    """`[fairness]`: how many turns run at once on all nodes; 0: no limit. Other turns wait, oldest first.

    A stop, and a command that asks no model and runs no cell (“status”, “schedules”), waits for none of these limits.

    Keep `running` below the places of all workers (`count` × `turns`), so that the next turn finds a place.
    """

    running: NoLimit = Field(default=0, description="Turns in all.")
    per_channel: NoLimit = Field(default=3, description="Turns of one channel.")
    per_person: NoLimit = Field(default=2, description="Turns that one person asked for.")


_SLACK_ID = re.compile(r"[UWS][A-Z0-9]{2,50}")


def _who(name: str) -> str:
    if name in GROUPS_OF_PEOPLE or _SLACK_ID.fullmatch(name):
        return name
    known = ", ".join(sorted(GROUPS_OF_PEOPLE))
    raise ValueError(f"{name!r} is neither one of {known} nor Slack's id of a person (U…, W…) or a user group (S…)")


Who = tuple[Annotated[str, AfterValidator(_who)], ...]
_ACTIONS: Any = {action.value: (Who, Field(default=action.default, description=action.about)) for action in Action}


class ChannelAccess(create_model("_Actions", __base__=Table, **_ACTIONS)):  # type: ignore[misc]
    """`[channels.C0123456789.access]`: who may do what in one channel; other settings as in `[access]`."""


class AccessSettings(ChannelAccess):
    """`[access]`: who may do what; `docs/privacy.md` explains the words. Slack's ids of people and groups count too."""

    admins: Who = Field(
        default=(), description="Admins in addition to those of the Slack workspace: ids of people and user groups."
    )
    own_teams: tuple[str, ...] = Field(
        default=(), description="Other workspaces or organisations (T…, E…) whose people are no strangers."
    )


class WorkspaceSettings(Table):
    """`[workspaces.T0123456789]`: what one of many workspaces may use; `docs/many-workspaces.md` explains it."""

    sources: tuple[str, ...] = Field(
        default=(), description="Names of `[sources]` that it may query; it may not query others."
    )
    mcp: tuple[str, ...] = Field(
        default=(), description="Names of `[mcp]` whose tools its cells may call; they may not call others."
    )
    admins: Who = Field(
        default=(),
        description="Its admins in addition to Slack's; with many workspaces `admins` of `[access]` is not used.",
    )
    day_tokens: Tokens = Field(default=0, description="Tokens of everybody there in a day; unset: as in `[budget]`.")
    day_cost: Money = Field(default=0.0, description="Cost of everybody there in a day; unset: as in `[budget]`.")
    holidays: Country = Field(default="", description="Its holidays; unset: as in `[schedules]`.")
    days_off: Dates = Field(default=(), description="Its days off; unset: as in `[schedules]`.")


def rules_of(access: ChannelAccess, own: ChannelAccess | None = None) -> Mapping[Action, tuple[str, ...]]:
    """Who may do each action; what is set in a channel's `own` table wins."""
    given = own.model_fields_set if own is not None else ()
    return {action: getattr(own if action.value in given else access, action.value) for action in Action}


class ChannelApprovals(Table):
    """`[channels.C0123456789.approvals]`: what waits for a yes there; other settings as in `[approvals]`."""

    ask: Literal["never", "plan", "first cell", "risky", "every cell"] = Field(
        default="never",
        description="What waits for a person's yes. `never`: nothing. `plan`: the plan and each stage's result. `first "
        "cell`: the first cell of each question. `risky`: cells that fall under a rule of "
        "`docs/working-together.md`. `every cell`: all cells. `approve` of `[access]` says who may decide.",
    )
    people: Literal[1, 2] = Field(default=1, description="How many different people have to say yes.")
    files: Literal["never", "always"] = Field(
        default="never",
        description="`always`: files wait for a yes before they are uploaded to Slack. Text and charts are posted at "
        "once.",
    )
    above: Money = Field(
        default=0.0,
        description="A model call with a higher estimated cost waits for a yes, in the currency of `[budget]`; 0: no "
        "call waits. Models without a price are not estimated.",
    )
    hours: Annotated[float, Field(gt=0)] = Field(
        default=24.0,
        description="Hours after which an unanswered question parks its turn. “continue” goes on from there. “send "
        "files” asks again about waiting files.",
    )


class ApprovalSettings(ChannelApprovals):
    """`[approvals]`: what waits for a person's yes (`docs/working-together.md`)."""


PersonalKind = Literal["email", "phone", "iban", "card", "id"]


class ChannelPrivacy(Table):
    """`[channels.C0123456789.privacy]`: what the model does not see there; other settings as in `[privacy]`."""

    redact: tuple[PersonalKind, ...] = Field(
        default=(),
        description="Kinds of personal values that the model sees as placeholders: `email`, `phone`, `iban`, `card`, "
        "`id`.",
    )
    reports: Literal["placeholders", "values"] = Field(
        default="placeholders",
        description="What people read in a report for such a value: the placeholder or the value.",
    )


class PrivacySettings(ChannelPrivacy):
    """`[privacy]`: which personal values are masked before anything goes to the model. `docs/privacy.md` says what that
    cannot find.
    """


class StorageSettings(Table):
    """`[storage]`: limits for saved sessions in the file store, if threads move between nodes; 0: no limit.

    A session above a limit is not saved. The thread is told and goes on. It loses its variables only if its node fails.
    """

    thread_mb: NoLimit = Field(default=4_096, description="Saved variables of one thread, in MB.")
    node_mb: NoLimit = Field(default=200_000, description="Saved variables of all threads at one node, in MB.")
    team_mb: NoLimit = Field(default=1_000_000, description="Saved variables of all threads of a workspace, in MB.")
    evict_days: NoLimit = Field(
        default=30,
        description="Days without a cell after which a saved session is removed from its node's disk. It is restored "
        "when it is needed.",
    )


class ChannelSettings(Table):
    """`[channels.C0123456789]`: settings that differ in one channel."""

    strict_mention: bool = Field(
        default=False, description="Every message must mention the bot, also replies in its threads."
    )
    limits: SessionLimits = SessionLimits()
    access: ChannelAccess = ChannelAccess()
    approvals: ChannelApprovals = ChannelApprovals()
    privacy: ChannelPrivacy = ChannelPrivacy()
    report: ChannelReport = ChannelReport()


class SourceSettings(Table):
    """`[sources.NAME]`: a database or folder that can be queried. Its URL is a secret and is never in this file."""

    url_env: str | None = Field(
        default=None,
        min_length=1,
        description="Environment variable (or line of `.env`) that holds the URL. The scheme of the URL decides the "
        "kind.",
    )
    url_file: Path | None = Field(
        default=None, description="File that holds the URL, instead of `url_env`; a relative path begins here."
    )
    description: str = Field(default="", description="What the data is about, in a sentence.")
    tables_allowed: tuple[str, ...] = Field(
        default=("*",), description="Patterns of tables that may be read: `schema.table`, `schema.*`, `table`, `*`."
    )
    tables_denied: tuple[str, ...] = Field(
        default=(), description="Patterns of tables that may not be read; they take priority over `tables_allowed`."
    )
    max_rows: Positive = Field(
        default=1_000_000, description="Rows of one result; a larger result is refused completely."
    )
    max_mb: Positive = Field(
        default=512, description="Size of one result in memory, in MB; a larger result is refused."
    )
    timeout_s: Seconds = Field(default=60.0, description="Time for one statement and its rows, in seconds.")
    dictionary: Path | None = Field(
        default=None,
        description="Folder of the data dictionary, which are Markdown files of the team; a relative path begins here.",
    )
    turn_queries: Positive = Field(default=100, description="Statements that the cells of one turn may send.")
    turn_mb: Positive = Field(default=2_048, description="Size of all results of one turn, in MB.")
    connections: Positive = Field(default=4, description="Statements that one node runs at once.")
    people: Who = Field(
        default=(),
        description="People who may query this source, if `query` of `[access]` allows them too; empty: everybody whom "
        "`[access]` allows.",
    )
    channels: tuple[str, ...] = Field(
        default=(), description="Channels (C…, G…, D…) that may query; empty: all channels."
    )
    outsiders: bool = Field(
        default=False, description="Allow queries also in channels with guests or people of other workspaces."
    )
    private_answers: bool = Field(
        default=False,
        description="If `outsiders` forbids an answer in the channel, answer in a direct message to the asker.",
    )
    strict: bool = Field(
        default=False, description="Ask in the thread before each statement; `approve` of `[access]` says who decides."
    )
    ask_above_rows: NoLimit = Field(
        default=0,
        description="Ask in the thread before a statement for which the database expects to process more rows; 0: "
        "never ask. Postgres, MySQL, MariaDB and DuckDB give this estimate, also for folders and buckets;"
        " others do not.",
    )
    confirm_minutes: Positive = Field(
        default=60, description="With `strict` or `ask_above_rows`: minutes for which a yes to a statement counts."
    )
    role: str = Field(default="", description="Role to take before each statement (`SET ROLE`); Postgres and MariaDB.")
    accept_writable_login: bool = Field(
        default=False, description="Query this source although its login can write; the transaction is still read-only."
    )

    @model_validator(mode="after")
    def _one_place_for_the_url(self) -> Self:
        if (self.url_env is None) == (self.url_file is None):
            raise ValueError("needs either url_env or url_file, which names the place of its URL")
        return self


class McpSettings(Table):
    """`[mcp.NAME]`: a server of tools that cells may call over MCP (`docs/mcp.md`). This file contains no secret."""

    command: tuple[str, ...] = Field(
        default=(), description="Program of the server, with its arguments; it runs here, outside the sandbox."
    )
    url: str = Field(default="", description="Address of the server, instead of `command` (Streamable HTTP).")
    tools: tuple[str, ...] = Field(
        min_length=1, description="Names of the tools that may be called; other tools cannot be called."
    )
    description: str = Field(default="", description="What the server is good for, in a sentence.")
    env: tuple[str, ...] = Field(
        default=(), description="Environment variables (or lines of `.env`) that the program gets; it gets no others."
    )
    token_env: str | None = Field(
        default=None,
        min_length=1,
        description="Environment variable (or line of `.env`) that holds the bearer token for the `url`.",
    )
    channels: tuple[str, ...] = Field(
        default=(), description="Channels (C…, G…, D…) that may call; empty: all channels."
    )
    outsiders: bool = Field(
        default=False, description="Allow calls also in channels with guests or people of other workspaces."
    )
    ask: Literal["always", "never"] = Field(
        default="always",
        description="Ask in the thread before each call; `approve` of `[access]` says who decides.",
    )
    confirm_minutes: Positive = Field(default=60, description="Minutes for which a yes to a call counts.")
    timeout_s: Seconds = Field(
        default=60.0, description="Time for one call, with the start of the program, in seconds."
    )
    max_kb: Annotated[int, Field(gt=0, le=8_192)] = Field(
        default=1_024, description="Size of one answer, in KB; a larger answer is refused completely."
    )
    turn_calls: Positive = Field(default=50, description="Calls that the cells of one turn may make.")

    @model_validator(mode="after")
    def _one_kind_of_server(self) -> Self:
        if bool(self.command) == bool(self.url):
            raise ValueError("needs either command (a program with its arguments) or url")
        if self.command and (self.token_env or not self.command[0]):
            raise ValueError("a program gets its secrets through env; token_env belongs to a url")
        if self.url and self.env:
            raise ValueError("a url gets its secret through token_env; env belongs to a command")
        where = urlsplit(self.url)
        if self.url and (where.scheme not in ("http", "https") or not where.hostname):
            raise ValueError("url must be an http(s) address")
        if self.token_env and where.scheme == "http" and where.hostname not in ("localhost", "127.0.0.1", "::1"):
            raise ValueError("a token goes to another machine over https only")
        return self

    @property
    def secrets(self) -> tuple[str, ...]:
        """The variables whose values are for this server alone."""
        return (*self.env, *([self.token_env] if self.token_env else []))


_TOKEN_OF = re.compile(r"(T[A-Z0-9]{2,50}/)?[UW][A-Z0-9]{2,50} sha256:[0-9a-f]{64}")


class McpServerSettings(Table):
    """`[mcp_server]`: Threadbook as a server of tools for other programs (`threadbook mcp`, `docs/mcp.md`)."""

    tokens: tuple[str, ...] = Field(
        default=(),
        description="Owner and hash of each token, as `U0123ABCD sha256:…`; with many workspaces as "
        "`T0123456789/U0123ABCD sha256:…`. The tokens themselves are not in this file.",
    )
    wait_s: Seconds = Field(
        default=900.0, description="Seconds that `ask` waits for the report. Then it says where the report will appear."
    )

    @field_validator("tokens")
    @classmethod
    def _whose(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not all(_TOKEN_OF.fullmatch(line) for line in value):
            raise ValueError(
                "each is Slack's id of a person, perhaps with a workspace and a slash before it, a blank, `sha256:` "
                "and 64 hexadecimal digits"
            )
        return value


def tables_in(model: type[BaseModel]) -> dict[str, type[Table]]:
    """The tables below a model, by name."""
    return {
        name: annotation
        for name, field in model.model_fields.items()
        if isinstance(annotation := field.annotation, type) and issubclass(annotation, Table)
    }
