"""The doctor of servers over HTTP: what it says of each answer to its requests."""

import json
import sys

import pytest

from mcp_conformance.cli.main import main
from mcp_conformance.doctor.http import HttpObservations, cause
from support.raw_server import RawServer, replying

OLD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nevent: endpoint\ndata: /messages?id=1\n\n"
REFERENCE = (sys.executable, "-m", "mcp_conformance_fixtures.reference_http", "--port", "{port}")


def response(status, body=b"", *headers):
    fields = [f"HTTP/1.1 {status} Status", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(fields).encode() + b"\r\n\r\n" + body


@pytest.fixture
def answered():
    """Return a function from ``reply(request)`` to the URL of a server that answers so."""
    servers = []

    def serve(reply):
        def answer(connection):
            while request := server.read_request(connection):
                connection.sendall(reply(request))
                if b"text/event-stream" in reply(request):
                    return

        server = RawServer(answer)
        servers.append(server)
        return f"http://127.0.0.1:{server.port}/mcp"

    yield serve
    for server in servers:
        server.close()


@pytest.mark.parametrize(
    ("reply", "cause"),
    [
        (response(401, b"", 'WWW-Authenticate: Bearer realm="x"'), "The server wants credentials."),
        (response(403), "The server refuses this host, or these credentials."),
        (response(404, b"<html>"), "There is no MCP endpoint at this path."),
        (response(307, b"", "Location: /mcp/"), "The endpoint is at another address"),
        (response(301, b"", "Location: /api/mcp"), "The endpoint is at another address"),
        (response(302, b"", "Location: /login?next=%2Fmcp"), "The server sends its caller to another page"),
        (response(406), "The server refuses the header Accept"),
        (response(500, b"oops"), "The server fails at initialize."),
        (response(200, b"<html>"), "The answer to initialize is no result of MCP."),
        (
            response(200, b'{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"Unauthorized"}}'),
            "The server refuses initialize with an error of JSON-RPC; no credential was sent.",
        ),
    ],
)
def test_the_status_leads_to_the_cause(reply, cause, answered, capsys):
    assert main(["doctor", "--url", answered(lambda _: reply)]) == 1
    assert f"Cause:\n  {cause}" in capsys.readouterr().out


def test_what_the_server_says_is_shown(answered, capsys):
    reply = response(401, b"who are you?", 'WWW-Authenticate: Bearer realm="x"')
    main(["doctor", "--url", answered(lambda _: reply)])
    out = capsys.readouterr().out
    assert (
        'POST initialize: HTTP 401 Status\n    www-authenticate: Bearer realm="x"\n    who are you?\n' in out
    )


def test_the_transport_of_2024_is_recognised(answered, capsys):
    url = answered(lambda request: OLD if request.startswith(b"GET") else response(405))
    assert main(["doctor", "--url", url]) == 1
    assert "The server speaks HTTP+SSE of 2024-11-05" in capsys.readouterr().out


def test_a_server_of_the_modern_era_alone_is_healthy(answered, capsys):
    result = {"jsonrpc": "2.0", "id": 2, "result": {"supportedVersions": ["2026-07-28"]}}
    modern = response(200, json.dumps(result).encode(), "Content-Type: application/json")
    url = answered(
        lambda request: modern if b"\r\nMcp-Method: server/discover\r\n" in request else response(404)
    )
    assert main(["doctor", "--url", url]) == 0
    out = capsys.readouterr().out
    assert out.endswith(f"The server is healthy.\nWhat to do next:\n  mcp-conformance run --url {url}\n")


def test_a_server_that_is_started_is_healthy(capsys):
    assert main(["doctor", "--http", "--", *REFERENCE]) == 0
    assert "The server is healthy." in capsys.readouterr().out


def test_nobody_listens(capsys):
    gone = replying()
    gone.close()
    assert main(["doctor", "--url", f"http://127.0.0.1:{gone.port}/mcp"]) == 1
    assert "Cause:\n  Nothing listens there." in capsys.readouterr().out


def test_a_server_that_ends_before_it_listens_has_its_own_cause(capsys):
    assert main(["doctor", "--http", "--", sys.executable, "-c", "raise SystemExit(4)", "{port}"]) == 1
    out = capsys.readouterr().out
    assert "the server ended (exit status 4) before it listened" in out
    assert "Cause:\n  The server ended before it listened." in out


def test_a_certificate_that_is_not_trusted_has_its_own_cause():
    refused = "cannot connect to https://x/mcp: the certificate of x is not valid: self-signed certificate"
    words, advice = cause(HttpObservations("https://x/mcp", refused))
    assert words == "The certificate of the server is not valid here."
    assert "SSL_CERT_FILE" in advice


def test_credentials_are_not_shown(answered, capsys):
    def reply(request):
        return response(403, b"no: " + request[request.index(b"Bearer ") :].split(b"\r\n")[0])

    main(["doctor", "--header", "Authorization: Bearer hush-hush-7", "--url", answered(reply)])
    out = capsys.readouterr().out
    assert "hush-hush-7" not in out
    assert "no: ***" in out


def test_a_run_on_a_server_that_refuses_ends_with_the_cause(answered, capfd):
    assert main(["run", "--fuzz", "none", "--url", answered(lambda _: response(405))]) == 6
    out = " ".join(capfd.readouterr().out.split())
    assert "verdict: the server did not start: There is no MCP endpoint at this path" in out
    assert "no answer: HTTP 405 Status without a body" in out
    assert "fix: give the path:" in out
