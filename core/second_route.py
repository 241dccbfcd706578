"""The outcome of computing the headline figures of a report once more, by another way that knows nothing of the
first."""

from __future__ import annotations

from typing import Literal

from core.values import Value

Mode = Literal["off", "headline", "always"]

NoRoute = Literal[
    "budget", "approval", "model", "prose", "error", "time", "memory", "no_data", "nothing", "interrupted", "host"
]
"""Why nothing was compared.

`budget`: no model call is left for it. `approval`: a person would have to allow its code. `model`: the model could not
be asked. `prose`: it wrote no code. `error`, `time`, `memory`: its code failed, took too long, or its process ended.
`no_data`: its code opened none of the data. `nothing`: it computed none of these figures. `interrupted`: a worker died
in it. `host`: no room for it was free, or the session host did not answer.
"""

Reason = Literal["scale", "sign", "double", "close", "reading"]
"""The likely reason of a difference.

`scale`: a power of ten lies between both. `sign`: they differ in their sign. `double`: one is twice the other, as when
a row of totals is counted with its parts. `close`: they are within 2 %, as when a few rows are counted by one of them
only. `reading`: none of these; both read the question or the data in another way.
"""


class RouteFigure(Value):
    """A figure of the report beside what the second way gives.

    `same`: it gives that figure. `other`: it gives `value`, which it calls `name`. `absent`: it did not compute it.
    `factor` is the power of ten of a difference in scale.
    """

    figure: str
    state: Literal["same", "other", "absent"]
    name: str = ""
    value: str = ""
    why: Reason | Literal[""] = ""
    factor: str = ""


class SecondRoute(Value):
    """The outcome. `state` says what people see under the report:

    `agrees`: all figures that were compared are the same. `partly`: so are those that it computed; others it did not.
    `differs`: it gives another value for one of them. `unchecked`: nothing was compared, for `reason`.

    `reading` is how the second way understood the question, in its own words; `code` is what it ran in `seconds`.
    """

    state: Literal["agrees", "partly", "differs", "unchecked"]
    reason: NoRoute | Literal[""] = ""
    figures: tuple[RouteFigure, ...] = ()
    model: str = ""
    reading: str = ""
    code: str = ""
    seconds: float = 0.0
