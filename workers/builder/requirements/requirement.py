"""The requirement file: what a program shall be, as people write it down (docs/programs.md).

`[file]` and `[project]` are the fields of the original `ai_coding`; a file that has only these builds unchanged. The
other tables are ours. The JSON Schema of the file is made from these classes (`schema`).
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, get_args

from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as Specifier
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from core.errors import ThreadbookError
from workers.builder.requirements.languages import LANGUAGES, language_of
from workers.builder.requirements.toml_positions import Path, positions

MAX_CHARS = 200_000
"""Characters of a requirement file. A longer file does not fit into a prompt."""
RESERVED = frozenset({"history", "tests", "README.md", "SECURITY.md", "requirement.toml", "requirements.txt"})
"""Names in the folder of a program that the builder writes itself."""
CriticName = Literal["format", "interface", "lint", "types", "security", "run", "tests", "coverage", "review"]
Severity = Literal["low", "medium", "high"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(name) or name.endswith("."):
        raise ValueError("a name has letters, digits, `_`, `-` and `.`, at most 64, and begins with a letter or digit")
    return name


def checked_path(path: str) -> str:
    """A path below a program's folder. Raises ValueError for one that leads out of it or looks hidden."""
    parts = PurePosixPath(path).parts
    if not path or path.startswith("/") or "\\" in path or len(path) > 200:
        raise ValueError("a file is named by a relative path with `/`")
    if any(part.startswith(".") or not part.isprintable() for part in parts):
        raise ValueError("no part of a path begins with a dot")
    return "/".join(parts)


def _fake_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", name):
        raise ValueError("a stand-in is named as the command or the module that it stands for")
    return name


def _own_path(path: str) -> str:
    path = checked_path(path)
    if path.split("/")[0] in RESERVED:
        raise ValueError(f"{path.split('/')[0]} is written by the builder itself")
    return path


def _package(text: str) -> str:
    try:
        parsed = Specifier(text)
    except InvalidRequirement:
        parsed = None
    if parsed is None or parsed.url or parsed.marker or len(text) > 200 or not text.isprintable():
        raise ValueError("a package is a name with or without versions, such as `rich` or `rich>=13,<15`")
    return str(parsed)


Name = Annotated[str, AfterValidator(_checked_name)]
PackageSpecifier = Annotated[str, AfterValidator(_package)]
FilePath = Annotated[str, AfterValidator(checked_path)]
OwnPath = Annotated[str, AfterValidator(_own_path)]
FakeName = Annotated[str, AfterValidator(_fake_name)]
Text = Annotated[str, Field(max_length=100_000)]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, hide_input_in_errors=True)


class FileTable(_Table):
    """General information about the program."""

    name: Name = ""
    """Name of the program and of its file. Empty: the name of the requirement file."""
    language: str = Field(default="python", min_length=1, max_length=40)
    """Programming language."""
    description: str = Field(default="", max_length=2_000)
    """What the program is, in a sentence."""
    extension: str = Field(default="", pattern=r"^\.?[A-Za-z0-9]{0,12}$")
    """File ending without the dot. Empty: the usual one of the language."""


class Wanted(_Table):
    """What is asked of a program or a component."""

    requirements: Text = ""
    """What it shall do: one text, not a list."""
    specs: Text = ""
    """Facts to follow: protocols, formats, prototypes of functions."""
    hints: Text = ""
    """What the model should know but gets wrong."""


class ProjectTable(Wanted):
    """What the whole program shall do."""


class ComponentTable(Wanted):
    """One part of a program that has several."""

    name: Name
    """Name of the component and of its file."""
    language: str = Field(default="", max_length=40)
    """Programming language. Empty: that of `[file]`."""
    description: str = Field(default="", max_length=2_000)
    """What the component is for, in a sentence."""
    files: tuple[OwnPath, ...] = Field(default=(), max_length=20)
    """The files that it consists of. Empty: one, `NAME.EXTENSION`."""
    depends_on: tuple[str, ...] = Field(default=(), max_length=50)
    """Names of the components that it uses. They are built first."""
    entry: bool = False
    """Whether a person starts its first file. Left out: the last component that no other uses. false: a library."""


class Expected(_Table):
    """What must be true after a run. Fields that are left out are not checked."""

    stdout: str | None = Field(default=None, max_length=100_000)
    """The whole output; blanks at line ends and empty lines at its end do not count."""
    stdout_contains: tuple[str, ...] = Field(default=(), max_length=50)
    """Texts that the output holds."""
    stdout_matches: str = Field(default="", max_length=1_000)
    """A regular expression that is found in the output."""
    stderr_contains: tuple[str, ...] = Field(default=(), max_length=50)
    """Texts that the error output holds."""
    exit_code: int | None = Field(default=None, ge=0, le=255)
    """The exit code. Left out: 0, unless `stderr_contains` is given."""
    files: dict[FilePath, str] = Field(default={}, max_length=20)
    """Files that the run leaves, with their content."""
    value: Any = None
    """What `call` gives, as JSON."""


class Case(_Table):
    """One test: how the program is started, and what has to be seen."""

    name: str = Field(min_length=1, max_length=100)
    """What the test shows, as a rule."""
    component: str = Field(default="", max_length=64)
    """The component that is tested. Empty: the one that a person starts."""
    arguments: tuple[str, ...] = Field(default=(), max_length=100)
    """Command-line arguments. For SQL: scripts of `files` that run first."""
    stdin: str = Field(default="", max_length=100_000)
    """What the program reads. For SQL: statements that run after it."""
    call: str = Field(default="", max_length=2_000)
    """Instead of a start: a Python expression over the component's names."""
    files: dict[FilePath, str] = Field(default={}, max_length=20)
    """Files that lie in its folder."""
    environment: dict[str, str] = Field(default={}, max_length=20)
    """Environment variables."""
    fakes: dict[FakeName, str] = Field(default={}, max_length=10)
    """Stand-ins for what the walls do not let through. bash: command = what it prints. python: module = its source."""
    covers: tuple[str, ...] = Field(default=(), max_length=50)
    """Numbers of the requirements that it shows, such as "R2"."""
    expect: Expected = Expected()
    """What has to be seen."""

    @property
    def is_hollow(self) -> bool:
        """Whether it passes for every program that ends well. So it shows no requirement."""
        one = self.expect
        seen = (self.call, one.exit_code, one.files, one.stdout_matches, *one.stdout_contains, *one.stderr_contains)
        return one.stdout is None and not any(seen)


class TestsTable(_Table):
    """Tests are requirements too."""

    __test__ = False  # no test class of pytest

    case: tuple[Case, ...] = Field(default=(), max_length=200)
    """Tests with exact data."""
    prose: Text = ""
    """Tests in words. A model makes cases of them, which have to find broken programs."""
    file: str = Field(default="", max_length=200)
    """A further file whose `[tests]` count too."""
    mutants: int = Field(default=8, ge=0, le=50)
    """How many broken programs the tests are tried on; 0: none."""


class BuildTable(_Table):
    """How it is built."""

    model: str = Field(default="", max_length=200)
    """The model's name at the endpoint. Empty: OPENAI_MODEL."""
    rounds: int = Field(default=3, ge=0, le=10)
    """How often a component may be repaired."""
    max_calls: int = Field(default=60, ge=1, le=1_000)
    """Calls of the model in one build."""
    budget: float = Field(default=0.0, ge=0)
    """Most that one build may cost, in the currency of `[budget]`; 0: no limit. Needs a price of the model."""
    without: tuple[CriticName, ...] = ()
    """Critics that are switched off."""
    prefix: bool = False
    """Whether the endpoint completes a reply that we begin (DeepSeek's beta does)."""


class RunTable(_Table):
    """What a run of the program may use."""

    timeout_s: float = Field(default=20.0, gt=0, le=300)
    """Wall time of one run."""
    memory_mb: int = Field(default=1024, ge=64, le=4096)
    """Memory of one run."""
    packages: tuple[PackageSpecifier, ...] = Field(default=(), max_length=50)
    """Packages beyond the standard library that the program may import, with versions or without."""


class SecurityTable(_Table):
    """What holds a program back."""

    fail_on: Literal["low", "medium", "high", "never"] = "high"
    """The least severity of a finding for which the program is not handed over."""
    allow: tuple[Literal["network", "processes", "files", "secrets"], ...] = ()
    """What the program is meant to do: findings of this kind are told and hold nothing back."""


class Requirement(_Table):
    """A requirement file."""

    file: FileTable = FileTable()
    project: ProjectTable = ProjectTable()
    component: tuple[ComponentTable, ...] = Field(default=(), max_length=50)
    tests: TestsTable = TestsTable()
    build: BuildTable = BuildTable()
    run: RunTable = RunTable()
    security: SecurityTable = SecurityTable()


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault of a requirement file: where, and what would be right. Lines and columns count from 1."""

    message: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.line}:{self.column}: {self.message}"


class RequirementWrong(ThreadbookError):
    """A requirement file cannot be used; `problems` has every fault with its place."""

    def __init__(self, name: str, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(f"{name}:{problem}" for problem in problems))
        self.name = name
        self.problems = problems


def read(text: str, name: str = "requirement.toml", *, tests_only: bool = False) -> Requirement:
    """The requirement in a file's text; `name` is the file's name. Raises RequirementWrong with every fault.

    `tests_only`: it is a file that another one names for its `[tests]`.
    """
    if len(text) > MAX_CHARS:
        raise RequirementWrong(name, (Problem(f"the file is longer than {MAX_CHARS:,} characters"),))
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise RequirementWrong(name, (_syntax_problem(str(error), text),)) from None
    places = positions(text)
    try:
        requirement = Requirement.model_validate(data)
    except ValidationError as error:
        problems = [_problem(dict(fault), places) for fault in error.errors()]
        raise RequirementWrong(name, tuple(sorted(problems, key=lambda one: (one.line, one.column)))) from None
    if not requirement.file.name:
        stem = re.sub(r"[^A-Za-z0-9_.-]", "_", PurePosixPath(name).stem).lstrip(".-") or "program"
        requirement = requirement.model_copy(update={"file": requirement.file.model_copy(update={"name": stem[:64]})})
    faults = () if tests_only else tuple(_inconsistencies(requirement, places))
    if faults:
        raise RequirementWrong(name, faults)
    return requirement


def with_tests(requirement: Requirement, more: Requirement) -> Requirement:
    """The requirement with the tests of a further file added to its own."""
    own, other = requirement.tests, more.tests
    prose = "\n\n".join(filter(None, (own.prose, other.prose)))
    mutants = other.mutants if "mutants" in other.model_fields_set else own.mutants
    tests = own.model_copy(update={"case": (*own.case, *other.case), "prose": prose, "mutants": mutants})
    return requirement.model_copy(update={"tests": tests})


def schema() -> dict[str, Any]:
    """The JSON Schema of the file, for editors (`#:schema` in the first line)."""
    made = Requirement.model_json_schema()
    made |= {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Requirement file of Threadbook"}
    return made


def warnings(requirement: Requirement) -> tuple[str, ...]:
    """What is allowed and probably not meant."""
    return tuple(
        f"no tools are known for the language {name!r}: it is written as text and only read by the model"
        + _nearest(name.casefold(), sorted(_known_languages()))
        for name in unknown_languages(requirement)
    )


def unknown_languages(requirement: Requirement) -> tuple[str, ...]:
    """The languages of a file for which no tools are known, as it names them."""
    named = dict.fromkeys([requirement.file.language, *(one.language for one in requirement.component if one.language)])
    return tuple(name for name in named if name.strip().casefold() not in _known_languages())


def _known_languages() -> set[str]:
    return {word for language in LANGUAGES for word in (language.name, *language.aliases)}


def extension_of(language: str, extension: str = "") -> str:
    """The file ending of a program, without the dot."""
    return extension.lstrip(".") or language_of(language).extension


def default_file(name: str, language: str, extension: str = "") -> str:
    """The file of a program or a component that names none."""
    return f"{name}.{extension_of(language, extension)}"


def files_of(requirement: Requirement, component: ComponentTable) -> tuple[str, ...]:
    """The files of a component, its main one first."""
    file, language = requirement.file, component.language or requirement.file.language
    extension = file.extension if language == file.language else ""
    return component.files or (default_file(component.name, language, extension),)


_Places = Mapping[Path, tuple[int, int]]


def _inconsistencies(requirement: Requirement, places: _Places) -> Iterator[Problem]:
    """Combinations that each table allows, but that make no sense."""
    required = requirement.project.requirements.strip()
    if not requirement.component and not required:
        text = "nothing is required: write what the program shall do into [project] requirements"
        yield Problem(text, *_nearest_place(("project",), places))
    for number in range(len(requirement.component)):
        yield from _of_component(requirement, number, places)
    if not requirement.component:
        path = default_file(requirement.file.name, requirement.file.language, requirement.file.extension)
        if path in RESERVED:
            yield Problem(f"{path} is written by the builder itself", *_nearest_place(("file", "name"), places))
    first = _nearest_place(("component", 0), places)
    if circle := _circle(requirement):
        yield Problem("components depend on each other in a circle: " + " → ".join(circle), *first)
    entries = [one.name for one in requirement.component if one.entry]
    if len(entries) > 1:
        yield Problem(f"only one component is started by a person, not {', '.join(entries)}", *first)
    for number, case in enumerate(requirement.tests.case):
        for text in _of_case(requirement, case):
            yield Problem(f"the test {case.name!r} {text}", *_nearest_place(("tests", "case", number), places))


def _of_component(requirement: Requirement, number: int, places: _Places) -> Iterator[Problem]:
    def at(key: str = "") -> tuple[int, int]:
        return _nearest_place(("component", number, key), places)

    one = requirement.component[number]
    names = [other.name for other in requirement.component]
    owners = {path: other.name for other in requirement.component[:number] for path in files_of(requirement, other)}
    if not (one.requirements.strip() or one.description.strip() or requirement.project.requirements.strip()):
        yield Problem(f"nothing is required of {one.name}: it needs `requirements`", *at())
    if names.index(one.name) != number:
        yield Problem(f"two components are called {one.name}", *at("name"))
    for needed in one.depends_on:
        if needed == one.name:
            yield Problem(f"{one.name} depends on itself", *at("depends_on"))
        elif needed not in names:
            text = f"{one.name} depends on {needed!r}, which is no component" + _nearest(needed, names)
            yield Problem(text, *at("depends_on"))
    for path in files_of(requirement, one):
        if path in owners:
            yield Problem(f"{path} belongs to {owners[path]} already", *at("files"))
        if path.split("/")[0] in RESERVED:
            yield Problem(f"{path} is written by the builder itself", *at("name"))


def _of_case(requirement: Requirement, case: Case) -> Iterator[str]:
    names = [one.name for one in requirement.component] or [requirement.file.name]
    if case.component and case.component not in names:
        yield f"is of {case.component!r}, which is no component" + _nearest(case.component, names)
    if case.call and (case.arguments or case.stdin):
        yield "has both a `call` and a start"
    if case.call and "value" not in case.expect.model_fields_set:
        yield "calls, so it needs `value` under expect"
    if case.expect.stdout_matches:
        try:
            re.compile(case.expect.stdout_matches)
        except re.error as error:
            yield f"has a `stdout_matches` that is no regular expression: {error}"


def _circle(requirement: Requirement) -> list[str]:
    needs = {one.name: [name for name in one.depends_on if name != one.name] for one in requirement.component}
    done: set[str] = set()

    def walk(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done or name not in needs:
            return []
        found = next((circle for below in needs[name] if (circle := walk(below, [*path, name]))), [])
        done.add(name)
        return found

    return next((circle for name in needs if (circle := walk(name, []))), [])


def _syntax_problem(message: str, text: str) -> Problem:
    match = re.search(r"\(at line (\d+), column (\d+)\)", message)
    words = re.sub(r"\s*\(at .*\)$", "", message)
    if match:
        return Problem(f"this is no TOML: {words}", int(match[1]), int(match[2]))
    return Problem(f"this is no TOML: {words}", text.count("\n") + 1)


_SAID = {
    "string_type": "a text in quotes is expected",
    "int_type": "a whole number is expected",
    "bool_type": "true or false is expected",
    "float_type": "a number is expected",
    "tuple_type": "a list in [ ] is expected",
    "model_type": "a table is expected",
    "model_attributes_type": "a table is expected",
    "dict_type": "a table is expected",
}


def _problem(fault: Mapping[str, Any], places: Mapping[Path, tuple[int, int]]) -> Problem:
    path = tuple(part for part in fault["loc"] if part not in ("function-after[_own_path(), str]", "literal"))
    where = _nearest_place(path, places)
    named = ".".join(str(part) for part in path)
    kind = str(fault["type"])
    if kind == "extra_forbidden":
        return Problem(f"unknown key `{named}`" + _nearest(str(path[-1]), _keys_at(path[:-1])), *where)
    if kind == "missing":
        return Problem(f"`{named}` is missing", *where)
    if kind == "string_type" and path[-1:] == ("requirements",):
        return Problem("`requirements` is one text, not a list: write it between triple quotes", *where)
    text = _SAID.get(kind, str(fault["msg"]).removeprefix("Value error, "))
    return Problem(f"`{named}`: {text}", *where)


def _nearest_place(path: Path | tuple[Any, ...], places: Mapping[Path, tuple[int, int]]) -> tuple[int, int]:
    """The place of a key, else of what holds it."""
    while path and path not in places:
        path = path[:-1]
    return places.get(path, (1, 1))


def _nearest(word: str, known: list[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f"; did you mean `{near[0]}`?" if near else f"; known are {', '.join(known)}" if known else ""


def _keys_at(path: tuple[Any, ...]) -> list[str]:
    """The keys that a table of this path may have."""
    model: Any = Requirement
    for part in path:
        if isinstance(part, int):
            continue
        field = getattr(model, "model_fields", {}).get(str(part))
        if field is None:
            return []
        inner = [one for one in (field.annotation, *get_args(field.annotation)) if hasattr(one, "model_fields")]
        model = inner[0] if inner else None
    return list(getattr(model, "model_fields", {}))
