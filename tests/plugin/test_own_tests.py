"""Tests that a user writes with the public API: they run, fail, shrink and show the lines of the session."""

import ast
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import mcp_conformance
from mcp_conformance.plugin.own_tests import serving
from mcp_conformance.target.settings import Settings
from support import REFERENCE, run_suite
from support.nightly import nightly
from support.processes import is_alive
from support.repositories import PYTEST, alone_environment, on, run_pytest, server_named, write
from support.running import script

SERVER = """
import json, os, sys, time

INTEGER = {"type": "integer"}
TWO = {"type": "object", "properties": {"a": INTEGER, "b": INTEGER}, "required": ["a", "b"]}
TWO["additionalProperties"] = False
RIDDLE = {"type": "string", "pattern": "^(?=q)(?=.y$)", "maxLength": 2}
NEVER = {"type": "object", "properties": {"x": RIDDLE}, "required": ["x"]}
HINT = {"annotations": {"readOnlyHint": True}}
TOOLS = [
    {"name": "add", "inputSchema": TWO, **HINT},
    {"name": "get-sum", "inputSchema": TWO},
    {"name": "slow", "inputSchema": {"type": "object"}},
    {"name": "crash", "inputSchema": {"type": "object"}},
    {"name": "fragile", "inputSchema": TWO},
    {"name": "hang", "inputSchema": TWO},
    {"name": "unmakeable", "inputSchema": NEVER, **HINT},
]
WRONG = int(os.environ.get("WRONG_FROM", 10**400))


class Refused(Exception):
    pass


def result(method, params):
    if method == "initialize":
        info = {"name": "calculator", "version": "1"}
        revision = os.environ.get("ONLY", params["protocolVersion"])
        return {"protocolVersion": revision, "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method != "tools/call":
        return {}
    name, arguments = params["name"], params["arguments"]
    if "LOG" in os.environ:
        with open(os.environ["LOG"], "a") as log:
            log.write(json.dumps([name, arguments]) + "\\n")
    if name == "crash" or (name == "fragile" and arguments["b"] > 1000):
        sys.exit("it was too much")
    if name == "hang" and arguments["b"] > 1000:
        if "PID" in os.environ:
            open(os.environ["PID"], "w").write(str(os.getpid()))
        sys.stdin.read()
    if name == "slow":
        time.sleep(0.3)
    if name not in ("add", "get-sum"):
        return {"content": []}
    if set(arguments) != {"a", "b"} or any(type(number) is not int for number in arguments.values()):
        return {"content": [{"type": "text", "text": "two integers, please"}], "isError": True}
    number = sum(arguments.values())
    number += number > WRONG
    return {"content": [{"type": "text", "text": str(number)}], "structuredContent": {"sum": number}}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        answer = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            answer["result"] = result(message["method"], message.get("params", {}))
        except KeyError as error:
            answer["error"] = {"code": -32602, "message": f"missing: {error}", "data": [1]}
        print(json.dumps(answer), flush=True)
"""
START = server_named((sys.executable, "calculator.py"))
SUM = """
from mcp_conformance import for_valid_arguments


@for_valid_arguments("add")
def test_the_sum_is_right(add, arguments):
    assert add(**arguments).structured["sum"] == arguments["a"] + arguments["b"]
"""
EXAMPLES = f"""{SUM}
import pytest
from hypothesis import given, strategies as st
from mcp_conformance import NoAnswer, invalid_arguments, valid_arguments


def test_a_sum_in_words(conformance_server):
    result = conformance_server.call("add", {{"a": 1, "b": 2}})
    assert result.ok and result.text == "3"


@given(data=st.data())
def test_a_refusal_changes_nothing(conformance_server, data):
    add = conformance_server.tool("add")
    arguments = data.draw(valid_arguments(add))
    before = add(**arguments).structured
    assert not add(**data.draw(invalid_arguments(add))).ok
    assert add(**arguments).structured == before


def test_it_is_back_after_a_crash(conformance_server):
    with pytest.raises(NoAnswer):
        conformance_server.call("crash")
    assert conformance_server.call("add", {{"a": 1, "b": 2}}).ok
"""
"""A module with each way to write a test."""


def repository(folder, **tests):
    return write(folder, {"calculator.py": SERVER, **{f"{name}.py": text for name, text in tests.items()}})


# Tests that pass ---------------------------------------------------------------------------------

VARIANTS = """
import json
import unittest
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mcp_conformance import McpServer, McpTool, for_valid_arguments, valid_arguments


@for_valid_arguments("get-sum")
def test_underscores(get_sum, arguments):
    assert get_sum(**arguments).ok


@pytest.mark.parametrize("factor", [1, 2])
@for_valid_arguments("get-sum", more=st.integers(0, 3))
def test_everything(tool, arguments, more, factor, tmp_path_factory):
    assert isinstance(tool, McpTool)
    assert tmp_path_factory
    assert factor in (1, 2)
    assert 0 <= more <= 3
    assert tool(**arguments).is_error is False


SEEN = []

@for_valid_arguments("add")
@settings(max_examples=5)
@example(arguments={"a": 8, "b": 9})
def test_settings_below(add, arguments):
    SEEN.append(arguments)
    arguments.clear()  # a test may change its arguments


@example(arguments={"a": 8, "b": 9})
@settings(max_examples=5)
@for_valid_arguments("add")
def test_settings_above(arguments):
    SEEN.append(arguments)


def test_the_examples_and_the_settings_were_used():
    assert len(SEEN) == 12
    assert SEEN[6] == {"a": 8, "b": 9}


class TestMethods:
    @for_valid_arguments("add")
    def test_method(self, add, arguments):
        assert add(**arguments).ok


class TestUnittest(unittest.TestCase):
    @for_valid_arguments("add")
    def test_case(self, add, arguments):
        self.assertTrue(add(**arguments).ok)


@settings(max_examples=3)
@for_valid_arguments("slow")
def test_slow(slow, arguments):
    assert slow(**arguments).content == []


@given(data=st.data())
@settings(max_examples=3)
def test_slow_tool_in_drawn_data(conformance_server, data):
    assert conformance_server.tool("slow")(**data.draw(valid_arguments(conformance_server.tool("slow")))).ok


def test_the_server(conformance_server):
    assert isinstance(conformance_server, McpServer)
    assert conformance_server.revision == "2025-11-25"
    assert [tool.name for tool in conformance_server.tools][:2] == ["add", "get-sum"]
    assert conformance_server.request("tools/list").json["tools"][0]["name"] == "add"
    conformance_server.restart()
    assert conformance_server.request("ping").json == {}


def test_refusals(conformance_server):
    failed = conformance_server.call("add", {"a": 1})
    assert (failed.ok, failed.is_error, failed.error) == (False, True, None)
    assert failed.text == "two integers, please"
    with pytest.raises(AssertionError, match="no structuredContent.*two integers"):
        failed.structured
    refused = conformance_server.request("tools/call", {"name": "add"})
    assert (refused.ok, refused.is_error) == (False, False)
    assert (refused.error.code, refused.error.data) == (-32602, [1])
    assert refused.error.message == "missing: 'arguments'"
    with pytest.raises(AssertionError, match="there is no result.*-32602"):
        refused.text
"""
PASSING = [
    *("test_the_sum_is_right", "test_a_sum_in_words", "test_a_refusal_changes_nothing"),
    *("test_it_is_back_after_a_crash", "test_underscores", "test_everything[1]", "test_everything[2]"),
    *("test_settings_below", "test_settings_above", "test_the_examples_and_the_settings_were_used"),
    *(
        "test_method",
        "test_case",
        "test_slow",
        "test_slow_tool_in_drawn_data",
        "test_the_server",
        "test_refusals",
    ),
]


@pytest.mark.parametrize(
    "options",
    [
        pytest.param([], id="alone"),
        pytest.param(["-n", "2", "--dist", "loadfile"], id="two workers", marks=nightly),
    ],
)
def test_documented_api_works(tmp_path, options):
    repo = repository(tmp_path / "repo", test_examples=EXAMPLES, test_variants=VARIANTS)
    run = run_pytest(repo, START, "-W", "error", "--conformance-call=none", *options, ".")
    assert run.is_clean([], PASSING)


def test_own_tests_run_with_the_suites(tmp_path):
    echoes = "assert echo(**arguments).text == arguments['text']"
    decorated = "@for_valid_arguments('echo')\ndef test_echo(echo, arguments):"
    text = f"from mcp_conformance import for_valid_arguments\n{decorated}\n    {echoes}\n"
    repo = repository(tmp_path / "repo", test_mine=text)
    run = run_pytest(repo, *on(REFERENCE), "-W", "error", "--conformance-select=capabilities")
    assert run.exit == 0, run.output
    assert run.own == ["test_echo"]
    assert run.cases


@nightly
def test_the_same_seed_tries_the_same_arguments(tmp_path):
    repo = repository(tmp_path / "repo", test_examples=EXAMPLES)
    logs = [tmp_path / name for name in ("one", "two", "other")]
    for log, seed in zip(logs, (1, 1, 2), strict=True):
        run = run_pytest(
            repo, START, ".", f"--hypothesis-seed={seed}", "-k", "sum_is", f"--conformance-env=LOG={log}"
        )
        assert run.exit == 0, run.output
    assert logs[0].read_text() == logs[1].read_text() != logs[2].read_text()


EACH = """
import pytest
from hypothesis import settings
from mcp_conformance import for_each_tool

@for_each_tool
def test_listed(tool):
    assert tool.definition["inputSchema"]

@for_each_tool
@settings(max_examples=3)
def test_arguments(tool, arguments):
    assert tool(**arguments).ok

@pytest.mark.skip_tools("unm*", reason="nobody can make it")
class TestClass:
    @for_each_tool()
    def test_method(self, tool, tmp_path):
        assert tool(a=1, b=2).ok and tmp_path.exists()
"""
TOOL_NAMES = ("add", "get-sum", "slow", "crash", "fragile", "hang", "unmakeable")


@nightly
def test_a_test_for_each_tool_is_skipped_for_those_that_it_may_not_call(tmp_path):
    repo = repository(tmp_path / "repo", test_each=EACH)
    run = run_pytest(repo, START, "-W", "error", "-rs", "--conformance-call=readonly", ".")
    listed = {f"test_listed[{tool}]" for tool in TOOL_NAMES}
    assert set(run.own) == {*listed, "test_method[add]", "test_arguments[add]"}, run.output
    assert "no valid arguments are known for unmakeable" in run.output
    assert "the tool may write, and nothing releases it (--conformance-call slow)" in run.output
    assert "nobody can make it" in run.output


WORLD_TESTS = """
from hypothesis import settings
from mcp_conformance import for_valid_arguments

SEEN = []

@for_valid_arguments("read")
@settings(max_examples=30)
def test_reading(tool, arguments):
    SEEN.append(tool(**arguments).ok)

def test_some_arguments_work():
    assert any(SEEN)
"""


def test_arguments_have_values_that_exist(tmp_path):
    repo = repository(tmp_path / "repo", test_world=WORLD_TESTS)
    server = server_named((sys.executable, script("file_reader")))
    run = run_pytest(repo, server, "--conformance-call=none", ".")
    assert set(run.own) == {"test_reading", "test_some_arguments_work"}, run.output


def test_the_server_runs_in_the_newest_revision_that_it_speaks(tmp_path):
    text = "def test_it(conformance_server):\n    assert conformance_server.revision == '2026-07-28'\n"
    repo = repository(tmp_path / "repo", test_newest=text)
    run = run_pytest(repo, server_named(REFERENCE), "--conformance-revision=latest", ".")
    assert run.own == ["test_it"], run.output


# Tests that fail ---------------------------------------------------------------------------------

FAILING = """
import pytest
from hypothesis import settings
from mcp_conformance import for_valid_arguments

def test_plain(conformance_server):
    conformance_server.call("add", {"a": 1, "b": 2})
    assert conformance_server.call("add", {"a": 1, "b": 100}).structured == {"sum": 101}

def test_failure_without_a_request(conformance_server):
    assert 1 == 2

@for_valid_arguments("fragile")
def test_dies(fragile, arguments):
    fragile(**arguments)

@for_valid_arguments("hang")
def test_hangs(hang, arguments):
    hang(**arguments)

def test_runs_again(conformance_server):
    assert conformance_server.call("add", {"a": 1, "b": 1}).text == "2"

@for_valid_arguments("ad")
def test_unlisted_tool(arguments):
    pass

@for_valid_arguments("unmakeable")
def test_tool_without_valid_arguments(arguments):
    pass

@settings(deadline=100, max_examples=2)
@for_valid_arguments("slow")
def test_deadline(slow, arguments):
    slow(**arguments)
"""


@pytest.fixture(scope="module")
def failures(tmp_path_factory):
    """Return the output about each failed test, on a server whose sums above 100 are wrong."""
    folder = tmp_path_factory.mktemp("failures")
    repo = repository(folder / "repo", test_examples=EXAMPLES, test_failing=FAILING)
    run = run_pytest(repo, START, "--conformance-env=WRONG_FROM=100", "--conformance-timeout=2", ".")
    assert run.exit == 1
    names = [f"test_{name}" for name in ("a_sum_in_words", "runs_again", "it_is_back_after_a_crash")]
    assert set(names) <= set(run.own), run.output
    parts = re.split(r"\n_{3,} (\w+) _{3,}\n", run.output.partition("short test summary")[0])
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@nightly
def test_a_failure_shows_the_shrunk_arguments_and_their_lines(failures):
    text = failures["test_the_sum_is_right"]
    assert re.search(r"arguments=\{'a': 0, 'b': 101\}", text), text
    (request,) = re.findall(r"> (\{.*\})", text)
    (answer,) = re.findall(r"< (\{.*\})", text)
    assert json.loads(request)["params"] == {"name": "add", "arguments": {"a": 0, "b": 101}}
    assert json.loads(answer)["result"]["structuredContent"] == {"sum": 102}


def test_a_failure_of_a_plain_test_shows_only_its_own_lines(failures):
    text = failures["test_plain"]
    assert re.findall(r'^[<>] .*("b":2|"3"|"b":100|"102")', text, re.MULTILINE) == [
        *('"b":2', '"3"', '"b":100', '"102"')
    ]
    assert "jsonrpc" not in failures["test_failure_without_a_request"]


def test_exit_is_shown_and_shrunk(failures):
    text = failures["test_dies"]
    assert "was not answered: the server process ended (exit status 1)" in text
    assert "stderr: it was too much" in text
    assert re.search(r'> .*"name":"fragile","arguments":\{"a":0,"b":1001\}', text), text


def test_hang_costs_a_few_timeouts(failures):
    text = failures["test_hangs"]
    assert "was not answered: no answer within 2 s" in text
    assert re.search(r'> .*"name":"hang"', text), text


def test_tool_that_cannot_be_tested_fails_with_the_reason(failures):
    assert (
        failures["test_unlisted_tool"].strip().splitlines()[0]
        == "the server has no tool 'ad'; did you mean 'add'?"
    )
    assert failures["test_tool_without_valid_arguments"].startswith(
        "no valid arguments are known for unmakeable: "
    )
    assert (
        "--conformance-example 'unmakeable {...}' gives some" in failures["test_tool_without_valid_arguments"]
    )


def test_a_deadline_of_the_user_is_kept(failures):
    assert "DeadlineExceeded" in failures["test_deadline"]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ([], "no server is named: --conformance-server, or command in mcp-conformance.toml"),
        ([server_named((sys.executable, "-c", "import sys; sys.exit('no config')"))], "stderr: no config"),
        (
            [START, "--conformance-revision=2025-11-25", "--conformance-env=ONLY=2025-06-18"],
            "offers revision 2025-06-18, not 2025-11-25",
        ),
        (
            [START, "--conformance-example=ad {}"],
            "--conformance-example: the server has no tool 'ad'; did you mean add?",
        ),
    ],
    ids=["no server", "dead server", "revision", "example"],
)
def test_own_tests_fail_without_a_usable_server(tmp_path, option, message):
    repo = repository(tmp_path / "repo", test_examples=EXAMPLES)
    run = run_pytest(repo, *option, ".")
    assert run.exit == 1
    assert run.own == []
    assert message in run.output
    assert "Traceback" not in run.output


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("def test_bad(add)", "test_bad must have a parameter 'arguments'"),
        pytest.param(
            "async def test_bad(add, arguments)", "use a library like pytest-asyncio", marks=nightly
        ),
    ],
)
def test_a_function_with_unsuitable_parameters_is_refused(tmp_path, head, message):
    text = (
        f"from mcp_conformance import for_valid_arguments\n@for_valid_arguments('add')\n{head}:\n    pass\n"
    )
    run = run_pytest(repository(tmp_path / "repo", test_bad=text), START, ".")
    assert message in run.output


def test_an_option_for_the_suites_has_no_effect_without_them_and_the_run_says_so(tmp_path):
    repo = repository(tmp_path / "repo", test_mine="def test_mine(): pass\n")
    run = run_pytest(repo, "--conformance-select=ping", "--conformance-strict", ".")
    wanted = "--conformance-select, --conformance-strict: the suites did not run; --conformance runs them"
    assert (run.exit, wanted in run.output) == (0, True), run.output


@nightly
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_ends_the_server(tmp_path):
    called = tmp_path / "called"
    os.mkfifo(called)
    test = "def test_long(conformance_server):\n    conformance_server.call('hang', {'a': 0, 'b': 2000})\n"
    repo = repository(tmp_path / "repo", test_long=test)
    command = [*PYTEST, START, f"--conformance-env=PID={called}", "."]
    ours = subprocess.Popen(command, cwd=repo, env=alone_environment(), stdout=subprocess.PIPE)
    pid = int(called.read_text())
    assert is_alive(pid)
    ours.send_signal(signal.SIGINT)
    output, _ = ours.communicate(timeout=30)
    assert ours.returncode == 2, output.decode()
    assert not is_alive(pid)


# Public names ------------------------------------------------------------------------------------


def test_every_public_name_exists_and_is_typed():
    tree = ast.parse(Path(mcp_conformance.__file__).read_text("utf-8"))
    typed = [
        alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names
    ]
    assert set(mcp_conformance.__all__) == {*typed} - {"annotations", "import_module", "TYPE_CHECKING", "Any"}
    assert all(getattr(mcp_conformance, name).__name__ == name for name in mcp_conformance.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        getattr(mcp_conformance, "nonsense")  # noqa: B009


def test_heavy_modules_are_imported_only_when_used():
    heavy = "print(sorted({'hypothesis', 'jsonschema', 'mcp_conformance.testing'} & {*sys.modules}))"
    code = f"import sys, mcp_conformance, mcp_conformance.plugin; dir(mcp_conformance); {heavy}"
    done = subprocess.run(
        [sys.executable, "-c", code], env=alone_environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


# Examples of the user ----------------------------------------------------------------------------


def logged(log):
    return [json.loads(line) for line in log.read_text().splitlines()]


FIRST, SECOND = {"a": 70, "b": 8}, {"a": 90, "b": 4}
TWO = ("--example", f"add {json.dumps(FIRST)}", "--example", f"add {json.dumps(SECOND)}")


def calls(folder, *options):
    """Return the calls that a run of the suites makes."""
    log, repo = folder / "log", repository(folder / "repo")
    run = run_suite((sys.executable, "calculator.py"), "--env", f"LOG={log}", *options, cwd=repo)
    assert run.cases, run.output
    return logged(log)


def test_own_tests_try_examples_first(tmp_path):
    repo = repository(tmp_path / "repo", test_examples=EXAMPLES)
    lines = "".join(f"  add {json.dumps(one)}\n" for one in (FIRST, SECOND))
    write(repo, {"pytest.ini": f"[pytest]\nconformance_examples =\n{lines}"})
    log = tmp_path / "log"
    run = run_pytest(repo, START, f"--conformance-env=LOG={log}", "-k", "sum_is", ".")
    assert run.is_clean([], ["test_the_sum_is_right"])
    assert [arguments for _, arguments in logged(log)[:2]] == [FIRST, SECOND]


@nightly
def test_every_check_calls_with_the_first_example(tmp_path):
    made = [
        arguments
        for name, arguments in calls(tmp_path, *TWO, "--fuzz=none", "--select=tools")
        if name == "add"
    ]
    numbers = {(name, number) for one in made for name, number in dict(one).items() if type(number) is int}
    assert numbers == {*FIRST.items()}


def test_fuzzer_tries_examples(tmp_path):
    select = ("--select", "jsonrpc.response-every-request[add]")
    assert ["add", SECOND] in calls(tmp_path, *TWO, *select)


def test_examples_are_used_for_a_tool_without_generated_arguments(tmp_path):
    rules = ("tools.call.listed-is-callable", "jsonrpc.response-every-request[unmakeable]")
    options = ("--select", ",".join(rules))
    assert "unmakeable" not in {name for name, _ in calls(tmp_path / "without", *options)}
    made = calls(tmp_path / "with", *options, "--example", 'unmakeable {"x": "qy"}')
    assert ["unmakeable", {"x": "qy"}] in made


def test_examples_release_no_tool(tmp_path):
    made = calls(tmp_path, "--example", 'slow {"a": 1}', "--fuzz=none", "--select", "tools.call,progress")
    assert "add" in {name for name, _ in made}
    assert "slow" not in {name for name, _ in made}


@pytest.mark.parametrize(
    ("example", "message"),
    [
        ("add {", "--example: not JSON"),
        ("add [1]", "--example: arguments are a JSON object, not '[1]'"),
        ("ad {}", "--example: the server has no tool 'ad'; did you mean add?"),
        ("multiply {}", "--example: the server has no tool 'multiply'; it has add, "),
        (
            'add {"a": 1}',
            "--example: these arguments are not valid for add in 2025-11-25: 'b' is a required",
        ),
    ],
)
def test_invalid_example_is_one_line(example, message):
    run = run_suite(REFERENCE, "--example", example)
    assert run.exit == 4
    (line,) = [line for line in run.output.splitlines() if line.strip()]
    assert line.startswith(f"ERROR: {message}")


def test_invalid_example_also_stops_two_workers():
    run = run_suite(REFERENCE, "--example", "ad {}", "-n", "2")
    assert run.exit == 4
    assert "--example: the server has no tool 'ad'; did you mean add?" in run.output


# A server object, without a process ---------------------------------------------------------------

SDK = """
from contextlib import asynccontextmanager

@asynccontextmanager
async def stdio_server(stdin, stdout):
    yield stdin, stdout
"""
OBJECT = """
import json
from pathlib import Path

TOOL = {"name": "count", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
OFFERS = {"tools": {}, "resources": {}, "prompts": {}, "logging": {}}


class Server:
    level = "none"

    def create_initialization_options(self):
        return None

    async def run(self, reading, writing, options):
        async def send(**message):
            await writing.write(json.dumps({"jsonrpc": "2.0", **message}) + "\\n")

        async for line in reading:
            message = json.loads(line)
            params, answer = message.get("params", {}), self.answer(message["method"], message.get("params"))
            if message["method"] == "tools/call":
                token = params.get("_meta", {}).get("progressToken", "nobody's")
                await send(method="notifications/progress", params={"progressToken": token, "progress": 1})
                await send(method="notifications/message", params={"level": self.level, "data": "counted"})
            if "id" in message and answer is None:
                await send(id=message["id"], error={"code": -32601, "message": "no"})
            elif "id" in message:
                await send(id=message["id"], result=answer)

    def answer(self, method, params):
        if method == "initialize":
            info = {"name": "counter", "version": "1"}
            return {"protocolVersion": "2025-11-25", "capabilities": OFFERS, "serverInfo": info}
        if method == "logging/setLevel":
            self.level = params["level"]
        text = {"type": "text", "text": "one"}
        return {
            "tools/list": {"tools": [TOOL]},
            "tools/call": {"content": [text]},
            "resources/list": {"resources": [{"uri": "a://b", "name": "b"}]},
            "resources/read": {"contents": [{"uri": "a://b", "text": "two"}]},
            "prompts/list": {"prompts": [{"name": "ask"}]},
            "prompts/get": {"messages": [{"role": "user", "content": {**text, "text": "three"}}]},
            "logging/setLevel": {},
        }.get(method)


def make():
    return Server()


wrong = {}
"""
OBJECT_TESTS = """
import asyncio

import pytest
from mcp_conformance import for_each_tool


def test_lists(conformance_server):
    assert conformance_server.call("count").logs[0]["level"] == "none"
    assert [one["name"] for one in conformance_server.resources] == ["b"]
    assert [one["name"] for one in conformance_server.prompts] == ["ask"]
    with pytest.raises(AssertionError, match="resources/templates/list: "):
        conformance_server.resource_templates


def test_texts(conformance_server):
    assert conformance_server.read("a://b").text == "two"
    assert conformance_server.prompt("ask").text == "three"


def test_notifications(conformance_server):
    conformance_server.log_level("info")
    result = conformance_server.call("count", progress=True)
    assert [one["progress"] for one in result.progress] == [1]
    assert result.logs == [{"level": "info", "data": "counted"}]
    assert conformance_server.call("count").progress == []


def test_the_level_holds_in_a_new_session_of_a_new_object(conformance_server):
    conformance_server.restart()
    assert conformance_server.call("count").logs[0]["level"] == "info"


async def test_async(conformance_session):
    calls = [conformance_session.call("count") for _ in range(3)]
    more = [conformance_session.read("a://b"), conformance_session.prompt("ask")]
    found = await asyncio.gather(*calls, *more, conformance_session.request("prompts/list"))
    await conformance_session.restart()
    assert [one.ok for one in found] == [True] * 6


@for_each_tool
async def test_each(tool):
    assert (await tool()).text == "one" and tool.name == "count"
"""


def test_a_server_object_is_tested_without_a_process(tmp_path):
    files = {"mcp/server/stdio.py": SDK, "counter.py": OBJECT, "test_it.py": OBJECT_TESTS}
    repo = write(tmp_path / "repo", files)
    run = run_pytest(repo, "--conformance-object=counter:make", "-W", "error", ".", lean=())
    assert len(run.own) == 6, run.output
    assert run.exit == 0, run.output


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("counter.py", "a module and a name are expected, such as shop.server:mcp, not 'counter.py'"),
        pytest.param("nowhere:mcp", "nowhere:mcp: ModuleNotFoundError", marks=nightly),
        pytest.param("counter:none", "counter:none: AttributeError", marks=nightly),
        pytest.param(
            "counter:wrong", "counter:wrong: builtins.dict is no server of the Python SDK", marks=nightly
        ),
    ],
)
def test_an_object_that_is_not_there_is_one_clear_line(tmp_path, place, message):
    repo = write(tmp_path / "repo", {"counter.py": OBJECT, "test_it.py": "def test(conformance_server): ..."})
    run = run_pytest(repo, f"--conformance-object={place}", ".", lean=())
    assert f"--conformance-object: {message}" in run.output, run.output


def test_a_missing_program_is_named_with_what_to_do():
    wanted = "the server did not start: There is no program on the PATH called no-such-server"
    settings = Settings(("no-such-server",))
    with pytest.raises(pytest.fail.Exception, match=wanted), serving(None, settings, ("latest",)):
        pass
