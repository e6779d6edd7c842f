"""Answers as bytes of HTTP."""

import pytest

from mcp_conformance.backend.exchange import Answered


@pytest.mark.parametrize(
    ("method", "status", "body"),
    [("GET", 200, b"{}"), ("HEAD", 200, b""), ("GET", 204, b""), ("GET", 599, b"{}")],
)
def test_an_answer_has_a_length_of_its_own_and_a_body_only_where_one_may_be(method, status, body):
    headers = (("content-type", "text/x"), ("content-length", "7"), ("transfer-encoding", "chunked"))
    head, _, rest = Answered(status, headers, b"{}").encoded(method).partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0].startswith(f"HTTP/1.1 {status} ")
    assert rest == body
    assert lines[1:] == [
        "content-type: text/x",
        *(["content-length: 2"] if body else []),
        "connection: close",
    ]
