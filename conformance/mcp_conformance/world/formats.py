"""Values for a format that a text names: a date for ``YYYY-MM-DD``, a colour for ``hex``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mcp_conformance.world.members import words_of

DAY = {"YYYY": "2026", "yyyy": "2026", "YY": "26", "MM": "01", "mm": "01", "DD": "15", "dd": "15"}
CLOCK = {"HH": "12", "hh": "12", "mm": "30", "MM": "30", "SS": "00", "ss": "00"}
LETTERS = "YYYY|yyyy|YY|MM|mm|DD|dd|HH|hh|SS|ss"
PARTS = re.compile(rf"(?<![A-Za-z])(?:{LETTERS})(?:[-/.:T ]{{0,2}}(?:{LETTERS})){{1,5}}Z?(?![A-Za-z])")
"""A date or a time in letters, such as ``DD.MM.YYYY`` or ``HH:MM``."""
PART = re.compile(LETTERS)
STATEMENTS = {
    "create": "CREATE TABLE mcp_conformance_example (id INTEGER, name TEXT)",
    "insert": "INSERT INTO mcp_conformance_example VALUES (1, 'example')",
    "select": "SELECT * FROM mcp_conformance_example",
}
"""Statements of SQL on a table with a name that nobody has."""

FORMATS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"base ?64", ("ZXhhbXBsZQ==",)),
    (r"\buuid|\bguid\b", ("123e4567-e89b-42d3-a456-426614174000",)),
    (r"\bA1[ -](?:notation|style|format)|\bcell range|\brange of cells", ("A1:C10", "A1")),
    (r"\bcell (?:reference|address)|\btop-left cell", ("A1",)),
    (r"\bhex(?:adecimal)?\b(?=.{0,40}#)|#[rR]{2}[gG]{2}[bB]{2}|\bhex\b.{0,20}\bcolou?r", ("#1F4E78",)),
    (r"\bhex\b|\bRRGGBB\b", ("FF0000", "#FF0000")),
    (r"\biso[ -]?8601\b.{0,30}\bduration", ("PT1H",)),
    (r"\biso[ -]?8601\b|\brfc[ -]?3339\b|\bdate[- ]?time\b", ("2026-01-15T12:30:00Z", "2026-01-15")),
    (r"\biso (?:format )?dates?\b", ("2026-01-15",)),
    (r"\b24[- ]hour\b", ("12:30",)),
    (r"\biana\b|\btime ?zone", ("UTC", "Europe/Paris")),
    (r"\be-?mail address|\bvalid e-?mail", ("user@example.com",)),
    (r"\bsemver\b|\bsemantic version", ("1.0.0",)),
    (r"\bcron\b", ("0 0 * * *",)),
    (r"\bvalid json\b|\bjson string\b|\bas json\b", ("{}", "[]")),
    (r"\bvalid reg(?:ular )?ex|\bregex(?:p| pattern)?\b|\bregular expression", ("a.*",)),
    (r"\bglob\b", ("**/*", "*.txt")),
    (r"\biso[ -]?4217\b|\bcurrency code", ("EUR", "USD")),
    (r"\biso[ -]?3166\b|\bcountry code", ("DE", "US")),
    (r"\biso[ -]?639\b|\blanguage code", ("en",)),
    (r"\bmime[- ]type", ("text/plain",)),
    (r"\be\.164\b", ("+15550100",)),
    (r"\bcreate table\b", (STATEMENTS["create"],)),
    (r"\binsert\b.{0,40}\b(?:query|queries|statements?|sql)\b", (STATEMENTS["insert"],)),
    (r"\bselect (?:quer|statement|sql)|\bsql\b", ("SELECT 1 AS one", STATEMENTS["select"])),
)
"""What names a format, and values that have it."""
NAMED = {
    **dict.fromkeys(("email", "mail"), "user@example.com"),
    **dict.fromkeys(("phone", "telephone"), "+15550100"),
    **dict.fromkeys(("date", "day", "deadline", "birthday"), "2026-01-15"),
    **dict.fromkeys(("timestamp", "datetime"), "2026-01-15T12:30:00Z"),
    **dict.fromkeys(("timezone", "tz"), "UTC"),
    **dict.fromkeys(("color", "colour"), "#1F4E78"),
    "time": "12:30",
    "currency": "EUR",
    "country": "DE",
    "language": "en",
    "locale": "en",
    "cron": "0 0 * * *",
    "uuid": "123e4567-e89b-42d3-a456-426614174000",
    "duration": "1h30m",
    "dtype": "str",
    "regex": "a.*",
}
"""The last words of members that take a value in a usual form, and one in it."""
DIGITS = re.compile(r"\b([2-9]|10)[- ]digits?\b", re.IGNORECASE)
"""``5 digits``, ``a 4-digit code``"""
COMPILED = tuple((re.compile(pattern, re.IGNORECASE), values) for pattern, values in FORMATS)


def values_of_format(text: str) -> list[str]:
    """Return values in the formats that a text names, those that it spells out first."""
    found = [*(_filled_in(one[0]) for one in PARTS.finditer(text))]
    found += ["1234567890"[: int(one[1])] for one in DIGITS.finditer(text)]
    found += [value for pattern, values in COMPILED if pattern.search(text) for value in values]
    return list(dict.fromkeys(found))


def values_of_name(name: str) -> list[str]:
    """Return values in the form that the name of a member suggests: an address for ``contact_email``."""
    return [NAMED[word] for word in words_of(name)[-1:] if word in NAMED]


def formats_in(text: str) -> Iterator[str]:
    """Yield the formats of dates and times that a text spells out, such as ``YYYY-MM-DD``."""
    yield from (one[0] for one in PARTS.finditer(text))


def _filled_in(pattern: str) -> str:
    """Return a date or a time in a format; ``MM`` after hours are minutes."""
    is_clock = False
    done = []
    at = 0
    for part in PART.finditer(pattern):
        is_clock = is_clock or part[0] in ("HH", "hh")
        known = CLOCK if is_clock and part[0] in CLOCK else DAY
        done += [pattern[at : part.start()], known.get(part[0], part[0])]
        at = part.end()
    return "".join((*done, pattern[at:]))
