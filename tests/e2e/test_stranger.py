"""In a stranger's repository: whatever its conftest and configuration, its tests and the suites run as alone.

The stranger's repository lies in a folder with spaces, and its conftest has fixtures with the names of ours.
"""

import json
import os
import subprocess
import sys
from importlib.metadata import distribution

import pytest
from support import REFERENCE, run_suite
from support.repositories import (
    ALONE,
    CONFTEST,
    FILES,
    LEAN,
    MINE,
    OTHER_NAMES,
    SMALL,
    alone_environment,
    collects,
    on,
    run_pytest,
    write,
)


@pytest.fixture(scope="module")
def alone():
    """The suites' cases when the command runs them."""
    return run_suite(SMALL, *ALONE).cases


@pytest.fixture
def repo(tmp_path):
    return write(tmp_path / "a stranger's repo", FILES)


# How the suites join -----------------------------------------------------------------------------


def test_the_suites_run_beside_the_projects_tests(repo, alone):
    assert alone
    assert run_pytest(repo, on()).is_clean(alone)


def test_without_a_server_there_are_no_suites(repo):
    assert run_pytest(repo).is_clean([])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pytest.ini", "[pytest]\nmcp_server = {}\n"),
        ("pyproject.toml", "[tool.pytest.ini_options]\nmcp_server = '{}'\n"),
        ("tox.ini", "[pytest]\nmcp_server = {}\n"),
    ],
)
def test_the_server_can_be_an_ini_value(repo, alone, name, text):
    (repo / "pytest.ini").unlink()
    write(repo, {name: text.format(json.dumps(SMALL))})
    collects(repo, alone)


@pytest.mark.skipif(pytest.version_tuple < (9,), reason="pytest 9 brought the native table")
def test_the_server_can_be_a_value_of_the_native_table(repo, alone):
    (repo / "pytest.ini").unlink()
    options = f"mcp_server = '{json.dumps(SMALL)}'\nmcp_call = ['readonly']\nmcp_strict = false\n"
    write(repo, {"pyproject.toml": f"[tool.pytest]\n{options}"})
    collects(repo, alone)


def test_the_flag_goes_before_the_ini_value(repo, alone):
    write(repo, {"pytest.ini": "[pytest]\nmcp_server = no-such-program\n"})
    collects(repo, alone, on())


@pytest.mark.parametrize("path", ["tests/test_mine.py", "tests", "tests/test_mine.py::test_mine"])
def test_a_named_path_runs_that_only_and_starts_no_server(repo, path):
    own = [name for name in MINE if "::" not in path or name.startswith("test_mine")]
    server = (sys.executable, "-c", "open('started', 'w')")
    assert run_pytest(repo, path, on(server), f"--mcp-cwd={repo}").is_clean([], own)
    assert not (repo / "started").exists()


def test_from_a_folder_below_the_node_ids_are_the_same(repo, alone):
    collects(repo, alone, on(), cwd=repo / "tests")


def test_keywords_choose_among_both(repo, alone):
    one = [case for case in alone if "test_ping" in case.suite]
    assert run_pytest(repo, on(), "-k", "test_plain or test_ping").is_clean(one, ["test_plain"])


@pytest.mark.parametrize("path", [[], ["tests"]])
def test_select_chooses_among_the_suites_and_leaves_the_projects_tests(repo, alone, path):
    pings = [case for case in alone if case.requirement.startswith("ping.")]
    lean = [option for option in LEAN if not option.startswith("--mcp-select")]
    run = run_pytest(repo, on(), "--mcp-select=ping", *path, lean=lean)
    assert run.is_clean([] if path else pings)


# Their configuration -----------------------------------------------------------------------------


def test_files_classes_and_functions_may_have_other_names(repo, alone):
    write(repo, OTHER_NAMES)
    assert run_pytest(repo, on()).is_clean(alone, ["check_mine[red]", "check_mine[blue]"])


@pytest.mark.parametrize(
    "lines",
    [
        "addopts = -x --strict-markers --strict-config --import-mode=importlib --doctest-modules",
        "addopts = --import-mode=append --collect-in-virtualenv --ignore=conformance\ntestpaths = tests",
        "addopts = --ignore-glob=**/site-packages/**\nnorecursedirs = conformance suites site-packages .venv",
    ],
)
def test_ini_lines_change_no_collection(repo, alone, lines):
    write(repo, {"pytest.ini": f"[pytest]\n{lines}\n"})
    collects(repo, alone, on())


@pytest.mark.parametrize(
    "lines",
    [
        ["addopts = -p no:cacheprovider -p no:warnings", "xfail_strict = true", "junit_family = xunit1"],
        ["addopts = -p no:assertion --assert=plain", "filterwarnings = error", "usefixtures = clean"],
    ],
    ids=["no warnings", "errors"],
)
def test_ini_lines_change_no_outcome(repo, alone, lines):
    clean = "@pytest.fixture\ndef clean(server):\n    server.index('my server')\n"
    write(repo, {"pytest.ini": "\n".join(["[pytest]", *lines, ""]), "conftest.py": CONFTEST + clean})
    assert run_pytest(repo, on()).is_clean(alone)


@pytest.mark.parametrize("options", [["-n", "2", "-W", "error"], ["-n", "0"]])
def test_an_option_changes_nothing(repo, alone, options):
    assert run_pytest(repo, on(), *options).is_clean(alone)


@pytest.mark.parametrize("own", ["suites/test_own.py", "conformance/suites/test_ping.py"])
def test_folders_may_have_our_names(repo, alone, own):
    write(repo, {own: "def test_own(server):\n    assert server == ['my session', 'my server']\n"})
    collects(repo, alone, on(), own=[*MINE, "test_own"])
    assert run_pytest(repo, on(), "-k", "test_own").is_clean([], ["test_own"])


# Their conftest ----------------------------------------------------------------------------------


def test_their_autouse_fixtures_are_for_their_tests(repo, alone):
    used = """
@pytest.fixture(autouse=True)
def clean(server):
    assert "my session" in server

@pytest.fixture(autouse=True, scope="session")
def clean_session(session):
    assert "my session" in session
"""
    write(repo, {"conftest.py": CONFTEST + used})
    assert run_pytest(repo, on()).is_clean(alone)


def test_their_marks_on_every_item_change_nothing(repo, alone):
    hook = (
        "def pytest_collection_modifyitems(items):\n    for item in items:\n        item.add_marker('unit')\n"
    )
    write(repo, {"conftest.py": CONFTEST + hook, "pytest.ini": "[pytest]\nmarkers =\n    unit: one\n"})
    collects(repo, alone, on(), "--strict-markers")


def test_their_test_may_ask_for_no_fixture_of_ours(repo):
    write(repo, {"tests/test_asks.py": "def test_asks(fresh_session):\n    pass\n"})
    run = run_pytest(repo, on(), "-k", "test_asks")
    assert "fixture 'fresh_session' not found" in run.output


def test_node_ids_are_the_same_everywhere(repo):
    run = run_pytest(repo, on(), "--collect-only", "-q")
    ids = [line for line in run.output.splitlines() if "::" in line]
    assert {line.split("::")[0].rpartition("/")[0] for line in ids} == {"tests", "conformance/suites"}


# Another plugin with our flag --------------------------------------------------------------------


@pytest.fixture(params=["first", "last"])
def other_plugin(request, repo):
    """A distribution pytest-mcptest whose plugin takes ``--mcp-server``: the variables to run with."""
    metadata = "Metadata-Version: 2.1\nName: pytest-mcptest\nVersion: 7.0\n"
    option = "parser.getgroup('mcptest').addoption('--mcp-server', dest='mcptest_server', default='theirs')"
    fixture = (
        "@pytest.fixture\ndef theirs(pytestconfig):\n    return pytestconfig.getoption('mcptest_server')\n"
    )
    place = repo.parent / "other"
    files = {
        "mcptest_plugin.py": f"import pytest\ndef pytest_addoption(parser):\n    {option}\n{fixture}",
        "pytest_mcptest-7.0.dist-info/METADATA": metadata,
        "pytest_mcptest-7.0.dist-info/entry_points.txt": "[pytest11]\nmcptest = mcptest_plugin\n",
    }
    write(place, files)
    write(repo, {"tests/test_theirs.py": "def test_theirs(theirs):\n    assert theirs == 'theirs'\n"})
    site = str(distribution("pytest-mcp-conformance").locate_file(""))
    paths = [str(place), site] if request.param == "first" else [site, str(place)]
    return {"PYTHONPATH": os.pathsep.join(paths)}, request.param


def test_another_plugin_keeps_the_flag_and_ours_has_its_long_name(repo, alone, other_plugin):
    variables, place = other_plugin
    server = on().replace("--mcp-server", "--mcp-conformance-server")
    collects(repo, alone, server, own=[*MINE, "test_theirs"], env=variables)
    run = run_pytest(repo, server, "-k", "test_theirs or test_ping", env=variables)
    assert run.is_clean([case for case in alone if "test_ping" in case.suite], ["test_theirs"])
    (plugins,) = (line for line in run.output.splitlines() if line.startswith("plugins:"))
    theirs_first = plugins.index("mcptest-7.0") < plugins.index("mcp-conformance-")
    assert theirs_first == (place == "first")


def test_another_plugins_flag_is_theirs(repo, other_plugin):
    run = run_pytest(repo, "--mcp-server=theirs", env=other_plugin[0])
    assert run.is_clean([], [*MINE, "test_theirs"])


@pytest.mark.parametrize("other_plugin", ["first"], indirect=True)
def test_the_command_works_beside_another_plugin(repo, other_plugin):
    options = {"cwd": repo, "env": alone_environment(**other_plugin[0]), "timeout": 60}
    command = [sys.executable, "-m", "conformance", "run", "--select=stdio", "--", *REFERENCE]
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
