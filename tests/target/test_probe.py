"""What the probe makes of servers that do not go on."""

import pytest

from mcp_conformance.protocol.methods import NO_SUCH_METHOD
from mcp_conformance.protocol.revisions import LATEST_HANDSHAKE, LATEST_MODERN
from mcp_conformance.remedies import EMPTY_ANSWERS
from mcp_conformance.target.probe import probe_all
from mcp_conformance.target.settings import Settings
from mcp_conformance.transport.http.endpoint import Endpoint
from mcp_conformance.transport.http.server import HttpServer
from mcp_conformance_fixtures.mutants import method, params, refused
from mcp_conformance_fixtures.reference import SILENCE, Reference
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


@pytest.mark.parametrize("revision", [LATEST_HANDSHAKE, LATEST_MODERN])
@pytest.mark.parametrize(("but", "is_found"), [((), True), (("resources/list",), False)])
def test_a_server_that_answers_each_request_with_nothing_has_one_failure(revision, but, is_found):
    def nothing(server, request, reply):
        if reply and method(request) not in ("initialize", "server/discover", *but):
            reply.pop("error", None)
            reply["result"] = {}

    settings = MemorySettings(("in-memory",), serve=mutated(nothing), clock=VirtualClock())
    (surface,) = probe_all(settings, (revision,)).surfaces
    assert (surface.refuses_all, surface.dead) == (is_found, is_found)
    if is_found:
        verdict = surface.failures[0].verdict
        assert "result {} for each request: tools/list, prompts/list, resources/list and an" in str(verdict)
        assert (surface.failures[0].requirement, verdict.fix) == ("tools.list.result-shape", EMPTY_ANSWERS)


@pytest.mark.parametrize(("but", "is_found"), [((), True), ((NO_SUCH_METHOD,), False)])
def test_a_server_whose_discovery_is_empty_too_has_one_failure(but, is_found):
    def nothing(server, request, reply):
        if reply and method(request) not in but:
            reply.pop("error", None)
            reply["result"] = {"resultType": "complete", "ttlMs": 5, "cacheScope": "public"}

    settings = MemorySettings(("in-memory",), serve=mutated(nothing), clock=VirtualClock())
    (surface,) = probe_all(settings, (LATEST_MODERN,)).surfaces
    assert surface.refuses_all == is_found
    if is_found:
        verdict = surface.failures[0].verdict
        assert (surface.failures[0].requirement, verdict.fix) == (
            "discover.supported-versions",
            EMPTY_ANSWERS,
        )


class Saying(Reference):
    """A server that writes one and the same line for each that it reads."""

    def __init__(self, out, said):
        super().__init__(None, out)
        self.out, self.said = out, said

    def take(self, line):
        """Write the line."""
        self.out.write(f"{self.said}\n".encode())


MESSAGE = '{"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}}'


@pytest.mark.parametrize(
    ("line", "is_mute"),
    [("[]", True), ("{}", True), ("3", True), ('"x"', True), ("hello", True), (MESSAGE, False)],
)
def test_json_that_is_no_message_is_no_start(line, is_mute):
    """The exit status of such a run is 6, as if the server had written nothing."""
    settings = MemorySettings(
        ("in-memory",),
        serve=lambda out, _: Saying(out, line),
        clock=VirtualClock(),
        timeout=1.0,
        start_timeout=1.0,
    )
    (surface,) = probe_all(settings, (LATEST_HANDSHAKE,)).surfaces
    assert surface.never_opened == is_mute
    assert ("is not JSON-RPC" in surface.failures[0].reason) == is_mute


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


def names_an_old_version(server, request, reply):
    """Refuse every proposal but that of 2025-03-26, with an error that names it."""
    if method(request) != "initialize" or params(request)["protocolVersion"] == "2025-03-26":
        return refused(request, -32601) if "_meta" in params(request) else None
    error = refused(request, -32602)
    error["error"]["data"] = {"supported": ["2025-03-26"]}
    return error


def test_a_server_that_names_in_an_error_what_it_speaks_is_examined_in_that():
    settings = MemorySettings(("in-memory",), serve=mutated(names_an_old_version), clock=VirtualClock())
    (surface,) = probe_all(settings, ("latest",)).surfaces
    assert (surface.revision, surface.failures) == ("2025-03-26", ())
    (surface,) = probe_all(settings, ("2025-11-25",)).surfaces
    assert surface.failures[0].requirement == "lifecycle.initialize.responds"
