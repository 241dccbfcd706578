"""Which playbook a question needs, and where the data has drifted from it.

A playbook is offered if the question contains enough of its characteristic words, weighted by how rare they are among
the team's playbooks (like BM25): enough of its name and its other words, or most of its `when` and little else. Needed
columns in the thread's files count too, and needed tables of a source that the question names. A wrong offer is worse
than none, so the best playbook must be clearly better than the others. A question that says "playbook" and the whole
name of one asks for that one.
"""

from __future__ import annotations

import difflib
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from core.phrases import say
from core.steps import FileAbstract
from core.values import Language
from workers.memory.playbooks.page import Input, Playbook
from workers.sources.knowledge.ranking import Ranking
from workers.sources.knowledge.words import telling, words

Tables = Mapping[str, Mapping[str, str] | None]
"""Columns with their types, by "source.table" in small letters. None: there is no such table that may be read."""
NAME_WEIGHT = 3
LEAST_COVERED = 0.5
"""The share of a playbook's own words (its name and its words) that the question has to name, by their rarity."""
FEW, LEAST_AMONG_FEW = 5, 0.65
"""The same share while there are so few playbooks that hardly another one could fit better."""
LEAST_ASKED = 0.3
"""The share of the question's telling words that the playbook has to know."""
LEAST_OF_WHEN, LEAST_IN_WHEN = 0.65, 0.75
"""The share of the words of `when` that a question has to say again, and the share of its own words that are these."""
SHORT_WHEN = 5
"""A `when` with fewer telling words has to be said again as a whole: its frame alone would be most of it."""
FINGERPRINT_SHARE = 0.35
"""What a whole fingerprint of columns or tables adds to the share of the playbook's own words."""
LEAST_LEAD = 1.15
"""So much better than the next one the best has to be: a question that fits many playbooks alike means none."""
ALIKE = 0.8
"""The share of words that two playbooks about one thing have in common."""
LONGEST_QUESTION = 2_000
_SAYS_PLAYBOOK = re.compile(r"playbook|手册|プレイブック", re.IGNORECASE)
_MOST_LOOKED_AT = 20


@dataclass(frozen=True, slots=True)
class Candidate:
    """A playbook with the page that it stands on."""

    file: str
    text: str
    playbook: Playbook


class PlaybookIndex:
    """Playbooks, ready to be asked which of them a question needs."""

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self.candidates = list(candidates)
        self._own = [_own_words(each.playbook) for each in candidates]
        self._when = [_lasting(telling(each.playbook.when)) for each in candidates]
        self._all = [_all_words(each.playbook, own) for each, own in zip(candidates, self._own, strict=True)]
        self._ranking = Ranking(self._all)
        found = Counter(word for every in self._all for word in set(every))
        self._rarity = {word: math.log(1 + (len(candidates) + 0.5) / (count + 0.5)) for word, count in found.items()}

    def match(self, question: str, files: Sequence[FileAbstract] = ()) -> Candidate | None:
        """The playbook to follow; None when none fits well enough."""
        if (named := self._named(question[:LONGEST_QUESTION])) is not None:
            return named
        asked = telling(question[:LONGEST_QUESTION])
        if not asked or not self.candidates:
            return None
        scores = self._ranking.scores(asked)
        order = sorted(range(len(self.candidates)), key=lambda at: -float(scores[at]))[:_MOST_LOOKED_AT]
        unknown = math.log(1 + len(self.candidates) + 0.5)
        least = LEAST_COVERED if len(self.candidates) >= FEW else LEAST_AMONG_FEW
        worth: dict[int, float] = {}
        fitted: list[int] = []
        for at in order:
            covered = self._share(self._own[at], set(asked), 1.0)
            fits = self._share(asked, set(self._all[at]), unknown)
            again = self._again(at, asked, unknown)
            fingerprint = FINGERPRINT_SHARE * fitting(self.candidates[at].playbook, files, asked)
            worth[at] = max(covered, again) + fits + fingerprint
            if again or (fits >= LEAST_ASKED and covered + fingerprint >= least):
                fitted.append(at)
        if not fitted:
            return None
        best = max(fitted, key=lambda at: worth[at])
        twins = [at for at in fitted if self._alike(at, best)]
        rivals = [worth[at] for at in worth if at not in twins and not self._alike(at, best)]
        if rivals and worth[best] < LEAST_LEAD * max(rivals):
            return None
        return self.candidates[max(twins, key=lambda at: (self.candidates[at].playbook.kept, worth[at]))]

    def _named(self, question: str) -> Candidate | None:
        """The playbook that a person asks for by its name: the longest name, and of equal ones the newest."""
        if not _SAYS_PLAYBOOK.search(question):
            return None
        said = " ".join(question.casefold().split())
        names = [(" ".join(each.playbook.name.casefold().split()), each) for each in self.candidates]
        there = [(name, each) for name, each in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", said) and name]
        return max(there, key=lambda one: (len(one[0]), one[1].playbook.kept))[1] if there else None

    def _again(self, at: int, asked: Sequence[str], unknown: float) -> float:
        """Which part of a playbook's `when` the question says again; 0 where that is not most of both of them."""
        when, said = self._when[at], _lasting(asked)
        share = self._share(when, set(said), unknown)
        within = self._share(said, {*when, *self._own[at]}, unknown)
        least = LEAST_OF_WHEN if len(when) >= SHORT_WHEN else 1.0
        return share if share >= least and within >= LEAST_IN_WHEN else 0.0

    def _alike(self, one: int, other: int) -> bool:
        """Whether two playbooks are known by the same words: the newer one counts, and neither rivals the other."""
        mine, theirs = set(self._own[one]), set(self._own[other])
        return len(mine & theirs) >= ALIKE * len(mine | theirs)

    def _share(self, wanted: Iterable[str], there: set[str], unknown: float) -> float:
        """Which part of these words is there, by their rarity."""
        weights = {word: self._rarity.get(word, unknown) for word in wanted}
        whole = sum(weights.values())
        return sum(weight for word, weight in weights.items() if word in there) / whole if whole else 0.0


def fitting(playbook: Playbook, files: Sequence[FileAbstract], asked: Iterable[str] = ()) -> float:
    """The part of the columns that a playbook needs which one of the files has, 0 to 1; or of its tables of sources,
    the part that the words of the question name. A source is always there, so that it is there tells nothing."""
    wanted = {column.casefold() for each in playbook.inputs for column in each.columns}
    there = {name.casefold() for file in files for name in columns_of(file)}
    tables = [set(words(each.table.rpartition(".")[2])) for each in playbook.inputs if each.table]
    named = sum(table <= set(asked) for table in tables)
    return max(len(wanted & there) / len(wanted) if wanted else 0.0, named / len(tables) if tables else 0.0)


def drift(
    playbook: Playbook, files: Sequence[FileAbstract], tables: Tables, language: Language = "en"
) -> tuple[str, ...]:
    """Where the data differs from what a playbook needs, a line each in this language.

    `tables` are what is known of the tables of sources. A file counts as the playbook's
    when its name fits, or else when it has the most of its columns.
    """
    found: list[str] = []
    for each in playbook.inputs:
        if each.file:
            found += _file_drift(each, files, language)
        elif each.label.casefold() in tables:
            found += _table_drift(each, tables[each.label.casefold()], language)
    return tuple(found)


def columns_of(file: FileAbstract) -> list[str]:
    """The names of all columns of a file."""
    return [name for table in file.tables for name in (*(column.name for column in table.columns), *table.more_names)]


def _file_drift(wanted: Input, files: Sequence[FileAbstract], language: Language) -> list[str]:
    tabular = [file for file in files if file.tables]
    if not tabular:
        return []  # the question came without a table: there is nothing to compare
    named = [file for file in tabular if fnmatchcase(file.path.casefold(), wanted.file.casefold())]
    lower = {column.casefold() for column in wanted.columns}
    best = max(named or tabular, key=lambda file: len(lower & {name.casefold() for name in columns_of(file)}))
    return _column_drift(wanted, best.path, columns_of(best), language)


def _table_drift(wanted: Input, known: Mapping[str, str] | None, language: Language) -> list[str]:
    if known is None:
        return [f"{wanted.label}: " + say("drift_unreadable_table", language)]
    needed = {name.casefold() for name in wanted.columns}
    before = {column.casefold(): kind for column, kind in wanted.types}
    retyped = [
        f"{wanted.label}: "
        + say("drift_type", language, name=f"“{column}”", before=before[column.casefold()], now=kind)
        for column, kind in known.items()
        if column.casefold() in (needed & before.keys()) and before[column.casefold()].casefold() != kind.casefold()
    ]
    return _column_drift(wanted, wanted.label, list(known), language) + retyped


def _column_drift(wanted: Input, where: str, known: Sequence[str], language: Language) -> list[str]:
    there = {name.casefold() for name in known}
    found = []
    for column in wanted.columns:
        if column.casefold() not in there:
            near = difflib.get_close_matches(column, list(known), n=1, cutoff=0.5)
            missing = say("drift_no_column", language, names=f"“{column}”")
            nearest = say("drift_nearest", language, name=f"“{near[0]}”") if near else ""
            found.append(f"{where}: {missing}{nearest}")
    return found


def _lasting(telling_words: Iterable[str]) -> list[str]:
    """Words without numbers: a year or a limit differs from one use of a playbook to the next."""
    return [word for word in telling_words if not word.isdigit()]


def _own_words(playbook: Playbook) -> list[str]:
    """The words that tell a playbook apart: those of its name, and the others that it is known by."""
    named = telling(" ".join([playbook.name, *playbook.words]))
    return named or telling(playbook.when)


def _all_words(playbook: Playbook, own: Sequence[str]) -> list[str]:
    about = telling(" ".join([playbook.when, *(stage.title for stage in playbook.stages)]))
    columns = [word for each in playbook.inputs for column in (*each.columns, each.table) for word in words(column)]
    return [*list(own) * NAME_WEIGHT, *about * 2, *columns]
