"""conversations.*: what is in a channel and who."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation

from playground.api.call import Call
from playground.api.paging import MOST, page
from playground.errors import SlackError
from playground.shapes import channel_object
from playground.workspace import Json, Message


def info(call: Call) -> Json:
    """One conversation."""
    return {"channel": channel_object(call.hub.space, call.channel())}


def opened(call: Call) -> Json:
    """The direct message with one person."""
    space = call.hub.space
    if call.text("channel"):
        channel = call.channel()
    else:
        people = [each for each in call.text("users").split(",") if each]
        if not people:
            raise SlackError("users_list_not_supplied")
        if len(people) > 1:
            raise SlackError("method_not_supported_for_channel_type")
        channel = space.channel(space.user(people[0]).id)
    shown = channel_object(space, channel) if call.flag("return_im") else {"id": channel.id}
    return {"no_op": True, "already_open": True, "channel": shown}


def members(call: Call) -> Json:
    """The ids of the people in a conversation."""
    ids, cursor = page(call, call.channel().members)
    return {"members": ids, "response_metadata": {"next_cursor": cursor}}


KINDS = {"channel": "public_channel", "group": "private_channel", "im": "im"}


def of_user(call: Call) -> Json:
    """The conversations that a person is in, as far as the bot sees them; without a person, those of the bot."""
    space = call.hub.space
    wanted = [each.strip() for each in (call.text("types") or KINDS["channel"]).split(",")]
    user = space.user(call.text("user")).id if call.text("user") else space.bot.id
    found = [
        channel_object(space, each)
        for each in space.channels.values()
        if KINDS[each.kind] in wanted
        and user in each.members
        and (each.kind == "channel" or space.bot.id in each.members)
        and not (each.archived and call.flag("exclude_archived"))
    ]
    shown, cursor = page(call, found)
    return {"channels": shown, "response_metadata": {"next_cursor": cursor}}


def join(call: Call) -> Json:
    """Lets the bot into a public channel."""
    hub, channel = call.hub, call.channel()
    if channel.kind != "channel":
        raise SlackError("method_not_supported_for_channel_type")
    if channel.archived:
        raise SlackError("is_archived")
    if hub.space.bot.id in channel.members:
        warning = "already_in_channel"
        return {
            "channel": channel_object(hub.space, channel),
            "warning": warning,
            "response_metadata": {"warnings": [warning]},
        }
    channel.members.append(hub.space.bot.id)
    joined = Message(
        hub.space.clock.next(), channel.id, hub.space.bot.id, f"<@{hub.space.bot.id}> has joined the channel"
    )
    joined.subtype = "channel_join"
    hub.post(joined)
    return {"channel": channel_object(hub.space, channel)}


def history(call: Call) -> Json:
    """The top messages of a conversation, newest first."""
    channel = call.room()
    top = (each for each in channel.messages.values() if not each.is_reply or each.subtype == "thread_broadcast")
    return _listed(call, sorted(_within(call, top), key=lambda each: each.ts, reverse=True))


def replies(call: Call) -> Json:
    """A thread: its head, which the limit does not count, then the replies from oldest to newest."""
    channel = call.room()
    head = channel.messages.get(call.text("ts"))
    if head is None or head.only_for:
        raise SlackError("thread_not_found")
    if head.is_reply:
        return _listed(call, [head])
    most = call.hub.options.most_replies
    answer = _listed(call, _within(call, call.hub.space.replies(channel, head.ts)), default=1_000, most=most)
    if not call.text("cursor"):
        answer["messages"].insert(0, call.hub.shown(head, metadata=call.flag("include_all_metadata")))
    return answer


def _within(call: Call, messages: Iterable[Message]) -> list[Message]:
    oldest = _time(call, "oldest", "0")
    latest = _time(call, "latest", "inf")
    inclusive = call.flag("inclusive")

    def fits(ts: Decimal) -> bool:
        return oldest <= ts <= latest if inclusive else oldest < ts < latest

    return [each for each in messages if not each.only_for and fits(Decimal(each.ts))]


def _time(call: Call, name: str, default: str) -> Decimal:
    try:
        return Decimal(call.text(name) or default)
    except InvalidOperation:
        raise SlackError(f"invalid_ts_{name}") from None


def _listed(call: Call, messages: list[Message], default: int = 100, most: int = MOST) -> Json:
    shown, cursor = page(call, messages, default, most)
    return {
        "messages": [call.hub.shown(each, metadata=call.flag("include_all_metadata")) for each in shown],
        "has_more": bool(cursor),
        "response_metadata": {"next_cursor": cursor},
    }
