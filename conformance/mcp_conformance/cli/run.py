"""The command ``mcp-conformance run``: pytest with the suites, on one server or on those of a client."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_conformance.cli.arguments import (
    UsageError,
    chosen_by,
    chosen_servers,
    configuration,
    expect_client_only,
    expect_known_options,
    expect_no_stray_path,
    given_options,
    given_variables,
    require_server,
    usage_errors,
)
from mcp_conformance.cli.pytest_run import run_suites
from mcp_conformance.options.given import Chosen
from mcp_conformance.options.table import read
from mcp_conformance.project.version import tool_version
from mcp_conformance.report.exit_status import NOT_RUN

if TYPE_CHECKING:
    from mcp_conformance.cli.run_many import RunPlan
    from mcp_conformance.options.configuration import Configuration
    from mcp_conformance.project.client_configs import ClientConfig
    from mcp_conformance.report.servers.model import ServerOutcome

VERBOSE = re.compile("-v+|--verbose")


def main(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    """Run the suites against a server, or against servers of a client's or our own configuration."""
    expect_known_options(rest, "run")
    rest = [*rest, "-x"] if options.exitfirst else rest
    if (options.require_all or options.jobs) and not (options.all or len(options.server) > 1):
        raise UsageError(f"run: --{'jobs' if options.jobs else 'require-all'} belongs to --all")
    expect_no_stray_path(rest, "run")
    are_many = options.all or len(options.server) > 1
    if options.config is not None and are_many:
        return _run_configured(options, rest, command)
    file = configuration("run") if are_many else None
    if file is not None and not command:
        return _run_own(file, options, rest)
    server = require_server(options, command, "run", "run [options]", rest)
    chosen, is_part = chosen_by(options, server, "run"), bool(options.report_file)
    return run_suites(chosen, rest, *_part_plugins(options), is_part=is_part)


def _part_plugins(options: argparse.Namespace) -> list[object]:
    """Return the plugin that writes the report for the run of several servers, if this is a part of one."""
    if not options.report_file:
        return []
    from mcp_conformance.cli.run_many import ReportFilePlugin, end_with_parent  # noqa: PLC0415

    end_with_parent()
    return [ReportFilePlugin(options.report_file)]


# Several servers ---------------------------------------------------------------------------------


def _run_own(file: Configuration, options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Run the suites against several servers of the configuration file."""
    from mcp_conformance.cli.run_many import RunPlan  # noqa: PLC0415

    names = chosen_servers(file.path, file.servers, options, "run")
    return _run_many(RunPlan(file.path, tuple(names), file.lines()), options, rest)


def _run_configured(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    """Run the suites against several servers of a client's configuration."""
    from mcp_conformance.cli.run_many import RunPlan  # noqa: PLC0415
    from mcp_conformance.project.client_configs import read_config  # noqa: PLC0415

    expect_client_only(options, command, "run")
    config = read_config(options.config)
    names = chosen_servers(options.config, config.servers, options, "run")
    untested = partial(_untested, config, frozenset(options.server), given_variables(options))
    own = [f"--config={config.path}"]
    return _run_many(RunPlan(config.path, tuple(names), config.lines, untested, own), options, rest)


def _untested(
    config: ClientConfig, chosen: frozenset[str], given: frozenset[str], name: str
) -> ServerOutcome | None:
    """Return the outcome of a server that is not, or cannot be, tested; None for one that can.

    The user has ``chosen`` some servers by name, and ``given`` some variables to all of them.
    """
    from mcp_conformance.project.client_configs import BadConfig, NotTestable  # noqa: PLC0415
    from mcp_conformance.report.servers.model import ServerOutcome  # noqa: PLC0415
    from mcp_conformance.transport.http.endpoint import is_loopback  # noqa: PLC0415

    if name not in chosen and config.is_disabled(name):
        return ServerOutcome(name, None, "it is disabled in the configuration")
    try:
        entry = config.entry(name, given)
        if name not in chosen and entry.url and not is_loopback(entry.url):
            return ServerOutcome(name, None, f"it is remote: --server {name} tests it all the same")
    except NotTestable as reason:
        return ServerOutcome(name, None, str(reason))
    except BadConfig as error:
        return ServerOutcome(name, NOT_RUN, str(error).removeprefix(f"{name}: "))
    return None


def _run_many(plan: RunPlan, options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Run the suites against each server; print a table, write the files, and return the exit status."""
    from mcp_conformance.cli.combined_files import junit_files, write_files  # noqa: PLC0415
    from mcp_conformance.cli.run_many import default_jobs, run_servers  # noqa: PLC0415
    from mcp_conformance.report.servers.model import ServersReport  # noqa: PLC0415
    from mcp_conformance.report.servers.text import clients_table, table  # noqa: PLC0415

    if options.baseline:
        raise UsageError("run: a baseline belongs to one server: choose it with --server NAME")
    if options.contract not in (None, "none"):
        raise UsageError("run: a contract belongs to one server: choose it with --server NAME")
    with usage_errors("run"):
        read(Chosen(given_options(options, "run"), None, "--"), "report")
    junits, others = junit_files(rest)
    contract = "none" if plan.options else options.contract
    own = argparse.Namespace(**{**vars(options), "report": [], "contract": contract})
    shared = [*_words(own), *plan.options, *others]
    plan = replace(
        plan, jobs=options.jobs or default_jobs(), verbose=any(VERBOSE.fullmatch(word) for word in rest)
    )
    outcomes = run_servers(plan, lambda name: [*shared, f"--server={name}"])
    servers = ServersReport(from_here(plan.path), outcomes, tool_version(), options.require_all)
    print(f"\n==== {plan.path}: {servers.headline} ====\n")  # noqa: T201
    tables = ("\n".join(lines) for lines in (table(servers), clients_table(servers)))
    print("\n\n".join(filter(None, tables)))  # noqa: T201
    is_written = write_files(servers, options.report, junits)
    return servers.status if servers.status or is_written else NOT_RUN


def _words(options: argparse.Namespace) -> list[str]:
    """Return the options that the user gave, as arguments of ``run``."""
    given = given_options(options, "run").items()
    return [
        f"--{name}" if one.value is True else f"--{name}={text}" for name, one in given for text in one.texts
    ]


def from_here(path: Path) -> str:
    """Return a path as seen from the working directory, with forward slashes; its name if it is outside."""
    full, here = path.resolve(), Path.cwd().resolve()
    return full.relative_to(here).as_posix() if full.is_relative_to(here) else full.name
