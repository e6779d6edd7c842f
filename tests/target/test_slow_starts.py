"""Later starts may take much longer than the first one: on a busy machine they do."""

from mcp_conformance.target.probe import probe_all
from mcp_conformance_fixtures.mutants import OPENING
from mcp_conformance_fixtures.reference import SILENCE
from support.bench import Bench, settings_in_memory
from support.in_memory import mutated

REVISION = "2025-11-25"


def test_a_start_may_take_four_times_as_long_as_the_slowest_so_far():
    delays = iter([0.5, 25.0, 60.0, 200.0])

    def slow(server, request, reply):
        if not isinstance(request, dict) or request.get("method") not in OPENING:
            return None
        server.schedule(next(delays), lambda: server.send(reply))
        return SILENCE

    settings = settings_in_memory(mutated(slow), start_timeout=30.0)
    bench = Bench(probe_all(settings, (REVISION,)), REVISION)
    opened = [bench.server.sessions.connect("a test") for _ in range(3)]
    assert [round(session.opening.seconds) for session in opened] == [25, 60, 200]
    bench.server.close()
