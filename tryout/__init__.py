"""The whole product on one machine without Slack's servers: the real processes beside a local Slack."""
