"""The configuration file: what it may hold, who reads it, and what wins."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import jsonschema
import pytest

from mcp_conformance.options.again import again_words
from mcp_conformance.options.choosing import choose
from mcp_conformance.options.configuration import BadConfiguration, nearest_configuration
from mcp_conformance.options.given import BadOption, Chosen, Given
from mcp_conformance.options.run_options import read_options
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
tool = ["search", "get_*"]
max-examples = 20
tools.search = { timeout = 5, fuzz = "none" }
tools."get_*" = { calls-per-tool = 3 }
profiles.ci = { fuzz = "thorough", report = "ci.json" }
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
        "tool": ("search", "get_*"),
        "max-examples": "20",
        "tool-limits": ("search timeout=5 fuzz=none", "get_* calls-per-tool=3"),
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
        ("command = 'x'\ntools.search = 5", "tools is a table of limits for each tool, not 5"),
        ("command = 'x'\nprofiles.ci.timout = 5", "unknown option 'timout'; did you mean timeout?"),
        ("command = 'x'\nprofiles.ci.command = 'y'", "'command' belongs to a server, and not to profiles.ci"),
        (
            "servers.y.command = 'y'\nprofiles.ci.report = 'a.html'",
            "'report' belongs to a table [servers.NAME]",
        ),
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
        "servers.x.profiles.y = { timeout = 5 }",
        "profiles.ci.command = 'x'",
        "tools.search = {}",
        "tools.search.speed = 5",
    ):
        table = tomllib.loads(wrong)
        assert list(validator.iter_errors(table)), wrong
        assert list(project.iter_errors({"tool": {"mcp-conformance": table}})), wrong


# Choosing ----------------------------------------------------------------------------------------


def test_a_profile_replaces_options_and_the_command_line_both(tmp_path):
    configuration(tmp_path, f"{EVERY_FORM}[profiles.all]\ncall = 'all'\n")

    def found(**given):
        options = {name: Given(value, f"--{name}") for name, value in given.items()}
        return choose(options, None, "--", tmp_path)

    assert (found().text("fuzz"), found().texts("report")) == ("none", ("out/report.html",))
    assert (found(profile="ci").text("fuzz"), found(profile="ci").texts("report")) == (
        "thorough",
        ("ci.json",),
    )
    assert found(profile="ci").texts("call") == ("search", "get_*")
    assert found(profile="all").texts("call") == ("all",)
    assert found(profile="ci", fuzz="quick").text("fuzz") == "quick"
    with pytest.raises(BadOption, match="unknown profile 'cj'; there are ci, all"):
        found(profile="cj")
    with pytest.raises(BadOption, match=r"^--profile: only a server of"):
        choose({"profile": Given("ci", "--profile")}, Given(("x",), ""), "--", tmp_path)


def test_the_file_may_name_the_profile_that_counts(tmp_path):
    configuration(
        tmp_path, "command = 'x'\nprofile = 'fast'\n[profiles.fast]\nfuzz = 'none'\n[profiles.full]\n"
    )
    assert choose({}, None, "--", tmp_path).text("fuzz") == "none"
    full = choose({"profile": Given("full", "--profile")}, None, "--", tmp_path)
    assert full.text("fuzz") == ""


def test_all_paths_start_from_the_folder_of_the_file(tmp_path, monkeypatch):
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "mcp-contract.json").write_text("{}")
    program = tmp_path / "serve"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    configuration(tmp_path, "command = './serve server.py'\n[profiles.ci]\n")
    monkeypatch.chdir(inner)
    chosen = choose({"profile": Given("ci", "--profile")}, None, "--", Path())
    with pytest.raises(BadOption, match=r"contract: .*mcp-contract.json"):
        read_options(chosen)  # found there, and wrong
    (tmp_path / "mcp-contract.json").unlink()
    options = read_options(Chosen.from_json(chosen.to_json()))
    assert options.settings.here == tmp_path
    assert options.settings.kept == tmp_path / ".mcp-conformance"
    assert again_words(options, ["ping.responds"], "2025-11-25")[-2:] == ("--profile", "ci")
    monkeypatch.chdir(tmp_path)
    options = read_options(choose({}, None, "--", Path()))
    assert options.settings.kept == Path(".mcp-conformance")
    assert again_words(options, ["ping.responds"], "2025-11-25")[-3:] == ("--", "./serve", "server.py")


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


def test_a_run_from_a_folder_below_writes_the_first_baseline(tmp_path):
    (tmp_path / "server.py").write_text("from mcp_conformance_fixtures.reference import main\nmain()\n")
    options = "fuzz = 'none'\nrevision = '2025-11-25'\nselect = 'ping'\nbaseline = 'known.toml'\n"
    (tmp_path / CONFIGURATION_FILE).write_text(f"command = ['{sys.executable}', 'server.py']\n{options}")
    (tmp_path / "inner").mkdir()
    output = passed(["baseline", "update", "../known.toml"], tmp_path / "inner")
    assert "known.toml has 0 expected findings" in output
    assert (tmp_path / "known.toml").exists()


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
    table = [line.split()[:2] for line in passed(["run", "--all", *QUICK], tmp_path).splitlines()]
    assert [row for row in table if "passed" in row[1:]] == [["one", "passed"], ["two", "passed"]]


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
