"""The bytes of requests."""

import pytest

from mcp_conformance.transport.http.endpoint import Endpoint
from mcp_conformance.transport.http.request import Request

ENDPOINT = Endpoint.parse("http://localhost:8000/mcp")
HOST = (b"Host", b"localhost:8000")


def test_a_regular_request_has_host_and_length():
    request = Request.to(ENDPOINT, "POST", ((b"Accept", b"*/*"),), b"{}")
    expected = b"POST /mcp HTTP/1.1\r\nHost: localhost:8000\r\nAccept: */*\r\nContent-Length: 2\r\n\r\n{}"
    assert request.encoded == expected
    assert request.is_framed


def test_a_request_without_body_has_no_length_unless_its_method_has_a_body():
    assert b"Length" not in Request.to(ENDPOINT, "GET").encoded
    assert Request.to(ENDPOINT, "POST").encoded.endswith(b"Content-Length: 0\r\n\r\n")


@pytest.mark.parametrize(
    ("headers", "line"),
    [
        (((b"mcp-NAME", b"x"),), b"mcp-NAME: x\r\n"),
        (((b"A", b"1"), (b"A", b"2")), b"A: 1\r\nA: 2\r\n"),
        (((b"A", b"\xe9"),), b"A: \xe9\r\n"),
        (((b"A", b"  x "),), b"A:   x \r\n"),
        (((b"A", b"x\x00y"),), b"A: x\x00y\r\n"),
        (((b"A", b"x\r\nB: y"),), b"A: x\r\nB: y\r\n"),
        (((b"A b", b"x"),), b"A b: x\r\n"),
        ((), b"HTTP/1.1\r\n\r\n"),
        ((HOST, (b"Host", b"other")), b"Host: localhost:8000\r\nHost: other\r\n"),
        (((b"Content-Length", b"999"),), b"Content-Length: 999\r\n\r\n{}"),
    ],
)
def test_every_header_is_sent_as_it_is(headers, line):
    assert line in Request("POST", "/mcp", headers, b"{}").encoded


def test_method_and_target_can_be_any_bytes():
    request = Request("po st", b"/\xff \x01".decode("utf-8", "surrogateescape"), ())
    assert request.encoded == b"po st /\xff \x01 HTTP/1.1\r\n\r\n"


@pytest.mark.parametrize(
    "headers",
    [
        (),
        ((b"Content-Length", b"3"),),
        ((b"Content-Length", b"2"), (b"content-length", b"2")),
        ((b"Transfer-Encoding", b"chunked"),),
        ((b"Content-Length", b"2"), (b"A", b"x\r\nB: y")),
    ],
)
def test_a_request_with_another_length_is_not_framed(headers):
    assert not Request("POST", "/mcp", headers, b"{}").is_framed
