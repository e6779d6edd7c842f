"""What the plugin knows of a run and of each check: one object of each, in pytest's stash."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count

import pytest

from mcp_conformance.plugin.earlier_run import EarlierRun
from mcp_conformance.plugin.phases import Phases
from mcp_conformance.plugin.run_counts import RunCounts
from mcp_conformance.report.model import Report, Result
from mcp_conformance.target.server import RunShared, Server
from mcp_conformance.target.surface import Subject
from mcp_conformance.transport.interface import OnWait
from mcp_conformance.transport.stops import Stops
from mcp_conformance.verdicts import Cause


@dataclass
class RunState:
    """What the plugin knows of a run that collects the suites.

    The run began at ``begun_at``, which is ``begun`` by the monotonic clock, after ``cpu_before`` seconds of
    imports; its first check began at
    ``checks_begun``.  ``base_verbosity`` is pytest's verbosity without ``-v``.

    ``probed`` is the server under test, None before the probe; ``probe_traceback`` is that of an error of
    this tool meanwhile.  ``shared`` is what the servers of all revisions share.  Each collected check takes
    the next of the ``places``; ``checks`` are the ids of those that are to run.  ``unmatched`` says that
    pytest's options left none of those that it has collected (``has_collected``).  If these are all
    (``is_whole``), slow tools are worth starting early.  ``lost`` are the ids of those whose worker of xdist
    ended meanwhile.  ``earlier`` is the run that ``--since`` names.
    ``stops`` counts how often this process was stopped.  ``on_late`` ends the running check when it still
    waits for the server at ``late_at`` (monotonic).
    """

    begun_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    begun: float = field(default_factory=time.monotonic)
    cpu_before: float = field(default_factory=time.process_time)
    checks_begun: float | None = None
    base_verbosity: int = 0
    on_wait: OnWait | None = None
    on_late: Callable[[], object] | None = None
    late_at: float = math.inf
    probed: Subject | None = None
    probe_traceback: str = ""
    shared: RunShared = field(default_factory=RunShared)
    places: Iterator[int] = field(default_factory=count)
    checks: tuple[str, ...] = ()
    is_whole: bool = False
    is_by_revision: bool = False
    lost: list[str] = field(default_factory=list)
    has_collected: bool = False
    unmatched: str = ""
    has_collect_errors: bool = False
    earlier: EarlierRun | None = None
    results: list[Result] = field(default_factory=list)
    counts: RunCounts = field(default_factory=RunCounts)
    report: Report | None = None
    written: list[str] = field(default_factory=list)
    stops: Stops = field(default_factory=Stops)

    def __post_init__(self) -> None:
        """Begin the first phase."""
        self.phases = Phases(self._waited, since=self.begun)

    def wait(self, waited: float, most: float) -> None:
        """Report a wait for the server; raise what ``on_late`` raises if the running check is late."""
        self.stops.seen()
        if time.monotonic() > self.late_at and self.on_late is not None:
            self.on_late()
        if self.on_wait is not None:
            self.on_wait(waited, most)

    def _waited(self) -> float:
        """Return the seconds in which conversations with the server have waited for it to write."""
        probed = self.probed
        left = [] if probed is None else [*probed.sessions.values(), *probed.ending]
        return sum(one.inbox.waited for one in left) + sum(
            server.sessions.waited for server in self.servers.values()
        )

    def take_subject(self, subject: Subject) -> None:
        """Keep the server that was probed."""
        self.probed, self.shared.surfaces = subject, subject.live

    @property
    def subject(self) -> Subject:
        """The server under test, after the probe."""
        assert self.probed is not None
        return self.probed

    @property
    def servers(self) -> dict[str, Server]:
        """The server in each revision in which checks have begun."""
        return self.shared.servers


@dataclass
class ItemState:
    """What the plugin knows of a check.

    ``place`` is its place in the order of collection, ``stage`` that of its stage.  ``is_deferred`` says that
    it comes again, or has come again.  ``skip_cause`` is why it was skipped, where the report needs to know;
    ``taken_over`` why it need not run.
    """

    place: int = 0
    stage: int = 0
    is_deferred: bool = False
    skip_cause: Cause | None = None
    taken_over: str = ""


_RUN = pytest.StashKey[RunState]()
_ITEM = pytest.StashKey[ItemState]()


def run_state(config: pytest.Config) -> RunState:
    """Return the state of a run."""
    if _RUN not in config.stash:
        config.stash[_RUN] = RunState()
    return config.stash[_RUN]


def item_state(item: pytest.Item) -> ItemState:
    """Return the state of a check."""
    if _ITEM not in item.stash:
        item.stash[_ITEM] = ItemState()
    return item.stash[_ITEM]
