"""The words that the bot and the workers share: settings, values, store, queue, Slack, blocks, errors, telemetry."""
