"""The options of the plugin: their flags, ini values and help."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_conformance.sandbox.policy import ANY_HOST


def add_options(parser: pytest.Parser) -> None:
    """Register every flag and ini value."""
    group = parser.getgroup("conformance", "MCP conformance")
    help_ = "run the conformance suites against the server that is named"
    group.addoption("--conformance", action="store_true", default=None, help=help_)
    parser.addini("conformance", help_, type="bool", default=False)
    help_ = "the server to test, which speaks over stdio unless --conformance-http is given"
    group.addoption("--conformance-server", metavar="COMMAND", help=help_)
    parser.addini("conformance_server", f"{help_} (a command line, or a JSON array of its words)")
    for name, metavar, help_, default in VALUES:
        group.addoption(
            f"--conformance-{name}", dest=dest(name), metavar=metavar, help=f"{help_} (default: {default})"
        )
        parser.addini(dest(name), help_, default=None)
    for name, metavar, help_ in LISTS:
        group.addoption(
            f"--conformance-{name}",
            dest=dest(name),
            metavar=metavar,
            action="append",
            help=help_,
            **optional_value(name),
        )
        parser.addini(ini(name), help_, type="linelist", default=[])
    for name, help_ in FLAGS:
        group.addoption(
            f"--conformance-{name}", dest=dest(name), action="store_true", default=None, help=help_
        )
        parser.addini(dest(name), help_, type="bool", default=False)


VALUES = (
    ("url", "URL", "the Streamable HTTP server to test, which runs already; in place of a command", "none"),
    ("http-path", "PATH", "with --conformance-http, the path of the MCP endpoint", "/mcp"),
    (
        "rate",
        "NUMBER",
        "the most requests a second over HTTP",
        "no limit, but 20 if the URL is not on this machine",
    ),
    (
        "revision",
        "REVISION",
        "the revisions to test: latest, all, or a list such as 2025-06-18,2025-11-25",
        "latest",
    ),
    ("timeout", "SECONDS", "the time limit for an answer", "30"),
    ("start-timeout", "SECONDS", "the time limit for the answer to initialize", "30"),
    ("cwd", "DIR", "the server's working directory", "a temporary one"),
    (
        "sandbox",
        "KIND",
        "what confines the server: auto (the strongest here), landlock, bubblewrap, docker:IMAGE or none",
        "none",
    ),
    ("fuzz", "LEVEL", "how much to fuzz: none, quick or thorough", "quick"),
    (
        "calls-per-tool",
        "NUMBER",
        "the most calls of one tool while it is fuzzed",
        "no limit, but 20 for a tool with openWorldHint: true unless --conformance-fuzz thorough is given",
    ),
    (
        "fuzz-errors",
        "HOW",
        "whether tool errors that read as unexpected exceptions inform or fail",
        "inform",
    ),
    ("seed", "NUMBER", "the seed of the fuzzer's choices", "0"),
    ("max-line", "MEGABYTES", "the longest line that is read", "16"),
    (
        "sdk-findings",
        "HOW",
        "whether what every server on the same SDK breaks is reported or fails: report or fail",
        "report",
    ),
    (
        "rules-as-of",
        "VERSION",
        "the version of this tool whose rules count; findings of newer rules are new, and do not fail",
        "all rules count",
    ),
    (
        "output-format",
        "FORMAT",
        "what is printed at the end: full, concise (a line for each finding), json, or github (annotations)",
        "full",
    ),
    ("max-time", "SECONDS", "the time limit for all checks together", "3600"),
    (
        "time",
        "SECONDS",
        "the time after which nothing more is fuzzed, shared by the tools equally",
        "no limit",
    ),
    ("env-file", "FILE", "a file with lines NAME=VALUE: environment variables for the server", "none"),
    ("max-tools", "NUMBER", "test only the first NUMBER of the listed tools", "250"),
    (
        "contract",
        "FILE",
        "the file that mcp-conformance lock wrote, to compare the server with; none ignores it",
        "mcp-contract.json, if that is here",
    ),
    ("baseline", "FILE", "a file of expected findings, which do not fail (mcp-conformance baseline)", "none"),
    (
        "since",
        "FILE",
        "a JSON report; the checks that passed there are not run again if their tools are the same",
        "none",
    ),
    (
        "transcripts",
        "DIR",
        "the directory for the conversations of failures that the fuzzer finds",
        ".mcp-conformance",
    ),
    (
        "database",
        "ADDRESS",
        "the values that failed before, which are tried first: a folder, or the URL of a Redis",
        "Hypothesis's own, in .hypothesis",
    ),
    ("failing-call", "'NAME JSON'", "a tool call that returns a tool error", "none"),
    ("mutating-call", "'NAME JSON'", "a tool call that changes a list or a resource", "none"),
)
LISTS = (
    ("header", "'NAME: VALUE'", "a header for each HTTP request; its value is in no report"),
    (
        "header-env",
        "NAME=VARIABLE",
        "a header whose value is in an environment variable; without NAME=, the variable has 'NAME: VALUE'",
    ),
    (
        "env",
        "NAME[=VALUE]",
        "an environment variable for the server; without =VALUE, this process's variable of that name",
    ),
    (
        "budget",
        "FIGURE=LIMIT",
        "a limit on a figure: start=2s, tools.count=40, tools.bytes=20kB, call.p95=2s, result.bytes=1MB",
    ),
    (
        "client",
        "NAME",
        "report names and schemas that these clients refuse: claude, cursor, gemini, openai, vscode, all",
    ),
    ("allow-read", "PATH", "with --conformance-sandbox: a file or directory that the server may read"),
    ("allow-write", "PATH", "with --conformance-sandbox: a file or directory that the server may write"),
    (
        "allow-net",
        "HOST",
        "with --conformance-sandbox: the server may use the network; without HOST, or with *, all of it",
    ),
    ("skip", "ID", "leave out these requirements or families; their findings are not reported"),
    (
        "example",
        "'NAME JSON'",
        "valid arguments for a tool, tried first; this does not permit calls (--conformance-call does)",
    ),
    (
        "call",
        "WHICH",
        "which tools may be called: readonly (default; none on a network), all, none, or names with * and ?",
    ),
    (
        "report",
        "FILE",
        "a file for a report; its ending is the format: .json, .html, .md, .sarif, .svg, badge.json",
    ),
    (
        "select",
        "ID",
        "test only these requirements or families, e.g. tools.def or content.image.base64[my_tool]",
    ),
)
FLAGS = (
    ("http", "the command serves Streamable HTTP on a port of 127.0.0.1, which {port} in it stands for"),
    ("inherit-home", "give the server your home and temporary directories instead of empty ones"),
    ("surroundings", "also start the server as other machines would: code pages, no home, a full log, ..."),
    ("strict", "a broken SHOULD fails"),
    ("pedantic", "rules without a keyword (prose, example, json-rpc, derived) fail or warn like the others"),
)


def option_help(name: str) -> tuple[str, str]:
    """Return the metavar and the help of an option, in the form that the command has."""
    values = {value: (metavar, f"{help_} (default: {default})") for value, metavar, help_, default in VALUES}
    lists = {list_: (metavar, help_) for list_, metavar, help_ in LISTS}
    flags = {flag: ("", help_) for flag, help_ in FLAGS}
    metavar, help_ = (values | lists | flags)[name]
    return metavar, help_.replace("--conformance-", "--")


def optional_value(name: str) -> dict[str, Any]:
    """Return the arguments of ``add_argument`` for an option whose value may be left out."""
    return {"nargs": "?", "const": ANY_HOST} if name == "allow-net" else {}


def dest(name: str) -> str:
    """Return the name of an option for pytest, and of most ini values."""
    return f"conformance_{name.replace('-', '_')}"


def ini(name: str) -> str:
    """Return the name of the ini value of an option."""
    return "conformance_examples" if name == "example" else dest(name)
