"""`threadbook doctor`: tries each part that a service needs, and names a one-line fix for what does not work."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import httpx
import redis
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from slack_sdk.errors import SlackApiError, SlackClientError
from sqlalchemy.exc import SQLAlchemyError

from core.blobs import Blobs
from core.errors import OursToFix, SettingsError
from core.home_writes import check_home, home_refusal
from core.installations.tokens import check_settings, cipher_of
from core.queue import nodes, versions
from core.redis_writes import check_writes, refusal
from core.release import mixed, version
from core.settings import Settings, mcp_secrets
from core.slack.client import web_client
from core.store import ADDRESS_ADVICE, Store, StoreDamaged, StoreTooNew
from core.telemetry import redactor
from executor import launch
from executor.sandbox import probe
from executor.values import Sandbox
from tryout.commands.mcp_servers import tools_of
from tryout.commands.sources import look
from workers.builder.sandbox.toolchains import offered, toolchains
from workers.delivery.notices import in_words
from workers.repositories.cloning import look_for_git
from workers.service.start_checks import CannotStart, refuse_unfit_redis
from workers.tools.client import ToolsClient
from workers.tools.errors import ToolError

OPENAI = "https://api.openai.com/v1"
SCOPES = {"app_mentions:read", "chat:write", "files:read", "files:write", "reactions:write", "users:read"}
"""Bot scopes without which a mention with a file cannot be answered; the manifest asks for more."""

_MOST_NAMED = 10
"""Workspaces that one finding names."""


@dataclass(frozen=True)
class Finding:
    """What was found of one part. `state` is "ok", "missing" (a service cannot start) or "note" (it works)."""

    part: str
    state: str
    what: str
    fix: str = ""
    layers: tuple[probe.Row, ...] = ()


def run(settings: Settings, *, as_json: bool = False) -> int:
    """Check every part and print the findings. Returns 1 if something is missing, else 0."""
    findings = [_found(part, check, settings) for part, check in CHECKS.items()]
    findings += [_found(f"Source {name}", partial(source, name=name), settings) for name in settings.sources]
    if settings.mcp:
        with tools_of(settings) as tools:
            findings += [
                _found(f"Tools {name}", partial(tool_server, name=name, tools=tools), settings) for name in settings.mcp
            ]
    if as_json:
        print(json.dumps([asdict(finding) for finding in findings], ensure_ascii=False))
    else:
        table = Table("part", "state", "what", "fix")
        colours = {"ok": "green", "missing": "red", "note": "yellow"}
        for each in findings:
            shown = (escape(each.what), escape(each.fix))  # the name of a table in brackets is no colour
            table.add_row(each.part, f"[{colours[each.state]}]{each.state}[/]", *shown)
        console = Console()
        console.print(table)
        for finding in findings:
            if finding.layers:
                layers = Table("layer", "state", "what it stops", "fix", title="The sandbox layers of a session")
                for row in finding.layers:
                    layers.add_row(row.layer, row.state, row.stops, row.fix)
                console.print(layers)
    return 1 if any(finding.state == "missing" for finding in findings) else 0


def _found(part: str, check: Callable[[Settings], Finding], settings: Settings) -> Finding:
    """What a check finds, without our secrets. An unexpected error of a check is a finding too, so the table is always
    shown."""
    try:
        found = check(settings)
    except Exception as error:
        reason = (str(error).splitlines() or [""])[0][:200] or type(error).__name__
        found = Finding(part, "missing", reason, "see the reason; `threadbook doctor` tries again")
    return replace(found, what=redactor(settings.secrets())(found.what))


def python(settings: Settings) -> Finding:
    """The interpreter."""
    return Finding("Python", "ok", sys.version.split()[0])


def source(settings: Settings, *, name: str) -> Finding:
    """Whether a data source answers, can only be read, and shows tables."""
    looked = look(settings, name)
    if looked.latency_ms is None:
        return Finding(f"Source {name}", "note", looked.problem, "see docs/sources.md; only this source is affected")
    only = "read-only" if looked.read_only else "its login can write"
    what = f"{looked.kind}, {only}, {len(looked.tables)} tables, {looked.latency_ms:.0f} ms"
    if looked.problem:
        return Finding(f"Source {name}", "note", f"{what}; {looked.problem}", "`threadbook sources` prints the SQL")
    return Finding(f"Source {name}", "ok", what)


def tool_server(settings: Settings, *, name: str, tools: ToolsClient) -> Finding:
    """Whether a server of tools answers, and has the tools that the team allows."""
    part, fix = f"Tools {name}", "see docs/mcp.md; only this server is affected"
    try:
        mcp_secrets(settings, name)
        found = {tool.name for tool in tools.tools(name)}
    except (ToolError, SettingsError) as error:
        return Finding(part, "note", str(error), fix)
    wanted = settings.mcp[name].tools
    if missing := [tool for tool in wanted if tool not in found]:
        return Finding(
            part, "note", f"answers; it has no tool {', '.join(missing)}", f"correct `tools` under [mcp.{name}]"
        )
    return Finding(part, "ok", f"answers, {len(wanted)} tools")


def redis_server(settings: Settings) -> Finding:
    """Whether Redis answers and takes writes."""
    client = redis.Redis.from_url(settings.redis_url, socket_connect_timeout=3, socket_timeout=3)
    try:
        refuse_unfit_redis(client)
        check_writes(client)
        return Finding("Redis", "ok", f"{client.info('server')['redis_version']} answers")
    except CannotStart as error:
        return Finding("Redis", "missing", str(error), "set REDIS_URL to one server")
    except redis.RedisError as error:
        if (why := refusal(error)) is not None:
            what, _, fix = why.partition(": ")
            return Finding("Redis", "missing", what, fix)
        return Finding("Redis", "missing", str(error), "start a Redis server and set REDIS_URL; `make run` needs none")
    finally:
        client.close()


def nodes_beside(settings: Settings) -> Finding:
    """Whether the nodes that are alive, and this machine's code, are of one version."""
    with closing(redis.Redis.from_url(settings.redis_url, socket_connect_timeout=3, socket_timeout=3)) as client:
        try:
            found = versions(nodes(client))
        except redis.RedisError:
            return Finding("Versions", "note", f"{version()} here; the nodes are in Redis, which does not answer")
    if several := mixed({**found, "this machine": version()}):
        return Finding("Versions", "note", several, "upgrade the others too, as docs/upgrade.md says")
    return Finding("Versions", "ok", f"{version()}, as on all nodes that are alive" if found else version())


def store(settings: Settings) -> Finding:
    """Whether the Store can be opened, brought to this version, and written to."""
    opened = None
    try:
        opened = Store(settings.database_url)
        opened.migrate()
        opened.check_writes()
    except StoreTooNew as error:
        return Finding("Store", "missing", str(error), "install the version that is named")
    except StoreDamaged as error:
        return Finding("Store", "missing", str(error), "restore the last backup, as docs/backup.md says")
    except (SQLAlchemyError, OSError) as error:
        reason = str(error).splitlines()[0][:200]
        advice = getattr(error, "advice", ADDRESS_ADVICE)
        fix = "check DATABASE_URL: its user must create tables and write" if advice == ADDRESS_ADVICE else advice
        return Finding("Store", "missing", reason, fix)
    finally:
        if opened is not None:
            opened.close()
    return Finding("Store", "ok", settings.database_url.split(":", 1)[0] + ", schema up to date")


def files(settings: Settings) -> Finding:
    """Whether the file store takes and gives back a file."""
    try:
        blobs = Blobs(settings.files)
        kept = blobs.get(blobs.put(b"threadbook doctor\n")) == b"threadbook doctor\n"
    except (OursToFix, OSError, ValueError, ImportError) as error:
        fix = "check THREADBOOK_FILES: the folder or bucket must exist, and its keys must let us write"
        return Finding("Files", "missing", str(error).splitlines()[0][:200], fix)
    return Finding("Files", "ok" if kept else "missing", "a file was written and read back")


def home(settings: Settings) -> Finding:
    """Whether this user may write in the home folder, and its disk takes it."""
    try:
        settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        check_home(settings.home)
    except OSError as error:
        if (why := home_refusal(settings.home, error)) is not None:
            what, _, fix = why.partition(": ")
            return Finding("Home", "missing", what, fix)
        what = f"{settings.home}: {error.strerror}"
        return Finding("Home", "missing", what, "set THREADBOOK_HOME to a folder where this user may write")
    return Finding("Home", "ok", "a file was written")


def slack(settings: Settings) -> Finding:
    """Whether the bot token works and has the scopes that an answer needs; with many workspaces, whether all can."""
    if settings.many_workspaces:
        return _many_workspaces(settings)
    if settings.slack_bot_token is None:
        fix = "create the app from bot/manifest.yaml, put SLACK_BOT_TOKEN and SLACK_APP_TOKEN into .env"
        return Finding("Slack", "missing", "no SLACK_BOT_TOKEN", fix)
    try:
        reply = web_client(settings).auth_test()
    except (SlackApiError, SlackClientError, OSError) as error:
        reason = error.response["error"] if isinstance(error, SlackApiError) else str(error)
        return Finding("Slack", "missing", f"auth.test: {reason}", "check SLACK_BOT_TOKEN and SLACK_API_URL")
    have = {scope.strip() for scope in str(reply.headers.get("x-oauth-scopes", "")).split(",") if scope.strip()}
    if lacking := SCOPES - have if have else set():
        fix = "add them under OAuth & Permissions, install the app again"
        return Finding("Slack", "missing", f"scopes missing: {', '.join(sorted(lacking))}", fix)
    if settings.slack_app_token is None and settings.slack_signing_secret is None:
        # A container or a machine of its own for the worker service is not given what only the bot needs.
        what = "no SLACK_APP_TOKEN: `threadbook worker` starts, `threadbook bot` does not"
        fix = (
            "for a bot, make an app-level token with connections:write; in HTTP mode, set SLACK_SIGNING_SECRET instead"
        )
        return Finding("Slack", "note", f"{reply['user']} in {reply['team']}; {what}", fix)
    mode = "HTTP mode (`threadbook bot --http`)" if settings.slack_app_token is None else "Socket Mode"
    return Finding("Slack", "ok", f"{reply['user']} in {reply['team']}, {mode}")


def _many_workspaces(settings: Settings) -> Finding:
    """Whether workspaces can install the app, and whether the stored tokens can be read with the keys."""
    store = Store(settings.database_url)
    try:
        check_settings(settings)
        store.migrate()
        cipher, found = cipher_of(settings), store.installations()
        for each in found:
            cipher.decrypt(each.enterprise, each.team, each.secret)
    except OursToFix as error:
        return Finding("Slack", "missing", str(error), "see docs/many-workspaces.md")
    finally:
        store.close()
    if settings.slack_signing_secret is None:
        fix = "set SLACK_SIGNING_SECRET: workspaces install the app over the web, which needs HTTP mode"
        return Finding("Slack", "missing", "no SLACK_SIGNING_SECRET", fix)
    lacking = [
        f"{each.team or each.enterprise} ({', '.join(sorted(scopes))})"
        for each in found
        if (scopes := SCOPES - set(each.about.get("scopes") or SCOPES))
    ]
    if lacking:
        what = f"scopes missing in {'; '.join(lacking[:_MOST_NAMED])}"
        return Finding("Slack", "note", what, "an admin there opens /slack/install of the bot again")
    count = f"{len(found)} {'workspace has' if len(found) == 1 else 'workspaces have'} installed it"
    return Finding("Slack", "ok", f"many workspaces by OAuth, HTTP mode (`threadbook bot --http`), {count}")


def model(settings: Settings) -> Finding:
    """Which model will answer."""
    if settings.model_choice == "offline":
        fix = "set OPENAI_API_KEY (and OPENAI_BASE_URL, OPENAI_MODEL) for a real model"
        return Finding("Model", "note", "the built-in, rule-based offline analyst", fix)
    if settings.model_choice == "openai":
        return _endpoint(settings)
    return Finding("Model", "note", settings.model_choice, "a script answers; set THREADBOOK_MODEL=openai for a model")


def _endpoint(settings: Settings) -> Finding:
    """Whether the model endpoint lets us in, by asking it which models it has."""
    base = (settings.openai_base_url or OPENAI).rstrip("/")
    key = settings.openai_api_key.get_secret_value() if settings.openai_api_key else ""
    try:
        reply = httpx.get(f"{base}/models", headers={"Authorization": f"Bearer {key}"}, timeout=15)
    except httpx.HTTPError as error:
        return Finding("Model", "missing", f"{base} does not answer: {error}", "check OPENAI_BASE_URL and the network")
    if reply.status_code in (401, 403):
        return Finding("Model", "missing", f"{base} refuses the key ({reply.status_code})", "check OPENAI_API_KEY")
    if not reply.is_success:  # some servers speak Chat Completions and nothing else
        return Finding("Model", "note", f"{settings.openai_model} at {base}, not tried (no list of models)")
    return Finding("Model", "ok", f"{settings.openai_model} at {base}, which lets us in")


def sandbox(settings: Settings) -> Finding:
    """The strongest isolation that a real session gets here, by starting one."""
    with tempfile.TemporaryDirectory() as folder:
        cell = Path(folder) / "probe.py"
        cell.write_text("print(1 + 1)\n")
        outcome = launch.run_files(
            [cell], worded=lambda notices: in_words(notices, "en"), syscalls=settings.sandbox.syscalls
        )
    if outcome["cells"][0]["stdout"].strip() != "2":
        notice = outcome["cells"][0]["notice"] or outcome["cells"][0]["stderr"]
        return Finding("Sandbox", "missing", f"a session did not answer: {notice}", "see the worker's log")
    level = outcome["sandbox"]["level"]
    order = ("none", "reduced", "strong")
    weak = order.index(level) < order.index(settings.sandbox.minimum)
    found = Sandbox(**outcome["sandbox"])
    layers = tuple(probe.table(found))
    fix = f"a service on real Slack needs {settings.sandbox.minimum!r}; see the layers below" if weak else ""
    return Finding(
        "Sandbox",
        "note" if weak else "ok",
        f"level {level}, found by attacking a session; system calls: {found.syscalls}",
        fix,
        layers,
    )


def git(settings: Settings) -> Finding:
    """Whether the links of git repositories can be cloned here: git, its version, and the jail that it runs in.

    A service works without: people upload an archive instead.
    """
    found, wanted = look_for_git(), bool(settings.repositories.hosts or settings.repositories.private_hosts)
    used = "" if wanted else "; no host is allowed under [repositories], so no link is cloned"
    uploads = "until then people upload archives"
    if not found.path:
        return Finding("Git", "note", f"not installed{used}", f"apt install git (2.37 or newer); {uploads}")
    if not found.new_enough:
        what = f"{found.version or 'a version that cannot be read'}{used}"
        return Finding("Git", "note", what, f"links need git 2.37 or newer; {uploads}")
    if not found.jail:
        lacks = f" (no {found.lacks})" if found.lacks else ""
        what = f"{found.version}, but its jail cannot be used here{lacks}{used}"
        fix = f"links need Linux 5.13 or newer with Landlock, and seccomp on x86-64 or aarch64; {uploads}"
        return Finding("Git", "note", what, fix)
    return Finding("Git", "ok", f"{found.version}, runs in its jail{used}")


def languages(settings: Settings) -> Finding:
    """In which languages programs can be built and run here, and which toolchains lie where no sandbox shows them."""
    found = toolchains(own=settings.toolchains)
    hidden = [one for one in found if one.path and not one.shown]
    absent = [one.tool for one in found if not one.path]
    why = "is not used: the sandbox shows the system's folders and those of [sandbox] toolchains"
    places = [f"{one.tool} in {one.path} {why}" for one in hidden]
    what = "; ".join([", ".join(offered(found)), *places, *([f"not installed: {', '.join(absent)}"] if absent else [])])
    names = ", ".join(one.tool for one in hidden)
    fix = f"install {names} below /usr, or name its folder in [sandbox] toolchains" if hidden else ""
    return Finding("Languages", "note" if hidden else "ok", what, fix)


CHECKS: Mapping[str, Callable[[Settings], Finding]] = {
    "Python": python,
    "Redis": redis_server,
    "Versions": nodes_beside,
    "Store": store,
    "Files": files,
    "Home": home,
    "Slack": slack,
    "Model": model,
    "Sandbox": sandbox,
    "Git": git,
    "Languages": languages,
}
