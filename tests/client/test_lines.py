"""Lines that are not UTF-8, and lines that are long."""

import json

import pytest

from mcp_conformance.client.message_log import (
    CUT,
    HEAD,
    LONG,
    CompressedLine,
    head_of,
    received,
    without_message,
)
from mcp_conformance.protocol.jsonrpc import ABSENT, foreign_encoding


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ('{"a": "\xe9"}'.encode("cp1252"), "Windows-1252"),
        ('{"a": "\xe9"}'.encode("utf-16"), "UTF-16"),
        (b"\xff\xfe\x00", ""),
        (b"Listening\xe9", ""),
    ],
)
def test_the_encoding_of_a_line_that_is_json_is_named(raw, name):
    assert foreign_encoding(raw) == name


def test_a_long_line_is_cut_or_loses_its_message():
    raw = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"text": "x" * 2 * LONG}}).encode()
    line = received(raw, 1.0)
    assert isinstance(line, CompressedLine)
    assert (head_of(line).raw, head_of(line).fault) == (raw[:HEAD], CUT)
    assert (without_message(line).raw, without_message(line).message) == (raw, ABSENT)
