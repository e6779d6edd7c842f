"""The database of values that failed before, at an address that runs share."""

import os
import sys

import hypothesis
import pytest
from hypothesis.database import DirectoryBasedExampleDatabase, ExampleDatabase

from mcp_conformance.fuzzing import databases, fuzzer
from mcp_conformance.fuzzing.databases import BadDatabase, Forgiving, database_at, leave_strange_caches, safe
from mcp_conformance_fixtures.mutants import params
from support.bench import run_checks, settings_in_memory
from support.in_memory import mutated

RULE = "tools.structured.conforms"
KEY = b"mcp-conformance reference 1.0.0 2025-11-25 add valid arguments"


def rarely_wrong(server, request, reply):
    """Give a sum that is not a number for one pair of numbers, which no source makes."""
    arguments = params(request).get("arguments")
    if arguments == {"a": 7919, "b": 104729}:
        return {**reply, "result": {**reply["result"], "structuredContent": {"sum": "many"}}}
    return None


def failed_with(database, wrong=rarely_wrong):
    """Return whether valid arguments show the fault."""
    settings = settings_in_memory(mutated(wrong), database=database, examples=5)
    found = run_checks(settings, "2025-11-25", lambda check: "valid_arguments" in check.name, is_whole=False)
    return RULE in {verdict.row.id for verdict in found.verdicts}


def test_a_value_in_a_folder_is_tried_first(tmp_path):
    database = database_at(str(tmp_path))
    assert not failed_with(database)
    database.save(KEY, b'{"a":7919,"b":104729}')
    assert failed_with(database)


def test_a_value_that_is_no_value_is_forgotten(tmp_path):
    database = database_at(str(tmp_path))
    for text in (b"[" * 100_000, b"\xff", b"", b"{}"):
        database.save(KEY, text)
    assert not failed_with(database)
    assert not set(database.fetch(KEY)) - {b"{}"}


@pytest.mark.parametrize("reads", [True, False])
def test_a_tool_that_may_write_is_called_with_no_value_that_a_repository_ships(tmp_path, monkeypatch, reads):
    def wrong(server, request, reply):
        for one in (reply or {}).get("result", {}).get("tools", ()):
            one["annotations"] = {"readOnlyHint": reads}
        return rarely_wrong(server, request, reply)

    database = database_at(str(tmp_path))
    database.save(KEY, b'{"a":7919,"b":104729}')
    monkeypatch.setattr(
        fuzzer, "settings", lambda **given: hypothesis.settings(**{"database": database, **given})
    )
    assert failed_with(None, wrong) is reads


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names")
def test_a_pipe_among_the_values_is_not_opened(tmp_path):
    database = database_at(str(tmp_path))
    database.save(KEY, b"{}")
    assert safe(database, KEY) is database
    (value,) = [path for path in tmp_path.rglob("*") if path.is_file() and path.read_bytes() == b"{}"]
    os.mkfifo(value.with_name("pipe"))
    assert safe(database, KEY) is not database


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
@pytest.mark.parametrize("shipped", ["database", "key", "value"])
def test_a_link_that_is_shipped_is_not_followed(tmp_path, monkeypatch, shipped):
    (tmp_path / "work").mkdir()
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    database = database_at("shipped")
    assert isinstance(database, DirectoryBasedExampleDatabase)
    folder = database._key_path(KEY)
    link = {"database": database.path, "key": folder, "value": folder / "value"}[shipped]
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(tmp_path / "mine" / ("new" if shipped == "value" else ""))
    safe(database, KEY).save(KEY, b"{}")
    assert list((tmp_path / "mine").iterdir()) == []


def test_strange_caches_of_hypothesis_are_left(tmp_path, monkeypatch):
    """A pipe in the place of its table of characters would be read for ever."""
    homes = []
    monkeypatch.setattr(databases, "set_hypothesis_home_dir", homes.append)
    monkeypatch.chdir(tmp_path)
    leave_strange_caches.__wrapped__()
    folder = tmp_path / ".hypothesis" / "unicode_data"
    folder.mkdir(parents=True)
    (folder / "charmap.json.gz").write_bytes(b"a")
    leave_strange_caches.__wrapped__()
    assert homes == []
    (folder / "charmap.json.gz").write_bytes(b"a" * (databases.MAX_BYTES + 1))
    leave_strange_caches.__wrapped__()
    assert homes == [os.devnull]
    if hasattr(os, "mkfifo"):
        (folder / "charmap.json.gz").unlink()
        os.mkfifo(folder / "charmap.json.gz")
        leave_strange_caches.__wrapped__()
        assert homes == [os.devnull] * 2


class Gone(ExampleDatabase):
    """A database whose host is gone."""

    def save(self, key, value):
        raise ConnectionError

    def fetch(self, key):
        raise ConnectionError

    def delete(self, key, value):
        raise ConnectionError


def test_a_database_that_is_gone_remembers_nothing():
    database = Forgiving(Gone())
    database.save(b"key", b"value")
    database.delete(b"key", b"value")
    assert list(database.fetch(b"key")) == []


def test_a_database_that_does_not_answer_is_named():
    with pytest.raises(BadDatabase, match=r"needs the package redis|does not answer"):
        database_at("redis://127.0.0.1:1/0")
