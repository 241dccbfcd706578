"""Settings, read once when a process starts and handed down.

Secrets and settings that differ per node come from the environment or from `.env` in the current folder (the
environment has priority). The team's decisions come from `threadbook.toml`. An unknown key is refused, and the message
names the nearest known one. This module is the only one that reads `os.environ`.
"""

from __future__ import annotations

import difflib
import io
import os
import re
import socket
import sys
import tomllib
from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from dotenv import dotenv_values
from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from core.actions import Action
from core.errors import SettingsError
from core.node_file import read_node_file
from core.setting_faults import in_words
from core.team_settings import (
    AccessSettings,
    ApprovalSettings,
    BudgetSettings,
    ChannelApprovals,
    ChannelPrivacy,
    ChannelSettings,
    CheckSettings,
    ExportSettings,
    FairnessSettings,
    Limits,
    McpServerSettings,
    McpSettings,
    MemorySettings,
    ModelSettings,
    OfferedModelSettings,
    PackageSettings,
    PriceSettings,
    PrivacySettings,
    ProjectSettings,
    ReportSettings,
    RepositorySettings,
    RetentionSettings,
    SandboxSettings,
    ScheduleSettings,
    SessionLimits,
    SlackSettings,
    SourceSettings,
    StorageSettings,
    Table,
    WorkerSettings,
    WorkspaceSettings,
    rules_of,
    tables_in,
)

ModelName = Annotated[str, Field(pattern=r"^[\w.-]{1,60}$")]
McpName = Annotated[str, Field(pattern=r"^[\w-]{1,60}$")]


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
    slack_client_id: str = Field(
        default="",
        alias="SLACK_CLIENT_ID",
        description="Client id of the app, for many workspaces (`docs/many-workspaces.md`); needs HTTP mode.",
    )
    slack_client_secret: SecretStr | None = Field(
        default=None, alias="SLACK_CLIENT_SECRET", description="Client secret of the app, for many workspaces."
    )
    slack_redirect_uri: str = Field(
        default="",
        alias="SLACK_REDIRECT_URI",
        description="Address that ends with `/slack/oauth_redirect`; empty: the only address that the app lists.",
    )
    token_keys: SecretStr | None = Field(
        default=None,
        alias="THREADBOOK_TOKEN_KEYS",
        description="Keys that encrypt the tokens of many workspaces in the Store, separated by commas, the newest "
        "first; the same on every node.",
    )
    slack_api_url: str = Field(
        default="https://slack.com/api/",
        alias="SLACK_API_URL",
        description="Base URL of Slack's Web API, or of the playground's to try things out.",
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
        default="redis://127.0.0.1:6379/0",
        alias="REDIS_URL",
        repr=False,
        description="One Redis or Valkey server: `redis://`, `rediss://` (TLS) or `unix://`; no Sentinel, no Cluster.",
    )
    database_url: str = Field(
        default="",
        alias="DATABASE_URL",
        repr=False,
        description="SQLAlchemy URL of the Store, SQLite or Postgres (not MySQL, not MariaDB); empty: SQLite in the "
        "home folder.",
    )
    home: Path = Field(
        default=Path(".threadbook"), alias="THREADBOOK_HOME", description="Folder for everything that this node keeps."
    )
    files: str = Field(
        default="",
        alias="THREADBOOK_FILES",
        description="fsspec URL of the file store; empty: `files` in the home folder.",
    )
    node_id: str = Field(
        default="",
        alias="THREADBOOK_NODE_ID",
        max_length=100,
        description="Name of this node among all nodes; empty: the last name, which the home folder keeps, or the "
        "hostname at the first start.",
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
        description="Signs the saved variables; the same on every node of a team, and needed for several nodes. "
        "Variables that were saved under another key are not restored.",
    )
    mcp_token: SecretStr | None = Field(
        default=None,
        alias="THREADBOOK_MCP_TOKEN",
        min_length=32,
        description="Only for `threadbook mcp`: the token of the person for whom it works (`[mcp_server]`).",
    )
    config: Path = Field(
        default=Path("threadbook.toml"), alias="THREADBOOK_CONFIG", description="Path of the team's file."
    )

    health_address: str = Field(
        default="127.0.0.1",
        alias="THREADBOOK_HEALTH_ADDRESS",
        description="IPv4 address on which `/healthz` and `/metrics` listen. They need no password.",
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
    report: ReportSettings = ReportSettings()
    check: CheckSettings = CheckSettings()
    storage: StorageSettings = StorageSettings()
    channels: dict[str, ChannelSettings] = {}
    models: dict[ModelName, OfferedModelSettings] = {}
    prices: dict[str, PriceSettings] = {}
    access: AccessSettings = AccessSettings()
    approvals: ApprovalSettings = ApprovalSettings()
    retention: RetentionSettings = RetentionSettings()
    export: ExportSettings = ExportSettings()
    schedules: ScheduleSettings = ScheduleSettings()
    privacy: PrivacySettings = PrivacySettings()
    memory: MemorySettings = MemorySettings()
    mcp_server: McpServerSettings = McpServerSettings()
    projects: dict[str, ProjectSettings] = {}
    repositories: RepositorySettings = RepositorySettings()
    packages: PackageSettings = PackageSettings()
    sources: dict[str, SourceSettings] = {}
    workspaces: dict[str, WorkspaceSettings] = {}
    mcp: dict[McpName, McpSettings] = {}

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only what `load_settings` gathered: it reads the sources itself, to refuse unknown names."""
        return (init_settings,)

    @field_validator(
        "slack_bot_token",
        "slack_app_token",
        "slack_signing_secret",
        "slack_client_id",
        "slack_client_secret",
        "openai_api_key",
        mode="before",
    )
    @classmethod
    def _token(cls, value: object) -> object:
        return _as_token(value) if isinstance(value, str) and value else value

    @field_validator("slack_api_url")
    @classmethod
    def _web_address(cls, value: str) -> str:
        if urlsplit(value).scheme not in ("http", "https") or not urlsplit(value).hostname:
            raise ValueError("must be an http(s) address")
        return value if value.endswith("/") else value + "/"

    @field_validator("redis_url")
    @classmethod
    def _redis_address(cls, value: str) -> str:
        try:
            found = urlsplit(value)
            misplaced = found.port is None and "@" in found.path + found.query + found.fragment
        except ValueError:  # the port is no number, or a bracket is open
            misplaced = True
        scheme = value.partition(":")[0]
        if "sentinel" in scheme or "cluster" in scheme:
            raise ValueError(
                "Redis Sentinel and Redis Cluster are not supported: give the address of one server, "
                "or of a proxy that leads to the current primary"
            )
        if scheme not in ("redis", "rediss", "unix"):
            raise ValueError("must begin with redis://, rediss:// (TLS) or unix://")
        if misplaced and scheme != "unix":
            raise ValueError(
                f"cannot be read as {scheme}://USER:PASSWORD@HOST:PORT/0; in a name or a password write @ as %40, / as "
                "%2F, : as %3A, # as %23 and ? as %3F"
            )
        return value

    @field_validator("database_url")
    @classmethod
    def _database_address(cls, value: str) -> str:
        if value and value.partition(":")[0].partition("+")[0] not in ("sqlite", "postgres", "postgresql"):
            raise ValueError(
                "must be an SQLAlchemy URL of sqlite or postgresql; MySQL, MariaDB and others cannot be the Store, "
                "only a data source"
            )
        return value

    @model_validator(mode="after")
    def _toolchains_hold_no_secret(self) -> Self:
        home = place_of(Path(), self.home).absolute()
        for folder in map(Path, self.sandbox.toolchains):
            if folder.resolve() in (home, *home.parents) or folder.resolve().is_relative_to(home):
                raise ValueError(f"[sandbox] toolchains: {folder} would show sessions what lies in {home}")
        return self

    @property
    def toolchains(self) -> tuple[Path, ...]:
        """The folders of compilers that sessions are shown, as far as this node has them."""
        return tuple(path for path in map(Path, self.sandbox.toolchains) if path.is_dir())

    @property
    def is_real_slack(self) -> bool:
        """Whether the people and their data are real: always, but for a Web API on this machine (a playground's).

        Behind a company's proxy Slack has any name.
        """
        host = (urlsplit(self.slack_api_url).hostname or "").rstrip(".")
        if host == "localhost" or host.endswith(".localhost"):
            return False
        try:
            return not ip_address(host).is_loopback
        except ValueError:
            return True

    @property
    def many_workspaces(self) -> bool:
        """Whether workspaces install the app by themselves; else it has one token, in the environment."""
        return bool(self.slack_client_id)

    def for_workspace(self, team: str) -> Settings:
        """What holds in a workspace. With one token that is everything.

        With many workspaces it is what `[workspaces.TEAM]` gives it: its sources, its tools, its admins, its budget of
        a day, its days off, and a folder of its own for what it has learned.
        """
        if not self.many_workspaces:
            return self
        if not _TEAM_ID.fullmatch(team):
            raise SettingsError("Slack gave no id of a workspace that could be used.")
        own = self.workspaces.get(team, WorkspaceSettings())
        given = {name: getattr(own, name) for name in own.model_fields_set}
        budget: dict[str, Any] = {name: given[name] for name in ("day_tokens", "day_cost") if name in given}
        schedules: dict[str, Any] = {name: given[name] for name in ("holidays", "days_off") if name in given}
        return self.model_copy(
            update={
                "sources": {name: source for name, source in self.sources.items() if name in own.sources},
                "mcp": {name: server for name, server in self.mcp.items() if name in own.mcp},
                "access": self.access.model_copy(update={"admins": own.admins}),
                "budget": self.budget.model_copy(update=budget),
                "schedules": self.schedules.model_copy(update=schedules),
                "memory": self.memory.model_copy(update={"folder": str(self.memory_folder / "workspaces" / team)}),
            }
        )

    def counted_team(self, team: str) -> str | None:
        """The workspace by which spending is counted apart; None where there is one."""
        return team if self.many_workspaces else None

    @property
    def keeps_rate_budgets(self) -> bool:
        """Whether calls to Slack are paced."""
        choice = self.slack.rate_budgets
        return self.is_real_slack if choice == "auto" else choice == "always"

    @property
    def missing_for_several_nodes(self) -> tuple[str, ...]:
        """Why the threads of this node cannot go on at another one, as clauses of a sentence."""
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
        """Whether a thread may go on at another node."""
        return not self.missing_for_several_nodes

    @property
    def spool(self) -> Path:
        """The folder for events that the Store could not take (`core/spool.py`)."""
        return self.home / "spool"

    @property
    def memory_folder(self) -> Path:
        """The folder of what the team has learned."""
        folder = self.memory.folder
        return place_of(self.config.parent, folder).resolve() if folder else self.home / "memory"

    @property
    def project_channels(self) -> dict[str, tuple[str, ...]]:
        """The channels of each project."""
        return {name: project.channels for name, project in self.projects.items()}

    @property
    def session_socket(self) -> Path:
        """The socket of the session host of this node."""
        return self.home / "host.sock"

    @property
    def broker_socket(self) -> Path:
        """The socket of the broker of data sources of this node."""
        return self.home / "broker.sock"

    @property
    def tools_socket(self) -> Path:
        """The socket of the process of this node that calls tools."""
        return self.home / "tools.sock"

    def strict_mention(self, channel: str) -> bool:
        """Whether messages in this channel run only when they mention the bot."""
        return self.channels.get(channel, ChannelSettings()).strict_mention

    def access_rules(self, channel: str = "") -> Mapping[Action, tuple[str, ...]]:
        """Who may do each action in this channel; without a channel, as in `[access]`."""
        return rules_of(self.access, self.channels[channel].access if channel in self.channels else None)

    def approvals_in(self, channel: str) -> ChannelApprovals:
        """What waits for a person's yes in this channel."""
        own = self.channels.get(channel, ChannelSettings()).approvals
        given = {name: getattr(own, name) for name in own.model_fields_set}
        return ChannelApprovals.model_validate({**self.approvals.model_dump(), **given})

    def privacy_in(self, channel: str) -> ChannelPrivacy:
        """What the model does not see of this channel."""
        own = self.channels.get(channel, ChannelSettings()).privacy
        given = {name: getattr(own, name) for name in own.model_fields_set}
        return ChannelPrivacy.model_validate({**self.privacy.model_dump(), **given})

    def report_sections(self, channel: str) -> tuple[str, ...]:
        """The headings of every report in this channel, in order; () where the analyst chooses."""
        own = self.channels.get(channel, ChannelSettings()).report
        return own.sections if "sections" in own.model_fields_set else self.report.sections

    def session_limits(self, channel: str = "") -> dict[str, float]:
        """What a cell in this channel may use, by the names of `SessionLimits`; without a channel, as in `[limits]`."""
        own = self.channels.get(channel, ChannelSettings()).limits
        return {
            name: getattr(own if name in own.model_fields_set else self.limits, name)
            for name in SessionLimits.model_fields
        }

    def largest_session_limits(self) -> dict[str, float]:
        """The largest that any channel may use of each: what a session host has to be able to give."""
        every = [self.session_limits(), *map(self.session_limits, self.channels)]
        return {name: max(limits[name] for limits in every) for name in SessionLimits.model_fields}

    def secrets(self) -> tuple[str, ...]:
        """The secret values themselves, for the redaction of logs. Passwords inside URLs are among them."""
        kept = [value.get_secret_value() for _, value in self if isinstance(value, SecretStr)]
        kept += [key.strip() for key in self.token_keys.get_secret_value().split(",")] if self.token_keys else []
        kept += [urlsplit(url).password or "" for url in (self.redis_url, self.database_url)]
        return tuple(value for value in kept if value)


_TEAM_ID = re.compile(r"[A-Za-z0-9]{1,60}")


def _as_token(value: str) -> str:
    """A token without the line end and the spaces that copying or `echo` put around it; raises ValueError for others.

    A token stands in a header of HTTP. The message does not repeat it.
    """
    token = value.strip()
    if not token:
        raise ValueError("it holds only spaces; copy the value again, or unset it")
    for place, letter in enumerate(token, 1):
        if not "!" <= letter <= "~":
            raise ValueError(f"its character {place} is none that a token can have; copy the value again")
    return token


def _is_local(files: str) -> bool:
    protocol, separator, _ = files.partition("://")
    return not separator or protocol in ("file", "local", "memory")


def load_settings(env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Settings:
    """Read the environment (`env`, else the process's own), `.env` and `threadbook.toml` under `cwd`.

    Raises SettingsError with one line per fault; values of secrets are never in it.
    """
    folder = Path.cwd() if cwd is None else cwd
    given = _env_file(folder)
    known = environment_names()
    named = [key for key in given if _is_ours(key) and key not in RENAMED and key not in ALIASES]
    _refuse_unknown(".env", named, known, MOVED[ENVIRONMENT])
    if env is None:
        _offer_to_drivers(given)
    given |= {key: value for key, value in (os.environ if env is None else env).items() if value}
    named = [key for key in given if key.upper().startswith("THREADBOOK_") and key not in RENAMED]
    _refuse_unknown(ENVIRONMENT, named, known, MOVED[ENVIRONMENT])
    given = _with_new_names(given)

    config = place_of(folder, given.get("THREADBOOK_CONFIG", "threadbook.toml"))
    if "THREADBOOK_CONFIG" in given and not config.is_file():
        raise SettingsError(f"THREADBOOK_CONFIG names {config}, which is not a file.")
    team = _read_toml(config)
    values: dict[str, Any] = {key: value for key, value in given.items() if key in known} | team
    values["THREADBOOK_CONFIG"] = config
    try:
        settings = Settings(**values)
    except ValidationError as error:
        raise SettingsError("\n".join(_fault(dict(item), config.name) for item in error.errors())) from None
    settings = _with_defaults(settings, folder)
    _refuse_budget_without_price(settings)
    _refuse_unknown_sources(settings)
    return settings


def source_url(
    settings: Settings, name: str, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> SecretStr:
    """The URL of a source, read now: only the process that asks the source ever holds it.

    Raises SettingsError when there is no such source, or nothing where its URL should be.
    """
    if name not in settings.sources:
        known = ", ".join(sorted(settings.sources)) or "none; write [sources.NAME] in threadbook.toml"
        raise SettingsError(f"there is no source {name!r}. Sources: {known}.")
    source = settings.sources[name]
    folder = Path.cwd() if cwd is None else cwd
    if source.url_file is not None:
        try:
            value = place_of(settings.config.parent, source.url_file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            raise SettingsError(f"sources.{name}.url_file: {source.url_file} cannot be read as text.") from None
        place = f"the file {source.url_file}"
    else:
        variable = source.url_env or ""
        value = (os.environ if env is None else env).get(variable) or _env_file(folder).get(variable) or ""
        place = f"the environment variable {variable}"
    if not value:
        raise SettingsError(f"sources.{name}: {place} is empty; it must hold the URL of the source.")
    return SecretStr(value)


def model_key(
    settings: Settings, name: str, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> SecretStr | None:
    """The key of a model of `[models]`; None when its variable is not set, as for an endpoint that wants none."""
    return _key_in(settings.models[name].key_env, env, cwd)


def embedding_key(
    settings: Settings, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> SecretStr | None:
    """The key of the embedding model of `[memory]`; None when its variable is not set."""
    return _key_in(settings.memory.embedding_key_env, env, cwd)


def _key_in(variable: str, env: Mapping[str, str] | None, cwd: Path | None) -> SecretStr | None:
    folder = Path.cwd() if cwd is None else cwd
    value = (os.environ if env is None else env).get(variable) or _env_file(folder).get(variable)
    try:
        return SecretStr(_as_token(value)) if value else None
    except ValueError as error:
        raise SettingsError(f"{variable}: {error}.") from None


def mcp_secrets(
    settings: Settings, name: str, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> dict[str, str]:
    """The secrets of a tool server, by variable, read now: only the process that calls the server ever has them.

    Raises SettingsError when something is empty.
    """
    folder = Path.cwd() if cwd is None else cwd
    given = _env_file(folder)
    found = {}
    for variable in settings.mcp[name].secrets:
        value = (os.environ if env is None else env).get(variable) or given.get(variable) or ""
        if not value:
            raise SettingsError(f"mcp.{name}: the environment variable {variable} is empty; the server needs it.")
        found[variable] = value
    return found


def dictionary_folder(settings: Settings, name: str) -> Path | None:
    """The folder of a source's data dictionary, or None when the team names none."""
    folder = settings.sources[name].dictionary
    return None if folder is None else place_of(settings.config.parent, folder)


def place_of(folder: Path, written: str | Path) -> Path:
    """Where a path of a setting leads: a relative one begins in `folder`, and "~" is the home of this user.

    Raises SettingsError when "~" means nobody who has a home.
    """
    try:
        return folder / Path(written).expanduser()
    except RuntimeError:
        raise SettingsError(
            f"{written}: it is not known where the home folder of this user is. Write it out."
        ) from None


def _env_file(folder: Path) -> dict[str, str]:
    """The values of `.env` without empty ones. Raises SettingsError when it, or a line of ours, cannot be read."""
    path = folder / ".env"
    if not path.exists() or path.is_dir():
        return {}
    text = _text_of(path, ".env")
    values = dotenv_values(stream=io.StringIO(text))
    for number, line in enumerate(text.splitlines(), 1):
        name = found[1] if (found := _ENV_NAME.match(line)) else ""
        if _is_ours(name) and values.get(name) is None:
            raise SettingsError(
                f".env, line {number}: write {name}=VALUE, with a quote on both sides of VALUE or on none."
            )
    return {name: value for name, value in values.items() if value}


def _is_ours(name: str) -> bool:
    """Whether a name in `.env` is meant for us, also one in small letters, which names nothing."""
    return name.upper().startswith(_OURS) or name.upper() in environment_names()


def _offer_to_drivers(given: Mapping[str, str]) -> None:
    """Put what `.env` says for the file store's driver into the environment, where alone the driver looks for it."""
    for name, value in given.items():
        if name.startswith("AWS_") and not os.environ.get(name):
            os.environ[name] = value


def _text_of(path: Path, name: str) -> str:
    """What a file of settings holds; the mark that Windows puts before UTF-8 is no part of it. Raises SettingsError."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise SettingsError(f"{name} is not UTF-8 ({error.reason}, byte {error.start}). Save it as UTF-8.") from None
    except OSError as error:
        raise SettingsError(
            f"{name} cannot be read: {error.strerror}. Whoever runs the command must be allowed to."
        ) from None


def _with_new_names(given: Mapping[str, str]) -> dict[str, str]:
    """The variables with old names replaced, each with a sentence on stderr. Raises SettingsError when two disagree."""
    values = dict(given)
    for alias, name in ALIASES.items():
        if alias in values:
            values.setdefault(name, values.pop(alias))
    for old, new in RENAMED.items():
        if (value := values.pop(old, None)) is None:
            continue
        if values.setdefault(new, value) != value:
            raise SettingsError(f"{old} and {new} are set to different values. {old} is the old name: unset it.")
        print(f"{old} is now called {new}; the next version refuses the old name.", file=sys.stderr)
    return values


def environment_with(**changes: str) -> dict[str, str]:
    """The process's own environment with some variables changed: for `threadbook` processes that we start ourselves."""
    return {**os.environ, **changes}


def environment_without_own() -> dict[str, str]:
    """The process's own environment without our settings and secrets: for a program that needs none of them."""
    return {name: value for name, value in os.environ.items() if name not in environment_names()}


def take_environment(names: Iterable[str]) -> dict[str, str]:
    """Remove variables from the process's own environment; returns what those that were set held."""
    return {name: value for name in set(names) if (value := os.environ.pop(name, ""))}


def _with_defaults(settings: Settings, folder: Path) -> Settings:
    """Fill in what depends on the node and on other settings; relative folders are taken from `folder`."""
    home = place_of(folder, settings.home).resolve()
    return settings.model_copy(
        update={
            "home": home,
            "database_url": settings.database_url or f"sqlite:///{home / 'threadbook.db'}",
            "files": settings.files or str(home / "files"),
            "node_id": settings.node_id or (kept.name if (kept := read_node_file(home)) else socket.gethostname()),
            "model_choice": settings.model_choice
            or ("openai" if settings.openai_api_key or settings.openai_base_url else "offline"),
        }
    )


def _refuse_budget_without_price(settings: Settings) -> None:
    own = [f"workspaces.{team}.day_cost" for team, each in settings.workspaces.items() if each.day_cost]
    limits = [*(f"budget.{name}" for name in settings.budget.costs), *own]
    if not limits:
        return
    models = [settings.openai_model] if settings.model_choice == "openai" else []
    second = settings.check.second_model if settings.check.second_route != "off" else ""
    if second and second not in settings.models and models:
        models.append(second)
    for model in [*models, *(offered.model for offered in settings.models.values())]:
        if model not in settings.prices:
            raise SettingsError(
                f'{limits[0]}: the cost of {model} is not known; give its price under [prices."{model}"].'
            )


def _refuse_unknown_sources(settings: Settings) -> None:
    for team, own in settings.workspaces.items():
        if unknown := [name for name in own.sources if name not in settings.sources]:
            raise SettingsError(f"workspaces.{team}.sources: there is no [sources.{unknown[0]}].")


def environment_names() -> dict[str, FieldInfo]:
    """The names that are read from the environment."""
    return {field.alias: field for field in Settings.model_fields.values() if field.alias}


def tables() -> dict[str, type[Table]]:
    """The tables of threadbook.toml that there is one of."""
    return tables_in(Settings)


NAMED_TABLES: dict[str, tuple[str, type[Table]]] = {
    "channels": ("ID", ChannelSettings),
    "mcp": ("NAME", McpSettings),
    "models": ("NAME", OfferedModelSettings),
    "prices": ('"MODEL"', PriceSettings),
    "projects": ("NAME", ProjectSettings),
    "sources": ("NAME", SourceSettings),
    "workspaces": ("TEAM", WorkspaceSettings),
}
"""Tables that a team has one of per name, and what stands for the name in the documentation."""

ENVIRONMENT = "environment"
MOVED: Mapping[str, Mapping[str, str]] = {
    ENVIRONMENT: {"THREADBOOK_FILE_HOSTS": "write `file_hosts` under [slack] in threadbook.toml"},
    "slack": {"strict_mention_channels": "write `strict_mention = true` under [channels.ID] for each of the channels"},
}
"""Settings that are refused since this version: the name by its place, and what to write instead."""

ALIASES: Mapping[str, str] = {"OPENAI_API_URL": "OPENAI_BASE_URL", "OPENAI_API_MODEL": "OPENAI_MODEL"}
"""Other names that programs of the same kind use. Where both are set, ours counts."""
RENAMED: Mapping[str, str] = {"THREADBOOK_HOST_ID": "THREADBOOK_NODE_ID"}
"""Old names of environment variables, each accepted for one version."""

_OURS = ("THREADBOOK_", "SLACK_", "OPENAI_")
"""`.env` is ours alone. In the environment only names with the first of these are."""
_ENV_NAME = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)")
_BARE_KEY = re.compile(r"[\w-]+", re.ASCII)


def _read_toml(path: Path) -> dict[str, Any]:
    if not os.path.lexists(path):
        return {}
    if not path.is_file():  # a container makes a folder of a file that it was to be given and that was not there
        raise SettingsError(f"{path.name} is there, but it is not a file. Put the file there, or remove what is there.")
    try:
        document = tomllib.loads(_text_of(path, path.name))
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path.name} is not valid TOML: {error}") from None
    known = tables()
    _refuse_unknown(path.name, document, [*known, *NAMED_TABLES])
    for name, content in document.items():
        if name in known:
            _check_table(path.name, name, name, content, known[name])
            continue
        if not isinstance(content, dict):
            raise SettingsError(f"{path.name}: {name} must be a table, written as [{name}].")
        for key, own in content.items():
            written = f"{name}.{key}" if _BARE_KEY.fullmatch(key) else f'{name}."{key}"'
            _check_table(path.name, key, written, own, NAMED_TABLES[name][1])
    return document


def _check_table(file: str, name: str, written: str, content: object, table: type[Table]) -> None:
    """Refuse what is not a table, and keys that it and the tables in it do not know."""
    if not isinstance(content, dict):
        raise SettingsError(f"{file}: {name} must be a table, written as [{written}].")
    _refuse_unknown(f"{file} [{written}]", content, table.model_fields, MOVED.get(written))
    for key, inner in tables_in(table).items():
        if key in content:
            _check_table(file, key, f"{written}.{key}", content[key], inner)


def _refuse_unknown(
    where: str, given: Iterable[str], known: Iterable[str], moved: Mapping[str, str] | None = None
) -> None:
    names = {name.upper(): name for name in known}
    faults = []
    for key in given:
        if moved and key in moved:
            faults.append(f"{where}: {key!r} is not a setting any more; {moved[key]}.")
        elif key not in names.values():
            near = names[difflib.get_close_matches(key.upper(), names, n=1, cutoff=0.0)[0]]
            faults.append(f"{where}: unknown setting {key!r}; the nearest known one is {near!r}.")
    if faults:
        raise SettingsError("\n".join(faults))


def _fault(fault: Mapping[str, Any], file: str) -> str:
    """A fault that pydantic found, with the setting and, unless it is of the environment or `.env`, its file."""
    location = [each for each in fault["loc"] if each != "[key]"]
    if not location:  # of several settings together
        return f"{in_words(fault, quotable=True)}."
    entry = f", entry {location.pop() + 1}" if isinstance(location[-1], int) else ""
    field = Settings.model_fields.get(str(location[0]))
    first = (field.alias if field else None) or str(location[0])
    of_team = first not in environment_names()
    name = ".".join([first, *map(str, location[1:])])
    return f"{f'{file}: ' if of_team else ''}{name}{entry}: {in_words(fault, quotable=of_team)}."
