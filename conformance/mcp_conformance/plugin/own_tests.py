"""The fixture of users' own tests, and what makes Hypothesis suit a server in another process."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import hypothesis
import pytest

from mcp_conformance.protocol import revisions
from mcp_conformance.target.settings import Settings
from mcp_conformance.testing import McpServer, RequestLog
from mcp_conformance.transport.interface import CannotStart
from mcp_conformance.transport.process_tree import terminable
from mcp_conformance.transport.throwaway import Throwaway

HYPOTHESIS_DEADLINE = timedelta(milliseconds=200)
"""Hypothesis's default, which is too short for a call to another process."""
HYPOTHESIS_SETTINGS = "_hypothesis_internal_use_settings"
"""The attribute in which Hypothesis stores the settings of a test."""


@contextmanager
def serving(config: pytest.Config, chosen: Settings, wanted: Sequence[str]) -> Iterator[McpServer]:
    """Start the server in a temporary folder, in the newest revision of ``wanted``, for a session's tests."""
    named = [word for word in wanted if word != "latest"]
    revision = max(named, default=revisions.LATEST_HANDSHAKE)
    with ExitStack() as stack:
        stack.enter_context(terminable())
        throwaway = Throwaway()
        stack.callback(throwaway.remove)
        settings = replace(chosen, throwaway=throwaway)
        try:
            server = McpServer(settings, revision, exactly=len(named) == 1)
            stack.callback(server.close)
            if server.unusable and not named:
                server = _modern(settings, stack) or server
        except CannotStart as error:
            pytest.fail(f"--conformance-server: {error}", pytrace=False)
        if server.unusable:
            pytest.fail(server.unusable, pytrace=False)
        plugin = OwnTestsPlugin(server)
        config.pluginmanager.register(plugin)
        stack.callback(config.pluginmanager.unregister, plugin)
        yield server


def _modern(settings: Settings, stack: ExitStack) -> McpServer | None:
    """Return the server in the newest modern revision that it supports, None if it supports none."""
    server = McpServer(settings, revisions.LATEST_MODERN, exactly=False)
    stack.callback(server.close)
    return None if server.unusable else server


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
            own.prepare(function, self._server)
        if "conformance_server" in getattr(item, "fixturenames", ()):
            _adapt_hypothesis(function)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add the last messages to the report of a failed test."""
        report = yield
        if report.failed and self._server.log.shown:
            report.sections.append(("MCP", "\n".join(self._server.log.shown)))
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
