"""From a requirement file to a program: plan, code, critics, repair, history. It knows nothing of Slack.

What stands above this room is handed in: the model, the prompts, and the walls in which programs run
(`sandbox/walls.py`).
"""
