"""How events reach the bot: the socket or HTTP, installations of the app, what is tried again, what was missed."""
