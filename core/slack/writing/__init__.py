"""What is written to Slack: each post once, through the outbox; uploads; signs that a message is being worked on."""
