"""A deadline ends what a library does, whatever that catches, and nothing that comes after it."""

import gc
import re
import sys
import threading
import time
from contextlib import suppress

import pytest

from mcp_conformance.deadline import Deadline, TookTooLong, held

SHORT, LONG = 0.1, 60.0


def spin(seconds=LONG):
    """Use CPU time: so much, or until a deadline ends it."""
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def spin_stubbornly():
    for _ in range(1000):
        with suppress(Exception):  # as a library may do
            spin(LONG / 1000)


def test_a_deadline_ends_what_raises_another_error_in_its_end():
    with pytest.raises(TookTooLong), Deadline(SHORT):  # noqa: PT012
        try:
            spin()
        finally:
            raise ValueError


@pytest.mark.skipif(sys.platform == "win32", reason="a thread waits for the matcher there")
def test_a_deadline_ends_a_match():
    with pytest.raises(TookTooLong), Deadline(SHORT):
        re.match(r"(a+)+$", "a" * 60 + "b")


def test_a_deadline_ends_what_catches_each_exception():
    with pytest.raises(TookTooLong), Deadline(SHORT):
        spin_stubbornly()


def test_an_exception_that_a_callback_swallows_comes_again(monkeypatch):
    lost = []
    monkeypatch.setattr(sys, "unraisablehook", lambda seen: lost.append(seen.exc_type))
    callback = lambda phase, _: phase == "start" and not lost and spin(4 * SHORT)  # noqa: E731
    gc.callbacks.append(callback)
    try:
        with pytest.raises(TookTooLong), Deadline(SHORT):  # noqa: PT012
            gc.collect()
            spin()
    finally:
        gc.callbacks.remove(callback)
    assert lost


def test_what_ends_in_time_is_left_alone():
    with Deadline(SHORT):
        pass
    with Deadline(LONG):
        spin(4 * SHORT)
    spin(2 * SHORT)


def test_an_inner_deadline_ends_only_its_block():
    with Deadline(LONG):
        with pytest.raises(TookTooLong), Deadline(SHORT):
            spin()
        spin(SHORT)


def test_an_outer_deadline_ends_an_inner_block():
    ended = []
    with pytest.raises(TookTooLong), Deadline(SHORT):  # noqa: PT012
        try:
            with Deadline(LONG):
                spin()
        except TookTooLong:
            ended.append("inner")
    assert ended == []


def test_an_exchange_is_ended_only_at_its_end():
    steps = []
    with pytest.raises(TookTooLong), Deadline(SHORT):  # noqa: PT012
        with held():
            spin(4 * SHORT)
            steps.append("exchanged")
            with pytest.raises(TookTooLong), Deadline(SHORT):
                spin()
            steps.append("judged")
        steps.append("went on")
    assert steps == ["exchanged", "judged"]


def test_another_thread_is_left_alone():
    done = []

    def work():
        with Deadline(SHORT):
            spin(4 * SHORT)
        done.append("done")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(LONG)
    assert done == ["done"]
