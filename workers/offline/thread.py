"""What the analyst makes of a thread: the tables as one frame, what was found out so far, what is asked now."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from core.steps import CellRan
from core.values import Language
from workers.offline import columns as cols
from workers.offline.cells import FIRST, literal, stage_of
from workers.offline.intent import Known, understand
from workers.offline.joining import joined, rejoined
from workers.offline.lexicon import concepts_of, find, lexicon, words
from workers.offline.reading import facts_of
from workers.offline.values import Column, Facts, Filter, Intent, Join, Table, TurnContent, Unclear, of_kind
from workers.offline.wording import say


@dataclass(frozen=True, slots=True)
class Refunds:
    """How the data marks refunds: the column and its values that say so.

    `own_rows` says that a refund is a row beside the sale that it undoes, not a mark on the order itself.
    """

    column: str
    values: tuple[str, ...]
    own_rows: bool = True


@dataclass(frozen=True, slots=True)
class Thread:
    """Everything that the next move follows from.

    `turns` are the thread's turns; the last one is being worked on. `intents` are the parts of what is asked now;
    `unclear` is set instead when a word of it has to be asked about. `since` are this turn's cells that still count
    (those after the session was last lost); `loaded` are the thread's cells since these tables were last loaded.
    """

    turns: tuple[TurnContent, ...]
    language: Language
    text: str
    join: Join | None
    facts: Facts
    intents: tuple[Intent, ...]
    unclear: Unclear | None
    refunds: Refunds | None
    currency: str
    since: tuple[CellRan, ...]
    loaded: tuple[CellRan, ...]
    sources: tuple[str, ...]

    def say(self, group: str, key: str, sign: str = "", /, **variables: object) -> str:
        """One sentence in the thread's language (`wording.say`)."""
        return say(group, key, self.language, sign, **variables)

    def sign_of(self, column: Column | None) -> str:
        """The sign of currency of a column of money; empty for any other."""
        return self.currency if column and cols.is_money(column) else ""

    @property
    def ready(self) -> bool:
        """True when the session holds `df`, loaded and cleaned from these tables."""
        return done("clean", self.loaded)

    @property
    def number(self) -> int:
        """Which turn of the thread this is, from 1."""
        return len(self.turns)

    @property
    def current(self) -> TurnContent:
        """The turn being worked on."""
        return self.turns[-1]

    @property
    def cells(self) -> tuple[CellRan, ...]:
        """All cells of the thread, oldest first."""
        return _cells(self.turns)


def understand_thread(turns: tuple[TurnContent, ...], sources: tuple[str, ...], language: Language) -> Thread:
    """The thread as the analyst sees it, with the data sources that it may ask and the language to answer in.

    Pure: the same turns give the same.
    """
    current = turns[-1]
    text = current.texts[-1] if current.texts else ""
    join = _frame(turns, _tables(turns))
    since = _since_session_lost(current.cells)
    loaded = _since_loaded(turns, since, join) if join else ()
    facts = facts_of(loaded)
    if join and (derived := cols.amount_to_derive(join.columns)):
        join = replace(join, derived=(derived,))
    refunds = _refunds(join, facts) if join else None
    asked_now = _asked_now(turns, join, facts, refunds, sources=sources, language=language)
    unclear = asked_now if isinstance(asked_now, Unclear) else None
    return Thread(
        turns=turns,
        language=language,
        text=text,
        join=join,
        facts=facts,
        intents=() if isinstance(asked_now, Unclear) else asked_now,
        unclear=unclear,
        refunds=refunds,
        currency=_currency(join) if join else "",
        since=since,
        loaded=loaded,
        sources=sources,
    )


def _cells(turns: Sequence[TurnContent]) -> tuple[CellRan, ...]:
    return tuple(chain.from_iterable(turn.cells for turn in turns))


def _frame(turns: Sequence[TurnContent], tables: Sequence[Table]) -> Join | None:
    """The tables as one frame. What was asked when the files came decides how they are put together, until a question
    names columns that are only in tables left out."""
    if not tables:
        return None
    first, *later = _since_last_files(turns)
    text = " ".join(first.texts)
    join = _only(tables, text) or joined(tables, text)
    for text in chain.from_iterable(turn.texts for turn in later):
        join = _only(tables, text) or rejoined(join, tables, text)
    return join


def _only(tables: Sequence[Table], text: str) -> Join | None:
    """The one table of a data source that a text calls a table, as in "profile the table payments"."""
    for table in tables:
        if table.format == "source" and _called(table).search(text):
            return Join(table, unused=tuple(other for other in tables if other is not table))
    return None


def _called(table: Table) -> re.Pattern[str]:
    name = rf"[\"“'`]?{re.escape(table.name)}[\"”'`]?"
    return re.compile(rf"\btable {name}(?!\w)|(?<!\w){name} table\b|{name}\s*(?:这张)?表|表\s*{name}", re.IGNORECASE)


def _tables(turns: Sequence[TurnContent]) -> tuple[Table, ...]:
    """All tables of the thread. A file that came again under its name replaces the earlier one; a table in a message
    is about that message until other data comes."""
    found: dict[tuple[str, str | None, str], Table] = {}
    for turn in turns:
        if turn.tables:
            other = turn.tables[-1].format == "source"  # another source is another subject
            again = {table.path for table in turn.tables}
            found = {at: one for at, one in found.items() if not (one.content or other or one.path in again)}
        for table in turn.tables:
            found[table.path, table.sheet, table.name] = table
    return tuple(found.values())


def known_values(join: Join, facts: Facts) -> dict[str, list[str]]:
    """The values of categories, as cells told them, else as the abstracts sampled them."""
    values = {
        column.name: [sample.strip() for sample in column.samples]
        for column in of_kind(join.columns, "category", "flag")
    }
    for told in facts.get("values", ()):
        if isinstance(told.get("values"), list):
            values[str(told.get("column"))] = [str(value) for value in told["values"]]
    return values


def _refunds(join: Join, facts: Facts) -> Refunds | None:
    if cols.default_measure(join.columns) is None:
        return None
    names, positive, known = lexicon()["refunds"], lexicon()["positive_values"], known_values(join, facts)
    for name, values in known.items():
        marked = tuple(value for value in values if find(names, value))
        if marked and len(marked) < len(values):
            return Refunds(name, marked, _own_rows(name, marked))
    for column in of_kind(join.columns, "flag"):  # named like refunds; a returning customer is none
        marked = tuple(value for value in known.get(column.name, ()) if value.casefold() in positive)
        if marked and find(names, column.name) and "customer" not in cols.concepts(column):
            return Refunds(column.name, marked, own_rows=False)
    return None


def _own_rows(column: str, marked: Sequence[str]) -> bool:
    """True when the values name a kind of row ("Return") rather than a state of an order ("refunded")."""
    named = concepts_of([word.stem for word in words(column)])
    state = "status" in named or all(value.casefold().endswith("ed") or value.startswith("已") for value in marked)
    return "type" in named or not state


def _asked_now(
    turns: Sequence[TurnContent],
    join: Join | None,
    facts: Facts,
    refunds: Refunds | None,
    *,
    sources: Sequence[str],
    language: Language,
) -> tuple[Intent, ...] | Unclear:
    """What the last text asks for, given all that was asked before it; nothing without data."""
    if join is None:
        return ()
    marked = refunds.column if refunds else ""
    known = Known(known_values(join, facts), refunds is not None, marked, names_looked_up(facts), language)
    named = [re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE) for name in sources]
    named += [_called(table) for table in join.tables if table.format == "source"]
    before: tuple[Intent, ...] = ()
    now: tuple[Intent, ...] | Unclear = ()
    open_text = ""
    for turn in turns:
        for place, text in enumerate(turn.texts):
            if isinstance(now, Unclear):
                text = _with_choice(open_text, now, text, join)  # noqa: PLW2901 - the answer completes the question
            elif now:
                answered = [intent for intent in now if intent.analyses and not intent.beyond]
                before = tuple(without_empty_filters(intent, facts) for intent in answered) or before
            for pattern in named:  # which table is meant is no part of what is asked of it
                text = pattern.sub(" ", text)  # noqa: PLW2901
            heard = understand(text, join, before, known)
            adds_nothing = not isinstance(heard, Unclear) and all(intent.beyond for intent in heard)
            if place and now and adds_nothing:
                continue  # "here it is" adds nothing to the question that it follows
            now, open_text = heard, text
    return now


def names_looked_up(facts: Facts) -> dict[str, Filter | None]:
    """The names that a cell has looked for in the data: where each stands, None for one that is nowhere."""
    return {
        str(told.get("name")): Filter(str(told["column"]), tuple(map(str, told.get("values") or ())))
        if told.get("column")
        else None
        for told in facts.get("sought", ())
    }


def chosen(intent: Intent, facts: Facts) -> list[dict[str, Any]] | None:
    """What a cell counted for the filters of an intent, one after another; None when none has counted yet."""
    told = [told for told in facts.get("chosen", ()) if told.get("of") == rows_meant(intent)]
    return list(told[-1].get("steps") or ()) if told else None


def rows_meant(intent: Intent) -> list[object]:
    """The rows that an intent is about, as a cell repeats them in its output."""
    return [[item.column, list(item.values), item.keep] for item in intent.filters] + [intent.no_refunds]


def without_empty_filters(intent: Intent, facts: Facts) -> Intent:
    """The intent without the filters that were found to leave no row: the next question does not inherit them."""
    steps = chosen(intent, facts) or []
    if all(step.get("rows") for step in steps):
        return intent
    kept = tuple(item for item, step in zip(intent.filters, steps, strict=False) if step.get("rows"))
    return replace(intent, filters=kept)


def _with_choice(question: str, unclear: Unclear, answer: str, join: Join) -> str:
    """The question with its unclear word replaced by the option that the answer means most clearly, else the first."""
    options = [column for column in join.columns if column.name in unclear.options]
    meant = max(cols.mentions(options, answer), key=lambda mention: mention.score, default=None)
    return question.replace(unclear.word, meant.columns[0].name if meant else unclear.options[0], 1)


def _currency(join: Join) -> str:
    """The sign of currency that the samples of money columns are written with; empty when there is none."""
    signs: Mapping[str, str] = lexicon()["currencies"]
    numbers = of_kind(join.columns, "number")

    def names(sign: str, name: str) -> bool:
        return sign.casefold() in name.casefold().split("_") if sign.isalpha() else sign in name

    sampled = [shown for sign, shown in signs.items() if any(sign in s for column in numbers for s in column.samples)]
    named = [shown for sign, shown in signs.items() if any(names(sign, column.name) for column in numbers)]
    return next(iter([*sampled, *named]), "")


def _since_session_lost(ran: tuple[CellRan, ...]) -> tuple[CellRan, ...]:
    """The cells after the last one that failed because the session's variables were gone."""
    lost = [place for place, cell in enumerate(ran) if lost_session(cell)]
    return ran[lost[-1] + 1 :] if lost else ran


def lost_session(cell: CellRan) -> bool:
    """True when a cell that builds on others did not find what they made."""
    missing = cell.error_name == "NameError" and "is not defined" in cell.error
    return missing and cell.status != "ok" and stage_of(cell.code) not in FIRST


def _since_loaded(turns: Sequence[TurnContent], since: Sequence[CellRan], join: Join) -> tuple[CellRan, ...]:
    """The cells from the one that last loaded a table; none when it loaded other tables than those of the frame.

    What earlier cells printed is about other tables.
    """
    lost = len(since) < len(turns[-1].cells)
    ran = tuple(since) if lost else _cells(_since_last_files(turns))
    loads = [place for place, cell in enumerate(ran) if cell.status == "ok" and stage_of(cell.code) == "load"]
    if not loads:
        return ()
    code = ran[loads[-1]].code
    named = all(
        f"\nlook_at({literal(table.name)}, " in code
        and (table.read if table.has_own_line else literal(table.path)) in code
        for table in join.tables
    )
    return ran[loads[-1] :] if named and code.count("\nlook_at(") == len(join.tables) else ()


def _since_last_files(turns: Sequence[TurnContent]) -> Sequence[TurnContent]:
    places = [place for place, turn in enumerate(turns) if turn.tables]
    return turns[places[-1] :] if places else ()


def done(stage: str, ran: Iterable[CellRan]) -> bool:
    """True when a cell of this stage ran to its end."""
    return any(cell.status == "ok" and stage_of(cell.code) == stage for cell in ran)


def attempts(stage: str, ran: Iterable[CellRan]) -> list[CellRan]:
    """The cells that were run for a stage and failed."""
    return [cell for cell in ran if cell.status != "ok" and stage_of(cell.code) == stage]
