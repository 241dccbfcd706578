"""A draft out of what a model wrote: one block of JSON, the module, the tests. Pure; nothing of it is trusted."""

from __future__ import annotations

import json
import re
from typing import Final

from core.steps import FunctionDraft
from workers.memory.functions.static import NAME

LONGEST_REPLY: Final = 60_000
_BLOCK = re.compile(r"^[ \t]*(`{3,})[ \t]*(\w*)[^\n`]*\n(.*?)^[ \t]*\1[ \t]*$", re.DOTALL | re.MULTILINE)
_KEYS = ("description", "when", "parameters", "returns")


def read_draft(text: str) -> FunctionDraft | str:
    """The draft, or a sentence for the model that says what is missing."""
    if len(text) > LONGEST_REPLY:
        return f"The reply is longer than {LONGEST_REPLY:,} characters."
    blocks = [(match[2].lower(), match[3]) for match in _BLOCK.finditer(text)]
    header = next((body for language, body in blocks if language == "json"), None)
    code = [body for language, body in blocks if language in ("python", "py", "python3")]
    if header is None or len(code) != 2:
        return (
            f"The reply has {'no' if header is None else 'a'} block of JSON and {len(code)} blocks of Python. Write "
            "exactly one ```json block, then one ```python block with module.py, then one with tests.py."
        )
    try:
        about = json.loads(header)
    except (ValueError, RecursionError):
        return "The ```json block is no JSON."
    if not isinstance(about, dict) or not isinstance(name := about.get("name"), str) or not NAME.fullmatch(name):
        return (
            "The ```json block has to be an object whose 'name' is that of the function: small letters, digits and _."
        )
    schema = {key: about[key] for key in _KEYS if key in about}
    module, tests = code
    if "def test_" in module and "def test_" not in tests:
        module, tests = tests, module
    return FunctionDraft(
        name=name, schema_text=json.dumps(schema, ensure_ascii=False, indent=2), code=module.strip("\n") + "\n",
        tests=tests.strip("\n") + "\n",
    )  # fmt: skip
