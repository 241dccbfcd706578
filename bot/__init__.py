"""Slack intake: events become stored messages and a wake; all other work is done by the workers."""

from bot.service import main, running_bot, running_web_bot

__all__ = ["main", "running_bot", "running_web_bot"]
