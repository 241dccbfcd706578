"""Jinja's environment for the page, and the helpers that templates use."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from playground.hub import Playground
from playground.page import text
from playground.page.emoji import by_name
from playground.workspace import Channel, File, Message, User, Workspace

INLINE_PICTURES = {"image/png", "image/jpeg", "image/gif", "image/webp"}
KINDS = {
    "csv": "table",
    "tsv": "table",
    "xlsx": "table",
    "parquet": "table",
    "py": "code",
    "ipynb": "code",
    "json": "code",
    "md": "text",
    "txt": "text",
    "html": "text",
    "pdf": "text",
}


class Pages:
    """Renders templates for one playground."""

    def __init__(self, hub: Playground) -> None:
        self.hub = hub
        environment = Environment(
            loader=PackageLoader("playground.page", "templates"),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.filters |= {
            "mrkdwn": self.mrkdwn,
            "markdown": text.markdown,
            "plain": text.plain,
            "emoji": by_name,
            "moment": moment,
            "bytes": byte_count,
            "initials": initials,
            "number": number,
        }
        environment.globals |= {
            "file_url": file_url,
            "file_kind": file_kind,
            "is_picture": is_picture,
            "link": text.link,
            "user_of": self.user_of,
            "picture_of": self.picture_of,
            "channel_name": self.channel_name,
        }
        self._environment = environment

    @property
    def space(self) -> Workspace:
        """The workspace as it is now; a reset replaces it."""
        return self.hub.space

    def page(self, name: str, **context: Any) -> str:
        """A template, rendered with the workspace at hand."""
        return self._environment.get_template(name).render(space=self.space, **context)

    def mrkdwn(self, source: str) -> Markup:
        """Slack's mark-up with names for ids."""
        return text.mrkdwn(source, lambda user_id: self.user_of(user_id).real_name, self.channel_name)

    def user_of(self, user_id: str) -> User:
        """The user, or a stand-in for an id nobody has."""
        return self.space.users.get(user_id) or User(user_id, user_id, user_id, "grey")

    def channel_name(self, channel_id: str) -> str:
        """A channel's name, the bot's for a direct message with it, or the id of an unknown one."""
        channel = self.space.channels.get(channel_id)
        return (channel.name or self.space.bot.real_name) if channel else channel_id

    def picture_of(self, block: dict[str, Any]) -> File | None:
        """The file that an image block or element shows, when it is one of ours."""
        wanted = (
            block.get("slack_file", {}).get("id")
            or block.get("slack_file", {}).get("url")
            or block.get("image_url", "")
        )
        own = (each for each in self.space.files.values() if each.id == wanted or f"-{each.id}/" in wanted)
        return next((each for each in own if is_picture(each)), None)

    def message_context(self, channel: Channel, message: Message, viewer: User) -> dict[str, Any]:
        """What message.html needs."""
        replies = [each for each in self.space.replies(channel, message.ts) if each.only_for in ("", viewer.id)]
        return {
            "channel": channel,
            "message": message,
            "author": self.user_of(message.user),
            "files": [self.space.files[each] for each in message.files if each in self.space.files],
            "replies": replies,
            "repliers": [self.user_of(each) for each in dict.fromkeys(reply.user for reply in replies)][:4],
            "status": self.space.status(channel.id, message.ts),
            "viewer": viewer,
            "shortcuts": [
                {"id": callback_id, "name": name}
                for callback_id, _, name in (each.partition("=") for each in self.hub.options.shortcuts)
            ],
        }


def moment(ts: str) -> datetime:
    """A message's ts as a time in UTC."""
    return datetime.fromtimestamp(float(ts), UTC)


def byte_count(size: int) -> str:
    """A size as people say it."""
    amount = float(size)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 100 else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def initials(user: User) -> str:
    """One or two letters for the drawn avatar."""
    words = user.real_name.split()
    return (words[0][:1] + words[-1][:1]).upper() if len(words) > 1 else user.real_name[:1].upper()


def number(cell: dict[str, Any]) -> str:
    """The text of a raw_number cell."""
    return str(cell.get("text") or cell.get("value"))


def file_url(file: File) -> str:
    """Where the page gets a file."""
    return f"/f/{file.id}/{quote(file.name, safe='')}"


def file_kind(file: File) -> str:
    """table, code, text, image or other: the colour and icon of its card."""
    if is_picture(file):
        return "image"
    return KINDS.get(file.name.rpartition(".")[2].lower(), "other")


def is_picture(file: File) -> bool:
    """Whether the page shows it inline."""
    return file.mimetype in INLINE_PICTURES
