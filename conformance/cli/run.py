"""The command ``mcp-conformance run``: pytest with the suites, on one server or on those of a client."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from conformance.cli.arguments import (
    UsageError,
    expect_known_options,
    expect_no_stray_path,
    require_command,
)
from conformance.cli.pytest_words import NO_REWRITE_WARNING, option_words, pytest_words, run_without_tests

if TYPE_CHECKING:
    from conformance.project.client_configs import ClientConfig, ServerEntry


def main(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    """Run the suites against a server, or against servers of a client's configuration."""
    expect_known_options(rest, "run")
    if options.config is not None:
        return _run_configured(options, rest, command)
    if options.all or options.server:
        raise UsageError("run: --all and --server choose from a client's configuration: --config FILE")
    words = require_command(command, "run", "run [options]", rest)
    expect_no_stray_path(rest, "run")
    return run_suites(pytest_words(options, words), rest)


def run_suites(words: Sequence[str], rest: Sequence[str], *plugins: object) -> int:
    """Run pytest on a server, with a status line on a terminal; return its exit status.

    A diagnosis follows if the server ended instead of starting.
    """
    from conformance.plugin.status_line import StatusLinePlugin  # noqa: PLC0415  (slow to import)

    shown = StatusLinePlugin()
    status = int(pytest.main([*words, *rest, *NO_REWRITE_WARNING], plugins=[shown, *plugins]))
    if shown.ended_at_start:
        from conformance.cli.doctor import DoctorPlugin  # noqa: PLC0415  (only a server that does not start needs it)

        run_without_tests(words, DoctorPlugin(is_brief=True))
    return status


# A client's configuration ------------------------------------------------------------------------


def _run_configured(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    from conformance.project.client_configs import BadConfig, NotTestable, read_config  # noqa: PLC0415

    if command:
        raise UsageError("run: --config names the server already; remove -- and what follows it")
    expect_no_stray_path(rest, "run")
    try:
        config = read_config(options.config)
        names = _chosen_servers(config, options)
        if options.all or len(names) > 1:
            return _run_many(config, names, options, rest)
        return _run_entry(config.entry(names[0], _given_variables(options)), options, rest)
    except BadConfig as error:
        raise UsageError(f"run: {options.config}: {error}") from error
    except NotTestable as reason:
        raise UsageError(f"run: {options.config}: {names[0]} cannot be tested: {reason}") from reason


def _chosen_servers(config: ClientConfig, options: argparse.Namespace) -> list[str]:
    """Return the names of the servers to test."""
    names = list(config.servers)
    listed = ", ".join(names)
    unknown = next((name for name in options.server if name not in names), None)
    if unknown is not None:
        raise UsageError(f"run: {options.config}: it has no server {unknown!r}; it has {listed}")
    if options.server:
        return list(dict.fromkeys(options.server))
    if options.all or len(names) == 1:
        return names
    raise UsageError(f"run: {options.config}: choose with --server NAME or --all; it has {listed}")


def _given_variables(options: argparse.Namespace) -> frozenset[str]:
    """Return the names of the environment variables that the user sets for the server."""
    return frozenset(text.partition("=")[0] for text in options.env)


def _run_entry(entry: ServerEntry, options: argparse.Namespace, rest: Sequence[str]) -> int:
    from conformance.cli.run_many import OutcomeFilePlugin  # noqa: PLC0415

    options.env = [*(f"{name}={content}" for name, content in entry.env.items()), *options.env]
    options.cwd = options.cwd or entry.cwd
    plugins = [OutcomeFilePlugin(options.outcome_file)] if options.outcome_file else []
    return run_suites(pytest_words(options, entry.command), rest, *plugins)


def _run_many(
    config: ClientConfig, names: Sequence[str], options: argparse.Namespace, rest: Sequence[str]
) -> int:
    from conformance.cli.run_many import RunPlan, prefixed, run_servers, with_files  # noqa: PLC0415

    if options.baseline:
        raise UsageError("run: a baseline belongs to one server: choose it with --server NAME")

    if options.contract not in (None, "none"):
        raise UsageError("run: a contract belongs to one server: choose it with --server NAME")

    def words(name: str, prefix: str) -> list[str]:
        files = [prefixed(path, prefix) for path in options.report]
        own = argparse.Namespace(**{**vars(options), "report": files, "contract": "none"})
        return [*option_words(own), f"--config={config.path}", f"--server={name}", *with_files(rest, prefix)]

    plan = RunPlan(config, tuple(names), frozenset(options.server), _given_variables(options))
    return run_servers(plan, words)
