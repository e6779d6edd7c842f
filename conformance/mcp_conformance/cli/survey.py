"""``mcp-conformance survey``: the suite over many servers, and the pages and differences made of it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from mcp_conformance.cli.arguments import UsageError
from mcp_conformance.installation import how_to_install
from mcp_conformance.protocol.text import harmless
from mcp_conformance.report.model import plural
from mcp_conformance.survey.notes import read_notes
from mcp_conformance.survey.results import NoResults
from mcp_conformance.survey.targets import read_targets, write_targets

NEEDED = ("distributed", "fsspec")


def main(options: argparse.Namespace, rest: Sequence[str], command: Sequence[str] | None) -> int:
    """Run one of the commands of a survey; return the exit status."""
    if rest:
        raise UsageError(f"unknown options: {' '.join(rest)}")
    if options.what != "run" and command:
        raise UsageError(f"survey {options.what} takes no options after --")
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        raise UsageError(f"a survey needs {' and '.join(missing)}: {how_to_install('survey')}")
    try:
        options.for_run = tuple(command or ())
        return ACTIONS[options.what](options)
    except NoResults as error:
        raise UsageError(str(error)) from error


def _run(options: argparse.Namespace) -> int:
    """Examine the targets; return 1 if a result could not be written or is missing, whatever the grades."""
    from mcp_conformance.cli.run_many import default_jobs  # noqa: PLC0415
    from mcp_conformance.survey.engine import NoCluster, Plan, cluster, survey  # noqa: PLC0415  (Dask takes a second)
    from mcp_conformance.survey.examine import Examination  # noqa: PLC0415

    targets = read_targets(options.targets)
    if unknown := set(options.only) - {one.name for one in targets}:
        raise UsageError(f"no such target: {', '.join(sorted(unknown))}")
    chosen = [one for one in targets if not options.only or one.name in options.only]
    plan = Plan(
        Path(options.installations).resolve(),
        options.results,
        Examination(options.for_run, options.seconds, options.sandbox),
        options.allow_scripts,
        retries=options.retry,
    )
    try:
        with cluster(options.scheduler, options.workers or default_jobs()) as client:
            if client.dashboard_link:
                print(f"dashboard: {client.dashboard_link}", flush=True)  # noqa: T201
            if not client.scheduler_info()["workers"]:
                print("no worker is connected yet: the survey begins with the first", flush=True)  # noqa: T201
            progress = survey(client, chosen, plan, _print_line)
    except NoCluster as error:
        raise UsageError(str(error)) from error
    counts = [f"{number} {grade}" for grade, number in progress.grades.most_common()]
    counts += [f"{progress.done_before} were done before"] if progress.done_before else []
    counts += [f"{len(progress.problems)} have no result"] if progress.problems else []
    print(f"\n{plural(progress.total, 'target')}: {', '.join(counts)}; {options.results}")  # noqa: T201
    for note in progress.notes:
        _say(f"examined again: {note}")
    for problem in progress.problems:
        _say(f"no result: {problem}")
    return 1 if progress.problems else 0


def _print_line(done: int, total: int, text: str) -> None:
    print(harmless(f"[{done} of {total}] {text}"), flush=True)  # noqa: T201


def _say(line: str) -> None:
    """Print a line to stderr, of which a target or a result may have chosen a part."""
    print(harmless(line).replace("\n", "\\n"), file=sys.stderr)  # noqa: T201


def _print_unreadable(line: str) -> None:
    _say(f"left out: {line}")


def _targets(options: argparse.Namespace) -> int:
    """Print targets as JSON Lines, and on stderr what cannot be one."""
    from mcp_conformance.survey.sources import from_config, from_registry  # noqa: PLC0415

    found = (
        from_registry(options.from_registry) if options.from_registry else from_config(options.from_config)
    )
    print(write_targets(list(found.targets)), end="")  # noqa: T201
    for line in found.left_out:
        _say(f"left out: {line}")
    return 0


def _table(options: argparse.Namespace) -> int:
    """Print a survey as a page of Markdown; return 1 if a rule that fails has no note."""
    from mcp_conformance.survey.markdown import render, unexplained  # noqa: PLC0415
    from mcp_conformance.survey.store import Store  # noqa: PLC0415

    results = list(Store(options.results).results(_print_unreadable))
    notes = read_notes(options.notes) if options.notes else {}
    print(harmless(render(results, notes)), end="")  # noqa: T201
    problems = list(unexplained(results, notes)) if options.notes else []
    for problem in problems:
        _say(problem)
    return 1 if problems else 0


def _site(options: argparse.Namespace) -> int:
    """Write the pages of a survey."""
    from mcp_conformance.survey.site import write_site  # noqa: PLC0415
    from mcp_conformance.survey.store import Store  # noqa: PLC0415

    write_site(Store(options.results).results(_print_unreadable), options.folder)
    print(options.folder / "index.html")  # noqa: T201
    return 0


def _diff(options: argparse.Namespace) -> int:
    """Print what changed between two surveys; return 1 if something became worse."""
    from mcp_conformance.survey.diff import differences, render  # noqa: PLC0415
    from mcp_conformance.survey.store import Store  # noqa: PLC0415

    found = differences(*(Store(one).results(_print_unreadable) for one in (options.old, options.new)))
    print(harmless(render(found)))  # noqa: T201
    return found.status


ACTIONS = {"run": _run, "targets": _targets, "table": _table, "site": _site, "diff": _diff}
