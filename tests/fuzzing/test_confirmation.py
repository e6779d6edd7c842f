"""Missing answers are confirmed while other checks run: their timeouts overlap."""

import pytest
from hypothesis.database import InMemoryExampleDatabase

from mcp_conformance.fuzzing.fuzz_target import FuzzTarget
from mcp_conformance.fuzzing.fuzzer import Fuzzer
from mcp_conformance.fuzzing.oracles import answers
from mcp_conformance.protocol.jsonrpc import encode
from mcp_conformance.target.probe import probe
from mcp_conformance.target.server import Server
from mcp_conformance.verdicts import Finding
from mcp_conformance_fixtures.reference import SILENCE, Reference
from support.bench import settings_in_memory
from support.in_memory import mutated

REVISION = "2025-11-25"
ODD = "conformance odd"
CONFIRMED_AFTER = 3.0


def silent_on_odd(server, request, reply):
    """Never answer a call with an odd value."""
    is_call = isinstance(request, dict) and request.get("method") == "tools/call"
    return SILENCE if is_call and ODD in encode(request).decode() else None


@pytest.fixture
def fuzzer(tmp_path, monkeypatch):
    """Return a fuzzer that has tried a hostile value that gets no answer, and begun to confirm that."""
    monkeypatch.setattr(Fuzzer, "_database", InMemoryExampleDatabase())
    settings = settings_in_memory(mutated(silent_on_odd), 10, timeout=5.0, transcripts=tmp_path)
    server = Server(settings, probe(settings, REVISION, exactly=True))
    made = Fuzzer(server, FuzzTarget.of_tool(server.call(server.tool("echo"))), "hostile arguments")
    made.try_hostile(
        [("an odd text", encode({"text": ODD})), ("a plain text", encode({"text": ""}))], answers
    )
    made.begin_confirming()
    yield made
    server.close()


def reported(fuzzer):
    """Return the finding, and the seconds that its report took."""
    begun = fuzzer.server.clock.now
    with pytest.raises(Finding) as found:
        fuzzer.report()
    return str(found.value), fuzzer.server.clock.now - begun


def test_the_timeout_passes_before_the_report(fuzzer):
    fuzzer.server.clock.now += CONFIRMED_AFTER
    text, seconds = reported(fuzzer)
    assert "no answer within 3 s" in text
    assert seconds < 0.1


def test_the_rest_of_the_timeout_is_waited_for(fuzzer):
    _, seconds = reported(fuzzer)
    assert CONFIRMED_AFTER - 0.1 < seconds < CONFIRMED_AFTER + 0.1


def test_a_request_whose_process_has_ended_is_sent_again(fuzzer):
    fuzzer.server.sessions.every[-1].close()
    fuzzer.server.clock.now += CONFIRMED_AFTER
    text, seconds = reported(fuzzer)
    assert "no answer within 3 s" in text
    assert seconds > CONFIRMED_AFTER - 0.1


@pytest.mark.parametrize("long", ["a text of 1 MiB as member 'text'", "10000 members"])
def test_what_takes_a_tool_long_is_told_apart_from_what_a_parser_drops(tmp_path, monkeypatch, long):
    monkeypatch.setattr(Fuzzer, "_database", InMemoryExampleDatabase())
    settings = settings_in_memory(mutated(silent_on_odd), 10, timeout=5.0, transcripts=tmp_path)
    server = Server(settings, probe(settings, REVISION, exactly=True))
    made = Fuzzer(server, FuzzTarget.of_tool(server.call(server.tool("echo"))), "hostile arguments")
    names = ("a lone low surrogate", long, "5,000 digits")
    made.try_hostile([(name, encode({"text": ODD + name})) for name in names], answers)
    made.begin_confirming()
    settings.clock.now += CONFIRMED_AFTER
    with pytest.raises(Finding) as found:
        made.report()
    dropped, slow = found.value, *found.value.others
    assert "(so did: a lone low surrogate)" in dropped.got
    assert "so did" not in slow.got
    server.close()


class Asking(Reference):
    """A server that never answers the first odd call; later ones wait for the answer to its own ping."""

    def __init__(self, calls, out):
        super().__init__(out=out)
        self.calls, self.late = calls, b""

    def take(self, line):
        """Ask half a second after an odd call, and answer it a fifth of a second after the client."""
        if ODD.encode() in line:
            self.calls.append(line)
            if len(self.calls) > 1:
                self.late = line
                ping = {"jsonrpc": "2.0", "id": "are you there", "method": "ping"}
                self.schedule(0.5, lambda: self.send(ping))
        elif b"are you there" in line:
            self.schedule(0.2, lambda: super(Asking, self).take(self.late))
        else:
            super().take(line)


def test_a_server_that_waited_for_the_client_meanwhile_gets_its_time_again(tmp_path, monkeypatch):
    monkeypatch.setattr(Fuzzer, "_database", InMemoryExampleDatabase())
    calls = []
    settings = settings_in_memory(lambda out, _: Asking(calls, out), 10, timeout=5.0, transcripts=tmp_path)
    server = Server(settings, probe(settings, REVISION, exactly=True))
    made = Fuzzer(server, FuzzTarget.of_tool(server.call(server.tool("echo"))), "hostile arguments")
    made.try_hostile([("an odd text", encode({"text": ODD}))], answers)
    made.begin_confirming()
    settings.clock.now += CONFIRMED_AFTER
    made.report()
    assert len(calls) == 2
    server.close()


class Pool(Reference):
    """A server with two workers: each odd call takes one for ever, and other calls wait for the next."""

    def __init__(self, out):
        super().__init__(out=out)
        self.busy = 0

    def take(self, line):
        """Answer pings always, and calls while a worker is free."""
        is_call = b"tools/call" in line
        if not is_call or (self.busy < 2 and ODD.encode() not in line):
            super().take(line)
        self.busy += ODD.encode() in line


@pytest.mark.parametrize("innocent", ["", "innocent " * 9])
def test_a_value_that_waits_for_others_is_not_silent(innocent, tmp_path, monkeypatch):
    monkeypatch.setattr(Fuzzer, "_database", InMemoryExampleDatabase())
    settings = settings_in_memory(lambda out, _: Pool(out), 10, timeout=5.0, transcripts=tmp_path)
    server = Server(settings, probe(settings, REVISION, exactly=True))
    made = Fuzzer(server, FuzzTarget.of_tool(server.call(server.tool("echo"))), "hostile arguments")
    texts = {"a plain text": "p", **{f"{count} odd texts": ODD * count for count in (1, 2, 3)}}
    named = [(name, encode({"text": text})) for name, text in texts.items()]
    made.try_hostile([*named, ("an innocent text", encode({"text": innocent}))], answers)
    made.begin_confirming()
    text, _ = reported(made)
    assert f'{{"text":"{ODD}"}}: no answer within 3 s' in text
    assert "innocent" not in text
    server.close()


def test_hostile_values_share_a_process(fuzzer):
    """The silent value is proven by the answer to another one in the same process."""
    fuzzer.server.clock.now += CONFIRMED_AFTER
    reported(fuzzer)
    assert fuzzer.server.processes.starts["reproductions"] == 1
