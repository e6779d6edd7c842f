"""The table of options: each row is one option of the commands, of pytest and of the configuration file.

A new option is a row, and a field of `Settings` or of `RunOptions` that its value goes to.  From the rows
come the arguments of the commands (``--NAME``), the flags and ini values of pytest (``--conformance-NAME``),
the keys of the configuration file with their JSON Schema, and the reference.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mcp_conformance.options import readers
from mcp_conformance.options.given import Chosen
from mcp_conformance.options.option import Form, Kind, Option
from mcp_conformance.outcome import ToolBugs
from mcp_conformance.sandbox.policy import ANY_HOST
from mcp_conformance.target.fuzz_levels import FUZZ_EXAMPLES

RUNS = ("run", "watch", "baseline update")
JUDGES = (*RUNS, "soak")
CALLS = (*JUDGES, "learn")
PROBES = (*CALLS, "lock", "list-tools", "call", "read", "prompt")
STARTS = (*PROBES, "doctor")
COMMANDS = (*STARTS, "replay")
SENDS = (*COMMANDS, "login")
"""The commands that have options of the table, in groups that grow."""


def read(chosen: Chosen, name: str, default: Any = None) -> Any:
    """Return the value of an option, or the default if it is not given.  Raises `BadOption`."""
    return BY_NAME[name].read(chosen.options[name]) if name in chosen.options else default


def options_of(command: str) -> Iterator[Option]:
    """Yield the options of a command."""
    return (option for option in OPTIONS if command in option.commands)


OPTIONS = (
    # ---- options with a value
    Option(
        *("url", "URL", "the Streamable HTTP server to test, which runs already; in place of a command"),
        commands=(*STARTS, "login"),
        default="none",
    ),
    Option(
        *("http-path", "PATH", "with --http, the path of the MCP endpoint"),
        commands=COMMANDS,
        default="/mcp",
    ),
    Option(
        *(
            "auth",
            "HOW",
            "with --url, the token that the server gets: login (mcp-conformance login has asked for it)",
        ),
        commands=STARTS,
        default="none",
        reader=readers.OneOf({"login": True}),
    ),
    Option(
        *("rate", "NUMBER", "the most requests a second"),
        commands=STARTS,
        default="no limit, but 20 if the URL is not on this machine",
        reader=readers.rate,
    ),
    Option(
        "revision",
        "REVISION",
        "the revisions to test: latest, all, or a list such as 2025-06-18,2025-11-25",
        commands=PROBES,
        default="latest",
        reader=readers.revisions,
        sets="revisions",
    ),
    Option(
        *("timeout", "SECONDS", "the time limit for an answer"),
        commands=(*PROBES, "replay"),
        default="30",
        reader=readers.seconds,
        sets="timeout",
    ),
    Option(
        *("start-timeout", "SECONDS", "the time limit for the answer to initialize"),
        commands=STARTS,
        default="30",
        reader=readers.seconds,
        sets="start_timeout",
    ),
    Option(
        *("cwd", "DIR", "the server's working directory"),
        commands=COMMANDS,
        default="a temporary one with files of many kinds, which {folder} in the command stands for",
        reader=readers.directory,
        sets="cwd",
        is_path=True,
    ),
    Option(
        "sandbox",
        "KIND",
        "what confines the server: auto (the strongest here), namespaces, bubblewrap, landlock, docker:IMAGE "
        "or none",
        commands=COMMANDS,
        default="none; with --call, what it writes outside of the run's folders is thrown away",
    ),
    Option(
        "backend",
        "KIND",
        "this tool plays every host that the server connects to, with an API that works (inventory), that "
        "fails in every way (sick), or in some, such as 503,html,silent,reset; with record=FILE the real "
        "hosts answer, and that is kept without credentials; replay=FILE and replay=FILE,sick answer from it",
        commands=RUNS,
        default="the real network",
        reader=readers.api,
        path_after=("record=", "replay="),
    ),
    Option(
        *("fuzz", "LEVEL", "how much to fuzz: none, quick or thorough"),
        commands=RUNS,
        default="quick",
        reader=readers.OneOf(FUZZ_EXAMPLES),
        sets="examples",
    ),
    Option(
        *("max-examples", "NUMBER", "how many values are drawn for each tool and kind of arguments"),
        commands=RUNS,
        default="50, or 500 with --fuzz thorough",
        reader=readers.above_0,
        sets="max_examples",
    ),
    Option(
        *("calls-per-tool", "NUMBER", "the most calls of one tool while it is fuzzed"),
        commands=RUNS,
        default="no limit, but 20 without openWorldHint: false, a sandbox or --fuzz thorough",
        reader=readers.number,
        sets="calls_per_tool",
    ),
    Option(
        "fuzz-errors",
        "HOW",
        "which exceptions of tools on valid arguments fail: none (inform), those that a traceback proves "
        "(proven), or also those that an error only reads like (fail); the others warn",
        commands=JUDGES,
        default="proven",
        reader=readers.OneOf({one.value: one for one in ToolBugs}),
        sets="tool_bugs",
    ),
    Option(
        *("seed", "NUMBER", "the seed of the fuzzer's choices"),
        commands=CALLS,
        default="0",
        reader=readers.number,
        sets="seed",
    ),
    Option(
        *("max-line", "MEGABYTES", "the longest line that is read"),
        commands=PROBES,
        default="16",
        reader=readers.megabytes,
        sets="max_line",
    ),
    Option(
        "sdk-findings",
        "HOW",
        "whether what every server on the same SDK breaks is reported or fails: report or fail",
        commands=RUNS,
        default="report",
        reader=readers.OneOf({"report": False, "fail": True}),
        sets="sdk_findings_fail",
    ),
    Option(
        "rules-as-of",
        "VERSION",
        "the version of this tool whose rules count; findings of newer rules are new, and do not fail",
        commands=RUNS,
        default="all rules count",
        form=Form.VERSION,
        reader=readers.version,
        sets="rules_as_of",
        key="rules",
        judges=False,
    ),
    Option(
        "output-format",
        "FORMAT",
        "what is printed at the end: full, concise (a line for each finding), json, or github (annotations)",
        commands=RUNS,
        default="full",
        reader=readers.OneOf({word: word for word in ("full", "concise", "json", "github")}),
        sets="output_format",
        judges=False,
    ),
    Option(
        *("max-time", "SECONDS", "the time limit for all checks together"),
        commands=RUNS,
        default="3600",
        reader=readers.seconds,
        sets="max_time",
        judges=False,
    ),
    Option(
        *("within", "SECONDS", "the time for the whole run: what does not fit is left out, and counted"),
        commands=RUNS,
        default="no limit",
        reader=readers.seconds,
        sets="within",
        judges=False,
    ),
    Option(
        *("time", "SECONDS", "the time after which nothing more is fuzzed, shared by the tools equally"),
        commands=RUNS,
        default="no limit",
        reader=readers.seconds,
        sets="time",
        judges=False,
    ),
    Option(
        *(
            "env-file",
            "FILE",
            "a file of NAME=VALUE lines, or a JSON object, with variables for the server",
        ),
        commands=COMMANDS,
        default="none",
        reader=readers.variables_in_file,
        is_path=True,
    ),
    Option(
        *("max-tools", "NUMBER", "test only the first NUMBER of the listed tools"),
        commands=CALLS,
        default="250",
        reader=readers.number,
        sets="max_tools",
    ),
    Option(
        "profile",
        "NAME",
        "the table [profiles.NAME] of the configuration file, whose options replace those beside it",
        commands=STARTS,
        default="none",
    ),
    Option(
        "require-exercised",
        "SHARE",
        "fail unless so many of the callable tools succeed once: a share in percent, or a number of tools",
        commands=RUNS,
        default="none",
        reader=readers.required_exercise,
        sets="required_exercise",
        judges=False,
    ),
    Option(
        "contract",
        "FILE",
        "the file that mcp-conformance lock wrote, to compare the server with; none ignores it",
        commands=RUNS,
        default="mcp-contract.json, if that is here",
        reader=readers.contract,
        is_shared=False,
        is_path=True,
        family="contract",
    ),
    Option(
        "sessions",
        "DIR",
        "recorded sessions (mcp-conformance tap), or a folder of them: each is replayed, as far as --call "
        "permits its calls, and its arguments are tried first",
        commands=RUNS,
        kind=Kind.LIST,
        reader=readers.sessions,
        sets="sessions",
        is_shared=False,
        is_path=True,
    ),
    Option(
        "update",
        "",
        "write the server's answers of now to the sessions in which they differ",
        commands=("run",),
        kind=Kind.SWITCH,
        sets="update",
        is_shared=False,
        judges=False,
    ),
    Option(
        *("baseline", "FILE", "a file of expected findings, which do not fail (mcp-conformance baseline)"),
        commands=("run", "watch"),
        default="none",
        reader=readers.baseline,
        sets="baseline",
        is_shared=False,
        judges=False,
    ),
    Option(
        "since",
        "FILE",
        "a JSON report; the checks that passed there are not run again if their tools are the same",
        commands=("run", "watch"),
        default="none",
        reader=readers.report,
        sets="earlier",
        judges=False,
    ),
    Option(
        *("transcripts", "DIR", "the directory for the conversations of failures that the fuzzer finds"),
        commands=CALLS,
        default=".mcp-conformance",
        reader=readers.own_path,
        sets="transcripts",
        judges=False,
    ),
    Option(
        "database",
        "ADDRESS",
        "the values that failed before, which are tried first: a folder, or the URL of a Redis",
        commands=JUDGES,
        default="Hypothesis's own, in .hypothesis",
        reader=readers.database,
        sets="database",
        is_path=True,
    ),
    Option(
        *("failing-call", "'NAME JSON'", "a tool call that returns a tool error"),
        commands=RUNS,
        default="none",
        form=Form.CALLS,
        reader=readers.sample,
        sets="failing_call",
    ),
    Option(
        *("mutating-call", "'NAME JSON'", "a tool call that changes a list or a resource"),
        commands=RUNS,
        default="one of the run's own calls that does",
        form=Form.CALLS,
        reader=readers.sample,
        sets="mutating_call",
    ),
    # ---- options that can be repeated
    Option(
        *("header", "'NAME: VALUE'", "a header for each HTTP request; its value is in no report"),
        commands=SENDS,
        kind=Kind.LIST,
        reader=readers.headers,
        public_until=":",
    ),
    Option(
        "header-env",
        "NAME=VARIABLE",
        "a header whose value is in an environment variable; without NAME=, the variable has 'NAME: VALUE'",
        commands=SENDS,
        kind=Kind.LIST,
        reader=readers.headers_in_variables,
    ),
    Option(
        *("header-other", "'NAME: VALUE'", "a header of a second identity, in place of the run's own"),
        commands=RUNS,
        kind=Kind.LIST,
        reader=readers.headers,
        public_until=":",
        family="http",
    ),
    Option(
        "header-other-env",
        "NAME=VARIABLE",
        "such a header whose value is in an environment variable",
        commands=RUNS,
        kind=Kind.LIST,
        reader=readers.headers_in_variables,
        family="http",
    ),
    Option(
        *(
            "auth-origin",
            "ORIGIN",
            "another origin that is asked for authorization metadata, as https://HOST",
        ),
        commands=RUNS,
        kind=Kind.LIST,
        reader=readers.origins,
        sets="auth_origins",
        family="http",
    ),
    Option(
        "env",
        "NAME[=VALUE]",
        "an environment variable for the server; without =VALUE, this process's variable of that name",
        commands=COMMANDS,
        kind=Kind.LIST,
        form=Form.PAIRS,
        reader=readers.variables,
        public_until="=",
    ),
    Option(
        "budget",
        "FIGURE=LIMIT",
        "a limit on a figure: start=2s, tools.count=40, tools.bytes=20kB, call.p95=2s, result.bytes=1MB",
        commands=RUNS,
        kind=Kind.LIST,
        form=Form.PAIRS,
        reader=readers.budgets,
        sets="budgets",
        family="budget",
    ),
    Option(
        "client",
        "NAME",
        "report names and schemas that these clients refuse: "
        "claude, cursor, directory-claude, directory-openai, gemini, openai, vscode, all",
        commands=RUNS,
        kind=Kind.LIST,
        reader=readers.clients,
        sets="clients",
        family="client",
    ),
    Option(
        *("allow-read", "PATH", "with --sandbox: a file or directory that the server may read"),
        commands=COMMANDS,
        kind=Kind.LIST,
        reader=readers.existing_paths,
        is_path=True,
    ),
    Option(
        *(
            "allow-write",
            "PATH",
            "with --sandbox or --call: a file or directory that the server may write",
        ),
        commands=COMMANDS,
        kind=Kind.LIST,
        reader=readers.existing_paths,
        is_path=True,
    ),
    Option(
        "allow-net",
        "HOST",
        "with --sandbox: the server may use the network; without HOST, or with *, all of it",
        commands=COMMANDS,
        kind=Kind.LIST,
        value_if_bare=ANY_HOST,
    ),
    Option(
        *("skip", "ID", "leave out these requirements or families; their findings are not reported"),
        commands=RUNS,
        kind=Kind.LIST,
        reader=readers.ids,
        sets="left_out",
    ),
    Option(
        "example",
        "'NAME JSON'",
        "valid arguments for a tool, or values for a URI template, tried first; permits no calls (--call)",
        commands=CALLS,
        kind=Kind.LIST,
        form=Form.CALLS,
        reader=readers.samples,
        sets="samples",
        ini="examples",
    ),
    Option(
        "call",
        "WHICH",
        "which tools may be called: readonly (default; none on a network), all, none, or names with * and ?",
        commands=CALLS,
        kind=Kind.LIST,
        reader=readers.callable_tools,
    ),
    Option(
        "report",
        "FILE",
        "a file for a report; its ending is the format, such as .html or .json",
        commands=JUDGES,
        kind=Kind.LIST,
        reader=readers.report_files,
        sets="reports",
        is_shared=False,
        judges=False,
    ),
    Option(
        "select",
        "ID",
        "test only these requirements or families, e.g. tools.def or content.image.base64[my_tool]",
        commands=RUNS,
        kind=Kind.LIST,
        reader=readers.selection,
        sets="selected",
    ),
    # ---- switches
    Option(
        *("tool", "NAME", "test only these tools: names with * and ?"),
        commands=CALLS,
        kind=Kind.LIST,
        reader=readers.words,
        sets="only_tools",
    ),
    Option(
        *("not-tool", "NAME", "leave these tools out: names with * and ?"),
        commands=CALLS,
        kind=Kind.LIST,
        reader=readers.words,
        sets="not_tools",
    ),
    Option(
        "tool-limits",
        "'NAME LIMIT=VALUE ...'",
        "limits of one tool, or of those with such a name, in place of those for all: timeout=60, fuzz=none, "
        "calls-per-tool=5",
        commands=CALLS,
        kind=Kind.LIST,
        form=Form.LIMITS,
        reader=readers.tool_limits,
        sets="tool_limits",
        key="tools",
    ),
    Option(
        "found-values",
        "",
        "tools that may write also get values that were there before the run: they may change what is yours",
        commands=CALLS,
        kind=Kind.SWITCH,
        sets="found_values",
    ),
    Option(
        "http",
        "",
        "the command serves Streamable HTTP on a port of 127.0.0.1, which {port} in it stands for",
        commands=STARTS,
        kind=Kind.SWITCH,
    ),
    Option(
        *("forge", "", "also send variants of the bearer token that cannot be valid"),
        commands=RUNS,
        kind=Kind.SWITCH,
        sets="forge",
        family="http",
    ),
    Option(
        *("inherit-home", "", "give the server your home and temporary directories instead of empty ones"),
        commands=COMMANDS,
        kind=Kind.SWITCH,
        sets="inherit_home",
    ),
    Option(
        "surroundings",
        "",
        "also start the server as other machines would: code pages, no home, a full log, ...",
        commands=RUNS,
        kind=Kind.SWITCH,
        sets="surroundings",
        family="surroundings",
    ),
    Option(
        *("strict", "", "a broken SHOULD fails"),
        commands=JUDGES,
        kind=Kind.SWITCH,
        sets="strict",
    ),
    Option(
        "pedantic",
        "",
        "rules without a keyword (prose, example, json-rpc, derived) fail or warn like the others",
        commands=JUDGES,
        kind=Kind.SWITCH,
        sets="pedantic",
    ),
)
BY_NAME = {option.name: option for option in OPTIONS}
