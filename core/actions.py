"""What people may be allowed or refused: the one list of actions. `core/access.py` decides, `[access]` says who.

An entry is all that a new action needs: its name, who may do it unless a team says otherwise, and what it is. From the
list come the keys of `[access]` and of `[channels.ID.access]`, and the page of settings.
"""

from __future__ import annotations

from enum import Enum
from typing import Self

MEMBERS, GUESTS, STRANGERS = "members", "guests", "strangers"
ASKER, THREAD, ADMINS, OPERATORS = "asker", "thread", "admins", "operators"
GROUPS_OF_PEOPLE = frozenset({MEMBERS, GUESTS, STRANGERS, ASKER, THREAD, ADMINS, OPERATORS})
"""members: of the workspace, without guests · guests: of the workspace · strangers: people of other workspaces ·
asker: who began the thread or the question · thread: members who wrote
in the thread · admins: of Slack's workspace, and those that `[access]` names ·
operators: whoever runs a command on a node."""


class Action(Enum):
    """One thing that somebody may do to a resource."""

    ASK = "ask", (MEMBERS,), "Begin a turn."
    STEER = "steer", (MEMBERS,), "Write to a turn that runs."
    ANSWER = "answer", (MEMBERS,), "Answer a question of the analyst."
    STOP = "stop", (MEMBERS,), "Stop a turn."
    QUERY = "query", (MEMBERS,), "Have the analyst query data sources."
    CALL = "call", (MEMBERS,), "Have the analyst call tools of other systems."
    CONTEXT = (
        "context",
        (MEMBERS,),
        "Leave a message out of the analyst's context, edit it for the analyst, or put it back.",
    )
    SPEAK = "speak", (ASKER, ADMINS), "Write the analyst's next message or cell."
    LEAVE = "leave", (MEMBERS,), "Send the bot out of a thread."
    UNDO = "undo", (MEMBERS,), "Take the last cell back."
    RUN = "run", (MEMBERS,), "Run their own code in a thread."
    RESET = "reset", (ASKER, ADMINS), "Ask for a reset of the session."
    CONFIRM = "confirm", (ASKER, ADMINS), "Confirm or decline what cannot be undone."
    APPROVE = "approve", (ASKER, ADMINS), "Decide whether a cell or a statement may run, and whether files may be sent."
    REMEMBER = "remember", (MEMBERS, OPERATORS), "Decide what the team's memory keeps or forgets."
    TEACH = "teach", (ASKER, ADMINS, OPERATORS), "Approve a playbook or a function, or change it before that."
    BUILD = "build", (MEMBERS,), "Have a program written from a requirement file, or change that file."
    INSTALL = "install", (ASKER, ADMINS), "Decide whether the packages that a program needs are installed for it."
    LOOK = "look", (MEMBERS,), "See the sources and the code of a report, and rate it."
    INSTRUCT = "instruct", (MEMBERS,), "Write instructions for every answer in a channel that they are in."
    SETTINGS = (
        "settings",
        (ADMINS,),
        "Change policies and budgets in the app's home, if threadbook.toml does not set them.",
    )
    PIN = "pin", (MEMBERS,), "Pin a thread, or remove its pin."
    SCHEDULE = "schedule", (MEMBERS,), "Schedule a report; pause, resume and stop its schedule."
    REPLAY = "replay", (ASKER, ADMINS, OPERATORS), "See the steps of a thread."
    STATUS = "status", (ADMINS, OPERATORS), "See what happens in all threads."
    AUDIT = "audit", (ADMINS, OPERATORS), "Read who did what."
    EXPORT = "export", (ADMINS, OPERATORS), "Write the threads as training data."
    IMPORT = "import", (ADMINS, OPERATORS), "Import conversations from other tools."
    PURGE = "purge", (ADMINS, OPERATORS), "Delete for good."

    default: tuple[str, ...]
    about: str

    def __new__(cls, value: str, default: tuple[str, ...], about: str) -> Self:
        """An action is found by its name: `Action("ask")`."""
        action = object.__new__(cls)
        action._value_ = value
        action.default, action.about = default, about
        return action
