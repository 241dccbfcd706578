"""One conversation with one MCP server, by the official client. It runs in a process that lives for it alone.

All that a server says is hostile: memory is held by the kernel, time by the caller, and what goes on is parsed again
here into short lines and plain JSON. Nothing that a server asks of its client (a model, a person, folders) is granted.
"""

from __future__ import annotations

import json
import logging
import os
import resource
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import mcp
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CONNECTION_CLOSED, CallToolResult, TextContent, Tool

from core.team_settings import McpSettings
from workers.tools.errors import LimitReached, Refused, ToolAway, ToolError, ToolFailed
from workers.tools.requests import (
    ABOUT_CHARS,
    MOST_ARGUMENTS,
    Answered,
    ToolNote,
    written,
)
from workers.tools.schemas import default_of, kind_of

Asking = Coroutine[Any, Any, Answered]
MEMORY_MB = 512
"""Private memory of the process of one call. The server itself is another process, or another machine."""
_MOST_PAGES = 20
_ERROR_CHARS = 1_000
_DEFAULT_CHARS = 40
_KB = 1024
_SHORTEST_SECRET = 6

logging.getLogger("mcp").disabled = True  # it quotes what servers send


async def tools_of(server: McpSettings, secrets: Mapping[str, str], folder: Path) -> Answered:
    """The tools that the server has and the team allows, in the team's order. Raises ToolError."""
    async with _client(server, secrets, folder) as client:
        found = {tool.name: tool for tool in await _listed(client)}
    return Answered(tools=tuple(_note(found[name], secrets) for name in server.tools if name in found))


async def call(
    server: McpSettings, secrets: Mapping[str, str], folder: Path, tool: str, arguments: dict[str, Any]
) -> Answered:
    """The answer of one tool. Raises ToolError; the call was perhaps made all the same, but for a Refused."""
    if tool not in server.tools:
        raise Refused(f"The tool {tool} is not allowed.")
    async with _client(server, secrets, folder) as client:
        if tool not in {each.name for each in await _listed(client)}:
            raise Refused(f"The server has no tool {tool} any more.")
        result = await client.call_tool(tool, arguments)
    if result.is_error:
        raise ToolFailed(_line(_text(result), _ERROR_CHARS, secrets) or "no reason was given")
    text = _scrubbed(written(_value(result)), secrets)
    size = len(text.encode("utf-8", "replace"))
    if size > server.max_kb * _KB:
        raise LimitReached(
            f"The answer has {size // _KB:,} KB, and at most {server.max_kb:,} KB are taken. Ask for less."
        )
    return Answered(value=json.loads(text), bytes=size)


@asynccontextmanager
async def _client(server: McpSettings, secrets: Mapping[str, str], folder: Path) -> AsyncIterator[mcp.Client]:
    """The connection, once both sides have agreed on the protocol. Whatever goes wrong inside is a ToolError."""
    try:
        async with mcp.Client(_transport(server, secrets, folder), cache=None) as client:
            yield client
    except BaseException as error:
        raise _sorted(error, secrets) from None


@asynccontextmanager
async def _transport(server: McpSettings, secrets: Mapping[str, str], folder: Path) -> AsyncIterator[Any]:
    if server.command:
        program, *arguments = server.command
        given = mcp.StdioServerParameters(command=program, args=arguments, env=dict(secrets), cwd=folder)
        with open(os.devnull, "w", encoding="utf-8") as nowhere:
            async with mcp.stdio_client(given, errlog=nowhere) as streams:
                _hold_memory()  # not before: the server would have the limit too
                yield streams
        return
    _hold_memory()
    headers = {"Authorization": f"Bearer {token}"} if (token := secrets.get(server.token_env or "")) else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=server.timeout_s) as web,
        streamable_http_client(server.url, http_client=web) as streams,
    ):
        yield streams


def _hold_memory() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_MB << 20, MEMORY_MB << 20))


async def _listed(client: mcp.Client) -> list[Tool]:
    found: list[Tool] = []
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        found += page.tools
        cursor = page.next_cursor
        if cursor is None:
            return found
    return found


def _note(tool: Tool, secrets: Mapping[str, str]) -> ToolNote:
    properties = tool.input_schema.get("properties")
    required = tool.input_schema.get("required")
    named, lines = tool.input_schema.get("$defs"), []
    for name, schema in list(properties.items())[:MOST_ARGUMENTS] if isinstance(properties, dict) else ():
        kind = _line(kind_of(schema, named), ABOUT_CHARS // 2, secrets)
        default = _line(default_of(schema), _DEFAULT_CHARS, secrets)
        about = _line(schema.get("description") if isinstance(schema, dict) else "", ABOUT_CHARS // 2, secrets)
        left_out = "" if isinstance(required, list) and name in required else ", optional"
        lines.append(
            f"{_line(name, 60, secrets)}: {kind}{left_out}"
            f"{f', default {default}' if default else ''}{f' - {about}' if about else ''}"
        )
    return ToolNote(name=tool.name, about=_line(tool.description, ABOUT_CHARS, secrets), arguments=tuple(lines))


def _value(result: CallToolResult) -> Any:
    """The tool's result: its structured answer, else its text. Servers put values that are not objects under
    "result"."""
    match result.structured_content:
        case None:
            return _text(result)
        case {"result": value, **more} if not more:
            return value
        case value:
            return value


def _text(result: CallToolResult) -> str:
    return "\n".join(
        part.text if isinstance(part, TextContent) else f"[{part.type}, left out]" for part in result.content
    )


def _line(text: object, most: int, secrets: Mapping[str, str]) -> str:
    """A server's words on one line without control characters and secrets, cut last: half a secret would stay."""
    said = _scrubbed(str(text or ""), secrets)
    line = "".join(mark if mark.isprintable() else " " for mark in said[: 4 * most])
    line = " ".join(line.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _scrubbed(text: str, secrets: Mapping[str, str]) -> str:
    """The text without the secrets that its server was given: it could say them back."""
    for secret in secrets.values():
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, "•••").replace(json.dumps(secret, ensure_ascii=False)[1:-1], "•••")
    return text


def _sorted(error: BaseException, secrets: Mapping[str, str]) -> BaseException:
    """What went wrong, as a ToolError. The protocol's own errors come wrapped in groups."""
    for one in _flat(error):
        if isinstance(one, ToolError):
            return one
        if isinstance(one, MemoryError):
            return LimitReached("The server answers with more than is taken. Ask for less.")
        if isinstance(one, TimeoutError):
            return ToolAway("The server does not answer in time.")
        if isinstance(one, mcp.MCPError) and one.code != CONNECTION_CLOSED:
            words = _line(one.message, _ERROR_CHARS, secrets)
            return ToolFailed(words or "no reason was given")
    if not isinstance(error, Exception):
        return error
    return ToolAway("The server does not answer, or does not speak MCP.")


def _flat(error: BaseException) -> Sequence[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [inner for one in error.exceptions for inner in _flat(one)]
    return [error]
