"""The start of the server while this tool still loads: the folder it runs in, and its first processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from importlib import import_module

import pytest

from mcp_conformance.options.run_options import RunOptions
from mcp_conformance.requirements import catalogue
from mcp_conformance.requirements.checks import PACKAGE, checks, suites_directory
from mcp_conformance.target.head_start import HeadStart
from mcp_conformance.target.settings import Settings
from mcp_conformance.transport.throwaway import throwaway_folder

HTTP = "test_http"
"""How the names of suites begin that only servers over HTTP need."""


class Early:
    """The server before pytest's session: its ``settings`` in a throwaway folder, and its head start.

    Everything ends with the configuration of pytest, whatever ends that.
    """

    def __init__(self, config: pytest.Config, options: RunOptions):
        stack = ExitStack()
        config.add_cleanup(stack.close)
        throwaway = stack.enter_context(throwaway_folder())
        self.settings: Settings = options.settings.within(throwaway)
        is_worker = hasattr(config, "workerinput")
        self.head_start = None if is_worker else HeadStart(self.settings, options.revisions)
        if self.head_start is not None:
            stack.callback(self.head_start.close)

    def load(self) -> None:
        """Load what a run of all suites needs, until the server has answered."""
        if self.head_start is not None:
            self.head_start.use(_loads(has_http=self.settings.http is not None))


def _loads(*, has_http: bool) -> Iterator[Callable[[], object]]:
    yield checks
    yield catalogue.all_requirements
    for path in sorted(suites_directory().glob("test_*.py")):
        if has_http or not path.name.startswith(HTTP):
            yield partial(import_module, f"{PACKAGE}.{path.stem}")


EARLY: pytest.StashKey[Early] = pytest.StashKey()
