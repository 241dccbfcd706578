"""What people can tell the bot to do: the registry of commands, their words, and what some of them take along."""
