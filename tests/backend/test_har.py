"""HAR, as we write it and as others do."""

import json

import pytest

from mcp_conformance.backend.exchange import Answered, Asked, Exchange
from mcp_conformance.backend.har import Tape, read
from mcp_conformance.transport.files import BadFile

HEADERS = (("content-type", "application/json"),)
ONE = Exchange(
    Asked("POST", "https://api.example.com", "/v1?q=%C3%BC", HEADERS, b'{"a": "\xc3\xbc"}'),
    Answered(200, HEADERS, b"\x89PNG\xff"),
    "2026-11-26T10:00:00.000+00:00",
)


def test_what_is_written_is_read_again():
    tape = Tape((ONE,), ("header x-key",))
    assert read(tape.to_har()) == tape


def test_a_file_has_the_members_that_readers_of_har_need():
    log = json.loads(Tape((ONE,)).to_har())["log"]
    assert log["version"] == "1.2"
    (entry,) = log["entries"]
    assert set(entry) >= {"startedDateTime", "time", "request", "response", "cache", "timings"}
    needed = {"method", "url", "httpVersion", "cookies", "headers", "queryString", "headersSize", "bodySize"}
    assert set(entry["request"]) == {*needed, "postData"}
    needed = {"status", "statusText", "httpVersion", "cookies", "headers", "content", "redirectURL"}
    assert set(entry["response"]) == {*needed, "headersSize", "bodySize"}
    assert entry["response"]["content"]["encoding"] == "base64"


def test_a_file_of_a_browser_is_read():
    request = {
        "method": "get",
        "url": "https://a.example:443/x?y=1#z",
        "headers": [{"name": ":path", "value": "/x"}],
    }
    form = {
        "method": "POST",
        "url": "http://a.example:8080",
        "postData": {"params": [{"name": "a", "value": "b c"}]},
    }
    answer = {"status": 200, "content": {"mimeType": "text/html", "text": "<p>"}}
    entries = [{"request": one, "response": answer} for one in (request, form)]
    blocked = {"request": request, "response": {"status": 0}}
    found = read(json.dumps({"log": {"entries": [*entries, blocked]}}))
    assert [one.asked for one in found.exchanges] == [
        Asked("GET", "https://a.example", "/x?y=1"),
        Asked("POST", "http://a.example:8080", "/", (), b"a=b+c"),
    ]
    assert found.exchanges[0].answered == Answered(200, (("content-type", "text/html"),), b"<p>")


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "[]",
            "{}",
            '{"log": {}}',
            '{"log": {"entries": [{}]}}',
            '{"log": {"entries": [1]}}',
            "[" * 100_000,
        ),
        '{"log": {"entries": [{"request": {"url": "x", "method": "GET"}, "response": {"status": 200}}]}}',
        '{"log": {"entries": [{"request": {"url": "http://a/", "method": "GET"}, "response": 1}]}}',
    ],
)
def test_another_text_is_not_har(text):
    with pytest.raises(BadFile, match=r"not HAR|not JSON|too deeply"):
        read(text)
