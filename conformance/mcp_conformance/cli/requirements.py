"""The commands ``mcp-conformance list`` and ``explain``: the requirements of the catalogue."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from mcp_conformance.cli.arguments import UsageError, configuration, expect_no_more
from mcp_conformance.cli.report_file import report_in
from mcp_conformance.outcome import Outcome
from mcp_conformance.protocol.text import did_you_mean
from mcp_conformance.report.text import explanation
from mcp_conformance.requirements import catalogue
from mcp_conformance.requirements.catalogue import Requirement
from mcp_conformance.requirements.checks import checked
from mcp_conformance.requirements.official import SCENARIOS, official_checks, official_ids, rules_of

CHECKED = "checked"
OF_CLIENTS = "fromclient"
"""The family of the rules of clients, which the lines of a session show."""
Outcomes = Mapping[str, Mapping[str, Outcome]]
"""The worst outcome of each requirement in each revision."""


def list_requirements(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    """Print each requirement: its id, its levels, whether it is checked, the rule, its outcomes if wanted."""
    expect_no_more(rest, command)
    if options.official:
        print("\n".join(_as_scenarios(list(_chosen(options)), is_whole=not options.pattern)))  # noqa: T201
        return 0
    outcomes = report_in(options.report).matrix if options.report else None
    for line in FORMATS[options.format](list(_chosen(options)), options.revision, outcomes):
        print(line)  # noqa: T201
    return 0


def _chosen(options: argparse.Namespace) -> Iterator[Requirement]:
    """Yield the requirements that the options select."""
    if _is_of_clients(options.pattern or ""):
        yield from _of_clients(options)
        return
    if _is_own(options.pattern or ""):
        _use_own_rules("list")
    every = [*catalogue.all_requirements().values(), *catalogue.own_rules().values()]
    rows = catalogue.unreviewed() if options.unreviewed else every
    wanted = _matching(options.pattern) if options.pattern else frozenset(row.id for row in rows)
    for row in rows:
        if row.id not in wanted or (options.revision and not row.holds_in(options.revision)):
            continue
        if options.level and options.level not in _levels(row, options.revision):
            continue
        is_checked = _state(row) == CHECKED
        if not (options.checked and not is_checked) and not (options.unchecked and is_checked):
            yield row


def _of_clients(options: argparse.Namespace) -> Iterator[Requirement]:
    """Yield the rules of clients that the options select, which all are judged."""
    from mcp_conformance.tap.rows import client_rows  # noqa: PLC0415  (few patterns need it)

    below = (options.pattern, f"{options.pattern}.")
    found = [row for id, row in client_rows().items() if id == below[0] or id.startswith(below[1])]
    if not found:
        raise UsageError(
            f"no rule of clients {options.pattern!r}{did_you_mean(options.pattern, client_rows())}"
        )
    for row in found:
        is_judged = not options.unchecked and not options.unreviewed
        has_level = options.level in (None, *_levels(row, options.revision))
        if is_judged and has_level and (not options.revision or row.holds_in(options.revision)):
            yield row


def _is_of_clients(pattern: str) -> bool:
    return pattern.partition(".")[0] == OF_CLIENTS


def _levels(row: Requirement, only: str | None) -> list[str]:
    """Return the levels of a requirement, in one revision if there is one."""
    return sorted({row.level(revision) for revision in row.revisions if only in (None, revision)})


def _is_own(pattern: str) -> bool:
    """Return whether a pattern selects rules of the project."""
    return pattern.partition(".")[0] == catalogue.OWN


def _use_own_rules(command: str) -> None:
    """Take the rules of the project here, if there is one.  Raises `UsageError`."""
    if (file := configuration(command)) is not None:
        catalogue.use_own_rules(file.project.rules)


def _state(row: Requirement) -> str:
    is_known = row.id in catalogue.own_rules() or _is_of_clients(row.id)  # each of them has a test
    is_checked = row.id in checked() or is_known
    return CHECKED if is_checked else "untestable" if row.untestable else "-"


def _as_text(rows: Sequence[Requirement], only: str | None, outcomes: Outcomes | None) -> Iterator[str]:
    """Yield a line for each requirement."""
    for row in rows:
        found = ""
        if outcomes is not None:
            worst = outcomes.get(row.id, {})
            listed = ", ".join(f"{outcome} in {revision}" for revision, outcome in worst.items())
            found = f"{listed or 'not run'}: "
        yield f"{row.id:<48} {'/'.join(_levels(row, only)):<12} {_state(row):<11} {found}{row.says}"


def _as_json(rows: Sequence[Requirement], only: str | None, outcomes: Outcomes | None) -> Iterator[str]:
    """Yield the lines of an array with an object for each requirement."""
    values = [
        {
            "id": row.id,
            "levels": {one: row.level(one) for one in row.revisions if only in (None, one)},
            "state": _state(row),
            "says": row.says,
            "fix": row.fix,
            "spec": row.url(only or row.revisions[-1]),
            "official": official_ids(row.id),
            **({} if outcomes is None else {"outcomes": outcomes.get(row.id, {})}),
        }
        for row in rows
    ]
    yield json.dumps(values, indent=1)


def _as_markdown(rows: Sequence[Requirement], only: str | None, outcomes: Outcomes | None) -> Iterator[str]:
    """Yield the lines of a table."""
    revisions = sorted({revision for found in (outcomes or {}).values() for revision in found})
    heads = ["requirement", "level", "state", "rule", *revisions]
    yield f"| {' | '.join(heads)} |"
    yield f"|{' --- |' * len(heads)}"
    for row in rows:
        found = (outcomes or {}).get(row.id, {})
        link = f"[`{row.id}`]({row.url(only or row.revisions[-1])})"
        cells = [link, "/".join(_levels(row, only)), _state(row), row.says.replace("|", "\\|")]
        yield f"| {' | '.join([*cells, *(found.get(one, '') for one in revisions)])} |"


def _as_scenarios(rows: Sequence[Requirement], *, is_whole: bool) -> Iterator[str]:
    """Yield the scenarios of the official suite, a line for each check with some of these rules, and counts.

    Checks without a rule are among all rules only.
    """
    chosen = {row.id for row in rows}
    for name, scenario in SCENARIOS.items():
        lines = [
            f"  {id:<62} {', '.join(shared)}" if shared else f"  {id:<62} (none: {judges})"
            for id, judges in scenario.checks.items()
            if (shared := [rule for rule in judges if rule in chosen] if isinstance(judges, tuple) else [])
            or (is_whole and isinstance(judges, str))
        ]
        if lines:
            yield name
            yield from lines
    common = {rule for rules in official_checks().values() if isinstance(rules, tuple) for rule in rules}
    own = Counter(id.partition(".")[0] for id in chosen if id in checked() and id not in common)
    families = ", ".join(f"{family} {count}" for family, count in own.most_common())
    others = f"{own.total()} others are checked only here{': ' if own else ''}{families}"
    yield f"{len(common & chosen)} of these rules are in official checks, {others}"


FORMATS = {"text": _as_text, "json": _as_json, "md": _as_markdown}


def explain(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    """Print a requirement in full, or each that judges the same as an official check."""
    expect_no_more(rest, command)
    if _is_of_clients(options.id):
        return _explain_of_clients(options.id)
    if _is_own(options.id):
        _use_own_rules("explain")
    _matching(options.id)
    is_known = options.id in {*catalogue.all_requirements(), *catalogue.own_rules()}
    ids = (options.id,) if is_known else rules_of(options.id)
    if not ids:
        raise UsageError(
            f"{options.id!r} is a family: name one of its requirements (mcp-conformance list {options.id})"
        )
    print("\n\n".join("\n".join(explanation(catalogue.requirement(id))) for id in ids))  # noqa: T201
    return 0


def _explain_of_clients(id: str) -> int:
    from mcp_conformance.tap.rows import client_rows  # noqa: PLC0415  (few ids need it)

    row = client_rows().get(id)
    if row is None:
        near = "" if id == OF_CLIENTS else did_you_mean(id, client_rows())
        raise UsageError(f"no rule of clients {id!r}{near} (mcp-conformance list {OF_CLIENTS})")
    print("\n".join(explanation(row)))  # noqa: T201
    return 0


def _matching(pattern: str) -> frozenset[str]:
    """Return the ids that a pattern selects.  Raises `UsageError` if it selects none."""
    try:
        return catalogue.select(pattern)
    except catalogue.UnknownRequirement as error:
        raise UsageError(str(error)) from error
