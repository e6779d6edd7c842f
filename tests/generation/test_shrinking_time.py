"""Shrinking ends after some seconds of ours, with the plainest value until then."""

from mcp_conformance.generation import shrunk, smaller

REVISION = "2025-11-25"
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def test_neighbours_are_looked_for_as_long_as_there_is_time(monkeypatch):
    def fails(value):
        return value["n"] > 2**63

    assert shrunk(SCHEMA, REVISION, {"n": 10**300}, fails, 5000) == {"n": 2**63 + 1}
    monkeypatch.setattr(smaller, "MAX_SECONDS", -1.0)
    assert shrunk(SCHEMA, REVISION, {"n": 10**300}, fails, 5000) == {"n": 10**300}
