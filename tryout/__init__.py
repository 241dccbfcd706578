"""The commands of `threadbook`, and the whole product on one machine: the real processes beside a local Slack."""
