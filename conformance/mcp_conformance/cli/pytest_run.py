"""A run of pytest with the suites, for the commands that test a server."""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from warnings import catch_warnings, simplefilter

import pytest

from mcp_conformance.options.given import Chosen
from mcp_conformance.plugin.options import CommandOptionsPlugin
from mcp_conformance.report.exit_status import MACHINE
from mcp_conformance.requirements.checks import suites_directory
from mcp_conformance.transport import interrupts
from mcp_conformance.transport.machine import OF_MACHINE, machine_fault

ISOLATED = (
    f"--rootdir={os.curdir}",
    f"--confcutdir={suites_directory()}",
    f"--config-file={os.devnull}",
    *("-p", "no:unraisableexception"),  # it collects garbage ten times at the end, for 0.2 s of CPU
    *("-p", "no:cacheprovider", "-qq", "-rN", "--no-header", "--tb=short", "--assert=plain"),
)
"""Pytest's options for a run that no project's configuration touches; no check has an assert to rewrite."""
ARGUMENT_ERROR = re.compile(r": error: (.*)")
OF_CACHE = re.compile(r" --(?:lf|last-failed|ff|failed-first|nf|new-first|sw|stepwise|cache-)")
CACHED = "it keeps no results of earlier runs, as pytest --conformance does: "
"""What is said of options of pytest's cache, which `ISOLATED` leaves out."""
NO_REWRITE_WARNING = (
    *("-W", "ignore:Module already imported so cannot be rewritten:pytest.PytestAssertRewriteWarning"),
)
"""After the user's options, to win over ``-W error``: the command imports the plugin before pytest does."""
OF_WARNINGS = ("-W", "--pythonwarnings")


class ShortErrorsPlugin:
    """A pytest plugin that leaves pytest's own usage out of an error in the options of a command."""

    def __init__(self, name: str):
        self._name = name

    @pytest.hookimpl(wrapper=True)
    def pytest_cmdline_parse(self) -> Generator[None, object, object]:
        """Raise the error again, as one line."""
        try:
            return (yield)
        except pytest.UsageError as error:
            found = ARGUMENT_ERROR.search(str(error))
            if found is None:
                raise
            message = found[1].replace("unrecognized arguments", f"neither {self._name} nor pytest knows")
            without = f"{CACHED}{message}" if OF_CACHE.search(message) else message
            raise pytest.UsageError(f"{self._name}: {without}") from error


class MachinePlugin:
    """A pytest plugin that knows whether this machine ended the session."""

    is_at_fault = False

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionstart(self) -> Generator[None, object, object]:
        """Look for what the machine lacked where the server cannot be started."""
        try:
            return (yield)
        except pytest.UsageError as error:
            self.is_at_fault = bool(machine_fault(error))
            raise

    @pytest.hookimpl(tryfirst=True)
    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """End the session by one line if the machine lacked something, also before ours has begun."""
        lack = machine_fault(excinfo.value)
        self.is_at_fault = bool(lack)
        if lack:
            pytest.exit(f"{lack}{OF_MACHINE}", returncode=MACHINE)


class InterruptPlugin:
    """A pytest plugin that sums up an interrupted session, without the place at which pytest was then.

    It knows whether there is something to sum up: the session ``has_begun``.
    """

    has_begun = is_interrupted = False

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        try:
            yield
        except pytest.Session.Interrupted:  # by pytest, as with -x
            raise
        except KeyboardInterrupt:
            interrupts.taken()
            self.is_interrupted = True

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionstart(self) -> Generator[None, object, object]:
        """End a session that was interrupted as it began; without a message, pytest prints nothing."""
        with self._interruptible():
            found = yield
            self.has_begun = True
            return found
        raise pytest.UsageError

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> Generator[None, object, object]:
        """Run no check if the collection was interrupted."""
        with self._interruptible():
            return (yield)
        session.items.clear()
        return True

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Go on to the end of a session that was interrupted."""
        with self._interruptible():
            return (yield)
        return True

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        """Give the session its exit status."""
        if self.is_interrupted:
            session.exitstatus = pytest.ExitCode.INTERRUPTED
        return (yield)


class ShownPlugin:
    """A pytest plugin that shows the run meanwhile; what does that loads when the server starts already.

    ``is_part`` says that another process shows the progress of several runs.
    """

    def __init__(self, *, is_part: bool):
        self._is_part = is_part

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Load the plugin that shows the run."""
        from mcp_conformance.plugin.status_line import StatusLinePlugin  # noqa: PLC0415

        config.pluginmanager.register(StatusLinePlugin(is_part=self._is_part))


def run_suites(
    chosen: Chosen, rest: Sequence[str], *plugins: object, name: str = "run", is_part: bool = False
) -> int:
    """Run pytest on a server, and show the progress unless it ``is_part`` of several runs; return its status.

    ``rest`` are pytest's options.  Raises `KeyboardInterrupt` if that ends pytest before its session.
    """
    machine, interrupt, shown = MachinePlugin(), InterruptPlugin(), ShownPlugin(is_part=is_part)
    own = [machine, interrupt, shown, CommandOptionsPlugin(chosen), ShortErrorsPlugin(name), *plugins]
    checks = chosen.project.checks
    rewritten = ["--assert=rewrite"] if checks else []
    words = [str(suites_directory()), *checks, *ISOLATED, *rewritten, *rest, *NO_REWRITE_WARNING]
    with catch_warnings():
        if not (checks or any(word.startswith(OF_WARNINGS) for word in rest)):
            # Those of other plugins, which pytest loads too, say nothing of the server.
            simplefilter("ignore")
            words.append("--disable-warnings")
        status = int(pytest.main(words, plugins=own))
    is_interrupted = interrupt.is_interrupted or status == pytest.ExitCode.INTERRUPTED
    if is_interrupted and not interrupt.has_begun:
        raise KeyboardInterrupt
    return MACHINE if machine.is_at_fault else status
