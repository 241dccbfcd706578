"""The whole product on one machine: its real processes beside a local Slack, and a person who talks to them."""
