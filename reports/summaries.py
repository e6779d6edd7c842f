"""The facts of each published run, kept in `results.json`, and the rules for publishing them."""

import json
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from conformance.protocol.text import shorten
from conformance.report.model import Report, grouped
from conformance.requirements.catalogue import families
from conformance.verdicts import Outcome

HERE = Path(__file__).parent
SERVERS = HERE.parent / "tests" / "servers" / "real" / "servers.toml"
RED = (Outcome.FAILED.value, Outcome.BLOCKED.value)
LISTED = (Outcome.FAILED, Outcome.BLOCKED, Outcome.WARNED)
PUBLISHABLE = ("passed", "failed")
"""The statuses of a run that may be published."""
MAX_REASON_LENGTH = 200


@dataclass(frozen=True)
class Broken:
    """A rule that a run found broken: the first finding, and where else it was found."""

    requirement: str
    outcome: str
    level: str
    basis: str
    says: str
    spec: str
    revisions: list[str]
    tools: int
    reason: str

    @property
    def family(self) -> str:
        """The family of the requirement."""
        return self.requirement.partition(".")[0]


@dataclass(frozen=True)
class Summary:
    """One run: the server, how the run ended, and each broken rule."""

    server: str
    revisions: list[str]
    suite: str
    date: str
    seconds: int
    status: str
    ended: str
    verdict: str
    counts: dict[str, int]
    not_called: int
    notices: list[str]
    broken: list[Broken]

    @property
    def red(self) -> set[str]:
        """The requirements that failed or were blocked."""
        return {one.requirement for one in self.broken if one.outcome in RED}

    @property
    def red_chapters(self) -> list[str]:
        """The titles of the chapters with a red rule, in the order of the specification."""
        red = {one.family for one in self.broken if one.outcome in RED}
        return [family.title for name, family in families().items() if name in red]


@dataclass(frozen=True)
class Published:
    """A server's name, what was installed, and the summary of its run."""

    name: str
    package: str
    sdk: str
    summary: Summary


def summary_of(report: Report) -> Summary:
    """Return the facts of a report that its page shows."""
    return Summary(
        server=f"{report.server} {report.version}".strip(),
        revisions=report.tested,
        suite=report.tool_version,
        date=report.started[:10],
        seconds=round(report.seconds),
        status=report.status,
        ended=report.ended,
        verdict=report.verdict,
        counts={outcome.value: number for outcome, number in report.counts.items()},
        not_called=len(report.not_called),
        notices=[shorten(notice, MAX_REASON_LENGTH) for notice in report.notices],
        broken=[broken(group) for group in grouped(report.results, *LISTED)],
    )


def broken(group) -> Broken:
    """Return one broken rule from all its findings."""
    first = group[0]
    return Broken(
        requirement=first.requirement,
        outcome=first.outcome.value,
        level=first.level,
        basis=first.basis,
        says=first.says,
        spec=first.spec,
        revisions=list(dict.fromkeys(one.revision for one in group)),
        tools=len({one.tool for one in group} - {""}),
        reason=shorten(" ".join(first.reason.split()), MAX_REASON_LENGTH),
    )


# Files -------------------------------------------------------------------------------------------


def load(place: Path = HERE) -> dict[str, Summary]:
    """Return the summaries in `results.json`, by server."""
    stored = json.loads((place / "results.json").read_text(encoding="utf-8"))
    return {
        name: Summary(**{**facts, "broken": [Broken(**one) for one in facts["broken"]]})
        for name, facts in stored.items()
    }


def save(summaries: dict[str, Summary], place: Path = HERE) -> None:
    """Write `results.json`, the servers in the order of `tests/servers/real/servers.toml`."""
    write_json(
        place / "results.json", {name: asdict(summaries[name]) for name in servers() if name in summaries}
    )


def write_json(path: Path, value) -> None:
    """Write a JSON file of ours."""
    text = json.dumps(value, indent=1, ensure_ascii=False) + "\n"
    path.write_text(text, encoding="utf-8", newline="\n")


def servers() -> dict[str, dict]:
    """Return the servers to run, with the rules that the tests expect each to break."""
    return tomllib.loads(SERVERS.read_text(encoding="utf-8"))


def published(place: Path = HERE) -> list[Published]:
    """Return every server with a summary."""
    installed = json.loads((place / "installed.json").read_text(encoding="utf-8"))
    return [Published(name, **installed[name], summary=summary) for name, summary in load(place).items()]


def notes(place: Path = HERE) -> dict[tuple[str, str], str]:
    """Return what each red finding means, by server and requirement."""
    found: dict[tuple[str, str], str] = {}
    for one in tomllib.loads((place / "notes.toml").read_text(encoding="utf-8"))["read"]:
        for server in one["servers"]:
            key = (server, one["requirement"])
            if key in found:
                raise SystemExit(f"notes.toml: {server}: {one['requirement']} has two notes")
            found[key] = one["note"]
    return found


# Problems ----------------------------------------------------------------------------------------


def problems(runs: list[Published], explained: dict, expected: dict) -> Iterator[str]:
    """Yield what prevents publication: a red finding without a note, a note without one, a run cut short."""
    red = {(one.name, requirement) for one in runs for requirement in one.summary.red}
    for server, requirement in sorted(red - set(explained)):
        yield f"{server}: {requirement} is red, and notes.toml does not explain it"
    for server, requirement in sorted(set(explained) - red):
        yield f"notes.toml: {server}: {requirement} is not red"
    for name in sorted(set(expected) - {one.name for one in runs}):
        yield f"{name}: has no report"
    for one in runs:
        yield from unpublishable(one, expected)


def unpublishable(one: Published, expected: dict) -> Iterator[str]:
    """Yield what prevents publication of one server."""
    if one.name not in expected:
        yield f"{one.name}: is not in tests/servers/real/servers.toml"
    elif difference := one.summary.red ^ set(expected[one.name]["broken"]):
        yield f"{one.name}: tests/servers/real/servers.toml differs on {', '.join(sorted(difference))}"
    if one.summary.ended or one.summary.status not in PUBLISHABLE:
        yield f"{one.name}: the run ended {one.summary.status} {one.summary.ended}".rstrip()
