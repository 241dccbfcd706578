"""The components of a program: their build order, and which of them a change affects."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from workers.builder.requirements.languages import Language, language_of
from workers.builder.requirements.numbered import Numbered, numbered
from workers.builder.requirements.requirement import Case, Requirement, default_file, files_of

VERSION = 1
"""Part of every fingerprint: raised when old code should no longer be kept as it is."""


@dataclass(frozen=True)
class Component:
    """One part of a program, with all that a prompt about it needs."""

    name: str
    language_name: str
    description: str
    requirements: str
    specs: str
    hints: str
    files: tuple[str, ...]
    depends_on: tuple[str, ...]
    entry: bool

    @property
    def language(self) -> Language:
        """Its row of the table of languages."""
        return language_of(self.language_name)

    @cached_property
    def numbered(self) -> tuple[Numbered, ...]:
        """Its requirements one by one."""
        return numbered(self.requirements)

    @property
    def main_file(self) -> str:
        """The file that is started, or imported."""
        return self.files[0]

    @property
    def fingerprint(self) -> str:
        """A hash that is the same for components of which the same is asked."""
        asked = [self.name, self.language_name, self.description, self.requirements, self.specs, self.hints]
        return digest([VERSION, *asked, *self.files, *self.depends_on, self.entry])


@dataclass(frozen=True, slots=True)
class Plan:
    """All components, each after those that it depends on."""

    components: tuple[Component, ...]

    @property
    def entry(self) -> Component:
        """The one that a person starts; of a library without any, the last one."""
        return next((one for one in self.components if one.entry), self.components[-1])

    @property
    def files(self) -> tuple[str, ...]:
        """Every file of the program."""
        return tuple(path for one in self.components for path in one.files)

    def named(self, name: str) -> Component:
        """A component by its name. Raises KeyError."""
        return {one.name: one for one in self.components}[name]

    def of_file(self, path: str) -> Component | None:
        """The component that a file belongs to."""
        return next((one for one in self.components if path in one.files), None)

    def below(self, name: str) -> tuple[str, ...]:
        """The components that one needs, directly or not, in the order of building."""
        needed: set[str] = set()
        for one in reversed(self.components):
            if one.name == name or one.name in needed:
                needed.update(one.depends_on)
        return tuple(one.name for one in self.components if one.name in needed)

    def above(self, names: Iterable[str]) -> tuple[str, ...]:
        """The components that need any of these, directly or not."""
        touched = set(names)
        found = []
        for one in self.components:
            if touched & set(one.depends_on):
                touched.add(one.name)
                found.append(one.name)
        return tuple(found)


def plan(requirement: Requirement) -> Plan:
    """The components of a requirement that was read, so without circles."""
    file, project = requirement.file, requirement.project
    if not requirement.component:
        path = default_file(file.name, file.language, file.extension)
        only = Component(
            name=file.name,
            language_name=language_of(file.language).name,
            description=file.description,
            requirements=project.requirements,
            specs=project.specs,
            hints=project.hints,
            files=(path,),
            depends_on=(),
            entry=True,
        )
        return Plan((only,))
    used = {name for one in requirement.component for name in one.depends_on}
    started = [one.name for one in requirement.component if one.entry]
    unsaid = [one.name for one in requirement.component if "entry" not in one.model_fields_set]
    entry = next(iter(started or [name for name in reversed(unsaid) if name not in used]), "")
    made = {}
    for one in requirement.component:
        language = one.language or file.language
        made[one.name] = Component(
            name=one.name,
            language_name=language_of(language).name,
            description=one.description,
            requirements=one.requirements or one.description or project.requirements,
            specs="\n\n".join(filter(None, (project.specs, one.specs))),
            hints="\n\n".join(filter(None, (project.hints, one.hints))),
            files=files_of(requirement, one),
            depends_on=one.depends_on,
            entry=one.name == entry,
        )
    return Plan(tuple(made[name] for name in _ordered({name: one.depends_on for name, one in made.items()})))


def cases_of(component: Component, plan: Plan, cases: Iterable[Case]) -> tuple[Case, ...]:
    """The tests of a component; those that name none are of the entry."""
    return tuple(case for case in cases if (case.component or plan.entry.name) == component.name)


def covers_nothing(plan: Plan, cases: Iterable[Case]) -> tuple[str, ...]:
    """Sentences about tests that claim to show a requirement that does not exist, or that they cannot show."""
    found = []
    for case in cases:
        component = plan.named(case.component or plan.entry.name)
        known = {one.id for one in component.numbered}
        unknown = [number for number in case.covers if number.removeprefix(f"{component.name}.") not in known]
        found += [
            f"the test {case.name!r} covers {number}, and {component.name} has {len(known)} requirements"
            for number in unknown
        ]
        if case.covers and case.is_hollow and not unknown:
            found.append(f"the test {case.name!r} expects nothing but an end without an error, so it covers nothing")
    return tuple(found)


def digest(parts: object) -> str:
    """A hash of values that JSON can hold."""
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False, sort_keys=True).encode()).hexdigest()


def _ordered(needs: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Names, each after those that it needs, otherwise in their written order."""
    placed: list[str] = []
    waiting = list(needs)
    while waiting:
        ready = [name for name in waiting if all(below in placed for below in needs[name])]
        if not ready:
            raise ValueError("components depend on each other in a circle")
        placed.append(ready[0])
        waiting.remove(ready[0])
    return placed
