"""The arguments with which the tools of the server are called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from typing import Any

from mcp_conformance.client.tool_call import Tool
from mcp_conformance.generation import NoExample, example, further_examples, with_known
from mcp_conformance.generation.modest import modest
from mcp_conformance.target.scenario import Records, scenario
from mcp_conformance.target.seeds import ORIGIN
from mcp_conformance.target.settings import Settings
from mcp_conformance.world.filling import Filling
from mcp_conformance.world.success import leaves_of
from mcp_conformance.world.world import World


class Arguments:
    """Valid arguments for each tool in one revision.

    The user's (``--example``) come first, then those that worked in recorded sessions and in this run, else
    some are made of the schema.  A tool that may write makes something of this run's first, which others may
    change, and gets those of sessions if that fails.  All known values in them come from ``world``, which
    knows what each tool may get.
    """

    def __init__(self, settings: Settings, revision: str, world: World):
        self.records: Records = {}
        self.world = world
        self._settings, self._revision = settings, revision

    def vouched(self, tool: Tool) -> list[dict[str, Any]]:
        """Return the arguments that the user vouches for."""
        return self._settings.vouched(tool.name)

    def recorded(self, tool: Tool) -> list[dict[str, Any]]:
        """Return the arguments that worked in recorded sessions, as far as the schema still allows them."""
        filling = Filling(tool.input_schema, self._revision)
        found = [one for one in self._settings.recorded(tool.name) if filling.allows(one)]
        self.world.jail.note(tool, leaves_of(found))
        return found

    def valid(self, tool: Tool) -> dict[str, Any]:
        """Return valid arguments for a tool: the user's, else what worked then or now, else the plainest.

        Raises `mcp_conformance.generation.NoExample`.
        """
        worked = self.world.working(tool, self._revision)
        recorded = self.recorded(tool) if tool.read_only else []
        for arguments in (*self.vouched(tool), *recorded, *worked):
            if (held := self._held(tool, deepcopy(dict(arguments)))) is not None:
                return held
        return self.plainest(tool)

    def plainest(self, tool: Tool) -> dict[str, Any]:
        """Return the plainest valid arguments for a tool.  Raises `mcp_conformance.generation.NoExample`."""
        made = dict(self._made(tool))
        if tool.read_only and self._settings.may_call_writing:
            made = self.world.jail.plain(tool, made)
        held = self._held(tool, made)
        if held is None:
            raise NoExample("its values name what exists here, which --example would vouch for")
        return held

    def further(self, tool: Tool) -> Iterator[dict[str, Any]]:
        """Yield other valid arguments: the user's if there are any, else those of recorded sessions first."""
        yield from (held for one in self._further(tool) if (held := self._held(tool, one)) is not None)

    def _held(self, tool: Tool, arguments: dict[str, Any]) -> dict[str, Any] | None:
        """Return arguments as a tool may get them; None if its schema does not allow these."""
        return self.world.jail.arguments(tool, arguments)

    def _further(self, tool: Tool) -> Iterator[dict[str, Any]]:
        vouched, recorded = self.vouched(tool), self.recorded(tool)
        if vouched:
            yield from vouched[1:]
            return
        yield from recorded[1:] if tool.read_only else recorded
        with suppress(NoExample):
            yield from [self.plainest(tool)] if recorded and tool.read_only else []
            yield from further_examples(self.schema(tool), self._revision)

    def origins(self, tool: Tool, arguments: Any) -> tuple[str, ...]:
        """Return where the arguments of a call came from, empty if they are made up."""
        if arguments in self.vouched(tool):
            return ("--example",)
        if arguments in self._settings.recorded(tool.name):
            return (str(ORIGIN),)
        return self.world.origins(tool, arguments)

    def schema(self, tool: Tool) -> Any:
        """Return the schema for valid arguments of a tool, with the values that are known of its members.

        Numbers are modest unless the run is thorough.
        """
        return with_known(self._modest(tool), *self.world.known_of(tool, self._revision))

    def whole_schema(self, tool: Tool) -> Any:
        """Return a tool's input schema with the values that are known of its members.

        It is for arguments that are wrong or hostile in one member: the others have values that work.
        """
        return with_known(tool.input_schema, *self.world.known_of(tool, self._revision))

    @scenario
    def _modest(self, tool: Tool) -> Any:
        if not self._settings.is_gentle:
            return tool.input_schema
        return modest(tool.input_schema, self._revision, self.vouched(tool))

    @scenario
    def _made(self, tool: Tool) -> Mapping[str, Any]:
        made: Mapping[str, Any] = example(tool.input_schema, self._revision)
        return made
