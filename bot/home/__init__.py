"""The app's home: its page, its forms, its schedules, its windows of threads and of the team's memory."""
