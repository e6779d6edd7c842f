"""The configuration file: what it may hold, who reads it, and what wins."""

import json
import subprocess
import sys
import tomllib

import jsonschema
import pytest

from mcp_conformance.options.configuration import BadConfiguration, nearest_configuration
from mcp_conformance.options.schema import FOLDER, schema, schema_files
from mcp_conformance.project.files import CONFIGURATION_FILE
from support import REFERENCE, forked

COMMAND = json.dumps(list(REFERENCE))
QUICK = ("--fuzz", "none", "--revision", "2025-11-25", "--select", "ping")
EVERY_FORM = """
command = "python 'my server.py'"
timeout = 60
fuzz = "none"
strict = true
cwd = "."
contract = "none"
call = ["search", "get_*"]
skip = "ping"
env = { KEY = "a b", PORT = 8000 }
budget = { start = "2s" }
example.search = [{ query = "a" }, { query = "b" }]
failing-call.search = { query = 5 }
report = ["out/report.html"]
"""


def configuration(folder, text, name=CONFIGURATION_FILE):
    (folder / name).write_text(text, encoding="utf-8")
    return nearest_configuration(folder)


# Reading -----------------------------------------------------------------------------------------


def test_options_are_as_the_command_line_gives_them(tmp_path):
    assert configuration(tmp_path, EVERY_FORM).servers[""] == {
        "command": "python 'my server.py'",
        "timeout": "60",
        "fuzz": "none",
        "strict": True,
        "cwd": ".",
        "contract": "none",
        "call": ("search", "get_*"),
        "skip": ("ping",),
        "env": ("KEY=a b", "PORT=8000"),
        "budget": ("start=2s",),
        "example": ('search {"query": "a"}', 'search {"query": "b"}'),
        "failing-call": 'search {"query": 5}',
        "report": ("out/report.html",),
    }


def test_the_nearest_file_counts_and_a_server_adds_to_what_all_share(tmp_path):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    text = '[tool.mcp-conformance]\nfuzz = "none"\n[tool.mcp-conformance.servers.x]\ncommand = ["x"]\n'
    configuration(
        tmp_path, text + '[tool.mcp-conformance.servers.y]\ncommand = "y"\nfuzz = "quick"', "pyproject.toml"
    )
    configuration(tmp_path / "a", "[tool.pytest.ini_options]\n", "pyproject.toml")
    found = nearest_configuration(inner)
    assert found.path == tmp_path / "pyproject.toml"
    values = {name: {key: one.value for key, one in found.chosen(name).items()} for name in "xy"}
    assert values["x"] == {"command": ("x",), "fuzz": "none"}
    assert values["y"] == {"command": "y", "fuzz": "quick"}
    with pytest.raises(BadConfiguration, match="choose a server; it has x, y"):
        found.chosen("")
    with pytest.raises(BadConfiguration, match="unknown server 'z'; there are x, y"):
        found.chosen("z")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("command = ", "Invalid value"),
        ("fuzz = 'none'", "a server needs a command"),
        ("command = []", "command is a text or a list of texts, not []"),
        ("command = 'x'\ntimout = 5", "unknown option 'timout'; did you mean timeout?"),
        ("command = 'x'\nstrict = 'yes'", "strict is true or false, not 'yes'"),
        ("command = 'x'\ntimeout = true", "timeout is a text or a number, not True"),
        ("command = 'x'\nrules = 0.10", 'rules is a text such as "0.1", not 0.1'),
        ("command = 'x'\nfuzz = ['none', 'quick']", "fuzz is one value, not ['none', 'quick']"),
        ("command = 'x'\nexample.search = 5", "example is a table of arguments, not 5"),
        ("command = 'x'\n[servers.y]\ncommand = 'y'", "'command' belongs to a table [servers.NAME]"),
        ("report = 'a.html'\n[servers.y]\ncommand = 'y'", "'report' belongs to a table [servers.NAME]"),
        ("servers = 5", "servers is a table, not 5"),
    ],
)
def test_a_mistake_is_named(text, message, tmp_path):
    with pytest.raises(BadConfiguration) as error:
        configuration(tmp_path, text)
    assert str(tmp_path / CONFIGURATION_FILE) in str(error.value)
    assert message in str(error.value)


def test_the_schema_agrees(tmp_path):
    validator = jsonschema.Draft7Validator(schema())
    project = jsonschema.Draft7Validator(json.loads(schema_files()[FOLDER / "pyproject.schema.json"]))
    several = {"fuzz": "none", "servers": {"x": {"command": ["x"]}}}
    for right in (tomllib.loads(EVERY_FORM), several):
        validator.validate(right)
        project.validate({"project": {}, "tool": {"ruff": {}, "mcp-conformance": right}})
    for wrong in (
        "timout = 5",
        "rules = 0.1",
        "strict = 'yes'",
        "timeout = true",
        "example.search = 5",
        "command = []",
        "fuzz = 'quik'",
        "servers.x = { timout = 5 }",
        "servers.x.servers.y = { timeout = 5 }",
    ):
        table = tomllib.loads(wrong)
        assert list(validator.iter_errors(table)), wrong
        assert list(project.iter_errors({"tool": {"mcp-conformance": table}})), wrong


# Using -------------------------------------------------------------------------------------------


def test_the_command_and_the_plugin_test_the_configured_server(tmp_path):
    options = "fuzz = 'none'\nrevision = '2025-11-25'\nselect = 'ping'\n"
    (tmp_path / "pyproject.toml").write_text(f"[tool.mcp-conformance]\ncommand = {COMMAND}\n{options}")
    assert "reference 1.0.0, revision 2025-11-25" in passed(["run", "--report=a.json"], tmp_path)
    assert "revision 2025-06-18" in passed(["run", "--revision", "2025-06-18"], tmp_path)
    options = json.loads((tmp_path / "a.json").read_text())["run"]["options"]
    assert (options["fuzz"], options["select"]) == ("none", ["ping"])
    pytest_run = [sys.executable, "-m", "pytest", "--conformance", "-p", "no:cacheprovider"]
    assert "reference 1.0.0, revision 2025-11-25" in passed(pytest_run, tmp_path)


def test_options_of_pytest_may_have_their_values_behind_them(tmp_path):
    (tmp_path / CONFIGURATION_FILE).write_text(f"command = {COMMAND}\nselect = 'ping'\nfuzz = 'none'\n")
    for _ in range(2):
        passed(["run", "-k", "ping", "--junitxml", "junit.xml"], tmp_path)
    assert (tmp_path / "junit.xml").is_file()


def test_one_of_several_servers_is_chosen_by_name(tmp_path):
    servers = "".join(f"[servers.{name}]\ncommand = {COMMAND}\n" for name in ("one", "two"))
    (tmp_path / CONFIGURATION_FILE).write_text(
        f"{servers}select = 'ping'\nfuzz = 'none'\nrevision = '2024-11-05'\n"
    )
    assert "revision 2024-11-05" in passed(["run", "--server", "two"], tmp_path)
    exit, output = forked(["run"], tmp_path, 60)
    assert (exit, "choose with --server NAME or --all; it has one, two" in output) == (4, True)
    exit, output = forked(["run", "--server", "too"], tmp_path, 60)
    assert (exit, "it has no server 'too'; it has one, two; did you mean two?" in output) == (4, True)
    (tmp_path / "mcp-contract.json").write_text("{}")  # of no server in particular
    table = passed(["run", "--all", *QUICK], tmp_path).splitlines()[-2:]
    assert [line.split()[:2] for line in table] == [["one", "passed"], ["two", "passed"]]


def test_pytest_names_the_server_that_the_user_may_mean(tmp_path):
    (tmp_path / CONFIGURATION_FILE).write_text(f"[servers.time]\ncommand = {COMMAND}\n")
    words = [sys.executable, "-m", "pytest", "--conformance", "--conformance-server", "tmie"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 4
    assert "no server and no program is called tmie; did you mean time?" in done.stderr


def test_a_command_on_the_command_line_ignores_the_file(tmp_path):
    (tmp_path / CONFIGURATION_FILE).write_text("comand = 'no-such-program'\nmax-tools = 1\n")
    assert passed(["run", *QUICK, "--report=a.json", "--", *REFERENCE], tmp_path)
    assert "max-tools" not in json.loads((tmp_path / "a.json").read_text())["run"]["options"]


def test_other_commands_use_the_configured_server(tmp_path):
    (tmp_path / CONFIGURATION_FILE).write_text(f"command = {COMMAND}\nrevision = '2025-11-25'\n")
    passed(["lock"], tmp_path)
    assert (tmp_path / "mcp-contract.json").is_file()
    assert "command found" in passed(["doctor"], tmp_path)


def passed(words, folder):
    """Return the output of a command that ends with status 0."""
    if words[0] == sys.executable:
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
        exit, output = done.returncode, done.stdout + done.stderr
    else:
        exit, output = forked(words, folder, 120)
    assert exit == 0, output
    return output
