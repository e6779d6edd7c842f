"""Make the published reports.

    python reports/regenerate.py --servers FOLDER         # all of tests/servers/real/servers.toml
    python reports/regenerate.py --servers FOLDER memory git    # some of them
    python reports/regenerate.py --pages-only                   # only the pages, from results.json

Install each server in FOLDER unless it is there, and run it with default options.  Remove from its report
what names this machine; write the report to made/NAME.json and made/NAME.html, and its facts to results.json.
Then write README.md, NAME.md and made/index.html.  Exit with status 1, and a list, unless notes.toml explains
each red finding.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from urllib.parse import urlsplit

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests")]

import pages  # noqa: E402
import summaries  # noqa: E402
from cleaning import cleaned  # noqa: E402
from origins import package, sdk  # noqa: E402
from support import environment  # noqa: E402
from support.server_installation import filled, installed, left_behind  # noqa: E402

from conformance.project.version import tool_version  # noqa: E402
from conformance.report.formats import html  # noqa: E402
from conformance.report.formats import json as json_format  # noqa: E402
from conformance.report.formats.json import BadReport  # noqa: E402
from conformance.report.servers import html as servers_page  # noqa: E402
from conformance.report.servers.model import ServerOutcome, ServersReport  # noqa: E402

FULL_REPORTS = HERE / "made"
OPTIONS = ("--revision", "latest", "--seed", "0", "--sdk-findings", "fail")
COMPLETE = (0, 1)
"""The exit statuses of a run that was not cut short."""
RUN_SECONDS = 4000
REGISTRIES = ("npm_config_registry", "pip_index_url", "pip_extra_index_url", "http_proxy", "https_proxy")
"""The environment variables that name hosts to install from."""
PUBLIC = {"registry.npmjs.org", "pypi.org", "localhost", "127.0.0.1"}


class RunFailed(Exception):  # noqa: N818
    """A run without a report; the message gives the reason."""


def main():
    """Run the servers, write reports and pages, and print the problems."""
    known = summaries.servers()
    chosen = arguments(known)
    failures = [] if chosen.pages_only else regenerate(chosen, known)
    failures += write(HERE)
    print("\n".join(failures) or "all is well")
    return 1 if failures else 0


def arguments(known):
    """Return the parsed command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a server (default: all)")
    parser.add_argument("--servers", metavar="FOLDER", default=os.environ.get("REAL_SERVERS"))
    parser.add_argument("--jobs", type=int, default=1, help="how many servers run at once")
    parser.add_argument("--pages-only", action="store_true", help="run no server")
    chosen = parser.parse_args()
    if unknown := set(chosen.names) - set(known):
        parser.error(f"no such server: {', '.join(sorted(unknown))}")
    if not (chosen.servers or chosen.pages_only):
        parser.error("--servers or REAL_SERVERS must name the folder to install servers in")
    return chosen


# Running -----------------------------------------------------------------------------------------


def regenerate(chosen, known):
    """Run the chosen servers and store their reports; return the failures."""
    place, hosts = Path(chosen.servers).resolve(), registries()
    names, failures = chosen.names or list(known), []
    with ThreadPoolExecutor(chosen.jobs) as pool:
        runs = {pool.submit(regenerated, place, name, known[name], hosts): name for name in names}
        for run in as_completed(runs):
            try:
                report, facts = run.result()
            except (RunFailed, BadReport, OSError, subprocess.SubprocessError) as error:
                failures.append(f"{runs[run]}: {error}")
                print(failures[-1].partition("\n")[0], flush=True)
            else:
                store(runs[run], report, facts)
    return failures


def regenerated(place, name, server, hosts):
    """Run a server; return its report, and what was installed."""
    folder = installed(place, name, server)
    with tempfile.TemporaryDirectory(prefix="mcp-report-", ignore_cleanup_errors=True) as made:
        own = Path(made).resolve()
        report = run_server(own, folder, server)
        if left := left_behind(own):
            raise RunFailed(f"left behind: {left}")
    places = {"{ENV}": folder, "{SERVERS}": place, "{WORK}": own / "work", "{RUN}": own}
    print(f"{name}: {report.verdict}", flush=True)
    return cleaned(report, places, hosts), {"package": package(server), "sdk": sdk(folder, report)}


def run_server(own, folder, server):
    """Return the report of one run, in a folder of its own."""
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
        timeout=RUN_SECONDS,
        check=False,
    )
    if done.returncode not in COMPLETE:
        raise RunFailed(f"exit status {done.returncode}\n{done.stdout[-4000:]}")
    return json_format.read((own / "report.json").read_text(encoding="utf-8"))


def registries():
    """Return the hosts that servers are installed from here, except the public ones."""
    texts = [value for name, value in os.environ.items() if name.lower() in REGISTRIES]
    for command in (["npm", "config", "get", "registry"], [sys.executable, "-m", "pip", "config", "list"]):
        texts.append(output_of(command))
    words = " ".join(texts).replace("'", " ").replace("=", " ").split()
    return {
        host for word in words if "://" in word and (host := urlsplit(word).hostname) and host not in PUBLIC
    }


def output_of(command):
    """Return what a command prints; nothing if there is no such program."""
    try:
        done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout


# Writing -----------------------------------------------------------------------------------------


def store(name, report, facts):
    """Write a report in full, its facts, and what was installed for it."""
    FULL_REPORTS.mkdir(exist_ok=True)
    for ending, text in (("json", json_format.render(report)), ("html", html.render(report))):
        (FULL_REPORTS / f"{name}.{ending}").write_text(text, encoding="utf-8", newline="\n")
    summaries.save({**summaries.load(), name: summaries.summary_of(report)})
    path = HERE / "installed.json"
    entries = {**json.loads(path.read_text(encoding="utf-8")), name: facts}
    summaries.write_json(path, {one: entries[one] for one in summaries.servers() if one in entries})


def write(place):
    """Write all pages; return the problems."""
    runs, explained = summaries.published(place), summaries.notes(place)
    for name, text in made_pages(runs, explained).items():
        (place / name).write_text(text, encoding="utf-8", newline="\n")
    full = {one.name: path for one in runs if (path := FULL_REPORTS / f"{one.name}.json").exists()}
    if full:
        read = {name: json_format.read(path.read_text(encoding="utf-8")) for name, path in full.items()}
        (FULL_REPORTS / "index.html").write_text(index(read), encoding="utf-8", newline="\n")
    return list(summaries.problems(runs, explained, summaries.servers()))


def index(reports):
    """Return the page of all full reports."""
    outcomes = [ServerOutcome(name, int(one.status != "passed"), report=one) for name, one in reports.items()]
    pages = {name: f"{name}.html" for name in reports}
    return servers_page.render(ServersReport("servers.toml", tuple(outcomes), tool_version(), pages=pages))


def made_pages(runs, explained):
    """Return the text of each page in git, by file name."""
    return {"README.md": pages.index(runs, explained)} | {
        f"{one.name}.md": pages.page(one, explained) for one in runs
    }


if __name__ == "__main__":
    sys.exit(main())
