"""What a verdict costs on the reference server and on real ones: starts, lines sent, CPU, memory, time.

    python benchmarks/cost.py                       # the servers that need no installation
    python benchmarks/cost.py --servers FOLDER      # the real ones too, installed in FOLDER
    python benchmarks/cost.py --servers FOLDER time everything --write    # some, and store their figures

The run has default options.  Its wall time is also given as a multiple of one start of that server, which is
what compares machines, if nothing else runs there.  The exit status is 1 if the starts or the memory of a run
have grown by more than a fifth beyond the stored figures; times are only printed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from mcp_conformance.survey.installed import start_command  # noqa: E402
from mcp_conformance.survey.prepare import prepare  # noqa: E402
from mcp_conformance.survey.targets import read_targets  # noqa: E402
from support.server_installation import filled  # noqa: E402

FIGURES = Path(__file__).with_suffix(".json")
REAL = {one.name: one for one in read_targets(HERE.parent / "reports/targets.toml")}
INSTALL_SECONDS = 900.0
REAL_NAMES = ("everything", "time", "sqlite", "excel-py", "context7", "motherduck", "kubernetes-go")
OWN = {
    "reference": {
        "start": [sys.executable, "-m", "mcp_conformance_fixtures.reference"],
        "options": ["--call=all"],
    },
    "hundred-tools": {"start": [sys.executable, str(HERE / "hundred_tools.py")]},
}
FUZZ = ("none", "quick")
STARTS_MEASURED = 3
MAX_GROWTH = 1.2
KEPT = ("starts", "memory_mb")
"""The figures that may not grow."""
MB = 1024 if sys.platform != "darwin" else 1024 * 1024
"""The unit of `ru_maxrss` in a megabyte: kilobytes on Linux, bytes on macOS."""
MEASURED = """
import json, resource, sys
from mcp_conformance.cli.main import main

def used(who):
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime

status = main(sys.argv[2:])
figures = {
    "status": int(status or 0),
    "own_cpu": used(resource.RUSAGE_SELF),
    "server_cpu": used(resource.RUSAGE_CHILDREN),
    "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
}
open(sys.argv[1], "w", encoding="utf-8").write(json.dumps(figures))
"""
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "cost", "version": "1"},
    },
}
COLUMNS = ("starts", "sent", "own_cpu", "server_cpu", "memory_mb", "seconds", "one_start", "ratio")


def main() -> int:
    """Measure, print a table beside the stored figures, and return the exit status."""
    options = arguments()
    stored = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
    found, problems = {}, []
    print(f"{'server':24}" + "".join(f"{column:>12}" for column in COLUMNS))
    for name in options.names:
        for fuzz in FUZZ:
            key = f"{name} --fuzz {fuzz}"
            found[key] = measured(name, options.servers, fuzz)
            show(key, found[key])
            if key in stored:
                show("  stored", stored[key])
                problems += grown(key, found[key], stored[key])
    if options.write:
        FIGURES.write_text(json.dumps(stored | found, indent=1) + "\n", encoding="utf-8")
        return 0
    print("\n".join(problems) or "nothing has grown")
    return 1 if problems else 0


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join((*OWN, *REAL_NAMES))}")
    parser.add_argument("--servers", type=Path, help="the folder of the real servers")
    parser.add_argument("--write", action="store_true", help="store the figures")
    options = parser.parse_args()
    options.names = options.names or [*OWN, *(REAL_NAMES if options.servers else ())]
    return options


def show(name: str, figures: dict[str, float]) -> None:
    """Print one line of the table."""
    print(f"{name:24}" + "".join(f"{figures.get(column, 0):12g}" for column in COLUMNS), flush=True)


def grown(name: str, found: dict[str, float], stored: dict[str, float]) -> list[str]:
    """Return what has grown too much."""
    return [
        f"{name}: {one} has grown from {stored[one]} to {found[one]}"
        for one in KEPT
        if found[one] > stored[one] * MAX_GROWTH
    ]


def measured(name: str, servers: Path | None, fuzz: str) -> dict[str, float]:
    """Return the figures of one run on a server, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        server, places = OWN.get(name) or real(name, servers), {"WORK": folder}
        places["ENV"] = server.get("folder", "")
        for step in server.get("setup", ()):
            subprocess.run(filled(step, places), shell=True, check=True, timeout=60)
        command = [filled(word, places) for word in server["start"]]
        variables = {key: filled(value, places) for key, value in server.get("env", {}).items()}
        options = [*server.get("options", ()), "--cwd", folder, "--fuzz", fuzz]
        options += [word for key, value in variables.items() for word in ("--env", f"{key}={value}")]
        start = median(start_seconds(command, folder, variables) for _ in range(STARTS_MEASURED))
        return run(command, options, folder, start)


def real(name: str, servers: Path | None) -> dict:
    """Install a real server, unless it is installed, and return how to start it."""
    if servers is None:
        sys.exit(f"{name} is a real server: --servers FOLDER")
    target = REAL[name]
    there = prepare(target, servers.resolve(), scripts=True, seconds=INSTALL_SECONDS)
    if there.failure:
        sys.exit(f"{name}: {there.failure}")
    return {
        "start": start_command(target, there.folder),
        "folder": there.folder,
        "env": target.env,
        "setup": target.setup,
    }


def start_seconds(command: list[str], folder: str, variables: dict[str, str]) -> float:
    """Return how long a server takes to start, to answer one request, and to end."""
    begun = time.monotonic()
    environment = {**os.environ, **variables}
    subprocess.run(
        command,
        input=json.dumps(HELLO).encode() + b"\n",
        capture_output=True,
        cwd=folder,
        env=environment,
        timeout=120,
        check=False,
    )
    return time.monotonic() - begun


def run(command: list[str], options: list[str], folder: str, start: float) -> dict[str, float]:
    """Run the suites, and return the figures."""
    figures, report = Path(folder) / "figures.json", Path(folder) / "report.json"
    words = [sys.executable, "-c", MEASURED, str(figures), "run", "--report", str(report), *options]
    begun = time.monotonic()
    done = subprocess.run([*words, "--", *command], cwd=folder, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - begun
    if not figures.exists() or not report.exists():
        sys.exit(f"the run ended without a report:\n{done.stdout}{done.stderr}")
    used = json.loads(figures.read_text(encoding="utf-8"))
    facts = json.loads(report.read_text(encoding="utf-8"))["run"]
    return {
        "starts": facts["processes"],
        "sent": sum(facts["sent"].values()),
        "own_cpu": round(used["own_cpu"], 1),
        "server_cpu": round(used["server_cpu"], 1),
        "memory_mb": round(used["memory"] / MB),
        "seconds": round(seconds, 1),
        "one_start": round(start, 2),
        "ratio": round(seconds / start, 1),
    }


if __name__ == "__main__":
    sys.exit(main())
