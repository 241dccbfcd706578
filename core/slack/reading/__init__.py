"""What is read from Slack: threads and their messages, files, people, channels. All of it is untrusted."""
