"""The paths that a server's command needs, wherever its runtime lives."""

import json
import os
import sys

import pytest

from mcp_conformance.sandbox.runtime_paths import named_paths, runtime_paths

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links, and the first lines of scripts")


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Return a home in which runtimes can be put."""
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def put(path, text="", *, is_program=False):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755 if is_program else 0o644)
    return path


def paths(*command, **environment):
    words = tuple(map(str, command))
    return sorted({*runtime_paths(words, {"PATH": "", **environment}), *named_paths(words[1:])})


def test_a_runtime_in_the_home_is_readable_and_the_home_is_not(home):
    node = put(home / ".nvm/versions/node/v22/bin/node", is_program=True)
    put(home / ".nvm/versions/node/v22/lib/module.js")
    found = paths("node", PATH=str(node.parent))
    assert str(home / ".nvm/versions/node/v22") in found
    assert not {str(home), str(home / ".nvm"), str(home.parent)} & set(found)


def test_a_single_program_does_not_open_the_folder_around_it(home):
    program = put(home / ".cargo/bin/server", is_program=True)
    put(home / ".cargo/credentials.toml")
    assert paths(program) == [str(program)]


def test_a_script_needs_its_interpreter_its_modules_and_the_base_of_a_venv(home):
    base = put(home / ".pyenv/versions/3.12/bin/python3", is_program=True)
    put(home / ".pyenv/versions/3.12/lib/os.py")
    venv = home / "project/.venv"
    put(venv / "pyvenv.cfg", f"home = {base.parent}\n")
    (venv / "bin").mkdir()
    (venv / "bin/python").symlink_to(base)
    script = put(home / "links/server", f"#!{venv}/bin/python\n", is_program=True)
    assert {str(venv), str(home / ".pyenv/versions/3.12"), str(script)} <= set(paths(script))


def test_a_program_installed_in_dot_local_opens_only_its_libraries(home):
    program = put(home / ".local/bin/server", is_program=True)
    put(home / ".local/lib/python3.12/site-packages/server.py")
    assert paths(program) == [str(program), str(home / ".local/lib")]


def test_the_modules_around_a_script_are_readable(home):
    script = put(home / "app/node_modules/server/dist/index.js")
    found = paths(sys.executable, script)
    assert str(home / "app/node_modules") in found
    assert str(home / "app") not in found


def test_the_project_around_a_script_is_readable(home):
    put(home / "app/package.json")
    assert str(home / "app") in paths(sys.executable, put(home / "app/dist/server.js"))


@pytest.mark.parametrize("argument", ["{}", "--key={}", "sqlite://{}"])
def test_of_a_file_that_is_no_program_only_itself_is_readable(home, argument):
    key = put(home / ".ssh/id_rsa")
    found = paths(sys.executable, argument.format(key))
    assert str(key) in found
    assert str(key.parent) not in found


def test_the_home_is_not_readable_even_if_the_command_names_it(home):
    put(home / "package.json")
    script = put(home / "server.js")
    found = paths(sys.executable, script, home, "/", PYTHONPATH=str(home))
    assert not {str(home), "/"} & set(found)


def test_an_editable_installation_opens_a_project_and_nothing_else(home):
    python = put(home / "venv/bin/python", is_program=True)
    put(home / "venv/pyvenv.cfg", "home = /usr/bin\n")
    put(home / "mine/pyproject.toml")
    (home / ".ssh").mkdir()
    packages = home / "venv/lib/python3.12/site-packages"
    for number, folder in enumerate(("mine", ".ssh")):
        about = {"url": f"file://{home / folder}", "dir_info": {"editable": True}}
        put(packages / f"p{number}.dist-info/direct_url.json", json.dumps(about))
        put(packages / f"p{number}.pth", f"{home / folder}\nimport os\n")
    found = paths(python)
    assert str(home / "mine") in found
    assert str(home / ".ssh") not in found
