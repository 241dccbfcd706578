"""What a team has learned, in a folder of Markdown that people can keep in git.

The folder itself is `core/team_folder/`. `documents.py` finds what a question needs of its entries, `remembering.py`
makes an entry of what a person says. Nothing here knows Slack or a model.
"""
