"""Example arguments that are written into the configuration file."""

import tomllib

import pytest

from mcp_conformance.project.examples import write_examples

EXAMPLES = ['read {"path": "{folder}/a.txt"}', 'say {"text": "it\'s\\n"}']
OWN = "mcp-conformance.toml"


def written(folder, name, before, server=""):
    path = folder / name
    path.write_bytes(before.encode())
    return write_examples(path, server, EXAMPLES), path.read_bytes().decode()


@pytest.mark.parametrize(
    ("name", "before", "server", "table"),
    [
        (OWN, 'command = "server"\n', "", ()),
        (OWN, 'env = ["A"]\r\n[servers.one]\r\ncommand = "one"\r\n', "one", ("servers", "one")),
        (OWN, '[servers."a b"]\ncommand = "one"\n', "a b", ("servers", "a b")),
        (
            "pyproject.toml",
            '[project]\nname = "x"\n\n[tool.mcp-conformance]  \ncommand = "server"\n[tool.ruff]\n',
            "",
            ("tool", "mcp-conformance"),
        ),
    ],
)
def test_examples_are_added_and_nothing_else_changes(tmp_path, name, before, server, table):
    is_written, after = written(tmp_path, name, before, server)
    assert is_written
    content = found = tomllib.loads(after)
    for step in table:
        found = found[step]
    assert found.pop("example") == EXAMPLES
    assert content == tomllib.loads(before)
    assert set(before.splitlines()) <= set(after.splitlines())


@pytest.mark.parametrize(
    ("name", "before", "server"),
    [
        (OWN, 'command = "server"\nexample = []\n', ""),
        (OWN, 'command = "server"\n[example]\n', ""),
        (OWN, 'servers = {one = {command = "one"}}\n', "one"),
        ("pyproject.toml", '[tool]\nmcp-conformance = {command = "server"}\n', ""),
        ("pyproject.toml", 'text = """\n[tool.mcp-conformance]\n"""\n', ""),
    ],
)
def test_a_file_where_they_have_no_safe_place_stays_as_it_is(tmp_path, name, before, server):
    assert written(tmp_path, name, before, server) == (False, before)
