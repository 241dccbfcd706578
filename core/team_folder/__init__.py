"""The folder of Markdown in which a team keeps what it has learned: who reads which part, pages, their entries.

The workers read it for each question (`workers/memory/`), the bot for the app's home.
"""
