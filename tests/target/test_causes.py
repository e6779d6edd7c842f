"""A cause that several checks meet is one finding."""

import pytest

from mcp_conformance.client.reply import Closed
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.protocol.revisions import LATEST_HANDSHAKE
from mcp_conformance.target.probe import probe_all
from mcp_conformance.verdicts import Blocked, Finding
from support.bench import Bench, settings_in_memory
from support.in_memory import mutated

RAISED = """Traceback (most recent call last):
  File "/x/site-packages/sdk/reader.py", line {line}, in read
    {source}
BrokenResourceError
"""


@pytest.fixture
def causes():
    """Return the causes of a run on the right server."""
    subject = probe_all(settings_in_memory(mutated(lambda *_: None)), (LATEST_HANDSHAKE,))
    server = Bench(subject, LATEST_HANDSHAKE).server
    yield server.causes
    server.close()


def end(line=71, source="send()", error=""):
    """Return the end of a process by an exception that a line of a library raises."""
    return Closed(1, RAISED.format(line=line, source=source) + error)


def blocked(end):
    """Return what a check says that got no answer to a ping, which does not end the server alone."""
    return Blocked(
        "ping was never answered", [Line.sending({"jsonrpc": "2.0", "id": 5, "method": "ping"})], fault=end
    )


def test_an_end_that_a_finding_reports_blocks_no_other_check(causes):
    causes.examine(Finding("a server that goes on", "its end", fault=end()))
    assert causes.is_repeated(blocked(end(85, "send_nowait()")))


def test_an_end_by_another_exception_is_reported_too(causes):
    causes.examine(Finding("a server that goes on", "its end", fault=end()))
    assert not causes.is_repeated(
        blocked(end(error=RAISED.replace("BrokenResource", "Key").format(line=1, source="")))
    )
