"""Install a target's package: once, in a folder that is named after what is installed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mcp_conformance.sandbox.confined import Start
from mcp_conformance.sandbox.policy import ANY_HOST, Unavailable
from mcp_conformance.sandbox.sandbox import AUTO, NONE, Choice, Sandbox
from mcp_conformance.survey.cleaning import without_hosts
from mcp_conformance.survey.installed import sdk
from mcp_conformance.survey.programs import OF_INSTALLERS, Ended, run, surroundings
from mcp_conformance.survey.targets import Target
from mcp_conformance.transport.interface import CannotStart
from mcp_conformance.transport.removal import remove_tree
from mcp_conformance.transport.throwaway import HOMES, TEMPORARY
from mcp_conformance.transport.writing import write

DONE = "installed.json"
NO_BROWSERS = {"PUPPETEER_SKIP_DOWNLOAD": "1", "PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD": "1"}
MAX_REASON = 2_000
OWN = ".installer"
"""The folder of an installation that is the home of its installer, and has its temporary files."""
CONFIGURATIONS = {
    ".pip/pip.conf": "PIP_CONFIG_FILE",
    ".config/pip/pip.conf": "PIP_CONFIG_FILE",
    ".npmrc": "npm_config_userconfig",
}
"""The files with the configuration of installers in the user's home, each with the variable that names it."""


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


def prepare(
    target: Target, store: Path, *, scripts: bool, seconds: float, sandbox: Sandbox | None = None
) -> Installation:
    """Install a target's package unless it is installed; ``scripts`` allows those of packages, and builds.

    In a ``sandbox`` the installer writes to the folder of the installation and nowhere else.  Several targets
    may share the answer.  A failure is part of it, and is tried again the next time.
    """
    folder = store / installation_key(target, scripts=scripts)
    if not (folder / DONE).exists():
        remove_tree(str(folder))
        folder.mkdir(parents=True)
        if failure := _install(target, folder, sandbox, scripts=scripts, seconds=seconds):
            remove_tree(str(folder))
            return Installation(failure=failure)
        write(folder / DONE, json.dumps(target.package))
    return Installation(str(folder), sdk(folder))


def _install(target: Target, folder: Path, sandbox: Sandbox | None, *, scripts: bool, seconds: float) -> str:
    """Install a target; return why that failed, empty if it did not."""
    env, own = surroundings(installs=True) | NO_BROWSERS, folder / OWN
    given = {name: text for name, text in env.items() if name.lower().startswith(OF_INSTALLERS)}
    env |= _configured(env) | dict.fromkeys((*HOMES, *TEMPORARY), str(own))
    own.mkdir()
    try:
        for command in _commands(target, folder, scripts=scripts):
            start = Start(tuple(command), env, given, {}, folder, folder)
            confined = sandbox.confined(start) if sandbox is not None else None
            ended = run(command, folder, env, seconds, confined)
            if ended.status is None:
                return f"the installation took longer than {seconds:g} s"
            if ended.status:
                return f"{Path(command[0]).name} ended with status {ended.status}: {_end(ended)}"
    except CannotStart as error:
        return str(error)
    finally:
        remove_tree(str(own))
    return ""


def confinement(wanted: str) -> Sandbox | None:
    """Return what confines installers, which need the network; None if nothing is wanted, or works here."""
    if wanted == NONE:
        return None
    try:
        return Choice(AUTO, read=tuple(_configurations()), hosts=(ANY_HOST,)).sandbox()
    except Unavailable:
        return None


def _configurations() -> dict[Path, str]:
    """Return the user's files with the configuration of installers, each with the variable that names it."""
    found = {Path.home() / name: variable for name, variable in CONFIGURATIONS.items()}
    return {path: variable for path, variable in found.items() if path.is_file()}


def _configured(env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables by which installers find the user's configuration from another home."""
    known = {name.lower() for name in env}
    found = _configurations().items()
    return {variable: str(path) for path, variable in found if variable.lower() not in known}


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
    install = [str(python), "-P", "-m", "pip", "install", "-q", "--no-input", *wheels, "--", *wanted]
    return [[sys.executable, "-P", "-m", "venv", str(folder)], install]
