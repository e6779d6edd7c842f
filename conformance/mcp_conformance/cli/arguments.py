"""The arguments of ``mcp-conformance``: the parser, the options of each command, and the user's errors."""

from __future__ import annotations

import argparse
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from mcp_conformance.installation import how_to_install
from mcp_conformance.options.choosing import choose
from mcp_conformance.options.configuration import Configuration, nearest_configuration
from mcp_conformance.options.given import BadOption, Chosen, Given, ProjectRules
from mcp_conformance.options.option import Kind
from mcp_conformance.options.table import options_of
from mcp_conformance.project.files import CONFIGURATION_PLACES
from mcp_conformance.project.version import tool_version
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.text import did_you_mean, shell_line
from mcp_conformance.target.contract import FILE
from mcp_conformance.transport.credentials import redacted

if TYPE_CHECKING:
    from mcp_conformance.project.client_configs import ServerEntry

URL = re.compile(r"https?://", re.IGNORECASE)
MISSPELT = 0.86
"""How alike an option and one of ours are, from 0 to 1, to be taken for a misspelling."""
RUN_USAGE = "%(prog)s [options] [pytest's options] [-- COMMAND [ARGUMENTS ...] | --url URL | --config FILE]"
Commands: TypeAlias = "argparse._SubParsersAction[Parser]"  # noqa: SLF001  (argparse has no public name for it)


class UsageError(Exception):
    """An error of the user, in one line."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line and have pytest's exit status for them, 4.

    The help of a command that ``writes_reports`` ends with their formats.
    """

    writes_reports = False
    commands: Collection[str] = ()
    """The names of the commands, if it is the parser of all."""

    def error(self, message: str) -> None:  # type: ignore[override]
        """Raise the message as a `UsageError`."""
        raise UsageError(message)

    def expect_command(self, words: Sequence[str]) -> None:
        """Raise `UsageError` for a first word that is no command."""
        word = words[0] if words else ""
        if not word.startswith("-") and word not in self.commands:
            what = (
                f"no command {word!r}{did_you_mean(word, self.commands)}" if word else "a command is expected"
            )
            raise UsageError(f"{what} (mcp-conformance --help lists the commands)")

    def format_help(self) -> str:
        """Return the help; only a reader of it needs the formats, whose modules load slowly."""
        if self.writes_reports:
            from mcp_conformance.report.files import format_help  # noqa: PLC0415

            self.epilog = format_help()
        return super().format_help()


def parser() -> Parser:
    """Return the parser of the command; ``action`` is the module of the command and its function."""
    parser = Parser(
        prog="mcp-conformance", description="Conformance tests for MCP servers over stdio and HTTP."
    )
    version = f"mcp-conformance {tool_version()}"
    parser.add_argument("--version", action="version", version=version)
    commands = parser.add_subparsers(metavar="COMMAND", required=True, title="commands")
    parser.commands = commands.choices
    _add_init(commands)
    _add_run(commands)
    _add_watch(commands)
    _add_learn(commands)
    _add_doctor(commands)
    _add_by_hand(commands)
    _add_login(commands)
    _add_baseline(commands)
    _add_lock(commands)
    _add_compare(commands)
    _add_soak(commands)
    _add_survey(commands)
    _add_list(commands)
    _add_replay(commands)
    _add_tap(commands)
    _add_judge(commands)
    _add_serve(commands)
    _add_explain(commands)
    _add_new_check(commands)
    return parser


def _add_init(commands: Commands) -> None:
    init = commands.add_parser(
        "init",
        help="write pytest's configuration and a CI workflow for a server's repository",
        usage="%(prog)s [DIR] [-- COMMAND [ARGUMENTS ...]]",
    )
    init.add_argument(
        "folder", nargs="?", type=Path, default=Path(), metavar="DIR", help="the repository (default: here)"
    )
    init.set_defaults(action=("init", "main"))


def _add_run(commands: Commands) -> None:
    run = commands.add_parser(
        "run", help="run the conformance suites against a server", usage=RUN_USAGE, allow_abbrev=False
    )
    _add_options(run, "run")
    _add_server(run)
    run.add_argument("--all", action="store_true", help="test all servers of the file")
    help_ = (
        "with --all: a server that cannot be tested (remote, disabled, without its variables) fails the run"
    )
    run.add_argument("--require-all", action="store_true", help=help_)
    help_ = "with several servers: how many are tested at once (default: the number of cores, at most 4)"
    run.add_argument("--jobs", type=_positive, metavar="N", help=help_)
    help_ = "stop at the first failure, as pytest's -x does"
    run.add_argument("--fail-fast", dest="exitfirst", action="store_true", help=help_)
    run.add_argument("--report-file", type=Path, help=argparse.SUPPRESS)
    run.set_defaults(action=("run", "main"))


def _add_watch(commands: Commands) -> None:
    watch = commands.add_parser(
        "watch",
        help="run the suites again whenever the project's files change",
        usage="%(prog)s [options] [pytest's options] [-- COMMAND [ARGUMENTS ...]]",
        allow_abbrev=False,
    )
    _add_server(watch)
    _add_options(watch, "watch")
    watch.set_defaults(action=("watch", "main"))


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a number of at least 1 is expected, not {text!r}")
    return int(text)


def _add_server(parser: Parser) -> None:
    help_ = f"the server of that name in {CONFIGURATION_PLACES}, or of --config"
    parser.add_argument("--server", action="append", default=[], metavar="NAME", help=help_)
    help_ = "a client's mcp.json, which lists servers"
    parser.add_argument("--config", type=Path, metavar="FILE", help=help_)


def _add_survey(commands: Commands) -> None:
    survey = commands.add_parser("survey", help="run the suites over many servers, on a Dask cluster")
    parts = survey.add_subparsers(metavar="run|targets|table|site|diff", required=True, dest="what")
    _add_survey_run(parts)
    targets = parts.add_parser("targets", help="print targets, as JSON Lines")
    source = targets.add_mutually_exclusive_group(required=True)
    help_ = "the answer of the official registry to GET /v0/servers"
    source.add_argument("--from-registry", type=Path, metavar="FILE", help=help_)
    source.add_argument("--from-config", type=Path, metavar="FILE", help="a client's mcp.json")
    table = parts.add_parser("table", help="print a survey as a page of Markdown")
    table.add_argument("results", metavar="RESULTS", help="the address of the results")
    help_ = "a TOML file that explains each red rule; exit with 1 if one is not explained"
    table.add_argument("--notes", type=Path, metavar="FILE", help=help_)
    site = parts.add_parser("site", help="write static pages")
    site.add_argument("results", metavar="RESULTS", help="the address of the results")
    site.add_argument("folder", type=Path, metavar="FOLDER", help="the folder for the pages")
    diff = parts.add_parser("diff", help="print what changed between two surveys of the same targets")
    diff.add_argument("old", metavar="OLD", help="the address of the results before")
    diff.add_argument("new", metavar="NEW", help="the address of the results after")
    survey.set_defaults(action=("survey", "main"))


def _add_survey_run(parts: Commands) -> None:
    run = parts.add_parser(
        "run",
        help="examine targets",
        usage="%(prog)s TARGETS [NAME ...] [options] [-- OPTIONS OF RUN]",
        allow_abbrev=False,
    )
    run.add_argument("targets", type=Path, metavar="TARGETS", help="a file of targets, .toml or .jsonl")
    run.add_argument("only", nargs="*", metavar="NAME", help="only these targets")
    help_ = "where the results are: a folder, or an address that fsspec knows (default: survey-results)"
    run.add_argument("--results", metavar="ADDRESS", default="survey-results", help=help_)
    help_ = "the folder for installations, which all workers see (default: survey-installations)"
    run.add_argument("--installations", metavar="DIR", default="survey-installations", help=help_)
    help_ = "a Dask scheduler, such as tcp://HOST:8786 (default: a local cluster)"
    run.add_argument("--scheduler", metavar="ADDRESS", default="", help=help_)
    help_ = "how many workers a local cluster has (default: the number of cores, at most 4)"
    run.add_argument("--workers", type=_positive, metavar="N", help=help_)
    help_ = "the time limit for each run of the suite (default: 600)"
    run.add_argument("--seconds", type=_positive, metavar="N", default=600, help=help_)
    help_ = "what confines the servers: auto (the default: the strongest there is), none, or as for run"
    run.add_argument("--sandbox", metavar="KIND", default="auto", help=help_)
    run.add_argument("--retry", action="store_true", help="examine again what could not be judged")
    help_ = "allow packages to run scripts and builds while they are installed"
    run.add_argument("--allow-scripts", action="store_true", help=help_)


def _add_doctor(commands: Commands) -> None:
    doctor = commands.add_parser(
        "doctor",
        help="find out why a server does not start",
        usage="%(prog)s [options] -- COMMAND [ARGUMENTS ...]",
        allow_abbrev=False,
    )
    _add_server(doctor)
    _add_options(doctor, "doctor")
    doctor.set_defaults(action=("doctor", "main"))


def _add_baseline(commands: Commands) -> None:
    baseline = commands.add_parser("baseline", help="keep a file of expected findings")
    update = baseline.add_subparsers(metavar="update", required=True).add_parser(
        "update",
        help="run the suites against a server, and write its findings to the file",
        usage="%(prog)s FILE [options] [pytest's options] -- COMMAND [ARGUMENTS ...]",
        allow_abbrev=False,
    )
    update.add_argument("file", type=Path, metavar="FILE", help="the baseline, a TOML file")
    _add_server(update)
    _add_options(update, "baseline update")
    update.set_defaults(action=("baseline", "main"))


def _add_login(commands: Commands) -> None:
    login = commands.add_parser(
        "login",
        help="log in to a server, and keep the token for --auth login",
        usage="%(prog)s --url URL [options]",
        allow_abbrev=False,
    )
    _add_server(login)
    _add_options(login, "login")
    add = login.add_argument
    add("--client-id", metavar="ID", default="", help="a client that the authorization server knows")
    help_ = "the environment variable with the secret of that client"
    add("--client-secret-env", metavar="NAME", default="", help=help_)
    help_ = "the https:// URL of a client-id metadata document, which names the client"
    add("--client-document", metavar="URL", default="", help=help_)
    help_ = "log the client itself in, without a person and a browser: for CI"
    add("--client-credentials", action="store_true", help=help_)
    add("--scope", metavar="SCOPES", default="", help="the scopes to ask for (default: those of the server)")
    help_ = "the port of 127.0.0.1 to which the browser comes back (default: a free one)"
    add("--redirect-port", type=_positive, metavar="PORT", default=0, help=help_)
    add("--no-browser", action="store_true", help="print the address to log in at, and open no browser")
    add(
        "--wait",
        type=_positive,
        metavar="SECONDS",
        default=300,
        help="how long a person may take (default: 300)",
    )
    help_ = "log in three times, and try what has to be refused, for the rules http.login"
    add("--examine", action="store_true", help=help_)
    add("--list", action="store_true", help="list the logins that are kept")
    add("--logout", action="store_true", help="remove the login to the server")
    login.set_defaults(action=("login", "main"))


def _add_lock(commands: Commands) -> None:
    lock = commands.add_parser(
        "lock",
        help="write the contract of a server, which a run compares with what it offers",
        usage="%(prog)s [options] -- COMMAND [ARGUMENTS ...]",
        allow_abbrev=False,
    )
    help_ = f"the file to write (default: {FILE})"
    lock.add_argument("--contract", dest="file", type=Path, metavar="FILE", help=help_)
    lock.add_argument("--update", action="store_true", help="renew the file, and print what changed")
    _add_server(lock)
    _add_options(lock, "lock")
    lock.set_defaults(action=("lock", "main"))


def _add_learn(commands: Commands) -> None:
    learn = commands.add_parser(
        "learn",
        help="look for arguments with which each tool works",
        usage="%(prog)s [options] -- COMMAND [ARGUMENTS ...]",
        allow_abbrev=False,
    )
    learn.add_argument("--write", action="store_true", help="write the arguments to the configuration file")
    help_ = "write which tools make what others use to a file, as text for Graphviz"
    learn.add_argument("--graph", type=Path, metavar="FILE", help=help_)
    _add_server(learn)
    _add_options(learn, "learn")
    learn.set_defaults(action=("learn", "main"))


def _add_by_hand(commands: Commands) -> None:
    """Add the commands for one request."""
    rows = (
        ("list-tools", "", False, "list a server's tools with their members"),
        ("call", "TOOL", True, "call a tool, and judge the answer"),
        ("read", "URI", False, "read a resource, and judge the answer"),
        ("prompt", "NAME", True, "fetch a prompt, and judge the answer"),
    )
    json_help = "the arguments, - for stdin (default: what worked before, else made up)"
    for name, what, has_arguments, help_ in rows:
        words = f"{what} [JSON] " if has_arguments else f"{what} " if what else ""
        usage = f"%(prog)s {words}[options] -- COMMAND [ARGUMENTS ...]"
        parser = commands.add_parser(name, help=help_, usage=usage, allow_abbrev=False)
        if what:
            parser.add_argument("name", metavar=what)
        if has_arguments:
            parser.add_argument("arguments", nargs="?", metavar="JSON", help=json_help)
        parser.add_argument("--json", action="store_true", help="print the whole result as JSON")
        parser.add_argument("-v", "--verbose", action="store_true", help="show the lines of both sides")
        _add_server(parser)
        _add_options(parser, name)
        parser.set_defaults(action=("by_hand", name.replace("-", "_")))


def _add_compare(commands: Commands) -> None:
    compare = commands.add_parser("compare", help="show what changed between two JSON reports")
    compare.add_argument("old", type=Path, help="the report of the earlier run")
    compare.add_argument("new", type=Path, help="the report of the later run")
    help_ = "lines of text, or Markdown for a comment on a pull request (default: text)"
    compare.add_argument("--output-format", choices=("text", "markdown"), default="text", help=help_)
    compare.set_defaults(action=("compare", "main"))


def _add_soak(commands: Commands) -> None:
    soak = commands.add_parser(
        "soak",
        help="call a server's tools at full speed for a while",
        usage="%(prog)s --for 30s|10m|1h [options] -- COMMAND [ARGUMENTS ...]",
        allow_abbrev=False,
    )
    soak.add_argument(
        "--for", dest="duration", metavar="DURATION", help="how long, such as 30s, 10m or 1h30m"
    )
    _add_server(soak)
    _add_options(soak, "soak")
    soak.set_defaults(action=("soak", "main"))


def _add_list(commands: Commands) -> None:
    list_ = commands.add_parser("list", help="list the requirements")
    list_.add_argument("pattern", nargs="?", help="a family or the beginning of an id")
    levels = ("MUST", "SHOULD", "MAY")
    list_.add_argument("--level", choices=levels, type=str.upper, help="only those of this level")
    list_.add_argument("--revision", choices=revisions.KNOWN, help="only those of this revision")
    state = list_.add_mutually_exclusive_group()
    state.add_argument("--checked", action="store_true", help="only those with a check")
    state.add_argument("--unchecked", action="store_true", help="only those without a check")
    unread = f"only those that nobody has read against {revisions.KNOWN[-1]} yet"
    list_.add_argument("--unreviewed", action="store_true", help=unread)
    official = "the checks of the official conformance suite, each with the rules that judge the same"
    list_.add_argument("--official", action="store_true", help=official)
    list_.add_argument(
        "--format",
        choices=("text", "json", "md"),
        default="text",
        help="a line for each requirement, a JSON array, or a table in Markdown (default: text)",
    )
    list_.add_argument(
        "--with",
        dest="report",
        type=Path,
        metavar="REPORT",
        help="add the outcome of each requirement in each revision, from a JSON report",
    )
    list_.set_defaults(action=("requirements", "list_requirements"))


def _add_replay(commands: Commands) -> None:
    replay = commands.add_parser(
        "replay",
        help="send the transcript of a failure to the server again",
        usage="%(prog)s FILE [--timeout SECONDS] [--cwd DIR] [-- COMMAND [ARGUMENTS ...]]",
    )
    replay.add_argument("file", type=Path, metavar="FILE", help="a transcript")
    _add_options(replay, "replay")
    replay.set_defaults(action=("replay", "main"))


def _add_tap(commands: Commands) -> None:
    tap = commands.add_parser(
        "tap",
        help="stand in a server's place in a client's configuration, and record the sessions",
        usage="%(prog)s [--to DIR] [--judge [FILE]] -- COMMAND [ARGUMENTS ...] | --http PORT --url URL",
    )
    help_ = "the folder of the recorded sessions (default: one of this user's)"
    tap.add_argument("--to", type=Path, metavar="DIR", help=help_)
    help_ = "write a line to stderr, or to a file, for each rule that either side breaks"
    tap.add_argument("--judge", nargs="?", const="-", metavar="FILE", help=help_)
    tap.add_argument(
        "--http", type=int, metavar="PORT", help="stand at this port of this machine (0 for any)"
    )
    tap.add_argument("--url", metavar="URL", help="with --http: the address of the server")
    # Some clients take what follows -- in the arguments of a server for their own: it may be left out.
    tap.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    tap.set_defaults(action=("tap", "main"))


def _add_judge(commands: Commands) -> None:
    judge = commands.add_parser(
        "judge",
        help="say which rules the client and the server break in recorded sessions",
        usage="%(prog)s [--json] FILE|DIR [...]",
    )
    judge.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="a session, or a folder of sessions"
    )
    judge.add_argument("--json", action="store_true", help="print what is found as JSON")
    judge.set_defaults(action=("judge", "main"))


def _add_serve(commands: Commands) -> None:
    serve = commands.add_parser(
        "serve",
        help="play recorded sessions back as a server, for tests of clients",
        usage="%(prog)s [--http PORT] [--spoil FAULT] FILE|DIR [...] | --spoil list",
    )
    serve.add_argument(
        "files", nargs="*", type=Path, metavar="FILE", help="a session, or a folder of sessions"
    )
    serve.add_argument("--http", type=int, metavar="PORT", help="serve over HTTP (default: stdin and stdout)")
    serve.add_argument(
        "--spoil", metavar="FAULT", help="do this wrong in each answer (list prints all faults)"
    )
    serve.set_defaults(action=("serve", "main"))


def _add_explain(commands: Commands) -> None:
    explain = commands.add_parser("explain", help="explain one requirement")
    explain.add_argument("id", metavar="ID", help="the id of a requirement, such as ping.responds")
    explain.set_defaults(action=("requirements", "explain"))


def _add_new_check(commands: Commands) -> None:
    new_check = commands.add_parser(
        "new-check", help="write a requirement, a check and a mutant to fill in, in a copy of the repository"
    )
    new_check.add_argument("id", help="the id of the new requirement")
    new_check.set_defaults(action=("new_check", "main"))


def _add_options(parser: Parser, command: str) -> None:
    """Add the options that a command has in the table."""
    for option in options_of(command):
        parser.writes_reports |= option.name == "report"
        flag, help_ = f"--{option.name}", option.full_help
        if option.kind is Kind.LIST:
            parser.add_argument(flag, metavar=option.metavar, default=[], help=help_, **option.repeated)
        elif option.kind is Kind.SWITCH:
            parser.add_argument(flag, action="store_true", help=help_)
        else:
            parser.add_argument(flag, metavar=option.metavar, help=help_)


# What the user chose -----------------------------------------------------------------------------


@contextmanager
def usage_errors(command: str) -> Iterator[None]:
    """Raise an error in the options as a `UsageError` of a command."""
    try:
        yield
    except BadOption as error:
        raise UsageError(f"{command}: {error}") from error


def given_options(options: argparse.Namespace, command: str) -> dict[str, Given]:
    """Return the options of the table that the user gave to a command."""
    found = ((option.name, getattr(options, option.dest)) for option in options_of(command))
    return {
        name: Given(tuple(value) if isinstance(value, list) else value, f"--{name}")
        for name, value in found
        if value
    }


def chosen_by(options: argparse.Namespace, server: Sequence[str] | str | ServerEntry, command: str) -> Chosen:
    """Return what the user chose for a server: its command, its configured name, or empty beside a URL.

    It may be one of a client's too.  Raises `UsageError`.
    """
    if not isinstance(server, Sequence):
        return _chosen_of_client(options, server, command)
    value = server if isinstance(server, str) else tuple(server)
    with usage_errors(command):
        return choose(given_options(options, command), Given(value, "") if value else None, "--", Path())


def _chosen_of_client(options: argparse.Namespace, entry: ServerEntry, command: str) -> Chosen:
    """Return what the user chose beside what a client's configuration says of a server."""
    own = argparse.Namespace(**vars(options))
    own.env = [*(f"{name}={content}" for name, content in entry.env.items()), *options.env]
    own.cwd = options.cwd or (str(entry.cwd) if entry.cwd is not None else None)
    own.url = entry.url or None
    own.header = [*(f"{name}: {value}" for name, value in entry.headers.items()), *options.header]
    source = ("--config", str(options.config), "--server", entry.name)
    chosen = chosen_by(own, entry.command or "", command)
    beside = frozenset(given_options(options, command))
    chosen = replace(chosen, project=ProjectRules(), read_from="")  # which need not be about this server
    return replace(chosen, expanded=entry.expanded, source=source, beside=beside)


# What a command may have -------------------------------------------------------------------------


def expect_no_more(rest: Sequence[str], command: Sequence[str] | None = None) -> None:
    """Raise `UsageError` for words that a command does not take."""
    if rest or command:
        raise UsageError(f"unrecognised arguments: {' '.join(redacted([*rest, *(command or [])]))}")


def expect_http(name: str) -> None:
    """Raise `UsageError` unless the package is installed with which a command listens."""
    if find_spec("h11") is None:
        raise UsageError(f"{name}: HTTP needs one more package: {how_to_install('http')}")


def expect_known_options(rest: Sequence[str], name: str) -> None:
    """Raise `UsageError` for a misspelt option of ours; all other options are pytest's."""
    ours = [f"--{option.name}" for option in options_of("run")]
    for word in rest:
        given = word.partition("=")[0]
        near = get_close_matches(given, ours, 1, MISSPELT) if given.startswith("--") else []
        if near:
            raise UsageError(f"{name}: unknown option {given}; did you mean {near[0]}?")


def _words(rest: Sequence[str]) -> list[str]:
    """Return the words among pytest's options that are no option, nor behind one, as its value may be."""
    return [
        word for before, word in pairwise(["", *rest]) if not (word.startswith("-") or before.startswith("-"))
    ]


def expect_no_stray_path(rest: Sequence[str], name: str) -> None:
    """Raise `UsageError` for a file's name among pytest's options: it belongs to the server's command."""
    stray = next((word for word in _words(rest) if Path(word).exists()), None)
    if stray is not None:
        raise UsageError(f"{name}: {stray!r} must come after --, as a part of the server's command")


def require_server(
    options: argparse.Namespace,
    command: Sequence[str] | None,
    name: str,
    usage: str,
    rest: Sequence[str] = (),
) -> list[str] | str | ServerEntry:
    """Return the server's command, or its name in the configuration file, empty if it is the only one.

    It is empty too if there is a URL instead, and an entry with ``--config``.  Raises `UsageError` if there
    is none, or two.
    """
    if options.config is not None:
        return _client_server(options, command, name)
    is_chosen = bool(options.server or getattr(options, "all", False))
    if getattr(options, "url", None):
        if command or is_chosen:
            raise UsageError(f"{name}: --url names the server; remove what follows --, or --server and --all")
        return ""
    if command and is_chosen:
        raise UsageError(
            f"{name}: --server and --all choose a configured server; remove -- and what follows it"
        )
    if not command and not _words(rest) and (file := configuration(name)):
        server = chosen_servers(file.path, file.servers, options, name)
        if len(server) > 1:
            raise UsageError(f"{name}: only one --server NAME can be given")
        return server[0]
    if is_chosen:
        raise UsageError(
            f"{name}: --server and --all choose from {CONFIGURATION_PLACES}, and there is none here"
        )
    return require_command(command, name, usage, rest)


def _client_server(options: argparse.Namespace, command: Sequence[str] | None, name: str) -> ServerEntry:
    """Return the server that ``--server`` names in a client's configuration, or its only one."""
    from mcp_conformance.project.client_configs import BadConfig, NotTestable, read_config  # noqa: PLC0415

    path: Path = options.config
    expect_client_only(options, command, name)
    try:
        config = read_config(path)
        server, *others = chosen_servers(path, config.servers, options, name)
        if others:
            raise UsageError(f"{name}: only one --server NAME can be given")
        return config.entry(server, given_variables(options))
    except BadConfig as error:
        raise UsageError(f"{name}: {path}: {error}") from error
    except NotTestable as reason:
        raise UsageError(f"{name}: {path}: {server} cannot be tested: {reason}") from reason


def expect_client_only(options: argparse.Namespace, command: Sequence[str] | None, name: str) -> None:
    """Raise `UsageError` if a server is named beside a client's configuration."""
    if command:
        raise UsageError(f"{name}: --config names the server already; remove -- and what follows it")
    if options.url:
        raise UsageError(f"{name}: --config names the server already; remove --url")


def given_variables(options: argparse.Namespace) -> frozenset[str]:
    """Return the names of the environment variables that the user sets for the server."""
    return frozenset(text.partition("=")[0] for text in options.env)


def configuration(name: str) -> Configuration | None:
    """Return the configuration file nearest to the working directory.  Raises `UsageError`."""
    with usage_errors(name):
        return nearest_configuration(Path())


def chosen_servers(path: Path, known: Iterable[str], options: argparse.Namespace, name: str) -> list[str]:
    """Return the names of the servers that ``--server`` and ``--all`` choose.  Raises `UsageError`."""
    names = list(known)
    listed = ", ".join(names)
    unknown = next((one for one in options.server if one not in names), None)
    if unknown is not None:
        near = did_you_mean(unknown, names)
        raise UsageError(f"{name}: {path}: it has no server {unknown!r}; it has {listed}{near}")
    if options.server:
        return list(dict.fromkeys(options.server))
    if len(names) == 1 or getattr(options, "all", False):
        return names
    choice = "--server NAME or --all" if "all" in options else "--server NAME"
    raise UsageError(f"{name}: {path}: choose with {choice}; it has {listed}")


def require_command(
    command: Sequence[str] | None, name: str, usage: str, rest: Sequence[str] = ()
) -> list[str]:
    """Return the server's command.  Raises `UsageError` if there is none, or if it is a URL."""
    url = next((word for word in [*(command or [])[:1], *rest] if URL.match(word)), None)
    if url is not None:
        (shown,) = redacted([url])
        raise UsageError(f"{name}: {shown} is a URL: name it with --url {shown}")
    words = _words(rest)
    if not command and words:
        raise UsageError(f"{name}: put -- before the server's command: -- {shell_line(redacted(words))}")
    if not command:
        raise UsageError(f"{name}: no server is given: mcp-conformance {usage} -- COMMAND [ARGUMENTS ...]")
    return list(command)
