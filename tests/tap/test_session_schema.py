"""The JSON Schema of a session describes what a tap writes, and what an accepted replay adds."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from mcp_conformance.client.transcript import SCHEMA
from mcp_conformance.tap.differences import Answer
from mcp_conformance.tap.recorder import MAX_LINE, record
from mcp_conformance.tap.recordings import accept
from mcp_conformance.tap.sessions import Recorded
from mcp_conformance.tap.tape import Frame, What
from support.session_rows import file_errors, row_errors
from tap.test_judging import answers, asks

OPENED = json.dumps(answers(1, protocolVersion="2025-11-25", capabilities={})).encode() + b"\n"
OPENING = json.dumps(asks(1, "initialize", protocolVersion="2025-11-25", token="s3cr3t-of-mine-17")).encode()
HEADERS = [["Mcp-Session-Id", "a name"], ["Authorization", "Bearer s3cr3t-of-mine-17"]]


def rows_of(*rows: dict[str, Any]) -> list[Frame]:
    return [Frame(What.ROW, float(at), json.dumps(row).encode()) for at, row in enumerate(rows)]


ON_STDIO = [
    Frame(What.CLIENT, 0.1, OPENING + b"\r\n"),
    Frame(What.SERVER, 0.2, OPENED + b"\xff broken\n\n"),
    Frame(What.STDERR, 0.3, b"here \xff\n"),
    Frame(What.SERVER, 0.4, b"x" * (MAX_LINE + 1) + b"\n"),
    Frame(What.CLIENT_CLOSED, 0.5, b""),
    Frame(What.SERVER, 0.6, b"not ended"),
    Frame(What.SERVER_CLOSED, 0.7, b""),
]
OVER_HTTP = rows_of(
    {
        "session": "a",
        "sent": True,
        "carried_by": "POST 1",
        "raw": OPENING.decode(),
        "http": {"method": "POST", "path": "/mcp", "headers": HEADERS},
    },
    {
        "session": "a",
        "sent": False,
        "carried_by": "response 1",
        "http": {"status": 200, "headers": HEADERS},
    },
    {
        "session": "a",
        "sent": False,
        "carried_by": "response 1 event",
        "raw": OPENED.decode().strip(),
        "http": {"again": True, "headers": HEADERS},
    },
)


@pytest.mark.parametrize("seen", [ON_STDIO, OVER_HTTP], ids=["stdio", "http"])
def test_what_a_tap_writes_is_described(tmp_path: Path, seen: list[Frame]) -> None:
    frames = [Frame(What.STARTED, 0.0, b'["server", "--token", "s3cr3t-of-mine-17"]'), *seen]
    frames.append(Frame(What.ENDED, 9.0, b"-9 17"))
    (path,) = record(iter(frames), tmp_path, {}, lambda session, row: None)
    assert file_errors(path) == []
    assert '{"status": -9' in path.read_text()
    session = Recorded.read(path)
    at, last = next((at, row) for at, row in enumerate(session.rows) if '"result"' in row.get("raw", ""))
    accept(session, {at: Answer({"result": {"new": last["at"]}}, 1.0)}, {at: ["result.time"]})
    assert file_errors(path) == []
    assert "accepted" in path.read_text()


@pytest.mark.parametrize(
    "wrong",
    [
        {"format": 2, "command": [], "revision": "", "about": ""},
        {"format": 1, "command": "server", "revision": "", "about": ""},
        {"sent": "yes", "at": 0, "raw": ""},
        {"sent": True, "at": 0, "raw": "\u0100"},
        {"sent": True, "raw": ""},
        {"sent": True, "at": 0, "carried_by": "GET 1"},
        {"closed": "both", "at": 0},
        {"status": "0", "at": 0},
        {"at": 0},
        [],
    ],
)
def test_a_wrong_row_is_refused(wrong: Any) -> None:
    schema = json.loads(SCHEMA.read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    assert not jsonschema.Draft202012Validator(schema).is_valid(wrong)


def test_a_later_member_is_allowed() -> None:
    row = {"closed": "client", "at": 0.5, "later": 1}
    assert jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text("utf-8"))).is_valid(row)
    assert row_errors(row) == ["later is not in the schema"]
