"""A report of a server whose texts contain markup and commands for the programs that show them."""

from dataclasses import asdict

from mcp_conformance.backend.contact import AT_START, IN_CALL
from mcp_conformance.outcome import Outcome
from mcp_conformance.report.exercise import ExercisedTool
from mcp_conformance.report.hosts import AskedHost
from mcp_conformance.report.model import REFUSED, Interface, OfferedTool, Report, Result, in_order
from mcp_conformance.report.strict_json import without_halves
from mcp_conformance.report.tool_links import ToolLink
from mcp_conformance.requirements import catalogue
from mcp_conformance.state.uses import UseKind

EVIL = (
    "<script>alert(1)</script> \u202eevil\u2066 \x1b[31mred\x1b[0m"
    " `@team` ```\n::error::x | %0A <!-- ]]> &amp; \ud800 é 日本"
)
REVISION = "2025-11-25"


def result(requirement, outcome, check="test_x", tool="", revision=REVISION, **more):
    row = catalogue.requirement(requirement)
    name = f"{revision}-{tool.partition('<')[0]}" if tool else revision
    return Result.of(
        row,
        revision,
        node=f"mcp_conformance_suites/test_suite.py::{check}[{name}]",
        requirements=more.pop("requirements", (requirement,)),
        outcome=outcome,
        tool=tool,
        **more,
    )


def failed(tool):
    return result(
        "tools.def.title-string",
        Outcome.FAILED,
        "test_a_title_is_a_string",
        tool,
        reason=f"expected a string, or no title, got tools[0].title = {EVIL}",
        expected="a string, or no title",
        got=f"tools[0].title = {EVIL}",
        wire=('> {"jsonrpc":"2.0","id":3,"method":"tools/list"}', f"< {EVIL}   (not JSON)"),
        stderr=EVIL,
        transcripts=(".mcp-conformance/2025-11-25-add.jsonl",),
        fix=f"Give the title as a `string`. {EVIL}",
        reproduce=f"mcp-conformance run --select 'tools.def.title-string[{tool}]' -- python server.py",
    )


RESULTS = (
    failed("add"),
    failed(EVIL),
    result(
        "tools.call.no-exception",
        Outcome.FAILED,
        tool="add",
        reason='expected a result, got {"a": 0}: ZeroDivisionError: division by zero, server.py:7',
        got='{"a": 0}: ZeroDivisionError: division by zero, server.py:7',
        stderr="/srv/server.py:7\n  return b / a\nZeroDivisionError: division by zero",
        defect="throws",
    ),
    result(
        "ping.responds",
        Outcome.BLOCKED,
        reason="ping was not answered",
        got="ping was not answered",
        defect="hangs",
    ),
    result(
        "pagination.invalid-cursor-code",
        Outcome.WARNED,
        reason="expected error -32602, got a result",
        expected="error -32602",
        got="a result",
        deviation="Python SDK 1.x",
        fix=catalogue.requirement("pagination.invalid-cursor-code").remedy("Python SDK 1.x"),
        requirements=("pagination.invalid-cursor-code", "errors.invalid-params-code"),
    ),
    result(
        "tools.call.is-error-boolean",
        Outcome.EXPECTED,
        tool="add",
        reason="expected a boolean, got 1",
        baseline=EVIL,
    ),
    result(
        "tools.call.result-content-array",
        Outcome.NEW,
        tool="add",
        reason="expected an array, got {}",
        baseline="new in 0.2: rules as of 0.1",
    ),
    result("errors.method-not-found-code", Outcome.INFO, reason="expected -32601, got -32602"),
    result("ping.empty-result", Outcome.PASSED),
    result("stdio.newline-delimited", Outcome.PASSED),
    result("tools.list-changed.sent", Outcome.SKIPPED, reason="the server declares no tools.listChanged"),
    result("stdio.newline-delimited", Outcome.INTERNAL_ERROR, "test_y", reason="KeyError"),
)

REPORT = Report(
    tool_version="1.2.3",
    command=("python", "server.py", "--token", "***", EVIL.replace("\ud800", "")),
    server="evil & <b>sons</b>",
    version="0.1",
    started="2026-11-21T19:00:00+00:00",
    seconds=12.34,
    source="src/server one.py",
    not_applicable={"not a rule of 2025-11-25": 174, "prompts not declared in 2025-11-25": 3},
    measured={REVISION: {"start": 0.125, "tools.count": 2.0, "tools.bytes": 1530.0}},
    revisions=(
        Interface(
            REVISION,
            server="evil & <b>sons</b>",
            version="0.1",
            offers=("tools", "<i>prompts</i>"),
            tools=(
                OfferedTool(
                    "add", called=True, definition={"name": "add", "inputSchema": {"type": "object"}}
                ),
                OfferedTool(EVIL, called=False),
            ),
            left_out=3,
            noise=2,
        ),
        Interface("2026-07-28", REFUSED, "no modern revision"),
    ),
    options={"revision": "all", "strict": True, "call": ["add", "<u>x</u>"]},
    ended="stopped after 1 failure",
    results=in_order(RESULTS),
    not_called=(EVIL,),
    notices=("not tested: 3 of 5 tools in 2025-11-25",),
    exercise=(
        ExercisedTool(
            "add", calls=1234, successes=1200, answers=3, origins=("made up", f"an answer of {EVIL}")
        ),
        ExercisedTool("find", calls=20),
        ExercisedTool(EVIL, "it may not be called (--call)"),
        ExercisedTool("later", "it can only be called as a task"),
        ExercisedTool("review", "", 4, 1, 1, ("an answer of add",), kind="prompt"),
        ExercisedTool("note://{id}", calls=8, kind="template"),
    ),
    hosts=(
        AskedHost(AT_START, "", "https://registry.example", "GET", "/latest"),
        AskedHost(IN_CALL, EVIL, f"https://{EVIL}", "POST", f"/{EVIL}", 20, times=3),
        AskedHost(IN_CALL, "add", "https://own.example", refusal=EVIL),
    ),
    links=(
        ToolLink("add", "find", UseKind.SHOWS, seen=3, trials=3),
        ToolLink("add", EVIL, UseKind.DELETES, f"`{EVIL}` in its answer", 3, 3),
    ),
    lacking=f"1 of 2 tools exercised, 80% required; never: find {EVIL}",
)


def is_read_back(report, read):
    """Return whether a report is as it was before it was written; half a surrogate pair is text then."""
    return without_halves(asdict(read)) == without_halves(asdict(report))
