"""What each sickness writes on a connection, without a connection."""

import json
from http.client import HTTPResponse, IncompleteRead
from io import BytesIO

import pytest

from mcp_conformance.backend.exchange import Asked, EmptyApi
from mcp_conformance.backend.sickness import BY_NAME, ECHOES, HOSTILE, LARGE_BYTES, SICKNESSES, WELL


class Wire:
    """A connection in memory whose other side waits for nothing."""

    origin, target = "https://api.example.com", "/v1/things"

    def __init__(self, number=0, patience=1000, body=b""):
        self.asked = Asked("GET", self.origin, self.target, body=body)
        self.number, self.sent, self.waits, self.is_reset = number, b"", [], False
        self.patience = patience

    def send(self, data):
        self.sent += data

    def work(self):
        self.send(EmptyApi().answer(self.asked).encoded("GET"))

    def wait(self, seconds):
        self.waits.append(seconds)
        return seconds is not None and len(self.waits) <= self.patience

    def reset(self):
        self.is_reset = True

    def makefile(self, _):
        return BytesIO(self.sent)


def answered(sickness, **facts):
    wire = Wire(**facts)
    sickness.answer(wire)
    response = HTTPResponse(wire)
    response.begin()
    return wire, response


@pytest.mark.parametrize(
    ("name", "status", "kind"),
    [
        ("503", 503, "application/json"),
        ("503-html", 503, "text/html"),
        ("503-empty", 503, "application/json"),
        ("500", 500, "application/json"),
        ("429", 429, "application/json"),
        ("401", 401, "application/json"),
        ("404", 404, "application/json"),
        ("html", 200, "text/html"),
        ("text", 200, "text/plain"),
        ("cut", 200, "application/json"),
    ],
)
def test_a_response_is_whole_and_has_its_status(name, status, kind):
    _, response = answered(BY_NAME[name])
    body = response.read()
    assert (response.status, response.headers["Content-Type"]) == (status, kind)
    assert len(body) == int(response.headers["Content-Length"])


def test_bodies_are_what_the_names_say():
    bodies = {name: answered(BY_NAME[name])[1].read() for name in ("object", "array", "null", "503", "cut")}
    assert [json.loads(bodies[name]) for name in ("object", "array", "null")] == [{}, [], None]
    assert "error" in json.loads(bodies["503"])
    with pytest.raises(ValueError, match="Unterminated"):
        json.loads(bodies["cut"])


def test_a_limit_says_when_to_come_again():
    assert answered(BY_NAME["429"])[1].headers["Retry-After"] == "2"


def test_a_redirect_leads_back():
    assert answered(BY_NAME["redirect"])[1].headers["Location"] == "https://api.example.com/v1/things"


def test_hostile_text_is_whole_in_json_and_raw_without():
    _, response = answered(BY_NAME["hostile"])
    assert json.loads(response.read())["results"][0]["title"] == HOSTILE
    _, response = answered(BY_NAME["hostile-500"])
    with pytest.raises(UnicodeDecodeError):
        response.read().decode()


def test_an_echo_has_the_number_of_the_request_and_another_beginning():
    for one, status in zip(ECHOES, (200, 500), strict=True):
        _, response = answered(one, body=b'{"q":"zq000000000012"}')
        assert (response.status, json.loads(response.read())["message"]) == (status, "qz000000000012")
    assert json.loads(answered(ECHOES[0])[1].read()) == {}


def test_requests_that_wait_are_answered_in_the_reverse_order():
    waits = [answered(ECHOES[0], number=number)[0].waits[0] for number in (0, 1, 9)]
    assert waits == sorted(waits, reverse=True)
    assert waits[-1] == 0


def test_silence_sends_nothing_and_waits():
    wire = Wire()
    BY_NAME["silent"].answer(wire)
    assert (wire.sent, wire.waits, wire.is_reset) == (b"", [None], False)


def test_a_slow_answer_comes_byte_by_byte_until_nobody_waits():
    wire, response = answered(BY_NAME["slow"])
    assert json.loads(response.read())
    assert set(wire.waits) == {1.0}
    assert len(wire.waits) == len(wire.sent)
    short = Wire(patience=3)
    BY_NAME["slow"].answer(short)
    assert len(short.sent) == 3


def test_connections_end_before_and_in_the_middle():
    wire = Wire()
    BY_NAME["reset"].answer(wire)
    assert (wire.sent, wire.is_reset) == (b"", True)
    wire, response = answered(BY_NAME["broken"])
    with pytest.raises(IncompleteRead):
        response.read()
    assert wire.is_reset


def test_the_first_request_alone_fails():
    once = BY_NAME["once"]
    assert [answered(once, number=number)[1].status for number in (0, 1, 2)] == [503, 200, 200]


def test_a_large_answer_has_the_size_that_it_says(monkeypatch):
    wire = Wire()
    sizes = []
    monkeypatch.setattr(wire, "send", lambda data: sizes.append(len(data)))
    head = []
    monkeypatch.setattr("mcp_conformance.backend.sickness.head", lambda *of: head.append(of) or b"")
    BY_NAME["large"].answer(wire)
    assert sum(sizes) == head[0][2]
    assert abs(sum(sizes) - LARGE_BYTES) < 100_000


def test_what_cannot_have_been_answered_is_a_failure():
    failures = {one.name for one in SICKNESSES if one.is_failure}
    assert failures == {
        *("503", "503-html", "503-empty", "500", "hostile-500", "reset", "broken", "refused", "no-name"),
    }
    assert {one.name for one in SICKNESSES if one.may_have_acted} == {"500", "reset", "broken"}
    assert not WELL.is_failure


def test_a_redirect_to_another_host_has_nothing_of_the_url():
    wire, response = answered(BY_NAME["elsewhere"])
    assert response.getheader("location") == "https://elsewhere.example/moved"
    assert wire.target not in wire.sent.decode()
