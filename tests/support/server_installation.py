"""Installations of servers from PyPI and npm."""

import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

NO_BROWSERS = {"PUPPETEER_SKIP_DOWNLOAD": "1", "PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD": "1"}


def installed(place, name, server):
    """Return the folder of an installed server; install it the first time and when its packages change."""
    folder, wanted = place / name, json.dumps(server["install"])
    done = folder / "installed"
    if not done.exists() or done.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        install(folder, server)
        done.write_text(wanted)
    return folder


def install(folder, server):
    if server["registry"] == "npm":
        command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", ".", *server["install"]]
    else:
        venv.create(folder, with_pip=True)
        command = [str(folder / "bin" / "python"), "-m", "pip", "install", "-q", *server["install"]]
    subprocess.run(command, cwd=folder, env={**os.environ, **NO_BROWSERS}, check=True, timeout=900)


def filled(text, places):
    for name, place in places.items():
        text = text.replace(f"{{{name}}}", place)
    return text


def left_behind(folder):
    """Return the processes whose command line or working directory names the folder."""
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
