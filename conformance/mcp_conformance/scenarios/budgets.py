"""What is measured of a server, beside the budgets that the user sets."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_conformance.client.reply import Reply
from mcp_conformance.expect import require
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.target.budgets import CallCost, measured, written
from mcp_conformance.target.server import Server
from mcp_conformance.verdicts import Finding


def expect_within_budget(server: Server, name: str) -> None:
    """Report a finding if a figure of the probe is over its budget; skip if it could not be measured."""
    _expect(server, name, [])


def expect_calls_within_budget(server: Server, name: str) -> None:
    """Call every tool that may be called; report a finding if a figure of the calls is over its budget."""
    server.calls()
    _expect(server, name, server.tool_calls.answered())


def _expect(server: Server, name: str, calls: Sequence[Reply]) -> None:
    limit = require(server.settings.budgets.get(name), skip="no budget is set (--budget)")
    costs = list(map(CallCost.of, calls))
    amount = require(measured(server.surface, costs).get(name), skip=f"{name} could not be measured")
    server.judged_figures[name] = amount
    if amount > limit:
        of = f" ({len(calls)} calls)" if calls else ""
        raise Finding(
            f"at most {written(name, limit)}", f"{written(name, amount)}{of}", _lines(calls, costs, amount)
        )


def _lines(calls: Sequence[Reply], costs: Sequence[CallCost], amount: float) -> tuple[Line, ...]:
    """Return the lines of the call that has the measured figure; none without calls."""
    pairs = zip(calls, costs, strict=True)
    return next((one.lines for one, cost in pairs if amount in (cost.seconds, cost.size)), ())
