"""Each kind of file that others may have made: its name, a right one, and what reads and uses it."""

import io
import json
import sys
from argparse import Namespace
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from mcp_conformance.backend.exchange import Answered, Asked, Exchange
from mcp_conformance.backend.har import Tape
from mcp_conformance.backend.record import load
from mcp_conformance.backend.replay import Replayer
from mcp_conformance.cli import compare, completion, judge, serve
from mcp_conformance.cli.arguments import UsageError
from mcp_conformance.client.transcript import Transcript
from mcp_conformance.login.login import Login, OAuthClient
from mcp_conformance.login.store import folder, path_of
from mcp_conformance.login.store import kept as kept_login
from mcp_conformance.login.web import LoginFailed, Step
from mcp_conformance.options.configuration import nearest_configuration
from mcp_conformance.options.given import BadOption, Given
from mcp_conformance.options.table import BY_NAME
from mcp_conformance.project.client_configs import BadConfig, NotTestable, read_config
from mcp_conformance.project.files import read_json, read_toml
from mcp_conformance.report.formats import json as json_format
from mcp_conformance.report.servers import json as servers_json
from mcp_conformance.report.servers.model import ServerOutcome, ServersReport
from mcp_conformance.survey.markdown import render
from mcp_conformance.survey.notes import read_notes
from mcp_conformance.survey.results import Grade, SurveyResult
from mcp_conformance.survey.site import write_site
from mcp_conformance.survey.sources import from_registry
from mcp_conformance.survey.store import Store
from mcp_conformance.survey.targets import Target, read_targets
from mcp_conformance.tap.recordings import exchanged
from mcp_conformance.tap.sessions import read_sessions
from mcp_conformance.target.contract import to_text
from mcp_conformance.transport.files import BadFile
from support.bench import reference_contract
from support.sample_report import REPORT
from tap.test_judging import right
from world.test_kept import kept, tool, working, written

REFUSALS = (BadFile, BadOption, UsageError, BadConfig, NotTestable, LoginFailed)
"""What the user reads as one line."""
URL = "http://127.0.0.1:9/mcp"


@dataclass(frozen=True)
class Kind:
    """A kind of file: its name in a folder, a right one, and what reads it and uses what it says.

    ``is_kept`` says that it is our own: one that cannot be read is as good as none.
    """

    name: str
    right: str
    use: Callable[[Path], object]
    is_kept: bool = False

    @property
    def form(self) -> str:
        """How the text is written."""
        return Path(self.name).suffix


def _judge(path: Path) -> None:
    for as_json in (False, True):
        judge.main(Namespace(files=[path], json=as_json), [], None)


def _play(path: Path) -> None:
    with patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO())):
        serve.main(Namespace(files=[path], spoil=None, http=None), [], None)


def _use_session(path: Path) -> None:
    for use in (_judge, _play):
        try:
            use(path)
        except UsageError as error:
            assert "no request has an answer" in str(error)  # noqa: PT017
    (session,) = read_sessions([path])
    assert [exchanged(session), session.title, session.revision, session.began, session.transcript] != []
    Transcript.read(path).moved("/elsewhere")


def _compare(path: Path) -> None:
    compare.main(Namespace(old=path, new=path, output_format="markdown"), [], None)
    compare.main(Namespace(old=path, new=path, output_format="text"), [], None)


def _replay_hosts(path: Path) -> None:
    replayer = Replayer(load(path).exchanges, path.name)
    replayer.answer(Asked("GET", "https://a.example", "/x?y=1")).encoded("GET")


def _configured(path: Path) -> None:
    found = nearest_configuration(path.parent)
    if found is None:  # a directory, or a link that leads nowhere
        raise BadFile("there is none")
    for name in found.servers:
        for option, given in found.chosen(name).items():
            if option not in ("command", "sandbox"):
                BY_NAME[option].read(given)
    assert found.lines() is not None


def _use_clients(path: Path) -> None:
    found = read_config(path)
    for name in found.servers:
        found.entry(name)
        found.is_disabled(name)


def _option(name: str) -> Callable[[Path], object]:
    return lambda path: BY_NAME[name].read(Given(str(path), f"--{name}"))


def _results(path: Path) -> None:
    refused: list[str] = []
    found = list(Store(str(path.parents[1])).results(refused.append))
    if refused or not found:
        raise BadFile("; ".join(refused))
    render(found, {})
    write_site(found, path.parents[1] / "site")


def _recall(path: Path) -> None:
    found = kept(path.parents[1])
    found.working(tool())
    found.is_futile(tool(), "No.")
    found.names_of_made(tool())
    list(found.steps([tool()]))
    found.in_order([tool()])
    found.put(tool(), working("n-2"))
    list(completion._tools_in(path))
    with patch.object(Path, "write_text"), patch.object(Path, "replace"):
        found.write()


def _use_login(path: Path) -> None:
    with patch(f"{folder.__module__}.folder", lambda: path.parent):
        login = kept_login(URL)
    if login is None:
        raise BadFile("there is none")
    assert [login.is_expired, login.made, login.header] != []


def _kept_text(place: Path) -> str:
    return written(place, working("n-1")).path.read_text(encoding="utf-8")


def kinds(place: Path) -> dict[str, Kind]:
    """Return all kinds by their names; what is kept is made in a place."""
    rows = [{"sent": sent, "at": at / 2, "raw": json.dumps(one)} for at, (sent, one) in enumerate(right())]
    rows[3] |= {"carried_by": "POST 1", "http": {"method": "POST", "path": "/", "headers": [["a", "b"]]}}
    header = {"format": 1, "command": ["server"], "revision": "2025-11-25", "about": "", "began": 1.7e9}
    ends = [{"stderr": "x", "at": 90}, {"closed": "client", "at": 91}, {"status": 0, "at": 92.5}]
    exchange = {"sent": True, "at": 80, "carried_by": "GET 2", "http": {"method": "GET", "headers": []}}
    header |= {"folder": "/folder", "session": "a"}
    session = "".join(json.dumps(row) + "\n" for row in [header, *rows, exchange, *ends])
    asked = Asked("POST", "https://a.example", "/x?y=1", (("a", "b"),), b"{}")
    tape = Tape((Exchange(asked, Answered(200, (("content-type", "text/html"),), b"\xff"), "now"),), ("a",))
    servers = ServersReport("mcp.json", (ServerOutcome("a", 0, report=REPORT),), "0.1")
    result = SurveyResult(Target("a"), "0.1", (), Grade.CONFORMS, findings=REPORT.results[:3])
    login = Login(URL, URL, URL, URL, "grant", OAuthClient("id"), "", "token", steps=(Step("a", "", ""),))
    remote = {"url": URL, "headers": {"A": "b"}}
    clients = {"a": {"command": "x", "args": ["y", 1], "env": {"A": "b"}}, "b": remote}
    targets = '[a]\ncommand = ["x"]\nenv = {A = "b"}\n'
    package = {
        "registryType": "npm",
        "identifier": "a",
        "version": "1.0.0",
        "packageArguments": [{"value": "x"}],
        "environmentVariables": [{"name": "A", "isRequired": True, "choices": ["x"]}],
    }
    entries = [{"server": {"name": "a", "packages": [package], "remotes": [{"url": URL}]}, "_meta": {}}]
    toml = (
        'command = ["x"]\ntimeout = 3\nreport = "a.json"\nenv = {A = "b"}\nexample = {a = {b = 1}}\n'
        "tools = {a = {timeout = 3}}\n[profiles.p]\nstrict = true\n[project]\nchecks = []\n"
    )
    baseline = '[[expected]]\nrequirement = "ping.responds"\nexpires = 2027-03-01\nchecks = ["a"]\n'
    notes = '[[read]]\nrequirement = "ping.responds"\nservers = ["one"]\nnote = "It does not."\n'
    found = [
        Kind("session.jsonl", session, _use_session),
        Kind("report.json", json_format.render(REPORT), _compare),
        Kind("reports.json", servers_json.render(servers), _compare),
        Kind("since.json", json_format.render(REPORT), _option("since")),
        Kind("tape.har", tape.to_har(), _replay_hosts),
        Kind("contract.json", to_text(reference_contract("2025-11-25")), _option("contract")),
        Kind("baseline.toml", baseline, _option("baseline")),
        Kind("variables.env", "# a\nA=b\nexport C='d e'\n", _option("env-file")),
        Kind("variables.json", '{"A": "b", "C": "d\\ne"}', _option("env-file")),
        Kind("mcp.json", json.dumps({"mcpServers": clients}), _use_clients),
        Kind("mcp-conformance.toml", toml, _configured),
        Kind("targets.toml", targets, read_targets),
        Kind(
            "targets.jsonl",
            json.dumps({"name": "a", "command": ["x"], "env": {}}) + "\n",
            read_targets,
        ),
        Kind("registry.json", json.dumps({"servers": entries}), from_registry),
        Kind("notes.toml", notes, read_notes),
        Kind("results/0.1/a.json", result.to_json(), _results),
        Kind(path_of(URL).name, json.dumps({**login.as_json()}), _use_login),
        Kind("package.json", '{"name": "a", "bin": {"a": "b"}}', read_json),
        Kind("project/pyproject.toml", '[project]\nname = "a"\n', read_toml),
        Kind(f"known/{written(place, working('n-1')).path.name}", _kept_text(place), _recall, is_kept=True),
    ]
    return {one.name: one for one in found}


def quietly(use: Callable[[Path], object], path: Path) -> str:
    """Return what the user reads of a file that cannot be used, empty if it can; nothing else is raised."""
    with redirect_stdout(io.StringIO()):
        try:
            use(path)
        except REFUSALS as error:
            return str(error) or "?"
    return ""
