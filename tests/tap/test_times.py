"""Times of the clock in texts, in the forms that programs write."""

from datetime import UTC, datetime

import pytest

from mcp_conformance.tap.times import DURATION, TIME, is_duration, is_time, without_times

CLOCK = datetime(2026, 11, 27, 2, 14, 19, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-27T02:14:19.123Z",
        "2026-11-27 03:14:00+01:00",
        "2026-11-26",
        "Fri, 27 Nov 2026 02:14:19 GMT",
        "Fri Nov 27 02:14:19 UTC 2026",
        "Fri Nov 27 2026 02:14:00 GMT+0000 (Coordinated Universal Time)",
        "November 27, 2026 at 2:14 AM",
        "27. November 2026",
        "11/27/2026, 2:14:19 AM",
        "27.11.2026",
        "07:44:19",
        "1795745659",
        "1795745659123",
        "Thursday",
    ],
)
def test_a_time_near_the_clock_is_one(text):
    assert without_times(f"at {text} now", CLOCK) == f"at {TIME} now"


@pytest.mark.parametrize(
    "text", ["2020-01-01", "Wednesday", "id 1234567890", "at 10:22", "v1.26.11", "31.31.2026"]
)
def test_another_text_is_none(text):
    assert without_times(text, CLOCK) == text


def test_without_a_clock_nothing_is_a_time():
    assert without_times("2026-11-27", 0) == "2026-11-27"
    assert not is_time(0, 0)


def test_a_duration_is_no_longer_than_the_answer_took():
    assert without_times("in 12.5 ms and 0.1 seconds", 0, 0.1) == f"in {DURATION} and {DURATION}"
    assert without_times("12 s", 0, 0.1) == "12 s"
    assert is_duration("elapsedMs", 90, 0.1)
    assert not is_duration("elapsedMs", 900, 0.1)
    assert not is_duration("items", 1, 0.1)


def test_a_number_near_the_clock_is_a_time():
    assert is_time(CLOCK * 1000, CLOCK)
    assert not is_time(True, CLOCK)
    assert not is_time(12, CLOCK)
