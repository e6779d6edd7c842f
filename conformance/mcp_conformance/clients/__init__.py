"""Known limits of MCP clients: definitions of tools that some of them refuse."""
