"""The combined report as Markdown: a table of the servers, and the rules that they break."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from conformance.report.formats.markdown import MAX_LENGTH, SIGNS, WORDS, code
from conformance.report.servers.model import ServerOutcome, ServersReport

FAILED_SIGN, UNTESTED_SIGN = SIGNS["failed"], SIGNS["untested"]


def render(servers: ServersReport) -> str:
    """Return the report, short enough for a comment on a pull request."""
    sign = SIGNS["failed" if servers.status else "passed"]
    text = f"## {sign} MCP conformance: {servers.headline}\n\n" + "\n".join(_table(servers)) + "\n"
    for block in _rules(servers):
        if len(text) + len(block) > MAX_LENGTH:
            return f"{text}\n… and more rules, for which there is no room here.\n"
        text += f"\n{block}\n"
    return text


def _table(servers: ServersReport) -> Iterator[str]:
    shown = servers.outcomes_shown
    yield _row(["server", "outcome", *map(str, shown), "seconds", "revisions"])
    yield _row(["---", "---", *("---:" for _ in shown), "---:", "---"])
    for one in servers.outcomes:
        yield _row([code(one.name), f"{_sign(one)} {one.word}", *_facts(one, servers)])


def _facts(one: ServerOutcome, servers: ServersReport) -> Iterator[str]:
    if one.report is None:
        yield from ["" for _ in (*servers.outcomes_shown, "seconds")]
        yield code(one.text)
        return
    yield from (str(one.counts.get(outcome, "")) for outcome in servers.outcomes_shown)
    yield f"{one.report.seconds:.0f}"
    yield ", ".join(one.report.tested)


def _sign(one: ServerOutcome) -> str:
    return UNTESTED_SIGN if one.status is None else FAILED_SIGN if one.status else SIGNS["passed"]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _rules(servers: ServersReport) -> Iterator[str]:
    """Yield a block for each broken rule: what it says, and what was found first in each server."""
    for rule, places in servers.broken_rules():
        link = f" [Specification]({rule.spec})" if rule.spec.startswith("https:") else ""
        items = [f"- {code(one.name)}: {WORDS[first.outcome]}, {code(first.reason)}" for one, first in places]
        yield "\n".join([f"### {code(rule.requirement)}\n", f"{rule.says}{link}\n", *items])
