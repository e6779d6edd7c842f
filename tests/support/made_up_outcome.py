"""Run as a program: render every report of a run that has an outcome made up here, a row of the table."""

# ruff: noqa: PLC0415  (the table is loaded before the modules that read it)

import io
import json
import os
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec, module_from_spec
from pathlib import Path

ROWS = {
    '    WARNED = "warned"': '    SHAKY = "shaky"',
    "    Outcome.WARNED: Style(": (
        '    Outcome.SHAKY: Style(Weight.WARNS, Listed.ALWAYS, "info", mark="~", sign="?", headline="jolt"),'
    ),
}
"""The rows of the outcome, each by the line before which it is put."""


def texts_of_a_new_outcome():
    """Return what each format makes of the outcome, from a process with these rows in ``outcome.py``."""
    program = [sys.executable, "-m", "support.made_up_outcome"]
    variables = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    ended = subprocess.run(
        program, env=variables, stdout=subprocess.PIPE, text=True, encoding="utf-8", check=True
    )
    return json.loads(ended.stdout)


def load_table():
    """Load the table with the rows, before any other module imports it."""
    spec = find_spec("mcp_conformance.outcome")
    source = Path(spec.origin).read_text(encoding="utf-8")
    for line, row in ROWS.items():
        assert source.count(line) == 1
        source = source.replace(line, f"{row}\n{line}")
    module = sys.modules[spec.name] = module_from_spec(spec)
    exec(compile(source, spec.origin, "exec"), vars(module))
    return module.Outcome.SHAKY


def render(shaky):
    """Return the texts about a result with this outcome."""
    from mcp_conformance.plugin.status_line import StatusLine
    from mcp_conformance.report.formats import badge_json, github, html, markdown, sarif, terminal
    from mcp_conformance.report.formats import json as json_format
    from mcp_conformance.report.servers import html as servers_html
    from mcp_conformance.report.servers import markdown as servers_markdown
    from mcp_conformance.report.servers.model import ServerOutcome, ServersReport
    from mcp_conformance.survey.figures import surveys_of
    from mcp_conformance.survey.pages import rule
    from support.sample_report import REPORT, result
    from support.survey_results import made_result

    found = result("ping.responds", shaky, reason="it was answered once of twice")
    report = replace(REPORT, results=(found,), ended="", exercise=(), lacking="")
    outcomes = (ServerOutcome("one", 0, report=report),)
    servers = ServersReport("mcp.json", outcomes, "1.0", pages={"one": "one.html"})
    screen = io.StringIO()
    line = StatusLine(screen, clock=lambda: 0.0)
    line.found[shaky] = 3
    line.show()
    return {
        "verdict": report.verdict,
        "badge": badge_json.render(report),
        "github": "".join(github.commands(report)),
        "html": html.render(report),
        "json": json_format.render(json_format.read(json_format.render(report))),
        "markdown": markdown.render(report),
        "sarif": sarif.render(report),
        "terminal": terminal.render(report),
        "servers.html": servers_html.render(servers),
        "servers.md": servers_markdown.render(servers),
        "status line": screen.getvalue(),
        "survey": rule.render(found, surveys_of([made_result("one", [found])])),
    }


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")
    sys.stdout.write(json.dumps(render(load_table())))
