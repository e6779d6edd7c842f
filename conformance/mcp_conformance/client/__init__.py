"""One MCP conversation: requests, replies, lists, calls, and the log of all lines."""
