"""The messages that a turn reads: its mail, with the conversation of people that the bot was called into."""
