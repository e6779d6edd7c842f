"""The head start of a server: its first processes open their sessions while this tool still loads."""

from dataclasses import replace
from functools import partial

from mcp_conformance.target.head_start import HeadStart
from mcp_conformance.target.probe import probe_all
from mcp_conformance.target.settings import Settings
from mcp_conformance.transport.interface import CannotStart
from mcp_conformance_fixtures.reference import SILENCE
from support.in_memory import MemorySettings, VirtualClock, mutated

LATEST = ("latest",)


def test_the_probe_goes_on_in_the_sessions_that_have_begun():
    settings = MemorySettings(("in-memory",), serve=mutated(lambda *_: None), clock=VirtualClock())
    head = HeadStart(settings, LATEST)
    begun = list(head.sessions)
    waits = []
    seen = replace(settings, on_wait=lambda *wait: waits.append(wait))
    subject = probe_all(seen, LATEST, head.take(seen))
    assert list(subject.sessions.values()) == begun
    opening = begun[0].opening
    assert opening.value is not None
    assert sum(line.message["method"] == "initialize" for line in begun[0].lines if line.sent) == 1
    assert all(session.process.on_wait is seen.on_wait for session in begun)
    assert head.sessions == []
    subject.close()


def test_things_are_loaded_until_the_server_has_answered():
    def slow(server, request, reply):
        server.schedule(10.0, lambda: server.send(reply))
        return SILENCE

    clock = VirtualClock()
    settings = MemorySettings(("in-memory",), serve=mutated(slow), clock=clock)
    head, loaded = HeadStart(settings, ("2025-11-25",)), []

    def load(name):
        clock.now += 4.0
        loaded.append(name)

    head.use(partial(load, name) for name in "abcdef")
    assert loaded in (list("abc"), list("abcd"))  # in memory the next read takes the answer
    assert head.take(settings)[0].open(1.0).value is not None


class Unstartable(Settings):
    """Settings of a server that cannot be started."""

    def start(self):
        """Raise what the system says."""
        raise CannotStart("no such program")


def test_a_server_that_cannot_be_started_has_no_head_start():
    head = HeadStart(Unstartable(("x",)), LATEST)
    assert head.is_over
    assert head.take(Settings(("x",))) == []
