"""Pictures in a prompt: charts of cells and images that people sent, for a model that sees.

A message only names them. The sender of the request reads the bytes (`workers/turn/model_call.py`). A picture is sent
unchanged: it was drawn or opened inside the sandbox, and nothing outside decodes it. For a large image, the smaller
copy from the sandbox is sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from core.steps import Briefed, CellRan, FileAbstract, Step
from core.values import StoredFile
from workers.agent.actions import Message
from workers.agent.redrawn import as_last_drawn
from workers.agent.text import one_line
from workers.agent.turn import Turn

PICTURE_CHARS = 4_000
"""What a picture counts in the length of a prompt: about 1,000 tokens, as a chart of 1,500 x 900 pixels takes."""
MOST_BYTES = 4_000_000
"""Endpoints refuse pictures from 5 MB on. A picture that is larger than this is replaced by a smaller copy."""
MOST_CHARTS = 8
"""Charts of one turn: the first ones, so that a prompt begins as before and the endpoint's cache works."""
MOST_JUDGED = 4
"""Charts that the judge of a report is shown: the last ones of the turn, small."""
MOST_IMAGES = 4
"""Images of one message."""
IMAGES: Mapping[str, str] = {"png": "image/png", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"}
"""The formats of pictures that people send, with their media types."""
_NAME_CHARS = 120


def pictures_in(message: Message) -> Sequence[Mapping[str, str]]:
    """The pictures that a message names, each with `name`, `mimetype` and `sha256`; `detail` where small is enough."""
    found: Sequence[Mapping[str, str]] = message.get("pictures", ())
    return found


def with_pictures(message: Message, pictures: Sequence[Mapping[str, str]]) -> Message:
    """The message with these pictures."""
    return {**message, "pictures": list(pictures)} if pictures else message


def shown_charts(steps: Iterable[Step]) -> frozenset[str]:
    """The digests of the charts of one turn that a model is shown. Those of a cell that was undone are gone."""
    charts = [figure.sha256 for cell in _drawing(steps) for figure in cell.figures if _is_chart(figure)]
    return frozenset(list(dict.fromkeys(charts))[:MOST_CHARTS])


def picture_message(
    turn: Turn, cells: Sequence[CellRan], briefings: Sequence[Briefed], charts: frozenset[str], *, room: bool
) -> list[Message]:
    """The pictures of these cells and of these files, in one message; nothing when there are none.

    If people sent pictures, but the model does not see or there is no room, the model is told so: it must not invent
    what they show.
    """
    sent = [file for briefed in briefings for file in briefed.files if file.format in IMAGES]
    if not turn.sees:
        text = turn.prompts.render("pictures", sees=False, charts=[], images=_names(sent), others=[])
        return [{"role": "user", "content": text}] if sent else []
    images = [file for file in sent if _sent_as(file)][: MOST_IMAGES if room else 0]
    found: list[dict[str, str]] = []
    drawn: list[str] = []
    for cell in cells:
        for figure in cell.figures:
            if figure.sha256 in charts and figure.sha256 not in {each["sha256"] for each in found}:
                found.append({"name": figure.name, "mimetype": figure.mimetype, "sha256": figure.sha256})
                drawn.append(f"{one_line(figure.name, _NAME_CHARS)} of cell {turn.number_of(cell)}")
    found += [image for file in images if (image := _sent_as(file))]
    if not found and not sent:
        return []
    text = turn.prompts.render(
        "pictures",
        sees=True,
        charts=drawn,
        images=[
            f"{name} (a smaller copy)" if file.size > MOST_BYTES else name
            for file, name in zip(images, _names(images), strict=True)
        ],
        others=_names([file for file in sent if file not in images]),
    )
    return [with_pictures({"role": "user", "content": text}, found)]


def judged_charts(turn: Turn) -> list[dict[str, str]]:
    """The last charts of this turn, for a judge that sees: does the report say what they show?"""
    if not turn.sees:
        return []
    found: dict[str, dict[str, str]] = {}
    for cell in as_last_drawn(list(_drawing(turn.steps))):
        for figure in filter(_is_chart, cell.figures):
            name = f"{one_line(figure.name, _NAME_CHARS)} of cell {turn.number_of(cell)}"
            found[figure.sha256] = {
                "name": name, "mimetype": figure.mimetype, "sha256": figure.sha256, "detail": "low"
            }  # fmt: skip
    return list(found.values())[-MOST_JUDGED:]


def is_shown(file: FileAbstract) -> bool:
    """Whether a file is a picture that a model which sees is shown."""
    return file.format in IMAGES and _sent_as(file) is not None


def _drawing(steps: Iterable[Step]) -> Iterator[CellRan]:
    """The cells whose charts still count."""
    cells = (step for step in steps if isinstance(step, CellRan))
    return (cell for cell in cells if not cell.left_out and cell.status != "undone")


def _is_chart(figure: StoredFile) -> bool:
    return figure.mimetype == IMAGES["png"] and 0 < figure.size <= MOST_BYTES


def _names(files: Sequence[FileAbstract]) -> list[str]:
    return [one_line(file.path, _NAME_CHARS) for file in files]


def _sent_as(file: FileAbstract) -> dict[str, str] | None:
    """What is sent of an image: itself, else its smaller copy; None when both are too large."""
    if file.size <= MOST_BYTES:
        return {"name": file.path, "mimetype": IMAGES[file.format], "sha256": file.sha256}
    if file.smaller is None or file.smaller.size > MOST_BYTES:
        return None
    return {"name": file.smaller.name, "mimetype": file.smaller.mimetype, "sha256": file.smaller.sha256}
