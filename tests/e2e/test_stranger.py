"""In a stranger's repository: whatever its conftest and configuration, its tests and the suites run as alone.

The stranger's repository lies in a folder with spaces, and its conftest has fixtures with the names of ours.
"""

import json
import sys

import pytest

from support import run_suite
from support.nightly import nightly
from support.repositories import (
    ALONE,
    CONFTEST,
    FILES,
    LEAN,
    MINE,
    OTHER_NAMES,
    SMALL,
    collects,
    on,
    run_pytest,
    server_named,
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
    assert run_pytest(repo, *on()).is_clean(alone)


def test_without_the_switch_there_are_no_suites(repo):
    assert run_pytest(repo).is_clean([])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pytest.ini", "[pytest]\nconformance = true\nconformance_server = {}\n"),
        ("pyproject.toml", "[tool.pytest.ini_options]\nconformance = true\nconformance_server = '{}'\n"),
        ("tox.ini", "[pytest]\nconformance = true\nconformance_server = {}\n"),
    ],
)
def test_the_server_can_be_an_ini_value(repo, alone, name, text):
    (repo / "pytest.ini").unlink()
    write(repo, {name: text.format(json.dumps(SMALL))})
    collects(repo, alone)


@pytest.mark.skipif(pytest.version_tuple < (9,), reason="pytest 9 brought the native table")
def test_the_server_can_be_a_value_of_the_native_table(repo, alone):
    (repo / "pytest.ini").unlink()
    options = f"conformance = true\nconformance_server = '{json.dumps(SMALL)}'\nconformance_strict = false\n"
    write(repo, {"pyproject.toml": f"[tool.pytest]\n{options}"})
    collects(repo, alone)


def test_the_flag_goes_before_the_ini_value(repo, alone):
    write(repo, {"pytest.ini": "[pytest]\nconformance_server = no-such-program\n"})
    collects(repo, alone, *on())


@pytest.mark.parametrize("path", ["tests/test_mine.py", "tests", "tests/test_mine.py::test_mine"])
@pytest.mark.parametrize("is_on", [False, True])
def test_a_named_path_runs_that_only_and_starts_no_server(repo, path, is_on):
    own = [name for name in MINE if "::" not in path or name.startswith("test_mine")]
    server = server_named((sys.executable, "-c", "open('started', 'w')"))
    write(repo, {"pytest.ini": f"[pytest]\nconformance = {is_on}\n"})
    assert run_pytest(repo, path, server, f"--conformance-cwd={repo}").is_clean([], own)
    assert not (repo / "started").exists()


@pytest.mark.parametrize("options", [[], ["-k", "test_mine or test_plain"], ["-m", "not slow"]])
def test_a_server_without_the_switch_is_not_started(repo, options):
    server = server_named((sys.executable, "-c", "open('started', 'w')"))
    run = run_pytest(repo, server, f"--conformance-cwd={repo}", *options)
    assert run.is_clean([])
    assert "--conformance runs the suites" in run.output
    assert not (repo / "started").exists()


def test_the_switch_without_a_server_is_an_error_of_the_user(repo):
    run = run_pytest(repo, "--conformance")
    assert run.exit == 4
    assert "ERROR: --conformance: no server is named: --conformance-server COMMAND" in run.output


def test_from_a_folder_below_the_node_ids_are_the_same(repo, alone):
    collects(repo, alone, *on(), cwd=repo / "tests")


def test_keywords_choose_among_both(repo, alone):
    one = [case for case in alone if "test_ping" in case.suite]
    assert run_pytest(repo, *on(), "-k", "test_plain or test_ping").is_clean(one, ["test_plain"])


@pytest.mark.parametrize("path", [[], ["tests"]])
def test_select_chooses_among_the_suites_and_leaves_the_projects_tests(repo, alone, path):
    pings = [case for case in alone if case.requirement.startswith("ping.")]
    lean = [option for option in LEAN if not option.startswith("--conformance-select")]
    run = run_pytest(repo, *on(), "--conformance-select=ping", *path, lean=lean)
    assert run.is_clean(pings)


def test_the_marker_chooses_the_suites(repo, alone):
    assert run_pytest(repo, *on(), "-m", "conformance").is_clean(alone, [])
    assert run_pytest(repo, *on(), "-m", "not conformance").is_clean([])


# Their configuration -----------------------------------------------------------------------------


def test_files_classes_and_functions_may_have_other_names(repo, alone):
    write(repo, OTHER_NAMES)
    assert run_pytest(repo, *on()).is_clean(alone, ["check_mine[red]", "check_mine[blue]"])


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
    collects(repo, alone, *on())


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
    assert run_pytest(repo, *on()).is_clean(alone)


@pytest.mark.parametrize("options", [["-n", "2", "-W", "error"], ["-n", "0"]])
def test_an_option_changes_nothing(repo, alone, options):
    assert run_pytest(repo, *on(), *options).is_clean(alone)


@pytest.mark.parametrize("own", ["suites/test_own.py", "conformance/suites/test_ping.py"])
def test_folders_may_have_our_names(repo, alone, own):
    write(repo, {own: "def test_own(server):\n    assert server == ['my session', 'my server']\n"})
    collects(repo, alone, *on(), own=[*MINE, "test_own"])
    assert run_pytest(repo, *on(), "-k", "test_own").is_clean([], ["test_own"])


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
    assert run_pytest(repo, *on()).is_clean(alone)


def test_their_marks_on_every_item_change_nothing(repo, alone):
    hook = (
        "def pytest_collection_modifyitems(items):\n    for item in items:\n        item.add_marker('unit')\n"
    )
    write(repo, {"conftest.py": CONFTEST + hook, "pytest.ini": "[pytest]\nmarkers =\n    unit: one\n"})
    collects(repo, alone, *on(), "--strict-markers")


def test_a_plugin_that_shuffles_changes_no_order_of_checks(repo):
    hook = (
        "import pytest\n@pytest.hookimpl(tryfirst=True)\n"
        "def pytest_collection_modifyitems(items):\n    items.reverse()\n"
    )
    listing = ("--collect-only", "-q", "-m", "conformance")
    before = run_pytest(repo, *on(), *listing).output
    write(repo, {"conftest.py": CONFTEST + hook})
    after = run_pytest(repo, *on(), *listing).output
    checks = [[line for line in text.splitlines() if "::" in line] for text in (before, after)]
    assert checks[0] == checks[1] != []


def test_the_summary_has_one_line_for_skipped_checks(repo):
    run = run_pytest(repo, *on(), "-rs")
    (line,) = [line for line in run.output.splitlines() if line.startswith("SKIPPED")]
    assert line.endswith("mcp_conformance_suites: nothing to judge (-v lists the reasons)")


def test_their_test_may_ask_for_no_fixture_of_ours(repo):
    write(repo, {"tests/test_asks.py": "def test_asks(fresh_session):\n    pass\n"})
    run = run_pytest(repo, *on(), "-k", "test_asks")
    assert "fixture 'fresh_session' not found" in run.output


def test_node_ids_are_the_same_everywhere(repo):
    run = run_pytest(repo, *on(), "--collect-only", "-q")
    ids = [line for line in run.output.splitlines() if "::" in line]
    assert {line.split("::")[0].rpartition("/")[0] for line in ids} == {"tests", "mcp_conformance_suites"}


# The node ids that a run prints --------------------------------------------------------------------


def node_ids(run):
    return [line for line in run.output.splitlines() if line.startswith("mcp_conformance_suites/")]


@pytest.mark.parametrize(
    "options",
    [pytest.param([], id="one process"), pytest.param(["-n", "2"], id="two workers", marks=nightly)],
)
def test_a_node_id_that_a_run_prints_runs_that_check_alone(repo, options):
    *_, node = node_ids(run_pytest(repo, *on(), "--collect-only", "-q"))
    run = run_pytest(repo, server_named(SMALL), node, *options)
    assert run.exit == 0, run.output
    assert run.own == []
    assert [f"{case.suite.replace('.', '/')}.py::{case.check}" for case in run.cases] == [node]


def test_a_node_id_of_ours_and_a_path_of_theirs_run_both(repo):
    *_, node = node_ids(run_pytest(repo, *on(), "--collect-only", "-q"))
    run = run_pytest(repo, server_named(SMALL), node, "tests/test_mine.py")
    assert (run.exit, run.own, len(run.cases)) == (0, sorted(MINE), 1), run.output


def test_a_node_id_of_ours_that_is_not_there_is_an_error_of_the_user(repo):
    run = run_pytest(repo, server_named(SMALL), "mcp_conformance_suites/test_ping.py::test_pong")
    assert run.exit == 4
    assert "test_ping.py::test_pong" in run.output


# Their folders -------------------------------------------------------------------------------------

THEIR_PACKAGES = {
    "tests/conformance": {
        "tests/conformance/__init__.py": "",
        "tests/conformance/test_b.py": "def test_b():\n    pass\n",
    },
    "conformance": {
        "conformance/__init__.py": "THEIRS = True\n",
        "test_b.py": "import conformance\n\ndef test_b():\n    assert conformance.THEIRS\n",
    },
}


@pytest.mark.parametrize("mode", ["prepend", "importlib"])
@pytest.mark.parametrize("files", THEIR_PACKAGES.values(), ids=THEIR_PACKAGES)
@pytest.mark.parametrize("is_on", [False, True], ids=["without", "with --conformance"])
@nightly
def test_a_package_named_conformance_is_theirs(tmp_path, alone, files, mode, is_on):
    repo = write(tmp_path / "repo", {**files, "pytest.ini": "[pytest]\npythonpath = .\n"})
    options = (*(on() if is_on else ()), f"--import-mode={mode}")
    run = run_pytest(repo, *options, pytest_=(sys.executable, "-m", "pytest"))
    assert run.is_clean(alone if is_on else [], ["test_b"])
