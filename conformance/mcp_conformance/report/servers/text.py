"""The tables of several servers, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_conformance.protocol.text import named
from mcp_conformance.report.servers.model import ServersReport

MAX_NAME, MAX_TEXT = 40, 400


def table(servers: ServersReport) -> Iterator[str]:
    """Yield the lines of the table: a server's name, its outcome and counts, its tools, and its seconds."""
    shown, further = servers.outcomes_shown, servers.further_columns
    rows = [["server", "outcome", *map(str, shown), *further]]
    for one in servers.outcomes:
        counts = [str(one.counts.get(outcome, 0)) for outcome in shown]
        exercised = [one.exercised] if len(further) > 1 else []
        about = [*counts, *exercised, f"{one.report.seconds:.0f}"] if one.report else []
        rows.append([named(one.name, MAX_NAME), one.word, *about])
    texts = ["", *(named(one.remark, MAX_TEXT) for one in servers.outcomes)]
    widths = [max(len(row[place]) for row in rows if len(row) > place) for place in range(len(rows[0]))]
    for row, text in zip(rows, texts, strict=True):
        words = [word.ljust(width) for word, width in zip(row[:2], widths, strict=False)]
        numbers = [word.rjust(width) for word, width in zip(row[2:], widths[2:], strict=False)]
        yield "  ".join([*words, *numbers, *([text] if text else [])]).rstrip()


def clients_table(servers: ServersReport) -> Iterator[str]:
    """Yield the lines of the table of the clients that can connect to each server."""
    rows = [[named(word, MAX_NAME) for word in row] for row in servers.connecting]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip()
