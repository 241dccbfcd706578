"""What the analyst makes of a situation: the tables as one frame, what was found out so far, what is asked now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from core.phrases import detect
from workers.models.offline import columns as cols
from workers.models.offline.cells import stage_of
from workers.models.offline.intent import Known, understand
from workers.models.offline.lexicon import concepts_of, find, lexicon, words
from workers.models.offline.reading import facts_of, failed, succeeded
from workers.models.offline.values import Exchange, Facts, Filter, Intent, Join, Situation, Table, Turn, Unclear

PREPARING = ("load", "clean")


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

    `intents` are the parts of what is asked now; `unclear` is set instead when a word of it has to be asked about.
    `ready` says that the session holds `df`, loaded and cleaned from these tables; `since` are this turn's exchanges
    that still count (those after the session was last lost).
    """

    situation: Situation
    language: str
    text: str
    tables: tuple[Table, ...]
    join: Join | None
    facts: Facts
    intents: tuple[Intent, ...]
    unclear: Unclear | None
    refunds: Refunds | None
    currency: str
    ready: bool
    since: tuple[Exchange, ...]

    @property
    def number(self) -> int:
        """Which turn of the thread this is, from 1."""
        return len(self.situation.turns)


def understand_thread(situation: Situation) -> Thread:
    """The thread as the analyst sees it. Pure: the same messages give the same thread."""
    current = situation.current
    text = current.texts[-1] if current.texts else ""
    tables = _tables(situation)
    everything = tuple(chain.from_iterable(turn.exchanges for turn in situation.turns))
    facts = _facts(situation, everything)
    # What was asked when the files came decides how they are put together, for the whole thread.
    asked = " ".join(chain.from_iterable(turn.texts for turn in _since_last_files(situation)[:1]))
    join = cols.joined(tables, asked) if tables else None
    if join and (derived := cols.amount_to_derive(join.columns)):
        join = replace(join, derived=(derived,))
    refunds = _refunds(join, facts) if join else None
    asked_now = _asked_now(situation, join, facts, refunds)
    unclear = asked_now if isinstance(asked_now, Unclear) else None
    since = _since_session_lost(current.exchanges)
    return Thread(
        situation=situation,
        language=_language(situation),
        text=text,
        tables=tables,
        join=join,
        facts=facts,
        intents=() if isinstance(asked_now, Unclear) else asked_now,
        unclear=unclear,
        refunds=refunds,
        currency=_currency(join) if join else "",
        ready=_ready(situation, since),
        since=since,
    )


def _facts(situation: Situation, everything: Sequence[Exchange]) -> Facts:
    """All that cells told; what was counted or looked up before the last files came is no longer true."""
    facts = facts_of(everything)
    recent = facts_of(list(chain.from_iterable(turn.exchanges for turn in _since_last_files(situation))))
    return {name: told for name, told in facts.items() if name not in ("chosen", "sought")} | {
        name: told for name, told in recent.items() if name in ("chosen", "sought")
    }


def _language(situation: Situation) -> str:
    """The language of what was asked last; an answer in one word keeps the language of the question."""
    for text in reversed(situation.current.texts):
        if len(text) > 3:
            return detect(text)
    return detect(" ".join(situation.current.texts))


def _tables(situation: Situation) -> tuple[Table, ...]:
    """All tables of the thread; a file that came again under its name replaces the earlier one."""
    found: dict[tuple[str, str | None], Table] = {}
    for turn in situation.turns:
        for table in turn.tables:
            found[table.path, table.sheet] = table
    return tuple(found.values())


def known_values(join: Join, facts: Facts) -> dict[str, list[str]]:
    """The values of categories, as cells told them, else as the abstracts sampled them."""
    values = {
        column.name: [sample.strip() for sample in column.samples]
        for column in join.columns
        if column.kind in ("category", "flag")
    }
    for told in facts.get("values", ()):
        if isinstance(told.get("values"), list):
            values[str(told.get("column"))] = [str(value) for value in told["values"]]
    return values


def _refunds(join: Join, facts: Facts) -> Refunds | None:
    if cols.default_measure(join.columns) is None:
        return None
    names = lexicon()["refunds"]
    for column, values in known_values(join, facts).items():
        marked = tuple(value for value in values if find(names, value))
        if marked and len(marked) < len(values):
            return Refunds(column, marked, _own_rows(column, marked))
    return _flagged_refunds(join, facts)


def _own_rows(column: str, marked: Sequence[str]) -> bool:
    """True when the values name a kind of row ("Return") rather than a state of an order ("refunded")."""
    named = concepts_of([word.stem for word in words(column)])
    state = "status" in named or all(value.casefold().endswith("ed") or value.startswith("已") for value in marked)
    return "type" in named or not state


def _flagged_refunds(join: Join, facts: Facts) -> Refunds | None:
    """The yes-no column that is named like refunds; a returning customer is none."""
    positive, values = lexicon()["positive_values"], known_values(join, facts)
    for column in join.columns:
        named = find(lexicon()["refunds"], column.name) and "customer" not in cols.concepts(column)
        marked = tuple(value for value in values.get(column.name, ()) if value.casefold() in positive)
        if column.kind == "flag" and named and marked:
            return Refunds(column.name, marked, own_rows=False)
    return None


def _asked_now(
    situation: Situation, join: Join | None, facts: Facts, refunds: Refunds | None
) -> tuple[Intent, ...] | Unclear:
    """What the last text asks for, given all that was asked before it; nothing without data."""
    if join is None:
        return ()
    looked_up = names_looked_up(facts)
    known = Known(known_values(join, facts), refunds is not None, refunds.column if refunds else "", looked_up)
    before: tuple[Intent, ...] = ()
    now: tuple[Intent, ...] | Unclear = ()
    open_text = ""
    for turn in situation.turns:
        for place, text in enumerate(turn.texts):
            if isinstance(now, Unclear):
                text = _with_choice(open_text, now, text)  # noqa: PLW2901 - the answer completes the question
            elif now:
                before = (
                    tuple(
                        without_empty_filters(intent, facts) for intent in now if intent.analyses and not intent.beyond
                    )
                    or before
                )
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


def _with_choice(question: str, unclear: Unclear, answer: str) -> str:
    """The question with its unclear word replaced by the option that the answer names, or comes nearest to."""
    plain = answer.casefold()
    chosen = [option for option in unclear.options if option.casefold() in plain]
    if not chosen:
        near = cols.nearest(answer, unclear.options)
        chosen = [near] if near else [unclear.options[0]]
    return question.replace(unclear.word, max(chosen, key=len), 1)


def _currency(join: Join) -> str:
    """The sign of currency that the samples of money columns are written with; empty when there is none."""
    signs: Mapping[str, str] = lexicon()["currencies"]
    samples = [s for column in join.columns if column.kind == "number" for s in column.samples]
    names = [column.name for column in join.columns if column.kind == "number"]
    for sign, shown in signs.items():
        if any(sign in sample for sample in samples):
            return shown
    for sign, shown in signs.items():
        if any(sign in name if not sign.isalpha() else sign.casefold() in name.casefold().split("_") for name in names):
            return shown
    return ""


def _since_session_lost(exchanges: Sequence[Exchange]) -> tuple[Exchange, ...]:
    """The exchanges after the last cell that failed because the session's variables were gone."""
    for place in range(len(exchanges) - 1, -1, -1):
        if lost_session(exchanges[place]):
            return tuple(exchanges[place + 1 :])
    return tuple(exchanges)


def lost_session(exchange: Exchange) -> bool:
    """True when a cell that builds on others did not find what they made."""
    if not failed(exchange) or stage_of(str(exchange.arguments.get("code", ""))) == "load":
        return False
    seen = exchange.observation or ""
    return "NameError" in seen and "is not defined" in seen


def _ready(situation: Situation, since: Sequence[Exchange]) -> bool:
    current = situation.current
    if done("clean", since):
        return True
    if current.tables or len(since) < len(current.exchanges):
        return False
    earlier = list(chain.from_iterable(turn.exchanges for turn in _since_last_files(situation)))
    return done("clean", earlier)


def _since_last_files(situation: Situation) -> Sequence[Turn]:
    places = [n for n, turn in enumerate(situation.turns) if turn.tables]
    return situation.turns[places[-1] :] if places else ()


def done(stage: str, exchanges: Iterable[Exchange]) -> bool:
    """True when a cell of this stage ran to its end."""
    return any(succeeded(e) and stage_of(str(e.arguments.get("code", ""))) == stage for e in exchanges)


def attempts(stage: str, exchanges: Iterable[Exchange]) -> list[Exchange]:
    """The cells that were run for a stage and failed."""
    return [e for e in exchanges if failed(e) and stage_of(str(e.arguments.get("code", ""))) == stage]
