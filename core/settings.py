"""Settings, read once at the door and handed down.

What differs per host, and every secret, comes from the environment or from `.env` in the current folder (the
environment wins). What a team decides comes from `threadbook.toml`. A key that nobody knows is refused together with
the nearest one that somebody does. This module is the only one that reads `os.environ`.
"""

from __future__ import annotations

import difflib
import os
import re
import socket
import tomllib
import types
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from urllib.parse import urlsplit

from dotenv import dotenv_values
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from core.errors import SettingsError

Positive = Annotated[int, Field(gt=0)]
Seconds = Annotated[float, Field(gt=0)]


class Table(BaseModel):
    """A table of threadbook.toml."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class SessionLimits(Table):
    """`[channels.C0123456789.limits]`: what the cells of one channel may use; what is left out is as in `[limits]`."""

    cell_timeout_s: Seconds = Field(default=120.0, description="Wall time of one cell, in seconds.")
    cell_grace_s: Seconds = Field(
        default=5.0, description="Seconds between the interrupt and the kill of a cell that ran out of time."
    )
    output_kb: Positive = Field(
        default=1_024, description="Text kept of each of a cell's two outputs, half of it head and half tail, in KB."
    )
    output_file_mb: Positive = Field(
        default=50, description="Longer output is kept whole, up to this size, as a file, in MB."
    )
    memory_mb: Positive = Field(
        default=2_048, description="Memory of one thread's subprocess, over all its processes, in MB."
    )
    processes: Annotated[int, Field(ge=4)] = Field(default=64, description="Processes of one thread's subprocess.")
    descriptors: Annotated[int, Field(ge=224)] = Field(
        default=256, description="Open files of one process; some are the executor's own."
    )
    workspace_mb: Positive = Field(default=1_024, description="Size of one thread's working folder, in MB.")
    workspace_files: Annotated[int, Field(ge=10)] = Field(
        default=20_000, description="Files and folders in one thread's working folder."
    )
    artifact_mb: Positive = Field(default=100, description="Largest file that a cell may leave, in MB.")
    artifacts: Positive = Field(default=50, description="Files that one cell may leave.")
    artifacts_mb: Positive = Field(default=250, description="Size of all files that one cell leaves, in MB.")


class Limits(SessionLimits):
    """`[limits]`: where a turn, a cell or a file must end."""

    max_cells: Positive = Field(
        default=20, description="Cells in one turn; then an honest stop that says what is known."
    )
    max_model_calls: Positive = Field(default=40, description="Model calls in one turn, judgements included.")
    file_max_mb: Positive = Field(default=250, description="Largest file that is taken from a message, in MB.")
    output_to_model_chars: Positive = Field(
        default=8_000, description="Characters of one output that the model gets: head and tail."
    )
    context_chars: Annotated[int, Field(ge=20_000)] = Field(
        default=160_000,
        description="Characters of a whole prompt; older steps are shortened to fit. About four to a token.",
    )
    files_chars: Positive = Field(
        default=16_000, description="Characters of the prompt that describe the files of one turn."
    )


class SandboxSettings(Table):
    """`[sandbox]`: the isolation below which the service does not start on real Slack, and what may run in it."""

    minimum: Literal["strong", "reduced", "none"] = Field(
        default="strong", description="Weakest level to start a service with."
    )
    bash: bool = Field(
        default=False,
        description="Give threads a shell beside Python, for commands that a person has approved one by one.",
    )


class SlackSettings(Table):
    """`[slack]`: manners in the workspace."""

    strict_mention_channels: tuple[str, ...] = Field(
        default=(), description="Channel ids where every message must mention the bot, replies in its threads too."
    )
    file_hosts: tuple[str, ...] = Field(default=(), description="Further hosts that files may be downloaded from.")
    rate_budgets: Literal["auto", "always", "never"] = Field(
        default="auto",
        description="Keep to Slack's rate limits together with all bots and workers; `auto`: on real Slack only.",
    )
    progress_interval_s: Seconds = Field(
        default=2.0, description="Shortest time between two redraws of a progress card, in seconds."
    )


class ModelSettings(Table):
    """`[model]`: how the model is asked. Which model it is: THREADBOOK_MODEL and OPENAI_*."""

    mode: Literal["native", "fenced"] = Field(
        default="native", description="Native tool calls, or fenced code for models without."
    )
    timeout_s: Seconds = Field(default=120.0, description="Longest wait for the model to say anything, in seconds.")
    max_retries: int = Field(default=3, ge=0, description="Further tries after a time-out, 429 or 5xx.")


class PriceSettings(Table):
    """`[prices."MODEL"]`: what a million tokens of a model cost, in the currency of `[budget]`."""

    input: Annotated[float, Field(ge=0)] = Field(description="A million tokens of the prompt.")
    cached: Annotated[float, Field(ge=0)] | None = Field(
        default=None, description="A million tokens of the prompt that the endpoint had cached; without it as `input`."
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
    """`[budget]`: what the model may take before a turn ends with what it has; 0: no limit. Days are of UTC."""

    turn_tokens: Tokens = Field(default=0, description="Tokens of one turn, prompts and replies together.")
    turn_cost: Money = Field(default=0.0, description="Cost of one turn.")
    thread_tokens: Tokens = Field(default=0, description="Tokens of one thread.")
    thread_cost: Money = Field(default=0.0, description="Cost of one thread.")
    person_day_tokens: Tokens = Field(default=0, description="Tokens of one person's turns in a day.")
    person_day_cost: Money = Field(default=0.0, description="Cost of one person's turns in a day.")
    day_tokens: Tokens = Field(default=0, description="Tokens of everybody in a day.")
    day_cost: Money = Field(default=0.0, description="Cost of everybody in a day.")
    currency: str = Field(default="USD", max_length=10, description="What the prices are in, as it is shown.")

    @property
    def costs(self) -> tuple[str, ...]:
        """The names of the limits in money that are set."""
        return tuple(name for name, limit in self if name.endswith("_cost") and limit)


class WorkerSettings(Table):
    """`[workers]`: the worker service of one host."""

    count: Positive = Field(default=4, description="RQ workers, that is turns that go on at once on one host.")


NoLimit = Annotated[int, Field(ge=0)]


class FairnessSettings(Table):
    """`[fairness]`: how many turns run at once, over all hosts; 0: no limit. Others wait, the longest waiting first.

    Below the number of all workers, so that whoever comes next finds one free.
    """

    running: NoLimit = Field(default=0, description="Turns in all.")
    per_channel: NoLimit = Field(default=3, description="Turns of one channel.")
    per_person: NoLimit = Field(default=2, description="Turns that one person asked for.")


class ChannelSettings(Table):
    """`[channels.C0123456789]`: what differs in one channel."""

    strict_mention: bool | None = Field(
        default=None, description="Every message must mention the bot, replies in its threads too."
    )
    limits: SessionLimits = SessionLimits()


class Settings(BaseSettings):
    """Everything that can be set. Build it with `load_settings`."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid", populate_by_name=True, hide_input_in_errors=True)

    slack_bot_token: SecretStr | None = Field(default=None, alias="SLACK_BOT_TOKEN", description="Bot token, `xoxb-…`.")
    slack_app_token: SecretStr | None = Field(
        default=None,
        alias="SLACK_APP_TOKEN",
        description="App-level token with `connections:write`, `xapp-…`, for Socket Mode.",
    )
    slack_signing_secret: SecretStr | None = Field(
        default=None, alias="SLACK_SIGNING_SECRET", description="Signing secret; only HTTP mode needs it."
    )
    slack_api_url: str = Field(
        default="https://slack.com/api/",
        alias="SLACK_API_URL",
        description="Base of Slack's Web API; the playground's when trying out.",
    )
    openai_api_key: SecretStr | None = Field(
        default=None, alias="OPENAI_API_KEY", description="Key of the model endpoint."
    )
    openai_base_url: str | None = Field(
        default=None,
        alias="OPENAI_BASE_URL",
        description="Any endpoint that speaks Chat Completions; empty means OpenAI's own.",
    )
    openai_model: str = Field(
        default="gpt-4.1", alias="OPENAI_MODEL", description="Model name that the endpoint knows."
    )
    redis_url: str = Field(
        default="redis://127.0.0.1:6379/0", alias="REDIS_URL", repr=False, description="Redis or Valkey."
    )
    database_url: str = Field(
        default="",
        alias="DATABASE_URL",
        repr=False,
        description="SQLAlchemy URL of the Store; empty: SQLite in the home folder.",
    )
    home: Path = Field(
        default=Path(".threadbook"), alias="THREADBOOK_HOME", description="Folder for everything this host keeps."
    )
    files: str = Field(
        default="",
        alias="THREADBOOK_FILES",
        description="fsspec URL of the file store; empty: `files` in the home folder.",
    )
    host_id: str = Field(
        default="",
        alias="THREADBOOK_HOST_ID",
        max_length=100,
        description="Name of this host among the workers; empty: its hostname.",
    )
    model_choice: str = Field(
        default="",
        alias="THREADBOOK_MODEL",
        pattern=r"^(|openai|offline|scripted:.+)$",
        description="`openai`, `offline` or `scripted:FILE.json`; empty: `openai` with a key or URL, else `offline`.",
    )
    checkpoint_key: SecretStr | None = Field(
        default=None,
        alias="THREADBOOK_CHECKPOINT_KEY",
        min_length=16,
        description="Signs what is kept of variables, the same on every host of a team; needed for several hosts. "
        "Changed, what was kept before counts no more.",
    )
    config: Path = Field(
        default=Path("threadbook.toml"), alias="THREADBOOK_CONFIG", description="Path of the team's file."
    )
    file_hosts: tuple[str, ...] = Field(
        default=(),
        alias="THREADBOOK_FILE_HOSTS",
        description="Further hosts that files may be downloaded from, with commas between.",
    )

    health_address: str = Field(
        default="127.0.0.1",
        alias="THREADBOOK_HEALTH_ADDRESS",
        description="IPv4 address on which `/healthz` and `/metrics` listen; they ask for no password.",
    )
    bot_health_port: int = Field(
        default=0,
        ge=0,
        le=65_535,
        alias="THREADBOOK_BOT_HEALTH_PORT",
        description="Port of the bot's `/healthz` and `/metrics`; 0: none.",
    )
    worker_health_port: int = Field(
        default=0,
        ge=0,
        le=65_535,
        alias="THREADBOOK_WORKER_HEALTH_PORT",
        description="Port of the worker service's `/healthz` and `/metrics`; 0: none.",
    )

    limits: Limits = Limits()
    sandbox: SandboxSettings = SandboxSettings()
    slack: SlackSettings = SlackSettings()
    model: ModelSettings = ModelSettings()
    workers: WorkerSettings = WorkerSettings()
    fairness: FairnessSettings = FairnessSettings()
    budget: BudgetSettings = BudgetSettings()
    channels: dict[str, ChannelSettings] = {}
    prices: dict[str, PriceSettings] = {}

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only what `load_settings` gathered: it reads the sources itself, to refuse what nobody knows."""
        return (init_settings,)

    @field_validator("file_hosts", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("slack_api_url")
    @classmethod
    def _web_address(cls, value: str) -> str:
        if urlsplit(value).scheme not in ("http", "https") or not urlsplit(value).hostname:
            raise ValueError("must be an http(s) address")
        return value if value.endswith("/") else value + "/"

    @field_validator("redis_url")
    @classmethod
    def _redis_address(cls, value: str) -> str:
        if urlsplit(value).scheme not in ("redis", "rediss", "unix"):
            raise ValueError("must begin with redis://, rediss:// or unix://")
        return value

    @field_validator("database_url")
    @classmethod
    def _database_address(cls, value: str) -> str:
        if value and value.partition(":")[0].partition("+")[0] not in ("sqlite", "postgres", "postgresql"):
            raise ValueError("must be an SQLAlchemy URL of sqlite or postgresql")
        return value

    @property
    def is_real_slack(self) -> bool:
        """Whether the Web API is Slack's own, and so the people and their data are real."""
        host = urlsplit(self.slack_api_url).hostname or ""
        return host == "slack.com" or host.endswith((".slack.com", ".slack-gov.com"))

    @property
    def keeps_rate_budgets(self) -> bool:
        """Whether calls to Slack are paced."""
        wish = self.slack.rate_budgets
        return self.is_real_slack if wish == "auto" else wish == "always"

    @property
    def missing_for_several_hosts(self) -> tuple[str, ...]:
        """What keeps this host's threads from going on at another one, as clauses of a sentence."""
        faults = {
            "its Store is SQLite, which only one machine can use (set DATABASE_URL to Postgres)": not urlsplit(
                self.database_url
            ).scheme.startswith("postgres"),
            "its files are in a local folder (set THREADBOOK_FILES to an S3-compatible store)": _is_local(self.files),
            "no key is shared (set THREADBOOK_CHECKPOINT_KEY)": self.checkpoint_key is None,
        }
        return tuple(clause for clause, applies in faults.items() if applies)

    @property
    def hands_threads_over(self) -> bool:
        """Whether a thread may go on at another host."""
        return not self.missing_for_several_hosts

    @property
    def session_socket(self) -> Path:
        """Where this host's session host answers."""
        return self.home / "host.sock"

    @property
    def download_hosts(self) -> tuple[str, ...]:
        """Hosts beyond Slack's own that files may come from, from both places where a team can say so."""
        return tuple(dict.fromkeys((*self.file_hosts, *self.slack.file_hosts)))

    def strict_mention(self, channel: str) -> bool:
        """Whether messages in this channel run only when they mention the bot."""
        own = self.channels.get(channel, ChannelSettings()).strict_mention
        return channel in self.slack.strict_mention_channels if own is None else own

    def session_limits(self, channel: str = "") -> dict[str, float]:
        """What a cell in this channel may use, by the names of `SessionLimits`; without a channel, as in `[limits]`."""
        own = self.channels.get(channel, ChannelSettings()).limits
        return {
            name: getattr(own if name in own.model_fields_set else self.limits, name)
            for name in SessionLimits.model_fields
        }

    def largest_session_limits(self) -> dict[str, float]:
        """The largest that any channel may use of each: what a session host has to be able to grant."""
        every = [self.session_limits(), *map(self.session_limits, self.channels)]
        return {name: max(limits[name] for limits in every) for name in SessionLimits.model_fields}

    def secrets(self) -> tuple[str, ...]:
        """The secret values themselves, for the redaction of logs. Passwords inside URLs are among them."""
        kept = [value.get_secret_value() for _, value in self if isinstance(value, SecretStr)]
        kept += [urlsplit(url).password or "" for url in (self.redis_url, self.database_url)]
        return tuple(value for value in kept if value)


def _is_local(files: str) -> bool:
    protocol, separator, _ = files.partition("://")
    return not separator or protocol in ("file", "local", "memory")


def load_settings(env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Settings:
    """Read the environment (`env`, else the process's own), `.env` and `threadbook.toml` under `cwd`.

    Raises SettingsError with one line per fault; values of secrets are never in it.
    """
    folder = Path.cwd() if cwd is None else cwd
    given = {key: value for key, value in dotenv_values(folder / ".env").items() if value}
    ours = ("THREADBOOK_", "SLACK_", "OPENAI_")  # .env is ours alone; in the environment only the first prefix is
    _refuse_unknown(".env", (key for key in given if key.startswith(ours)), _environment_names())
    given |= {key: value for key, value in (os.environ if env is None else env).items() if value}
    known = _environment_names()
    _refuse_unknown("environment", (key for key in given if key.startswith("THREADBOOK_")), known)

    config = folder / given.get("THREADBOOK_CONFIG", "threadbook.toml")
    if "THREADBOOK_CONFIG" in given and not config.is_file():
        raise SettingsError(f"THREADBOOK_CONFIG names {config}, which is not a file.")
    team = _read_toml(config)
    values: dict[str, Any] = {key: value for key, value in given.items() if key in known} | team
    values["THREADBOOK_CONFIG"] = config
    try:
        settings = Settings(**values)
    except ValidationError as error:
        raise SettingsError("\n".join(_fault(item["loc"], item["msg"]) for item in error.errors())) from None
    settings = _with_defaults(settings, folder)
    _refuse_budget_without_price(settings)
    return settings


def environment_with(**changes: str) -> dict[str, str]:
    """The process's own environment with some variables changed: for `threadbook` processes that we start ourselves."""
    return {**os.environ, **changes}


def _with_defaults(settings: Settings, folder: Path) -> Settings:
    """Fill in what depends on the host and on other settings; relative folders are taken from `folder`."""
    home = (folder / settings.home).resolve()
    return settings.model_copy(
        update={
            "home": home,
            "database_url": settings.database_url or f"sqlite:///{home / 'threadbook.db'}",
            "files": settings.files or str(home / "files"),
            "host_id": settings.host_id or socket.gethostname(),
            "model_choice": settings.model_choice
            or ("openai" if settings.openai_api_key or settings.openai_base_url else "offline"),
        }
    )


def _refuse_budget_without_price(settings: Settings) -> None:
    model = settings.openai_model
    if settings.budget.costs and settings.model_choice == "openai" and model not in settings.prices:
        raise SettingsError(
            f"budget.{settings.budget.costs[0]}: the cost of {model} is not known; "
            f'give its price under [prices."{model}"].'
        )


def _environment_names() -> dict[str, FieldInfo]:
    return {field.alias: field for field in Settings.model_fields.values() if field.alias}


def _tables() -> dict[str, type[Table]]:
    return _tables_in(Settings)


def _tables_in(model: type[BaseModel]) -> dict[str, type[Table]]:
    return {
        name: annotation
        for name, field in model.model_fields.items()
        if isinstance(annotation := field.annotation, type) and issubclass(annotation, Table)
    }


_NAMED: dict[str, tuple[str, type[Table]]] = {
    "channels": ("ID", ChannelSettings),
    "prices": ('"MODEL"', PriceSettings),
}
"""Tables that a team has one of per name, and what stands for the name in the documentation."""

_BARE_KEY = re.compile(r"[\w-]+", re.ASCII)


def _read_toml(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path.name} is not valid TOML: {error}") from None
    tables = _tables()
    _refuse_unknown(path.name, document, [*tables, *_NAMED])
    for name, content in document.items():
        if name in tables:
            _check_table(path.name, name, name, content, tables[name])
            continue
        if not isinstance(content, dict):
            raise SettingsError(f"{path.name}: {name} must be a table, written as [{name}].")
        for key, own in content.items():
            written = f"{name}.{key}" if _BARE_KEY.fullmatch(key) else f'{name}."{key}"'
            _check_table(path.name, key, written, own, _NAMED[name][1])
    return document


def _check_table(file: str, name: str, written: str, content: object, table: type[Table]) -> None:
    """Refuse what is not a table, and keys that it and the tables in it do not know."""
    if not isinstance(content, dict):
        raise SettingsError(f"{file}: {name} must be a table, written as [{written}].")
    _refuse_unknown(f"{file} [{written}]", content, table.model_fields)
    for key, inner in _tables_in(table).items():
        if key in content:
            _check_table(file, key, f"{written}.{key}", content[key], inner)


def _refuse_unknown(where: str, given: Iterable[str], known: Iterable[str]) -> None:
    names = list(known)
    faults = []
    for key in given:
        if key not in names:
            near = difflib.get_close_matches(key, names, n=1, cutoff=0.0)
            faults.append(f"{where}: unknown setting {key!r}; the nearest known one is {near[0]!r}.")
    if faults:
        raise SettingsError("\n".join(faults))


def _fault(location: tuple[int | str, ...], message: str) -> str:
    first = str(location[0])
    name = Settings.model_fields[first].alias or first if first in Settings.model_fields else first
    return f"{'.'.join([name, *map(str, location[1:])])}: {message}."


def settings_markdown() -> str:
    """The page docs/settings.md: every setting with its type, default and meaning, from the models above."""
    lines = [
        "# Settings",
        "",
        "Generated from `core/settings.py`; a test compares the two.",
        "",
        "Secrets and what differs per host are read from the environment, then from `.env` in the current folder. What",
        "a team decides stands in `threadbook.toml`. A key that nobody knows is refused with the nearest known name.",
        "",
        "## Environment and `.env`",
        "",
        "| name | type | default | meaning |",
        "| --- | --- | --- | --- |",
    ]
    lines += [_row(name, field) for name, field in _environment_names().items()]
    lines += ["", "## `threadbook.toml`", ""]
    tables = _tables()
    for name, (key, table) in _NAMED.items():
        tables |= {f"{name}.{key}": table} | {f"{name}.{key}.{inner}": own for inner, own in _tables_in(table).items()}
    for name, table in tables.items():
        about = (table.__doc__ or "").partition(": ")[2]
        lines += [f"### `[{name}]`", "", about[:1].upper() + about[1:], ""]
        lines += ["| name | type | default | meaning |", "| --- | --- | --- | --- |"]
        own = [(key, field) for key, field in table.model_fields.items() if key not in _tables_in(table)]
        lines += [_row(key, field, default=table is not SessionLimits) for key, field in own]
        lines.append("")
    return "\n".join(lines)


def _row(name: str, field: FieldInfo, *, default: bool = True) -> str:
    shown = "" if not default or field.is_required() or field.default in (None, "", ()) else f"`{field.default}`"
    return f"| `{name}` | {_type_name(field.annotation)} | {shown} | {field.description} |"


def _type_name(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " or ".join(f"`{value}`" for value in arguments)
    if origin in (Union, types.UnionType):
        return " or ".join(_type_name(item) for item in arguments if item is not type(None))
    if origin is tuple:
        return "list of text"
    if origin is Annotated:
        return _type_name(arguments[0])
    names = {
        SecretStr: "secret",
        str: "text",
        Path: "path",
        int: "whole number",
        float: "number",
        bool: "true or false",
    }
    return names.get(annotation, str(annotation))
