"""Measure the calls per second of the fuzzer and of the soak, and of a bare client that makes the same calls.

    python benchmarks/fuzz.py                               # installs the Python SDK in a folder of its own
    python benchmarks/fuzz.py --sdk-python .venv-sdk/bin/python

The bare client only writes prepared lines and parses the answers: one call at a time, and as many in flight
as the soak has.  The ways take turns, so that other load of the machine affects all of them; the median of
the rounds is printed, with the extremes.
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

from mcp_conformance.fuzzing.budgets import SOAK
from mcp_conformance.fuzzing.case_source import valid_cases
from mcp_conformance.fuzzing.fuzz_target import FuzzTarget
from mcp_conformance.fuzzing.fuzzer import Fuzzer
from mcp_conformance.fuzzing.oracles import accepts_valid
from mcp_conformance.fuzzing.soak import Soak
from mcp_conformance.protocol.jsonrpc import encode
from mcp_conformance.target import sessions
from mcp_conformance.target.probe import probe
from mcp_conformance.target.server import Server
from mcp_conformance.target.settings import Settings
from mcp_conformance.target.surface import Surface

REVISION = "2025-11-25"
REFERENCE = (sys.executable, "-m", "mcp_conformance_fixtures.reference")
SDK = Path(__file__).with_name("sdk_server.py")
FUZZED = ("add", "weather", "echo", "search", "area")
EXAMPLES = 1000
"""The number of arguments that are made for each tool in a round."""
MAX_LINES = 20_000
WAYS = (
    "bare client, one at a time",
    "fuzzer",
    f"bare client, {SOAK.in_flight} in flight",
    "soak",
)


class Bare:
    """A client that only writes lines and parses answers."""

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

    def rate(self, lines: Sequence[bytes], in_flight: int) -> float:
        """Return its calls per second."""
        start = time.perf_counter()
        for line in lines[:in_flight]:
            self._send(line)
        for line in lines[in_flight:]:
            self._answer()
            self._send(line)
        for _ in lines[:in_flight]:
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
    """Fuzz some tools with valid arguments, and return the calls per second and the calls."""
    calls = [server.call(tool) for tool in server.tools if tool.name in FUZZED]
    session = server.shared(sessions.FUZZED)
    before, start = len(session.lines), time.perf_counter()
    for call in calls:
        oracle = partial(accepts_valid, call.tool, server.revision)
        fuzzer = Fuzzer(server, FuzzTarget.of_tool(call), "valid arguments")
        fuzzer.search(valid_cases(call.tool.input_schema, server.revision, oracle))
        fuzzer.report()
    lines = [line.raw for line in session.lines[before:] if line.sent]
    return len(lines) / (time.perf_counter() - start), lines


def soaked(server: Server, seconds: float) -> tuple[float, list[bytes]]:
    """Soak a server, and return the calls per second once all tools were called, and the calls."""
    soak = Soak(server)
    begun, before = 0.0, 0
    for finding in soak.run(time.monotonic() + seconds):
        if finding is not None:
            print(f"a finding, whose time is counted: {finding.verdict}")
        if not begun and soak.calls > len(soak.loads) + SOAK.in_flight:
            begun, before = time.monotonic(), soak.calls
    made = soak.calls - before
    rate = made / (time.monotonic() - begun)
    numbers = range(min(made, MAX_LINES))
    calls = [soak.loads[number % len(soak.loads)].call(soak.seed, number) for number in numbers]
    return rate, [line_of(call.number, call.load.name, json.loads(call.case.text)) for call in calls]


def line_of(id: int, tool: str, arguments: object) -> bytes:
    params = {"name": tool, "arguments": arguments}
    return encode({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})


def round_of(settings: Settings, surface: Surface, seconds: float) -> list[float]:
    """Return the calls per second of each way."""
    opening = [surface.opening[0].raw, surface.opening_lines[-1].raw]
    server = Server(settings, surface)
    bare = Bare(settings, opening)
    try:
        by_fuzzer, lines = fuzzed(server)
        alone = bare.rate(lines, 1)
        by_soak, lines = soaked(server, seconds)
        return [alone, by_fuzzer, bare.rate(lines, SOAK.in_flight), by_soak]
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
    """Return the median, the least and the greatest value as text."""
    if not values:
        return ""
    shown = [f"{value:{format}}" for value in (median(values), min(values), max(values))]
    return "{} ({} to {})".format(*shown)


def python_with_sdk() -> str:
    """Return a Python that has the SDK; install it the first time."""
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
    parser.add_argument("--sdk-python", help="a Python with mcp 2.x (default: install one)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5.0, help="the length of a soak in each round")
    options = parser.parse_args()
    python = options.sdk_python or python_with_sdk()
    print(f"{'server':12} {'way':28} {'calls a second':>28}   {'of the bare client':>18}")
    report("reference", REFERENCE, options.rounds, options.seconds)
    report("Python SDK", (python, str(SDK)), options.rounds, options.seconds)


if __name__ == "__main__":
    main()
