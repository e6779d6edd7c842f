"""Install a target's package: once, in a folder that is named after what is installed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from mcp_conformance.survey.cleaning import without_hosts
from mcp_conformance.survey.installed import sdk
from mcp_conformance.survey.programs import Ended, run, surroundings
from mcp_conformance.survey.targets import Target
from mcp_conformance.transport.interface import CannotStart
from mcp_conformance.transport.removal import remove_tree

DONE = "installed.json"
NO_BROWSERS = {"PUPPETEER_SKIP_DOWNLOAD": "1", "PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD": "1"}
MAX_REASON = 2_000


@dataclass(frozen=True)
class Installation:
    """An installed package: its folder and its SDK, or why there is none; both empty without a package."""

    folder: str = ""
    sdk: str = ""
    failure: str = ""


def installation_key(target: Target, *, scripts: bool) -> str:
    """Return the name of the folder for what a target needs to be installed."""
    wanted = [target.registry, target.package, target.version, *target.packages, scripts, sys.platform]
    digest = hashlib.blake2b(json.dumps(wanted).encode(), digest_size=8).hexdigest()
    name = "".join(letter if letter.isalnum() else "-" for letter in target.package).strip("-")
    return f"{name[:60]}-{digest}"


def prepare(target: Target, store: Path, *, scripts: bool, seconds: float) -> Installation:
    """Install a target's package unless it is installed; ``scripts`` allows those of packages, and builds.

    Several targets may share the answer.  A failure is part of it, and is tried again the next time.
    """
    folder = store / installation_key(target, scripts=scripts)
    if not (folder / DONE).exists():
        remove_tree(str(folder))
        folder.mkdir(parents=True)
        if failure := _install(target, folder, scripts=scripts, seconds=seconds):
            remove_tree(str(folder))
            return Installation(failure=failure)
        (folder / DONE).write_text(json.dumps(target.package), encoding="utf-8")
    return Installation(str(folder), sdk(folder))


def _install(target: Target, folder: Path, *, scripts: bool, seconds: float) -> str:
    """Install a target; return why that failed, empty if it did not."""
    env = surroundings(installs=True) | NO_BROWSERS
    try:
        for command in _commands(target, folder, scripts=scripts):
            ended = run(command, folder, env, seconds)
            if ended.status is None:
                return f"the installation took longer than {seconds:g} s"
            if ended.status:
                return f"{Path(command[0]).name} ended with status {ended.status}: {_end(ended)}"
    except CannotStart as error:
        return str(error)
    return ""


def _end(ended: Ended) -> str:
    return without_hosts(ended.output[-MAX_REASON:])


def _commands(target: Target, folder: Path, *, scripts: bool) -> list[list[str]]:
    if target.registry == "npm":
        wanted = [f"{target.package}@{target.version}", *target.packages]
        plain = [] if scripts else ["--ignore-scripts"]
        npm = shutil.which("npm") or "npm"
        return [[npm, "install", "--no-audit", "--no-fund", *plain, "--prefix", str(folder), "--", *wanted]]
    wanted = [f"{target.package}=={target.version}", *target.packages]
    wheels = ["--prefer-binary"] if scripts else ["--only-binary", ":all:"]
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    install = [str(python), "-m", "pip", "install", "-q", "--no-input", *wheels, "--", *wanted]
    return [[sys.executable, "-m", "venv", str(folder)], install]
