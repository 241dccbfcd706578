"""An invented schema of 1,000 tables and 20,000 columns with questions, for the bench and the tests of schema choice.

The words are written by hand (`bench/schema_words.txt`); chance puts them together. Three tables of five have a page in
the dictionary, one has comments in the database, one has nothing but its short names. Questions say what a person
would: other words for the thing, half of a column's meaning, a value in small letters, sometimes mistyped. Except for
things with a short plain name, such as `shop`, none holds a table's name. Which tables it needs is known from how it
was made.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from workers.sources.catalogue import Catalogue, Column, ForeignKey, Table
from workers.sources.knowledge.entries import ColumnEntry, Dictionary, TableEntry, Trust
from workers.sources.values import TableName

WORDS = Path(__file__).with_name("schema_words.txt")
"""`# schema: what it is` begins a department. A line is `stem | thing | what people also say | parents | columns`.

Parents are stems of the same department. A column is `stem: meaning`, with its values in braces where they are few.
"""

TABLES = 1_000
COLUMNS = 20_000

ROLES = {
    "": ("", "one row per {}"),
    "evt": ("status changes of {}", "every change of state of {}, with its time"),
    "dly": ("daily totals of {}", "totals per day of {}"),
    "nte": ("remarks on {}", "free remarks that people wrote about {}"),
    "att": ("documents of {}", "scanned documents attached to {}"),
    "hist": ("", "older versions of {}, before each change"),
    "stg": ("", "rows of {} as they were delivered last night, before they are checked"),
    "bak": ("", "copy of {} from before the migration"),
}
"""Tables that belong to each thing: how a question says it, and how the dictionary does. The last three are copies."""

ROLES_ZH = {"": "每行一条{}", "evt": "{}的状态变更", "dly": "{}的每日汇总", "nte": "{}的备注", "att": "{}的附件文档",
            "hist": "{}的历史版本", "stg": "{}的昨夜待校验数据", "bak": "{}迁移前的副本"}  # fmt: skip

FILLERS = """
crt_dt:day of creation; crt_by:who created the row; upd_dt:last change; upd_by:who changed it last; src_sys:system
of origin; btch_id:load batch; act_flg:in use; del_flg:deleted; vld_fr:valid from; vld_to:valid until; rmk:remark;
ext_ref:reference elsewhere; ver_no:version; lang_cd:language; cur_cd:currency; ctry_cd:country; tz:time zone;
prty_no:priority; seq_no:sequence; chk_sum:checksum; apr_by:who approved it; apr_dt:day of approval; rsn_cd:reason
code; st_cd:status; typ_cd:type; cat_cd:category; own_id:owner; grp_id:group; lbl:label; shrt_nm:short name;
lng_nm:long name; url:link; eml:mail address; ph:telephone; fax:fax; zip:postal code; str:street; lat:latitude;
lon:longitude; wt:weight; vol:volume; qty:quantity; uom:unit of measure; amt:amount; tx_amt:tax; tx_cd:tax code;
disc_pct:discount; mgn:margin; cst:cost; prc:price; no_ln:lines; pg_cnt:pages; cnt:count; rnk:rank
"""
NOISE = ("last quarter", "in 2023", "since January", "over the last twelve months", "this year", "per month", "")
OPENINGS = (
    "What is the average {x} of {a} by {y}{of} {n}?",
    "Compare {x} of our {a} for each {y}{of} {n}.",
    "Is there a link between {x} of {a} and {y}{of} {n}?",
    "We need {x} for {a}, split by {y}{of} {n}",
)
OPENINGS_ZH = ("{n}{a}的{x}按{y}统计是多少？", "{n}不同{y}的{a}，{x}有什么差别？", "请分析{n}{a}的{x}与{y}的关系")


@dataclass
class Thing:
    """Something that a department keeps tables of."""

    schema: str
    about: str
    stem: str
    noun: str
    synonyms: list[str]
    parents: list[str]
    columns: list[tuple[str, str, tuple[str, ...]]]
    written: str = "page"
    tables: dict[str, TableName] = field(default_factory=dict)

    @property
    def chinese(self) -> bool:
        return not self.noun.isascii()


@dataclass(frozen=True)
class Question:
    """A question and the tables that its answer has to read. `kind` names how it was made.

    `described`: each of these tables has a page or comments; of the others only short names are known.
    """

    text: str
    needs: tuple[TableName, ...]
    kind: str
    described: bool


@dataclass(frozen=True)
class World:
    """The schema, what is written about it, and questions."""

    catalogue: Catalogue
    dictionary: Dictionary
    questions: tuple[Question, ...]


def world(seed: int, questions: int = 200) -> World:
    """The same world for the same seed."""
    chance = random.Random(seed)
    things = list(_things())
    for thing in things:
        thing.written = chance.choices(("page", "comments", "nothing"), (60, 20, 20))[0]
    made = _Maker(chance, things)
    made.tables()
    return World(
        Catalogue(tuple(sorted(made.made, key=lambda table: table.name))),
        Dictionary(tuple(made.entries)),
        tuple(made.question(number) for number in range(questions)),
    )


def _things() -> Iterator[Thing]:
    schema = about = ""
    for line in WORDS.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            schema, _, about = line[1:].strip().partition(": ")
            continue
        stem, noun, others, parents, columns = (part.strip() for part in line.split("|"))
        parsed = []
        for each in columns.split(";"):
            name, _, said = each.strip().partition(": ")
            found = re.search(r"\s*\{(.*)\}", said)
            parsed.append((name, re.sub(r"\s*\{.*\}", "", said), tuple(found[1].split("/")) if found else ()))
        yield Thing(schema, about, stem, noun, _listed(others), _listed(parents), parsed)


def _listed(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


class _Maker:
    def __init__(self, chance: random.Random, things: list[Thing]) -> None:
        self.chance = chance
        self.things = {(thing.schema, thing.stem): thing for thing in things}
        self.made: list[Table] = []
        self.entries: list[TableEntry] = []
        self.fillers = [each.split(":") for each in " ".join(FILLERS.split()).split("; ")]

    def tables(self) -> None:
        """Every thing has its own table; the others are dealt out until there are 1,000."""
        all_of = list(self.things.values())
        others = [(thing, role) for thing in all_of for role in ROLES if role]
        self.chance.shuffle(others)
        chosen = [(thing, "") for thing in all_of] + others[: TABLES - len(all_of)]
        for thing, role in chosen:
            name = {"stg": f"stg_{thing.stem}"}.get(role, f"{thing.stem}_{role}" if role else thing.stem)
            thing.tables[role] = TableName(thing.schema, f"t_{name}" if thing.schema in ("fin", "gov") else name)
        counts = [COLUMNS // len(chosen)] * len(chosen)
        for at in range(0, len(counts) - 1, 2):
            shift = self.chance.randint(0, 8)
            counts[at] += shift
            counts[at + 1] -= shift
        for (thing, role), count in zip(chosen, counts, strict=True):
            self._table(thing, role, count)

    def _table(self, thing: Thing, role: str, count: int) -> None:
        name = thing.tables[role]
        columns: list[tuple[str, str, str, tuple[str, ...]]] = [(f"{thing.stem}_id", "bigint", "", ())]
        keys = []
        own = thing.tables[""]
        if role:
            keys.append(ForeignKey((f"{thing.stem}_id",), own, (f"{thing.stem}_id",)))
        if role in ("", "hist", "stg", "bak"):
            for parent in thing.parents:
                columns.append((f"{parent}_id", "bigint", "", ()))
                if role == "" and self.chance.random() < 0.85:  # some keys were never declared
                    to = self.things[thing.schema, parent].tables[""]
                    keys.append(ForeignKey((f"{parent}_id",), to, (f"{parent}_id",)))
            for stem, said, values in thing.columns:
                columns.append((stem, "character varying(30)" if values else "numeric(12,2)", said, values))
        taken = {each[0] for each in columns}
        fillers = [each for each in self.fillers if each[0] not in taken]
        for stem, said in self.chance.sample(fillers, min(len(fillers), max(0, count - len(columns)))):
            columns.append((stem, self.chance.choice(("text", "integer", "timestamp without time zone")), said, ()))
        nouns = thing.noun if thing.chinese else _plural(thing.noun)
        said = (ROLES_ZH[role] if thing.chinese else ROLES[role][1]).format(nouns if role else thing.noun)
        comments = thing.written == "comments"
        self.made.append(
            Table(
                name,
                tuple(
                    Column(stem, kind, about if comments else "", key=at == 0 and not role)
                    for at, (stem, kind, about, _) in enumerate(columns)
                ),
                f"{said}; {', '.join(thing.synonyms)}" if comments else "",
                self.chance.randint(10, 50_000_000),
                tuple(keys),
            )
        )
        if thing.written == "page":
            self.entries.append(
                TableEntry(
                    str(name),
                    said[:1].upper() + said[1:] + ("。" if thing.chinese else "."),
                    thing.about,
                    Trust.MEDIUM,
                    tuple(thing.synonyms) if not role else (),
                    tuple(
                        ColumnEntry(stem, kind, about, ", ".join(value.upper() for value in values))
                        for stem, kind, about, values in columns
                    ),
                )
            )

    def question(self, number: int) -> Question:
        """One question; the kinds take turns, and one of eight is Chinese."""
        chinese = number % 8 == 7
        kinds = (self._two, self._value, self._three, self._role, self._two)
        while True:
            thing = self.chance.choice([each for each in self.things.values() if each.chinese == chinese])
            if (found := kinds[number % len(kinds)](thing)) is not None:
                return found

    def _two(self, thing: Thing) -> Question | None:
        parent = self._parent(thing)
        if parent is None:
            return None
        text = self._asked(thing, self._about(thing), parent)
        return self._made(text, "two tables", (thing, ""), (parent, ""))

    def _three(self, thing: Thing) -> Question | None:
        """The table between the two is not named: a foreign key leads over it."""
        parent = self._parent(thing)
        above = self._parent(parent) if parent else None
        if parent is None or above is None:
            return None
        text = self._asked(thing, self._about(thing), above)
        return self._made(text, "a table between", (thing, ""), (parent, ""), (above, ""))

    def _value(self, thing: Thing) -> Question | None:
        listed = [values for _, _, values in thing.columns if values]
        if not listed:
            return None
        value = self.chance.choice(self.chance.choice(listed))
        value = value.lower() if self.chance.random() < 0.7 else value
        if len(value) > 6 and value.isascii() and self.chance.random() < 0.15:
            at = self.chance.randrange(2, len(value) - 2)
            value = value[:at] + value[at + 1 :]
        if thing.chinese:
            return self._made(f"{value}的{self._noun(thing)}有多少？", "a value", (thing, ""))
        text = f"How many {_plural(self._noun(thing))} with {value} did we have {self.chance.choice(NOISE)}?"
        return self._made(text, "a value", (thing, ""))

    def _role(self, thing: Thing) -> Question | None:
        roles = [role for role in thing.tables if role and ROLES[role][0]]
        if not roles:
            return None
        role = self.chance.choice(roles)
        if thing.chinese:
            return self._made(f"查看{ROLES_ZH[role].format(self._noun(thing))}", "a further table", (thing, role))
        said = ROLES[role][0].format(_plural(self._noun(thing)))
        return self._made(f"Show me the {said} {self.chance.choice(NOISE)}", "a further table", (thing, role))

    def _made(self, text: str, kind: str, *needs: tuple[Thing, str]) -> Question:
        described = all(thing.written != "nothing" for thing, _ in needs)
        return Question(text, tuple(thing.tables[role] for thing, role in needs), kind, described)

    def _asked(self, thing: Thing, about: str, other: Thing) -> str:
        noise = self.chance.choice(NOISE)
        if thing.chinese:
            return self.chance.choice(OPENINGS_ZH).format(
                a=self._noun(thing), x=about, y=self._noun(other) + "的" + self._about(other), n="去年" if noise else ""
            )
        by_noun = self.chance.random() < 0.5
        return self.chance.choice(OPENINGS).format(
            a=_plural(self._noun(thing)),
            x=about,
            y=self._noun(other) if by_noun else self._about(other),
            of="" if by_noun else f" of the {self._noun(other)}",
            n=noise,
        )

    def _parent(self, thing: Thing) -> Thing | None:
        return self.things[thing.schema, self.chance.choice(thing.parents)] if thing.parents else None

    def _noun(self, thing: Thing) -> str:
        """The thing by its name, or as people also call it: only where that is written somewhere."""
        if thing.synonyms and thing.written != "nothing" and self.chance.random() < 0.5:
            return self.chance.choice(thing.synonyms)
        return thing.noun

    def _about(self, thing: Thing) -> str:
        """Some of what a column means: a person leaves words out."""
        said = self.chance.choice(thing.columns)[1]
        parts = said.split()
        if len(parts) > 2 and self.chance.random() < 0.5:
            del parts[self.chance.randrange(len(parts))]
        return " ".join(parts)


def _plural(noun: str) -> str:
    head, separator, rest = noun.partition(" of ")
    if head.endswith("y") and head[-2] not in "aeiou":
        many = f"{head[:-1]}ies"
    else:
        many = f"{head}es" if head.endswith(("s", "x", "ch")) else f"{head}s"
    return many + separator + rest
