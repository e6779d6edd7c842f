"""``run --config``: configurations of clients are read, and servers start as their clients start them."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from mcp_conformance.cli.arguments import UsageError, chosen_by, parser, require_server
from mcp_conformance.cli.combined_files import junit_files, prefixed, prefixes
from mcp_conformance.cli.main import main
from mcp_conformance.project.client_configs import BadConfig, NotTestable, read_config
from mcp_conformance.transport.credentials import secrets_of
from mcp_conformance.transport.redaction import Redaction
from support import REFERENCE, environment, forked, mutant, read_junit
from support.nightly import nightly
from support.processes import is_alive, wait_until
from support.repositories import write

RUN = (sys.executable, "-m", "mcp_conformance", "run")
QUICK = ("--select", "ping.empty-result", "--fuzz", "none", "--revision", "2025-11-25")


def started_by(command, **more):
    """Return the entry of a server that this command starts."""
    return {"command": command[0], "args": list(command[1:]), **more}


def config(folder, servers, name=".mcp.json", key="mcpServers"):
    return write(folder, {name: json.dumps({key: servers}, indent=1)}) / name


def entry(folder, about, name=".mcp.json"):
    return read_config(config(folder, {"one": about}, name)).entry("one")


# Choosing


@pytest.mark.parametrize(
    "words", [["baseline", "update", "known.toml"], ["lock"], ["doctor"], ["call", "echo"]]
)
def test_every_command_takes_a_server_of_a_client(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config(tmp_path, {"one": started_by(("x", "--y"), env={"A": "1"}), "two": started_by(("z",))})
    given = ["--config", ".mcp.json", "--env", "B=2"]
    options = parser().parse_args([*words, *given, "--server", "one"])
    name = "baseline update" if words[0] == "baseline" else words[0]
    chosen = chosen_by(options, require_server(options, None, name, ""), name)
    assert (chosen.command.value, chosen.texts("env")) == (("x", "--y"), ("A=1", "B=2"))
    with pytest.raises(UsageError, match=r"choose with --server NAME; it has one, two"):
        require_server(parser().parse_args([*words, *given]), None, name, "")
    with pytest.raises(UsageError, match="--config names the server already"):
        require_server(options, ["x"], name, "")


# Reading


@pytest.mark.parametrize(
    "text",
    [
        '{"mcpServers": {"one": {"command": "x"}}}',
        '{"servers": {"one": {"type": "stdio", "command": "x"}}, "inputs": []}',
        '{"editor.tabSize": 2, "mcp": {"servers": {"one": {"command": "x"}}}}',
        '\ufeff{"mcpServers": {"one": {"command": "x"}}}',
        '{\r\n  // one, "two"\r\n  "servers": {/* ,} */ "one": {"command": "x", /* last */},\r\n},}',
        '{"servers": {"one": {"command": "x", "args": [], // none\n } } }',
    ],
    ids=["Claude", "VS Code", "settings.json", "BOM", "comments", "trailing comma"],
)
def test_the_formats_of_clients_are_read(text, tmp_path):
    (tmp_path / "mcp.json").write_text(text, encoding="utf-8", newline="")
    found = read_config(tmp_path / "mcp.json")
    assert list(found.servers) == ["one"]
    assert found.entry("one").command == ("x",)


def test_a_comment_mark_in_a_string_stays(tmp_path):
    words = ["http://x/*y*/", "a,]", 'say \\"//hi\\"']
    text = f'{{"mcpServers": {{"one": {{"command": "x", "args": {json.dumps(words)}, }} // end\n}}}}'
    assert read_config(write(tmp_path, {"m.json": text}) / "m.json").entry("one").command == ("x", *words)


def test_variables_have_the_values_that_clients_give_them(tmp_path, monkeypatch):
    monkeypatch.setenv("COLOUR", "blue")
    monkeypatch.delenv("MISSING", raising=False)
    words = ["${COLOUR}", "${env:COLOUR}", "${MISSING:-a b}", "${COLOUR:-red}", "$COLOUR", "${MISSING:-}"]
    paths = ["${workspaceFolder}/x", "${workspaceFolderBasename}", "${userHome}", "${pathSeparator}${/}"]
    found = entry(tmp_path, {"command": "x", "args": [*words, *paths], "env": {"C": "<${COLOUR}>", "N": 1}})
    assert found.command[1:7] == ("blue", "blue", "a b", "blue", "$COLOUR", "")
    assert found.command[7:] == (f"{tmp_path}/x", tmp_path.name, str(Path.home()), os.sep * 2)
    assert found.env == {"C": "<blue>", "N": "1"}


@pytest.mark.parametrize("name", [".vscode/mcp.json", ".cursor/mcp.json", ".mcp.json"])
def test_paths_are_relative_to_the_folder_of_the_editor(name, tmp_path):
    write(tmp_path, {"server.js": "", "sub/x": "", ".env": "# keys\nexport A='1 2'\nB=3 # three\n\nC=4\n"})
    about = {
        "command": "node",
        "args": ["./server.js"],
        "envFile": "${workspaceFolder}/.env",
        "env": {"C": "5"},
    }
    found = entry(tmp_path, about, name)
    assert found.command == ("node", str(tmp_path / "server.js"))
    assert found.env == {"A": "1 2", "B": "3", "C": "5"}
    assert found.cwd is None
    assert entry(tmp_path, {**about, "cwd": "sub"}, name).cwd == tmp_path / "sub"
    assert entry(tmp_path, {**about, "cwd": "sub"}, name).command == ("node", "./server.js")


def test_a_module_of_the_workspace_gets_a_python_path(tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    assert entry(tmp_path, {"command": "python", "args": ["-m", "mine"]}).env == {"PYTHONPATH": str(tmp_path)}
    monkeypatch.chdir(tmp_path)
    assert entry(tmp_path, {"command": "python", "args": ["-m", "mine"]}).env == {}


def test_a_credential_in_the_command_is_redacted(tmp_path, monkeypatch):
    monkeypatch.setenv("ACME_TOKEN", "hush-hush-7")
    found = entry(tmp_path, {"command": "x", "args": ["${ACME_TOKEN}"]})
    assert found.env == {}
    assert "hush-hush-7" in Redaction(secrets_of(found.command, found.expanded)).hidden


def test_a_credential_is_recognised_by_its_value():
    """The name of its variable does not matter."""
    given = {"DATABASE_URL": "postgres://me:hunter22@db/x", "KEY": "ghp_" + "a1" * 12, "A": "b"}
    found = Redaction(secrets_of((), given)).hidden
    assert set(found) >= {"me:hunter22", "hunter22", "ghp_" + "a1" * 12}


@pytest.mark.parametrize("key", ["url", "serverUrl", "httpUrl"])
def test_a_server_over_http_has_a_url_and_headers(key, tmp_path, monkeypatch):
    monkeypatch.setenv("MCP_HOST", "https://example.com")
    about = {"type": "http", key: "${MCP_HOST}/mcp", "headers": {"Authorization": "Bearer ${env:MCP_HOST}"}}
    found = entry(tmp_path, about)
    assert (found.url, found.command) == ("https://example.com/mcp", ())
    assert found.headers == {"Authorization": "Bearer https://example.com"}


def test_a_server_with_the_transport_of_2024_is_not_tested(tmp_path):
    with pytest.raises(NotTestable, match=r"HTTP\+SSE"):
        entry(tmp_path, {"type": "sse", "url": "https://x"})


@pytest.mark.parametrize(
    ("about", "message"),
    [
        (
            {"command": "x", "args": ["${MISSING}"]},
            "needs the environment variable MISSING, which is not set",
        ),
        (
            {"command": "x", "env": {"K": "${input:key}"}},
            "its client would ask the user for K: add --env K=VALUE",
        ),
        ({"command": "x", "args": ["${input:key}"]}, "its client would ask the user for ${input:key}"),
        ({"command": "x", "args": ["${config:a.b}"]}, "${config:a.b} has no value here"),
        ({"command": "x", "args": "-m y"}, "its args are not a list of strings"),
        ({"command": ["x"]}, "its command is not a string"),
        ({"command": "x", "env": ["A=1"]}, "its env is not an object"),
        ({"command": "x", "env": {"A=B": "c"}}, "its env has an impossible variable name: 'A=B'"),
        ({"command": "x", "cwd": "no/such"}, "its cwd is not a directory"),
        ({"command": "x", "envFile": "no.env"}, "its envFile"),
        ({"args": []}, "it has neither a command nor a url"),
        (7, "it has neither a command nor a url"),
    ],
)
def test_an_unusable_entry_is_an_error_with_the_reason(about, message, tmp_path, monkeypatch):
    monkeypatch.delenv("MISSING", raising=False)
    with pytest.raises(BadConfig) as caught:
        entry(tmp_path, about)
    assert str(caught.value).startswith("one: ")
    assert message in str(caught.value)


def test_a_variable_of_the_user_replaces_that_of_the_entry(tmp_path):
    path = config(tmp_path, {"one": {"command": "x", "env": {"K": "${input:key}", "A": "b"}}})
    assert read_config(path).entry("one", frozenset(["K"])).env == {"A": "b"}


# Errors


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        ("{", (), "mcp.json: not JSON: "),
        ('{"mcpServers": {"a" {}}}', (), "line 1 column 21"),
        ("[]", (), "it names no server"),
        ('{"mcpServers": {}}', (), "it names no server"),
        ("{}", ("--", "x"), "--config names the server already"),
        ('{"mcpServers": {"a": {}, "b": {}}}', (), "choose with --server NAME or --all; it has a, b"),
        ('{"mcpServers": {"a": {}}}', ("--server", "b"), "it has no server 'b'; it has a"),
        ('{"mcpServers": {"a": {}}}', (), "a: it has neither a command nor a url"),
        ('{"mcpServers": {"a": {"type": "sse", "url": "x"}}}', (), "a cannot be tested: it speaks HTTP+SSE"),
        (
            '{"mcpServers": {"a": {"command": "x"}}}',
            ("--all", "--baseline", "b"),
            "a baseline belongs to one",
        ),
    ],
)
def test_an_error_is_one_line_with_exit_status_4(text, words, message, tmp_path, capsys):
    path = write(tmp_path, {"mcp.json": text}) / "mcp.json"
    assert main(["run", "--config", str(path), *words]) == 4
    captured = capsys.readouterr()
    assert message in captured.err
    assert len(captured.err.splitlines()) == 1
    assert captured.out == ""


def test_a_missing_file_is_an_error(tmp_path, capsys):
    assert main(["run", "--config", str(tmp_path / "no.json")]) == 4
    assert capsys.readouterr().err.endswith("no.json: No such file or directory\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--all"], "mcp-conformance.toml or [tool.mcp-conformance]"),
        (["--server", "a"], "mcp-conformance.toml or [tool.mcp-conformance]"),
        (["--require-all"], "--require-all belongs to --all"),
        (["--all", "--", "x"], "remove -- and what follows it"),
        (["--server", "a", "--", "x"], "remove -- and what follows it"),
    ],
)
def test_a_choice_without_a_file_is_an_error(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["run", *words]) == 4
    assert message in capsys.readouterr().err


# Running


def test_a_server_gets_its_environment_and_reports_redact_it(tmp_path):
    """The server exits with its key in the message, and with its working directory."""
    code = "import os, sys; sys.exit(f\"{os.environ['PLACE']} {os.environ['API_KEY']} {os.environ['MINE']}\")"
    about = {"PLACE": "${workspaceFolder}", "API_KEY": "hush-hush-7", "MINE": "${input:mine}"}
    path = config(tmp_path, {"one": started_by((sys.executable, "-c", code), env=about)})
    before = path.read_bytes()
    report = tmp_path / "report.json"
    words = ["run", "--config", str(path), "--env", "MINE=ours", f"--report={report}", *QUICK]
    status, output = forked(words, tmp_path, 60)
    assert status == 6
    for text in (output, report.read_text("utf-8")):
        assert f"{tmp_path} *** ours" in text
        assert "hush-hush-7" not in text
    assert path.read_bytes() == before


@pytest.mark.parametrize(("words", "status"), [([], 0), (["--require-all"], 1)])
def test_a_server_that_cannot_be_tested_fails_if_all_are_required(words, status, tmp_path):
    config(
        tmp_path, {"right": started_by(REFERENCE), "far": {"type": "http", "url": "https://example.com/mcp"}}
    )
    run = forked(["run", "--config", ".mcp.json", "--all", *words, *QUICK], tmp_path, 120)
    assert run[0] == status, run[1]


def test_all_servers_run_with_a_summary(tmp_path):
    servers = {
        "right": started_by(REFERENCE),
        "wrong one": started_by(mutant("ping_result_has_payload"), env={"A": "b"}),
        "far": {"type": "http", "url": "https://example.com/mcp"},
        "lacking": {"command": "x", "args": ["${SURELY_NOT_SET}"]},
        "off": {"command": "x", "disabled": True},
        "gone": {"command": "no-such-program-anywhere"},
    }
    path = config(tmp_path, servers)
    words = [
        "run",
        "--config",
        ".mcp.json",
        "--all",
        "--report",
        "out/report.json",
        "--junitxml=junit.xml",
        *QUICK,
    ]
    before = path.read_bytes()
    status, output = forked(words, tmp_path, 120)
    assert status == 1
    summary = "6 servers, 1 passed, 1 failed, 2 skipped, 2 not run"
    shown, _, table = output.rpartition(f"==== .mcp.json: {summary} ====\n\n")
    rows = [row.split() for row in table.splitlines()]
    assert rows[0] == ["server", "outcome", "failed", "passed", "seconds"]
    assert [row[:4] for row in rows[1:3]] == [["right", "passed", "0", "1"], ["wrong", "one", "failed", "1"]]
    assert "skipped  it is remote: --server far tests it all the same" in table
    assert "not run  it needs the environment variable SURELY_NOT_SET" in table
    assert "skipped  it is disabled" in table
    assert "There is no program on the PATH called no-such-program-anywhere" in shown
    assert "FAILED ping.empty-result" in shown
    assert shown.count("verdict:") == 1, "the report of a server that passed is not printed"
    assert [case.outcome for case in read_junit(tmp_path / "junit.xml")] == ["passed", "failed"]
    suites = ElementTree.parse(tmp_path / "junit.xml").getroot()
    untested = {suite.get("name"): suite[0][0].tag for suite in suites if suite[0].get("name") == "tested"}
    assert untested == {"far": "skipped", "lacking": "failure", "off": "skipped", "gone": "failure"}
    files = ["report.json", "right-report.json", "wrong_one-report.json"]
    assert sorted(one.name for one in (tmp_path / "out").iterdir()) == files
    written = json.loads((tmp_path / "out/report.json").read_text())
    lines = path.read_text().splitlines()
    for one in written["servers"]:
        assert lines[one["line"] - 1].strip().startswith(json.dumps(one["name"]))
    assert path.read_bytes() == before


HANGS = """
import os, time
print(os.getpid(), file=open({marker!r}, "w"), flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=nightly), signal.SIGKILL]
)
def test_a_signal_ends_all_servers(number, tmp_path):
    """It reaches only the first process."""
    (tmp_path / "scratch").mkdir()
    markers = [tmp_path / name for name in ("first", "second")]
    for marker in markers:
        os.mkfifo(marker)
    hang = {one.name: started_by((sys.executable, "-c", HANGS.format(marker=str(one)))) for one in markers}
    config(tmp_path, {**hang, "next": started_by(REFERENCE)})
    ours = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "mcp_conformance",
            "run",
            "--config",
            ".mcp.json",
            "--all",
            "--jobs=2",
            *QUICK,
        ],
        env=environment(TMPDIR=str(tmp_path / "scratch")),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        text=True,
    )
    pids = [int(marker.read_text()) for marker in markers]
    ours.send_signal(number)
    output, _ = ours.communicate(timeout=60)
    if number == signal.SIGKILL:
        wait_until(lambda: not any(map(is_alive, pids)) and not [*(tmp_path / "scratch").iterdir()])
        return
    assert ours.returncode == 2, output
    assert not any(map(is_alive, pids))
    _, _, table = output.rpartition("seconds\n" if "seconds\n" in output else "outcome\n")
    assert [line.split()[:2] for line in table.splitlines()] == [
        ["first", "interrupted"],
        ["second", "interrupted"],
        ["next", "skipped"],
    ]


def test_files_for_junit_are_found_among_the_options_of_pytest():
    rest = ["-n", "2", "--junitxml=a.xml", "--junit-xml", "b.xml", "-k", "b.xml"]
    assert junit_files(rest) == (["a.xml", "b.xml"], ["-n", "2", "-k", "b.xml"])


def test_each_server_has_its_own_files():
    """The ending stays, as it is the format."""
    assert prefixed(Path("out/a.sarif.json"), "x") == Path("out/x-a.sarif.json")

    names = ["a b", "a/b", "A_B", "../x", ".", "a"]
    found = list(prefixes(names).values())
    assert len({one.lower() for one in found}) == len(names)
    assert all(prefixed(Path("r.json"), one).parent == Path() for one in found)
