"""Do the components fit together: are names and parameters those of the contract, and do all imports exist?"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from typing import Literal

from workers.agent.code.source import tree
from workers.builder.critics.subject import Subject
from workers.builder.critics.verdicts import Finding, Verdict, failed, finding, passed
from workers.builder.requirements.components import Component
from workers.builder.requirements.contract import Export
from workers.builder.sandbox.walls import Job, Walls
from workers.builder.testing.case_script import module_of

_IMPORTABLE = "import importlib.util, sys; print(*(n for n in sys.argv[1:] if importlib.util.find_spec(n) is None))"


_IMPORTS = (ast.Import, ast.ImportFrom)


class InterfaceCritic:
    """What a component offers is what the contract says; what it uses exists."""

    name: Literal["interface"] = "interface"

    def __init__(self, walls: Walls) -> None:
        self._walls = walls

    def judge(self, subject: Subject) -> Verdict:
        """Python is compared name by name and parameter by parameter; in other languages names have to occur."""
        component = subject.component
        exports = subject.contract.of(component.name).exports
        if component.language.name != "python":
            missing = [
                one
                for one in exports
                if not any(re.search(rf"\b{re.escape(one.name)}\b", text) for text in subject.own.values())
            ]
            found = [self._missing(one, component) for one in missing]
            return failed(self.name, found) if found else passed(self.name)
        found = [*self._offered(subject, exports), *self._used(subject), *self._outside(subject)]
        hard = [one for one in found if one.severity != "low"]
        return failed(self.name, found) if hard else passed(self.name, findings=found)

    def _offered(self, subject: Subject, exports: tuple[Export, ...]) -> Iterator[Finding]:
        component = subject.component
        parsed = tree(subject.own.get(component.main_file, ""))
        defined = dict(_defined(parsed)) if parsed else {}
        for one in exports:
            if one.name not in defined:
                yield self._missing(one, component)
                continue
            node, wanted = defined[one.name], parameters_of(one.signature)
            if wanted is not None and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                given = _parameters(node)
                if [name for name, _ in given] != wanted and not _takes(given, wanted):
                    names = ", ".join(name for name, _ in given)
                    text = f"`{one.name}` takes ({names}), the contract says `{one.signature}`."
                    yield finding(
                        text, "high", file=component.main_file, line=node.lineno, rule="signature", about=one.name
                    )

    def _missing(self, export: Export, component: Component) -> Finding:
        text = f"The contract wants `{export.signature or export.name}` in {component.main_file}, and it is not there."
        return finding(text, "high", file=component.main_file, rule="export", about=export.name)

    def _used(self, subject: Subject) -> Iterator[Finding]:
        """Names that this component takes from others which do not offer them."""
        siblings = {module_of(one.main_file): one for one in subject.plan.components if one.language.name == "python"}
        for path, text in subject.own.items():
            for module, name, line in _taken(tree(text)):
                other = siblings.get(module)
                if other is None or other.name == subject.component.name:
                    continue
                if other.name not in subject.component.depends_on:
                    said = f"It imports {module}, but {subject.component.name} does not depend on {other.name}."
                    yield finding(said, "medium", file=path, line=line, rule="dependency", about=other.name)
                parsed = tree(subject.files.get(other.main_file, ""))
                if name and parsed is not None and name not in dict(_defined(parsed)):
                    own = {each for one in parsed.body for each, _ in _names(one) if not isinstance(one, _IMPORTS)}
                    offered = ", ".join(sorted(each for each in own if not each.startswith("_")))
                    said = f"{other.main_file} has no `{name}`. It offers: {offered}."
                    yield finding(said, "high", file=path, line=line, rule="import", about=name)

    def _outside(self, subject: Subject) -> Iterator[Finding]:
        """Imports that are neither of the standard library, nor of this program, nor installed."""
        own = {path.removesuffix(".py").split("/")[0] for path in subject.plan.files if path.endswith(".py")}
        places = {
            module.split(".")[0]: (path, line)
            for path, text in subject.own.items()
            for module, _, line in _imported(tree(text))
        }
        own |= {name for case in subject.requirement.tests.case for name in case.fakes}
        own |= set(subject.packages.modules)
        asked = [name for name in places if name not in {*sys.stdlib_module_names, *own} and name.isidentifier()]
        if not asked:
            return
        ran = self._walls.run(Job(("python", "-I", "-c", _IMPORTABLE, *asked), tool=True))
        for name in ran.stdout.split():
            if name not in places:
                continue
            path, line = places[name]
            if subject.is_meant(name):
                text = f"{name} is not installed here, so what needs it was not run."
                yield finding(text, "low", file=path, line=line, rule="not installed", about=name)
            else:
                files = ", ".join(subject.plan.files)
                text = f"It imports `{name}`, which is no file of this program ({files}) and no installed package."
                yield finding(text, "medium", file=path, line=line, rule="missing module", about=name)


def parameters_of(signature: str) -> list[str] | None:
    """The names of the parameters in a signature of a contract; None when it is not one of a Python function."""
    text = signature.strip().removeprefix("async ").removeprefix("def ").rstrip(":")
    parsed = tree(f"def {text}: ...") if "(" in text else None
    node = parsed.body[0] if parsed and parsed.body else None
    return [name for name, _ in _parameters(node)] if isinstance(node, ast.FunctionDef) else None


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[tuple[str, bool]]:
    """The parameters, and whether each may be left out."""
    arguments = node.args
    plain = [*arguments.posonlyargs, *arguments.args]
    named = [(one.arg, at >= len(plain) - len(arguments.defaults)) for at, one in enumerate(plain)]
    named += [
        (one.arg, default is not None) for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    return [*named, *((f"*{one.arg}", True) for one in (arguments.vararg, arguments.kwarg) if one)]


def _takes(given: list[tuple[str, bool]], wanted: list[str]) -> bool:
    """Whether a call by the contract fits: further parameters have defaults."""
    names = [name for name, _ in given]
    return names[: len(wanted)] == wanted and all(optional for _, optional in given[len(wanted) :])


def _defined(module: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    for node in ast.walk(module):
        if node in module.body or isinstance(node, ast.Import | ast.ImportFrom):
            yield from _names(node)
    for node in module.body:  # names that are bound only in one branch
        for inner in ast.iter_child_nodes(node) if isinstance(node, ast.If | ast.Try | ast.With) else ():
            yield from _names(inner)


def _names(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name, node
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from ((alias.asname or alias.name.split(".")[0], node) for alias in node.names)
    else:
        targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
        for target in targets:
            yield from ((each.id, node) for each in ast.walk(target) if isinstance(each, ast.Name))


def _imported(module: ast.Module | None) -> Iterator[tuple[str, str, int]]:
    """(module, name or "", line) of each import that is not relative."""
    for node in ast.walk(module) if module else ():
        if isinstance(node, ast.Import):
            yield from ((alias.name, "", node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((node.module, alias.name if alias.name != "*" else "", node.lineno) for alias in node.names)


def _taken(module: ast.Module | None) -> Iterator[tuple[str, str, int]]:
    """What is imported, and attributes of modules that were imported whole."""
    whole: dict[str, str] = {}
    for node in ast.walk(module) if module else ():
        if isinstance(node, ast.Import):
            whole |= {alias.asname or alias.name: alias.name for alias in node.names}
    yield from _imported(module)
    for node in ast.walk(module) if module else ():
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in whole:
            yield whole[node.value.id], node.attr, node.lineno
