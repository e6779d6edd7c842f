"""What the probe makes of servers that do not go on."""

from conformance.fixtures.reference import SILENCE
from support.in_memory import MemorySettings, VirtualClock, mutated

from conformance.target.probe import probe_all


def silent_after_initialize(server, request, reply):
    """Answer nothing but ``initialize``."""
    method = request.get("method") if isinstance(request, dict) else "initialize"
    return None if method == "initialize" else SILENCE


def test_a_server_that_falls_silent_is_given_up_in_a_minute():
    clock = VirtualClock()
    begun = clock.now
    settings = MemorySettings(("in-memory",), serve=mutated(silent_after_initialize), clock=clock)
    subject = probe_all(settings, ("latest",))
    (surface,) = subject.surfaces
    (failure,) = surface.failures
    assert (failure.name, failure.requirement) == ("silent", "jsonrpc.response-every-request")
    assert "neither tools/list nor a ping" in failure.reason
    assert subject.live == ()
    assert clock.now - begun < 60
