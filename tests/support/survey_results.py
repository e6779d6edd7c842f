"""Made-up results of a survey: servers on several SDKs, some of which break rules or could not be judged."""

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from mcp_conformance.outcome import Outcome
from mcp_conformance.report.exercise import ExercisedTool
from mcp_conformance.report.model import Result, in_order
from mcp_conformance.requirements.catalogue import all_requirements
from mcp_conformance.survey.results import Grade, Obstacle, SurveyResult
from mcp_conformance.survey.targets import Target
from mcp_conformance.verdicts import severity

REVISION = "2025-11-25"
SDKS = {
    "Python SDK": (60, ["1.9.4", "1.12.1", "1.25.0", "2.0.1"]),
    "TypeScript SDK": (80, ["1.0.3", "1.12.0", "1.20.2", "1.25.1", "2.0.0"]),
    "FastMCP": (25, ["2.3.4", "2.11.0", "3.0.0"]),
    "Go SDK": (10, ["1.0.0", "1.4.0"]),
    "Rust SDK": (5, ["0.9.1", "0.12.0"]),
    "": (20, [""]),
}
WORDS = ["weather", "notes", "search", "calendar", "tickets", "graph", "mail", "files", "maps", "queue"]
OWNERS = ["acme", "north", "lab", "tools", "open", "tiny", "data", "cloud"]
START = datetime(2026, 10, 1, tzinfo=UTC)
SECONDS_BETWEEN = 12


def made_results(number, seed=0, surveys=1):
    """Yield the results of this many servers in each survey, by a newer version of this tool each time."""
    rules = [row for row in all_requirements().values() if row.holds_in(REVISION) and not row.untestable]
    chance = random.Random(seed)
    prone = {row: chance.betavariate(0.15, 90) for row in rules}
    by_sdk = {sdk: set(chance.sample(rules, 6)) for sdk in SDKS}
    targets = [_target(random.Random(f"{seed}/{place}"), place) for place in range(number)]
    for survey in range(surveys):
        begins = START + timedelta(days=14 * survey)
        for place in range(number):
            changes = survey if place % 10 == 0 else ""
            own = random.Random(f"{seed}/{place}/{changes}")
            started = begins + timedelta(seconds=SECONDS_BETWEEN * place)
            yield _result(own, (targets[place], f"0.{survey + 1}.0", started), prone, by_sdk)


def _target(chance, place):
    package = f"{chance.choice(OWNERS)}-{chance.choice(WORDS)}-mcp"
    return Target(
        f"io.github.{chance.choice(OWNERS)}/{package}-{place}",
        chance.choice(["npm", "pypi"]),
        package,
        f"{chance.randrange(4)}.{place % 30}.0",
    )


def _result(chance, facts, prone, by_sdk):
    target, tool_version, started = facts
    sdk, version = _sdk(chance)
    facts = {
        "sdk": f"{sdk} {version}".strip() + (" on Python SDK 1.25.0" if sdk == "FastMCP" else ""),
        "started": started.isoformat(timespec="seconds"),
        "seconds": round(chance.uniform(15, 90), 1),
        "cpu_seconds": round(chance.uniform(10, 40), 1),
    }
    if chance.random() < 0.22:
        obstacle = chance.choice([Obstacle.SECRET, Obstacle.SECRET, *Obstacle])
        facts |= {"obstacle": obstacle, "diagnosis": f"The server exits with status 1: {obstacle}.\nusage: x"}
        return SurveyResult(target, tool_version, (), Grade.NOT_JUDGED, **facts)
    worse = 1 + by_sdk_factor(version)
    broken = [
        row
        for row, share in prone.items()
        if chance.random() < share * worse or (row in by_sdk[sdk] and chance.random() < 0.07 * worse)
    ]
    findings = in_order(one for row in broken for one in _findings(chance, row, target))
    grade = Grade.CONFORMS
    if any(one.outcome is not Outcome.WARNED for one in findings):
        grade = Grade.DOES_NOT_CONFORM
    return SurveyResult(
        target,
        tool_version,
        (),
        grade,
        server=target.package,
        server_version=target.version,
        revisions=(REVISION,),
        requests=chance.randrange(600, 4000),
        matrix={row.id: {REVISION: "failed" if row in broken else "passed"} for row in prone},
        findings=findings,
        unsteady=findings[:1] if chance.random() < 0.05 else (),
        exercise=tuple(_exercise(chance)),
        **facts,
    )


def _exercise(chance):
    """Return the tools of a server; of some servers none was exercised."""
    works = chance.choice([0.0, 0.5, 0.9, 1.0])
    for number in range(chance.randrange(8)):
        successes = chance.randrange(1, 50) if chance.random() < works else 0
        yield ExercisedTool(f"tool_{number}", "", 60, successes, min(successes, 7), ("made up",))


def by_sdk_factor(version):
    """Return how much worse a server on an old version of an SDK is."""
    return 1.0 if version.endswith(("4", "3", "1.12.0")) else 0.0


def _sdk(chance):
    (sdk,) = chance.choices(list(SDKS), [weight for weight, _ in SDKS.values()])
    return sdk, chance.choice(SDKS[sdk][1])


def _findings(chance, row, target):
    for number in range(chance.choice([1, 1, 1, 2, 5])):
        got = f"tools[{number}].title = {chance.randrange(1000)}"
        outcome = Outcome.BLOCKED if chance.random() < 0.05 else severity(row, REVISION)
        if outcome is not Outcome.INFO:
            yield replace(made_finding(row.id, outcome, target, got), tool=f"tool_{number}")


def made_finding(rule, outcome, target=None, got="a number", revision=REVISION):
    """Return a finding with evidence of the usual size."""
    row = all_requirements()[rule]
    return Result.of(
        row,
        revision,
        node=f"mcp_conformance_suites/test_made.py::test_made[{revision}]",
        outcome=outcome,
        reason=f"expected a string, got {got}",
        expected="a string",
        got=got,
        wire=(
            '> {"jsonrpc":"2.0","id":7,"method":"tools/list","params":{}}',
            '< {"jsonrpc":"2.0","id":7,"result":{"tools":[{"name":"add","title":7,"inputSchema":{}}]}}',
        ),
        stderr="listening on stdio\n",
        fix=row.fix or "",
        reproduce=f"mcp-conformance run --select {rule} -- npx -y {target.package if target else 'x'}",
    )


def made_result(name="weather", rules=(), grade=None, tool_version="0.1.0", **facts):
    """Return the result of one server with these red rules: ids, or findings."""
    target = facts.pop("target", None) or Target(name, "pypi", name, "1.0")
    made = [one for one in rules if isinstance(one, Result)]
    findings = (*made, *(made_finding(one, Outcome.FAILED, target) for one in rules if isinstance(one, str)))
    is_red = any(one.outcome is not Outcome.WARNED for one in findings)
    grade = grade or (Grade.DOES_NOT_CONFORM if is_red else Grade.CONFORMS)
    matrix = {}
    for one in findings:
        matrix.setdefault(one.requirement, {})[one.revision] = str(one.outcome)
    matrix |= facts.pop("matrix", {})
    options = facts.pop("options", ())
    facts.setdefault("started", "2026-11-01T10:00:00+00:00")
    return SurveyResult(target, tool_version, options, grade, findings=findings, matrix=matrix, **facts)
