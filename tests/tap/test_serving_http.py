"""Sessions played over HTTP: the server's own requests, and each message on the stream that it belongs to."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.client import HTTPConnection, HTTPResponse
from queue import SimpleQueue
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import pytest

from mcp_conformance.cli.serve_http import serve_http
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.tap.exchanges import Exchange, exchanges
from mcp_conformance.tap.serving import Player
from mcp_conformance.tap.spoiling import FAULTS
from tap.test_judging import META, answers, asks, tells

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
OPENING = asks(0, "initialize")
CHANGED = tells("notifications/tools/list_changed")


def recorded(rows: list[tuple[str, Any]]) -> list[Exchange]:
    """Return a session over HTTP: of each message the request or response that carried it."""
    lines = []
    for at, (carrier, message) in enumerate(rows):
        raw = json.dumps(message).encode()
        lines.append(Line(carrier.startswith("POST"), raw, float(at), message, carried_by=carrier))
    return exchanges(lines)


HANDSHAKE = recorded(
    [
        ("POST 1", OPENING),
        ("response 1", answers(0, serverInfo={"name": "played", "version": "1"})),
        ("POST 2", tells("notifications/initialized")),
        ("response 3 event", asks(7, "roots/list")),
        ("POST 4", answers(7, roots=[])),
        ("response 3 event", CHANGED),
        ("POST 5", asks(1, "tools/call", name="greet")),
        ("response 5 event", asks(8, "elicitation/create", message="Who?")),
        ("POST 6", answers(8, action="accept")),
        ("response 5 event", answers(1, content=["hello"])),
        ("response 3 event", tells("notifications/prompts/list_changed")),
    ]
)
MODERN = recorded(
    [
        ("POST 1", asks("l", "subscriptions/listen", _meta=META)),
        ("response 1 event", tells("notifications/subscriptions/acknowledged", _meta={SUBSCRIPTION: "l"})),
        ("POST 2", asks(1, "tools/call", name="change", _meta=META)),
        ("response 1 event", tells("notifications/tools/list_changed", _meta={SUBSCRIPTION: "l"})),
        ("response 2", answers(1, content=[])),
    ]
)

CANCELLED = recorded(
    [
        ("POST 1", asks(1, "tools/call", name="slow", _meta=META)),
        ("response 1 event", tells("notifications/message", level="info", data="begun")),
        ("POST 2", tells("notifications/cancelled", requestId=1)),
        ("POST 3", asks(2, "tools/call", name="quick", _meta=META)),
        ("response 3", answers(2, content=[])),
    ]
)


Ask = Callable[..., HTTPResponse]


@pytest.fixture
def ask(request: pytest.FixtureRequest) -> Iterator[Ask]:
    """Return what sends a request to a server that plays the session of the test's parameter."""
    ready: SimpleQueue[str] = SimpleQueue()
    session, fault = request.param if isinstance(request.param, tuple) else (request.param, None)
    arguments = (lambda: Player([session]), 0, ready.put, fault)
    Thread(target=serve_http, args=arguments, daemon=True).start()
    address = urlsplit(ready.get(timeout=30))
    with ExitStack() as stack:

        def send(method: str, message: Any = None, session: str = "", **given: str) -> HTTPResponse:
            connection = HTTPConnection(address.hostname or "", address.port, timeout=30)
            stack.callback(connection.close)
            headers = {"Mcp-Session-Id": session, **given} if session else given
            connection.request(method, address.path, json.dumps(message) if message else None, headers)
            return stack.enter_context(connection.getresponse())

        yield send


def events(response: HTTPResponse) -> Iterator[Any]:
    for line in response:
        if line.startswith(b"data: "):
            yield json.loads(line[6:])


@pytest.mark.parametrize("ask", [HANDSHAKE], indirect=True)
def test_requests_of_the_server_come_on_the_streams_they_were_recorded_on(ask: Ask) -> None:
    session = ask("POST", OPENING).headers["Mcp-Session-Id"]
    aside = events(ask("GET", session=session))
    assert ask("POST", tells("notifications/initialized"), session).status == 202
    roots = next(aside)
    assert roots["method"] == "roots/list"
    own = events(ask("POST", asks(5, "tools/call", name="greet"), session))
    asked = next(own)  # while the answer for the roots is awaited
    assert asked["method"] == "elicitation/create"
    assert ask("POST", answers(roots["id"], roots=[]), session).status == 202
    assert next(aside) == CHANGED
    assert ask("POST", answers(asked["id"], action="accept"), session).status == 202
    assert list(own) == [answers(5, content=["hello"])]
    assert next(aside)["method"] == "notifications/prompts/list_changed"
    assert ask("DELETE", session=session).status == 200
    assert list(aside) == []
    assert ask("POST", asks(6, "ping"), session).status == 404


@pytest.mark.parametrize("ask", [HANDSHAKE], indirect=True)
def test_two_clients_have_sessions_of_their_own(ask: Ask) -> None:
    first, second = (ask("POST", OPENING).headers["Mcp-Session-Id"] for _ in range(2))
    own = [events(ask("POST", asks(5, "tools/call", name="greet"), one)) for one in (first, second)]
    asked = [next(one) for one in own]
    ask("POST", answers(asked[1]["id"], action="accept"), second)
    assert list(own[1]) == [answers(5, content=["hello"])]
    ask("POST", answers(asked[0]["id"], action="accept"), first)
    assert list(own[0]) == [answers(5, content=["hello"])]


@pytest.mark.parametrize("ask", [MODERN], indirect=True)
def test_a_subscription_has_its_notifications(ask: Ask) -> None:
    listening = events(ask("POST", asks("mine", "subscriptions/listen", _meta=META)))
    assert next(listening)["method"] == "notifications/subscriptions/acknowledged"
    answer = ask("POST", asks(9, "tools/call", name="change", _meta=META))
    assert json.loads(answer.read()) == answers(9, content=[])
    assert next(listening)["params"]["_meta"] == {SUBSCRIPTION: "mine"}


@pytest.mark.parametrize("ask", [MODERN], indirect=True)
def test_what_belongs_to_no_session_of_the_server_is_refused(ask: Ask) -> None:
    assert ask("GET").status == 405
    assert ask("GET", session="never-given").status == 404
    assert ask("DELETE", session="never-given").status == 404


@pytest.mark.parametrize("ask", [MODERN], indirect=True)
def test_a_web_page_of_another_host_is_refused(ask: Ask) -> None:
    assert ask("POST", asks(9, "ping"), Host="evil.example").status == 403
    assert ask("POST", asks(9, "ping"), Origin="https://evil.example").status == 403
    assert ask("PUT", asks(9, "ping")).status == 501


@pytest.mark.parametrize("ask", [CANCELLED], indirect=True)
def test_the_stream_of_a_request_that_was_cancelled_does_not_end(ask: Ask) -> None:
    slow = ask("POST", asks(8, "tools/call", name="slow", _meta=META))
    assert next(events(slow))["params"]["data"] == "begun"
    assert json.loads(ask("POST", asks(9, "tools/call", name="quick", _meta=META)).read()) == answers(
        9, content=[]
    )
    connection = slow.fp.raw._sock  # type: ignore[attr-defined]
    connection.settimeout(0.2)
    with pytest.raises(TimeoutError):
        slow.read()


def spoilt(*names: str) -> Any:
    return pytest.mark.parametrize("ask", [(HANDSHAKE, FAULTS[name]) for name in names], indirect=True)


@spoilt("http-content-type")
def test_a_spoiled_content_type(ask: Ask) -> None:
    assert ask("POST", OPENING).headers["Content-Type"] == "application/json"
    assert ask("POST", asks(3, "ping")).headers["Content-Type"] == "text/plain"


@spoilt("http-status-404", "http-status-500")
def test_a_spoiled_status(ask: Ask, request: pytest.FixtureRequest) -> None:
    session = ask("POST", OPENING).headers["Mcp-Session-Id"]
    wanted = request.node.callspec.params["ask"][1].status
    assert ask("POST", tells("notifications/initialized"), session).status == 202
    assert ask("POST", asks(3, "ping"), session).status == wanted


@spoilt("http-endless")
def test_a_stream_without_an_answer(ask: Ask) -> None:
    session = ask("POST", OPENING).headers["Mcp-Session-Id"]
    response = ask("POST", asks(3, "ping"), session)
    assert response.headers["Content-Type"] == "text/event-stream"
    assert response.readline() == b":\n"


@spoilt("http-no-session")
def test_no_session_id(ask: Ask) -> None:
    assert "Mcp-Session-Id" not in ask("POST", OPENING).headers
    assert ask("POST", asks(3, "ping")).status == 200
