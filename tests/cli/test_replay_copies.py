"""Copies of files that the calls of a transcript name: the run had made them before it sent the calls."""

from mcp_conformance.cli.replay import make_copies
from mcp_conformance.client.transcript import Transcript
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.world.folder import furnish


def call(id, path):
    params = {"name": "open_book", "arguments": {"path": str(path)}}
    return Line.sending({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})


def test_a_replay_makes_the_copies_that_its_calls_name(tmp_path):
    folder = furnish(tmp_path)
    copy, new = folder.root / "example795e-open_book.xlsx", folder.root / "example795e.xlsx"
    make_copies(folder, Transcript(("server",), "2025-11-25", "", (call(1, copy), call(2, new))))
    assert copy.read_bytes() == (folder.root / "example.xlsx").read_bytes()
    assert not new.exists()
