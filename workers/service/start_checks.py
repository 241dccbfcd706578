"""What must hold before a worker service takes work: Redis answers, no second node clashes, the sandbox is strong."""

from __future__ import annotations

from contextlib import suppress

from redis import Redis, RedisError, ResponseError
from slack_sdk.errors import SlackApiError

from core.errors import OursToFix, SettingsError
from core.node_file import node_file, read_node_file
from core.queue import NodeSeen, Wakes, nodes, versions
from core.redis_writes import refusal
from core.release import version
from core.retry import retry_call, wait_until
from core.settings import Settings
from core.slack.client import LOST, error_name, passes_by_itself, web_client
from core.telemetry import get_logger

log = get_logger(__name__)

START_TIMEOUT_S = 30.0
"""How long a start waits for Redis, for the database, and for an older session host to end."""
POLL_S = 0.5
_SLACK_ANSWER_S = 5
NODE_POLL_S = 0.1
"""Often enough to see that a node announced itself again."""

LEVELS = ("none", "reduced", "strong")


class CannotStart(OursToFix):
    """The worker service cannot start; the message says why and what to do."""


def wait_for_redis(redis: Redis) -> None:
    """Return once Redis answers. Raises CannotStart when it does not in `START_TIMEOUT_S`."""
    retry_call(
        redis.ping,
        on=RedisError,
        for_s=START_TIMEOUT_S,
        every_s=POLL_S,
        give_up=_does_not_answer,
    )
    refuse_unfit_redis(redis)


def _does_not_answer(error: Exception) -> CannotStart:
    why = refusal(error)
    return CannotStart(f"Redis does not answer ({error}). Check REDIS_URL." if why is None else f"{why}.")


def refuse_unfit_redis(redis: Redis) -> None:
    """Raise CannotStart for a Sentinel, which keeps nothing, and for a Cluster, which spreads our keys."""
    with suppress(ResponseError):  # a managed server may refuse INFO: then it is taken for what most are
        server = redis.info("server")
        mode = server.get("redis_mode") or server.get("server_mode", "standalone")  # Redis, Valkey
        if mode != "standalone":
            raise CannotStart(
                f"REDIS_URL leads to a Redis that runs as {mode}, which is not supported: give the address of one "
                "server, or of a proxy that leads to the current primary."
            )


def refuse_wrong_token(settings: Settings) -> None:
    """Raise SettingsError when Slack refuses the token. A Slack that does not answer stops no service.

    With many workspaces each has a token of its own.
    """
    if settings.many_workspaces:
        return
    client = web_client(settings)
    client.timeout = _SLACK_ANSWER_S
    client.retry_handlers = []
    try:
        client.auth_test()
    except LOST:
        return
    except SlackApiError as error:
        if not passes_by_itself(error):
            raise SettingsError(
                f"Slack refuses SLACK_BOT_TOKEN: {error_name(error)}. Copy the app's Bot User OAuth Token (xoxb-…) "
                "from its page OAuth & Permissions, or install the app again where Slack shows none."
            ) from error


def refuse_second_node(redis: Redis, settings: Settings) -> None:
    """Raise CannotStart when another live node works with this Redis and threads could not move between the two."""
    missing = settings.missing_for_several_nodes
    seen: dict[str, NodeSeen] = {}

    def is_alone() -> bool:
        node = _clashing_node(redis, settings)
        if node is None:
            return True
        if _announces_again(node, seen):
            raise CannotStart(_why_alone(node.id, missing))
        return False

    if not wait_until(is_alone, for_s=START_TIMEOUT_S, every_s=NODE_POLL_S):
        raise CannotStart(_why_alone(", ".join(seen), missing))


def refuse_second_of_a_name(redis: Redis, wakes: Wakes, settings: Settings) -> None:
    """Raise CannotStart when another live service has this node's name: its threads would run at both.

    When the name was announced by a killed service of the same home, it is taken over at once.
    """
    seen: dict[str, NodeSeen] = {}

    def is_free() -> bool:
        node = next((node for node in nodes(redis) if node.id == settings.node_id), None)
        if node is None:
            return True
        own = read_node_file(settings.home)
        if own is not None and own.is_original and own.instance and own.instance == node.instance:
            wakes.retire_node(node.id, instance=node.instance)
            return True
        if _announces_again(node, seen):
            raise CannotStart(name_taken(node, settings))
        return False

    if not wait_until(is_free, for_s=START_TIMEOUT_S, every_s=NODE_POLL_S):
        raise CannotStart(name_taken(seen.get(settings.node_id), settings))


def tell_other_versions(redis: Redis, settings: Settings) -> None:
    """Write to the log which nodes run another version, for an upgrade that was left half done."""
    ours = version()
    others = {node: other for node, other in versions(nodes(redis)).items() if node != settings.node_id}
    if different := {node: other for node, other in others.items() if other != ours}:
        log.warning("other_versions_run", ours=ours, others=different)


def _announces_again(node: NodeSeen, seen: dict[str, NodeSeen]) -> bool:
    """Whether a node has announced itself since it was last `seen`; notes how it is seen now.

    One that was killed stays announced for a moment. Only one that announces itself again is alive.
    """
    before, seen[node.id] = seen.get(node.id, node), node
    return node.seen_s_ago < before.seen_s_ago


def name_taken(other: NodeSeen | None, settings: Settings) -> str:
    """The sentence for a node whose name another service has."""
    machine = f" on {other.about['machine']}" if other is not None and other.about.get("machine") else ""
    return (
        f"another worker service{machine} works under this node's name, {settings.node_id!r}. Its threads would run "
        "twice. Give this one another name (THREADBOOK_NODE_ID; a copied .env or home folder brings the old one along: "
        f"then remove {node_file(settings.home)} too), or stop the other one."
    )


def _clashing_node(redis: Redis, settings: Settings) -> NodeSeen | None:
    """Another announced node between which and this one no thread could move; None when there is none."""
    others = [node for node in nodes(redis) if node.id != settings.node_id]
    clash = next((node for node in others if not node.about.get("hands_over")), None)
    if clash is None and settings.missing_for_several_nodes:
        return next(iter(others), None)
    return clash


def refuse_weak_sandbox(level: str, settings: Settings) -> None:
    """On real Slack, raise CannotStart when the sandbox is weaker than the team wants. Elsewhere any level will do."""
    minimum = settings.sandbox.minimum
    if settings.is_real_slack and LEVELS.index(level) < LEVELS.index(minimum):
        raise CannotStart(
            f"the sandbox on this node is {level!r}, [sandbox] minimum in threadbook.toml is {minimum!r}. "
            "`threadbook doctor` says which layer is missing; a lower minimum is a decision for the whole team."
        )


def _why_alone(other: str, missing: tuple[str, ...]) -> str:
    if not missing:
        return f"node {other} works with this Redis already and cannot share its threads; its own log says why."
    return (
        f"node {other} works with this Redis already, and threads cannot move between the two: {'; '.join(missing)}. "
        "For several nodes, set all of it, the same on each; else stop the other one, or give this one a Redis "
        "database of its own (REDIS_URL)."
    )
