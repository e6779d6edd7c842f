"""The official conformance suite: what is recorded of it, and runs of it if it is installed."""

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

from mcp_conformance.requirements.official import VERSION
from support.server_installation import installed

RECORDED = Path(__file__).parents[1] / "requirements" / "official_checks.txt"
"""A line for each scenario of `VERSION`: its name, its revisions, and the ids of its checks but `SETUP`."""
LOGS = {"outgoing-request", "incoming-response", "incoming-sse-event", "stream-closed"}
"""The ids of entries that only log what was sent."""
SETUP = {
    *("elicitation-sep1034-general", "elicitation-sep1330-general", "sep-2243-server-no-xmcp-tool"),
    *("server-sse-content-type", "tasks-request-state-removal-setup"),
}
"""The ids that say only that the other checks of a scenario could not begin."""
NEEDED = {"id", "name", "description", "status", "timestamp"}
MEMBERS = NEEDED | {"specReferences", "source", "details", "metadata", "errorMessage", "logs"}
STATUSES = {"SUCCESS", "FAILURE", "WARNING", "SKIPPED", "INFO"}
WHEN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def recorded():
    """Return the revisions and the ids of each scenario, as they are recorded."""
    rows = (line.split() for line in RECORDED.read_text(encoding="utf-8").splitlines())
    return {name: (revisions.split(","), ids) for name, revisions, *ids in rows}


def misfits(check):
    """Return what is not right about the shape of a check."""
    wrong = {
        "members": not NEEDED <= check.keys() <= MEMBERS,
        "status": check["status"] not in STATUSES,
        "timestamp": not WHEN.fullmatch(check["timestamp"]),
        "texts": not all(isinstance(check[name], str) for name in ("id", "name", "description")),
        "errorMessage": not isinstance(check.get("errorMessage", ""), str),
        "details": not isinstance(check.get("details", {}), dict),
        "specReferences": not all(
            {"id"} <= one.keys() <= {"id", "url"} for one in check.get("specReferences", ())
        ),
    }
    return [name for name, is_wrong in wrong.items() if is_wrong]


class Suite:
    """The installed suite, with the Node.js that it needs."""

    def __init__(self):
        packages = [f"@modelcontextprotocol/conformance@{VERSION}", "node@22"]
        place = Path(os.environ["OFFICIAL_SUITE"])
        modules = installed(place, "suite", {"registry": "npm", "install": packages}) / "node_modules"
        own = modules / ".bin" / "node"
        self.program = modules / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
        self.node = str(own) if own.exists() else shutil.which("node")

    def call(self, *words):
        """Return what the suite prints; its exit status says whether checks failed."""
        command = [self.node, str(self.program), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300).stdout

    def scenarios(self):
        """Return the revisions of each scenario for servers."""
        lines = re.findall(r"- (\S+) \[(.*)\]", self.call("list", "--server"))
        return {name: revisions.split(",") for name, revisions in lines}

    def run(self, url, *words):
        """Return the checks of each scenario on the server with a URL."""
        found = defaultdict(list)
        with tempfile.TemporaryDirectory() as folder:
            self.call("server", "--url", url, "--suite", "all", "--output-dir", folder, *words)
            for path in Path(folder).glob("*/checks.json"):
                name = re.fullmatch(r"server-(.*)-\d{4}-\d\d-\d\dT.*", path.parent.name)[1]
                found[name] += json.loads(path.read_text(encoding="utf-8"))
        return found
