"""The end of stdin: a process at work need not end at once, one with nothing to do must."""

from dataclasses import dataclass
from typing import Any

import pytest

from mcp_conformance_fixtures.reference import SILENCE
from support.bench import SAMPLES, run_checks
from support.in_memory import MemorySettings, MemoryTransport, VirtualClock, mutated

RULE, CALLABLE = "stdio.exit-on-stdin-close", "tools.call.listed-is-callable"


class StaysOpen(MemoryTransport):
    """A process that does not end with its stdin if `stays` says so."""

    stays: Any = None
    is_at_work = False

    def write(self, data):
        self.is_at_work |= b'"nothing"' in data
        super().write(data)

    def close_stdin(self):
        if not self.stays(self):
            super().close_stdin()

    def stop(self, grace=0.0):
        super().close_stdin()


@dataclass(frozen=True)
class StayingSettings(MemorySettings):
    """Settings that start such a process."""

    stays: Any = None

    def start(self):
        process = StaysOpen(self.serve, self.clock)
        process.stays = self.stays
        return process


def never_finishes_nothing(server, request, reply):
    """Never answer a call of the tool `nothing`."""
    is_call = isinstance(request, dict) and request.get("method") == "tools/call"
    return SILENCE if is_call and request["params"].get("name") == "nothing" else None


@pytest.mark.parametrize(
    ("stays", "reported"),
    [(lambda process: process.is_at_work, {CALLABLE}), (lambda _: True, {CALLABLE, RULE})],
    ids=["at work", "always"],
)
def test_a_process_at_work_may_outlast_its_stdin(stays, reported):
    settings = StayingSettings(
        ("in-memory",),
        call=("all",),
        examples=0,
        timeout=5.0,
        serve=mutated(never_finishes_nothing),
        clock=VirtualClock(),
        stays=stays,
        **SAMPLES,
    )
    found = run_checks(
        settings, "2025-11-25", lambda check: {RULE, CALLABLE} & check.ids, is_whole=False, tools=["nothing"]
    )
    assert {one.row.id for one in found.verdicts} == reported
