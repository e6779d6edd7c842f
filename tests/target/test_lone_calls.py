"""A server whose calls fail while another process of it holds a lock is tested one process at a time."""

import json

from mcp_conformance.target.probe import probe_all
from mcp_conformance.target.server import RunShared, Server
from mcp_conformance_fixtures.mutants import answered, method, params
from support.bench import settings_in_memory
from support.in_memory import MemorySettings, mutated

HANDSHAKE, MODERN = "2025-11-25", "2026-07-28"
LOCKED = {"success": False, "error": "IO Error: the store is locked by another process"}


class OnProcesses(MemorySettings):
    """Settings in memory that know their processes, as those of real ones do."""

    def start(self):
        self.solo.prepare()
        process = super().start()
        self.solo.begin(process)
        PROCESSES[process._server] = process
        return process


PROCESSES = {}


def settings_of(refuses):
    """Return the settings of a server whose calls fail if it ``refuses`` them."""

    def mutate(server, request, reply):
        if not isinstance(request, dict) or method(request) != "tools/call" or not reply:
            return None
        text = {"type": "text", "text": json.dumps(LOCKED)}
        return answered(request, {"content": [text]}) if refuses(server, params(request)) else None

    made = settings_in_memory(mutated(mutate))
    return OnProcesses(**{name: getattr(made, name) for name in made.__dataclass_fields__})


def called_in_both_eras(settings):
    """Call all tools in both eras, and return how many worked in each."""
    subject, run = probe_all(settings, (HANDSHAKE, MODERN)), RunShared()
    servers = [Server(settings, surface, run) for surface in subject.live]
    for server in servers:
        server.calls()
    worked = [sum(bool(one.successes) for one in server.tool_calls.exercise.values()) for server in servers]
    for server in servers:
        server.close()
    subject.end_sessions()
    return worked


def test_calls_that_another_process_keeps_from_working_are_made_alone():
    holders = []

    def is_locked(server, _):
        """Return whether another process has the lock: the first that is called takes it."""
        holders[:] = [one for one in holders if PROCESSES[one].exit_code is None]
        if not holders:
            holders.append(server)
        return holders != [server]

    settings = settings_of(is_locked)
    assert min(called_in_both_eras(settings)) > 10
    assert settings.solo.reason.startswith("a call that works in a process alone fails beside another one (")
    assert "the store is locked" in settings.solo.reason


def test_calls_that_fail_in_one_era_by_themselves_fail_there():
    settings = settings_of(lambda _, given: "io.modelcontextprotocol/protocolVersion" in given["_meta"])
    first, second = called_in_both_eras(settings)
    assert first > 10
    assert second == 0
    assert settings.solo.reason == ""
