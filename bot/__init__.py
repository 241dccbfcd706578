"""Slack intake, fast and forgetful: events become stored messages and a wake; all else happens in the workers."""

from bot.service import main, running_bot, running_web_bot

__all__ = ["main", "running_bot", "running_web_bot"]
