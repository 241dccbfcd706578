"""The app's home: its page, its forms, its windows of threads, schedules and memory."""
