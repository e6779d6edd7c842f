"""The values in the command that starts a server."""

import os

import pytest

from mcp_conformance.world.command import values_of_command
from mcp_conformance.world.known import Owner
from mcp_conformance.world.ours import Ours


def values(*words, **more):
    return {(one.value, one.keys) for one in values_of_command(words, **more)}


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["mcp-server-git", "--repository", "/srv/repo"], {("/srv/repo", ("repository", "path"))}),
        (["srv", "--db-path=/x/t.db"], {("/x/t.db", ("db-path", "path"))}),
        (["node", "/x/dist/index.js", "/a", "/b"], {("/a", ("path",)), ("/b", ("path",))}),
        (["/usr/bin/python3", "-u", "-m", "server", "DATA=/x,/y"], {("/x", ("DATA", "path")), ("/y", ("DATA",
        "path"))}),
        (["srv.exe", r"C:\data\x"], {(r"C:\data\x", ("path",))}),
        (["srv", "--dsn", "sqlite:////x/t.db"],
         {("sqlite:////x/t.db", ("dsn", "url")), ("/x/t.db", ("dsn", "path"))}),
        (["srv", "file:///x/a%20b"], {("file:///x/a%20b", ("url",)), ("/x/a b", ("path",))}),
        (["srv", "https://example.org/a"], {("https://example.org/a", ("url",))}),
        (["srv", "--project", "alpha", "--tools=read,write"],
         {("alpha", ("project", "name")), ("read", ("tools", "name")), ("write", ("tools", "name"))}),
        (["srv", f"/x{os.pathsep}/y"], {("/x", ("path",)), ("/y", ("path",))}),
        (["srv", "stdio", "--port", "8080", "--verbose", "true"], set()),
        ([], set()),
    ],
)  # fmt: skip
def test_values_of_commands(words, wanted):
    assert values(*words) == wanted


@pytest.mark.parametrize(
    "words",
    [
        ["srv", "--api-key", "abcdefgh"],
        ["srv", "--token=abcdefgh"],
        ["srv", "https://me:secret@example.org/"],
        ["srv", "https://example.org/?key=abc"],
        ["srv", "ghp_0123456789abcdefghij"],
        ["srv", "--name", "hunter2x"],
    ],
)
def test_credentials_are_no_values(words):
    assert values(*words, ours=Ours(hidden=("hunter2x",))) == set()


def test_variables_and_the_working_directory():
    found = values("srv", "./data", environment={"ROOT": "/r", "API_TOKEN": "/t"}, cwd="/w")
    assert ("/r", ("ROOT", "path")) in found
    assert {("/w", ("directory", "path")), ("./data", ("path",))} <= found
    assert os.path.normpath("/w/data") in {value for value, _ in found}
    assert "/t" not in {value for value, _ in found}


def test_what_is_in_our_folder_is_ours():
    found = {
        one.value: one.owner for one in values_of_command(["srv", "/f/a", "/fx"], ours=Ours(folders=("/f",)))
    }
    assert found == {"/f/a": Owner.MADE, "/fx": Owner.FOUND}


def test_a_bare_word_of_a_variable_may_be_a_key_and_is_no_value():
    variables = {"BILLS_KEY": "abc-xyz-123", "ROOT": "/data/x", "ENDPOINT": "https://example.com/x"}
    found = [one.value for one in values_of_command(("server",), variables)]
    assert found == ["/data/x", "https://example.com/x"]
