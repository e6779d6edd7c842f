"""The command ``mcp-conformance``: one module for each of its actions."""
