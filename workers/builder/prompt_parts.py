"""What several prompts of a build have in common."""

from __future__ import annotations

from typing import Any

from workers.builder.asking import Asker
from workers.builder.fences import quoted
from workers.builder.requirements.components import Component


def system(asker: Asker, component: Component) -> dict[str, Any]:
    """The message that says who writes."""
    return {"role": "system", "content": asker.render("build_persona", {"language": component.language.name})}


def numbered_rows(component: Component) -> list[dict[str, str]]:
    """The requirements of a component with their numbers."""
    return [{"id": one.id, "text": quoted(one.text)} for one in component.numbered]
