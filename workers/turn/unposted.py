"""What happens when Slack lets nothing into a thread: the person who asked hears it in a direct message."""

from __future__ import annotations

from slack_sdk.errors import SlackApiError

from core.errors import OursToFix, SlackUnreachable
from core.phrases import say
from core.slack.client import error_name, passes_by_itself
from core.slack.text import escape
from core.telemetry import get_logger
from core.values import Language, Lease, ThreadKey
from workers.turn.context import TurnContext

log = get_logger(__name__)

_REASONS = {
    "channel_not_found": "unposted_not_in",
    "is_archived": "unposted_archived",
    "no_permission": "unposted_restricted",
    "not_in_channel": "unposted_not_in",
    "thread_not_found": "unposted_thread",
}
"""The sentences for Slack's names of errors. Those of `restricted_action…` have one too."""

_WHOLE_WORKSPACE = frozenset(
    {
        "account_inactive",
        "ekm_access_denied",
        "invalid_auth",
        "org_login_required",
        "team_access_not_granted",
        "token_expired",
        "token_revoked",
    }
)
"""Refusals that say nothing about the thread: a direct message would get the same one."""


def name_of_refusal(error: OursToFix) -> str:
    """Slack's name of the error if it refused our words in a thread until somebody acts.

    "" when that passes by itself, or concerns the whole workspace.
    """
    refused = error.__cause__
    if not isinstance(refused, SlackApiError) or passes_by_itself(refused):
        return ""
    name = error_name(refused)
    return "" if name in _WHOLE_WORKSPACE else name


def is_final(name: str) -> bool:
    """Whether nobody can open the thread again after a refusal of this name."""
    return name == "thread_not_found"


def reason_of_refusal(name: str, language: Language) -> str:
    """The sentence for people about a refusal of this name."""
    if name.startswith("restricted_action"):
        return say("unposted_restricted", language)
    if name in _REASONS:
        return say(_REASONS[name], language)
    return say("unposted_other", language, error=escape(name))


def tell_refused(
    context: TurnContext, lease: Lease, error: OursToFix, *, user: str, language: Language, key: str
) -> bool:
    """If Slack refused our words in the lease's thread, tell this person privately, once per `key`.

    Returns whether it was refused there. The log tells the admin, also where Slack refuses the direct message too.
    Raises LeaseLost.
    """
    if not (name := name_of_refusal(error)):
        return False
    thread = ThreadKey.parse(lease.thread_id)
    log.error("thread_takes_no_posts", channel=thread.channel, error=name)
    text = say(
        "unposted",
        language,
        channel=thread.channel,
        reason=reason_of_refusal(name, language),
        further=say(_further(name, waits=isinstance(error, SlackUnreachable)), language),
    )
    try:
        context.slack.begin_privately(lease, thread, user, key, text)
    except OursToFix as failed:
        log.warning("person_not_told", user=user, error=failed)
    return True


def _further(name: str, *, waits: bool) -> str:
    if is_final(name):
        return "unposted_anew"
    return "unposted_waits" if waits else "unposted_continue"
