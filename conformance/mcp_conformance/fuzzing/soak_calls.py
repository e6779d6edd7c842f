"""The calls of a soak: each depends only on a seed and its number, so any of them can be repeated."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import cast

from hypothesis import strategies as st

from mcp_conformance.client.session import Session
from mcp_conformance.client.tool_call import Call
from mcp_conformance.fuzzing.case_source import CaseSource, held_case, invalid_cases, valid_cases
from mcp_conformance.fuzzing.fuzz_target import FuzzTarget
from mcp_conformance.fuzzing.oracles import Case, accepts_valid
from mcp_conformance.fuzzing.window import Request
from mcp_conformance.generation import NoExample, Source
from mcp_conformance.protocol.jsonrpc import encode
from mcp_conformance.target.preparation import renamed
from mcp_conformance.target.server import Server

# One call of a tool in so many has the arguments of the first.  Not measured: a tenth is 50 of the calls
# after which drift is judged; more of them leave fewer calls with other arguments.
CALLS_PER_REPEATED = 10
# One call in so many has invalid arguments, if the schema forbids any.  Not measured: a soak is about load,
# and refusals are cheaper than calls.
CALLS_PER_INVALID = 10
MAX_CALLS_PER_SEED = 10**12
"""The distance of the seeds of calls, so that two soaks have no call in common."""


@dataclass(frozen=True)
class SoakCall:
    """One call: its number, its tool, and the arguments."""

    number: int
    load: ToolLoad
    case: Case

    @property
    def is_repeated(self) -> bool:
        """Whether this is the first call of the tool, which is made again and again."""
        return self.case is self.load.first.case

    @property
    def label(self) -> str:
        """The kind of its arguments."""
        return "valid arguments" if self.case.wrong is None else "invalid arguments"

    def request(self, session: Session) -> Request:
        """Return the request that makes the call, with the names that things have in the process."""
        return self.load.target.request(renamed(session, self.case.text))


class ToolLoad:
    """The calls of one tool, which was called once before.

    ``answer_seconds`` is the time after which a missing answer is looked into.
    """

    def __init__(self, server: Server, call: Call):
        self.tool, self.name = call.tool, call.tool.name
        self.target = FuzzTarget.of_tool(call)
        self.answer_seconds = self.target.answer_seconds(server.settings.timeout_of(self.name))
        schema, revision = server.arguments.whole_schema(call.tool), server.revision
        oracle = partial(accepts_valid, call.tool, revision)
        self._valid = valid_cases(schema, revision, oracle, server.arguments.vouched(call.tool))
        self._invalid = invalid_cases(schema, revision, call.reply, clear=True)
        self._jail = server.arguments.world.jail
        self.cases = CaseSource(self._case, self._like)
        self.first = SoakCall(0, self, Case(encode(call.arguments), oracle))

    def call(self, seed: int, number: int) -> SoakCall:
        """Return the call of a number; raise `NoExample` if no arguments are found."""
        return SoakCall(number, self, self.cases.case(seed * MAX_CALLS_PER_SEED + number))

    def _case(self, source: Source) -> Case:
        if source.index(CALLS_PER_INVALID) == CALLS_PER_INVALID - 1:
            with suppress(NoExample):
                return self._held(self._invalid.draw(source))
        return self._held(self._valid.draw(source))

    def _held(self, case: Case) -> Case:
        held = held_case(case, self.name, self._jail)
        if held is None:
            raise NoExample("the tool may not get these arguments")
        return held

    def _like(self, case: Case) -> st.SearchStrategy[Case]:
        like = (self._valid if case.wrong is None else self._invalid).like(case)
        held = like.map(lambda one: held_case(one, self.name, self._jail))
        return cast("st.SearchStrategy[Case]", held.filter(lambda one: one is not None))
