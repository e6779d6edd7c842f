"""The combined report as Markdown: a table of the servers, and the rules that they break."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from mcp_conformance.report.exit_status import PASSED
from mcp_conformance.report.file_format import CombinedFormat
from mcp_conformance.report.formats.markdown import MAX_LENGTH, SIGNS, code, fitting, folded, sentence
from mcp_conformance.report.servers.model import ServerOutcome, ServersReport

MAX_SERVERS = 50
FAILED_SIGN, UNTESTED_SIGN = SIGNS["failed"], SIGNS["untested"]


def render(servers: ServersReport, changes: Sequence[str] = ()) -> str:
    """Return the report, short enough for a comment on a pull request; ``changes`` follow the table."""
    sign = SIGNS["failed" if servers.status else "passed"]
    blocks = [
        f"## {sign} MCP conformance: {servers.headline}",
        "\n".join(_table(servers)),
        *_clients(servers),
        *changes,
    ]
    room = MAX_LENGTH - sum(len(block) + 2 for block in blocks)
    return "\n\n".join([*blocks, *fitting(list(_rules(servers)), room, "rules")]) + "\n"


def _table(servers: ServersReport) -> Iterator[str]:
    shown = servers.outcomes_shown
    further = servers.further_columns
    yield _row(["server", "outcome", *map(str, shown), *further, "revisions"])
    yield _row(["---", "---", *("---:" for _ in (*shown, *further)), "---"])
    outcomes = sorted(servers.outcomes, key=lambda one: one.status == PASSED)
    for one in servers.outcomes if len(outcomes) <= MAX_SERVERS else outcomes[:MAX_SERVERS]:
        word = f"{_sign(one)} {one.word}{f'; {one.left_out}' if one.left_out else ''}"
        yield _row([code(one.name), word, *_facts(one, servers)])
    if len(outcomes) > MAX_SERVERS:
        yield f"\n… and {len(outcomes) - MAX_SERVERS} more servers, those that passed last."


def _facts(one: ServerOutcome, servers: ServersReport) -> Iterator[str]:
    if one.report is None:
        yield from ["" for _ in (*servers.outcomes_shown, *servers.further_columns)]
        yield code(one.text)
        return
    yield from (str(one.counts.get(outcome, "")) for outcome in servers.outcomes_shown)
    if len(servers.further_columns) > 1:
        yield one.exercised
    yield f"{one.report.seconds:.0f}"
    yield ", ".join(one.report.tested)


def _clients(servers: ServersReport) -> Iterator[str]:
    """Yield the table of the clients that can connect, which opens."""
    if servers.connecting:
        heads, *rows = servers.connecting
        cells = [[code(name), *others] for name, *others in rows[:MAX_SERVERS]]
        if len(rows) > MAX_SERVERS:
            cells.append([f"and {len(rows) - MAX_SERVERS} more", *("" for _ in heads[1:])])
        yield folded("Clients that can connect", [heads, ["---"] * len(heads), *cells])


def _sign(one: ServerOutcome) -> str:
    return UNTESTED_SIGN if one.status is None else FAILED_SIGN if one.status else SIGNS["passed"]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _rules(servers: ServersReport) -> Iterator[str]:
    """Yield a block for each broken rule: what it says, and what was found first in each server."""
    for rule, places in servers.broken_rules():
        link = f" [Specification]({rule.spec})" if rule.spec.startswith("https:") else ""
        items = [
            f"- {code(one.name)}: {first.outcome.with_sign}, {code(first.reason)}" for one, first in places
        ]
        yield "\n".join(
            [f"### {code(rule.requirement)}\n", f"{sentence(rule.requirement, rule.says)}{link}\n", *items]
        )


COMBINED = CombinedFormat(render, has_own_files=False)
