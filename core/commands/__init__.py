"""What people can tell the bot to do: the registry of commands, their words, and what goes with some of them."""
