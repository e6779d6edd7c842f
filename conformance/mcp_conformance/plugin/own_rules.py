"""Checks of the project's own rules: tests that cite one by the mark ``requirement``, and their results."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_conformance.options.again import selection
from mcp_conformance.outcome import Listed, Outcome
from mcp_conformance.plugin.options import RUN_OPTIONS
from mcp_conformance.plugin.run_state import run_state
from mcp_conformance.protocol.text import shell_line
from mcp_conformance.report.build import CheckFacts, Evidence
from mcp_conformance.requirements.catalogue import OWN, own_rules, requirement
from mcp_conformance.verdicts import Blocked, Finding, outcome_of


def cited(node: pytest.Item | Any) -> list[str]:
    """Return the ids of the requirements that an item cites."""
    return [str(id) for mark in node.iter_markers("requirement") for id in mark.args]


def own_cited(item: pytest.Item) -> list[str]:
    """Return the ids of the project's own rules that a test cites.  Raises `pytest.UsageError`."""
    ids = [id for id in cited(item) if id.startswith(f"{OWN}.")]
    unknown = [id for id in ids if id not in own_rules()]
    if unknown:
        known = ", ".join(own_rules()) or "none"
        raise pytest.UsageError(
            f"{item.nodeid}: the configuration has no rule {unknown[0]!r} in [project.rules]; it has {known}"
        )
    return ids


def tool_of(item: pytest.Item) -> str:
    """Return the tool of a test that runs for each of them; empty for another test."""
    own, callspec = (
        getattr(getattr(item, "function", None), "mcp_own_test", None),
        getattr(item, "callspec", None),
    )
    return str(callspec.params.get(own.each_tool, "")) if own is not None and callspec is not None else ""


def own_facts(item: pytest.Item, report: pytest.TestReport, call: pytest.CallInfo[None]) -> CheckFacts:
    """Return the facts about a test of the project's own rule.

    Whatever it raises breaks the rule; what a fixture raises blocks the test, or skips it if the server did
    not start.
    """
    ids, options = own_cited(item), item.config.stash[RUN_OPTIONS]
    row, revision = requirement(ids[0]), _revision(item)
    # That the server does not start is one finding, which is there already.
    is_dead = call.when != "call" and run_state(item.config).subject.never_opened
    is_skipped = report.skipped or (report.failed and is_dead)
    verdict = None if is_skipped else _verdict(item, call)
    outcome = Outcome.SKIPPED if is_skipped else Outcome.PASSED
    if verdict is not None:
        outcome = outcome_of(verdict, row, revision, **options.severities)
    skipped = str(call.excinfo.value) if is_skipped and call.excinfo is not None else ""
    return CheckFacts(
        node=item.nodeid,
        row=row,
        revision=revision,
        outcome=outcome,
        tool=tool_of(item),
        reason=str(verdict or skipped or ""),
        requirements=tuple(ids),
        again="" if outcome.style.listed is Listed.NEVER else _again(item, ids),
        evidence=Evidence.of(verdict) if verdict is not None else Evidence(),
    )


def _again(item: pytest.Item, ids: list[str]) -> str:
    """Return the command that runs a test again; empty if the configuration has several servers."""
    chosen = item.config.stash[RUN_OPTIONS].chosen
    selected = selection(ids, ids[0], tool_of(item))
    is_clear = chosen.is_configured and len(chosen.servers) == 1
    words = ("mcp-conformance", "run", *(chosen.source or ()), "--select", *selected)
    return shell_line(words) if is_clear else ""


def _verdict(item: pytest.Item, call: pytest.CallInfo[None]) -> Finding | Blocked | None:
    """Return what an exception says of the server; None if there is none."""
    if call.excinfo is None:
        return None
    text, lines = call.excinfo.exconly(tryshort=True).partition("\n")[0], _lines(item)
    if call.when != "call":
        return Blocked(f"the test could not be run: {text}", lines)
    return Finding(f"{getattr(item, 'originalname', item.name)} to pass", text, lines)


def _server(item: pytest.Item) -> Any:
    return getattr(item, "funcargs", {}).get("conformance_server")


def _lines(item: pytest.Item) -> tuple[Any, ...]:
    """Return the last request of a test, and its answer."""
    server = _server(item)
    return server.last_lines if server is not None else ()


def _revision(item: pytest.Item) -> str:
    """Return the revision in which a test has talked to the server; the newest one of the run without it."""
    server = _server(item)
    if server is not None:
        return str(server.revision)
    subject = run_state(item.config).subject
    return max(one.revision for one in (subject.live or subject.surfaces))
