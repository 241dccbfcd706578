"""Decisions before any code is written: the interfaces between components, and tests made from words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import TypeAdapter

from core.values import Value
from workers.builder.asking import BudgetSpent
from workers.builder.build_state import State
from workers.builder.fences import quoted
from workers.builder.progress import Progress
from workers.builder.prompt_parts import numbered_rows, system
from workers.builder.requirements.components import Component, digest
from workers.builder.requirements.contract import (
    Contract,
    ReplyUnreadable,
    fingerprint,
    needs_contract,
    read_as,
    read_contract,
)
from workers.builder.requirements.requirement import Case
from workers.builder.testing.case_script import module_of

REPLIES = 2
"""How often a contract or tests are asked for when the reply cannot be read."""
MOST_CASES = 40


def contract_of(state: State) -> dict[str, object]:
    """The interfaces, kept from the last build while all components are asked for the same."""
    if not needs_contract(state.plan):
        return {}
    own = fingerprint(state.plan)
    for source in state.sources:
        if source.contract_of == own:
            return {"contract": source.contract, "contract_of": own}
    earlier = state.sources[0].contract if state.sources else Contract()
    components = [
        {
            "name": one.name,
            "language": one.language.name,
            "description": one.description,
            "requirements": quoted(one.requirements),
            "depends_on": one.depends_on,
            "files": one.files,
        }
        for one in state.plan.components
    ]
    variables = {
        "program": state.order.requirement.file.name,
        "components": components,
        "earlier": earlier.text(tuple(earlier.components)),
    }
    contract = _readable(
        state, state.plan.entry, "build_contract", variables, lambda reply: read_contract(reply, state.plan)
    )
    state.tell(Progress("note", text=f"Interfaces of {', '.join(contract.components) or 'no component'} are fixed."))
    return {"contract": contract, "contract_of": own}


def cases_for(state: State) -> dict[str, object]:
    """Tests that a model makes of `[tests] prose`, kept while the words stay the same."""
    tests, entry = state.order.requirement.tests, state.plan.entry
    if not tests.prose.strip():
        return {}
    own = digest([tests.prose, entry.requirements])
    for source in state.sources:
        if source.cases_of == own:
            return {"cases": source.cases, "cases_of": own}
    return {"cases": made_cases(state), "cases_of": own}


def made_cases(state: State, survivors: tuple[str, ...] = ()) -> tuple[Case, ...]:
    """Tests by the model, of the words or, later, against broken programs that all tests let pass."""
    entry = state.plan.entry
    variables = {
        "program": state.order.requirement.file.name,
        "language": entry.language.name,
        "main_file": entry.main_file,
        "requirements": numbered_rows(entry),
        "prose": quoted(state.order.requirement.tests.prose),
        "survivors": survivors,
    }
    made: tuple[Case, ...] = _readable(state, entry, "build_cases", variables, lambda reply: _cases_in(reply, state))
    state.tell(Progress("note", text=f"{len(made)} tests were made of the words."))
    return made


def _readable(
    state: State, entry: Component, name: str, variables: Mapping[str, object], read: Callable[[str], Any]
) -> Any:
    """What a reply says. It is asked for again when it cannot be read. Raises BudgetSpent, ModelError."""
    problem = ""
    for _ in range(REPLIES):
        text = state.asker.render(name, {**variables, "problem": problem})
        reply = state.asker.write("", [system(state.asker, entry), {"role": "user", "content": text}])
        try:
            return read(reply.text)
        except ReplyUnreadable as error:
            problem = str(error)
    raise BudgetSpent(f"the model gave no usable answer to {name} in {REPLIES} tries: {problem}")


class _Cases(Value):
    cases: tuple[Case, ...]


def _cases_in(reply: str, state: State) -> tuple[Case, ...]:
    """The tests in a reply, under names that are not taken. Raises ReplyUnreadable."""
    names, files = {case.name for case in state.cases}, set(state.plan.files)
    modules = {module_of(path) for path in files}
    found = []
    for case in read_as(reply, TypeAdapter(_Cases)).cases[:MOST_CASES]:
        if case.component or case.call:
            raise ReplyUnreadable(f"the test {case.name!r} does not start the program")
        if case.expect.stdout_matches:  # nobody has looked at it, and it would be matched with hostile output
            raise ReplyUnreadable(f"the test {case.name!r} has a regular expression; give exact texts")
        if files & case.files.keys() or modules & case.fakes.keys():
            raise ReplyUnreadable(f"the test {case.name!r} puts something else in the place of the program")
        if case.name not in names:
            names.add(case.name)
            found.append(case)
    return tuple(found)
