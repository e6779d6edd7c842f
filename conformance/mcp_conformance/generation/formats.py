"""Texts of the formats, each from the core that all validators accept, without real addresses."""

from __future__ import annotations

from collections.abc import Callable

from mcp_conformance.generation.choices import Source

LAST_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

DATES = (
    *("2024-02-29", "2023-12-31", "1969-12-31", "1970-01-01", "2038-01-20", "2100-02-28", "9999-12-31"),
    *("0001-01-01", "1900-01-01", "2000-02-29", "1999-12-31"),
)
TIMES = (
    "00:00:00Z",
    "23:59:59Z",
    "12:00:00.5Z",
    "12:30:00+05:30",
    "23:30:00-08:00",
    "12:00:00.123456Z",
    "00:00:00+14:00",
)
EDGES: dict[str, tuple[str, ...]] = {
    "date": DATES,
    "time": TIMES,
    "date-time": tuple(f"{DATES[n]}T{TIMES[n % len(TIMES)]}" for n in range(len(DATES))),
    "duration": ("PT0S", "P1Y2M3DT4H5M6S", "P99Y", "P4W", "PT36H"),
    "email": ("a.b+c@example.org", "A@EXAMPLE.ORG", "o'hara@example.com", "x@sub.example.co.uk"),
    "hostname": ("a", "localhost", f"{'a' * 63}.example.org", "xn--bcher-kva.example"),
    "ipv4": ("127.0.0.1", "192.0.2.255", "10.0.0.0", "0.0.0.0"),  # noqa: S104
    "ipv6": ("::1", "::", "2001:db8::1", "2001:db8:0:0:0:0:0:1", "::ffff:192.0.2.1"),
    "uuid": ("00000000-0000-4000-8000-000000000000", "ffffffff-ffff-4fff-bfff-ffffffffffff"),
    "uri": (
        *("https://example.org", "https://example.org/a%20b?q=%26&r=#x", "http://localhost:8080/", "urn:a:b"),
        *("https://user@example.org/", "file:///a/b", "https://example.org/../a"),
    ),
    "json-pointer": ("", "/", "/a~1b/~0", "/a/-"),
    "regex": ("", r"^\w+@\w+\.org$", "a{2,}?"),
}
"""Texts of each format that handlers get wrong."""


def formatted(name: str, source: Source) -> str | None:
    """Draw a text of a format; None for a format that has no meaning here."""
    if name not in FORMATS:
        return None
    edges = edges_of(name)
    if edges and source.index(4) == 3:
        return edges[source.index(len(edges))]
    return FORMATS[name](source)


def edges_of(name: str) -> tuple[str, ...]:
    """Return texts of a format that handlers get wrong; none for some formats."""
    return EDGES.get({"url": "uri", "iri": "uri"}.get(name, name.removeprefix("idn-")), ())


def _date(source: Source) -> str:
    way = source.index(6)
    year = (
        2000 + source.index(100)
        if way < 4
        else 1900 + source.index(100)
        if way == 4
        else 1 + source.index(9999)
    )
    month = source.index(12)
    last = LAST_DAYS[month]
    day = last if source.index(8) == 7 else 1 + source.index(last)
    return f"{year:04}-{month + 1:02}-{day:02}"


def _time(source: Source) -> str:
    way = source.index(8)
    fraction = "" if way < 6 else f".{source.index(1000):03}"
    zone = "Z"
    if source.index(4) == 3:
        zone = f"{'+-'[source.index(2)]}{source.index(13):02}:{('00', '30', '45')[source.index(3)]}"
    return f"{source.index(24):02}:{source.index(60):02}:{source.index(60):02}{fraction}{zone}"


def _duration(source: Source) -> str:
    unit = ("TS", "TM", "TH", "D", "W", "M", "Y")[source.index(7)]
    amount = source.integer(0, 99)
    return f"P{unit[:-1]}{amount}{unit[-1]}"


def _name(source: Source) -> str:
    return ("example", "a", "test-1", "x2", "localhost")[source.index(5)]


def _host(source: Source) -> str:
    return _name(source) + (".org", ".com", ".example.net")[source.index(3)]


def _uuid(source: Source) -> str:
    bits = [source.integer(0, 2**48 - 1) for _ in range(2)]
    digits = f"{bits[0]:012x}400080{bits[1]:012x}00"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-8{digits[17:20]}-{digits[20:32]}"


def _ipv4(source: Source) -> str:
    """Draw an address of this machine, of a private network, or for documentation."""
    nets = ("127.0.0", "10.0.0", "192.168.1", "192.0.2", "198.51.100", "203.0.113")
    return f"{nets[source.index(6)]}.{source.integer(0, 255)}"


def _ipv6(source: Source) -> str:
    return "2001:db8::" + ":".join(f"{source.integer(0, 0xFFFF):x}" for _ in range(1 + source.index(3)))


def _path(source: Source) -> str:
    return ("", "/a", "/a/b-c", "/a?q=1", "/#top", "/%20")[source.index(6)]


def _pointer(source: Source) -> str:
    return ("/a", "/a/0", "/a/b-c", "/0/x/y", "/")[source.index(5)]


def _relative_pointer(source: Source) -> str:
    return f"{source.index(4)}{('#', '')[source.index(2)] or _pointer(source)}"


def _regex(source: Source) -> str:
    part = ("a", "[a-z]", r"\d", ".", "[^0-9]")[source.index(5)] + ("", "+", "*", "?", "{2}")[source.index(5)]
    return (part, f"^{part}$", f"^{part}", f"{part}|b")[source.index(4)]


FORMATS: dict[str, Callable[[Source], str]] = {
    "date": _date,
    "time": _time,
    "date-time": lambda source: f"{_date(source)}T{_time(source)}",
    "duration": _duration,
    "email": lambda source: f"{_name(source)}@{_host(source)}",
    "hostname": _host,
    "ipv4": _ipv4,
    "ipv6": _ipv6,
    "uuid": _uuid,
    "uri": lambda source: f"https://{_host(source)}{_path(source)}",
    "url": lambda source: f"https://{_host(source)}{_path(source)}",
    "uri-reference": lambda source: _path(source) or "a",
    "color": lambda source: f"#{source.integer(0, 0xFFFFFF):06x}",
    "json-pointer": _pointer,
    "regex": _regex,
    "relative-json-pointer": _relative_pointer,
}
FORMATS |= {f"idn-{name}": FORMATS[name] for name in ("email", "hostname")}
FORMATS |= {"iri": FORMATS["uri"], "iri-reference": FORMATS["uri-reference"], "uri-template": FORMATS["uri"]}
"""Formats, each drawn from the core that all validators accept."""
