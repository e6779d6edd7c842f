"""Times of the clock, and durations, in texts and numbers: they differ whatever the server does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

TIME = "<time>"
"""What stands in the place of a time of the clock."""
NEAR_SECONDS = 26 * 3600.0
"""How far a time of the clock is from the clock: a day, as it may be a date in any zone, and some hours."""
QUARTER_SECONDS, CLOCK_SLACK_SECONDS = 900.0, 120.0
"""Zones differ by quarters of an hour, in which a time without a date is at most so far from the clock."""
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_MONTH = rf"(?P<month>{'|'.join(MONTHS)})[a-z]*"
_OTHER_MONTH = _MONTH.replace("month", "month2")
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[AaPp]\.?[Mm]\b\.?)?"
_ZONE = r"(?: ?(?:Z\b|UTC|GMT)(?:[+-]\d{2}:?\d{2})?| ?[+-]\d{2}:?\d{2}\b| [A-Z]{3,4}\b)?(?: \([A-Z][\w ]+\))?"
_AT = rf"(?:(?:,| at)? {_CLOCK}{_ZONE})?"
_DAY_NAME = rf"(?:\b(?:{'|'.join(day[:3] for day in DAYS)})[a-z]*,? )?"
SPANS = re.compile(
    "|".join(
        (
            rf"(?P<iso>\d{{4}}[-/.]\d{{2}}[-/.]\d{{2}})(?:(?:T| |, ){_CLOCK}{_ZONE})?",
            rf"{_DAY_NAME}\b{_MONTH}\.? +(?P<day>\d{{1,2}}),? (?:{_CLOCK}{_ZONE} )?(?P<year>\d{{4}}){_AT}",
            rf"{_DAY_NAME}(?P<day2>\d{{1,2}})\.?[ -]{_OTHER_MONTH}\.?,?[ -](?P<year2>\d{{4}}){_AT}",
            rf"(?P<numeric>\b\d{{1,2}}[./]\d{{1,2}}[./]\d{{4}}\b)(?:,? {_CLOCK})?",
            rf"(?P<clock>\b{_CLOCK}){_ZONE}",
            r"(?P<epoch>(?<![\w.-])\d{10}(?:\d{3}|\d{6}|\d{9}|\.\d+)?(?![\w-]))",
            rf"(?P<weekday>\b(?:{'|'.join(DAYS)})\b)",
        )
    )
)
"""A time in each of the forms that programs write, with a group for what decides whether it is near."""
DURATION = "<duration>"
"""What stands in the place of a duration."""
UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
AMOUNT = re.compile(
    r"(?<![\w.])(\d+(?:\.\d+)?) ?(ns|us|µs|ms|milliseconds?|s|secs?|seconds?)(?![\w])", re.IGNORECASE
)
NAME = re.compile(r"(?:(?i:duration|elapsed|latency|took|time|millis|seconds)|(?:_|^)ms|(?<=[a-z])Ms)$")
"""How the names of members with durations end."""
SLACK_SECONDS = 0.05
"""Not measured: how much longer a server may say that it took than we have waited, as it rounds."""


def without_times(text: str, clock: float, took: float = 0.0) -> str:
    """Return a text with `TIME` for each time near the ``clock``, and `DURATION` for each that fits.

    The clock is in seconds since 1970, 0 without one; the answer ``took`` so many seconds.
    """
    if not any(map(str.isdigit, text)) and not any(day in text for day in DAYS):
        return text
    if clock:
        text = SPANS.sub(lambda found: TIME if _is_near(found, clock) else found[0], text)
    return AMOUNT.sub(lambda found: DURATION if _is_within(found, took) else found[0], text)


def _is_within(found: re.Match[str], took: float) -> bool:
    unit = found[2].lower()
    seconds = float(found[1]) * UNITS["ms" if unit.startswith("mi") else "s" if unit[0] == "s" else unit]
    return seconds <= took + SLACK_SECONDS


def is_duration(name: str, number: Any, took: float) -> bool:
    """Return whether a number under a name of durations can be one of an answer that took so long."""
    if isinstance(number, bool) or not isinstance(number, int | float) or not NAME.search(name):
        return False
    unit = 1.0 if name.lower().endswith("seconds") else 1e-3
    return 0 <= number * unit <= took + SLACK_SECONDS


def is_time(number: Any, clock: float) -> bool:
    """Return whether a number is a time near the clock: seconds, or thousandths of them and less."""
    if not clock or isinstance(number, bool) or not isinstance(number, int | float):
        return False
    return any(abs(number / unit - clock) <= NEAR_SECONDS for unit in (1, 1e3, 1e6, 1e9))


def _is_near(found: re.Match[str], clock: float) -> bool:
    part = found.groupdict()
    if part["epoch"]:
        return is_time(float(part["epoch"]), clock)
    if part["weekday"]:
        days = (datetime.fromtimestamp(clock, UTC) + timedelta(days=offset) for offset in (-1, 0, 1))
        return part["weekday"] in {DAYS[one.weekday()] for one in days}
    if part["clock"]:
        return _is_now(part["clock"], clock)
    return any(abs(one - clock) <= NEAR_SECONDS for one in _dates(part))


def _dates(part: dict[str, Any]) -> Iterator[float]:
    """Yield the noon of each date that a text may mean."""
    if part["iso"]:
        numbers = [tuple(map(int, re.split(r"[-/.]", part["iso"])))]
    elif part["numeric"]:
        one, other, year = map(int, re.split(r"[./]", part["numeric"]))
        numbers = [(year, one, other), (year, other, one)]
    else:
        year, month, day = (part[name] or part[f"{name}2"] for name in ("year", "month", "day"))
        numbers = [(int(year), MONTHS.index(month) + 1, int(day))]
    for year, month, day in numbers:
        if 1 <= month <= len(MONTHS) and 1 <= day <= 31 and 1970 <= year < 9999:
            yield datetime(year, month, 1, 12, tzinfo=UTC).timestamp() + (day - 1) * 86400


def _is_now(text: str, clock: float) -> bool:
    """Return whether a time of the day is now, in whatever zone."""
    hours, minutes, *seconds = re.findall(r"\d+", text)[:3]
    told = int(hours) * 3600 + int(minutes) * 60 + (int(seconds[0]) if seconds else 30)
    apart = (told - clock) % QUARTER_SECONDS
    return min(apart, QUARTER_SECONDS - apart) <= CLOCK_SLACK_SECONDS
