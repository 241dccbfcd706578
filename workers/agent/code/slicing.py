"""Which cells a result needs: a program slice over the cells of a thread. Pure.

It goes backwards from the cell that shows the result. A cell is needed when it may set or change what a later needed
cell reads, when it writes a file that one may read, or when it changes something that every cell meets (a seed, an
option). Where code hides what it does (`exec`, `globals()`, code that cannot be read), all cells before are needed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from workers.agent.code.own_names import Names, names_of, own_names
from workers.agent.code.uses import ANY, Body, Modules, Uses, functions_of, imports_of, uses_of, words_of


@dataclass(frozen=True, slots=True)
class Slice:
    """The cells that each wanted cell needs, itself included, by their ids; `cells` are all of them in order.

    If all cells count as needed, `opaque` is the first cell that is the reason for it; else "".
    """

    cells: tuple[str, ...]
    needs: Mapping[str, frozenset[str]] = field(default_factory=dict)
    opaque: str = ""


def slice_cells(cells: Sequence[tuple[str, str]], wanted: Collection[str]) -> Slice:
    """The cells that `wanted` ones need. `cells` are (id, code) in the order in which they ran."""
    ids = [cell_id for cell_id, _ in cells]
    uses = uses_in([code for _, code in cells])
    last = max((place for place, cell_id in enumerate(ids) if cell_id in wanted), default=-1)
    opaque = next((ids[place] for place in range(last + 1) if uses[place].opaque), "")
    sliced = _Slicer(uses)
    needs: dict[str, frozenset[str]] = {}
    for place in range(last + 1):
        if ids[place] in wanted:
            hidden = any(each.opaque for each in uses[: place + 1])
            needed = range(place + 1) if hidden else sliced.back_from(place)
            needs[ids[place]] = frozenset(ids[each] for each in needed)
    found = {cell_id for each in needs.values() for cell_id in each}
    return Slice(tuple(cell_id for cell_id in ids if cell_id in found), needs, opaque)


def uses_in(codes: Sequence[str]) -> list[Uses]:
    """What each of a thread's cells does. What one of them imports or defines is known to the others."""
    modules: Modules = tuple(sorted({name: full for code in codes for name, full in imports_of(code)}.items()))
    functions = frozenset(name for code in codes for name in functions_of(code))
    words = [words_of(code, modules) for code in codes]
    own = own_names(codes).difference(*words) - functions - {name for name, _ in modules}
    names = [names_of(code) for code in codes]
    uses = [
        uses_of(code, modules, functions, own & each.own if each else frozenset(), place)
        for place, (code, each) in enumerate(zip(codes, names, strict=True))
    ]
    return [_without_own_reads(*each) for each in zip(uses, names, words, strict=True)]


def _without_own_reads(uses: Uses, names: Names | None, words: frozenset[str]) -> Uses:
    """A cell needs no other one for a name that it gives a value first. A text in it may read the name before that."""
    return uses if names is None or uses.opaque else replace(uses, reads=uses.reads - (names.own - words))


class _Slicer:
    """The cells of one thread."""

    def __init__(self, uses: Sequence[Uses]) -> None:
        self._shared = _Groups(group for each in uses for group in each.links)
        self._bodies: dict[str, Body] = {}
        for name, body in ((name, body) for each in uses for name, body in each.bodies.items()):
            known = self._bodies.get(self._shared.of(name), Body())
            self._bodies[self._shared.of(name)] = Body(
                known.reads | body.reads, known.sets | body.sets, known.changes | body.changes
            )
        generators = {name for each in uses for name in each.generators}
        made = {name for each in uses for name, function in each.made_by if function in generators}
        iterators = {self._shared.of(name) for each in uses for name in (*each.iterators, *made)}
        self._uses = [self._whole(each, iterators) for each in uses]

    def back_from(self, place: int) -> list[int]:
        """The places of the cells that this one needs, itself included."""
        needed: set[str] = set()
        files: set[str] = set()
        found: list[int] = []
        for at in range(place, -1, -1):
            cell = self._uses[at]
            if at != place and not (cell.ambient or self._gives(cell, needed) or _writes(cell, files)):
                continue
            found.append(at)
            needed = (needed - cell.surely) | cell.reads
            files |= cell.files_read
        return found[::-1]

    def _gives(self, cell: Uses, needed: Collection[str]) -> bool:
        if not cell.sets.isdisjoint(needed):
            return True
        changed = {self._shared.of(name) for name in cell.changes}
        return any(self._shared.of(name) in changed for name in needed)

    def _whole(self, cell: Uses, iterators: Collection[str]) -> Uses:
        """The cell with what the functions that it names do, whichever cell defined them."""
        reads, sets, changes = set(cell.reads), set(cell.sets), set(cell.changes)
        waiting, seen = list(cell.reads), set[str]()
        while waiting:
            name = self._shared.of(waiting.pop())
            if name in seen:
                continue
            seen.add(name)
            body = self._bodies.get(name)
            if body is not None:
                waiting += body.reads
                reads |= body.reads
                sets |= body.sets
                changes |= body.changes
        changes |= {name for name in reads if self._shared.of(name) in iterators}
        return Uses(
            reads=frozenset(reads),
            sets=frozenset(sets),
            surely=cell.surely,
            changes=frozenset(changes),
            files_read=cell.files_read,
            files_written=cell.files_written,
            ambient=cell.ambient,
        )


class _Groups:
    """Names in groups. The names of one group may share an object. Groups with a common name become one group."""

    def __init__(self, groups: Iterable[frozenset[str]]) -> None:
        self._above: dict[str, str] = {}
        for group in groups:
            first, *others = sorted(group)
            for other in others:
                self._above[self.of(other)] = self.of(first)

    def of(self, name: str) -> str:
        """The name that stands for the group of this name."""
        top = name
        while (above := self._above.get(top, top)) != top:
            top = above
        while (above := self._above.get(name, name)) != name:
            self._above[name], name = top, above
        return top


def _writes(cell: Uses, files: Collection[str]) -> bool:
    """Whether a cell may write one of these files."""
    if not cell.files_written or not files:
        return False
    return ANY in cell.files_written or ANY in files or not cell.files_written.isdisjoint(files)
