"""Playbooks: how a team does an analysis, as a page that people read, review and write by hand.

`page.py` is the format, `lifting.py` makes stages of a thread's cells, `matching.py` finds the playbook that a question
needs and says where the data has drifted from it.
"""
