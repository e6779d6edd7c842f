"""How many calls a second the fuzzer and the soak make, beside a bare client that makes the same calls.

    python benchmarks/fuzz.py                               # installs the Python SDK in a folder of its own
    python benchmarks/fuzz.py --sdk-python .venv-sdk/bin/python

The bare client writes lines that are ready and parses each answer, and does nothing else: one call at a time
beside the fuzzer, and as many under way at once as the soak has beside the soak.  The ways take turns, so
that what else the machine does touches all of them; the median of the rounds is shown, and the extremes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import venv
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median

from conformance.fuzzing.fuzz_target import FuzzTarget
from conformance.fuzzing.fuzzer import Fuzzer
from conformance.fuzzing.oracles import Case, accepts_valid
from conformance.fuzzing.soak import CALLS_IN_FLIGHT, Soak
from conformance.generation import valid
from conformance.protocol.jsonrpc import encode
from conformance.target.probe import probe
from conformance.target.server import Server
from conformance.target.settings import Settings
from conformance.target.surface import Surface

REVISION = "2025-11-25"
REFERENCE = (sys.executable, "-m", "conformance.fixtures.reference")
SDK = Path(__file__).with_name("sdk_server.py")
FUZZED = ("add", "weather", "echo", "search", "area")
EXAMPLES = 1000
"""How many arguments Hypothesis makes for each tool in a round."""
MAX_LINES = 20_000
WAYS = ("bare client, one at a time", "fuzzer, under Hypothesis", f"bare client, {CALLS_IN_FLIGHT} under way", "soak")


class Bare:
    """A client that does as little as one can."""

    def __init__(self, settings: Settings, opening: Sequence[bytes]):
        self._child = subprocess.Popen(
            settings.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._in, self._out = self._child.stdin, self._child.stdout
        self._send(opening[0])
        self._answer()
        self._send(opening[1])

    def rate(self, lines: Sequence[bytes], under_way: int) -> float:
        """How many calls it makes a second."""
        start = time.perf_counter()
        for line in lines[:under_way]:
            self._send(line)
        for line in lines[under_way:]:
            self._answer()
            self._send(line)
        for _ in lines[:under_way]:
            self._answer()
        return len(lines) / (time.perf_counter() - start)

    def _send(self, line: bytes) -> None:
        self._in.write(line + b"\n")
        self._in.flush()

    def _answer(self) -> None:
        while True:
            message = json.loads(self._out.readline())
            if "method" not in message:
                return
            if "id" in message:
                self._send(encode({"jsonrpc": "2.0", "id": message["id"], "result": {}}))

    def close(self) -> None:
        self._in.close()
        self._child.wait()


def fuzzed(server: Server) -> tuple[float, list[bytes]]:
    """Fuzz some tools with valid arguments: how many calls a second were made, and those calls."""
    calls = [server.call(tool) for tool in server.tools if tool.name in FUZZED]
    session = server.fuzzing_session
    before, start = len(session.lines), time.perf_counter()
    for call in calls:
        oracle = partial(accepts_valid, call.tool, server.revision)
        fuzzer = Fuzzer(server, FuzzTarget.of_tool(call), "valid arguments")
        values = valid(call.tool.input_schema, server.revision)
        fuzzer.search(values.map(lambda value, oracle=oracle: Case(encode(value), oracle)))
        fuzzer.report()
    lines = [line.raw for line in session.lines[before:] if line.sent]
    return len(lines) / (time.perf_counter() - start), lines


def soaked(server: Server, seconds: float) -> tuple[float, list[bytes]]:
    """Soak a server: how many calls a second were made once all tools were known, and those calls."""
    soak = Soak(server)
    begun, before = 0.0, 0
    for told in soak.run(time.monotonic() + seconds):
        if told is not None:
            print(f"found, and the time for it is counted: {told.what}")
        if not begun and soak.calls > len(soak.loads) + CALLS_IN_FLIGHT:
            begun, before = time.monotonic(), soak.calls
    made = soak.calls - before
    rate = made / (time.monotonic() - begun)
    numbers = range(min(made, MAX_LINES))
    shots = [soak.loads[number % len(soak.loads)].call(soak.seed, number) for number in numbers]
    return rate, [line_of(call.number, call.load.name, json.loads(call.case.text)) for call in shots]


def line_of(id: int, tool: str, arguments: object) -> bytes:
    params = {"name": tool, "arguments": arguments}
    return encode({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})


def round_of(settings: Settings, surface: Surface, seconds: float) -> list[float]:
    """The calls a second of each way."""
    opening = [surface.opening[0].raw, surface.opening_lines[-1].raw]
    server = Server(settings, surface)
    bare = Bare(settings, opening)
    try:
        by_fuzzer, lines = fuzzed(server)
        alone = bare.rate(lines, 1)
        by_soak, lines = soaked(server, seconds)
        return [alone, by_fuzzer, bare.rate(lines, CALLS_IN_FLIGHT), by_soak]
    finally:
        bare.close()
        server.close()


def report(name: str, command: Sequence[str], rounds: int, seconds: float) -> None:
    settings = Settings(tuple(command), examples=EXAMPLES)
    surface = probe(settings, REVISION, exactly=True)
    found = [round_of(settings, surface, seconds) for _ in range(rounds)]
    alone, by_fuzzer, windowed, by_soak = zip(*found, strict=True)
    rows = [(alone, None), (by_fuzzer, alone), (windowed, None), (by_soak, windowed)]
    for way, (rates, bare) in zip(WAYS, rows, strict=True):
        ratios = [one / other for one, other in zip(rates, bare, strict=True)] if bare else []
        print(f"{name:12} {way:28} {spread(rates, ',.0f'):>28}   {spread(ratios, '.2f'):>18}")


def spread(values: Sequence[float], format: str) -> str:
    """The median, and the least and the greatest."""
    if not values:
        return ""
    shown = [f"{value:{format}}" for value in (median(values), min(values), max(values))]
    return "{} ({} to {})".format(*shown)


def python_with_sdk() -> str:
    """A Python that has the SDK; the first time, it is installed."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "mcp-conformance" / "python-sdk"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        print(f"installing mcp 2.x in {folder}")
        venv.create(folder, with_pip=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", "mcp>=2,<3"], check=True)
    return str(python)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sdk-python", help="a Python with mcp 2.x; without it, one is made")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5.0, help="how long a soak is, in each round")
    options = parser.parse_args()
    python = options.sdk_python or python_with_sdk()
    print(f"{'server':12} {'way':28} {'calls a second':>28}   {'of the bare client':>18}")
    report("reference", REFERENCE, options.rounds, options.seconds)
    report("Python SDK", (python, str(SDK)), options.rounds, options.seconds)


if __name__ == "__main__":
    main()
