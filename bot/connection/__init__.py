"""How events reach the bot: socket or HTTP, installations, manifest, health; what is tried again, what was missed."""
