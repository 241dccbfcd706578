"""Tools of other systems, which a cell calls over the Model Context Protocol (MCP): docs/mcp.md.

    job ──unix socket, mode 0600──> tools process ──fork for one call──> MCP server (a program, or a URL)
        <── the answer: JSON, bounded

`requests.py` is what both sides say. `client.py` is all that a job imports. `session.py` alone speaks MCP; it runs in a
process that lives for one call, holds the secrets of one server, and may die of what that server says.
"""
