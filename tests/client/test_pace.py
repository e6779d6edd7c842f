"""Waits are longer for a slow server, and never longer than the timeout."""

from mcp_conformance.client.timing import Pace, start_timeout


def paced(*pings):
    """Return the pace of a server whose pings took these seconds."""
    pace = Pace()
    for seconds in pings:
        pace.note(seconds)
    return pace


def test_wait_for_a_fast_server_is_not_scaled():
    assert Pace().scaled(2.0, 30.0) == 2.0
    assert paced(0.001, 0.002).scaled(2.0, 30.0) == 2.0


def test_wait_for_a_slow_server_is_longer_up_to_the_timeout():
    assert paced(0.5, 0.5, 0.5).scaled(2.0, 30.0) == 10.0
    assert paced(5.0, 5.0, 5.0).scaled(2.0, 30.0) == 30.0
    assert paced(5.0, 5.0, 5.0).scaled(10.0, 2.0) == 10.0


def test_ping_behind_a_slow_tool_does_not_count():
    assert paced(0.001, 0.001, 20.0, 0.001, 0.001).scaled(2.0, 30.0) == 2.0


def test_old_pings_do_not_count():
    assert paced(*[5.0] * 5, *[0.001] * 5).scaled(2.0, 30.0) == 2.0


def test_a_start_may_take_four_times_as_long_as_the_first_one():
    assert start_timeout(30.0, 0.3) == 30.0
    assert start_timeout(30.0, 20.0) == 80.0
