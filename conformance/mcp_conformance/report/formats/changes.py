"""What changed between two reports, as Markdown for a comment on a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mcp_conformance.report.compare import Comparison, RuleChange
from mcp_conformance.report.formats.markdown import code
from mcp_conformance.report.model import Report
from mcp_conformance.target.changes import OfferChange

MAX_ITEMS = 10


def blocks(old: Report, comparison: Comparison, where: str, server: str = "") -> Iterator[str]:
    """Yield the verdict of a comparison, and a list for each kind of change.

    ``where`` names the old report; ``server`` is the server's name if there are several.
    """
    about = f"{code(server)} against" if server else "Against"
    before = f"report of {code(old.started)}: {code(old.headline)}"
    yield f"**{about} {code(where)}: {comparison.verdict}** ({before})"
    for title, items in (
        ("New findings", map(_rule, comparison.broke)),
        ("Findings that are gone", map(_rule, comparison.fixed)),
        ("Findings with another outcome", map(_rule, comparison.changed)),
        ("Findings whose rules are no longer tested", map(_rule, comparison.unseen)),
        ("Changes of tools", map(_tool, comparison.tools)),
        ("Tools exercised for the first time", map(code, comparison.newly_exercised)),
        ("Tools no longer exercised", map(code, comparison.no_longer_exercised)),
        ("Not compared like with like", map(code, comparison.notes)),
    ):
        if listed := _listed(items):
            yield f"#### {title}\n\n{listed}"


def _rule(one: RuleChange) -> str:
    about = f" ({code(one.tool)})" if one.tool else ""
    reason = f": {code(one.reason)}" if one.reason else ""
    return (
        f"{code(one.requirement)}{about} in {', '.join(one.revisions)}: was {one.was}, now {one.now}{reason}"
    )


def _tool(one: OfferChange) -> str:
    return f"{code(one.name)}: {'**breaks clients:** ' if one.breaking else ''}{code(one.text)}"


def _listed(items: Iterable[str]) -> str:
    """Return a list of the first items, and how many more there are; empty if there is none."""
    found = list(items)
    more = [f"and {len(found) - MAX_ITEMS} more"] if len(found) > MAX_ITEMS else []
    return "\n".join(f"- {item}" for item in (*found[:MAX_ITEMS], *more))
