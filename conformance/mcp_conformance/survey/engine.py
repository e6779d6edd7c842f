"""The survey on a Dask cluster: prepare and examine each target, and write each result where it belongs.

Dask shares out the work, repeats what a lost worker had, and has the dashboard; nothing of that is done here.
"""

from __future__ import annotations

import logging
import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from distributed import Client, Future, KilledWorker, LocalCluster, as_completed

from mcp_conformance.project.version import tool_version
from mcp_conformance.report.model import plural
from mcp_conformance.survey.examine import Examination, examine
from mcp_conformance.survey.prepare import Installation, confinement, installation_key, prepare
from mcp_conformance.survey.programs import SAFE_PATH
from mcp_conformance.survey.results import Grade, Obstacle, SurveyResult
from mcp_conformance.survey.store import Store
from mcp_conformance.survey.targets import Target

AGAIN = "the scheduler lost it: run the same command again"
LOST = "no worker survived it: each was lost while it examined this target"


@dataclass(frozen=True)
class Plan:
    """A survey: where installations and results are kept, and how targets are installed and examined.

    ``installations`` is a folder that all workers see; ``results`` is an address of `Store`.  ``scripts``
    allows those of packages; ``retries`` says that what could not be judged is examined again.
    """

    installations: Path
    results: str
    examination: Examination = field(default_factory=Examination)
    scripts: bool = False
    install_seconds: float = 900.0
    retries: bool = False

    def path(self, store: Store, target: Target) -> str:
        """Return where the result of a target is kept in a store."""
        return store.path(target, tool_version(), self.examination.options)


@dataclass
class Progress:
    """How far a survey is: the number of targets with each grade, what could not be written, and notes."""

    total: int
    done_before: int = 0
    grades: Counter[Grade] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class NoCluster(Exception):  # noqa: N818  (its message is what the user reads)
    """The Dask scheduler cannot be reached; the message says why."""


@contextmanager
def cluster(scheduler: str, workers: int) -> Iterator[Client]:
    """Yield a client of the cluster at an address, or of a local one with so many workers if there is none.

    A worker has one thread, so that the processor time of a target is its own.  Raises `NoCluster`.
    """
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    if scheduler:
        with _client(scheduler) as client:
            yield client
        return
    # A worker is Python, and would take modules of the working directory for its own.
    os.environ[SAFE_PATH] = "1"
    options = {"n_workers": workers, "threads_per_worker": 1, "silence_logs": logging.CRITICAL}
    with LocalCluster(dashboard_address="127.0.0.1:0", **options) as local, Client(local) as client:
        yield client


def _client(scheduler: str) -> Client:
    try:
        return Client(scheduler)
    except (OSError, ValueError) as error:
        raise NoCluster(f"no Dask scheduler answers at {scheduler}: {error}") from error


def survey(
    client: Client, targets: Sequence[Target], plan: Plan, report: Callable[[int, int, str], None]
) -> Progress:
    """Examine the targets that have no result yet.

    ``report`` is called for each that is done, with the number of those, of all, and a line.
    """
    store, progress = Store(plan.results), Progress(len(targets))
    waiting = [target for target in targets if not _is_done(store, target, plan, progress)]
    progress.done_before = len(targets) - len(waiting)
    futures = _submitted(client, waiting, plan)
    for future in as_completed(futures):
        target = futures[future]
        grade, about = _outcome(future, target, plan, store)
        if grade is None:
            progress.problems.append(f"{target.name}: {about}")
            continue
        progress.grades[grade] += 1
        report(progress.grades.total(), len(waiting), f"{target.name}: {grade}{about}")
        future.release()
    return progress


def _is_done(store: Store, target: Target, plan: Plan, progress: Progress) -> bool:
    """Return whether a target has a result; one that was not judged is removed if the plan retries it.

    A file that cannot be read is set aside.
    """
    path = plan.path(store, target)
    if not store.has(path):
        return False
    try:
        result = store.read(path)
    except ValueError as error:
        progress.notes.append(f"{path} is no result ({error}): it is {store.set_aside(path)} now")
        return False
    is_again = plan.retries and result.grade is Grade.NOT_JUDGED
    if is_again:
        store.remove(path)
    return not is_again


def _submitted(client: Client, targets: Sequence[Target], plan: Plan) -> Mapping[Future[Any], Target]:
    """Submit a task for each target, and one for each installation, which several targets may share."""
    futures = {}
    # A scheduler that still knows a key of another survey would hand out that one's outcome.
    this = secrets.token_hex(4)
    for target in targets:
        installation: Installation | Future[Installation] = Installation()
        if target.registry:
            key = installation_key(target, scripts=plan.scripts)
            installation = client.submit(prepared, target, plan, key=f"prepare-{this}-{key}")
        key = f"examine-{this}-{target.digest}"
        futures[client.submit(examined, target, installation, plan, key=key)] = target
    return futures


def prepared(target: Target, plan: Plan) -> Installation:
    """Install a target on a worker."""
    return prepare(
        target,
        plan.installations,
        scripts=plan.scripts,
        seconds=plan.install_seconds,
        sandbox=confinement(plan.examination.sandbox),
    )


def examined(target: Target, installation: Installation, plan: Plan) -> tuple[Grade, str]:
    """Examine a target on a worker and write the result; return its grade, and what there is to say."""
    result = examine(target, installation, plan.examination, plan.installations / "known" / target.digest)
    store = Store(plan.results)
    store.write(plan.path(store, target), result)
    return result.grade, _about(result)


def _about(result: SurveyResult) -> str:
    if result.grade is Grade.NOT_JUDGED:
        return f" ({result.obstacle})"
    fails = Counter(one.fails for one in result.broken.values())
    counted = [f"{plural(fails[True], 'rule')} broken"] if fails[True] else []
    counted += [plural(fails[False], "warning")] if fails[False] else []
    about = f" ({', '.join(counted)})" if counted else ""
    return f"{about} in {result.seconds:.1f} s"


def _outcome(future: Future[Any], target: Target, plan: Plan, store: Store) -> tuple[Grade | None, str]:
    """Return the grade of a target, and what there is to say; no grade if it has no result."""
    if future.status == "finished":
        found: tuple[Grade, str] = future.result()
        return found
    error = future.exception() if future.status == "error" else None
    if error is None:
        return None, AGAIN
    if isinstance(error, OSError):
        return None, str(error)
    return _not_examined(target, plan, store, error)


def _not_examined(target: Target, plan: Plan, store: Store, error: BaseException) -> tuple[Grade, str]:
    """Write that a target could not be judged, as its examination failed."""
    result = SurveyResult(
        target,
        tool_version(),
        plan.examination.options,
        Grade.NOT_JUDGED,
        obstacle=Obstacle.TOOL,
        diagnosis=LOST if isinstance(error, KilledWorker) else f"{type(error).__name__}: {error}",
    )
    store.write(plan.path(store, target), result)
    return Grade.NOT_JUDGED, f" ({result.obstacle})"
