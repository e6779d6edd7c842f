"""The queue between a transport and a session."""

import threading

import pytest

from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.transport import queue
from mcp_conformance.transport.interface import EOF, Overlong
from mcp_conformance.transport.queue import ByteQueue

BIG = b"x" * (queue.MAX_QUEUED + 1)
SECONDS = 10.0


@pytest.mark.parametrize(
    "item", [BIG, Line(False, BIG), Overlong(BIG, len(BIG))], ids=["bytes", "line", "overlong"]
)
@pytest.mark.parametrize(
    "release", [lambda items: items.get(0), lambda items: items.discard()], ids=["get", "discard"]
)
def test_a_full_queue_takes_nothing_more_until_it_is_read_or_discarded(item, release):
    items = ByteQueue()
    items.put(item)
    other = threading.Thread(target=items.put, args=[b"y"])
    other.start()
    other.join(0.05)
    assert other.is_alive()
    release(items)
    other.join(SECONDS)
    assert not other.is_alive()


def test_nothing_comes_after_the_end():
    items = ByteQueue()
    items.put(b"x", EOF, at=1.0)
    items.put(b"y")
    items.discard()
    assert [items.get(SECONDS) for _ in range(3)] == [(1.0, b"x"), (1.0, EOF), None]
