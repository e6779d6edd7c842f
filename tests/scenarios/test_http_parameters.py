"""Which arguments that headers repeat are judged, and what a server is not accused of."""

import json
from dataclasses import replace

import pytest

from mcp_conformance.protocol.revisions import LATEST_MODERN
from mcp_conformance.scenarios.http_parameters import mirrored_calls
from mcp_conformance.target.probe import probe_all
from mcp_conformance.verdicts import Skipped
from mcp_conformance_fixtures.http_mutants import HttpReference, Refused
from support.bench import Bench, run_checks, settings_on_process
from support.http_in_thread import served

COUNT = {"type": "integer", "minimum": 0, "maximum": 7, "x-mcp-header": "Day-Count"}
BACKWARDS = {"type": "boolean", "x-mcp-header": "Backwards"}


class Listing(HttpReference):
    """A right server that lists other parameters of ``days``, and keeps the bodies of its calls."""

    def __init__(self, **properties):
        super().__init__()
        schema = {"type": "object", "properties": properties}
        definition, *others = self.stateless.tools()["days"]
        tool = ({**definition, "inputSchema": schema}, *others)
        tools = {**self.stateless.tools(), "days": tool}
        self.stateless.tools = lambda: tools
        self.calls = []

    def post(self, call):
        """Keep the arguments of each call of ``days``, and the headers that repeat them."""
        message = json.loads(call.body)
        if message.get("params", {}).get("name") == "days":
            headers = sorted(name for name, _ in call.headers if name.startswith("mcp-param-"))
            self.calls.append((message["params"].get("arguments"), headers))
        return super().post(call)


@pytest.fixture
def judged(tmp_path):
    """Return a function from a server to the calls that are judged on it, in short."""

    def found(http):
        with served(http) as server, settings_on_process((), tmp_path, timeout=5.0) as settings:
            subject = probe_all(replace(settings, http=server), (LATEST_MODERN,))
            bench = Bench(subject, LATEST_MODERN, is_whole=False)
            try:
                calls = mirrored_calls(bench.server)
            finally:
                bench.server.close()
                subject.close()
        return [(call.header.removeprefix("Mcp-Param-"), call.path, call.value) for call in calls]

    return found


def test_each_parameter_with_a_known_value_is_judged_with_one_call(judged):
    http = HttpReference()
    assert judged(http) == [
        ("Day-Count", ("count",), 1),
        ("Days-Skipped", ("after", "skipped"), 1),
        ("Backwards", ("backwards",), False),
    ]
    listing = Listing(count=COUNT, backwards=BACKWARDS)
    judged(listing)
    repeated = [call for call in listing.calls if call[0]]
    assert repeated == [({"backwards": False, "count": 1}, ["mcp-param-backwards", "mcp-param-day-count"])]


def test_of_many_parameters_some_of_each_kind_are_judged(judged):
    many = {f"text{at}": {"type": "string", "x-mcp-header": f"Text-{at}"} for at in range(9)}
    found = judged(Listing(**many, count=COUNT, backwards=BACKWARDS))
    assert [name for name, _, _ in found] == ["Text-0", "Day-Count", "Backwards", "Text-1", "Text-2"]


@pytest.mark.parametrize(
    "other",
    [
        {"type": "number", "x-mcp-header": "Part"},
        {"type": "integer", "x-mcp-header": "day-count"},
        {"type": "integer", "x-mcp-header": "two words"},
        {"type": "array", "items": {"type": "integer", "x-mcp-header": "Item"}},
    ],
    ids=["type", "twice", "token", "unreachable"],
)
def test_a_tool_that_clients_must_reject_is_not_judged(judged, other):
    with pytest.raises(Skipped):
        judged(Listing(count=COUNT, other=other))


class Strict(HttpReference):
    """A right server that checks the arguments before the headers, and takes no unknown ones."""

    def check_param_headers(self, call):
        """Reject an argument that no parameter has."""
        params = call.message["params"]
        if params.get("name") == "days" and "skipped" in params.get("arguments", {}):
            raise Refused(400, "There is no such argument.", -32602)
        super().check_param_headers(call)


def test_a_server_that_checks_arguments_first_is_not_accused(tmp_path):
    with served(Strict()) as server, settings_on_process((), tmp_path, timeout=5.0) as settings:
        chosen = replace(settings, http=server)
        found = run_checks(
            chosen, LATEST_MODERN, lambda check: check.suite == "test_http_param", is_whole=False
        )
    assert [one.text for one in found.verdicts] == []
    assert "test_a_nested_argument_is_compared_where_it_is" in found.passed
