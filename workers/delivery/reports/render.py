"""A report as messages within Slack's limits, and as files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from core.clean_room import CleanRoom
from core.phrases import say
from core.slack import blocks as kit
from core.slack.blocks import Block, Limit, SlackMessage
from core.slack.markdown import Table, cut_markdown, plain_text, split_tables, with_emphasis
from core.slack.report_views import report_buttons
from core.slack.sanitize import addresses, sanitize
from core.slack.text import clip, escape
from core.values import Language
from workers.delivery.reports import compose
from workers.delivery.reports.badge import badge
from workers.delivery.reports.notebook import notebook, script
from workers.delivery.reports.page import page
from workers.delivery.reports.tables import alignments, preview, to_csv
from workers.delivery.reports.values import Report, ReportFile, ReportInput

_MESSAGE = 10_500
"""Characters of one message, well under what Slack was seen to refuse."""
_LEAST = 1_500
"""With less room than this a text that does not fit begins in the next message."""
_TABLE_BLOCKS = 6
"""Each table block ends its message; a report with more tables keeps the rest inside its text and does not flood."""
_THREAD = 60_000
"""Characters of the model's report that the thread shows. A longer one would flood it; report.md holds all of it."""
_QUESTION = 300
_SHORT = 600
"""Characters of an answer that is all there is to say."""
PAGE = "report.html"
_BADGE = 1_500
_BADGE_ID = "clean_room"


def render_report(given: ReportInput) -> Report:
    """The report of a finished turn: messages, files, and the whole text.

    No word of the model's report is lost: the messages hold all of it up to 60,000 characters, its page always. How it
    was done stands on the page and behind the buttons, not in the thread.
    """
    thread = _Thread(given)
    question = " ".join(given.question.split())
    if question:
        thread.add(kit.quote(clip(question, _QUESTION)))
    report = given.report.strip("\n")
    rest = ""
    if len(report) > _THREAD:
        report, rest = cut_markdown(report, _THREAD)
    thread.add_markdown(with_emphasis(sanitize(report, addresses(given.question))))
    if rest:
        thread.add(kit.context(escape(say("report_rest_in_file", given.language))))
    if limits := compose.limits(given):
        thread.add_markdown(sanitize(limits))
    if quiet := [line for line in (compose.files_line(given), compose.footer(given)) if line]:
        thread.add(kit.context(*(escape(line) for line in quiet)))
    last = [badge_block(given.clean_room, given.language)] if given.clean_room is not None else []
    if given.turn_id:
        has = {"has_sources": bool(given.sources), "has_code": bool(given.cells)}
        last.append(report_buttons(given.turn_id, given.language, **has))
    thread.add(*last)
    whole = compose.whole(given)
    files = (
        ReportFile(PAGE, "text/html", page(given).encode()),
        ReportFile("report.md", "text/markdown", whole.encode()),
        *thread.files,
        ReportFile("analysis.ipynb", "application/x-ipynb+json", notebook(given).encode()),
        ReportFile("analysis.py", "text/x-python", script(given).encode()),
    )
    if not given.cells and not given.earlier:
        files = files[:-2]
    shown = {file.name for file in thread.files} | ({PAGE} if _is_more_than_a_line(given) else set())
    return Report(thread.messages(), files, whole, frozenset(shown))


def _is_more_than_a_line(given: ReportInput) -> bool:
    """Whether the answer is worth a file of its own in the thread; a short one has its button for all files."""
    has_table = any(isinstance(part, Table) for part in split_tables(given.report))
    return has_table or len(given.report) > _SHORT or any(cell.figures for cell in given.cells)


def badge_block(outcome: CleanRoom, language: Language) -> Block:
    """The badge, in the report's last message, above its buttons."""
    return {**kit.context(escape(clip(badge(outcome, language), _BADGE))), "block_id": _BADGE_ID}


def with_badge(blocks: Sequence[Block], outcome: CleanRoom, language: Language) -> list[Block]:
    """These blocks of a message with this badge in place of the one that they have."""
    return [badge_block(outcome, language) if block.get("block_id") == _BADGE_ID else block for block in blocks]


class _Thread:
    """The messages under construction: blocks go into the last one while it has room, else open the next."""

    def __init__(self, given: ReportInput) -> None:
        self.files: list[ReportFile] = []
        self._given = given
        self._messages: list[list[Block]] = [[]]
        self._tables = 0

    def messages(self) -> tuple[SlackMessage, ...]:
        return tuple(SlackMessage(_summary(blocks), blocks) for blocks in self._messages if blocks)

    def add(self, *blocks: Block) -> None:
        """Blocks that are posted as they are, in one message, which is the same if they fit."""
        if self._room() < kit.characters(list(blocks)):
            self._messages.append([])
        self._messages[-1].extend(blocks)

    def add_markdown(self, text: str) -> None:
        """Markdown with its tables."""
        for part in split_tables(text):
            if isinstance(part, str):
                self._add_text(part)
            elif kit.fits_table(part.rows) and self._tables < _TABLE_BLOCKS:
                self._add_table(part.rows, part)
            elif kit.fits_table(part.rows):
                self._add_text(part.source)
            else:
                self._add_preview(part)

    def _add_text(self, text: str) -> None:
        text = text.strip("\n")
        while text.strip():
            room = self._room()
            if len(text) <= room:
                self._messages[-1].append(kit.markdown(text))
                return
            if room < _LEAST:
                self._messages.append([])
                continue
            piece, text = cut_markdown(text, room)
            if piece.strip():
                self._messages[-1].append(kit.markdown(piece.strip("\n")))
            self._messages.append([])
            text = text.lstrip("\n")

    def _add_table(self, rows: Iterable[Iterable[str]], table: Table) -> None:
        shown = [list(row) for row in rows]
        block = kit.table(shown, alignments(shown, table.aligns[: Limit.TABLE_COLUMNS]))
        if self._room() < kit.characters([block]):
            self._messages.append([])
        self._messages[-1].append(block)
        # Slack shows a table below everything else of its message and takes only one: the text after it is a new one.
        self._messages.append([])
        self._tables += 1

    def _add_preview(self, table: Table) -> None:
        name = f"table-{len(self.files) + 1}.csv"
        self.files.append(ReportFile(name, "text/csv", to_csv(table.rows)))
        shown = preview(table.rows)
        note = say(
            "report_table_in_file",
            self._given.language,
            shown=len(shown) - 1,
            rows=len(table.rows) - 1,
            columns=len(table.rows[0]),
            name=name,
        )
        self._add_text(f"*{note}*")
        self._add_table(shown, table)

    def _room(self) -> int:
        return _MESSAGE - kit.characters(self._messages[-1])


def _summary(blocks: list[Block]) -> str:
    """The words of a message for notifications, quotation and footer left out."""
    lines: list[str] = []
    for block in blocks:
        if block["type"] == "markdown":
            lines.append(plain_text(block["text"]))
        elif block["type"] == "table":
            lines += [" | ".join(cell["text"] for cell in row) for row in block["rows"]]
    text = "\n".join(line for line in lines if line.strip())
    return kit.fallback(text or "…")
