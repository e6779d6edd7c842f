"""Make the published reports again.

    python reports/regenerate.py --servers FOLDER               # all servers of tests/real/servers.toml
    python reports/regenerate.py --servers FOLDER memory git    # these
    python reports/regenerate.py --index-only                   # only what is made from the JSON files

Each server is installed in FOLDER unless it is there, and run with default options.  Its report is freed of
what names this machine and written to NAME.json; all else is made from that: NAME.html, NAME.md, index.html
and README.md.  The exit status is 1, with a list, unless notes.toml says of each red finding what it means.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from urllib.parse import urlsplit

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests")]

from cleaning import cleaned  # noqa: E402
from index import SERVERS, read, write  # noqa: E402
from installing import filled, installed, left_behind  # noqa: E402
from origins import package, sdk  # noqa: E402
from support import environment  # noqa: E402

from conformance.report.formats import json as json_format  # noqa: E402
from conformance.report.formats.json import BadReport  # noqa: E402

OPTIONS = ("--revision", "latest", "--seed", "0")
ENDED = (0, 1)
PATIENCE = 4000
REGISTRIES = ("npm_config_registry", "pip_index_url", "pip_extra_index_url", "http_proxy", "https_proxy")
"""The environment variables that name hosts to install from."""
PUBLIC = {"registry.npmjs.org", "pypi.org", "localhost", "127.0.0.1"}


class Failed(Exception):  # noqa: N818
    """No report came about; the message says why."""


def main():
    """Run the servers, write the reports, and tell what is amiss."""
    known = tomllib.loads(SERVERS.read_text(encoding="utf-8"))
    chosen = arguments(known)
    amiss = [] if chosen.index_only else regenerate(chosen, known)
    amiss += write(HERE)
    print("\n".join(amiss) or "all is well")
    return 1 if amiss else 0


def regenerate(chosen, known):
    """Run the chosen servers and write their reports; what went wrong."""
    place, hosts = Path(chosen.servers).resolve(), registries()
    names, failures = chosen.names or list(known), []
    with ThreadPoolExecutor(chosen.jobs) as pool:
        runs = {pool.submit(regenerated, place, name, known[name], hosts): name for name in names}
        for run in as_completed(runs):
            try:
                text, facts = run.result()
            except (Failed, BadReport, OSError, subprocess.SubprocessError) as error:
                failures.append(f"{runs[run]}: {error}")
                print(failures[-1].partition("\n")[0], flush=True)
            else:
                keep(runs[run], text, facts, known)
    return failures


def keep(name, text, facts, known):
    """Write a report, and what was installed for it, which is told in the order of the servers."""
    (HERE / f"{name}.json").write_text(text, encoding="utf-8", newline="\n")
    path = HERE / "installed.json"
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    told = {**before, name: facts}
    ordered = {name: told[name] for name in known if name in told}
    path.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8", newline="\n")


def arguments(known):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a server; all of them if none is named")
    parser.add_argument("--servers", metavar="FOLDER", default=os.environ.get("REAL_SERVERS"))
    parser.add_argument("--jobs", type=int, default=1, help="how many servers are run at once")
    parser.add_argument("--index-only", action="store_true")
    chosen = parser.parse_args()
    if unknown := set(chosen.names) - set(known):
        parser.error(f"no such server: {', '.join(sorted(unknown))}")
    if not (chosen.servers or chosen.index_only):
        parser.error("say with --servers, or in REAL_SERVERS, where servers are to be installed")
    return chosen


def regenerated(place, name, server, hosts):
    """Run a server: its report as JSON, and what was installed."""
    folder = installed(place, name, server)
    with tempfile.TemporaryDirectory(prefix="mcp-report-", ignore_cleanup_errors=True) as made:
        own = Path(made).resolve()
        report = run(own, folder, server)
        if left := left_behind(own):
            raise Failed(f"left behind: {left}")
    places = {"{ENV}": folder, "{SERVERS}": place, "{WORK}": own / "work", "{RUN}": own}
    text = json_format.render(cleaned(report, places, hosts))
    print(f"{name}: {report.verdict}", flush=True)
    return text, {"package": package(server), "sdk": sdk(folder, report)}


def run(own, folder, server):
    """The report of one run, in a folder of its own."""
    work, here = own / "work", own / "here"
    work.mkdir()
    here.mkdir()
    places = {"ENV": str(folder), "WORK": str(work)}
    for step in server.get("setup", ()):
        subprocess.run(filled(step, places), shell=True, check=True, timeout=60)
    words = [*OPTIONS, "--cwd", str(work), "--report", str(own / "report.json")]
    for variable, content in server.get("env", {}).items():
        words += ["--env", f"{variable}={filled(content, places)}"]
    command = [filled(word, places) for word in server["start"]]
    done = subprocess.run(
        [sys.executable, "-m", "conformance", "run", *words, "--", *command],
        cwd=here,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        timeout=PATIENCE,
        check=False,
    )
    if done.returncode not in ENDED:
        raise Failed(f"exit status {done.returncode}\n{done.stdout[-4000:]}")
    return read(own / "report.json")


def registries():
    """The hosts that servers are installed from here, but for those that everybody knows."""
    told = [value for name, value in os.environ.items() if name.lower() in REGISTRIES]
    for command in (["npm", "config", "get", "registry"], [sys.executable, "-m", "pip", "config", "list"]):
        told.append(said(command))
    words = " ".join(told).replace("'", " ").replace("=", " ").split()
    return {
        host for word in words if "://" in word and (host := urlsplit(word).hostname) and host not in PUBLIC
    }


def said(command):
    try:
        done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
