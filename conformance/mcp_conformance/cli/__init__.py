"""The command ``mcp-conformance``: one module for each command."""
