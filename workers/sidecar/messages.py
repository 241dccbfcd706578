"""What a reply of a sidecar is: `{"answered": …}`, or `{"failed": …}` with this in it."""

from __future__ import annotations

from types import ModuleType
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict

Error = TypeVar("Error", bound=Exception)


class Failed(BaseModel):
    """Why there is no answer: the name of an error that the client knows, and its sentence."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    message: str


def raise_failure(reply: dict[str, Any], errors: ModuleType, root: type[Error], other: type[Error]) -> None:
    """Raise what a reply says went wrong, if it does: an error of the module below `root`, else `other`.

    Raises ValidationError for a failure that is none.
    """
    if "failed" not in reply:
        return
    failed = Failed.model_validate(reply["failed"])
    kind = getattr(errors, failed.kind, None)
    raise (kind if isinstance(kind, type) and issubclass(kind, root) else other)(failed.message)
