"""XML: elements that stand several times below one another as the records of tables."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from .columns import Column, is_text, with_lost_words
from .frames import cut, describe_frame
from .kinds import XML_WORKBOOK, Unusable
from .lines import call, note
from .texts import Text, document

_MOST_TABLES = 12
_DEEPEST = 20
_STYLE = (".", None)
"""The decimal mark and the mark for thousands that `pandas.read_xml` knows."""


def xml_tables(text: Text) -> dict[str, Any] | None:
    """The tables of a file of XML, or its beginning where it has none or is large. None for what is no XML.

    Raises Unusable for a workbook in the XML of Excel 2003.
    """
    from lxml import etree  # type: ignore[import-untyped]  # noqa: PLC0415 - imported where it is installed

    if XML_WORKBOOK.decode() in text.head[:8_192].lower():
        raise Unusable("xml_workbook")
    if text.is_sampled:
        return document(text, "xml") | {"notes": [note("large_json")]}
    # Nothing is fetched, and no entity is put in: a short file could mean a long one.
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        tree = etree.parse(text.path, parser)
    except etree.XMLSyntaxError:
        return None
    kinds = sorted(_record_kinds(tree.getroot(), etree), key=lambda kind: -kind.count)
    tables = []
    encoding = str(tree.docinfo.encoding or "utf-8").lower()
    for kind in kinds[:_MOST_TABLES]:
        if kind.count * len(kind.cells) <= text.bounds.cells and (table := _table(text, kind, encoding)):
            tables.append(table)
    if not tables:
        return document(text, "xml")
    notes = [note("tables")] if len(tables) > 1 else []
    notes += [note("more_tables", count=len(kinds) - _MOST_TABLES)] if len(kinds) > _MOST_TABLES else []
    nested = sorted({name for kind in kinds[:_MOST_TABLES] for name in kind.nested})
    notes += [note("xml_nested", names=cut(", ".join(nested), 200))] if nested else []
    lost = [name for table in tables for name in table.pop("lost")]
    notes += [note("maybe_words", names=cut(", ".join(lost), 200))] if lost else []
    loading = tables[0]["read"]
    if len(tables) == 1:
        tables[0]["read"] = ""
    return document(text, "xml") | {
        "encoding": encoding,
        "tables": tables,
        "read_hint": loading,
        "notes": notes,
    }


@dataclass
class _Kind:
    """Elements of one path that are records."""

    path: tuple[str, ...]
    """Tags from the root on, as lxml writes them: "{namespace}name"."""
    count: int = 0
    cells: dict[str, list[str]] = field(default_factory=dict)
    """Name of an attribute or an element → its values, as they are written."""
    nested: set[str] = field(default_factory=set)
    """Elements of a record that hold elements themselves: the table cannot show them."""


def _record_kinds(root: Any, etree: Any) -> list[_Kind]:
    """Elements that stand several times below one parent, and have attributes or elements of their own."""
    kinds: dict[tuple[str, ...], _Kind] = {}
    repeated: set[tuple[str, ...]] = set()
    todo: list[tuple[Any, tuple[str, ...]]] = [(root, (str(root.tag),))]
    while todo:
        element, path = todo.pop()
        children = [child for child in element if isinstance(child.tag, str)]
        repeated |= {(*path, tag) for tag, count in Counter(child.tag for child in children).items() if count > 1}
        if children or element.attrib:
            kind = kinds.setdefault(path, _Kind(path))
            kind.count += 1
            for name, value in element.attrib.items():
                kind.cells.setdefault(etree.QName(name).localname, []).append(value)
            for child in children:
                kind.cells.setdefault(etree.QName(child).localname, []).append(child.text or "")
            kind.nested |= {etree.QName(child).localname for child in children if len(child)}
        if len(path) < _DEEPEST:
            todo += [(child, (*path, child.tag)) for child in children]
    return [kind for path, kind in kinds.items() if path in repeated]


def _table(text: Text, kind: _Kind, encoding: str) -> dict[str, Any] | None:
    """The note on a table, with the line that reads it; None where pandas finds no column."""
    import pandas as pd  # noqa: PLC0415 - as above

    places, spaces = _place(kind.path)
    arguments: dict[str, Any] = {"xpath": places} | ({"namespaces": spaces} if spaces else {})
    if encoding != "utf-8":
        arguments["encoding"] = encoding
    columns = [Column(name, cells + [""] * (len(cells) < kind.count)) for name, cells in kind.cells.items()]
    as_text = [column.name for column in columns if is_text(column, _STYLE)]
    if as_text:
        arguments["converters"] = dict.fromkeys(as_text, str)
    name = kind.path[-1].rpartition("}")[2]
    try:
        frame = pd.read_xml(text.path, **arguments)
    except ValueError:
        return None
    return describe_frame(frame, name, text.bounds) | {
        "read": call("pd.read_xml", text.path, arguments),
        "lost": [f"{name}.{word}" for word in with_lost_words(columns)],
    }


def _place(path: tuple[str, ...]) -> tuple[str, dict[str, str]]:
    """An XPath to the elements, and the names of the namespaces in it."""
    spaces: dict[str, str] = {}
    steps = []
    for tag in path:
        space, _, name = tag.rpartition("}")
        if space:
            prefix = spaces.setdefault(space[1:], f"n{len(spaces) + 1}")
            name = f"{prefix}:{name}"
        steps.append(name)
    return "/" + "/".join(steps), {prefix: space for space, prefix in spaces.items()}


def is_xml(head: str) -> bool:
    """Whether a text begins as XML does: with its declaration, or with an element that is no page."""
    begin = head.lstrip("\ufeff \t\r\n")[:200].lower()
    return begin.startswith("<?xml") or (
        begin.startswith("<") and begin[1:2].isalpha() and not begin.startswith(("<html", "<table", "<body", "<div"))
    )
