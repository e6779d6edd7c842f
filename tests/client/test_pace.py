"""Waits grow with what a server has shown that it needs, and with nothing else."""

from conformance.client.timing import Pace, start_timeout


def paced(*pulses):
    pace = Pace()
    for seconds in pulses:
        pace.note(seconds)
    return pace


def test_a_fast_server_is_waited_for_as_long_as_is_plenty():
    assert Pace().scaled_timeout(2.0, 30.0) == 2.0
    assert paced(0.001, 0.002).scaled_timeout(2.0, 30.0) == 2.0


def test_a_slow_server_is_waited_for_longer_but_not_beyond_the_timeout():
    assert paced(0.5, 0.5, 0.5).scaled_timeout(2.0, 30.0) == 10.0
    assert paced(5.0, 5.0, 5.0).scaled_timeout(2.0, 30.0) == 30.0
    assert paced(5.0, 5.0, 5.0).scaled_timeout(10.0, 2.0) == 10.0


def test_a_pulse_behind_a_slow_tool_does_not_count():
    assert paced(0.001, 0.001, 20.0, 0.001, 0.001).scaled_timeout(2.0, 30.0) == 2.0


def test_what_was_long_ago_does_not_count():
    assert paced(*[5.0] * 5, *[0.001] * 5).scaled_timeout(2.0, 30.0) == 2.0


def test_a_start_may_take_four_times_as_long_as_the_first_one():
    assert start_timeout(30.0, 0.3) == 30.0
    assert start_timeout(30.0, 20.0) == 80.0
