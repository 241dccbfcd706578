"""An argument of a tool in words, from whatever a server calls its schema."""

from __future__ import annotations

import pytest

from workers.tools.schemas import default_of, kind_of

STATE = {"enum": ["open", "closed"], "type": "string"}
LOOP = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Loop"}}}


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "string"}, "string"),
        (STATE, '"open" | "closed"'),
        ({"const": "v1"}, '"v1"'),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string or null"),
        ({"type": ["integer", "null"]}, "integer or null"),
        ({"type": "array", "items": STATE}, 'array of "open" | "closed"'),
        ({"type": "array"}, "array"),
        ({"$ref": "#/$defs/State"}, '"open" | "closed"'),
        (
            {"type": "object", "properties": {"id": {"type": "integer"}, "by": STATE}},
            'object {id: integer, by: "open" | "closed"}',
        ),
        ({"enum": list(range(30))}, " | ".join(map(str, range(20))) + " | …"),
    ],
)
def test_an_argument_says_its_type_and_the_values_that_it_may_have(schema: object, kind: str) -> None:
    assert kind_of(schema, {"State": STATE}) == kind


@pytest.mark.parametrize(
    "schema",
    [None, 3, "string", [], {}, {"type": 3}, {"type": []}, {"type": [3]}, {"enum": "open"}, {"anyOf": {}},
     {"$ref": "#/$defs/Missing"}, {"$ref": 3}, {"type": {"of": "string"}}],
)  # fmt: skip
def test_what_is_no_schema_is_any(schema: object) -> None:
    assert kind_of(schema, {"State": STATE}) == "any"


def test_a_schema_that_refers_to_itself_has_an_end() -> None:
    assert kind_of(LOOP, {"Loop": LOOP}) == "object {next: object {next: object {next: any}}}"


@pytest.mark.parametrize(
    ("schema", "default"),
    [({"default": 10}, "10"), ({"default": "open"}, '"open"'), ({"default": False}, "false"), ({"default": None}, ""),
     ({}, ""), (None, "")],
)  # fmt: skip
def test_an_argument_says_what_it_is_when_it_is_left_out(schema: object, default: str) -> None:
    assert default_of(schema) == default
