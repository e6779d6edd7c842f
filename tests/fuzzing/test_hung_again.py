"""Values that silence the whole process are confirmed by a few processes, each asked once if it lives."""

import pytest
from hypothesis.database import InMemoryExampleDatabase

from mcp_conformance.fuzzing.budgets import CASES
from mcp_conformance.fuzzing.fuzz_target import FuzzTarget
from mcp_conformance.fuzzing.fuzzer import Fuzzer
from mcp_conformance.fuzzing.oracles import answers
from mcp_conformance.protocol.jsonrpc import encode
from mcp_conformance.target.probe import probe
from mcp_conformance.target.server import Server
from mcp_conformance.verdicts import Finding
from mcp_conformance_fixtures.reference import SILENCE
from support.bench import settings_in_memory
from support.in_memory import mutated

REVISION = "2025-11-25"
ODD = "conformance odd"
VALUES = [f"{ODD} {number}" for number in range(6)]


def mute_after_odd(server, request, reply):
    """Answer nothing any more once a call had an odd value."""
    is_call = isinstance(request, dict) and request.get("method") == "tools/call"
    if is_call and ODD in encode(request).decode():
        server.memory["mute"] = True
    return SILENCE if server.memory.get("mute") else None


def test_a_few_of_the_values_that_silence_a_process_are_confirmed(tmp_path, monkeypatch):
    monkeypatch.setattr(Fuzzer, "_database", InMemoryExampleDatabase())
    settings = settings_in_memory(mutated(mute_after_odd), 10, timeout=5.0, transcripts=tmp_path)
    server = Server(settings, probe(settings, REVISION, exactly=True))
    fuzzer = Fuzzer(server, FuzzTarget.of_tool(server.call(server.tool("echo"))), "hostile arguments")
    fuzzer.try_hostile([(text, encode({"text": text})) for text in VALUES], answers)
    begun = settings.clock.now
    with pytest.raises(Finding) as found:
        fuzzer.report()
    seconds = settings.clock.now - begun
    server.close()
    assert str(found.value).count(ODD) == 1 + CASES.max_hung_again
    wait = CASES.hostile_factor * CASES.min_answer_seconds
    assert seconds < (1 + CASES.max_hung_again) * wait + 1
