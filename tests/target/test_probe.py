"""What the probe makes of servers that do not go on."""

import pytest

from mcp_conformance.protocol.revisions import LATEST_HANDSHAKE, LATEST_MODERN
from mcp_conformance.target.probe import probe_all
from mcp_conformance.target.settings import Settings
from mcp_conformance.transport.http.endpoint import Endpoint
from mcp_conformance.transport.http.server import HttpServer
from mcp_conformance_fixtures.mutants import method, params, refused
from mcp_conformance_fixtures.reference import SILENCE
from mcp_conformance_fixtures.reference_http import PATH, HttpReference, Refused
from support.http_in_thread import served
from support.in_memory import MemorySettings, VirtualClock, mutated


def silent_after_initialize(server, request, reply):
    """Answer nothing but ``initialize``."""
    return None if not isinstance(request, dict) or method(request) == "initialize" else SILENCE


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


def only_discovers(server, request, reply):
    """Answer ``server/discover`` with other versions, and refuse every other modern request."""
    if method(request) == "server/discover":
        reply["result"]["supportedVersions"] = ["2025-11-25"]
    is_modern = isinstance(request, dict) and "_meta" in params(request)
    return refused(request, -32022) if is_modern and method(request) == "tools/list" else None


def test_a_server_that_lists_and_serves_no_modern_version_is_tested_in_the_handshake_era_alone():
    settings = MemorySettings(("in-memory",), serve=mutated(only_discovers), clock=VirtualClock())
    assert [one.revision for one in probe_all(settings, ("latest",)).surfaces] == ["2025-11-25"]
    (surface,) = probe_all(settings, (LATEST_MODERN,)).surfaces
    assert surface.refused == '["2025-11-25"]'


def wants_handshake(server, request, reply):
    """Refuse each modern request but ``server/discover``, as if a handshake were missing."""
    is_request = isinstance(request, dict) and "id" in request and "_meta" in params(request)
    if is_request and method(request) != "server/discover":
        return refused(request, -32600, f"{method(request)}: initialize is required")
    return None


def test_a_version_that_is_listed_and_never_served_is_one_finding():
    settings = MemorySettings(("in-memory",), serve=mutated(wants_handshake), clock=VirtualClock())
    handshake, modern = probe_all(settings, ("latest",)).surfaces
    assert (handshake.failures, [one.requirement for one in modern.failures]) == (
        (),
        ["discover.versions-include-used"],
    )
    assert modern.dead
    assert "tools/list, prompts/list, resources/list and an unknown method" in str(modern.failures[0].verdict)


def test_a_version_that_is_neither_listed_nor_served_is_refused_whatever_the_error():
    def both(server, request, reply):
        if method(request) == "server/discover":
            reply["result"]["supportedVersions"] = ["2025-11-25"]
        return wants_handshake(server, request, reply)

    settings = MemorySettings(("in-memory",), serve=mutated(both), clock=VirtualClock())
    assert [one.revision for one in probe_all(settings, ("latest",)).surfaces] == ["2025-11-25"]


@pytest.mark.parametrize("code", [-32601, -32021, -32000])
def test_an_error_that_speaks_of_the_request_or_comes_to_some_is_no_refusal_of_all(code):
    def some(server, request, reply):
        is_list = method(request) in ("tools/list", "prompts/list")
        return (
            refused(request, code)
            if is_list or (code != -32000 and "cursor" not in params(request))
            else None
        )

    settings = MemorySettings(("in-memory",), serve=mutated(some), clock=VirtualClock())
    (surface,) = probe_all(settings, (LATEST_HANDSHAKE,)).surfaces
    assert not surface.refuses_all


class OnlyByName(HttpReference):
    """A server that is only served to clients that call it localhost."""

    def check_host(self, call):
        if not call.value("host").startswith("localhost:"):
            raise Refused(403, "Access is only allowed at localhost.")


class StartedElsewhere(HttpServer):
    """A server with a command, which runs already on this port."""

    def __init__(self, port):
        super().__init__("", ("served",))
        self._endpoint = Endpoint.parse(f"http://127.0.0.1:{port}{PATH}")

    def ready(self, launch, timeout):
        pass


def test_a_started_server_that_refuses_its_address_is_reached_by_name():
    with served(OnlyByName()) as server:
        settings = Settings(("served",), http=StartedElsewhere(server.endpoint.port))
        subject = probe_all(settings, ("latest",))
        subject.close()
        assert [one.revision for one in subject.live] == [LATEST_HANDSHAKE, LATEST_MODERN]
    assert settings.http.endpoint.host == "localhost"
