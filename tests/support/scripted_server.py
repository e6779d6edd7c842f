"""The reference server, mutated by a script: a list of steps that change some of its messages.

Run it as ``python scripted_server.py SCRIPT``, with the steps as JSON. A step has ``on`` (a method, or
"*"), ``nth`` (only the nth such message; without it all of them), and ``do``, with its parameters:

put, drop, double, wrap, swap   replace the value number ``at`` of the message; remove it; duplicate it;
                                put it into a list or an object; swap it with another value
say                             send these messages instead, with the id of the request for "$id"
before, after, late             send another message before or after; send the message after the next one
bytes, cut, insert, glue, torn  send other bytes; cut the line; insert bytes; omit or insert line ends
silence, twice, stderr          send nothing; send the message twice; write to stderr
exit, signal, close             end the process, with a status or by a signal; close stdout
"""

import json
import marshal
import os
import sys

from mcp_conformance_fixtures.mutants import method
from mcp_conformance_fixtures.reference import END, SILENCE, START, Reference

MAX_DEPTH = 300  # of the values that a step can choose


class Ended(BaseException):
    """A request to end the process with a status; a negative one is a signal."""

    def __init__(self, status):
        super().__init__(status)
        self.status = status


class Scripted:
    """A server that follows a script; ``out`` and ``err`` take bytes."""

    def __init__(self, steps, out, err):
        self.steps, self.out, self.err = steps, out, err
        self.seen = {}
        self.late = []
        self.is_open = True
        self.server = Reference(self.mutate, self)

    # The stream that the reference server writes to

    def write(self, data):
        """Write bytes, unless stdout is closed."""
        if self.is_open:
            self.out.write(data)

    def flush(self):
        """Flush, unless stdout is closed."""
        if self.is_open:
            self.out.flush()

    # Mutations

    def mutate(self, server, request, reply):
        """Apply the steps of the script to a message."""
        if request is START or request is END or reply is None:
            return None
        steps = [step for number, step in enumerate(self.steps) if self.is_due(number, step, request, reply)]
        postponed, self.late = self.late, []
        if not steps and not postponed:
            return None
        message = json.loads(json.dumps(reply))
        self.play(steps, message, method(request) and request.get("id"))
        for data in postponed:
            self.write(data)
        return SILENCE

    def is_due(self, number, step, request, reply):
        """Return True if a step applies to this message."""
        called = method(request) or method(reply)
        if step["on"] not in ("*", called):
            return False
        self.seen[number] = self.seen.get(number, -1) + 1
        return step.get("nth") is None or step["nth"] == self.seen[number]

    def play(self, steps, message, id):
        """Write a message as these steps change it."""
        messages, after, change = [message], [], []
        for step in map(fresh, steps):
            do = step["do"]
            if do in VALUES:
                messages = [VALUES[do](one, step) for one in messages]
            elif do == "say":
                messages = [with_id(one, id) for one in step["messages"]]
            elif do == "before":
                messages = [with_id(step["message"], id), *messages]
            elif do == "after":
                after.append(with_id(step["message"], id))
            elif do == "twice":
                messages = messages * 2
            elif do == "silence":
                messages = []
            else:
                change.append(step)
        data = b"".join(line_of(one) for one in [*messages, *after])
        for step in change:
            data = self.changed(data, step)
        self.write(data)
        self.flush()

    def changed(self, data, step):
        """Return the bytes that a step changes, or end the process or its stdout."""
        do = step["do"]
        if do in BYTES:
            return BYTES[do](data, step)
        if do == "late":
            self.late.append(data)
            return b""
        if do == "stderr":
            self.err.write(step["bytes"].encode("latin-1"))
            self.err.flush()
            return data
        self.write(data[: step.get("at", 0) % (len(data) + 1)])
        self.flush()
        if do == "close":
            self.is_open = False
            self.out.close()
            return b""
        raise Ended(-step.get("signal", 9) if do == "signal" else step.get("status", 0))


# --- values --------------------------------------------------------------------------------------


def places(value, found, depth=0):
    """Add to ``found`` each place inside a value, as a container and a key; return ``found``."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        found.append((value, key))
        if depth < MAX_DEPTH:
            places(value[key], found, depth + 1)
    return found


def place(message, step, at="at"):
    """Return the container and the key of the value number ``at``, modulo the number of values.

    If the step has a ``member`` and the message has members of that name, only those are counted.
    """
    found = places(message, [])
    found = [one for one in found if one[1] == step.get("member")] or found
    return found[step[at] % len(found)] if found else None


def put(message, step):
    """Replace a value."""
    found = place(message, step)
    if found is None:
        return step["value"]
    container, key = found
    container[key] = step["value"]
    return message


def drop(message, step):
    """Remove a value."""
    found = place(message, step)
    if found is not None:
        del found[0][found[1]]
    return message


def double(message, step):
    """Duplicate a value."""
    found = place(message, step)
    if found is not None:
        container, key = found
        if isinstance(container, list):
            container.insert(key, fresh(container[key]))
        else:
            container[str(step.get("name", "again"))] = fresh(container[key])
    return message


def wrap(message, step):
    """Put a value into a list, or into an object under a name."""
    found = place(message, step)
    if found is not None:
        container, key = found
        container[key] = {step["name"]: container[key]} if "name" in step else [container[key]]
    return message


def swap(message, step):
    """Swap two values."""
    one, other = place(message, step), place(message, step, "with")
    if one is not None and one != other:
        here, there = one[0][one[1]], other[0][other[1]]
        if not inside(here, there) and not inside(there, here):
            one[0][one[1]], other[0][other[1]] = there, here
    return message


def fresh(value):
    """Return a copy of a value, however deeply it is nested."""
    return marshal.loads(marshal.dumps(value))


def inside(value, whole):
    """Return True if a value is part of another one."""
    return value is whole or any(container[key] is value for container, key in places(whole, []))


def with_id(message, id):
    """Replace "$id" by an id."""
    if isinstance(message, dict):
        return {key: with_id(value, id) for key, value in message.items()}
    if isinstance(message, list):
        return [with_id(value, id) for value in message]
    return id if message == "$id" else message


def line_of(message):
    """Return a message as a line; an empty line if it cannot be encoded."""
    try:
        return json.dumps(message, separators=(",", ":")).encode() + b"\n"
    except (ValueError, RecursionError):
        return b"\n"


VALUES = {"put": put, "drop": drop, "double": double, "wrap": wrap, "swap": swap}
BYTES = {
    "bytes": lambda data, step: step["bytes"].encode("latin-1"),
    "cut": lambda data, step: data[: step["at"] % (len(data) + 1)] + b"\n" * step["ended"],
    "insert": lambda data, step: inserted(
        data, step["at"] % (len(data) + 1), step["bytes"].encode("latin-1")
    ),
    "glue": lambda data, step: data.rstrip(b"\n") + b" " * step["ended"],
    "torn": lambda data, step: data.replace(b",", b",\r\n" if step["ended"] else b",\n", 1 + step["at"] % 5),
}


def inserted(data, at, more):
    """Insert bytes into others."""
    return data[:at] + more + data[at:]


def main():
    """Serve stdin with the script on the command line."""
    scripted = Scripted(json.loads(sys.argv[1]), sys.stdout.buffer, sys.stderr.buffer)
    try:
        scripted.server.serve(sys.stdin.buffer)
    except Ended as end:
        if end.status < 0:
            os.kill(os.getpid(), -end.status)
        os._exit(end.status)
    except OSError:
        os._exit(0)  # the client has closed the pipe
    return 0


if __name__ == "__main__":
    sys.exit(main())
