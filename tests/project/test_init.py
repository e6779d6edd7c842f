"""``mcp-conformance init``: each kind of server is detected, and existing files stay unchanged."""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from mcp_conformance.cli.main import main
from mcp_conformance.project.init import PROJECT_PROGRAMS, initialise
from support.repositories import alone_environment, write

WORKFLOW = ".github/workflows/mcp-conformance.yml"
ACTIONS = {
    *("actions/checkout@v6", "actions/setup-python@v6", "actions/setup-node@v6", "actions/setup-go@v6"),
    *("actions/upload-artifact@v7", "astral-sh/setup-uv@v7", "oven-sh/setup-bun@v2"),
}
"""The actions of a workflow, each with an existing major version."""
PACKAGED = '[build-system]\nrequires = ["setuptools"]\n'
PROJECT = '[project]\nname = "acme-mcp"\n'
SDK = 'from mcp.server.fastmcp import FastMCP\nif __name__ == "__main__":\n    FastMCP("x").run()\n'
BIN = {"name": "@acme/weather", "bin": {"weather": "./dist/index.js"}, "scripts": {"build": "tsc"}}
VENV = 'echo "$PWD/.venv/bin" >> "$GITHUB_PATH"'
RULES = 'rules = "0.1"  # findings of newer rules are reported, and do not fail'
COREPACK = "npm install -g corepack && corepack enable"


def init(folder, *words):
    return main(["init", str(folder), *words])


def workflow(folder, name=WORKFLOW):
    return yaml.safe_load((folder / name).read_text("utf-8"))


def steps(folder, name=WORKFLOW):
    (job,) = workflow(folder, name)["jobs"].values()
    return job["steps"]


def suites(folder, name=WORKFLOW):
    """Return the words of ``mcp-conformance run`` in the workflow."""
    runs = [step.get("run", "") for step in steps(folder, name)]
    (words,) = [shlex.split(run) for run in runs if run.startswith("mcp-conformance run")]
    return words


def configured(folder):
    """Return what the configuration file of a folder says."""
    if (folder / "mcp-conformance.toml").is_file():
        return tomllib.loads((folder / "mcp-conformance.toml").read_text("utf-8"))
    return tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["tool"]["mcp-conformance"]


def setup_steps(folder):
    """Return the steps of the workflow between the checkout and the installation of this package."""
    texts = [step.get("run") or step["uses"] for step in steps(folder)]
    return texts[1 : next(number for number, text in enumerate(texts) if text.startswith('pipx install "'))]


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


SERVERS = {
    "python": (
        {
            "pyproject.toml": f'{PACKAGED}{PROJECT}[project.scripts]\nadmin = "a:b"\nacme-mcp = "a:c"\n',
            "src/acme/__main__.py": "",
        },
        "acme-mcp",
        ["actions/setup-python@v6", "pip install ."],
        "pip install -e . pytest-mcp-conformance && pytest --conformance",
    ),
    "python -m": (
        {"pyproject.toml": f"{PACKAGED}{PROJECT}", "src/acme/__main__.py": ""},
        "python -m acme",
        ["actions/setup-python@v6", "pip install ."],
        "pip install -e . pytest-mcp-conformance && pytest --conformance",
    ),
    "python file": (
        {"requirements.txt": "mcp\n", "helper.py": "import mcp\n", "server.py": SDK},
        "python server.py",
        ["actions/setup-python@v6", "pip install -r requirements.txt"],
        "pip install -r requirements.txt pytest-mcp-conformance && pytest --conformance",
    ),
    "setup.cfg": (
        {
            "setup.cfg": "[metadata]\nname = a\n[options.entry_points]\nconsole_scripts =\n    a-mcp = a:b\n",
            "setup.py": "",
        },
        "a-mcp",
        ["actions/setup-python@v6", "pip install ."],
        "pip install -e . pytest-mcp-conformance && pytest --conformance",
    ),
    "uv": (
        {"pyproject.toml": f'{PACKAGED}{PROJECT}[project.scripts]\nacme-mcp = "a:b"\n', "uv.lock": ""},
        "acme-mcp",
        ["astral-sh/setup-uv@v7", "uv sync", VENV],
        "uv add --dev pytest-mcp-conformance && uv run pytest --conformance",
    ),
    "uv without a package": (
        {
            "pyproject.toml": f'{PROJECT}requires-python = ">=3.10"\n[project.scripts]\nacme-mcp = "a:b"\n',
            "uv.lock": "",
            "main.py": SDK,
        },
        "python main.py",
        ["astral-sh/setup-uv@v7", "uv sync", VENV],
        "uv add --dev \"pytest-mcp-conformance; python_version >= '3.11'\" && uv run pytest --conformance",
    ),
    "poetry": (
        {"pyproject.toml": '[tool.poetry]\nname = "acme"\n[tool.poetry.scripts]\nacme = "a:b"\n'},
        "acme",
        [
            "actions/setup-python@v6",
            "pipx install poetry",
            "POETRY_VIRTUALENVS_IN_PROJECT=true poetry install",
            VENV,
        ],
        'poetry add --group dev pytest-mcp-conformance --python ">=3.11" && poetry run pytest --conformance',
    ),
    "typescript": (
        {"package.json": json.dumps(BIN), "package-lock.json": "{}", "tsconfig.json": "{}"},
        "node dist/index.js",
        ["actions/setup-node@v6", "npm ci", "npm run build"],
        "npm run build && mcp-conformance run",
    ),
    "typescript without a build": (
        {"package.json": json.dumps({"main": "build/index.js"}), "tsconfig.json": "{}"},
        "node build/index.js",
        ["actions/setup-node@v6", "npm install", "npx tsc"],
        "npx tsc && mcp-conformance run",
    ),
    "javascript": (
        {"package.json": json.dumps({"main": "x.js", "scripts": {"start": "node server.mjs --stdio"}})},
        "node server.mjs --stdio",
        ["actions/setup-node@v6", "npm install"],
        "mcp-conformance run",
    ),
    "a start that needs a shell": (
        {"package.json": json.dumps({"scripts": {"start": "A=1 node x.js"}}), "pnpm-lock.yaml": ""},
        "pnpm run --silent start",
        ["actions/setup-node@v6", COREPACK, "pnpm install"],
        "mcp-conformance run",
    ),
    "yarn": (
        {"package.json": json.dumps({**BIN, "packageManager": "yarn@4.1.0"})},
        "node dist/index.js",
        ["actions/setup-node@v6", COREPACK, "yarn install", "yarn run build"],
        "yarn run build && mcp-conformance run",
    ),
    "bun": (
        {"package.json": json.dumps({"scripts": {"start": "bun src/index.ts"}}), "bun.lock": ""},
        "bun src/index.ts",
        ["oven-sh/setup-bun@v2", "bun install"],
        "mcp-conformance run",
    ),
    "go": (
        {"go.mod": 'module "example.com/acme/v2"\n', "main.go": "package main\n", "x_test.go": ""},
        "bin/acme",
        ["actions/setup-go@v6", "go build -o bin/acme ."],
        "go build -o bin/acme . && mcp-conformance run",
    ),
    "go cmd": (
        {
            "go.mod": "module example.com/acme\n",
            "lib.go": "package acme\n",
            "gen.go": "//go:build ignore\n\npackage main\n",
            "cmd/acme/main.go": "package main\n",
            "cmd/acme-mcp/main.go": "// Serves.\npackage main\n",
        },
        "bin/acme-mcp",
        ["actions/setup-go@v6", "go build -o bin/acme-mcp ./cmd/acme-mcp"],
        "go build -o bin/acme-mcp ./cmd/acme-mcp && mcp-conformance run",
    ),
    "rust": (
        {"Cargo.toml": '[package]\nname = "acme"\n', "Cargo.lock": "", "src/main.rs": ""},
        "target/release/acme",
        ["cargo build --release --locked --bin acme"],
        "cargo build --release --locked --bin acme && mcp-conformance run",
    ),
    "rust bins": (
        {
            "Cargo.toml": '[package]\nname = "acme"\n[[bin]]\nname = "acme-server"\npath = "src/main.rs"\n',
            "src/main.rs": "",
            "src/bin/tool.rs": "",
        },
        "target/release/acme-server",
        ["cargo build --release --bin acme-server"],
        "cargo build --release --bin acme-server && mcp-conformance run",
    ),
    "rust workspace": (
        {
            "Cargo.toml": '[workspace]\nmembers = ["crates/*"]\n',
            "crates/lib/Cargo.toml": '[package]\nname = "lib"\n',
            "crates/mcp/Cargo.toml": '[package]\nname = "acme-mcp"\n',
            "crates/mcp/src/main.rs": "",
        },
        "target/release/acme-mcp",
        ["cargo build --release --bin acme-mcp"],
        "cargo build --release --bin acme-mcp && mcp-conformance run",
    ),
}


@pytest.mark.parametrize("name", SERVERS)
def test_a_server_is_detected(name, tmp_path, monkeypatch, capsys):
    files, command, preparation, following = SERVERS[name]
    monkeypatch.chdir(write(tmp_path, files))
    assert main(["init"]) == 0
    output = capsys.readouterr().out.splitlines()
    assert re.match(rf"server: {re.escape(command)}   \(guessed from ", output[1])
    assert output[-1] == f"next: {following}"
    found = configured(tmp_path)
    assert shlex.join(found["command"]) == command
    assert found.get("cwd") == ("." if found["command"][0] in PROJECT_PROGRAMS else None)
    assert setup_steps(tmp_path) == preparation
    assert {step["uses"] for step in steps(tmp_path) if "uses" in step} <= ACTIONS


def test_a_workflow_has_few_permissions_and_writes_to_one_folder(tmp_path):
    init(write(tmp_path, SERVERS["typescript"][0]))
    found = workflow(tmp_path)
    assert found["permissions"] == {"contents": "read"}
    assert steps(tmp_path)[0]["with"] == {"persist-credentials": False}
    assert steps(tmp_path)[-1]["with"]["path"] == "reports/"
    written = [
        word.rpartition("=")[2] for word in suites(tmp_path) if word.startswith(("--junitxml=", "reports/"))
    ]
    assert len(written) == 4
    assert all(path.startswith("reports/") for path in written)


@pytest.mark.parametrize("name", ["python", "typescript"])
def test_a_second_run_changes_nothing(name, tmp_path, capsys):
    init(write(tmp_path, SERVERS[name][0]))
    before = contents(tmp_path)
    capsys.readouterr()
    assert init(tmp_path) == 0
    assert "nothing to write: all files are there already" in capsys.readouterr().out
    assert contents(tmp_path) == before


# The configuration

PYTHON = SERVERS["python"][0]


def test_pyproject_gets_its_own_table(tmp_path):
    lines = f'{PACKAGED}{PROJECT}[project.scripts]\nacme-mcp = "a:c"'
    before = lines.replace("\n", "\r\n")
    (tmp_path / "pyproject.toml").write_bytes(before.encode())
    init(tmp_path)
    after = (tmp_path / "pyproject.toml").read_bytes().decode()
    assert after == f'{before}\r\n\r\n[tool.mcp-conformance]\r\ncommand = ["acme-mcp"]\r\n{RULES}\r\n'


def test_a_table_that_cannot_be_added_is_shown(tmp_path, capsys):
    inline = f'tool = {{black = {{}}}}\n{PACKAGED}{PROJECT}[project.scripts]\nacme-mcp = "a:c"\n'
    init(write(tmp_path, {"pyproject.toml": inline}))
    output = capsys.readouterr().out
    assert "left as it is: pyproject.toml; add this to its [tool.mcp-conformance] by hand:" in output
    assert (tmp_path / "pyproject.toml").read_text() == inline


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("mcp-conformance.toml", "command = 'python -m other --stdio'\n"),
        ("pyproject.toml", "[tool.mcp-conformance]\ncommand = ['python', '-m', 'other', '--stdio']\n"),
    ],
)
def test_the_configured_server_stays(file, text, tmp_path, capsys):
    files = {**PYTHON, file: f"{PYTHON['pyproject.toml']}{text}" if file == "pyproject.toml" else text}
    before = contents(write(tmp_path, files))
    assert init(tmp_path) == 0
    output = capsys.readouterr().out
    assert f"server: python -m other --stdio   (from {file})" in output
    assert f"there already: the command in {file}" in output
    assert init(tmp_path, "--", "mine", "--stdio") == 0
    output = capsys.readouterr().out
    assert f"left as it is: {file} has another command, or none; it needs:" in output
    assert '    command = ["mine", "--stdio"]\n' in output
    assert {path: contents(tmp_path)[path] for path in before} == before


def test_several_configured_servers_are_left_to_the_user(tmp_path, capsys):
    write(tmp_path, {**PYTHON, "mcp-conformance.toml": "[servers.a]\ncommand = 'a'\n"})
    assert init(tmp_path) == 4
    assert "mcp-conformance.toml lists several servers" in capsys.readouterr().err


def test_pytest_runs_the_suites_with_the_written_configuration(tmp_path):
    server = "from mcp_conformance_fixtures.reference import main\nmain()\n"
    write(
        tmp_path,
        {"pyproject.toml": f"{PACKAGED}{PROJECT}", "acme/__main__.py": server, "acme/__init__.py": ""},
    )
    assert init(tmp_path) == 0
    assert configured(tmp_path) == {"command": ["python", "-m", "acme"], "rules": "0.1"}
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [
            sys.executable,
            "-P",
            "-m",
            "pytest",
            "--conformance",
            "--conformance-select=ping.empty-result",
            "--conformance-revision=2025-11-25",
        ],
        cwd=tmp_path,
        env=alone_environment(PATH=programs),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "configfile: pyproject.toml" in done.stdout
    assert "test_ping.py" in done.stdout


# The workflow


def test_another_workflow_stays_and_ours_is_shown(tmp_path, capsys):
    write(tmp_path, {**SERVERS["go"][0], WORKFLOW: "name: mine\n"})
    init(tmp_path)
    output = capsys.readouterr().out
    assert f"left as it is: {WORKFLOW}, which does not run mcp-conformance; this would:" in output
    workflow_lines = output.partition("this would:")[2].splitlines()
    shown = "\n".join(line[4:] for line in workflow_lines if line.startswith("    "))
    assert "mcp-conformance run" in yaml.safe_load(shown)["jobs"]["conformance"]["steps"][-2]["run"]
    assert (tmp_path / WORKFLOW).read_text() == "name: mine\n"


def test_our_edited_workflow_stays(tmp_path, capsys):
    changed = "jobs: {a: {steps: [{run: mcp-conformance run --strict -- x}]}}\n"
    init(write(tmp_path, {**SERVERS["go"][0], WORKFLOW: changed}))
    assert f"there already: {WORKFLOW}" in capsys.readouterr().out
    assert (tmp_path / WORKFLOW).read_text() == changed


def test_the_users_command_replaces_the_guess(tmp_path, capsys):
    words = ["python", "-m", "acme", "--name", "it's a 'quoted' \"name\"", "a: b # c", "*"]
    assert init(write(tmp_path, PYTHON), "--", *words) == 0
    assert "(from the command line)" in capsys.readouterr().out
    assert configured(tmp_path)["command"] == words


def test_a_command_that_needs_the_project_gets_the_option_cwd(tmp_path):
    init(write(tmp_path, PYTHON), "--", "uv", "run", "acme")
    assert configured(tmp_path) == {"command": ["uv", "run", "acme"], "cwd": ".", "rules": "0.1"}


def test_a_command_with_a_port_serves_http(tmp_path):
    init(tmp_path, "--", "acme", "--port", "{port}")
    assert configured(tmp_path) == {"command": ["acme", "--port", "{port}"], "http": True, "rules": "0.1"}
    assert 'pipx install "pytest-mcp-conformance[http]' in (tmp_path / WORKFLOW).read_text("utf-8")


def test_a_configured_url_is_kept_and_needs_http(tmp_path, capsys):
    text = 'url = "http://127.0.0.1:8000/mcp"\n'
    init(write(tmp_path, {"mcp-conformance.toml": text}))
    assert "there already: the URL in mcp-conformance.toml" in capsys.readouterr().out
    assert (tmp_path / "mcp-conformance.toml").read_text("utf-8") == text
    assert 'pipx install "pytest-mcp-conformance[http]' in (tmp_path / WORKFLOW).read_text("utf-8")


@pytest.mark.parametrize(
    ("version", "wanted"), [("0.1.0", "~=0.1.0"), ("0.1.0.dev7", ""), ("0.1.0.post1.dev2", ""), ("", "")]
)
def test_the_workflow_installs_this_release_and_of_a_development_version_the_newest(
    tmp_path, version, wanted
):
    [*initialise(tmp_path, ["acme"], version)]
    assert f'pipx install "pytest-mcp-conformance{wanted}"' in (tmp_path / WORKFLOW).read_text("utf-8")


def test_a_command_is_enough_in_an_unknown_project(tmp_path):
    assert init(tmp_path, "--", "java", "-jar", "server.jar") == 0
    assert configured(tmp_path) == {"command": ["java", "-jar", "server.jar"], "rules": "0.1"}
    assert setup_steps(tmp_path) == []


def test_a_server_in_a_subfolder_gets_a_workflow_at_the_top(tmp_path):
    """GitHub reads workflows at the top of a repository only; their steps name the folder."""
    (tmp_path / ".git").mkdir()
    write(tmp_path, {"pnpm-lock.yaml": "", "package.json": "{}"})
    folder = write(tmp_path / "servers" / "a b", {"package.json": json.dumps(BIN), ".nvmrc": "22"})
    assert init(folder) == 0
    name = ".github/workflows/mcp-conformance-servers-a-b.yml"
    (job,) = workflow(tmp_path, name)["jobs"].values()
    assert job["defaults"]["run"]["working-directory"] == "servers/a b"
    assert job["steps"][1]["with"] == {"node-version-file": "servers/a b/.nvmrc"}
    assert job["steps"][-1]["with"] == {"name": "mcp-conformance-servers-a-b", "path": "servers/a b/reports/"}
    assert "pnpm install" in [step.get("run") for step in job["steps"]]


def test_the_language_with_an_mcp_dependency_is_chosen(tmp_path, capsys):
    files = {"pyproject.toml": f"{PACKAGED}[project]\nname = 'tools'\n[project.scripts]\nx = 'a:b'\n"}
    dependency = {**BIN, "dependencies": {"@modelcontextprotocol/sdk": "1"}}
    init(write(tmp_path, {**files, "package.json": json.dumps(dependency)}))
    output = capsys.readouterr().out
    assert output.startswith("found: Node (package.json); ignored: Python (pyproject.toml)\n")


# Errors


@pytest.mark.parametrize(
    ("files", "words", "message"),
    [
        ({}, (), "no project was found in "),
        ({"pyproject.toml": "[project]\nname = 'a'\n"}, (), "pyproject.toml names no program"),
        (
            {"package.json": '{"workspaces": ["a/*", "b"]}', "a/x/package.json": "{}", "b/y": ""},
            (),
            "package.json has no server, but workspaces: a/x; name the server's own folder",
        ),
        ({"pyproject.toml": "[project\n"}, (), "pyproject.toml: not TOML"),
        ({"package.json": "{"}, (), "package.json: not JSON"),
        ({"go.mod": "module a\n"}, ("--", "a\nb"), "a workflow cannot contain 'a\\nb'"),
        ({"go.mod": "module a\n"}, ("--", "${{ secrets.X }}"), "a workflow cannot contain"),
        ({"go.mod": "module a\n"}, ("more",), "unrecognised arguments: more"),
    ],
)
def test_an_error_is_one_line_and_writes_nothing(files, words, message, tmp_path, capsys):
    before = contents(write(tmp_path, files))
    assert init(tmp_path, *words) == 4
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert len(captured.err.splitlines()) == 1
    assert contents(tmp_path) == before


def test_a_missing_folder_is_an_error(tmp_path, capsys):
    assert init(tmp_path / "no") == 4
    assert "init: no such directory: " in capsys.readouterr().err
