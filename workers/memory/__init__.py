"""What a team has learned, in a folder of Markdown that people can keep in git.

`pages.py` reads and writes a page of entries, `spaces.py` says which folders a channel reads, `documents.py` finds what
a question needs of them, `remembering.py` makes an entry of what a person says. Nothing here knows Slack or a model.
"""
