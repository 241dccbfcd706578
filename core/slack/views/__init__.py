"""What people see in Slack as blocks: messages with buttons, windows, the app's home. No call is made here."""
