"""The fixture of users' own tests, and what makes Hypothesis suit a server in another process."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import timedelta
from fnmatch import fnmatchcase
from functools import cached_property
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from mcp_conformance.doctor.causes import why_not_started
from mcp_conformance.options.given import Chosen, Given
from mcp_conformance.options.run_options import read_settings, setting_values
from mcp_conformance.options.table import read
from mcp_conformance.plugin import options
from mcp_conformance.project.files import CONFIGURATION_PLACES
from mcp_conformance.target.probe import probe_all
from mcp_conformance.target.settings import Settings
from mcp_conformance.target.surface import Subject
from mcp_conformance.testing import McpServer, RequestLog, draws_arguments, not_released
from mcp_conformance.transport.in_process import NotServable, low_level
from mcp_conformance.transport.interface import CannotStart
from mcp_conformance.transport.interrupts import interruptible
from mcp_conformance.transport.throwaway import Throwaway

HYPOTHESIS_DEADLINE = timedelta(milliseconds=200)
"""Hypothesis's default, which is too short for a call to another process."""
HYPOTHESIS_SETTINGS = "_hypothesis_internal_use_settings"
"""The attribute in which Hypothesis stores the settings of a test."""


class OwnServer:
    """The server of the user's own tests in one session of pytest: started when it is first asked for."""

    def __init__(self, config: pytest.Config):
        self._config = config
        self._stack = ExitStack()

    @cached_property
    def server(self) -> McpServer:
        """The running server; fails the test that asks for it if no test can use it.  Raises `BadOption`."""
        found = options.chosen_object(self._config)
        if found is not None:
            place, chosen = found
            settings = _of_object(place, chosen, self._config.rootpath)
        elif (named := options.chosen_by(self._config)) is not None:
            chosen, settings = named, read_settings(named)
        else:
            places = f"--conformance-server, or command in {CONFIGURATION_PLACES}"
            pytest.fail(f"no server is named: {places}", pytrace=False)
        revisions = read(chosen, "revision", ("latest",))
        return self._stack.enter_context(serving(self._config, settings, revisions))

    def close(self) -> None:
        """End the server, if it was started."""
        self._stack.close()


def _of_object(place: Given, chosen: Chosen, folder: Path) -> Settings:
    """Return the settings for the server object at ``MODULE:NAME``.  Raises `BadOption`.

    A function that is no server makes one for each session.
    """
    found = _imported(place, folder)
    is_factory = callable(found) and not hasattr(found, "run")
    try:
        _ = is_factory or low_level(found)
    except NotServable as error:
        raise place.error(f"{place.text}: {error}") from error
    make = found if is_factory else lambda: found
    call = read(chosen, "call", ("readonly",))
    return Settings((place.text,), call=call, make_object=make, **setting_values(chosen))


def _imported(place: Given, folder: Path) -> Any:
    """Import what ``MODULE:NAME`` names, also from the folder of the project.  Raises `BadOption`."""
    module, _, name = place.text.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), *name.split("."))):
        raise place.error(f"a module and a name are expected, such as shop.server:mcp, not {place.text!r}")
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    try:
        return attrgetter(name)(import_module(module))
    except Exception as error:  # the module is the user's
        raise place.error(f"{place.text}: {type(error).__name__}: {error}") from error


@contextmanager
def serving(config: pytest.Config, chosen: Settings, wanted: Sequence[str]) -> Iterator[McpServer]:
    """Start the server in a temporary folder, in the newest revision of ``wanted``, for a session's tests."""
    with ExitStack() as stack:
        stack.enter_context(interruptible())
        throwaway = Throwaway()
        stack.callback(throwaway.remove)
        try:
            subject = _newest(replace(chosen.within(throwaway), kept=chosen.transcripts), wanted)
            stack.callback(subject.close)
        except CannotStart as error:
            why = chosen.redaction.text(why_not_started(chosen, str(error)))
            pytest.fail(f"the server did not start: {why}", pytrace=False)
        server = McpServer(subject)
        stack.callback(server.close)
        if server.unusable:
            pytest.fail(server.unusable, pytrace=False)
        plugin = OwnTestsPlugin(server)
        config.pluginmanager.register(plugin)
        stack.callback(config.pluginmanager.unregister, plugin)
        yield server


def _newest(settings: Settings, wanted: Sequence[str]) -> Subject:
    """Probe the newest of the revisions wanted in which a session opens; the newest of all if none does."""
    if tuple(wanted) == ("latest",):
        return probe_all(settings, wanted)
    *others, newest = sorted(wanted)
    subject = probe_all(settings, (newest,))
    if not subject.live and others:
        subject.close()
        return _newest(settings, others)
    return subject


def each_tool(item: pytest.Function, server: McpServer) -> Iterator[Any]:
    """Yield a parameter for each tool that the server lists, with a mark if the test skips it."""
    marks = [
        (pattern, mark.kwargs.get("reason"))
        for mark in item.iter_markers("skip_tools")
        for pattern in mark.args
    ]
    released = server.callable_names
    for tool in server.tools:
        name = tool.name
        reasons = [why or f"skip_tools: {pattern}" for pattern, why in marks if fnmatchcase(name, pattern)]
        if draws_arguments(item.obj) and name not in released:
            reasons.append(not_released(name))
        skipped = [pytest.mark.skip(reason=why) for why in reasons[:1]]
        yield pytest.param(name, id=server.settings.redaction.text(name), marks=skipped)


class OwnTestsPlugin:
    """A pytest plugin that prepares tests which use the server, and shows the messages of failed tests."""

    def __init__(self, server: McpServer):
        self._server = server

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        """Begin a new log for each test."""
        self._server.log = RequestLog()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> None:
        """Prepare a test that uses the server."""
        function = getattr(item, "function", None)
        own = getattr(function, "mcp_own_test", None)
        if own is not None:
            callspec = getattr(item, "callspec", None)
            own.prepare(function, self._server, callspec.params if callspec is not None else {})
        if "conformance_server" in getattr(item, "fixturenames", ()):  # also by way of conformance_session
            _adapt_hypothesis(function)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add the last messages to the report of a failed test."""
        report = yield
        if report.failed and self._server.log.shown:
            shown = self._server.settings.redaction("\n".join(self._server.log.shown))
            report.sections.append(("MCP", shown))
        return report


def _adapt_hypothesis(function: Any) -> None:
    """Remove a Hypothesis test's default deadline and its explain phase, unless the user chose them.

    Explanations would restart a server that dies a hundred times.
    """
    chosen = getattr(function, HYPOTHESIS_SETTINGS, None)
    if chosen is not None and chosen.deadline == HYPOTHESIS_DEADLINE:
        chosen = hypothesis.settings(chosen, deadline=None)
    if chosen is not None and set(chosen.phases) == set(hypothesis.Phase):
        phases = [phase for phase in chosen.phases if phase is not hypothesis.Phase.explain]
        chosen = hypothesis.settings(chosen, phases=phases)
    if chosen is not None:
        setattr(function, HYPOTHESIS_SETTINGS, chosen)
