"""The prompt texts: YAML files in `prompts/` with a description, declared variables and a Jinja2 template.

What is declared and what is used must agree, checked when the files are loaded; what is passed and what is declared
must agree, checked at each rendering. A wrong brace (`{name}` for `{{ name }}`) is refused too: a template engine
would let it pass and the model would read it as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from importlib.resources.abc import Traversable
from types import MappingProxyType

import yaml
from jinja2 import Environment, StrictUndefined, Template, TemplateSyntaxError, meta
from pydantic import BaseModel, ConfigDict, ValidationError

from core.errors import OursToFix
from core.yaml_text import read_yaml

_ENVIRONMENT = Environment(
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    autoescape=False,  # noqa: S701 - prompts are plain text, not HTML
)
_SINGLE_BRACES = re.compile(r"(?<![{%#])\{(\w+)\}(?!\})")


class PromptError(OursToFix):
    """A prompt file is wrong, or a prompt was rendered with the wrong variables. The message names both."""


class PromptFile(BaseModel):
    """One YAML file of `prompts/`: what it is for, what each variable means, the text.

    A file with `words` is a procedure: a short how-to that is told behind the question when people's messages hold
    one of its words. It has no variables.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    description: str
    variables: dict[str, str] = {}
    words: tuple[str, ...] = ()
    template: str


@dataclass(frozen=True, slots=True)
class _Prompt:
    file: PromptFile
    template: Template


class Prompts:
    """All prompts by name. Frozen in effect: loaded once, rendered without I/O."""

    def __init__(self, prompts: Mapping[str, PromptFile]) -> None:
        """Compiles and checks every file. Raises PromptError."""
        self._prompts = MappingProxyType({name: _Prompt(file, _compiled(name, file)) for name, file in prompts.items()})

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all prompts, sorted."""
        return tuple(sorted(self._prompts))

    def file(self, name: str) -> PromptFile:
        """The source of a prompt. Raises PromptError when there is none of this name."""
        return self._found(name).file

    def render(self, name: str, /, **variables: object) -> str:
        """The text of a prompt. Raises PromptError for an unknown prompt, a missing or an undeclared variable."""
        prompt = self._found(name)
        declared, given = set(prompt.file.variables), set(variables)
        if declared != given:
            missing, unknown = sorted(declared - given), sorted(given - declared)
            raise PromptError(f"prompt {name}: missing variables {missing}, undeclared variables {unknown}")
        return prompt.template.render(variables).strip()

    def procedures(self, text: str, limit: int = 2) -> tuple[str, ...]:
        """The procedures that fit this text best, by how many of their words it holds."""
        hits = {name: _hits(prompt.file.words, text) for name, prompt in self._prompts.items() if prompt.file.words}
        best = sorted((name for name in hits if hits[name]), key=lambda name: (-hits[name], name))
        return tuple(self.render(name) for name in best[:limit])

    def _found(self, name: str) -> _Prompt:
        try:
            return self._prompts[name]
        except KeyError:
            raise PromptError(f"no prompt {name!r}; there are {', '.join(self.names)}") from None


@lru_cache(maxsize=256)  # each prompt of a turn asks for the same text
def _hits(words: tuple[str, ...], text: str) -> int:
    """How many of these words a text holds: whole words (with a plural s) in Latin letters, any occurrence in Chinese
    and Japanese."""
    folded, known = text.casefold(), [word.casefold() for word in words]
    return sum(bool(_whole(word).search(folded)) if word[0] < "\u2e80" else word in folded for word in known)


@cache  # re's own cache forgets; each job is a fork of a process that knows these already
def _whole(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(word)}s?(?!\w)")


def _compiled(name: str, file: PromptFile) -> Template:
    try:
        parsed = _ENVIRONMENT.parse(file.template)
        used = meta.find_undeclared_variables(parsed)
    except TemplateSyntaxError as error:
        raise PromptError(f"prompt {name}, line {error.lineno}: {error.message}") from error
    if used != set(file.variables):
        unused, undeclared = sorted(set(file.variables) - used), sorted(used - set(file.variables))
        raise PromptError(f"prompt {name}: declared but not used {unused}, used but not declared {undeclared}")
    if file.words and file.variables:
        raise PromptError(f"prompt {name}: a procedure has no variables")
    if wrong := [word for word in _SINGLE_BRACES.findall(file.template) if word in file.variables]:
        raise PromptError(f"prompt {name}: {{{wrong[0]}}} stands in single braces, the model would read it as it is")
    return _ENVIRONMENT.from_string(parsed)


@cache
def load_prompts(folder: Traversable | None = None) -> Prompts:
    """The prompts of a folder, by default the product's own. Raises PromptError, naming the file."""
    folder = resources.files("prompts") if folder is None else folder
    files: dict[str, PromptFile] = {}
    for entry in sorted(folder.iterdir(), key=lambda found: found.name):
        if entry.name.endswith(".yaml"):
            try:
                files[entry.name.removesuffix(".yaml")] = PromptFile.model_validate(read_yaml(entry.read_text("utf-8")))
            except (yaml.YAMLError, ValidationError) as error:
                raise PromptError(f"prompts/{entry.name}: {error}") from error
    return Prompts(files)
