"""The checks of a sick API on records of what happened, without a server: right ones, and each fault."""

from dataclasses import dataclass, field, replace
from inspect import unwrap
from types import SimpleNamespace

import pytest

from mcp_conformance.backend.contact import Contact
from mcp_conformance.backend.sickness import BY_NAME, ELSEWHERE, WELL
from mcp_conformance.client.reply import Closed, Flood, Reply, Silence
from mcp_conformance.client.tool_call import Call, Tool
from mcp_conformance.protocol.jsonrpc import Line, encode
from mcp_conformance.protocol.value import Value
from mcp_conformance.scenarios import api_inventory, calls_at_once, sick_api
from mcp_conformance.scenarios.api_fetches import Fetch
from mcp_conformance.scenarios.ward import Treatment
from mcp_conformance.target.settings import Settings
from mcp_conformance.verdicts import Finding, Skipped
from mcp_conformance_suites import test_backend as checks

KEY = "0123456789abcdef0123"
REQUEST = Line.sending({"jsonrpc": "2.0", "id": 1, "method": "tools/call"})
FETCH = Fetch("resources/read", {"uri": "memo://one"}, Reply(REQUEST))
CALL = Call(Tool(Value({"name": "look"})), {"id": "example"}, Reply(REQUEST))
SKIPS = (Skipped, pytest.skip.Exception)


def asked(**facts):
    return replace(Contact("api.example.com", 443, "POST", "/v1", is_encrypted=True, same=1), **facts)


def reply(**message):
    line = Line.received(encode({"jsonrpc": "2.0", "id": 1, **message}))
    return Reply(REQUEST, line, line.message)


def told(text, *, is_error=True):
    return reply(result={"content": [{"type": "text", "text": text}], "isError": is_error})


SUCCESS = told("fine", is_error=False)


def treated(name, answer, *contacts, call=CALL, **facts):
    sickness = BY_NAME.get(name, WELL)
    return Treatment(call, sickness, answer, contacts or (asked(),), **facts)


READ = reply(result={"contents": []})


def fetched(name, answer):
    return treated(name, answer, asked(host="files.example", method="GET", same=2), call=FETCH)


RIGHT = {
    "503": treated("503", told("503")),
    "500": treated("500", told("500")),
    "401": treated("401", told("401")),
    "429": treated("429", told("429"), asked(at=0.0), asked(at=2.0)),
    "large": treated("large", told("too long")),
    "elsewhere": treated("elsewhere", SUCCESS, asked(has_credential=True), asked(host="elsewhere.example")),
    "well": treated("well", SUCCESS),
    "fetch": fetched("503", reply(error={"code": -32603, "message": "503"})),
    "fetched": fetched("well", READ),
}


WORKS = treated("well", SUCCESS, asked(has_credential=True))
DISTRUSTS = treated("well", told("not trusted"), asked(method="", refusal="unknown ca"))


@dataclass
class Seen:
    """What scenarios have seen of a right server, or of one that does something else under one sickness."""

    treatments: dict = field(default_factory=lambda: dict(RIGHT))
    well: Treatment = WORKS
    betrayed: Treatment = DISTRUSTS
    unanswered: tuple = ()
    waited: tuple = (asked(),)
    opened: tuple = (SUCCESS,)
    mixed: dict = field(default_factory=lambda: {"000000000001": told("qz000000000001")})
    left: tuple = ()

    def server(self):
        """Return a server with these records."""
        fetched, names = self.treatments.get("fetched", self.well), frozenset({"look", FETCH.tool.name})
        inventory = api_inventory.Inventory((), (), (self.well, fetched), names, (self.betrayed,))
        mixed = calls_at_once.MixedCalls("look", self.mixed)
        at_once = calls_at_once.AtOnce((mixed,), (calls_at_once.Cancelled("look", (REQUEST,), self.left),))
        records = {
            api_inventory.inventory: inventory,
            sick_api.treatments: tuple(self.treatments.values()),
            sick_api.waits: (sick_api.Waited(sick_api.SILENT, self.unanswered, self.waited),),
            sick_api.opened_alone: self.opened,
            calls_at_once.at_once: at_once,
        }
        settings = Settings(("server",), env={"API_KEY": KEY})
        kept = {(unwrap(scenario),): ((), record) for scenario, record in records.items()}
        return SimpleNamespace(records=kept, settings=settings)


def under(name, answer, *contacts, **facts):
    """Return what was seen of a server that does this under a sickness."""
    return Seen({**RIGHT, name: treated(name, answer, *contacts, **facts)})


NOISE = (Line.received(b"oops"),)
REFUSES_ALL = {name: replace(one, reply=told("no")) for name, one in RIGHT.items()}
BROKEN = {
    checks.test_an_outage_of_the_api_is_not_told_as_a_success: under("503", SUCCESS),
    checks.test_an_outage_of_the_api_is_not_a_protocol_error: under(
        "503", reply(error={"code": -32603, "message": "internal error"})
    ),
    checks.test_an_outage_of_the_api_is_an_error_of_a_fetch: Seen({**RIGHT, "fetch": fetched("503", READ)}),
    checks.test_no_sickness_of_the_api_ends_the_process: under("500", Reply(REQUEST, fault=Closed(1))),
    checks.test_nothing_that_the_api_sends_gets_between_the_messages: under("500", told("500"), noise=NOISE),
    checks.test_an_answer_of_the_api_is_passed_on_in_part: under("large", told("x" * 1_000_001)),
    checks.test_a_refused_key_a_limit_and_an_outage_are_told_apart: Seen(REFUSES_ALL),
    checks.test_a_tool_answers_although_its_api_does_not: Seen(
        unanswered=(treated("silent", Reply(REQUEST, fault=Silence(30.0))),)
    ),
    checks.test_a_call_does_not_repeat_a_request_without_end: under("503", told("503"), *[asked()] * 11),
    checks.test_a_request_is_repeated_when_the_api_says: under(
        "429", told("429"), asked(at=0.0), asked(at=1.0)
    ),
    checks.test_what_may_have_been_carried_out_is_not_sent_again: under("500", told("500"), asked(), asked()),
    checks.test_what_waits_for_an_answer_is_not_sent_again: Seen(waited=(asked(), asked())),
    checks.test_calls_at_once_get_answers_of_their_own: Seen(
        mixed={"000000000001": told("qz000000000002"), "000000000002": told("qz000000000002")}
    ),
    checks.test_a_cancelled_call_ends_its_request_to_the_api: Seen(left=(asked(),)),
    checks.test_the_server_starts_while_no_host_answers: Seen(opened=(Reply(REQUEST, fault=Silence(30.0)),)),
    checks.test_the_server_sends_nothing_to_an_authority_that_it_does_not_trust: Seen(
        betrayed=treated("well", SUCCESS)
    ),
    checks.test_no_credential_is_sent_in_plain_text: Seen(
        well=treated("well", SUCCESS, asked(has_credential=True, is_encrypted=False, port=80))
    ),
    checks.test_no_credential_follows_a_redirect_to_another_host: under(
        "elsewhere", SUCCESS, asked(), asked(host="elsewhere.example", has_credential=True)
    ),
    checks.test_no_failure_shows_a_credential: under("503", told(f"503 with {KEY}")),
}


def test_each_check_is_here():
    assert set(BROKEN) == {one for name, one in vars(checks).items() if name.startswith("test_")}
    assert asked(host="elsewhere.example").where == ELSEWHERE


@pytest.mark.parametrize("check", BROKEN, ids=lambda check: check.__name__)
def test_a_fault_is_found_and_a_right_server_passes(check):
    check(Seen().server())
    with pytest.raises(Finding):
        check(BROKEN[check].server())


@pytest.mark.parametrize(
    ("check", "seen"),
    [
        (
            checks.test_an_outage_of_the_api_is_not_told_as_a_success,
            Seen(REFUSES_ALL, treated("", told("no"))),
        ),
        (checks.test_nothing_that_the_api_sends_gets_between_the_messages, None),
        (checks.test_an_answer_of_the_api_is_passed_on_in_part, Seen({"503": RIGHT["503"]})),
        (checks.test_a_request_is_repeated_when_the_api_says, under("429", told("429"))),
        (
            checks.test_the_server_sends_nothing_to_an_authority_that_it_does_not_trust,
            Seen(well=treated("well", told("no"), asked(method="", refusal="unexpected eof while reading"))),
        ),
        (checks.test_no_credential_follows_a_redirect_to_another_host, under("elsewhere", told("302"))),
        (
            checks.test_what_waits_for_an_answer_is_not_sent_again,
            Seen(well=treated("well", SUCCESS, asked(method="GET")), waited=(asked(), asked())),
        ),
    ],
)
def test_what_was_not_seen_is_not_judged(check, seen):
    with pytest.raises(SKIPS):
        check((seen or Seen({})).server())


def test_a_tool_that_refuses_everything_but_otherwise_by_sickness_is_judged():
    no_success = {name: replace(one, reply=told(name)) for name, one in RIGHT.items()}
    seen = Seen(no_success, treated("well", told("no")))
    checks.test_an_outage_of_the_api_is_not_told_as_a_success(seen.server())


def test_a_finding_on_a_fetch_names_no_tool():
    broken = BROKEN[checks.test_an_outage_of_the_api_is_an_error_of_a_fetch].server()
    with pytest.raises(Finding, match="resources/read memo://one: ") as found:
        checks.test_an_outage_of_the_api_is_an_error_of_a_fetch(broken)
    assert found.value.tool == ""


def test_lines_that_a_tool_always_writes_are_another_rules():
    seen = under("500", told("500"), noise=NOISE)
    seen.well = replace(seen.well, noise=NOISE)
    checks.test_nothing_that_the_api_sends_gets_between_the_messages(seen.server())


def test_a_flood_is_too_long():
    seen = under("large", Reply(REQUEST, fault=Flood(1, size=50_000_000)))
    with pytest.raises(Finding, match="50 MB"):
        checks.test_an_answer_of_the_api_is_passed_on_in_part(seen.server())
