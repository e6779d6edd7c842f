"""On real servers the suite finds what is known to be wrong with them, and nothing else."""

import os
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest
from support import run_suite

SERVERS = tomllib.loads((Path(__file__).parent / "servers.toml").read_text())
PLACE = Path(os.environ["REAL_SERVERS"])
NO_BROWSERS = {"PUPPETEER_SKIP_DOWNLOAD": "1", "PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD": "1"}


def installed(name, server):
    """The folder the server is installed in; installed once."""
    folder = PLACE / name
    if not (folder / "installed").exists():
        folder.mkdir(parents=True, exist_ok=True)
        install(folder, server)
        (folder / "installed").touch()
    return folder


def install(folder, server):
    if server["registry"] == "npm":
        command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", ".", *server["install"]]
    else:
        venv.create(folder, with_pip=True)
        command = [str(folder / "bin" / "python"), "-m", "pip", "install", "-q", *server["install"]]
    subprocess.run(command, cwd=folder, env={**os.environ, **NO_BROWSERS}, check=True, timeout=900)


@pytest.mark.parametrize("name", SERVERS)
def test_a_real_server(name, tmp_path):
    server = SERVERS[name]
    places = {"ENV": str(installed(name, server)), "WORK": str(tmp_path)}
    for step in server.get("setup", ()):
        subprocess.run(filled(step, places), shell=True, check=True, timeout=60)
    options = ["--revision", "latest", "--cwd", str(tmp_path)]
    for variable, content in server.get("env", {}).items():
        options += ["--env", f"{variable}={filled(content, places)}"]
    run = run_suite([filled(word, places) for word in server["start"]], *options)
    assert {case.requirement for case in run.of("failed", "blocked")} == set(server["broken"]), run.output
    assert {case.requirement for case in run.of("warned")} == set(server["warned"]), run.output
    assert run.exit == (1 if server["broken"] else 0)
    assert left_behind(tmp_path) == []


def filled(text, places):
    for name, place in places.items():
        text = text.replace(f"{{{name}}}", place)
    return text


def left_behind(folder):
    """The processes whose command line or working directory names the folder."""
    if not sys.platform.startswith("linux"):
        return []
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command, cwd = (entry / "cmdline").read_text(), (entry / "cwd").readlink()
        except OSError:
            continue
        if str(folder) in command or cwd == folder:
            found.append(command)
    return found
