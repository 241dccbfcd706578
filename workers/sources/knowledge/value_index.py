"""Which column holds a value that somebody names: "north" is `region = 'NORTH'`. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rapidfuzz.distance import OSA

from workers.sources.knowledge.words import STOP_WORDS, is_unspaced, plain, stem
from workers.sources.values import TableName

MOST_COLUMNS = 2_000
MOST_VALUES = 200
"""Values of one column; one with more is no list of names for things, and is left out."""

LONGEST_VALUE = 80
LONGEST_PHRASE = 5
"""Words of a question that are taken together."""

LONGEST_QUESTION = 2_000
MOST_FOUND = 20
_SHORTEST_FUZZY = 5


ColumnPlace = tuple[TableName, str]
ColumnValues = Mapping[ColumnPlace, Sequence[str]]
"""Values of columns, by table and column."""


@dataclass(frozen=True)
class ValueMatch:
    """A column holds `value`; `asked` are the words that mean it. `distance` is in letters; 0: the same word."""

    table: TableName
    column: str
    value: str
    asked: str
    distance: int = 0


class ValueIndex:
    """Values by their plain form. Beyond the limits nothing is kept; `left_out` counts the columns."""

    def __init__(self, values: ColumnValues) -> None:
        self.left_out = 0
        self._held: dict[str, list[tuple[TableName, str, str]]] = {}
        for number, ((table, column), given) in enumerate(values.items()):
            listed = [value for value in dict.fromkeys(given) if 0 < len(value) <= LONGEST_VALUE]
            if number >= MOST_COLUMNS or len(listed) > MOST_VALUES:
                self.left_out += 1
                continue
            for value in listed:
                self._held.setdefault(_form(value), []).append((table, column, value))
        self._held.pop("", None)
        self._by_start: dict[tuple[str, int], list[str]] = {}
        for form in self._held:
            if len(form) >= _SHORTEST_FUZZY and not form.isdigit():
                self._by_start.setdefault((form[0], len(form)), []).append(form)
        self._unspaced = [form for form in self._held if len(form) > 1 and is_unspaced(form)]

    def find(self, question: str) -> tuple[ValueMatch, ...]:
        """The columns that hold what a question names, the closest and longest first, at most 20.

        Letter case, accents and plural endings do not count. A longer word may differ by one letter (from five) or
        two (from nine).
        """
        text = plain(question[:LONGEST_QUESTION])
        found: dict[tuple[TableName, str, str], ValueMatch] = {}
        for phrase in _phrases(text):
            for form, distance in self._near(phrase):
                for table, column, value in self._held[form]:
                    key = (table, column, value)
                    if key not in found or found[key].distance > distance:
                        found[key] = ValueMatch(table, column, value, phrase, distance)
        for form in self._unspaced:
            if form in text:
                for table, column, value in self._held[form]:
                    found.setdefault((table, column, value), ValueMatch(table, column, value, form))
        closest = sorted(found.values(), key=lambda each: (each.distance, -len(each.asked), each.table, each.column))
        return tuple(closest[:MOST_FOUND])

    def _near(self, phrase: str) -> Iterable[tuple[str, int]]:
        form = _form(phrase)
        if form in self._held:
            return [(form, 0)]
        ends = {form.partition(" ")[0], form.rpartition(" ")[2]}
        if len(form) < _SHORTEST_FUZZY or form.isdigit() or ends & STOP_WORDS:
            return []
        allowed = 1 if len(form) < 9 else 2
        near = [
            (other, distance)
            for length in range(len(form) - allowed, len(form) + allowed + 1)
            for other in self._by_start.get((form[0], length), ())
            if (distance := OSA.distance(form, other, score_cutoff=allowed)) <= allowed
        ]
        best = min((distance for _, distance in near), default=0)
        return [each for each in near if each[1] == best]


def _phrases(text: str) -> Iterable[str]:
    """Runs of words, as they stand in the text. Words that only hold the sentence together are no value alone."""
    given = [word.strip(".,;:!?\"'()[]“”‘’«»，。；：！？（）「」") for word in text.split()]
    for length in range(1, LONGEST_PHRASE + 1):
        for at in range(len(given) - length + 1):
            run = given[at : at + length]
            if all(run) and not all(stem(word) in STOP_WORDS for word in run):
                yield " ".join(run)


def _form(value: str) -> str:
    """A value as it is compared: plain, signs between words as spaces, without endings."""
    return " ".join(map(stem, plain("".join(char if char.isalnum() else " " for char in value)).split()))
