"""The command ``mcp-conformance judge``: say which rules recorded sessions break, of either side."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence

from mcp_conformance.cli.arguments import UsageError, expect_no_more
from mcp_conformance.protocol.text import harmless, shorten
from mcp_conformance.report.exit_status import FAILED, PASSED
from mcp_conformance.tap.judging import Breach
from mcp_conformance.tap.rows import row_of
from mcp_conformance.tap.sessions import Recorded, judged, read_sessions

MAX_SHOWN, MAX_LINE = 300, 200


def main(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    """Print what each session breaks; return 1 if a rule with the level MUST is broken."""
    expect_no_more(rest)
    if command:
        raise UsageError("judge: a folder or files with sessions are judged; remove -- and what follows it")
    found = [(session, judged(session)) for session in list(read_sessions(options.files))]
    if options.json:
        _print(json.dumps([_record(*one) for one in found], indent=2))
    else:
        for session, breaches in found:
            _print(*_report(session, breaches))
    return FAILED if any(one.level == "MUST" for _, breaches in found for one in breaches) else PASSED


def _report(session: Recorded, breaches: Sequence[Breach]) -> Iterator[str]:
    """Yield the lines about a session: what it is, then each broken rule once, with its first line."""
    by_rule: dict[tuple[str, str], list[Breach]] = {}
    for one in breaches:
        by_rule.setdefault((one.side, one.rule), []).append(one)
    counts = " and ".join(f"{session.count(side)} lines of the {side}" for side in ("client", "server"))
    broken = ", ".join(
        f"{sum(one == side for one, _ in by_rule)} by the {side}" for side in ("client", "server")
    )
    yield f"{session.path.name}: {session.title}: {counts}; rules broken: {broken if by_rule else 'none'}"
    for (side, rule), found in by_rule.items():
        first, times = found[0], f" ({len(found)} times)" if len(found) > 1 else ""
        yield shorten(f"  {side} {first.level} {rule}: {first.what}{times}", MAX_SHOWN)
        yield from (f"    {line.shown(MAX_LINE)}" for line in first.lines)
        yield f"    {_url(session, rule)}"


def _url(session: Recorded, rule: str) -> str:
    """Return the page of the specification that a rule is on, in the revision of the session."""
    row = row_of(rule)
    return row.url(row.stated_in(session.revision))


def _record(session: Recorded, breaches: Sequence[Breach]) -> dict[str, object]:
    rows = [
        {
            "side": one.side,
            "rule": one.rule,
            "level": one.level,
            "what": one.what,
            "spec": _url(session, one.rule),
            "lines": [line.shown(MAX_LINE) for line in one.lines],
        }
        for one in breaches
    ]
    return {"session": session.path.name, "server": session.title, "breaches": rows}


def _print(*lines: str) -> None:
    for line in lines:
        print(harmless(line))  # noqa: T201
