"""A server that answers 429 gets the wait that it asks for, and fewer requests afterwards."""

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from mcp_conformance.transport.http.client import Client
from mcp_conformance.transport.http.request import Request
from mcp_conformance.transport.http.throttle import (
    MAX_GATEWAY_SECONDS,
    MAX_TRIES,
    HeldClock,
    Throttle,
    seconds_of,
)
from mcp_conformance.transport.http.turns import MIN_RATE, Turns
from support.raw_server import RawServer

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


class Ticking:
    """A clock that is set."""

    now = 100.0

    def monotonic(self):
        return self.now


def test_a_held_clock_stands_still_and_goes_on():
    ticking = Ticking()
    clock = HeldClock(ticking)
    assert clock.hold(5.0)
    ticking.now += 3.0
    assert (clock.monotonic(), clock.left) == (100.0, 2.0)
    assert not clock.hold(4.0)
    ticking.now += 6.0
    assert (clock.monotonic(), clock.left) == (102.0, 0.0)
    assert clock.machine_time(99.0) == 99.0
    assert clock.machine_time(102.0) == ticking.now


@pytest.mark.parametrize(
    ("header", "seconds"),
    [([], None), (["7"], 7.0), (["soon"], None), (["-1"], None), (["9" * 400], 1e9 - 1), (["\u0661"], None)],
)
def test_the_wait_that_is_asked_for_is_read(header, seconds):
    assert seconds_of(header) == seconds


def test_a_date_is_a_wait_until_it():
    at = datetime.now(UTC) + timedelta(seconds=300)
    assert 0 < (seconds_of([format_datetime(at, usegmt=True)]) or 0) <= 300
    assert seconds_of([format_datetime(at - timedelta(days=1), usegmt=True)]) == 0


def test_turns_are_slowed_to_what_the_server_has_served():
    turns = Turns()
    for _ in range(60):
        turns.take()
    begun = time.monotonic()
    turns.slow_down(60.0)
    assert turns.is_slowed
    assert turns.rate == pytest.approx(0.9)
    assert turns.take() >= begun + 60.0
    idle = Turns(1000)
    idle.slow_down(60.0)
    assert idle.rate == MIN_RATE


def answering(*replies):
    """Return a server that gives these replies, each on a connection of its own, and then 200."""
    left = list(replies)

    def serve(connection):
        if server.read_request(connection):
            connection.sendall(left.pop(0) if left else OK)

    server = RawServer(serve)
    return server


def throttle_of(turns):
    """Return a throttle after some turns, so that the rate stays high."""
    for _ in range(100):
        turns.take()
    return Throttle(turns)


def busy(*headers):
    return b"\r\n".join([b"HTTP/1.1 429 Too Many Requests", *headers, b"Content-Length: 4", b"", b"busy"])


def exchanged(server, throttle, *, is_repeatable=False):
    client = Client(server.endpoint, throttle.clock, throttle=throttle)
    request = replace(Request.to(server.endpoint, "POST", (), b"{}"), is_repeatable=is_repeatable)
    exchange = client.begin(request)
    exchange.wait(5.0)
    client.close()
    return exchange


def test_a_refused_request_is_sent_again_after_the_wait():
    with answering(busy(b"Retry-After: 1"), busy(b"Retry-After: 0")) as server:
        begun, throttle = time.monotonic(), throttle_of(Turns())
        exchange = exchanged(server, throttle)
    assert (exchange.status, exchange.body, exchange.tries, exchange.failure) == (200, b"{}", 2, "")
    assert time.monotonic() - begun >= 1.0
    assert throttle.clock.monotonic() < time.monotonic() - 0.9
    assert len(server.received) == 3
    assert (throttle.asked, throttle.is_exhausted, throttle.tally.statuses[429]) == (1.0, False, 2)


def test_a_server_that_asks_for_a_day_is_not_waited_for_and_may_recover():
    with answering(busy(b"Retry-After: 86400"), busy(b"Retry-After: 0")) as server:
        throttle = Throttle(Turns())
        assert exchanged(server, throttle).status == 429
        assert throttle.is_exhausted
        assert exchanged(server, throttle).status == 429
        assert exchanged(server, throttle).status == 200
    assert not throttle.is_exhausted


def test_repetitions_end():
    throttle = Throttle(Turns())
    assert [throttle.grants(tries, 429, ["0"]) for tries in range(MAX_TRIES + 1)] == [True] * MAX_TRIES + [
        False
    ]


def test_only_a_busy_server_that_says_so_is_asked_again():
    throttle = Throttle(Turns())
    assert [throttle.grants(0, status, []) for status in (200, 500, 502, 503)] == [False] * 4
    assert throttle.grants(0, 503, ["0"])


def test_a_server_behind_a_proxy_is_waited_for_with_what_does_no_harm_twice():
    throttle = Throttle(Turns())
    grants = [throttle.grants(tries, 502, [], is_repeatable=True) for tries in range(MAX_TRIES + 1)]
    assert grants == [True] * MAX_TRIES + [False]
    assert throttle.gateway_seconds == 7.0
    assert not throttle.turns.is_slowed
    throttle.gateway_seconds = MAX_GATEWAY_SECONDS
    assert not throttle.grants(0, 504, [], is_repeatable=True)


def test_a_ping_that_a_proxy_loses_is_sent_again_and_a_call_is_not():
    bad = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"
    with answering(bad, bad) as server:
        throttle = Throttle(Turns())
        assert exchanged(server, throttle).status == 502
        assert exchanged(server, throttle, is_repeatable=True).status == 200
    assert len(server.received) == 3
    assert (throttle.tally.recovered, throttle.tally.statuses[502]) == (1, 2)


def test_a_client_that_is_closed_waits_no_longer():
    with answering(busy(b"Retry-After: 50")) as server:
        throttle = Throttle(Turns())
        client = Client(server.endpoint, throttle.clock, throttle=throttle)
        exchange = client.begin(Request.to(server.endpoint, "POST", (), b"{}"))
        while not throttle.clock.left:
            time.sleep(0.01)
        begun = time.monotonic()
        client.close()
        assert time.monotonic() - begun < 50.0
    assert exchange.has_ended
