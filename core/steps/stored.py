"""All kinds of steps, and how one is stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from core.steps.approvals import Agreed, Decided, Questioned, Redrafted
from core.steps.cells import CellRan, Queried, ToolCalled
from core.steps.files import Briefed, FilesHeld, FilesSettled, Unread
from core.steps.imported import Imported, Loaded, Said
from core.steps.model import Compacted, Corrected, ModelFailed, Planned, Replied
from core.steps.people import Acknowledged, Asked, Changed, Closed, Commanded, Noted, Preferred, Startup
from core.steps.reports import Checked, Finished, GaveUp, RouteBegan, RouteRan
from core.steps.sessions import Forgot, Forked, Inherited, LeaseGone, Moved, Resumed, Undone
from core.steps.team import FunctionTried, Learning, Proposed, Recalled, Settled, Unfollowed
from core.values import Value


class UnknownStep(Value):
    """A step that this version cannot read, usually because a newer one wrote it. `body` is its JSON, unchanged.

    People see it as "unknown step" in a replay. Nothing else acts on it. In memory its `kind` is "unknown"; in the
    Store it keeps its own (`stored_kind`).
    """

    kind: Literal["unknown"] = "unknown"
    body: dict[str, Any]

    @property
    def stored_kind(self) -> str:
        """The kind under which it is stored; "" when it has none."""
        return str(self.body.get("kind", ""))


KnownStep = Annotated[
    Asked
    | Noted
    | Changed
    | Preferred
    | Briefed
    | Recalled
    | Unfollowed
    | Learning
    | FunctionTried
    | Proposed
    | Settled
    | Unread
    | Replied
    | CellRan
    | Queried
    | ToolCalled
    | Planned
    | Corrected
    | Questioned
    | Agreed
    | Redrafted
    | Decided
    | FilesHeld
    | FilesSettled
    | Checked
    | RouteBegan
    | RouteRan
    | Finished
    | GaveUp
    | Commanded
    | Acknowledged
    | ModelFailed
    | Compacted
    | Resumed
    | Undone
    | Forgot
    | Closed
    | Moved
    | Forked
    | Inherited
    | Imported
    | Said
    | Loaded
    | Startup,
    Field(discriminator="kind"),
]
Step = KnownStep | UnknownStep | LeaseGone
_KNOWN: TypeAdapter[KnownStep] = TypeAdapter(KnownStep)


def load_step(data: Mapping[str, object]) -> Step:
    """The step of a stored JSON object; never raises. What this version does not know is kept, see above."""
    try:
        return _KNOWN.validate_python(data, extra="allow")
    except ValidationError:
        return UnknownStep(body=dict(data))


def dump_step(step: Step) -> dict[str, Any]:
    """The JSON object to store for a step. For a step that was loaded, it holds all that was stored."""
    return dict(step.body) if isinstance(step, UnknownStep) else step.model_dump(mode="json")
