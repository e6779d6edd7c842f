"""The command ``mcp-conformance``: it parses its words and hands the work on."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conformance.client.transcript import BadTranscript
from conformance.plugin.options import told
from conformance.protocol import revisions
from conformance.requirements import catalogue
from conformance.requirements.checks import checked, suites_directory
from conformance.transport.interface import CannotStart

if TYPE_CHECKING:
    from conformance.project.client_configs import ClientConfig, ServerEntry
    from conformance.report.model import Report


USAGE_ERROR = 4
PASSED_ON = (
    *("revision", "timeout", "start-timeout", "cwd", "failing-call", "mutating-call"),
    *("fuzz", "seed", "transcripts", "max-line", "max-time", "max-tools", "baseline"),
)
REPEATED = ("env", "call", "select", "example", "report")
FLAGS = ("inherit-home", "strict", "pedantic")
ISOLATED = (
    f"--rootdir={os.curdir}",
    f"--confcutdir={suites_directory()}",
    f"--config-file={os.devnull}",
    *("-p", "no:cacheprovider", "-rN", "--no-header", "--tb=short", "--assert=plain"),
)
"""Pytest's options for a run that no project's configuration touches; no check has an assert to rewrite."""
SOAKED = (
    *("revision", "timeout", "start-timeout", "cwd", "seed", "transcripts", "max-line", "max-tools"),
    *("env", "call", "example", "report"),
    *FLAGS,
)
"""The options of a run that a soak has too."""
EXAMINED = ("start-timeout", "env", "cwd", "inherit-home")
"""The options of a run that an examination has too."""
DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?")
UNTESTED = ("--capture=no", "-p", "no:hypothesispytest")
"""Pytest's options for a soak or an examination, in which it runs no tests."""
QUIET = ("-W", "ignore:Module already imported so cannot be rewritten:pytest.PytestAssertRewriteWarning")
"""Behind the user's options, so that it wins over ``-W error``: the command loads us before pytest can."""


class Mistake(Exception):  # noqa: N818
    """A mistake of the user's, in one line."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line and exit 4, as pytest's are."""

    def error(self, message: str) -> None:  # type: ignore[override]
        """Raise the message as a `Mistake`."""
        raise Mistake(message)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit status is pytest's: 0 clean, 1 findings, 2 interrupted, 4 user's mistake."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    command: list[str] | None = None
    if "--" in words:
        cut = words.index("--")
        words, command = words[:cut], words[cut + 1 :]
    try:
        options, rest = _parser().parse_known_args(words)
        status: int = options.action(options, rest, command)
    except Mistake as mistake:
        print(f"mcp-conformance: {mistake}", file=sys.stderr)  # noqa: T201
        return USAGE_ERROR
    except BrokenPipeError:
        return 0
    return status


def _parser() -> Parser:
    parser = Parser(prog="mcp-conformance", description="Conformance tests for MCP servers over stdio.")
    names = "init|run|doctor|baseline|compare|soak|list|explain|replay"
    actions = parser.add_subparsers(metavar=names, required=True)
    init = actions.add_parser(
        "init",
        help="write pytest's configuration and a CI workflow for a server's repository",
        usage="%(prog)s [DIR] [-- COMMAND [ARGUMENTS ...]]",
    )
    init.add_argument("folder", nargs="?", type=Path, default=Path(), metavar="DIR")
    init.set_defaults(action=_init)
    run = actions.add_parser(
        "run",
        help="put a server under the suites",
        usage="%(prog)s [options] [pytest's options] (-- COMMAND [ARGUMENTS ...] | --config FILE)",
        allow_abbrev=False,
    )
    for name in (*PASSED_ON, *REPEATED, *FLAGS):
        _add_option(run, name)
    run.add_argument("--config", type=Path, metavar="FILE", help="a client's mcp.json, which names servers")
    run.add_argument("--server", action="append", default=[], metavar="NAME", help="which of them")
    run.add_argument("--all", action="store_true", help="all of them, one after the other")
    run.add_argument("--outcome-file", type=Path, help=argparse.SUPPRESS)
    run.set_defaults(action=_run)
    doctor = actions.add_parser(
        "doctor",
        help="find out why a server does not start",
        usage="%(prog)s [options] -- COMMAND [ARGUMENTS ...]",
        allow_abbrev=False,
    )
    for name in EXAMINED:
        _add_option(doctor, name)
    doctor.set_defaults(action=_doctor)
    baseline = actions.add_parser("baseline", help="keep a file of known findings")
    update = baseline.add_subparsers(metavar="update", required=True).add_parser(
        "update",
        help="put a server under the suites, and write down what it breaks",
        usage="%(prog)s FILE [options] [pytest's options] -- COMMAND [ARGUMENTS ...]",
        allow_abbrev=False,
    )
    update.add_argument("file", type=Path)
    for name in (*PASSED_ON, *REPEATED, *FLAGS):
        if name != "baseline":
            _add_option(update, name)
    update.set_defaults(action=_update_baseline)
    compare = actions.add_parser("compare", help="tell what has changed between two JSON reports")
    compare.add_argument("old", type=Path)
    compare.add_argument("new", type=Path)
    compare.set_defaults(action=_compare)
    soak = actions.add_parser(
        "soak",
        help="call a server's tools at full speed for a while",
        usage="%(prog)s --for 30s|10m|1h [options] -- COMMAND [ARGUMENTS ...]",
        allow_abbrev=False,
    )
    soak.add_argument("--for", dest="duration", metavar="DURATION", help="such as 30s, 10m or 1h30m")
    for name in SOAKED:
        _add_option(soak, name)
    soak.set_defaults(action=_soak)
    list_ = actions.add_parser("list", help="list the requirements")
    list_.add_argument("pattern", nargs="?", help="a family or the beginning of an id")
    list_.add_argument("--level", choices=("MUST", "SHOULD", "MAY"), type=str.upper)
    list_.add_argument(
        "--revision",
        choices=revisions.KNOWN,
    )
    state = list_.add_mutually_exclusive_group()
    state.add_argument("--checked", action="store_true", help="only those with a check")
    state.add_argument("--unchecked", action="store_true", help="only those without a check")
    list_.set_defaults(action=_list)
    replay = actions.add_parser(
        "replay",
        help="send a failure's transcript to the server again",
        usage="%(prog)s FILE [--timeout SECONDS] [-- COMMAND [ARGUMENTS ...]]",
    )
    replay.add_argument("file", type=Path)
    replay.add_argument("--timeout", type=float, default=30.0)
    replay.add_argument("--cwd", type=Path)
    replay.set_defaults(action=_replay)
    explain = actions.add_parser("explain", help="explain one requirement")
    explain.add_argument("id")
    explain.set_defaults(action=_explain)
    return parser


def _add_option(parser: argparse.ArgumentParser, name: str) -> None:
    metavar, help_ = told(name)
    if name in REPEATED:
        parser.add_argument(f"--{name}", metavar=metavar, action="append", default=[], help=help_)
    elif name in FLAGS:
        parser.add_argument(f"--{name}", action="store_true", help=help_)
    else:
        parser.add_argument(f"--{name}", metavar=metavar, help=help_)


def _init(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    from conformance.project.files import UnreadableFile  # noqa: PLC0415
    from conformance.project.init import InitError, initialise  # noqa: PLC0415
    from conformance.report.build import tool_version  # noqa: PLC0415

    _no_more(rest, None)
    if not options.folder.is_dir():
        raise Mistake(f"init: no such directory: {options.folder}")
    try:
        for line in initialise(options.folder.resolve(), command, tool_version()):
            print(line)  # noqa: T201
    except (InitError, UnreadableFile, OSError) as error:
        raise Mistake(f"init: {error}") from error
    return 0


def _run(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    if options.config is not None:
        return _run_configured(options, rest, command)
    if options.all or options.server:
        raise Mistake("run: --all and --server choose from a client's configuration: --config FILE")
    if not command:
        raise Mistake("run: which server? mcp-conformance run [options] -- COMMAND [ARGUMENTS ...]")
    _no_stray(rest, "run")
    return _tested(_words(options, command), rest)


def _tested(words: Sequence[str], rest: Sequence[str], *plugins: object) -> int:
    """Run pytest on a server, with a line that says what it does just now; its exit status."""
    from conformance.plugin.status_line import Ticking  # noqa: PLC0415

    return int(pytest.main([*words, *rest, *QUIET], plugins=[Ticking(), *plugins]))


def _without_tests(words: Sequence[str], plugin: object) -> int:
    """Run pytest with a plugin that does something else with the server than tests; its exit status."""
    return int(pytest.main([*words, *UNTESTED, *QUIET], plugins=[plugin]))


def _run_configured(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    from conformance.project.client_configs import BadConfig, NotTestable, read_config  # noqa: PLC0415

    if command:
        raise Mistake("run: --config names the server already; take out what stands behind --")
    _no_stray(rest, "run")
    try:
        config = read_config(options.config)
        names = _chosen(config, options)
        if options.all or len(names) > 1:
            return _run_each(config, names, options, rest)
        return _run_one(config.entry(names[0], _given(options)), options, rest)
    except BadConfig as error:
        raise Mistake(f"run: {options.config}: {error}") from error
    except NotTestable as reason:
        raise Mistake(f"run: {options.config}: {names[0]} cannot be tested: {reason}") from reason


def _chosen(config: ClientConfig, options: argparse.Namespace) -> list[str]:
    """The names of the servers to test."""
    names = list(config.servers)
    listed = ", ".join(names)
    unknown = next((name for name in options.server if name not in names), None)
    if unknown is not None:
        raise Mistake(f"run: {options.config}: no server {unknown!r} in it; it has {listed}")
    if options.server:
        return list(dict.fromkeys(options.server))
    if options.all or len(names) == 1:
        return names
    raise Mistake(f"run: {options.config}: --server NAME or --all? It has {listed}")


def _given(options: argparse.Namespace) -> frozenset[str]:
    """The names of the environment variables that the user gives the server."""
    return frozenset(text.partition("=")[0] for text in options.env)


def _run_one(entry: ServerEntry, options: argparse.Namespace, rest: Sequence[str]) -> int:
    from conformance.cli.run_many import Teller  # noqa: PLC0415

    options.env = [*(f"{name}={content}" for name, content in entry.env.items()), *options.env]
    options.cwd = options.cwd or entry.cwd
    plugins = [Teller(options.tell)] if options.tell else []
    return _tested(_words(options, list(entry.command)), rest, *plugins)


def _run_each(
    config: ClientConfig, names: Sequence[str], options: argparse.Namespace, rest: Sequence[str]
) -> int:
    from conformance.cli.run_many import Plan, prefixed, tested, with_files  # noqa: PLC0415

    if options.baseline:
        raise Mistake("run: a baseline belongs to one server: choose it with --server NAME")

    def words(name: str, prefix: str) -> list[str]:
        files = [prefixed(path, prefix) for path in options.report]
        mine = argparse.Namespace(**{**vars(options), "report": files})
        return [*_given_words(mine), f"--config={config.path}", f"--server={name}", *with_files(rest, prefix)]

    plan = Plan(config, tuple(names), frozenset(options.server), _given(options))
    return tested(plan, words)


def _no_stray(rest: Sequence[str], action: str) -> None:
    stray = next((word for word in rest if not word.startswith("-") and Path(word).exists()), None)
    if stray is not None:
        raise Mistake(f"{action}: {stray!r} stands before --; the server's command goes behind it")


def _update_baseline(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    from conformance.cli.baseline import Updating  # noqa: PLC0415
    from conformance.report.baseline import BadBaseline, Baseline, read  # noqa: PLC0415

    path, action = options.file, "baseline update"
    if not command:
        raise Mistake(f"{action}: which server? mcp-conformance {action} FILE -- COMMAND [ARGUMENTS ...]")
    _no_stray(rest, action)
    if not path.parent.is_dir():
        raise Mistake(f"{action}: no such directory: {path.parent}")
    try:
        known = read(path, str(path)) if path.exists() else Baseline(str(path))
    except BadBaseline as error:
        raise Mistake(f"{action}: {error}") from error
    plugin = Updating(path.absolute(), known)
    status = _tested(_words(options, command), rest, plugin)
    return 0 if plugin.is_written else status


def _words(options: argparse.Namespace, command: list[str]) -> list[str]:
    """Pytest's words for a server and its options."""
    server = f"--mcp-conformance-server={json.dumps(command)}"
    return [str(suites_directory()), *ISOLATED, server, *_given_words(options, "mcp-")]


def _given_words(options: argparse.Namespace, prefix: str = "") -> list[str]:
    """The options that were given, as words."""
    words = []
    for name in (*PASSED_ON, *REPEATED, *FLAGS):
        given = getattr(options, name.replace("-", "_"), None)
        if given is True:
            words.append(f"--{prefix}{name}")
        elif given:
            words += [f"--{prefix}{name}={one}" for one in (given if name in REPEATED else [given])]
    return words


def _compare(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    from conformance.report.compare import compared, comparison_lines  # noqa: PLC0415

    _no_more(rest, command)
    old, new = _report_in(options.old), _report_in(options.new)
    comparison = compared(old, new)
    for line in comparison_lines(old, new, comparison):
        print(line)  # noqa: T201
    return 1 if comparison.is_worse else 0


def _report_in(path: Path) -> Report:
    from conformance.report.formats.json import BadReport, read  # noqa: PLC0415

    try:
        return read(path.read_text(encoding="utf-8"))
    except (BadReport, OSError, UnicodeDecodeError) as error:
        raise Mistake(f"compare: {path}: {error}") from error


def _doctor(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    from conformance.cli.doctor import DoctorPlugin  # noqa: PLC0415

    _no_more(rest, None)
    if not command:
        raise Mistake("doctor: which server? mcp-conformance doctor [options] -- COMMAND [ARGUMENTS ...]")
    return _without_tests(_words(options, command), DoctorPlugin())


def _soak(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    from conformance.cli.soak import Soaking  # noqa: PLC0415

    _no_more(rest, None)
    if not command:
        raise Mistake(
            "soak: which server? mcp-conformance soak --for 10m [options] -- COMMAND [ARGUMENTS ...]"
        )
    return _without_tests(_words(options, command), Soaking(_seconds(options.duration)))


def _seconds(text: str | None) -> float:
    found = DURATION.fullmatch(text or "")
    hours, minutes, seconds = (float(part or 0) for part in found.groups()) if found else (0.0, 0.0, 0.0)
    total = 3600 * hours + 60 * minutes + seconds
    if total <= 0:
        raise Mistake(f"soak: --for takes a duration such as 30s, 10m or 1h, not {text!r}")
    return total


def _list(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    _no_more(rest, command)
    rows = catalogue.all_requirements()
    wanted = _select(options.pattern) if options.pattern else frozenset(rows)
    for id, row in rows.items():
        if id not in wanted or (options.revision and not row.holds_in(options.revision)):
            continue
        levels = sorted(
            {row.level(revision) for revision in row.revisions if options.revision in (None, revision)}
        )
        if options.level and options.level not in levels:
            continue
        if (options.checked and id not in checked()) or (options.unchecked and id in checked()):
            continue
        mark = "checked" if id in checked() else "untestable" if row.untestable else "-"
        print(f"{id:<48} {'/'.join(levels):<12} {mark:<11} {row.says}")  # noqa: T201
    return 0


def _explain(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    _no_more(rest, command)
    _select(options.id)
    if options.id not in catalogue.all_requirements():
        raise Mistake(
            f"{options.id!r} is a family: name one of its requirements (mcp-conformance list {options.id})"
        )
    from conformance.report.text import explanation  # noqa: PLC0415

    for line in explanation(catalogue.requirement(options.id)):
        print(line)  # noqa: T201
    return 0


def _replay(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    from conformance.cli.replay import replayed  # noqa: PLC0415

    _no_more(rest, None)
    try:
        differences = 0
        for line, differs in replayed(options.file, command, options.cwd, options.timeout):
            print(line)  # noqa: T201
            differences += differs
    except (BadTranscript, CannotStart, OSError) as error:
        raise Mistake(f"replay: {options.file}: {error}") from error
    return 1 if differences else 0


def _select(pattern: str) -> frozenset[str]:
    try:
        return catalogue.select(pattern)
    except catalogue.UnknownRequirement as error:
        raise Mistake(str(error)) from error


def _no_more(rest: Sequence[str], command: list[str] | None) -> None:
    if rest or command:
        raise Mistake(f"unknown words: {' '.join([*rest, *(command or [])])}")
