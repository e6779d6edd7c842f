"""Pytest's arguments for the commands, and a run of pytest for a command that runs no tests."""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Generator, Sequence

import pytest

from mcp_conformance.cli.arguments import REPEATED, RUN_OPTIONS
from mcp_conformance.requirements.checks import suites_directory

ISOLATED = (
    f"--rootdir={os.curdir}",
    f"--confcutdir={suites_directory()}",
    f"--config-file={os.devnull}",
    *("-p", "no:cacheprovider", "-qq", "-rN", "--no-header", "--tb=short", "--assert=plain"),
)
"""Pytest's options for a run that no project's configuration touches; no check has an assert to rewrite."""
WITHOUT_TESTS = ("--capture=no", "-p", "no:hypothesispytest")
"""Pytest's options for a command that runs no tests."""
ARGUMENT_ERROR = re.compile(r": error: (.*)")
NO_REWRITE_WARNING = (
    *("-W", "ignore:Module already imported so cannot be rewritten:pytest.PytestAssertRewriteWarning"),
)
"""After the user's options, to win over ``-W error``: the command imports the plugin before pytest does."""


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
            message = found[1].replace("unrecognized arguments", "unknown option, here and in pytest")
            raise pytest.UsageError(f"{self._name}: {message}") from error


class OptionNamesPlugin:
    """A pytest plugin that gives our options their names on the command line, if one has an error."""

    @pytest.hookimpl(wrapper=True)
    def pytest_cmdline_main(self) -> Generator[None, object, object]:
        """Raise the error again, without ``conformance-`` in the names; a command has no name."""
        try:
            return (yield)
        except pytest.UsageError as error:
            text = str(error).removeprefix("--conformance-server: ")
            raise pytest.UsageError(text.replace("--conformance-", "--")) from error


def run_without_tests(words: Sequence[str], plugin: object) -> int:
    """Run pytest with a plugin that does something else than tests; return its exit status."""
    return int(
        pytest.main(
            [*words, "--conformance-contract=none", *WITHOUT_TESTS, *NO_REWRITE_WARNING],
            plugins=[OptionNamesPlugin(), plugin],
        )
    )


def pytest_words(options: argparse.Namespace, server: Sequence[str] | str) -> list[str]:
    """Return pytest's arguments for a server, its command or its configured name, and its options."""
    text = server if isinstance(server, str) else json.dumps(list(server))
    return [
        str(suites_directory()),
        *ISOLATED,
        "--conformance",
        *([f"--conformance-server={text}"] if text else []),
        *option_words(options, "conformance-"),
    ]


def option_words(options: argparse.Namespace, prefix: str = "") -> list[str]:
    """Return the options that the user gave, as arguments."""
    words = []
    for name in RUN_OPTIONS:
        given = getattr(options, name.replace("-", "_"), None)
        if given is True:
            words.append(f"--{prefix}{name}")
        elif given:
            words += [f"--{prefix}{name}={one}" for one in (given if name in REPEATED else [given])]
    return words
