"""Conformance suite and fuzzer for MCP servers, over stdio and Streamable HTTP.

What tests of your own need is found here, and loaded when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # without `typing`: `python -m` would take that of the working directory
if TYPE_CHECKING:
    from mcp_conformance.testing import (
        AsyncMcpServer,
        AsyncMcpTool,
        McpError,
        McpResult,
        McpServer,
        McpStateMachine,
        McpTool,
        NoAnswer,
        for_each_tool,
        for_valid_arguments,
        invalid_arguments,
        state_machine,
        valid_arguments,
    )

__all__ = [
    "AsyncMcpServer",
    "AsyncMcpTool",
    "McpError",
    "McpResult",
    "McpServer",
    "McpStateMachine",
    "McpTool",
    "NoAnswer",
    "for_each_tool",
    "for_valid_arguments",
    "invalid_arguments",
    "state_machine",
    "valid_arguments",
]


def __getattr__(name: str) -> object:
    if name in __all__:
        return getattr(import_module("mcp_conformance.testing"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
