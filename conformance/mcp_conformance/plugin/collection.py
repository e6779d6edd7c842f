"""Probe the server, and collect the suites as pytest items, for each revision and tool.

The plugin loads this module only for a run that collects the suites.  Its rules were measured on pytest 8.4
and 9.2:

* The suites are children of the session, not arguments in ``config.args``: as an argument, a suites directory
  in ``./.venv`` is dropped, or replaces the user's own tests.
* They are collected whatever the user's ``python_files``, their names begin with ``mcp_conformance_suites/``
  wherever they are installed, and no other test sees their fixtures.
* The server is probed once; under xdist the controller sends the result to the workers, which must all
  collect the same items.
"""

from __future__ import annotations

import json
import math
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from importlib import import_module
from inspect import signature
from itertools import compress
from pathlib import Path
from traceback import format_exc
from types import ModuleType
from typing import Any

import pytest

from mcp_conformance.options.probing import probed
from mcp_conformance.options.run_options import RunOptions
from mcp_conformance.plugin.applicability import not_applicable, why_not
from mcp_conformance.plugin.early import EARLY
from mcp_conformance.plugin.node_ids import CHOSEN, chosen_suites, expect_found, is_chosen, send_node_ids
from mcp_conformance.plugin.options import FOR_WORKERS, HANDED, RUN_OPTIONS, usage_errors
from mcp_conformance.plugin.own_rules import own_cited, tool_of
from mcp_conformance.plugin.phases import COLLECTION
from mcp_conformance.plugin.run_state import RunState, item_state, run_state
from mcp_conformance.plugin.worth import worth
from mcp_conformance.protocol.revisions import LATEST_HANDSHAKE
from mcp_conformance.protocol.text import named
from mcp_conformance.requirements import catalogue
from mcp_conformance.requirements.checks import PACKAGE, Check, check_of, checked, checks, suites_directory
from mcp_conformance.target.beside import find_alone
from mcp_conformance.target.settings import Settings
from mcp_conformance.target.surface import ProbeFailure, Subject, Surface
from mcp_conformance.transport import interrupts
from mcp_conformance.transport.interface import CannotStart
from mcp_conformance.transport.machine import machine_fault

pytest.register_assert_rewrite(PACKAGE)
SUITES = suites_directory()
MAX_REASON = 1000
STAGES = ("listed", "first", "", "late", "fuzz", "confirm", "last")
"""When checks run, by their mark ``stage``: those that read only what the probe has come first."""
HURRIED = {"listed": 0, "": 1, "fuzz": 1, "late": 2, "first": 3, "confirm": 4, "last": 5}
"""When stages come in a run that cannot wait (``--within``): what waits for missing answers comes late."""
LISTED = STAGES.index("listed")
FUZZING = (STAGES.index("fuzz"), STAGES.index("confirm"))
RATE = "mcp_rate"
"""The name of the rate of requests among what a worker gets."""
FIRST_STARTS = 2
"""How many processes a run of all suites needs at once; they start during the collection."""


# Probing -----------------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Probe the server, or take the controller's result."""
    config, state = session.config, run_state(session.config)
    stack = ExitStack()
    config.add_cleanup(stack.close)
    stack.enter_context(state.stops.watched())
    options, early = config.stash[RUN_OPTIONS], config.stash[EARLY]
    chosen = replace(early.settings, on_wait=state.wait)
    if chosen.http is not None:
        config.add_cleanup(chosen.http.close)
    found = getattr(config, "workerinput", {}).get("mcp_surfaces")
    if found is not None:
        state.phases.begin(COLLECTION)
        _end_with_controller(config)
        surfaces = tuple(Surface.from_json(text) for text in json.loads(found))
        share_rate(chosen, config.workerinput)  # type: ignore[attr-defined]
        state.take_subject(Subject(chosen, surfaces))
        state.probe_traceback = config.workerinput["mcp_probe_traceback"]  # type: ignore[attr-defined]
        return
    try:
        if early.head_start is not None and _may_run_all(config):
            early.load()
        with usage_errors():
            begun = early.head_start.take(chosen) if early.head_start is not None else ()
            subject = probed(options, chosen, begun)
        state.take_subject(subject)
        if subject.live and _may_run_all(config):
            subject.processes_in(min(one.revision for one in subject.live)).prepare(FIRST_STARTS)
    except (pytest.UsageError, pytest.exit.Exception):
        raise
    except Exception as error:
        if machine_fault(error):
            raise
        state.take_subject(Subject(chosen, ()))
        state.probe_traceback = format_exc()
    state.phases.begin(COLLECTION)


def _end_with_controller(config: pytest.Config) -> None:
    """Interrupt this worker of xdist when its controller has ended or wants its end: execnet waits 5 s."""
    for plugin in config.pluginmanager.get_plugins():
        if (channel := getattr(plugin, "channel", None)) is not None:
            config.add_cleanup(interrupts.interrupt_after(channel.waitclose))


def share_rate(settings: Settings, workerinput: Mapping[str, Any]) -> None:
    """Let a worker of xdist send its share of the requests that the server gets in a second."""
    settings.limit_rate(workerinput[RATE] / workerinput["workercount"])


def _may_run_all(config: pytest.Config) -> bool:
    """Return whether the options leave no check out, and no xdist worker starts its own processes."""
    chosen = config.option
    options = config.stash[RUN_OPTIONS]
    narrows = chosen.keyword or chosen.markexpr or chosen.collectonly
    narrows = narrows or config.stash[CHOSEN]
    leaves_out = options.selected or options.earlier or narrows
    return not leaves_out and getattr(chosen, "dist", "no") == "no"


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Send the result of the probe to an xdist worker."""
    state = run_state(node.config)
    if state.probed is not None:
        _require_several(state)
        state.probed.close()
        surfaces = state.probed.surfaces
        node.workerinput["mcp_surfaces"] = json.dumps([surface.to_json() for surface in surfaces])
        node.workerinput[RATE] = state.probed.settings.rate
        node.workerinput[FOR_WORKERS] = node.config.stash[RUN_OPTIONS].chosen.to_json()
        send_node_ids(node.config, node.workerinput)
        node.workerinput["mcp_probe_traceback"] = state.probe_traceback


def _require_several(state: RunState) -> None:
    """Raise that a server cannot run in several workers, if a second process ends beside the first.

    The probe has found that if it probed several revisions; of one it starts a single process.
    """
    subject = state.subject
    settings, live = subject.settings, subject.live
    if settings.http is None and len(subject.probed) == 1 and live and live[0].revision in subject.sessions:
        state.counts.starts[live[0].revision, "whether it runs twice"] += 1  # only workers need to know
        with suppress(CannotStart):
            find_alone(settings, live[0].revision)
    if reason := settings.solo.reason:
        raise pytest.UsageError(f"{reason}, and each worker of xdist starts its own: run without -n")


# Collecting --------------------------------------------------------------------------------------


class SuiteModule(pytest.Module):
    """One suite: one chapter of the specification."""

    def _getobj(self) -> ModuleType:
        module = import_module(f"{PACKAGE}.{self.path.stem}")
        for name, fixture in vars(import_module(f"{PACKAGE}.fixtures")).items():
            if not name.startswith("__"):
                vars(module).setdefault(name, fixture)
        return module

    def funcnamefilter(self, name: str) -> bool:
        """Return whether a function is a check, whatever the user's ``python_functions``."""
        return name.startswith("test_")

    def istestfunction(self, obj: object, name: str) -> bool:
        """Return whether a function is a check that applies in some revision."""
        return super().istestfunction(obj, name) and bool(
            _applying(self.config, check_of(self.path.name, name))
        )

    def classnamefilter(self, name: str) -> bool:  # noqa: ARG002
        """Return False: suites have no classes."""
        return False


class ProbeFailureItem(pytest.Item):
    """An item that fails because the probe failed, so that other rules cannot be exercised."""

    def __init__(self, *, failure: ProbeFailure, revision: str, **kwargs: Any):
        super().__init__(**kwargs)
        self.failure, self.revision = failure, revision
        self.add_marker(pytest.mark.requirement(failure.requirement))

    def runtest(self) -> None:
        """Raise what the probe found, or that it could not be judged."""
        raise self.failure.verdict

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the place that pytest shows for this item."""
        return self.path, 0, self.name


class InternalError(Exception):
    """An error of this tool while it probed the server; the text is the last line of the traceback."""


class InternalErrorItem(pytest.Item):
    """An item for an error of this tool in the probe, so that no rule can be exercised."""

    def __init__(self, *, traceback: str, revision: str, **kwargs: Any):
        super().__init__(**kwargs)
        self.traceback, self.revision = traceback, revision
        self.add_marker(pytest.mark.requirement("lifecycle.initialize.responds"))

    def runtest(self) -> None:
        """Raise the error."""
        raise InternalError(self.traceback.strip().rpartition("\n")[2])

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:  # noqa: ARG002
        """Return the traceback of the error, not of this item."""
        return self.traceback

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the place that pytest shows for this item."""
        return self.path, 0, self.name


class SuiteDirectory(pytest.Directory):
    """The built-in suites."""

    def _selected(self) -> Iterator[Path]:
        """Return the files of the suites in which a selected check applies; others are not imported."""
        patterns, suites = self.config.stash[RUN_OPTIONS].selected, _applying_suites(self.config)
        if patterns:
            suites &= {one.suite for ids, _ in patterns for id in ids for one in checked().get(id, ())}
        suites &= chosen_suites(self.config) or suites
        return (path for path in self.path.glob("test_*.py") if path.name in suites)

    def collect(self) -> Iterator[pytest.Collector | pytest.Item]:
        """Yield the failures of the probe, then every suite if something can be judged."""
        subject = run_state(self.config).subject
        if traceback := run_state(self.config).probe_traceback:
            wanted = self.config.stash[RUN_OPTIONS].revisions
            revision = LATEST_HANDSHAKE if wanted == ("latest",) else wanted[0]
            node, name = f"{PACKAGE}::internal-error", "internal-error"
            yield InternalErrorItem.from_parent(
                self, name=name, nodeid=node, traceback=traceback, revision=revision
            )
        for surface in subject.surfaces:
            for failure in surface.failures:
                name = f"blocked[{surface.revision}-{subject.settings.redaction(failure.name)}]"
                yield ProbeFailureItem.from_parent(
                    self,
                    name=name,
                    nodeid=f"{PACKAGE}::{name}",
                    failure=failure,
                    revision=surface.revision,
                )
        if subject.judged:
            for path in sorted(self._selected()):
                yield SuiteModule.from_parent(self, path=path, nodeid=f"{PACKAGE}/{path.name}")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Attach the suites to the session of a run without paths."""
    report = yield
    config = collector.config
    has_server = run_state(config).probed is not None
    if isinstance(collector, pytest.Session) and has_server and str(SUITES) not in config.args:
        report.result.append(SuiteDirectory.from_parent(collector, path=SUITES))
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect the directory of the suites without the user's rules."""
    if path == SUITES and run_state(parent.config).probed is not None:
        return SuiteDirectory.from_parent(parent, path=path)
    return None


def is_ours(item: pytest.Item) -> bool:
    """Return whether the item is a check of the suites."""
    return item.getparent(SuiteDirectory) is not None


# Parameters --------------------------------------------------------------------------------------


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a check once in each revision, and once for each tool if it has an argument ``tool``.

    One with an argument ``recorded`` runs once for each recorded session, whatever the number of revisions.
    """
    if metafunc.definition.getparent(SuiteModule) is None or "revision" not in metafunc.fixturenames:
        return
    check = check_of(metafunc.definition.path.name, metafunc.definition.name)
    if check.per_session:
        cases = list(_session_cases(metafunc.config, check))
        metafunc.parametrize(("revision", "recorded"), cases, indirect=True, scope="function")
        return
    redact = run_state(metafunc.config).subject.settings.redaction
    cases = []
    for surface in _applying(metafunc.config, check):
        if check.per_tool:
            for index, tool in enumerate(surface.tools):
                name = f"{surface.revision}-{named(redact(tool.name)) or index}"
                cases.append(pytest.param(surface.revision, index, id=name))
        else:
            cases.append(pytest.param(surface.revision, id=surface.revision))
    names = ("revision", "tool") if check.per_tool else ("revision",)
    metafunc.parametrize(names, cases, indirect=True, scope="function")


def _session_cases(config: pytest.Config, check: Check) -> Iterator[Any]:
    """Yield a case for each recorded session: in its own revision, else in the newest one."""
    revisions = [one.revision for one in _applying(config, check)]
    for index, session in enumerate(run_state(config).subject.settings.sessions):
        revision = session.revision if session.revision in revisions else max(revisions)
        yield pytest.param(revision, index, id=f"{revision}-{named(session.stem) or index}")


def _applying(config: pytest.Config, check: Check) -> list[Surface]:
    """Return the server in each revision in which a check applies."""
    subject = run_state(config).subject
    return [one for one in subject.surfaces if not why_not(one, check, subject.settings)]


def inapplicable(config: pytest.Config) -> dict[str, int]:
    """Count the selected checks that do not apply, by the reason."""
    patterns = config.stash[RUN_OPTIONS].selected
    chosen = {id for ids, _ in patterns for id in ids}
    wanted = [one for one in checks() if not patterns or chosen & set(one.requirements)]
    return not_applicable(run_state(config).subject, wanted)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark a check, and give it the fixtures it names, without the user's autouse fixtures."""
    if not is_ours(item):
        return
    item.add_marker("conformance")
    run_state(item.config).has_collected = True
    state = item_state(item)
    state.place, state.stage = next(run_state(item.config).places), _stage(item)
    if isinstance(item, pytest.Function):
        item.fixturenames = list(signature(item.function).parameters)


def _cited(node: pytest.Item | Any) -> list[str]:
    return [str(id) for mark in node.iter_markers("requirement") for id in mark.args]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the selected checks in their order; refuse one that cites an unknown requirement."""
    known = catalogue.all_requirements()
    wrong = {(id, item.nodeid) for item in items if is_ours(item) for id in _cited(item) if id not in known}
    if wrong:
        raise pytest.UsageError(
            *(f"{node}: no requirement {id!r} in the catalogue" for id, node in sorted(wrong))
        )
    expect_found(config, items)
    options = config.stash[RUN_OPTIONS]
    _expect_own_checks(items, options)
    if options.selected or options.left_out or config.stash[CHOSEN]:
        chosen = [_is_selected(item, options) for item in items]
        config.hook.pytest_deselected(
            items=[item for item, kept in zip(items, chosen, strict=True) if not kept]
        )
        items[:] = compress(items, chosen)
    ours = sorted(filter(is_ours, items), key=_order if options.within == math.inf else _order_of_worth)
    items[:] = [*(item for item in items if not is_ours(item)), *ours]


def _expect_own_checks(items: list[pytest.Item], options: RunOptions) -> None:
    """Raise `pytest.UsageError` for a test of a rule that the project lacks, and for a rule without one."""
    found = {id for item in items if not is_ours(item) for id in own_cited(item)}
    project = options.chosen.project
    has_files = any(str(item.path) in project.checks for item in items)
    missing = [id for id in catalogue.own_rules() if id not in found] if has_files else []
    if missing:
        raise pytest.UsageError(f"no check in {', '.join(project.checks)} cites {missing[0]!r}")


def _order(item: pytest.Item) -> tuple[int, int]:
    """Return the place of a check among the checks, whatever order another plugin gave them."""
    return stage_of(item), item_state(item).place


def _order_of_worth(item: pytest.Item) -> tuple[int, float, int]:
    """Return the place of a check in a hurried run: in its stage that which finds most in a second."""
    known, stage = catalogue.all_requirements(), stage_of(item)
    name = getattr(item, "originalname", item.name)
    value = worth(item.path.name, name, [known[id] for id in _cited(item)], revision_of(item))
    return (HURRIED[STAGES[stage]] if stage >= 0 else stage), -value, item_state(item).place


def stage_of(item: pytest.Item) -> int:
    """Return the place of a check in a run; results that are known already come first.

    Checks without a mark ``stage`` come between "first" and "late", those that fuzz after "late"; those whose
    failures take long to confirm come after the others that fuzz.
    The order does not change a verdict: slow calls run in the background meanwhile.
    """
    return item_state(item).stage


def _stage(item: pytest.Item) -> int:
    if isinstance(item, ProbeFailureItem | InternalErrorItem):
        return -1
    mark = item.get_closest_marker("stage")
    return STAGES.index(mark.args[0] if mark is not None else "")


def is_fuzzing(item: pytest.Item) -> bool:
    """Return whether the item is a check that fuzzes."""
    return is_ours(item) and stage_of(item) in FUZZING


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note whether checks of every suite run, so that slow tools are worth starting early.

    The server of the probe does not run on beside the user's own tests, which may start it too.
    """
    state = run_state(session.config)
    _note_no_match(session)
    if state.probed is not None and not all(map(is_ours, session.items)):
        state.probed.close()
    run = {item.path.name for item in session.items if is_ours(item)}
    is_selected = bool(session.config.stash[RUN_OPTIONS].selected)
    is_hurried = session.config.stash[RUN_OPTIONS].within < math.inf
    state.is_whole = not (is_selected or is_hurried) and run == _applying_suites(session.config)


def _note_no_match(session: pytest.Session) -> None:
    """Note that pytest's ``-k`` or ``-m`` left no check; a command of ours raises `pytest.UsageError`."""
    state, chosen = run_state(session.config), session.config.option
    given = {"-k": chosen.keyword, "-m": chosen.markexpr}
    words = [f"{flag} {text}" for flag, text in given.items() if text]
    if not (words and state.has_collected) or any(map(is_ours, session.items)):
        return
    state.unmatched = f"{' '.join(words)}: no check of this server matches"
    if HANDED in session.config.stash:
        raise pytest.UsageError(state.unmatched)


def ran_all(config: pytest.Config) -> bool:
    """Return whether checks of every suite were to run, in this process or in the workers of xdist.

    Those whose results an earlier run gave count.
    """
    state = run_state(config)
    options = config.stash[RUN_OPTIONS]
    if state.probed is None or options.selected or options.within < math.inf:
        return False
    names = {node.partition("::")[0].rpartition("/")[2] for node in state.checks}
    return names >= _applying_suites(config)  # the failures of the probe are in none


def _applying_suites(config: pytest.Config) -> set[str]:
    """Return the suites with a check that applies."""
    return {one.suite for one in checks() if run_state(config).probed is not None and _applying(config, one)}


def _is_selected(item: pytest.Item, options: RunOptions) -> bool:
    own = [] if is_ours(item) else own_cited(item)
    if not (own or is_ours(item)) or isinstance(item, ProbeFailureItem | InternalErrorItem):
        return True
    if not (own or is_chosen(item)):
        return False
    cited, name = set(own or _cited(item)) - options.left_out, tool_of(item) if own else case_name(item)
    if not options.selected:
        return bool(cited)
    return any(cited & ids and (not case or case == name) for ids, case in options.selected)


def case_name(item: pytest.Item) -> str:
    """Return the name of the tool, or of the recorded session, that an item is about; empty without."""
    index = _params(item).get("recorded")
    sessions = run_state(item.config).subject.settings.sessions
    return tool_name(item) if index is None else sessions[index].stem


def tool_name(item: pytest.Item) -> str:
    """Return the name of the tool that an item is about; empty if it is about none."""
    index = _params(item).get("tool")
    return (
        "" if index is None else run_state(item.config).subject.surface(revision_of(item)).tools[index].name
    )


def revision_of(item: pytest.Item) -> str:
    """Return the revision of an item."""
    return (
        item.revision
        if isinstance(item, ProbeFailureItem | InternalErrorItem)
        else str(_params(item).get("revision", ""))
    )


def _params(item: pytest.Item) -> dict[str, Any]:
    callspec = getattr(item, "callspec", None)
    return callspec.params if callspec is not None else {}
