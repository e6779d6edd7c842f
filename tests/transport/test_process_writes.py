"""Writing to a process never waits without end, whatever the process reads and writes meanwhile."""

import sys
import threading
from random import Random
from types import SimpleNamespace

import pytest

from mcp_conformance.transport import process as processes
from mcp_conformance.transport import queue
from mcp_conformance.transport.interface import EOF
from mcp_conformance.transport.process import Process
from mcp_conformance.transport.queue import MAX_QUEUED, ByteQueue

ECHOES = """
import sys
for line in sys.stdin.buffer:
    sys.stdout.buffer.write((b"x" * 999 + b"\\n") * 100)
sys.stdout.buffer.write(b"end\\n")
"""
READS_NOTHING = "import time; time.sleep(600)"
LINE = b"y" * 20_000 + b"\n"
SECONDS = 60.0


@pytest.fixture
def started():
    running = []

    def start(script):
        running.append(Process((sys.executable, "-c", script)))
        return running[-1]

    yield start
    for one in running:
        one.stop(0.0)


def write_in_time(process, lines):
    """Write lines, and fail the test if that does not end."""
    writer = threading.Thread(target=lambda: [process.write(LINE) for _ in range(lines)], daemon=True)
    writer.start()
    writer.join(SECONDS)
    assert not writer.is_alive()


def test_a_writer_does_not_wait_for_a_child_that_waits_for_it(started):
    """The child answers each line with more than it read: both queues are full, and nobody reads."""
    process, lines = started(ECHOES), MAX_QUEUED // len(LINE) + 200
    write_in_time(process, lines)
    process.close_stdin()
    read = 0
    while (item := process.read(SECONDS)) is not None and item[1] != b"end":
        read += 1
    assert read == 100 * lines


def test_a_child_that_reads_nothing_holds_up_one_write(started, monkeypatch):
    monkeypatch.setattr(processes, "MAX_WRITE_SECONDS", 0.05)
    write_in_time(started(READS_NOTHING), MAX_QUEUED // len(LINE) + 200)


def talk(random):
    """Write and read at random, as a session does, beside a child that answers each line with many."""
    process = object.__new__(Process)
    confined = SimpleNamespace(traffic=None)
    vars(process).update(_lines=ByteQueue(), _writes=ByteQueue(), _is_clogged=False, _confined=confined)
    process._written_at_once = lambda data: False
    answers, size = random.choice((0, 1, 3, 210)), random.choice((1, 100, 3_000))

    def child():
        while process._writes.get(None)[1] is not EOF:
            for _ in range(answers):
                process._lines.put(b"x" * size)
        process._lines.put(EOF)

    thread = threading.Thread(target=child, daemon=True)
    thread.start()
    for _ in range(60):
        if random.random() < 0.7:
            process.write(b"y" * random.choice((1, 300, 2_000)))
        else:
            process.read(0.0)
    process.close_stdin()
    while process.read(SECONDS)[1] is not EOF:
        pass
    thread.join(SECONDS)
    return not thread.is_alive()


def test_no_two_threads_wait_for_each_other(monkeypatch):
    """In queues with room for a few lines, both sides wait for room in most conversations."""
    monkeypatch.setattr(queue, "MAX_QUEUED", 1_000)
    monkeypatch.setattr(queue, "MAX_WHILE_WRITING", 10_000)
    monkeypatch.setattr(processes, "MAX_WRITE_SECONDS", 0.01)
    ended = []
    runner = threading.Thread(
        target=lambda: ended.extend(talk(Random(seed)) for seed in range(60)), daemon=True
    )
    runner.start()
    runner.join(SECONDS)
    assert ended == [True] * 60
