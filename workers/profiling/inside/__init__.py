"""Describes files from inside a thread's sandbox: `file_profiles.py` sends these modules there as a cell's text.

Only the standard library and what cells may import; nothing of ours. `cell.main` is the entry. What it prints is
untrusted when it comes back.
"""
