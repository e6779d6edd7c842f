"""The arguments with which the tools of the server are called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from mcp_conformance.client.tool_call import Tool
from mcp_conformance.generation import NoExample, example, further_examples
from mcp_conformance.generation.modest import modest
from mcp_conformance.target.scenario import Records, scenario
from mcp_conformance.target.settings import Settings


class Arguments:
    """Valid arguments for each tool in one revision: the user's (``--example``), else made from a schema."""

    def __init__(self, settings: Settings, revision: str):
        self.records: Records = {}
        self._settings, self._revision = settings, revision

    def vouched(self, tool: Tool) -> list[dict[str, Any]]:
        """Return the arguments that the user vouches for."""
        return self._settings.vouched(tool.name)

    def valid(self, tool: Tool) -> dict[str, Any]:
        """Return valid arguments for a tool, the user's first if there are any.

        Raises `mcp_conformance.generation.NoExample`.
        """
        vouched = self.vouched(tool)
        return vouched[0] if vouched else dict(self._made(tool))

    def further(self, tool: Tool) -> Iterator[dict[str, Any]]:
        """Yield other valid arguments: the user's if there are any."""
        vouched = self.vouched(tool)
        with suppress(NoExample):
            yield from vouched[1:] if vouched else further_examples(self.schema(tool), self._revision)

    def origins(self, tool: Tool, arguments: Any) -> tuple[str, ...]:
        """Return where the arguments of a call came from, empty if they are made up."""
        return ("--example",) if arguments in self.vouched(tool) else ()

    @scenario
    def schema(self, tool: Tool) -> Any:
        """Return the schema for valid arguments of a tool; numbers are modest unless the run is thorough."""
        if not self._settings.is_gentle:
            return tool.input_schema
        return modest(tool.input_schema, self._revision, self.vouched(tool))

    @scenario
    def _made(self, tool: Tool) -> Mapping[str, Any]:
        made: Mapping[str, Any] = example(tool.input_schema, self._revision)
        return made
